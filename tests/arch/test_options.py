"""Settings: one module declares them, the texts show them, and nobody else spells their keys."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import penstock.common.flink_options
import penstock.common.options
import penstock.common.state_options  # noqa: F401
from penstock.common.option_registry import OPTIONS
from tests.arch.sources import ROOT, SRC

DECLARING = {"options.py", "flink_options.py", "state_options.py"}


def test_the_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write-options", "--check"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("", ""), "run `make options`"


@pytest.mark.parametrize("text", ["README.md", "docs/configuration.md"])
def test_a_text_names_only_keys_that_there_are(text: str) -> None:
    content = (ROOT / text).read_text()
    named = re.findall(r"`(penstock\.[a-z.-]*-[a-z.-]+|restart-strategy\.[a-z.-]+)`", content)
    assert [key for key in named if key not in OPTIONS] == []


def test_no_module_spells_a_key_but_the_one_that_declares_it() -> None:
    keys = {f'"{key}"' for key in OPTIONS}
    found = [
        f"{path.relative_to(SRC)}: {key}"
        for path in SRC.rglob("*.py")
        if path.name not in DECLARING
        for key in keys
        if key in path.read_text()
    ]
    # An example in a docstring shows a user how a key is written.
    assert found == ['penstock/common/configuration.py: "parallelism.default"']
