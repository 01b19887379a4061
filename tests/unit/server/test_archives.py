from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.server.answers.table import archive
from penstock.server.archives import Archives, read_archive
from tests.unit.server.samples import sample_job

ONE, TWO = "1" * 32, "2" * 32


def answers(job_id: str, name: str = "a job") -> dict[str, object]:
    return {
        "/jobs/overview": {"jobs": [{"jid": job_id, "name": name, "state": "FINISHED"}]},
        f"/jobs/{job_id}": {"jid": job_id, "name": name},
    }


def write_archive(folder: Path, job_id: str, answers: dict[str, object]) -> None:
    entries = [{"path": path, "json": json.dumps(each)} for path, each in answers.items()]
    folder.mkdir(exist_ok=True)
    (folder / job_id).write_text(json.dumps({"archive": entries}))


def reasons(archives: Archives) -> dict[str, str]:
    return {Path(each["name"]).name: each["reason"] for each in archives.broken()}


def test_an_archive_has_all_answers_as_texts_as_flinks_history_server_wants_them(tmp_path):
    job = sample_job("f" * 32, state="FINISHED", end_time=1_700_000_050_000)
    (tmp_path / job.job_id).write_text(json.dumps({"archive": archive(job)}))
    found = read_archive(tmp_path / job.job_id)
    vertex = f"/jobs/{job.job_id}/vertices/{job.vertices[0].id}"
    asked_by_flinks_pages = {
        "/jobs/overview",
        f"/jobs/{job.job_id}",
        *(f"/jobs/{job.job_id}/{each}" for each in ("plan", "config", "exceptions")),
        *(f"/jobs/{job.job_id}/{each}" for each in ("accumulators", "checkpoints")),
        f"/jobs/{job.job_id}/checkpoints/config",
        *(f"{vertex}{each}" for each in ("", "/subtasktimes", "/taskmanagers", "/accumulators")),
        *(f"{vertex}/subtasks/{each}" for each in ("accumulators", "0", "0/attempts/1")),
    }
    asked_by_ours = {f"/jobs/{job.job_id}/{each}" for each in ("layout", "batches", "event-time")}
    assert asked_by_flinks_pages | asked_by_ours <= found.keys()
    assert json.loads(found[f"/jobs/{job.job_id}"])["state"] == "FINISHED"


def test_jobs_come_change_and_go(tmp_path):
    archives = Archives([tmp_path / "a", tmp_path / "b"])
    write_archive(tmp_path / "a", ONE, answers(ONE))
    write_archive(tmp_path / "b", TWO, answers(TWO))
    archives.refresh()
    assert sorted(job["jid"] for job in archives.jobs()) == [ONE, TWO]
    assert json.loads(archives.answer(ONE, f"/jobs/{ONE}"))["name"] == "a job"
    write_archive(tmp_path / "a", ONE, answers(ONE, "another name"))
    (tmp_path / "b" / TWO).unlink()
    archives.refresh()
    assert [job["name"] for job in archives.jobs()] == ["another name"]
    assert json.loads(archives.answer(ONE, f"/jobs/{ONE}"))["name"] == "another name"
    assert archives.answer(TWO, f"/jobs/{TWO}") is None


def test_a_job_is_asked_for_what_it_has_alone(tmp_path):
    write_archive(tmp_path, ONE, answers(ONE))
    archives = Archives([tmp_path])
    archives.refresh()
    assert archives.answer(ONE, f"/jobs/{ONE}/plan") is None
    assert archives.answer(TWO, f"/jobs/{ONE}") is None


def test_more_jobs_than_stay_in_memory_are_all_answered(tmp_path):
    ids = [f"{number:032x}" for number in range(20)]
    for job_id in ids:
        write_archive(tmp_path, job_id, answers(job_id))
    archives = Archives([tmp_path])
    archives.refresh()
    for job_id in [*ids, *ids]:
        assert json.loads(archives.answer(job_id, f"/jobs/{job_id}"))["jid"] == job_id


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"archive": [', "it is not JSON: Expecting value: line 1 column 14 (char 13)"),
        ("[1]", "it has no list named 'archive'"),
        ('{"archive": [1]}', "an entry has no path"),
        ('{"archive": [{"path": "/x", "json": {}}]}', "the answer of /x is not a text"),
        ('{"archive": []}', "it has no answer for /jobs/overview"),
        (
            '{"archive": [{"path": "/jobs/overview", "json": "{}"}]}',
            "its answer for /jobs/overview is not a list of jobs",
        ),
    ],
)
def test_a_broken_file_is_told_and_the_others_are_shown(tmp_path, content, reason):
    write_archive(tmp_path, ONE, answers(ONE))
    (tmp_path / TWO).write_text(content)
    archives = Archives([tmp_path])
    archives.refresh()
    assert [job["jid"] for job in archives.jobs()] == [ONE]
    assert reasons(archives) == {TWO: reason}
    assert archives.answer(TWO, f"/jobs/{TWO}") is None
    write_archive(tmp_path, TWO, answers(TWO))
    archives.refresh()
    assert archives.broken() == []
    assert len(archives.jobs()) == 2


def test_a_missing_folder_is_told_until_it_is_there(tmp_path):
    archives = Archives([tmp_path / "later"])
    archives.refresh()
    assert reasons(archives) == {"later": "No such file or directory"}
    write_archive(tmp_path / "later", ONE, answers(ONE))
    archives.refresh()
    assert archives.broken() == []


def test_other_files_are_left_alone(tmp_path):
    for name in ("notes.txt", f".{ONE}.17", ONE.upper().replace("1", "A"), f"{ONE}0"):
        (tmp_path / name).write_text("no archive")
    archives = Archives([tmp_path])
    archives.refresh()
    assert (archives.jobs(), archives.broken()) == ([], [])
