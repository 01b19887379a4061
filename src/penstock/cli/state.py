"""`penstock state`: look into savepoints.

It is a program of its own: the other commands shall not wait for its packages.
"""

from __future__ import annotations

import argparse
import os
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its actions."""
    parser = commands.add_parser("state", help="look into a savepoint")
    add_actions(parser)
    parser.set_defaults(command=run)


def add_actions(parser: argparse.ArgumentParser) -> None:
    """Add what can be looked at."""
    actions = parser.add_subparsers(metavar="ls|show", required=True, dest="action")
    listing = actions.add_parser("ls", help="list the operators and their states")
    listing.add_argument("path", help="folder of the savepoint")
    show = actions.add_parser("show", help="print the entries of a keyed state")
    show.add_argument("path", help="folder of the savepoint")
    show.add_argument("uid", help="uid of the operator")
    show.add_argument("name", help="name of the state")
    show.add_argument("-n", "--limit", type=int, default=100, metavar="N", help="at most so many")


def run(options: argparse.Namespace) -> int:
    """Let this process become the reader."""
    command = [sys.executable, "-m", "penstock.cli.state_reader", options.action, options.path]
    if options.action == "show":
        command += [options.uid, options.name, "-n", str(options.limit)]
    sys.stdout.flush()
    os.execvp(command[0], command)
