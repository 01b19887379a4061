from __future__ import annotations

import io
import sys

import pytest

from penstock.common.status_line import StatusLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Made in the test itself: between a fixture and its test, pytest sets the streams anew."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("COLUMNS", "20")
    return made


def test_a_text_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    line = StatusLine()
    line.say("starting")
    line.say("running: 12 records and more")
    line.clear()
    line.clear()
    assert terminal.getvalue() == "\r\x1b[Kstarting\r\x1b[Krunning: 12 records\r\x1b[K"


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    line = StatusLine()
    line.want(False)
    line.say("starting")
    assert not line.visible
    line.clear()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_where_there_is_no_terminal(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    line = StatusLine()
    line.say("starting")
    line.clear()
    assert stream is None or stream.getvalue() == ""


def test_a_terminal_that_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    terminal.close()
    StatusLine().say("starting")
