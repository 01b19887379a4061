"""`penstock history start`: serve jobs of the past."""

from __future__ import annotations

import argparse
import os
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; its options are those of the server, which is a program of its own."""
    parser = commands.add_parser("history", help="serve jobs of the past")
    actions = parser.add_subparsers(metavar="start", required=True)
    start = actions.add_parser(
        "start", help="run a history server", add_help=False, prefix_chars="\0"
    )
    start.add_argument("options", nargs="*", help="see: penstock history start --help")
    start.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Let this process become the server."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "penstock.server.history", *options.options]
    os.execvp(command[0], command)
