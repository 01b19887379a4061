from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import pytest

from penstock.connectors import collection
from penstock.connectors.collection import CollectionSource
from penstock.core.io import ReadLimit, SplitRange
from penstock.errors import SerializationError
from tests.unit.connectors.driver import UNLIMITED, SourceDriver


@dataclass
class Reading:
    sensor: str
    value: float


def test_one_batch_gives_all_elements_in_order_and_ends(tmp_path: Path) -> None:
    driver = SourceDriver(CollectionSource(list(range(10_000))), tmp_path)
    driver.run()
    assert driver.values() == list(range(10_000))
    assert len(driver.batches) == 1
    assert driver.position == {
        "splits": {"0": {"at": 10_000, "subtask": 0, "done": True}},
        "done": True,
    }
    assert not driver.batch()


@pytest.mark.parametrize("max_records", [1, 7, 4096, 5000])
def test_cuts_anywhere_give_the_same_elements(tmp_path: Path, max_records: int) -> None:
    size = 50 if max_records < 10 else 9000
    driver = SourceDriver(CollectionSource(list(range(size))), tmp_path)
    driver.run(ReadLimit(max_records, 1 << 30))
    assert driver.values() == list(range(size))
    assert len(driver.batches) == -(-size // max_records)


def test_a_batch_is_bounded_by_bytes(tmp_path: Path) -> None:
    driver = SourceDriver(CollectionSource([f"{i:x}" * 300_000 for i in range(12)]), tmp_path)
    driver.run(ReadLimit(1 << 30, 1_500_000))
    assert len(driver.values()) == 12
    assert len(driver.batches) > 2


def test_an_element_larger_than_the_limit_still_gets_through(tmp_path: Path) -> None:
    driver = SourceDriver(CollectionSource(["x" * 2_000_000, "y"]), tmp_path)
    driver.run(ReadLimit(1 << 30, 10))
    assert [value[0] for value in driver.values()] == ["x", "y"]


def test_an_empty_collection_ends_at_once(tmp_path: Path) -> None:
    driver = SourceDriver(CollectionSource([]), tmp_path)
    assert driver.batch()
    assert driver.values() == []
    assert driver.position["done"]


def test_objects_of_own_classes(tmp_path: Path) -> None:
    readings = [Reading("a", 1.5), Reading("b", 2.5)]
    driver = SourceDriver(CollectionSource(readings), tmp_path)
    driver.run()
    assert driver.values() == readings


def test_the_same_object_twice_becomes_two(tmp_path: Path) -> None:
    reading = Reading("a", 1.0)
    driver = SourceDriver(CollectionSource([reading, reading]), tmp_path)
    driver.run()
    first, second = driver.values()
    assert first == second
    assert first is not second


def test_after_a_restart_the_first_run_s_elements_count(tmp_path: Path) -> None:
    first = SourceDriver(CollectionSource(["a", "b", "c"]), tmp_path)
    first.batch(ReadLimit(2, 1 << 20))
    second = SourceDriver(CollectionSource(["x", "y"]), tmp_path, restored=first.position)
    second.run()
    assert first.values() + second.values() == ["a", "b", "c"]
    start = second.enumerator.initial()
    assert second.enumerator.plan(start, first.position) == first.enumerator.plan(
        start, first.position
    )


def test_a_first_start_that_was_interrupted_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: object, document: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(collection.Journal, "write", die)
        with pytest.raises(KeyboardInterrupt):
            SourceDriver(CollectionSource(["a"]), tmp_path)
    driver = SourceDriver(CollectionSource(["b"]), tmp_path)
    driver.run()
    assert driver.values() == ["b"]


def test_elements_do_not_travel_with_the_job() -> None:
    source = CollectionSource(["x" * 1000] * 100)
    assert len(cloudpickle.dumps(source)) < 500


def test_ranges_carry_their_data(tmp_path: Path) -> None:
    driver = SourceDriver(CollectionSource([1, 2, 3]), tmp_path)
    end = driver.enumerator.latest(driver.position, UNLIMITED)
    ((split_range,),) = driver.enumerator.plan(driver.position, end)
    assert isinstance(split_range, SplitRange)
    assert split_range.payload
    (tmp_path / "elements.bin").unlink()
    assert [b.values for b in driver.shipped.read(split_range)] == [[1, 2, 3]]


def test_an_element_that_cannot_be_pickled_is_named(tmp_path: Path) -> None:
    elements = [*range(5000), threading.Lock()]
    with pytest.raises(SerializationError) as caught:
        SourceDriver(CollectionSource(elements), tmp_path)
    text = str(caught.value)
    assert text.startswith(
        "element 5000 of the collection cannot be pickled\n"
        "  where: source 'numbers'\n"
        "  got:   <unlocked _thread.lock object at "
    )
    assert text.endswith(
        "(TypeError: cannot pickle '_thread.lock' object)\n"
        "  to do: put plain data into the collection: numbers, strings, tuples, dataclasses"
    )
