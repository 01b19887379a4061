"""Programs of examples/ that need no server, in-process: quick, and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, by_beginning, expected_of, outputs_of_all

# That one has a database to start.
FOLDERS = ("cep", "process", "streams")
FOUND = [p for folder in FOLDERS for p in sorted((EXAMPLES / folder).glob("*.py"))]
PROGRAMS = [p for p in FOUND if p.name != "user_info.py"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, str]]:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "penstock-conf.yaml").write_text("execution.target: in-process\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CONF_DIR", str(folder))
        yield outputs_of_all(PROGRAMS, folder)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_output_is_as_expected(program: Path, outputs: dict[Path, str]) -> None:
    assert by_beginning(outputs[program]) == by_beginning(expected_of(program))
