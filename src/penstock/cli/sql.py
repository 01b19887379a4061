"""`penstock sql`: start the SQL shell.

The shell is a program of its own: the other commands shall not wait for its packages.
"""

from __future__ import annotations

import argparse
import os
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("sql", help="run SQL from a script or from the terminal")
    add_options(parser)
    parser.set_defaults(command=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the shell's options."""
    parser.add_argument("-f", "--file", metavar="FILE", help="script to run, then leave")
    parser.add_argument("-i", "--init", metavar="FILE", help="script to run first")
    parser.add_argument(
        "-D", action="append", default=[], metavar="key=value", dest="settings", help="a setting"
    )


def run(options: argparse.Namespace) -> int:
    """Let this process become the shell."""
    command = [sys.executable, "-m", "penstock.cli.sql_shell"]
    for option, value in (("-f", options.file), ("-i", options.init)):
        command += [option, value] if value is not None else []
    for setting in options.settings:
        command += ["-D", setting]
    sys.stdout.flush()
    os.execvp(command[0], command)
