"""What the texts name is there."""

from __future__ import annotations

import re

import pytest

from tests.arch.sources import ROOT, SRC

TEXTS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "CHANGELOG.md"]


def named_in(text: str) -> set[str]:
    """Return the files and folders that a text names, in code style or in a drawing."""
    content = (ROOT / text).read_text()
    quoted = re.findall(r"`([a-z_/]+/[a-z_]*(?:\.py)?|[a-z_]+/)`", content)
    drawn = re.findall(r"(?<![\w/])([a-z_]+/[a-z_]+\.py)", content)
    return {*quoted, *drawn}


@pytest.mark.parametrize("text", TEXTS)
def test_named_files_exist(text: str) -> None:
    roots = (ROOT, SRC / "penstock")
    missing = [name for name in named_in(text) if not any((r / name).exists() for r in roots)]
    assert missing == []


def test_architecture_stays_short_enough_to_read() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) < 360


def test_architecture_names_every_package() -> None:
    content = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [path.parent.name for path in (SRC / "penstock").glob("*/__init__.py")]
    assert [name for name in packages if f"`{name}`" not in content] == []


def test_named_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for text in TEXTS:
        for target in re.findall(r"`make ([a-z]+)`", (ROOT / text).read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{text}: make {target}"
