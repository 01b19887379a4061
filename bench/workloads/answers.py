"""Is the result of a query the right one? Rows are compared as they mean, not as they are typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from bench.workloads.queries import Query, Row


class WrongAnswerError(RuntimeError):
    """An engine gives another result than plain Python."""


def plain(value: Any) -> Any:
    """Return a value in the form in which all engines' values are compared.

    >>> plain(Decimal("1.500")) == plain(1.5), plain(datetime(2026, 1, 1, tzinfo=timezone.utc))
    (True, datetime.datetime(2026, 1, 1, 0, 0))
    """
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, Decimal):
        return value.normalize()
    return value


def final(changes: Iterable[tuple[bool, Row]]) -> Counter[Row]:
    """Return the rows that are left of a changelog of rows that come (True) and go (False)."""
    held: Counter[Row] = Counter()
    for comes, row in changes:
        held[tuple(map(plain, row))] += 1 if comes else -1
    return Counter({row: count for row, count in held.items() if count})


def check(query: Query, records: int, found: Counter[Row]) -> None:
    """Compare a result with what plain Python computes.

    :raises WrongAnswerError: if they differ.
    """
    expected = final((True, row) for row in query.expected(records))
    if query.by_clock:
        _check_totals(expected, found)
        return
    if found != expected:
        missing, extra = list(expected - found), list(found - expected)
        raise WrongAnswerError(
            f"{found.total()} rows instead of {expected.total()}; {len(missing)} are missing, as "
            f"{missing[:2]}, and {len(extra)} are not right, as {extra[:2]}"
        )


def _check_totals(expected: Counter[Row], found: Counter[Row]) -> None:
    """Check that no key counts more than there is: windows that had not ended give nothing."""
    limits = {row[0]: row[1] for row in expected}
    totals: Counter[Any] = Counter()
    for row, count in found.items():
        totals[row[0]] += row[1] * count
    wrong = [(key, total) for key, total in totals.items() if total > limits.get(key, 0)]
    if wrong:
        raise WrongAnswerError(f"counted more often than there are records: {wrong[:3]}")
