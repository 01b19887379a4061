"""What the programs of `bench_kafka` are told."""

from __future__ import annotations

import argparse

PARTITIONS = 2


def parse(description: str | None) -> argparse.Namespace:
    """Return the options of a program."""
    parser = argparse.ArgumentParser(description=description)
    for name in ("servers", "topic", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--jars", nargs="*", default=[])
    return parser.parse_args()
