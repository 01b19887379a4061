"""The program that `penstock state` starts: print what a savepoint holds."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from datetime import datetime, timezone

from penstock.cli.printing import print_failure
from penstock.cli.state import add_actions
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError, show_value
from penstock.runtime.savepoint.format import Savepoint
from penstock.state_processor import SavepointReader

_WIDEST = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line says, and return the exit code."""
    parser = argparse.ArgumentParser(prog="penstock state")
    add_actions(parser)
    options = parser.parse_args(arguments)
    try:
        if options.action == "ls":
            return list_states(options.path)
        return show_state(options.path, options.uid, options.name, options.limit)
    except PenstockError as error:
        print_failure(error)
        return 1


def list_states(path: str) -> int:
    """Print the operators of a savepoint and their states."""
    manifest = Savepoint.open(path).manifest
    when = datetime.fromtimestamp(manifest.created / 1000, timezone.utc)
    print(f"job {manifest.job_name!r} ({manifest.job_id}), {when:%Y-%m-%d %H:%M:%S} UTC,", end=" ")
    print(f"batch {manifest.batch}, {manifest.size():,} bytes")
    states = _reader(path).operators()
    for info in manifest.operators:
        size = sum(e.length for part in manifest.parts_of(info.uid) for e in part.extents())
        print(f"{info.uid}  {info.name}", end="  ")
        print(f"parallelism {info.parallelism} of {info.max_parallelism}, {size:,} bytes")
        for name, kind in sorted(states[info.uid].items()):
            print(f"    {name}  {kind}")
    return 0


def show_state(path: str, uid: str, name: str, limit: int) -> int:
    """Print entries of a keyed state, a line each: key, window if any, value."""
    rows = _reader(path).read_keyed_state(uid, name)
    for row in itertools.islice(rows, limit):
        place = "" if row.namespace is None else f"  {show_value(row.namespace, _WIDEST)}"
        print(f"{show_value(row.key, _WIDEST)}{place}  {show_value(row.value, _WIDEST)}")
    left = len(rows) - limit
    if left > 0:
        print(f"... and {left:,} more")
    return 0


def _reader(path: str) -> SavepointReader:
    return SavepointReader.read(StreamExecutionEnvironment.get_execution_environment(), path)


if __name__ == "__main__":
    sys.exit(main())
