"""Every snippet of the documentation runs, and writes what the page says."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[str, str, str | None]]:
    """Return all programs: page and number, code, and the output that follows, if any."""
    found = []
    for page in PAGES:
        fences = _FENCE.findall(page.read_text())
        for number, (language, code) in enumerate(fences):
            if language == "python":
                after = fences[number + 1] if number + 1 < len(fences) else ("", "")
                expected = after[1] if after[0] == "text" else None
                found.append((f"{page.stem}-{number}", code, expected))
    return found


def serve_line(text: str) -> int:
    """Answer the first caller of a port with a line, and return the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listener, listener.accept()[0] as connection:
            connection.sendall(text.encode())

    threading.Thread(target=answer, daemon=True).start()
    return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("code", "expected"), [pytest.param(c, e, id=name) for name, c, e in snippets()]
)
def test_snippet(code: str, expected: str | None, tmp_path: Path) -> None:
    if "9999" in code:
        code = code.replace("9999", str(serve_line("to be or not to be\n")))
    program = tmp_path / "snippet.py"
    program.write_text(code)
    # Without Spark: what a page shows is the same on both engines.
    options = json.dumps({"execution.target": "in-process"})
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PENSTOCK_CLIENT_OPTIONS": options},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if expected is not None:
        assert sorted(done.stdout.splitlines()) == sorted(expected.splitlines())


def test_there_are_snippets() -> None:
    assert len(snippets()) > 8
