from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.counted import Pace, Part
from penstock.connectors.data_generator import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.core.io import ReadLimit
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ConfigurationError
from tests.unit.connectors.driver import SourceDriver


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000

    def __call__(self) -> int:
        return self.time


def test_a_sequence_has_both_ends(tmp_path: Path) -> None:
    driver = SourceDriver(NumberSequenceSource(3, 7), tmp_path)
    driver.run()
    assert driver.values() == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("max_records", [1, 3, 1000])
def test_subtasks_get_contiguous_pieces_in_order(tmp_path: Path, max_records: int) -> None:
    driver = SourceDriver(NumberSequenceSource(-5, 4), tmp_path, parallelism=3)
    driver.run(ReadLimit(max_records, 1 << 20))
    assert [driver.values(subtask) for subtask in range(3)] == [
        [-5, -4, -3, -2],
        [-1, 0, 1],
        [2, 3, 4],
    ]


def test_more_subtasks_than_numbers(tmp_path: Path) -> None:
    driver = SourceDriver(NumberSequenceSource(1, 2), tmp_path, parallelism=4)
    assert [e["done"] for e in driver.position["splits"].values()] == [False, False, True, True]
    driver.run()
    assert [driver.values(subtask) for subtask in range(4)] == [[1], [2], [], []]


def test_a_long_sequence_comes_in_chunks_and_bounded_batches(tmp_path: Path) -> None:
    driver = SourceDriver(NumberSequenceSource(1, 100_000), tmp_path, parallelism=2)
    driver.run(ReadLimit(30_000, 1 << 30))
    assert len(driver.batches) == 4
    assert sorted(driver.values()) == list(range(1, 100_001))
    assert max(len(b.values) for task in driver.batches[0] for b in task) <= 8192


def test_another_parallelism_after_a_restart_loses_nothing(tmp_path: Path) -> None:
    source = NumberSequenceSource(1, 100)
    first = SourceDriver(source, tmp_path, parallelism=4)
    first.batch(ReadLimit(10, 1 << 20))
    fewer = SourceDriver(source, tmp_path, parallelism=2, restored=first.position)
    fewer.batch(ReadLimit(10, 1 << 20))
    more = SourceDriver(source, tmp_path, parallelism=8, restored=fewer.position)
    more.run()
    read = first.values() + fewer.values() + more.values()
    assert sorted(read) == list(range(1, 101))


def test_a_sequence_that_ends_before_it_starts() -> None:
    with pytest.raises(ConfigurationError) as caught:
        NumberSequenceSource(2, 1)
    assert str(caught.value) == (
        "a number sequence must not start behind its end\n"
        "  where: NumberSequenceSource\n"
        "  got:   start 2, end 1\n"
        "  to do: pass the smaller number first"
    )


@pytest.mark.parametrize(("total", "parts"), [(0, 1), (1, 4), (10, 3), (12, 4), (100, 7)])
def test_parts_are_the_whole(total: int, parts: int) -> None:
    pieces = [Part(number, parts) for number in range(parts)]
    assert sum(part.size(total) for part in pieces) == total
    for part in pieces:
        assert part.before(total) == sum(p.size(total) for p in pieces[: part.number])
        assert Part.named(part.name) == part


def test_generated_records_are_dealt_round_robin(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda index: index * 10, count=7)
    assert source.bounded
    driver = SourceDriver(source, tmp_path, parallelism=3)
    driver.run(ReadLimit(2, 1 << 20))
    assert [driver.values(subtask) for subtask in range(3)] == [[0, 30, 60], [10, 40], [20, 50]]


def test_a_generator_function_may_be_an_object(tmp_path: Path) -> None:
    class Doubler:
        def map(self, index: int) -> int:
            return index * 2

    generator: Any = Doubler()
    driver = SourceDriver(DataGeneratorSource(generator, count=3), tmp_path)
    driver.run()
    assert driver.values() == [0, 2, 4]


def test_a_generator_without_end(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda index: index)
    assert not source.bounded
    driver = SourceDriver(source, tmp_path, parallelism=2)
    for _ in range(3):
        assert driver.batch(ReadLimit(1000, 1 << 20))
    assert sorted(driver.values()) == list(range(3000))
    assert not driver.position["done"]


def test_a_rate_is_kept_by_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    source = DataGeneratorSource(lambda index: index, count=20, rate=10)
    driver = SourceDriver(source, tmp_path, parallelism=2, clock=clock)
    assert driver.batch()
    assert driver.values() == [0]
    assert not driver.batch()
    assert driver.enumerator.next_wakeup() == clock.time + 100
    clock.time += 99
    assert not driver.batch()
    clock.time += 1
    assert driver.batch()
    clock.time += 350
    assert driver.batch()
    assert sorted(driver.values()) == [0, 1, 2, 3, 4]
    clock.time += 60_000
    driver.batch()
    # At most one second's worth is made up for.
    assert len(driver.values()) == 15
    clock.time += 60_000
    driver.batch()
    assert sorted(driver.values()) == list(range(20))
    assert driver.position["done"]


def test_a_rate_goes_on_after_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    source = DataGeneratorSource(lambda index: index, rate=1000)
    first = SourceDriver(source, tmp_path, clock=clock)
    first.batch()
    clock.time += 500
    first.batch()
    clock.time += 1_000_000
    second = SourceDriver(source, tmp_path, clock=clock, restored=first.position)
    second.batch()
    clock.time += 10
    second.batch()
    assert len(first.values()) == 501
    assert len(second.values()) == 11


def test_a_slow_rate_gives_single_records() -> None:
    clock = Clock()
    pace = Pace(0.5, clock)
    assert pace.allowed(0) == 1
    clock.time += 1999
    assert pace.allowed(1) == 1
    assert pace.due_after(1) == clock.time + 1
    clock.time += 1
    assert pace.allowed(1) == 2


@pytest.mark.parametrize(
    ("arguments", "got"),
    [({"count": -1}, "-1"), ({"rate": 0}, "0"), ({"generator_function": 5}, "5")],
)
def test_settings_that_cannot_work(arguments: dict[str, Any], got: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        DataGeneratorSource(**{"generator_function": str, **arguments})
    assert caught.value.got == got


class Names(GeneratorFunction):
    def map(self, value: int) -> str:
        return f"user-{value}"


def test_a_source_in_flinks_form(tmp_path: Path) -> None:
    strategy = RateLimiterStrategy.per_second(100)
    source = DataGeneratorSource(Names(), 1000, strategy, Types.STRING())
    assert source.get_produced_type() == Types.STRING()
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "generated")
    assert stream.get_type() == Types.STRING()
    whole = DataGeneratorSource(Names(), 2, RateLimiterStrategy.no_op())
    driver = SourceDriver(whole, tmp_path)
    driver.run()
    assert driver.values() == ["user-0", "user-1"]
