"""Every program in examples/ runs as it stands and writes what it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, EXPECTED, by_beginning, expected_of, output_of

PROGRAMS = sorted(EXAMPLES.rglob("*.py"))

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_output_is_as_expected(program: Path, tmp_path: Path) -> None:
    assert by_beginning(output_of(program, tmp_path)) == by_beginning(expected_of(program))


def test_no_expectation_without_a_program() -> None:
    expectations = {path.relative_to(EXPECTED).with_suffix("") for path in EXPECTED.rglob("*.txt")}
    assert expectations == {path.relative_to(EXAMPLES).with_suffix("") for path in PROGRAMS}
