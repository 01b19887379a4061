"""A program is started again after a dataclass in its state has got other fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.core.state import ValueStateDescriptor
from penstock.datastream import KeyedProcessFunction
from penstock.errors import StateError
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_savepoints import RETAINED, Place, lines_of, put, wait_until


def account_of_before(slots: bool) -> type:
    @dataclass(slots=slots)
    class Account:
        count: int = 0
        gone: int = 7

    return named(Account)


def account_of_now(slots: bool) -> type:
    @dataclass(slots=slots)
    class Account:
        count: int = 0
        added: str = "new"

    return named(Account)


def account_with_more(slots: bool) -> type:
    @dataclass(slots=slots)
    class Account:
        count: int = 0
        gone: int = 7
        added: str = "new"

    return named(Account)


def named(kind: type) -> type:
    """Let all of them be the same class of one program, at different times."""
    kind.__qualname__ = "main.<locals>.Account"
    return kind


class Keeping(KeyedProcessFunction):
    def __init__(self, kind: type) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        account = self.held.value() or self.kind()
        account.count += 1
        self.held.update(account)
        shown = {name: getattr(account, name) for name in account.__dataclass_fields__}
        assert "__dict__" not in dir(account) or vars(account) == shown
        yield f"{value} {shown}"


@pytest.mark.parametrize(
    ("slots", "change", "after"),
    [
        (False, account_of_now, "{'count': 2, 'added': 'new'}"),
        (True, account_with_more, "{'count': 2, 'gone': 7, 'added': 'new'}"),
        (True, account_of_now, None),
    ],
)
def test_a_dataclass_with_other_fields(
    tmp_path: Path, make_env: MakeEnvironment, slots: bool, change: Any, after: str | None
) -> None:
    place = Place(tmp_path)
    settings = {"execution.checkpointing.dir": str(place.checkpoints), **RETAINED}

    def start(kind: type) -> Any:
        env = make_env(1, **settings)
        keyed = place.words(env).key_by(lambda word: word)
        place.sink(keyed.process(Keeping(kind)).uid("keep"), rolled=True)
        return env.execute_async("accounts")

    put(place.input, "one", ["a", "b"])
    client = start(account_of_before(slots))
    wait_until(lambda: len(lines_of(place.output)) == 2)
    client.cancel().result()
    if after is None:
        with pytest.raises(StateError) as caught:
            start(change(slots))
        assert "Account has slots, and other fields than its state was written with" in str(
            caught.value
        )
        assert "got:   fields count, added; count, gone before" in str(caught.value)
        return
    put(place.input, "two", ["a"])
    client = start(change(slots))
    wait_until(lambda: len(lines_of(place.output)) == 3)
    client.cancel().result()
    first = "{'count': 1, 'gone': 7}"
    assert lines_of(place.output) == sorted([f"a {first}", f"b {first}", f"a {after}"])
