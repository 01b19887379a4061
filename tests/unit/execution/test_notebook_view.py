"""What a notebook shows of a job."""

from __future__ import annotations

import re
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from penstock.common import JobClient
from penstock.execution import notebook_view
from penstock.execution.notebook_view import show_live, to_html
from tests.sample_facts import sample_snapshot


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_a_job_is_a_small_table() -> None:
    text = text_of(to_html(sample_snapshot()))
    assert "orders RUNNING 1:30, 60 batches, 1 restarts, state 104.0 KB" in text
    assert "Source: orders -&gt; Parse 2 90,000 88,000 1,000 39 %" in text
    assert "ValueError: could not convert string to float: &#x27;x&#x27; in Parse" in text


def test_names_cannot_bring_markup_along() -> None:
    job = sample_snapshot()
    job.name = job.vertices[0].name = "<script>alert(1)</script>"
    job.failures[0].root_message = "<img src=x>"
    assert "<script" not in to_html(job)
    assert "<img" not in to_html(job)


class _Shown:
    """What IPython returns for something that is displayed under an id."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.ended = threading.Event()

    def update(self, html: str) -> None:
        self.seen.append(html)
        if "FINISHED" in html:
            self.ended.set()


def test_the_view_follows_the_job_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _Shown()
    module: Any = ModuleType("IPython.display")
    module.HTML = str
    module.display = lambda html, display_id: shown.seen.append(html) or shown
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(notebook_view, "_SECONDS", 0.01)
    states = iter(["RUNNING", "RUNNING"])
    assert show_live(lambda: sample_snapshot(next(states, "FINISHED")))
    assert shown.ended.wait(20)
    assert ["RUNNING" in html for html in shown.seen] == [True, True, False]


class _Handle:
    job_id = "a" * 32

    def to_html(self) -> str:
        return "<b>shown</b>"

    def show_live(self) -> bool:
        return False


def test_a_client_shows_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    client = JobClient(_Handle())  # type: ignore[arg-type]
    assert client._repr_html_() == "<b>shown</b>"
    client._ipython_display_()  # there is no notebook here
    assert "JobClient" in capsys.readouterr().out
