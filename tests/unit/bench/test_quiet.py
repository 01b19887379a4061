"""What others did while something was measured, on a machine that is made up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import quiet
from bench.quiet import Onlooker, busy_ticks, ticks_of_session

SESSION = 70


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(quiet, "PROC", tmp_path)
    monkeypatch.setattr(quiet, "EVERY_S", 0.01)
    return tmp_path


def have_spent(proc: Path, machine: int, processes: dict[int, tuple[int, int]]) -> None:
    (proc / "stat").write_text(f"cpu  {machine} 0 0 9999 5 0 0 0 0 0\ncpu0 1 2 3\n")
    for pid, (session, ticks) in processes.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        fields = ["S", "1", "1", str(session), *["0"] * 7, str(ticks), "0"]
        (proc / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}\n")


def test_only_what_the_session_spent_is_its_own(proc: Path) -> None:
    have_spent(proc, 500, {71: (SESSION, 30), 72: (SESSION, 12), 99: (1, 400)})
    assert busy_ticks() == 500
    assert ticks_of_session(SESSION) == {71: 30, 72: 12}


def test_others_are_what_the_machine_did_beyond_the_session(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ten seconds, in which one core was at work for the session and half a one for others.
    second = os.sysconf("SC_CLK_TCK")
    clock = iter([0.0, 10.0])
    monkeypatch.setattr(quiet, "now", lambda: next(clock))
    have_spent(proc, 1000, {71: (SESSION, 10 * second)})
    with Onlooker(SESSION) as onlooker:
        have_spent(proc, 1000 + 15 * second, {})
        while not onlooker.own:
            pass
    assert onlooker.cores == 0.5


def test_where_there_is_no_proc_nothing_is_known(proc: Path) -> None:
    with Onlooker(SESSION) as onlooker:
        pass
    assert onlooker.cores is None
