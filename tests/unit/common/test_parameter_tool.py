from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import ParameterTool
from penstock.errors import ConfigurationError


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], {}),
        (["--host", "h", "-port", "1"], {"host": "h", "port": "1"}),
        (["--flag", "--key", "v"], {"flag": "", "key": "v"}),
        (["--offset", "-5"], {"offset": "-5"}),
        (["--small", "-1.5e-3", "--flag"], {"small": "-1.5e-3", "flag": ""}),
        (["--key", "a", "--key", "b"], {"key": "b"}),
    ],
)
def test_from_args(args: list[str], expected: dict[str, str]) -> None:
    assert ParameterTool.from_args(args).to_map() == expected


@pytest.mark.parametrize(
    ("args", "where", "got"),
    [(["x"], 1, "'x'"), (["--a", "b", "c"], 3, "'c'"), (["--"], 1, "'--'")],
)
def test_something_that_is_no_key(args: list[str], where: int, got: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ParameterTool.from_args(args)
    assert str(caught.value) == (
        "a parameter must begin with - or -- and have a name\n"
        f"  where: argument {where}\n  got:   {got}\n  to do: write --key value"
    )


def test_values_are_read_by_type() -> None:
    tool = ParameterTool.from_map({"n": 5, "f": 1.5, "b": "true", "s": "x"})
    assert (tool.get_int("n"), tool.get_long("n")) == (5, 5)
    assert (tool.get_float("f"), tool.get_double("n")) == (1.5, 5.0)
    assert tool.get_boolean("b") is True
    assert (tool.get("s"), tool.get("t"), tool.get("t", "d")) == ("x", None, "d")
    assert (tool.get_int("m", 7), tool.get_boolean("m", False)) == (7, False)
    assert tool.get_number_of_parameters() == 4


def test_a_flag_is_there_but_has_no_value() -> None:
    tool = ParameterTool.from_args(["--debug"])
    assert tool.has("debug")
    assert tool.get("debug") is None
    assert not tool.has("trace")


def test_a_required_parameter_that_is_missing() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ParameterTool.from_args(["--host", "h"]).get_required("port")
    assert str(caught.value) == (
        "no value for the required parameter 'port'\n"
        "  got:   parameters: host\n  to do: start the program with --port VALUE"
    )


def test_a_parameter_of_the_wrong_type() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ParameterTool.from_args(["--port", "x"]).get_int("port")
    assert str(caught.value) == "parameter 'port' must be a whole number\n  got:   'x'"


def test_a_properties_file(tmp_path: Path) -> None:
    path = tmp_path / "job.properties"
    path.write_text(
        "# note\n! note\nhost = local host\nport: 9\nempty\nlong = a\\\n   b\n\nx=y=z\n"
    )
    assert ParameterTool.from_properties_file(path).to_map() == {
        "host": "local host",
        "port": "9",
        "empty": "",
        "long": "ab",
        "x": "y=z",
    }


def test_a_properties_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ParameterTool.from_properties_file(tmp_path / "no")
    assert str(caught.value) == (
        "the properties file cannot be read\n"
        f"  where: {tmp_path / 'no'}\n"
        "  got:   No such file or directory\n"
        "  to do: give the path of a file that exists and can be read"
    )


def test_the_other_wins_in_a_merge_and_a_tool_stands_for_a_dict() -> None:
    merged = ParameterTool.from_map({"a": 1, "b": 1}).merge_with(ParameterTool.from_map({"b": 2}))
    assert dict(merged) == {"a": "1", "b": "2"}
    assert merged.get_configuration().get_integer("b", 0) == 2
