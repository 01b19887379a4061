"""Parts of a session that need no processes."""

from __future__ import annotations

import base64
import json
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError, JobNotFoundError, RequestError
from penstock.execution.facts.json_form import to_json
from penstock.execution.job_control import JobEntry
from penstock.execution.job_ids import JOB_ID_VARIABLE
from penstock.server.answers.statistics import percentile, skew, spread, summary
from penstock.server.java_throwable import serialized
from penstock.server.jobs import Submission
from penstock.server.listening import listen
from penstock.server.session import live as live_module
from penstock.server.session import session as session_module
from penstock.server.session.driver import _environment, was_killed
from penstock.server.session.live import LiveJobs
from penstock.server.session.session import Session
from penstock.server.session.store import ENDED, Record, Store
from tests.unit.server.samples import JOB_ID, sample_job
from tests.unit.server.test_session import RunningSession


def test_what_a_process_is_started_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CONF_DIR", str(tmp_path))
    (tmp_path / "penstock-conf.yaml").write_text("rest.port: 8081\n")
    entry = Store(tmp_path / "state").add(Record(JOB_ID, "x", 0, ["x"], {"a": "b"}))
    found = _environment(entry, tmp_path / "checkpoints")
    assert found[JOB_ID_VARIABLE] == JOB_ID
    assert json.loads(found["PENSTOCK_CLIENT_OPTIONS"]) == {
        "a": "b",
        "penstock.facts-dir": str(entry.facts),
        "execution.checkpointing.dir": f"{tmp_path}/checkpoints/{JOB_ID}",
        "env.log.dir": str(entry.logs),
    }
    entry.record.settings["execution.checkpointing.dir"] = "/mine"
    entry.record.settings["env.log.dir"] = "/logs"
    options = json.loads(_environment(entry, tmp_path)["PENSTOCK_CLIENT_OPTIONS"])
    # Scripts of one name may run at the same time.
    assert options["execution.checkpointing.dir"] == f"/mine/{JOB_ID}"
    assert options["env.log.dir"] == "/logs"


def test_who_was_killed_goes_on() -> None:
    assert all(was_killed(code) for code in (None, 137, 143, -9))
    assert not any(was_killed(code) for code in (0, 1, 2))


def test_a_full_queue_refuses(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    session = Session(tmp_path, max_queued=2)
    for _ in range(2):
        session.submit(Submission(tmp_path / "a.py", "a.py"))
    with pytest.raises(RequestError) as caught:
        session.submit(Submission(tmp_path / "a.py", "a.py"))
    assert (caught.value.status, str(caught.value)) == (
        503,
        "2 scripts are waiting already; submit it later.",
    )


def test_a_job_has_its_own_copy_of_the_script(tmp_path: Path) -> None:
    uploaded = tmp_path / "a.py"
    uploaded.write_text("print(1)")
    job_id = Session(tmp_path).submit(Submission(uploaded, "my.py", ("--x",)))
    uploaded.unlink()
    (entry,) = Store(tmp_path).load()
    assert entry.record.command[1:] == [str(tmp_path / "jobs" / job_id / "my.py"), "--x"]
    assert Path(entry.record.command[1]).read_text() == "print(1)"


def test_what_was_never_completely_written_is_nobodys(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(Record(JOB_ID, "x", 1))
    (tmp_path / "jobs" / "half").mkdir()
    (tmp_path / "jobs" / "half" / "submission.json").write_text('{"id": "ha')
    assert [entry.record.id for entry in store.load()] == [JOB_ID]


def test_old_jobs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_KEPT_ENDED", 2)
    (tmp_path / "a.py").touch()
    session = Session(tmp_path)
    ids = [session.submit(Submission(tmp_path / "a.py", "a.py")) for _ in range(4)]
    (tmp_path / "checkpoints" / ids[0]).mkdir(parents=True)
    for job_id in ids:
        session.ask(job_id, "cancel")
    assert {job.job_id for job in session.all()} == set(ids[2:])
    assert {path.name for path in (tmp_path / "jobs").iterdir()} == set(ids[2:])
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_an_ended_job_is_known_from_its_facts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = store.add(Record(JOB_ID, "script.py", 1, ["x"], phase=ENDED, starts=1))
    snapshot = sample_job(state="FINISHED", end_time=1_700_000_050_000)
    (entry.facts / f"{JOB_ID}.json").write_text(json.dumps(to_json(snapshot)))
    session = Session(tmp_path)
    session.start()
    try:
        assert session.one(JOB_ID) == entry.with_output(snapshot)
        assert session.one(JOB_ID).logs[-1].path == str(entry.output)
    finally:
        session.close()


def test_a_session_that_is_terminated_leaves_in_good_order(tmp_path: Path) -> None:
    session = RunningSession(tmp_path / "state")
    assert (tmp_path / "state" / "session.json").exists()
    session.process.send_signal(signal.SIGTERM)
    assert session.process.wait(60) == 0
    assert not (tmp_path / "state" / "session.json").exists()


def test_a_process_that_begins_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry(JobEntry):
        def ask(self, what: str, timeout: float | None = None, **arguments: object) -> object:
            if self.pid == 1:
                raise JobNotFoundError("it was killed")
            return (what, arguments)

    dead, new = Entry(JOB_ID, "x", 1.0, 1, ""), Entry(JOB_ID, "x", 2.0, 2, "")
    found = iter([[], [dead], [new, dead]])
    monkeypatch.setattr(live_module, "announced_jobs", lambda: next(found))
    assert LiveJobs().ask(JOB_ID, "stop", drain=True) == ("stop", {"drain": True})
    monkeypatch.setattr(live_module, "announced_jobs", lambda: [dead])
    monkeypatch.setattr(live_module, "_BEGIN_SECONDS", 0.0)
    with pytest.raises(JobNotFoundError, match="it was killed"):
        LiveJobs().ask(JOB_ID, "cancel")


def test_a_port_that_is_taken() -> None:
    taken = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    with taken, pytest.raises(ConfigurationError) as caught:
        listen("127.0.0.1", port)
    assert str(caught.value) == (
        "the REST server cannot listen\n"
        f"  where: 127.0.0.1:{port}\n"
        "  got:   Address already in use\n"
        "  to do: choose another port (0: any that is free), or end what uses this one"
    )


def test_numbers_of_many() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert spread([1, 2, 6])["median"] == 2
    assert summary([])["p50"] == "NaN"
    assert summary([1, 3]) == {"min": 1, "max": 3, "avg": 2, "p50": 2.0, "p90": 3.0, "p95": 3.0,
        "p99": 3.0, "p999": 3.0}  # fmt: skip
    assert skew([10, 10]) == 0.0
    assert skew([0, 20]) == 100.0


def test_a_failure_as_javas_serialization_has_it() -> None:
    data = base64.b64decode(serialized("StateError", "wrong: \0 \ud800 \U0001f600 ü"))
    assert data.startswith(bytes.fromhex("aced0005")) and b"SerializedThrowable" in data
    text = "StateError: wrong: ? ? ? ü".encode()
    assert data.count(len(text).to_bytes(2, "big") + text) == 1
    assert len(base64.b64decode(serialized("E", "ü" * 100_000))) < 100_000


def test_mutual_tls_lets_only_those_in_who_have_a_certificate(tmp_path: Path) -> None:
    for name, subject in (("ca", "/CN=authority"), ("server", "/CN=127.0.0.1"), ("me", "/CN=me")):
        _certificate(tmp_path, name, subject)
    options = [
        "--tls-cert", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key"),
        "--tls-client-ca", str(tmp_path / "ca.pem"),
    ]  # fmt: skip
    session = RunningSession(tmp_path / "state", *options, scheme="https")
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        with pytest.raises((urllib.error.URLError, OSError)):
            urllib.request.urlopen(f"{session.address}/overview", timeout=60, context=context)
        context.load_cert_chain(tmp_path / "me.pem", tmp_path / "me.key")
        address = f"{session.address}/overview"
        with urllib.request.urlopen(address, timeout=60, context=context) as answer:
            assert json.load(answer)["jobs-running"] == 0
    finally:
        session.process.terminate()
        session.process.wait(60)


def _certificate(folder: Path, name: str, subject: str) -> None:
    """Make a key and a certificate, signed by `ca` or, for that, by itself."""
    signed = [] if name == "ca" else ["-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", subject, "-addext",
        "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/{name}.key", "-out",
        f"{folder}/{name}.pem", *signed]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
