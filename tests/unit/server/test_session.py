"""A real session with real processes. Jobs run on the in-process engine, which is quick to start;
`tests/spark/test_session.py` has the same with Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "programs" / "endless.py"
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]
ENDED = ("FINISHED", "CANCELED", "FAILED")


class RunningSession:
    """A session of its own, in a temporary folder."""

    def __init__(self, folder: Path, *options: str, scheme: str = "http") -> None:
        self.folder = folder
        self.options = options
        self.scheme = scheme
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "penstock.server.main", "--state-dir", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *self.options], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert f"Session with REST and dashboard at {self.scheme}://127.0.0.1:" in line
        self.address = line.split()[6].rstrip(";")

    def ask(self, path: str, verb: str = "GET", body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{verb} {path}: {error.code} {error.read()!r}") from None

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return str(answer.read(), "utf-8")

    def submit(self, *arguments: str, script: Path = PROGRAM) -> str:
        body = {"name": script.name, "content": script.read_text()}
        uploaded = self.ask("/scripts/upload", "POST", body)["id"]
        asked = {"programArgsList": list(arguments)}
        job_id: str = self.ask(f"/scripts/{uploaded}/run", "POST", asked)["jobid"]
        return job_id

    def states(self) -> dict[str, str]:
        return {job["id"]: job["status"] for job in self.ask("/jobs")["jobs"]}

    def driver(self, job_id: str) -> int:
        """Return the process of a job."""
        facts = self.folder / "jobs" / job_id / "facts" / f"{job_id}.json"
        pid: int = json.loads(facts.read_text())["pid"]
        return pid

    def end(self) -> None:
        if self.process.poll() is None:
            for job_id, state in self.states().items():
                if state not in ENDED:
                    self.ask(f"/jobs/{job_id}?mode=cancel", "PATCH")
            until(lambda: all(state in ENDED for state in self.states().values()))
            self.process.terminate()
        self.process.wait(30)


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningSession]:
    # Sockets of jobs have short paths.
    monkeypatch.setenv("TMPDIR", "/tmp")
    session = RunningSession(tmp_path / "state", "--max-running", "3")
    yield session
    session.end()


def test_scripts_run_as_processes_of_their_own(session: RunningSession) -> None:
    one, two = session.submit("first"), session.submit("second", "20")
    until(lambda: session.states().get(one) == "RUNNING")
    until(lambda: session.states().get(two) == "FINISHED")
    names = {job["jid"]: job["name"] for job in session.ask("/jobs/overview")["jobs"]}
    assert names == {one: "first", two: "second"}
    place = f"/jobs/{one}"
    until(lambda: len(session.ask(f"{place}/batches")["batches"]) > 2)
    vertices = session.ask(place)["vertices"]
    assert vertices[0]["metrics"]["write-records"] > 0
    session.ask(f"{place}?mode=cancel", "PATCH")
    until(lambda: session.states()[one] == "CANCELED")
    until(lambda: not _lives(session.driver(one)))


def test_a_module_runs_with_the_files_that_it_needs(
    session: RunningSession, tmp_path: Path
) -> None:
    package = tmp_path / "counting"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "end.py").write_text("END = '5'")
    program = PROGRAM.read_text().replace("sys.argv[2]", "END")
    (package / "main.py").write_text(f"from counting.end import END\n{program}")
    address = session.address.removeprefix("http://")
    command = ["run", "-m", address, "-pym", "counting.main", "-pyfs", str(package), "named", "x"]
    done = subprocess.run([*PENSTOCK, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (job,) = session.ask("/jobs/overview")["jobs"]
    assert (job["name"], job["state"]) == ("named", "FINISHED")
    # What was printed and logged is there when the process is gone.
    place = f"/jobs/{job['jid']}/logs"
    assert "0\n2\n4\n6\n8\n" in session.text(f"{place}/output.log")
    assert "to FINISHED." in session.text(f"{place}/job.log")


def test_a_program_that_fails_says_why(session: RunningSession, tmp_path: Path) -> None:
    script = tmp_path / "bad.py"
    script.write_text("import sys\nraise ValueError('no such luck')\n")
    job = session.submit(script=script)
    until(lambda: session.states()[job] == "FAILED")
    entry = session.ask(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"][0]
    assert entry["exceptionName"] == "ValueError"
    assert entry["message"] == "no such luck"
    assert "bad.py" in entry["stacktrace"]


def test_a_killed_session_finds_its_jobs_again(session: RunningSession) -> None:
    job = session.submit("kept")
    until(lambda: session.states().get(job) == "RUNNING")
    pid = session.driver(job)
    session.process.kill()
    session.process.wait()
    assert _lives(pid)
    session.start()
    assert session.states()[job] == "RUNNING"
    assert session.driver(job) == pid
    session.ask(f"/jobs/{job}?mode=cancel", "PATCH")
    until(lambda: session.states()[job] == "CANCELED")


def test_a_killed_driver_is_started_again(session: RunningSession) -> None:
    job = session.submit("resumed")
    until(lambda: session.states().get(job) == "RUNNING")
    pid = session.driver(job)
    os.kill(pid, signal.SIGKILL)
    until(lambda: session.states()[job] == "RUNNING" and session.driver(job) != pid)


def test_both_killed(session: RunningSession) -> None:
    job = session.submit("both")
    done = session.submit("done", "5")
    until(lambda: session.states().get(job) == "RUNNING")
    until(lambda: session.states().get(done) == "FINISHED")
    pid = session.driver(job)
    session.process.kill()
    os.kill(pid, signal.SIGKILL)
    session.process.wait()
    session.start()
    until(lambda: session.states()[job] == "RUNNING" and session.driver(job) != pid)
    assert session.states()[done] == "FINISHED"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_at_once_run_or_wait_and_none_is_lost(session: RunningSession) -> None:
    jobs = [session.submit(f"job {number}", "10") for number in range(20)]
    states = session.states()
    assert set(states) == set(jobs)
    assert sum(state == "CREATED" for state in states.values()) >= 10
    until(lambda: all(state == "FINISHED" for state in session.states().values()), 500)
    for number, job in enumerate(jobs):
        assert session.ask(f"/jobs/{job}")["name"] == f"job {number}"


def test_a_job_that_waits_can_be_cancelled(session: RunningSession) -> None:
    running = [session.submit(f"job {number}") for number in range(3)]
    waiting = session.submit("waits")
    until(lambda: all(session.states()[job] == "RUNNING" for job in running))
    assert session.states()[waiting] == "CREATED"
    session.ask(f"/jobs/{waiting}?mode=cancel", "PATCH")
    assert session.states()[waiting] == "CANCELED"


def test_a_program_run_by_hand_appears_in_the_session_that_is_configured(
    session: RunningSession, tmp_path: Path
) -> None:
    port = session.address.rpartition(":")[2]
    (tmp_path / "penstock-conf.yaml").write_text(f"rest:\n  address: 127.0.0.1\n  port: {port}\n")
    environment = {**os.environ, "PENSTOCK_CONF_DIR": str(tmp_path)}
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), "by hand"], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: "RUNNING" in session.states().values())
        (job,) = session.states()
        assert session.ask(f"/jobs/{job}")["name"] == "by hand"
        session.ask(f"/jobs/{job}?mode=cancel", "PATCH")
        program.wait(60)
        until(lambda: session.states()[job] == "CANCELED")
    finally:
        program.kill()


def test_a_job_serves_its_own_port(tmp_path: Path) -> None:
    command = [*PENSTOCK, "run", "-D", "rest.port=0", str(PROGRAM), "own port"]
    environment = {**os.environ, "TMPDIR": "/tmp"}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert program.stdout is not None
        line = next(line for line in program.stdout if line.startswith("REST and dashboard"))
        address = line.split()[-1]
        with urllib.request.urlopen(f"{address}/jobs/overview", timeout=60) as answer:
            assert json.load(answer)["jobs"][0]["name"] == "own port"
    finally:
        program.kill()
        program.wait()


def test_the_command_line_starts_asks_and_stops_a_session(tmp_path: Path) -> None:
    folder = str(tmp_path / "state")

    def penstock(*arguments: str, code: int = 0) -> str:
        done = subprocess.run([*PENSTOCK, *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "No session runs" in penstock("cluster", "status", "--state-dir", folder, code=1)
    told = penstock("cluster", "start", "--detach", "--port", "0", "--state-dir", folder)
    address = told.split()[6].rstrip(";").removeprefix("http://")
    try:
        told = penstock("run", "-q", "-m", address, str(PROGRAM), "asked", "5")
        assert told.startswith("Job has been submitted with JobID ")
        assert told.endswith(" has finished.\n")
        assert ": asked (FINISHED)" in penstock("list", "-a", "-m", address)
        assert "jobs finished: 1" in penstock("cluster", "status", "--state-dir", folder)
        taken = penstock("cluster", "start", "--port", "0", "--state-dir", folder, code=1)
        assert "another session has this state directory" in taken
        assert "there is no job" in penstock("cancel", "-m", address, "0" * 32, code=1)
    finally:
        told = penstock("cluster", "stop", "--state-dir", folder)
    assert told.endswith("has ended; its jobs go on.\n")
    refused = penstock("list", "-m", address, code=1)
    assert "the session does not answer" in refused


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
