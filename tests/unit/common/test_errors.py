"""Errors keep their parts, print them, and survive the way from a worker to the user."""

from __future__ import annotations

import pickle

import pytest

from penstock import errors
from penstock.errors import PenstockError, RequestError, UserFunctionError, show_value

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, PenstockError)
    and kind not in (UserFunctionError, RequestError)
]


def test_parts_are_printed_below_each_other() -> None:
    error = PenstockError(
        "record has no event timestamp",
        where="window 'orders-5m', built at orders_job.py:41",
        got="Order(id=7)",
        todo="call assign_timestamps_and_watermarks(...) first",
    )
    assert str(error) == (
        "record has no event timestamp\n"
        "  where: window 'orders-5m', built at orders_job.py:41\n"
        "  got:   Order(id=7)\n"
        "  to do: call assign_timestamps_and_watermarks(...) first"
    )


def test_parts_that_are_not_given_are_not_printed_and_long_ones_are_indented() -> None:
    assert str(PenstockError("wrong", got="one\ntwo")) == "wrong\n  got:   one\n         two"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_can_be_pickled_with_its_parts(kind: type[PenstockError]) -> None:
    error = pickle.loads(pickle.dumps(kind("what", where="where", got="got", todo="todo")))
    assert type(error) is kind
    assert (error.what, error.where, error.got, error.todo) == ("what", "where", "got", "todo")
    assert error.args == ("what",)


def test_a_request_error_keeps_its_status() -> None:
    error = pickle.loads(pickle.dumps(RequestError(404, "no such job")))
    assert (error.status, error.what) == (404, "no such job")


def failing(value: int) -> int:
    return value // 0


def raised() -> UserFunctionError:
    try:
        failing(7)
    except ZeroDivisionError as error:
        return UserFunctionError.from_exception(
            error, operator="Map", site="job.py:12", record=7, method="map"
        )
    raise AssertionError


def test_a_user_function_error_names_operator_place_record_and_the_users_frames() -> None:
    lines = str(raised()).splitlines()
    assert lines[:5] == [
        "map() of operator 'Map' raised ZeroDivisionError: integer division or modulo by zero",
        "  where: operator 'Map', built at job.py:12",
        "  got:   record 7",
        "  to do: correct the function, or catch the exception inside it",
        "Traceback (most recent call last):",
    ]
    assert lines[-1] == "ZeroDivisionError: integer division or modulo by zero"
    assert any("in failing" in line for line in lines)


def test_a_user_function_error_holds_text_only() -> None:
    error = pickle.loads(pickle.dumps(raised()))
    assert str(error) == str(raised())
    assert (error.operator, error.site, error.record) == ("Map", "job.py:12", "7")


def test_a_function_that_was_not_called_for_a_record() -> None:
    error = UserFunctionError.from_exception(ValueError("no"), operator="Sink", method="open")
    assert str(error).splitlines()[:3] == [
        "open() of operator 'Sink' raised ValueError: no",
        "  where: operator 'Sink'",
        "  to do: correct the function, or catch the exception inside it",
    ]
    none = UserFunctionError.from_exception(ValueError("no"), operator="Sink", record=None)
    assert none.got == "record None"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_values_are_shown_shortened_and_whatever_their_repr_does() -> None:
    assert show_value("a" * 600) == "'" + "a" * 496 + "..."
    assert show_value(Broken()) == "<Broken whose repr raised RuntimeError>"
