"""Spark's log: its level, its file."""

from __future__ import annotations

import logging
from pathlib import Path

import py4j.java_gateway
import pytest

from penstock.errors import ConfigurationError
from penstock.spark.gateway import JvmFolder, is_not_from_py4j, start_jvm
from tests.spark.conftest import RunProgram

PROGRAM = Path(__file__).parent / "programs" / "log_level.py"


@pytest.mark.timeout(300)
def test_the_level_of_each_job(run_program: RunProgram, tmp_path: Path) -> None:
    with run_program(PROGRAM, tmp_path / "spark.log") as program:
        assert program.finish() == "1\nerror False\n1\ninfo True\n1\noff False\n"
    assert (tmp_path / "spark.log").exists()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    folder = JvmFolder("warn", str(tmp_path / "missing" / "spark.log"))
    with pytest.raises(ConfigurationError) as caught:
        start_jvm({"spark.master": "local"}, folder)
    assert str(caught.value) == (
        "Spark's log cannot be written\n"
        "  where: configuration key penstock.spark.log-file\n"
        f"  got:   FileNotFoundError: [Errno 2] No such file or directory: "
        f"'{tmp_path / 'missing' / 'spark.log'}'\n"
        "  to do: name a file in a folder that exists"
    )


def test_a_log_that_is_kept(tmp_path: Path) -> None:
    folder = JvmFolder("warn")
    folder.log.write_text("something went wrong")
    kept = Path(folder.keep_log())
    try:
        assert folder.keep_log() == str(kept)
        assert kept.read_text() == "something went wrong"
        assert kept.parent == folder.path.parent.parent
    finally:
        kept.unlink()


def test_what_py4j_logs_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    # It logs to the root when the JVM goes away under a call, as it may at a program's end.
    words = compile("logging.error('the JVM has gone')", py4j.java_gateway.__file__, "exec")
    root = logging.getLogger()
    root.addFilter(is_not_from_py4j)
    try:
        exec(words, {"logging": logging})
        logging.error("the program's own")
    finally:
        root.removeFilter(is_not_from_py4j)
    assert caplog.messages == ["the program's own"]
