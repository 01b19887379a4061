"""`penstock info`: the plan of a program, without running it."""

from __future__ import annotations

import argparse
import os
import sys

from penstock.cli.run import add_program_options, program_command, program_environment
from penstock.execution.plan_only import PLAN_VARIABLE


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("info", help="print the plan of a program", allow_abbrev=False)
    parser.add_argument(
        "-f", "--format", choices=("json", "text"), default="json", help="json if left out"
    )
    add_program_options(parser)
    parser.set_defaults(command=info)


def info(options: argparse.Namespace) -> int:
    """Run a program up to its first execution, which prints the plan."""
    command = program_command(options, "penstock info")
    environment = {**program_environment(options), PLAN_VARIABLE: options.format}
    sys.stdout.flush()
    os.execvpe(command[0], command, environment)
