"""A restart sees which dataclasses of the program have other fields than before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.errors import StateError
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.class_shapes import (
    changed,
    check_slots,
    class_of,
    record_shapes,
    recorded_shapes,
    shapes_of_program,
)


@dataclass
class Order:
    id: int
    amount: float = 0.0


@dataclass(slots=True)
class Slotted:
    first: int = 0
    second: int = 0


NAME = f"{__name__}.Order"


def test_the_dataclasses_that_the_program_has_imported() -> None:
    found = shapes_of_program()
    assert found[NAME] == ["id", "amount"]
    assert not any(name.startswith("penstock.") for name in found)
    assert class_of(NAME) is Order and class_of("nobody.Knows") is None


def test_what_is_known_is_kept_with_the_job(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    assert recorded_shapes(directory) == {}
    record_shapes(directory, {"m.A": ["x"], "m.B": ["y"]})
    record_shapes(directory, {"m.A": ["x", "z"]})
    assert recorded_shapes(directory) == {"m.A": ["x", "z"], "m.B": ["y"]}


def test_changes() -> None:
    before = {"m.A": ["x", "y"], "m.B": ["x"], "m.C": ["x"]}
    now = {"m.A": ["y", "x"], "m.B": ["x"], "m.D": ["x"]}
    assert changed(before, now) == ["m.A"]
    assert changed({}, now) == []


def test_slots_hold_values_without_names() -> None:
    name, classes = "m.Slotted", {"m.Slotted": Slotted}
    check_slots({name: ["first"]}, {name: ["first", "second"]}, classes, "job directory j")
    with pytest.raises(StateError) as caught:
        check_slots(
            {name: ["first", "third"]}, {name: ["first", "second"]}, classes, "job directory j"
        )
    assert str(caught.value) == (
        "Slotted has slots, and other fields than its state was written with\n"
        "  where: job directory j\n"
        "  got:   fields first, second; first, third before\n"
        "  to do: add fields with defaults behind the others only, or leave out slots=True"
    )
