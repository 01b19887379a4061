"""Files stay small, have a name that says what is in them, and leave nothing for later."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.arch.sources import ROOT, python_files, relative

CODE = python_files("src", "examples", "bench", "scripts", "tools")
ALL_PYTHON = CODE + python_files("tests")
TEXTS = sorted([*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / ".ci/run"])
MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 60

# Cut in two, so that this file is not among what it finds.
NOT_YET_DONE = (
    "TO" + "DO",
    "FIX" + "ME",
    "XX" + "X",
    "HA" + "CK",
    "FIG" + "URE:",
    "Lorem" + " ipsum",
)
NOT_IN_CODE = "NotImplemented" + "Error", "breakpoint" + "("
NOT_IN_TESTS = "pytest." + "skip", "mark." + "skip", "mark." + "xfail", "importor" + "skip"
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "impl", "misc", "common_utils"}


def test_modules_are_short() -> None:
    lines = {relative(path): len(path.read_text().splitlines()) for path in ALL_PYTHON}
    assert {path: n for path, n in lines.items() if n > MAX_MODULE_LINES} == {}


def test_functions_are_short() -> None:
    lines = {
        f"{relative(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in ALL_PYTHON
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {function: n for function, n in lines.items() if n > MAX_FUNCTION_LINES} == {}


def test_names_say_what_is_inside() -> None:
    assert [relative(path) for path in ALL_PYTHON if path.stem in EMPTY_NAMES] == []


def found(words: tuple[str, ...], paths: list[Path]) -> list[str]:
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}" for word in words))
    return [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_nothing_is_left_for_later() -> None:
    assert found(NOT_YET_DONE, ALL_PYTHON + TEXTS) == []


def test_code_promises_nothing_it_does_not_do() -> None:
    assert found(NOT_IN_CODE, CODE) == []


def test_no_test_is_left_out() -> None:
    assert found(NOT_IN_TESTS, python_files("tests")) == []


def test_no_path_of_one_machine() -> None:
    homes = "/home" + "/", "/root" + "/", "/Users" + "/", "/work" + "/"
    assert found(homes, ALL_PYTHON + TEXTS) == []
