from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from penstock.common import ConfigOptions, Configuration, Duration
from penstock.common.config_options import ConfigOption
from penstock.errors import ConfigurationError


def test_values_are_read_as_any_type_that_fits() -> None:
    configuration = Configuration.from_dict({"n": "4", "b": "TRUE", "f": "1.5", "s": 7})
    assert configuration.get_integer("n", 0) == 4
    assert configuration.get_string("n", "") == "4"
    assert configuration.get_boolean("b", False) is True
    assert configuration.get_float("f", 0.0) == 1.5
    assert configuration.get_string("s", "") == "7"
    assert configuration.get_integer("absent", 3) == 3
    assert configuration.get_string("absent", None) is None


def test_setters_return_the_configuration() -> None:
    configuration = (
        Configuration()
        .set_string("s", "x")
        .set_integer("i", 1)
        .set_boolean("b", True)
        .set_float("f", 0.5)
        .set_bytearray("a", bytearray(b"z"))
    )
    assert configuration.key_set() == {"s", "i", "b", "f", "a"}
    assert configuration.get_bytearray("a", None) == bytearray(b"z")
    assert configuration.set_boolean("b", False).to_dict()["b"] == "false"


def test_configurations_are_copied_and_joined() -> None:
    first = Configuration().set_integer("a", 1)
    second = Configuration(first).add_all(Configuration().set_integer("b", 2), "x.")
    assert second.to_dict() == {"a": "1", "x.b": "2"}
    assert first.to_dict() == {"a": "1"}
    target: dict[str, Any] = {"a": 0}
    second.add_all_to_dict(target)
    assert target == {"a": 1, "x.b": 2}
    assert second.remove_config("a")
    assert not second.remove_config("a")
    assert not second.contains_key("a")
    assert Configuration().set_integer("a", 1) == first


def test_a_value_that_does_not_fit() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Configuration().set_string("port", "many").get_integer("port", 0)
    here = f"{__file__}:{inspect.currentframe().f_lineno - 1}"
    assert str(caught.value) == (
        "the setting cannot be read as int\n"
        f"  where: configuration key port, {here}\n"
        "  got:   'many'"
    )


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a;b ; c", ["a", "b", "c"]),
        ("[a, b]", ["a", "b"]),
        ("- a\n- 2", ["a", "2"]),
        ("", []),
    ],
)
def test_lists(text: str, items: list[str]) -> None:
    assert Configuration.parse_list_value(text) == items


class Mode(Enum):
    FAST = 1


BUILDER = ConfigOptions.key("k")


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (BUILDER.int_type().no_default_value(), "5", 5),
        (BUILDER.long_type().no_default_value(), "5", 5),
        (BUILDER.float_type().no_default_value(), "5", 5.0),
        (BUILDER.double_type().no_default_value(), "5", 5.0),
        (BUILDER.boolean_type().no_default_value(), "false", False),
        (BUILDER.string_type().no_default_value(), "x", "x"),
        (BUILDER.duration_type().no_default_value(), "5 s", Duration.of_seconds(5)),
        (BUILDER.memory_type().no_default_value(), "2 kb", 2048),
        (BUILDER.enum_type(Mode).no_default_value(), "FAST", Mode.FAST),
        (BUILDER.map_type().no_default_value(), "a:1, b:2", {"a": "1", "b": "2"}),
        (BUILDER.int_type().as_list().no_default_value(), "1;2", [1, 2]),
    ],
)
def test_options_read_text(option: ConfigOption[Any], text: str, value: Any) -> None:
    configuration = Configuration().set_string("k", text)
    assert configuration.get(option) == value
    assert Configuration().get(option) is None
    written = Configuration().set(option, value)
    again = Configuration.from_dict(written.to_dict())
    assert again.get(option) == value


def test_an_option_has_a_default() -> None:
    option = ConfigOptions.key("k").int_type().default_value(3)
    assert Configuration().get(option) == 3
    assert option.has_default_value()


@pytest.mark.parametrize(
    ("make", "todo"),
    [
        (lambda: BUILDER.boolean_type(), "write true or false"),
        (
            lambda: BUILDER.memory_type(),
            "write a number and a unit (b, kb, mb, gb, tb), for instance '64 mb'",
        ),
    ],
)
def test_an_option_of_the_wrong_type(make: Callable[[], Any], todo: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Configuration().set_string("k", "maybe").get(make().no_default_value())
    here = f"{__file__}:{inspect.currentframe().f_lineno - 1}"
    assert str(caught.value) == (
        "the setting has a value that cannot work\n"
        f"  where: configuration key k, {here}\n  got:   'maybe'\n  to do: {todo}"
    )
