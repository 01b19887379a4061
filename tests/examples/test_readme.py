"""The README shows a program that is a file of examples/, and exactly what it writes."""

from __future__ import annotations

import re

import pytest

from tests.examples.running import EXAMPLES, ROOT, expected_of

README = (ROOT / "README.md").read_text()
PROGRAM = EXAMPLES / "quickstart.py"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_program_is_the_file() -> None:
    assert PROGRAM.read_text() in blocks("python")


def test_the_output_is_what_the_file_writes() -> None:
    assert expected_of(PROGRAM) in blocks("text")


def test_the_start_fits_on_a_screen() -> None:
    assert len(README.partition("\n## ")[0].splitlines()) <= 80


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z]+)", "\n".join(blocks("sh"))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_setting_is_read_somewhere() -> None:
    code = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    table = README.partition("## Configuration")[2].partition("\n## ")[0]
    keys = re.findall(r"^\| `([a-z.-]+\.[a-z-]+)` \|", table, re.MULTILINE)
    assert len(keys) > 10
    assert [key for key in keys if key not in code] == []
