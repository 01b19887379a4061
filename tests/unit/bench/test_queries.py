"""The benchmark's SQL queries give what plain Python says, so that they cannot rot."""

from __future__ import annotations

import doctest
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bench.engines import by_hand, query_program, tables
from bench.engines.query_program import ALL_QUERIES, checked
from bench.workloads import answers
from bench.workloads.answers import WrongAnswerError, check, final
from bench.workloads.nexmark import events, model
from bench.workloads.nexmark.events import Auction, Bid, Person, event, rows_of, write_table
from bench.workloads.queries import QUERIES
from penstock.errors import ValidationError

IN_PROCESS = {"execution.target": "in-process"}
RECORDS = 3000
#: OVER takes no rows that change.
REFUSED = "nexmark-q6"


@pytest.fixture(autouse=True)
def files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_program, "FOLDER", tmp_path)


@pytest.mark.parametrize("name", [name for name in ALL_QUERIES if name != REFUSED])
def test_each_query_gives_what_is_expected(name: str) -> None:
    checked(tables.prepare, ALL_QUERIES[name], IN_PROCESS, RECORDS)


def test_what_cannot_be_run_is_refused_when_it_is_planned() -> None:
    with pytest.raises(ValidationError, match="OverAggregate does not take an input that updates"):
        checked(tables.prepare, ALL_QUERIES[REFUSED], IN_PROCESS, RECORDS)


@pytest.mark.parametrize("name", by_hand.BUILD)
def test_what_is_written_by_hand_gives_the_same(name: str) -> None:
    checked(by_hand.prepare, QUERIES[name], IN_PROCESS, RECORDS)


def test_a_wrong_answer_is_told() -> None:
    query = QUERIES["sql-projection"]
    right = final((True, row) for row in query.expected(RECORDS))
    check(query, RECORDS, right)
    row = next(iter(right))
    with pytest.raises(WrongAnswerError, match="1 are missing"):
        check(query, RECORDS, right - Counter([row]))
    with pytest.raises(WrongAnswerError, match="1 are not right"):
        check(query, RECORDS, right + Counter([row]))


def test_counts_by_the_clock_may_lack_the_last_windows_but_have_no_row_twice() -> None:
    query = ALL_QUERIES["nexmark-q12"]
    bidder, count, _ = next(iter(query.expected(RECORDS)))
    check(query, RECORDS, Counter([(bidder, count, None)]))
    with pytest.raises(WrongAnswerError, match="counted more often"):
        check(query, RECORDS, Counter([(bidder, count, None), (bidder, 1, None)]))


def test_a_changelog_leaves_its_final_rows() -> None:
    changes = [(True, ("a", 1)), (False, ("a", 1)), (True, ("a", 2)), (True, ("b", 1))]
    assert final(changes) == Counter([("a", 2), ("b", 1)])


@cache
def house() -> model.House:
    return model.house(20_000)


def test_events_come_in_the_proportions_of_nexmark() -> None:
    found = house()
    assert [len(part) for part in found] == [400, 1200, 18_400]
    for table, kind in (("person", Person), ("auction", Auction), ("bid", Bid)):
        counted = sum(isinstance(event(number), kind) for number in range(777))
        assert counted == rows_of(table, 777)


def test_events_refer_to_what_has_been_there_before() -> None:
    persons, auctions, bids = house()
    joined = {p.id: p.at for p in persons}
    opened = {a.id: a.at for a in auctions}
    assert all(joined[a.seller] <= a.at < a.expires for a in auctions)
    assert all(joined[b.bidder] <= b.at and opened[b.auction] <= b.at for b in bids)


def test_some_auctions_bidders_and_sellers_are_hot() -> None:
    _, auctions, bids = house()
    for counts, least in (
        (Counter(b.auction for b in bids), 0.4),
        (Counter(b.bidder for b in bids), 0.7),
        (Counter(a.seller for a in auctions), 0.7),
    ):
        hot = sum(count for one, count in counts.items() if count > 10 * len(bids) / 20_000)
        assert hot / counts.total() >= least


def test_tables_are_written_as_two_files_in_order_of_time(tmp_path: Path) -> None:
    folder = write_table(tmp_path, "bid", 500)
    parts = [path.read_text().splitlines() for path in sorted(folder.iterdir())]
    assert [len(part) for part in parts] == [230, 230]
    for part in parts:
        times = [line.split(",")[5] for line in part]
        assert times == sorted(times)
    assert write_table(tmp_path, "bid", 500) == folder


@pytest.mark.parametrize("module", [answers, events])
def test_examples_in_the_definitions_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0
