"""Orders to jobs, scripts, errors, OpenAPI and our own answers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.unit.server.conftest import SampleJobs
from tests.unit.server.samples import JOB_ID, NOW, SOURCE_ID, WINDOW_ID

JOB = f"/jobs/{JOB_ID}"
ENDED = "/jobs/" + "f" * 32


def done(client: TestClient, path: str) -> Any:
    until = time.monotonic() + 20
    while (answer := client.get(path).json())["status"]["id"] == "IN_PROGRESS":
        assert time.monotonic() < until
        time.sleep(0.01)
    return answer


def test_a_savepoint_is_asked_for_and_looked_at(client: TestClient, jobs: SampleJobs) -> None:
    asked = client.post(f"{JOB}/savepoints", json={"target-directory": "/sp", "cancel-job": False})
    assert asked.status_code == 202
    answer = done(client, f"{JOB}/savepoints/{asked.json()['request-id']}")
    assert answer == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/sp/savepoint-1"},
    }
    assert jobs.asked == [(JOB_ID, "savepoint", {"directory": "/sp"})]


def test_who_chooses_the_id_and_asks_twice_gets_one_savepoint(
    client: TestClient, jobs: SampleJobs
) -> None:
    body = {"target-directory": "/sp", "triggerId": "a" * 32}
    for _ in range(2):
        assert client.post(f"{JOB}/savepoints", json=body).json() == {"request-id": "a" * 32}
    done(client, f"{JOB}/savepoints/{'a' * 32}")
    assert len(jobs.asked) == 1
    # Of another job there is none of that id.
    assert client.get(f"{ENDED}/savepoints/{'a' * 32}").status_code == 404


def test_what_went_wrong_is_told(client: TestClient) -> None:
    asked = client.post(f"{JOB}/stop", json={"targetDirectory": "/bad"}).json()
    operation = done(client, f"{JOB}/savepoints/{asked['request-id']}")["operation"]
    assert operation["failure-cause"]["stack-trace"] == "the folder cannot be written"


def test_cancel_with_savepoint_and_stop_with_drain(client: TestClient, jobs: SampleJobs) -> None:
    asked = client.post(f"{JOB}/savepoints", json={"target-directory": "/a", "cancel-job": True})
    done(client, f"{JOB}/savepoints/{asked.json()['request-id']}")
    asked = client.post(f"{JOB}/stop", json={"targetDirectory": "/b", "drain": True})
    done(client, f"{JOB}/savepoints/{asked.json()['request-id']}")
    assert jobs.asked == [
        (JOB_ID, "cancel-with-savepoint", {"directory": "/a"}),
        (JOB_ID, "stop", {"drain": True, "directory": "/b"}),
    ]


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "text"),
    [
        ("PATCH", f"{JOB}?mode=stop", None, 410, 'The termination mode "stop" has been removed.'),
        ("PATCH", f"{ENDED}?mode=cancel", None, 409, "has already reached another terminal state"),
        ("POST", f"{ENDED}/stop", {}, 409, "is not running: it is FINISHED"),
        ("POST", f"{JOB}/savepoints", {}, 400,
            "Config key [execution.checkpointing.savepoint-dir] is not set."),
        ("POST", f"{JOB}/savepoints", {"target-directory": 5}, 400, "must be a text"),
        ("POST", "/savepoint-disposal", {}, 400, "Field savepoint-path must not be omitted."),
        ("GET", f"{JOB}/vertices/{WINDOW_ID}/subtasks/9", None, 404, "has no subtask 9"),
        ("GET", f"{JOB}/vertices/{WINDOW_ID}/subtasks/x", None, 400, '(subtaskindex)'),
        ("GET", f"{JOB}/vertices/{WINDOW_ID}/subtasks/metrics?get=a&agg=mode", None, 400, "(agg)"),
        ("GET", f"{JOB}/checkpoints/details/6/subtasks/{WINDOW_ID}", None, 404, "Checkpoint 6"),
        ("GET", "/taskmanagers/none", None, 404, "Could not find TaskExecutor none."),
        ("GET", "/nothing", None, 404, "Not found: /nothing"),
        ("DELETE", "/overview", None, 405, "DELETE is not allowed: /overview"),
    ],
)  # fmt: skip
def test_errors(
    client: TestClient, verb: str, path: str, body: Any, status: int, text: str
) -> None:
    answer = (
        client.request(verb, path, json=body) if body is not None else client.request(verb, path)
    )
    assert answer.status_code == status
    assert list(answer.json()) == ["errors"]
    assert text in answer.json()["errors"][0]


def test_a_body_that_is_no_json_is_refused(client: TestClient) -> None:
    for body in (b"{", b"[]", b"\xff"):
        headers = {"content-type": "application/json"}
        answer = client.post(f"{JOB}/stop", content=body, headers=headers)
        assert answer.status_code == 400
        assert answer.json()["errors"][0].startswith("Request did not match expected format")


def test_a_script_is_uploaded_listed_run_and_removed(client: TestClient, jobs: SampleJobs) -> None:
    sent = client.post("/scripts/upload", files={"file": ("my job.py", b"print(1)")}).json()
    assert sent["status"] == "success"
    listed = client.get("/scripts").json()["files"]
    assert [(entry["id"], entry["name"]) for entry in listed] == [(sent["id"], "my_job.py")]
    body = {
        "programArgs": "--a 'b c'",
        "parallelism": 3,
        "savepointPath": "/sp",
        "allowNonRestoredState": True,
        "flinkConfiguration": {"pipeline.name": "x"},
    }
    assert client.post(f"/scripts/{sent['id']}/run", json=body).json() == {"jobid": "e" * 32}
    submission = jobs.submitted[0]
    assert submission.script.read_bytes() == b"print(1)"
    assert submission.arguments == ("--a", "b c")
    assert submission.settings == {
        "pipeline.name": "x",
        "parallelism.default": "3",
        "execution.state-recovery.path": "/sp",
        "execution.state-recovery.ignore-unclaimed-state": "true",
    }
    assert client.delete(f"/scripts/{sent['id']}").status_code == 200
    assert client.get("/scripts").json()["files"] == []


def test_metrics_under_flinks_names(client: TestClient) -> None:
    place = f"{JOB}/vertices/{WINDOW_ID}"
    names = {entry["id"] for entry in client.get(f"{place}/metrics").json()}
    assert {"0.numRecordsIn", "1.busyTimeMsPerSecond", "0.Window.numLateRecordsDropped",
        "0.Window.my.counter", "0.Window.sizes_max"} <= names  # fmt: skip
    asked = f"{place}/subtasks/metrics?get=numRecordsIn,Window.my.counter"
    assert client.get(asked).json() == [
        {"id": "numRecordsIn", "min": 100.0, "max": 200.0, "avg": 150.0, "sum": 300.0,
            "skew": pytest.approx(33.33, abs=0.01)},
        {"id": "Window.my.counter", "min": 3.0, "max": 3.0, "avg": 3.0, "sum": 3.0, "skew": 0.0},
    ]  # fmt: skip
    assert client.get(f"{asked}&subtasks=1&agg=sum").json() == [
        {"id": "numRecordsIn", "sum": 200.0}
    ]
    value = client.get(f"{place}/subtasks/0/metrics?get=currentInputWatermark,none").json()
    assert value == [{"id": "currentInputWatermark", "value": str(NOW - 5000)}]


def test_two_operators_of_one_name_keep_their_own_metrics(
    client: TestClient, jobs: SampleJobs
) -> None:
    jobs.jobs[0].vertices[0].operators[0].name = "Map"
    names = [e["id"] for e in client.get(f"{JOB}/vertices/{SOURCE_ID}/metrics").json()]
    assert len(names) == len(set(names))
    assert {"0.Map_aaaaaa.numRecordsIn", "0.Map_cccccc.numRecordsIn"} <= set(names)


def test_batches_and_event_time_since_a_moment(client: TestClient) -> None:
    done = client.get(f"{JOB}/batches?since={2**53}").json()
    assert done == {"records-read": 300, "records-written": 0, "batches": []}
    found = client.get(f"{JOB}/batches?since=7").json()["batches"]
    assert [batch["number"] for batch in found] == [7, 8]
    assert found[0]["phases"] == {"plan": 10.0, "level 0": 80.0}
    operators = client.get(f"{JOB}/event-time?since={NOW}").json()["operators"]
    assert operators[0]["points"] == [[NOW, NOW - 5000, 2, 0, 0, 0]]


def test_the_graph_as_it_is_drawn(client: TestClient) -> None:
    layout = client.get(f"{JOB}/layout").json()
    assert {node["id"] for node in layout["nodes"]} == {SOURCE_ID, WINDOW_ID}
    assert layout["edges"][0]["ship"] == "HASH"


def test_flame_graphs_are_disabled_and_say_so_as_flinks_do(client: TestClient) -> None:
    place = f"/vertices/{WINDOW_ID}/flamegraph"
    assert client.get(f"{JOB}{place}").json() == {"endTimestamp": -2, "data": None}
    ended = client.get(f"/jobs/{'f' * 32}{place}?type=ON_CPU").json()
    assert ended == {"endTimestamp": -1, "data": None}


def test_subtasks_of_a_checkpoint_have_their_own_sizes(client: TestClient) -> None:
    found = client.get(f"{JOB}/checkpoints/details/8/subtasks/{WINDOW_ID}").json()
    assert (found["checkpointed_size"], found["state_size"]) == (50, 300)
    sizes = [(one["checkpointed_size"], one["state_size"]) for one in found["subtasks"]]
    assert sizes == [(40, 200), (10, 100)]
    assert found["summary"]["checkpointed_size"]["max"] == 40


def test_an_exception_has_the_users_line(client: TestClient) -> None:
    entry = client.get(f"{JOB}/exceptions").json()["exceptionHistory"]["entries"][0]
    assert entry["source"] == {"file": "job.py", "line": 7, "first-line": 6, "lines": ["a", "b"]}
    assert entry["taskName"] == "Window (2/2) - execution #0"


def test_openapi_names_every_path(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert "patch" in document["paths"]["/jobs/{jobid}"]
    without = [
        (path, verb)
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
        if not operation["summary"]
    ]
    assert without == []
    assert "/jobs/:jobid/batches" in client.get("/openapi").text


def test_the_session_ends_when_it_is_asked_to(client: TestClient, jobs: SampleJobs) -> None:
    assert client.delete("/cluster").json() == {}
    assert jobs.ended
