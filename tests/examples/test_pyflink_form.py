"""The programs in examples/pyflink are PyFlink programs but for the word after `from`.

Their expected output (tests/examples/expected/pyflink) was recorded from PyFlink 2.3.0 itself.
"""

from __future__ import annotations

import ast
import builtins
import json
import sys
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, ROOT

NAMES = json.loads((ROOT / "tests/parity/pyflink-names.json").read_text())
PROGRAMS = sorted((EXAMPLES / "pyflink").glob("*.py"))
#: Methods that the list has not: those of classes nested in PyFlink's own, and of the Row.
NESTED = {"get_current_key", "timestamp", "timer_service", "window"}
#: Those of the builders inside PyFlink's file sink.
NESTED |= {"build", "with_bucket_assigner", "with_output_file_config", "with_rolling_policy"}
NESTED |= {"with_part_prefix", "with_part_suffix"}


def names_of(program: Path) -> list[tuple[str, str]]:
    """Return every name that a program imports, with its module as PyFlink calls it."""
    return [
        (node.module.replace("penstock", "pyflink", 1), alias.name)
        for node in ast.walk(ast.parse(program.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if node.module.partition(".")[0] == "penstock"
    ]


def test_these_are_all() -> None:
    assert [program.stem for program in PROGRAMS] == [
        "connect",
        "file_word_count",
        "rich_map_with_state",
        "sensor_maximum",
        "split_by_side_output",
        "windows_to_files",
        "word_count",
        "word_count_to_files",
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_imports_are_names_of_pyflink(program: Path) -> None:
    imported = names_of(program)
    assert imported
    for module, name in imported:
        assert name in NAMES[module]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_penstock_stands_only_in_import_lines(program: Path) -> None:
    lines = [line for line in program.read_text().splitlines() if "penstock" in line.lower()]
    assert lines
    assert all(line.startswith("from penstock.") for line in lines)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_methods_are_those_of_pyflink_or_python(program: Path) -> None:
    tree = ast.parse(program.read_text())
    known = {method for classes in NAMES.values() for c in classes.values() for method in c or ()}
    known |= {name for value in vars(builtins).values() for name in dir(value)} | NESTED
    known |= {name for module in imported_modules(tree) for name in dir(module)}
    known |= defined_here(tree) | set(dir(Path))
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert called - known == set()


def imported_modules(tree: ast.Module) -> list[object]:
    names = (a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names)
    return [sys.modules.get(name) or __import__(name) for name in names]


def defined_here(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
