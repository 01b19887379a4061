"""What becomes of a job's facts: files, log, archive, answers over the socket."""

from __future__ import annotations

import json
import logging
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobStatus
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import UserFunctionError
from penstock.execution.executor import JobHandle
from penstock.execution.facts import archive
from penstock.execution.facts.json_form import from_json
from penstock.execution.job_control import find_job
from penstock.execution.job_log import JobLog, close_log, log_to_job, open_log
from penstock.execution.log_names import JOB, OPERATOR


def submitted(settings: dict[str, str], function: Any = str) -> JobHandle:
    configuration = Configuration().set_string("execution.target", "in-process")
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_sequence(1, 10).map(function).print()
    return env.submit("my job")


def test_a_job_answers_over_its_socket() -> None:
    handle = submitted({"db.password": "geheim"})
    handle.wait()
    answer = find_job(handle.job_id).ask("facts", timeout=20)
    job = from_json(answer)
    assert (job.job_id, job.name, job.state) == (handle.job_id, "my job", "FINISHED")
    assert sum(one.records_in for one in job.vertices[0].operators[0].subtasks) == 10
    assert "geheim" not in json.dumps(answer)
    later = from_json(find_job(handle.job_id).ask("facts", timeout=20, since=job.at + 1))
    assert (later.batches, later.batch_count) == ([], job.batch_count)


def test_a_job_leaves_its_facts_behind(tmp_path: Path) -> None:
    handle = submitted({"penstock.facts-dir": f"file://{tmp_path}"})
    handle.wait()
    job = from_json(json.loads((tmp_path / f"{handle.job_id}.json").read_text()))
    assert job.state == "FINISHED"
    assert job.timestamps["RUNNING"] >= job.start_time
    assert [path.name for path in tmp_path.iterdir()] == [f"{handle.job_id}.json"]


def answers(snapshot: Any) -> list[dict[str, str]]:
    return [{"path": f"/jobs/{snapshot.job_id}", "json": json.dumps({"state": snapshot.state})}]


def known(*points: EntryPoint) -> Any:
    return lambda group: EntryPoints(points) if group == archive.ARCHIVERS else EntryPoints(())


def test_a_job_is_archived_as_flinks_history_server_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("rest", f"{__name__}:answers", archive.ARCHIVERS)
    monkeypatch.setattr(archive, "entry_points", known(point))
    handle = submitted({"jobmanager.archive.fs.dir": str(tmp_path / "archive")})
    handle.wait()
    found = json.loads((tmp_path / "archive" / handle.job_id).read_text())
    assert found == {
        "archive": [{"path": f"/jobs/{handle.job_id}", "json": '{"state": "FINISHED"}'}]
    }


def test_without_the_server_nothing_is_archived_and_a_warning_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    missing = EntryPoint("rest", "penstock.no_such_module:archive", archive.ARCHIVERS)
    monkeypatch.setattr(archive, "entry_points", known(missing))
    submitted({"jobmanager.archive.fs.dir": str(tmp_path / "archive")}).wait()
    assert not (tmp_path / "archive").exists()
    assert (
        "the job is not archived (jobmanager.archive.fs.dir): "
        "pip install 'penstock[server]' has what it takes"
    ) in caplog.text


def test_an_archive_that_cannot_be_written_does_not_harm_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    point = EntryPoint("rest", f"{__name__}:answers", archive.ARCHIVERS)
    monkeypatch.setattr(archive, "entry_points", known(point))
    settings = {"jobmanager.archive.fs.dir": str(tmp_path / "file" / "x")}
    settings["penstock.facts-dir"] = str(tmp_path / "file" / "y")
    handle = submitted(settings)
    handle.wait()
    assert handle.status() is JobStatus.FINISHED
    assert "cannot be archived" in caplog.text


def failing(value: int) -> int:
    return 1 // (value - 5)


def test_the_log_of_a_job_tells_its_life_and_why_it_failed(tmp_path: Path) -> None:
    handle = submitted({"env.log.dir": str(tmp_path)}, failing)
    with pytest.raises(UserFunctionError):
        handle.wait()
    text = (tmp_path / handle.job_id / "job.log").read_text()
    assert f"Job my job ({handle.job_id}) switched from state RUNNING to FAILED." in text
    assert "ERROR [job] penstock - Job my job" in text
    assert "return 1 // (value - 5)" in text
    job = handle.snapshot()
    assert job is not None
    assert [(log.name, log.kind) for log in job.logs] == [("job.log", "job")]
    (failure,) = job.failures
    assert (failure.root_type, failure.operator_name) == ("ZeroDivisionError", "Map")
    assert failure.source[failure.line - failure.first_line].strip() == "return 1 // (value - 5)"


def record(level: int, text: str, **extra: str) -> logging.LogRecord:
    made = logging.LogRecord("mine", level, "", 0, text, None, None)
    vars(made).update(extra)
    return made


def test_what_a_worker_logs_is_in_the_log_of_its_job(tmp_path: Path) -> None:
    settings = {"env.log.dir": str(tmp_path), "env.log.level": "info"}
    for job in ("one", "two"):
        open_log(job, settings)
    log_to_job(record(logging.INFO, "hello", **{JOB: "two", OPERATOR: "Map (1/2)"}))
    log_to_job(record(logging.DEBUG, "too low", **{JOB: "two"}))
    log_to_job(record(logging.INFO, "whose?"))
    for job in ("one", "two"):
        close_log(job)
    log_to_job(record(logging.INFO, "too late", **{JOB: "two"}))
    assert not (tmp_path / "one" / "job.log").exists()
    (line,) = (tmp_path / "two" / "job.log").read_text().splitlines()
    assert line.endswith("INFO  [Map (1/2)] mine - hello")


def test_a_log_rotates_and_old_files_are_listed(tmp_path: Path) -> None:
    log = JobLog(tmp_path, size=500, files=2)
    for number in range(100):
        log.say(logging.INFO, f"line {number}")
    log.close()
    assert [file.name for file in log.files()] == ["job.log", "job.log.1", "job.log.2"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1600
    assert "line 99" in (tmp_path / "job.log").read_text()
