from __future__ import annotations

import pickle
from functools import reduce

import pytest

from penstock.common import Row
from penstock.graph.aggregations import FieldMax, FieldMin, FieldSum, MaxBy, MinBy

RECORDS = [("k", 3, "first"), ("k", 5, "second"), ("k", 1, "third"), ("k", 5, "fourth")]


def rolled(function, records):
    results = [records[0]]
    for record in records[1:]:
        results.append(function.reduce(results[-1], record))
    return results


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (FieldSum(1), [("k", n, "first") for n in (3, 8, 9, 14)]),
        (FieldMin(1), [("k", n, "first") for n in (3, 3, 1, 1)]),
        (FieldMax(1), [("k", n, "first") for n in (3, 5, 5, 5)]),
        (MinBy(1), [RECORDS[0], RECORDS[0], RECORDS[2], RECORDS[2]]),
        (MaxBy(1), [RECORDS[0], RECORDS[1], RECORDS[1], RECORDS[1]]),
        (MaxBy(1, first=False), [RECORDS[0], RECORDS[1], RECORDS[1], RECORDS[3]]),
    ],
)
def test_one_field_changes_or_the_whole_record_is_kept(function, expected):
    assert rolled(function, RECORDS) == expected
    assert rolled(pickle.loads(pickle.dumps(function)), RECORDS) == expected


def test_ties_of_min_by_go_to_the_first_or_to_the_last():
    tied = [("k", 1, "a"), ("k", 1, "b")]
    assert rolled(MinBy(1), tied)[-1] == tied[0]
    assert rolled(MinBy(1, first=False), tied)[-1] == tied[1]


@pytest.mark.parametrize(
    ("records", "field", "total"),
    [
        ([1, 2, 3], 0, 6),
        ([["k", 1], ["k", 2]], 1, ["k", 3]),
        ([Row(k="a", n=1), Row(k="a", n=2)], "n", Row(k="a", n=3)),
        ([{"k": "a", "n": 1}, {"k": "a", "n": 2}], "n", {"k": "a", "n": 3}),
        ([("k", "x"), ("k", "y")], 1, ("k", "xy")),
    ],
)
def test_every_kind_of_record_is_summed(records, field, total):
    originals = pickle.dumps(records)
    assert reduce(FieldSum(field).reduce, records) == total
    assert pickle.dumps(records) == originals
