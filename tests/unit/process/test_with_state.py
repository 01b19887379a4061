"""map_with_state and its siblings."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ProgramError, TypeMismatchError
from tests.unit.process.jobs import run

WORDS = ["to", "be", "or", "not", "to", "be", "to"]
NUMBERED = [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2), ("to", 3)]


def same(word: str) -> str:
    return word


def number(word: str, count: int | None) -> tuple[Any, int]:
    count = (count or 0) + 1
    return (word, count), count


@pytest.mark.parametrize("workers", [["a"], ["a", "b"]])
@pytest.mark.parametrize("cuts", [None, 1])
def test_map_with_state(cuts: int | None, workers: list[str]) -> None:
    found = run(
        lambda env: env.from_collection(WORDS).key_by(same).map_with_state(number),
        2, cuts, workers,
    )  # fmt: skip
    assert sorted(found) == NUMBERED


def test_flat_map_with_state() -> None:
    """The seeds' case: report two readings that differ by more than 1.7 degrees."""

    def differ(reading: tuple[str, float], last: float | None) -> tuple[list[Any], float]:
        sensor, celsius = reading
        if last is not None and abs(celsius - last) > 1.7:
            return [(sensor, last, celsius)], celsius
        return [], celsius

    readings = [("s1", 35.0), ("s2", 15.0), ("s1", 36.0), ("s1", 38.0), ("s2", 13.1)]
    found = run(
        lambda env: env.from_collection(readings).key_by(lambda r: r[0]).flat_map_with_state(differ)
    )
    assert sorted(found) == [("s1", 36.0, 38.0), ("s2", 15.0, 13.1)]


def test_flat_map_may_give_a_generator_or_nothing() -> None:
    def repeat(word: str, count: int | None) -> tuple[Any, int]:
        count = (count or 0) + 1
        return (None if count == 1 else (word for _ in range(count))), count

    found = run(lambda env: env.from_collection(WORDS).key_by(same).flat_map_with_state(repeat))
    assert sorted(found) == ["be"] * 2 + ["to"] * 5


def test_filter_with_state_lets_each_record_pass_once() -> None:
    found = run(
        lambda env: (
            env.from_collection(WORDS).key_by(same).filter_with_state(lambda w, seen: (not seen, 1))
        ),
        cuts=1,
    )
    assert found == ["to", "be", "or", "not"]


def test_none_as_new_state_clears_it() -> None:
    def twice(word: str, seen: bool | None) -> tuple[Any, bool | None]:
        return (word, seen), None if seen else True

    found = run(lambda env: env.from_collection(["x"] * 4).key_by(same).map_with_state(twice))
    assert found == [("x", None), ("x", True), ("x", None), ("x", True)]


def test_a_state_that_is_changed_in_place_is_kept() -> None:
    def collect(word: str, seen: list[str] | None) -> tuple[Any, list[str]]:
        seen = [] if seen is None else seen
        seen.append(word)
        return len(seen), seen

    stream = lambda env: env.from_collection(["x"] * 4).key_by(same)  # noqa: E731
    found = run(lambda env: stream(env).map_with_state(collect), cuts=1, workers=["a", "b"])
    assert found == [1, 2, 3, 4]


@pytest.mark.parametrize("method", ["map", "flat_map", "filter"])
def test_a_function_that_returns_no_pair(method: str) -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        keyed = env.from_collection(["x"]).key_by(same)
        return getattr(keyed, f"{method}_with_state")(lambda word, state: word)

    with pytest.raises(ProgramError) as error:
        run(build)
    lines = str(error.value).splitlines()
    assert lines[0] == f"the function of {method}_with_state() must return a pair"
    assert lines[2:] == [
        "  got:   'x'",
        "  to do: return (result, new state); None as new state clears it",
    ]


def test_names_and_types_in_the_plan() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection(["x"], Types.STRING()).key_by(same)
    assert keyed.map_with_state(number, Types.INT()).get_type() == Types.INT()
    assert keyed.flat_map_with_state(number).get_name() == "FlatMapWithState"
    assert keyed.filter_with_state(number).get_type() == Types.STRING()
    with pytest.raises(TypeMismatchError):
        keyed.map_with_state("no function")  # type: ignore[arg-type]
