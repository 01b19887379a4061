"""Answers have the shapes of Flink's own, recorded from it (`scripts/record_rest_shapes.py`)."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.unit.server.samples import JOB_ID, WINDOW_ID

SHAPES = json.loads(
    (Path(__file__).parents[2] / "cases" / "rest" / "flink_shapes.json").read_text()
)
#: HTTP has a status for a verb that a path does not have; Flink answers 404.
OURS = {"POST /overview": 405}
#: Flink refuses this unless it runs with its adaptive scheduler; we tell what the job asks for.
LEFT_OUT = {"GET /jobs/:jobid/resource-requirements"}
BODIES = {
    "POST /jobs/:jobid/savepoints": {"cancel-job": False, "target-directory": "/sp"},
    "POST /jobs/:jobid/stop": {"drain": False, "targetDirectory": "/sp"},
    "POST /jobs/:jobid/checkpoints": {"checkpointType": "FULL"},
    "POST /savepoint-disposal": {"savepoint-path": "/nowhere"},
}
#: Metrics that only a JVM has, and ours in their place.
RENAMED = {"Status.JVM.CPU.Load": "Status.Python.Workers"}


def differences(expected: Any, found: Any, place: str = "") -> list[str]:
    """Return where an answer lacks what Flink's has, or has it in another type."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{place}: {found!r} is no object"]
        problems = []
        for key, shape in expected.items():
            name = key.rstrip("?")
            if key == ":id":
                for held in found.values():
                    problems += differences(shape, held, f"{place}.:id")
            elif name in found:
                problems += differences(shape, found[name], f"{place}.{name}")
            elif not key.endswith("?"):
                problems.append(f"{place}.{name} is missing")
        return problems
    if isinstance(expected, list):
        if not isinstance(found, list):
            return [f"{place}: {found!r} is no list"]
        return [
            p
            for held in found
            for shape in expected[:1]
            for p in differences(shape, held, f"{place}[]")
        ]
    kind = (
        "null" if found is None else "boolean" if isinstance(found, bool)
        else "string" if isinstance(found, str) else "number" if isinstance(found, (int, float))
        else "other"
    )  # fmt: skip
    # What is null in the recording is of some type elsewhere, and NaN is a text.
    if expected == "null" or (kind == "number" and re.search(r"\.p\d+$", place)):
        return []
    return [] if kind in expected.split("|") else [f"{place}: {found!r} is no {expected}"]


def ask(client: TestClient, name: str, prefix: str) -> Any:
    verb, path = name.split(" ")
    worker = client.get("/taskmanagers").json()["taskmanagers"][0]["id"]
    values = {"jobid": JOB_ID, "vertexid": WINDOW_ID, "checkpointid": "8", "taskmanagerid": worker,
        "nothing": "0" * 32}  # fmt: skip
    if ":triggerid" in path:
        trigger = name.removeprefix("GET ").removesuffix("/:triggerid")
        asked = ask(client, f"POST {trigger}", "").json()
        values["triggerid"] = asked["request-id"]
    path = re.sub(r":(\w+)", lambda match: values[match[1]], path)
    # The attempt that runs is the second here.
    path = path.replace("/attempts/0", "/attempts/1")
    for flinks, ours in RENAMED.items():
        path = path.replace(flinks, ours)
    body = {} if verb == "POST" else None
    answer = client.request(verb, prefix + path, json=BODIES.get(name, body))
    if ":triggerid" in name:
        until = time.monotonic() + 20
        while answer.json()["status"]["id"] == "IN_PROGRESS" and time.monotonic() < until:
            time.sleep(0.02)
            answer = client.request(verb, prefix + path)
    return answer


@pytest.mark.parametrize("prefix", ["", "/v1"])
@pytest.mark.parametrize("name", sorted(set(SHAPES) - LEFT_OUT))
def test_an_answer_has_flinks_shape(client: TestClient, name: str, prefix: str) -> None:
    answer = ask(client, name, prefix)
    assert answer.status_code == OURS.get(name, SHAPES[name]["status"]), answer.text
    assert differences(SHAPES[name]["answer"], answer.json()) == []


def test_the_comparison_notices_what_is_missing_or_of_another_type() -> None:
    shape = {"a": "number", "b?": "string", "c": [{"d": "boolean"}]}
    assert differences(shape, {"a": 1, "c": [{"d": True}]}) == []
    assert differences(shape, {"a": "1", "c": [{}]}) == [
        ".a: '1' is no number",
        ".c[].d is missing",
    ]
