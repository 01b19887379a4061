"""Commands that are for a session, against the app itself."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from penstock.cli.main import main
from penstock.cli.session_client import session_address
from penstock.server.app import make_app
from penstock.server.jobs import Submission
from penstock.server.listening import listen
from penstock.server.safety import Access
from tests.unit.server.conftest import SampleJobs
from tests.unit.server.samples import JOB_ID, sample_job


class ObedientJobs(SampleJobs):
    """A job that is asked to end has ended."""

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        found = super().ask(job_id, what, **arguments)
        if what in ("cancel", "stop"):
            self.jobs[0].state = "CANCELED"
        return found

    def submit(self, submission: Submission) -> str:
        self.contents = {key: path.read_bytes() for key, path in submission.files.items()}
        self.jobs.append(sample_job("e" * 32, state="FINISHED"))
        return super().submit(submission)


@pytest.fixture
def jobs(tmp_path: Path) -> ObedientJobs:
    return ObedientJobs(tmp_path)


@pytest.fixture
def address(jobs: ObedientJobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("PENSTOCK_TOKEN", "secret")
    listener = listen("127.0.0.1", 0)
    app = make_app(jobs, Access(token="secret"))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_jobs_of_a_session(
    address: str, jobs: ObedientJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = run(capsys, "list", "-a", "-m", address)
    assert f" : {JOB_ID} : sample (RUNNING)" in listed
    assert f" : {'f' * 32} : sample (FINISHED)" in listed
    told = run(capsys, "savepoint", "-m", address, JOB_ID, "/sp")
    assert "Savepoint completed. Path: /sp/savepoint-1" in told
    told = run(capsys, "checkpoint", "-m", address, JOB_ID)
    assert f"Checkpoint 8 for job {JOB_ID} completed." in told
    told = run(capsys, "stop", "-m", address, "--drain", "-p", "/sp", JOB_ID)
    assert "Savepoint completed. Path: /sp/savepoint-1" in told
    assert [asked[1:] for asked in jobs.asked] == [
        ("savepoint", {"directory": "/sp"}),
        ("checkpoint", {}),
        ("stop", {"drain": True, "directory": "/sp"}),
    ]


def test_cancel_waits_for_the_end(
    address: str, jobs: ObedientJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(capsys, "cancel", "-m", f"http://{address}", JOB_ID)
    assert told == f"Cancelling job {JOB_ID}.\nCancelled job {JOB_ID}.\n"
    refused = run(capsys, "cancel", "-m", address, JOB_ID, code=1)
    assert "409: Job cancellation failed" in refused


def test_a_savepoint_that_fails_or_is_not_there(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(capsys, "savepoint", "-m", address, JOB_ID, "/bad", code=1)
    assert "the folder cannot be written" in told
    told = run(capsys, "savepoint", "-m", address, "-d", "/no/such/savepoint", code=1)
    assert "/no/such/savepoint" in told


def test_run_submits_a_script(
    address: str, jobs: ObedientJobs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "program.py"
    script.write_text("print('x')")
    told = run(capsys, "run", "-p", "3", "-D", "a=b", "-m", address, str(script), "--x", "1")
    assert told == (f"Job has been submitted with JobID {'e' * 32}\nJob {'e' * 32} has finished.\n")
    submission = jobs.submitted[0]
    assert submission.arguments == ("--x", "1")
    assert submission.settings == {"a": "b", "parallelism.default": "3"}
    assert not submission.script.exists()


def test_run_submits_a_module_with_its_files(
    address: str, jobs: ObedientJobs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib.py").write_text("LIB = 1")
    (tmp_path / "pkg" / "__pycache__").mkdir(parents=True)
    (tmp_path / "pkg" / "__pycache__" / "old.pyc").touch()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "main.py").write_text("MAIN = 1")
    (tmp_path / "data.zip").write_bytes(b"zip")
    (tmp_path / "needs.txt").write_text("numpy")
    files = f"{tmp_path}/lib.py,{tmp_path}/pkg"
    options = ["-pyfs", files, "-pyarch", f"{tmp_path}/data.zip", "-pyreq", f"{tmp_path}/needs.txt"]
    options += ["-pyexec", "/usr/bin/python9", "-pyclientexec", "/usr/bin/python8"]
    run(capsys, "run", "-d", "-pym", "pkg.main", *options, "-m", address, "--x", "1")
    (submission,) = jobs.submitted
    assert (submission.script, submission.module) == (None, "pkg.main")
    assert submission.arguments == ("--x", "1")
    assert submission.interpreter == "/usr/bin/python8"
    lib, inner, package, data, needs = jobs.contents
    assert submission.settings == {
        "python.files": f"upload:{lib},upload:{inner},upload:{package}",
        "python.archives": f"upload:{data}#data.zip",
        "python.requirements": f"upload:{needs}",
        "python.executable": "/usr/bin/python9",
    }
    assert [jobs.contents[key] for key in (lib, data, needs)] == [b"LIB = 1", b"zip", b"numpy"]
    names = [
        sorted(zipfile.ZipFile(io.BytesIO(jobs.contents[key])).namelist())
        for key in (inner, package)
    ]
    assert names == [["__init__.py", "main.py"], ["pkg/__init__.py", "pkg/main.py"]]
    # Nothing of it stays behind in the session.
    assert [path for path in jobs.folder.rglob("*_*") if "-" in path.name] == []


def test_a_file_that_is_not_there(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "run", "-pym", "m", "-pyfs", "/no/such.py", "-m", address, code=1)
    assert told.endswith(
        """a file that the program needs does not exist
  where: configuration key python.files
  got:   /no/such.py
  to do: name a file or folder of this machine
"""
    )


def test_a_module_of_files_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "main.py").write_text("import lib; print(lib.LIB)")
    with zipfile.ZipFile(tmp_path / "libs.zip", "w") as archive:
        archive.writestr("lib.py", "LIB = 'found'")
    files = f"{tmp_path}/pkg,{tmp_path}/libs.zip"
    command = [sys.executable, "-m", "penstock.cli.main", "run", "-pym", "pkg.main", "-pyfs", files]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=60)
    assert (done.stdout, done.returncode) == ("found\n", 0), done.stderr


def test_a_wrong_token_is_told(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", "wrong")
    assert run(capsys, "list", "-m", address, code=1).endswith(
        f"""the session refuses
  where: http://{address}
  got:   401: This server needs a token: send it as 'Authorization: Bearer TOKEN'.
  to do: set the variable PENSTOCK_TOKEN to the session's token
"""
    )


def test_a_session_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    told = run(capsys, "list", "-m", f"127.0.0.1:{port}", code=1)
    assert told.endswith(
        f"""the session does not answer
  where: http://127.0.0.1:{port}
  got:   [Errno 111] Connection refused
  to do: see whether it runs: penstock cluster status
"""
    )


def test_masters_of_spark_are_no_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for master in ("local[*]", "local", "yarn", "spark://host:7077", "k8s://https://host:6443"):
        assert session_address(master) is None
    assert session_address("host:8081") == "http://host:8081"
    assert session_address("https://host/") == "https://host"
    monkeypatch.setenv("PENSTOCK_CONF_DIR", str(tmp_path))
    (tmp_path / "penstock-conf.yaml").write_text("rest.address: somewhere\n")
    assert session_address(None) == "http://somewhere:8081"
