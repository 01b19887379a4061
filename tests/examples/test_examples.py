"""Every program in examples/ runs as it stands and writes what it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import (
    EXAMPLES,
    EXPECTED,
    PROGRAMS,
    by_beginning,
    expected_of,
    output_of,
    outputs_of_all,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    return outputs_of_all(PROGRAMS, tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_output_is_as_expected(program: Path, outputs: dict[Path, str]) -> None:
    assert by_beginning(outputs[program]) == by_beginning(expected_of(program))


def test_the_program_of_the_readme_in_a_process_of_its_own(tmp_path: Path) -> None:
    program = EXAMPLES / "quickstart.py"
    assert by_beginning(output_of(program, tmp_path)) == by_beginning(expected_of(program))


def test_no_expectation_without_a_program() -> None:
    expectations = {path.relative_to(EXPECTED).with_suffix("") for path in EXPECTED.rglob("*.txt")}
    assert expectations == {path.relative_to(EXAMPLES).with_suffix("") for path in PROGRAMS}
