"""`penstock`: Flink's actions, options and printed lines.

Exit codes: 0, done; 1, it could not be done, with the reason on standard error; 2, the command line
makes no sense; 130, interrupted. `run` in the foreground has the exit code of the program;
`cluster status` has 1 if no session runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from penstock.cli import cluster, completion, history, info, jobs, run, sql, state
from penstock.cli.printing import print_failure
from penstock.errors import PenstockError


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="penstock", description="Run Penstock programs, and control the jobs that they start."
    )
    commands = parser.add_subparsers(metavar="ACTION", required=True)
    run.add_parser(commands)
    info.add_parser(commands)
    jobs.add_parsers(commands)
    sql.add_parser(commands)
    state.add_parser(commands)
    cluster.add_parser(commands)
    history.add_parser(commands)
    completion.add_parser(commands, make_parser)
    return parser


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options, others = parser.parse_known_args(arguments)
    if others:
        if not run.names_program(options):
            parser.error(f"unrecognized arguments: {' '.join(others)}")
        # Behind -py and -pym the first argument of the program may look like an option.
        options.program = [*others, *options.program]
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line says, and return the exit code."""
    options = _parse(arguments)
    try:
        return int(options.command(options))
    except PenstockError as error:
        print_failure(error)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
