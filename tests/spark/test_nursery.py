"""The nursery: its forks are like interpreters that were started anew, only sooner."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.spark import python_start

PROBE = """
import json, os, random, sys, time
if sys.argv[1:2] == ["wait"]:
    print(os.getpid(), flush=True)
    time.sleep(100)
print(json.dumps({
    "preloaded": "pyarrow" in sys.modules, "arguments": sys.argv[1:], "folder": os.getcwd(),
    "variable": os.environ.get("VARIABLE"), "read": sys.stdin.read(), "name": __name__,
    "random": random.random(), "path": sys.path[0], "leaked": os.environ.get("LEAKED"),
    "shown": open("/proc/self/cmdline").read().split(chr(0))[1:4],
}))
print("to stderr", file=sys.stderr)
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("n")
    environ = {**os.environ, "PYTHONHASHSEED": "0", "LEAKED": "no"}
    with (folder / "log").open("wb") as log:
        made = python_start.start_nursery(folder, log, environ)
    assert made is not None
    return made.interpreter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "probe.py").write_text(PROBE)
    return tmp_path


def start(interpreter: str, folder: Path, *arguments: str, **variables: str) -> Any:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
    return subprocess.Popen(
        [interpreter, "-m", "probe", *arguments],
        cwd=folder,
        env={**environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(interpreter: str, folder: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    process = start(interpreter, folder, *arguments, **variables)
    output, errors = process.communicate("typed", timeout=60)
    assert errors == "to stderr\n"
    return {**json.loads(output), "code": process.returncode}


def test_a_fork_is_like_a_new_interpreter(interpreter: str, folder: Path) -> None:
    seen = run(interpreter, folder, "a", "b c", VARIABLE="x", PYTHONHASHSEED="0", CODE="7")
    assert seen.pop("random") != run(interpreter, folder)["random"]
    assert seen == {
        "preloaded": True,
        "arguments": ["a", "b c"],
        "folder": str(folder),
        "variable": "x",
        "read": "typed",
        "name": "__main__",
        "path": str(folder),
        "leaked": None,
        "shown": ["-m", "probe", "a"],
        "code": 7,
    }


@pytest.mark.parametrize(
    "variables", [{"PYTHONHASHSEED": "1"}, {"PENSTOCK_DEPENDENCIES": "[]"}, {"LD_PRELOAD": ""}]
)
def test_what_is_unlike_it_gets_an_interpreter_of_its_own(
    interpreter: str, folder: Path, variables: dict[str, str]
) -> None:
    assert not run(interpreter, folder, **variables)["preloaded"]


def test_without_a_nursery_there_is_an_interpreter(interpreter: str, folder: Path) -> None:
    alone = folder / "python"
    alone.write_text(Path(interpreter).read_text().replace("/nursery ", "/none "))
    alone.chmod(0o700)
    assert not run(str(alone), folder)["preloaded"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_fork_ends_with_what_spark_takes_for_it(
    interpreter: str, folder: Path, number: signal.Signals
) -> None:
    process = start(interpreter, folder, "wait")
    pid = int(process.stdout.readline())
    assert pid != process.pid
    process.send_signal(number)
    process.wait(30)
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fork_that_is_killed_is_seen_to_be(interpreter: str, folder: Path) -> None:
    process = start(interpreter, folder, "wait")
    os.kill(int(process.stdout.readline()), signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL


def test_an_uncaught_error_is_shown(interpreter: str, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text("raise ValueError('three')")
    process = start(interpreter, tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.endswith("ValueError: three\n")


def test_no_nursery_where_its_socket_would_not_fit(tmp_path: Path) -> None:
    with open(os.devnull, "wb") as log:
        assert python_start.start_nursery(tmp_path / ("x" * 100), log, {}) is None


def test_it_ends_with_the_program(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys; from penstock.spark import python_start as p\n"
        f"p.start_nursery(pathlib.Path({str(tmp_path)!r}), open({os.devnull!r}, 'wb'), {{}})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60, stdout=subprocess.PIPE)
    assert done.returncode == 0
