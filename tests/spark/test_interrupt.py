"""Ctrl-C ends a job in order: it is cancelled, and the program sees a KeyboardInterrupt."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock.spark.directory import folder_name
from tests.spark.conftest import RunProgram

PROGRAM = Path(__file__).parent / "programs" / "waiting.py"


@pytest.mark.timeout(300)
def test_an_interrupt_cancels_the_job(run_program: RunProgram, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    with run_program(PROGRAM, checkpoints) as program:
        assert program.process.stdout is not None
        assert program.process.stdout.readline() == "begun\n"
        assert [path.name for path in checkpoints.iterdir()] == [folder_name("waiting")]
        program.process.send_signal(signal.SIGINT)
        program.process.wait(timeout=60)
    assert program.process.returncode == -signal.SIGINT
    assert (tmp_path / "stderr.txt").read_text() == (
        "interrupted: job 'waiting' was cancelled; its checkpoint is removed "
        "(execution.checkpointing.externalized-checkpoint-retention: RETAIN_ON_CANCELLATION "
        "keeps it)\n"
    )
    assert list(checkpoints.iterdir()) == []
