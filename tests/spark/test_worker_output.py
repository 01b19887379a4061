"""What functions print in a worker appears on the user's own streams, in whole lines."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from penstock.spark import worker_output
from penstock.spark.output_relay import OutputRelay
from penstock.spark.worker_output import shown_to_user

PROGRAM = Path(__file__).parent / "programs" / "printing.py"


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> OutputRelay:
    made = OutputRelay(tmp_path_factory.mktemp("r"))
    assert made.place is not None
    monkeypatch.setenv(worker_output.VARIABLE, made.place)
    monkeypatch.setattr(worker_output, "_streams", None)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", list(root.handlers))
    return made


def test_log_records_go_to_the_programs_loggers(
    relay: OutputRelay, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is this process here: its handler is taken away before the records arrive."""
    worker, own = logging.getLogger("shop.till"), logging.getLogger("shop")
    monkeypatch.setattr(own, "level", logging.INFO)
    monkeypatch.setenv(worker_output.LEVELS_VARIABLE, json.dumps(worker_output.log_levels()))
    with shown_to_user():
        caplog.clear()
        worker.info("sold %d of %s", 3, "tea", extra={"till": 7})
        worker.debug("not wanted")
        try:
            raise ValueError("three")
        except ValueError:
            worker.exception("broken")
    caplog.clear()
    logging.getLogger().handlers[:] = [caplog.handler]
    relay.drain()
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("shop.till", "INFO", "sold 3 of tea"),
        ("shop.till", "ERROR", "broken"),
    ]
    assert caplog.records[0].till == 7  # type: ignore[attr-defined]
    assert caplog.records[0].pathname == __file__
    assert str(caplog.records[1].exc_text).endswith("ValueError: three")


def test_the_levels_of_the_program() -> None:
    program = (
        "import logging, json; from penstock.spark.worker_output import log_levels\n"
        "logging.basicConfig(level=logging.DEBUG); logging.getLogger('a.b').setLevel(35)\n"
        "logging.getLogger('py4j').setLevel(50); logging.getLogger('plain')\n"
        "print(json.dumps(log_levels())); logging.disable(logging.INFO)\n"
        "print(log_levels()[''])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    levels = json.loads(first)
    assert levels[""] == 10 and levels["a.b"] == 35
    assert not {"py4j", "plain"} & set(levels)
    assert second == "21"


def test_both_streams_and_no_others(relay: OutputRelay, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_to_user():
        print("out")
        print("fehler \N{LATIN SMALL LETTER U WITH DIAERESIS} \ud800", file=sys.stderr)
    print("outside")
    assert capsys.readouterr() == ("outside\n", "")
    assert relay.drain()
    shown = capsys.readouterr()
    assert shown.out == "out\n"
    assert shown.err.startswith("fehler ")
    assert not relay.drain()


def test_much_output_without_a_newline(
    relay: OutputRelay, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has come is not looked at again with each piece that follows: that took 25 s."""
    size, began = 32_000_000, time.process_time()

    def write() -> None:
        with shown_to_user():
            sys.stdout.write("x" * size)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        relay.drain()
    relay.drain(ended=True)
    assert time.process_time() - began < 8
    assert len(capsys.readouterr().out) == size


def test_a_line_is_shown_when_it_is_whole(
    relay: OutputRelay, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown_to_user():
        print("one", end="")
    relay.drain()
    assert capsys.readouterr().out == ""
    with shown_to_user():
        print(" line\nrest", end="")
    relay.drain()
    assert capsys.readouterr().out == "one line\n"
    relay.drain(ended=True)
    relay.drain(ended=True)
    assert capsys.readouterr().out == "rest"


def test_a_worker_that_has_ended(relay: OutputRelay, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_to_user():
        print("unfinished", end="")
    relay.drain()
    assert worker_output._streams is not None
    worker_output._streams[0].buffer.raw._socket.close()
    relay.drain()
    assert capsys.readouterr().out == "unfinished"


def test_without_a_listener(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(worker_output.VARIABLE, str(tmp_path / "nobody"))
    monkeypatch.setattr(worker_output, "_streams", None)
    with shown_to_user():
        print("lost")


def test_a_worker_that_prints_nothing_opens_no_connection(relay: OutputRelay) -> None:
    with shown_to_user():
        pass
    assert not relay.drain()


def test_more_than_a_socket_holds(relay: OutputRelay, capsys: pytest.CaptureFixture[str]) -> None:
    code = """
from penstock.spark.worker_output import shown_to_user
with shown_to_user():
    for number in range(50_000):
        print(number)
"""
    worker = subprocess.Popen([sys.executable, "-c", code])
    while worker.poll() is None:
        relay.drain()
    relay.drain()
    assert worker.returncode == 0
    assert capsys.readouterr().out == "".join(f"{n}\n" for n in range(50_000))


def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    relay = OutputRelay(tmp_path / ("x" * 100))
    assert relay.place is None
    assert not relay.drain(ended=True)


@pytest.mark.timeout(300)
def test_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300
    )
    first, _, second = done.stdout.partition("between\n")
    lines = first.splitlines()
    assert lines[-1].startswith("result")
    assert sorted(lines[:-1]) == sorted([*(f"map {n}" for n in range(20)), *["x" * 20_000] * 20])
    assert second == "about to fail\nno newline"
    assert [line for line in done.stderr.splitlines() if line.startswith("error stream")]
    assert done.stderr.count("error stream") == 20
    assert "ValueError: failed" in done.stderr
    for word in ("pyspark", "WARN", "java"):
        assert word not in done.stderr
