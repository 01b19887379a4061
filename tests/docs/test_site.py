"""The documentation builds as a site, with every link leading somewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "tutorial" / "index.html").exists()


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in navigation]
    assert missing == []


def test_every_example_is_listed() -> None:
    listed = (ROOT / "docs" / "examples.md").read_text()
    programs = [path.relative_to(ROOT) for path in (ROOT / "examples").rglob("*.py")]
    assert [str(path) for path in programs if f"`{path}`" not in listed] == []
