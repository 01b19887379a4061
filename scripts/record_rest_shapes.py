#!/usr/bin/env python3
"""Record what Flink's REST answers look like: `record_rest_shapes.py http://host:port > FILE`.

Flink must run two jobs: 'recorded job', with a window, checkpoints and an accumulator if possible,
and 'failing job', which starts again and again. The answers' shapes are kept, not their values:
an object as its keys, a list as what its elements have in common, anything else as its type.
"""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.error
import urllib.request
from typing import Any

_JOB = ("", "/plan", "/config", "/exceptions", "/accumulators", "/checkpoints",
    "/checkpoints/config", "/metrics", "/status", "/resource-requirements",
    "/metrics?get=numRestarts,uptime", "/jobmanager/config", "/execution-result")  # fmt: skip
_VERTEX = ("", "/accumulators", "/backpressure", "/metrics", "/subtasks/accumulators",
    "/subtasks/0", "/subtasks/metrics", "/subtasks/metrics?get=numRecordsIn",
    "/subtasks/metrics?get=numRecordsIn&agg=max", "/subtasktimes", "/taskmanagers", "/watermarks",
    "/subtasks/0/metrics", "/subtasks/0/attempts/0", "/jm-operator-metrics",
    "/subtasks/0/metrics?get=numRecordsIn")  # fmt: skip
_CLUSTER = ("/overview", "/config", "/jobs", "/jobs/overview", "/jobs/metrics", "/taskmanagers",
    "/taskmanagers/metrics", "/jars", "/jobmanager/config", "/jobmanager/environment",
    "/jobmanager/logs", "/jobmanager/metrics", "/jobmanager/metrics?get=numRegisteredTaskManagers",
    "/taskmanagers/metrics?get=Status.JVM.CPU.Load", "/jobs/metrics?get=uptime",
    "/applications/overview")  # fmt: skip
_WORKER = ("", "/logs", "/metrics", "/metrics?get=Status.JVM.CPU.Load")
#: Keys that are data: ids of vertices.
_ID = re.compile("[0-9a-f]{32}")


class Recorder:
    """Ask, and keep shapes by verb and path."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.shapes: dict[str, Any] = {}

    def ask(self, path: str, name: str, verb: str = "GET", body: Any = None) -> Any:
        """Return an answer, and keep its shape under a name."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=verb
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        answer = json.loads(text) if text else None
        found = {"status": status, "answer": shape(answer)}
        known = self.shapes.get(f"{verb} {name}")
        if known is not None and known["status"] == status:
            found["answer"] = merged(known["answer"], found["answer"])
        self.shapes[f"{verb} {name}"] = found
        return answer


def shape(value: Any) -> Any:
    """Return an answer without its values."""
    if isinstance(value, dict):
        return {":id" if _ID.fullmatch(key) else key: shape(held) for key, held in value.items()}
    if isinstance(value, list):
        common: Any = None
        for held in value:
            common = shape(held) if common is None else merged(common, shape(held))
        return [] if common is None else [common]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def merged(one: Any, other: Any) -> Any:
    """Return what two shapes have in common; keys that only one has end with '?'."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {key.rstrip("?") for key in (*one, *other)}
        both = {}
        for key in sorted(keys):
            sure = key in one and key in other
            a, b = (held.get(key, held.get(f"{key}?")) for held in (one, other))
            value = merged(a, b) if a is not None and b is not None else a or b
            both[key if sure else f"{key}?"] = value
        return both
    if isinstance(one, list) and isinstance(other, list):
        if not one or not other:
            return one or other
        return [merged(one[0], other[0])]
    if one == other:
        return one
    parts = {*str(one).split("|"), *str(other).split("|")}
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return one if isinstance(one, (dict, list)) else other
    return "|".join(sorted(parts))


def record(address: str) -> dict[str, Any]:
    """Return the shapes of all answers."""
    flink = Recorder(address)
    for path in _CLUSTER:
        flink.ask(path, path)
    found = flink.ask("/jobs/overview", "/jobs/overview")["jobs"]
    jobs = {job["name"]: job["jid"] for job in found}
    for job in (jobs[name] for name in jobs if name in ("recorded job", "failing job")):
        for path in _JOB:
            flink.ask(f"/jobs/{job}{path}", f"/jobs/:jobid{path}")
    _record_job(flink, jobs["recorded job"])
    for worker in flink.ask("/taskmanagers", "/taskmanagers")["taskmanagers"]:
        for path in _WORKER:
            flink.ask(f"/taskmanagers/{worker['id']}{path}", f"/taskmanagers/:taskmanagerid{path}")
    _record_mistakes(flink, jobs["recorded job"])
    _record_ends(flink, jobs)
    return flink.shapes


def _record_job(flink: Recorder, job: str) -> None:
    for vertex in flink.ask(f"/jobs/{job}", "/jobs/:jobid")["vertices"]:
        place = f"/jobs/{job}/vertices/{vertex['id']}"
        flink.ask(f"{place}/backpressure", "/jobs/:jobid/vertices/:vertexid/backpressure")
        time.sleep(3)
        for path in _VERTEX:
            flink.ask(place + path, f"/jobs/:jobid/vertices/:vertexid{path}")
    latest = flink.ask(f"/jobs/{job}/checkpoints", "/jobs/:jobid/checkpoints")["latest"]
    number = latest["completed"]["id"]
    details = flink.ask(
        f"/jobs/{job}/checkpoints/details/{number}",
        "/jobs/:jobid/checkpoints/details/:checkpointid",
    )
    for vertex in details["tasks"]:
        flink.ask(
            f"/jobs/{job}/checkpoints/details/{number}/subtasks/{vertex}",
            "/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid",
        )


def _polled(flink: Recorder, base: str, name: str, trigger: str) -> Any:
    while True:
        answer = flink.ask(f"{base}/{trigger}", f"{name}/:triggerid")
        if answer["status"]["id"] != "IN_PROGRESS":
            return answer
        time.sleep(0.2)


def _record_ends(flink: Recorder, jobs: dict[str, str]) -> None:
    job = jobs["recorded job"]
    base = f"/jobs/{job}/savepoints"
    asked = flink.ask(base, "/jobs/:jobid/savepoints", "POST", {"cancel-job": False})
    done = _polled(flink, base, "/jobs/:jobid/savepoints", asked["request-id"])
    path = done["operation"]["location"]
    disposal = {"savepoint-path": path}
    asked = flink.ask("/savepoint-disposal", "/savepoint-disposal", "POST", disposal)
    _polled(flink, "/savepoint-disposal", "/savepoint-disposal", asked["request-id"])
    base = f"/jobs/{job}/checkpoints"
    asked = flink.ask(base, "/jobs/:jobid/checkpoints", "POST", {"checkpointType": "FULL"})
    _polled(flink, base, "/jobs/:jobid/checkpoints", asked["request-id"])
    asked = flink.ask(f"/jobs/{job}/stop", "/jobs/:jobid/stop", "POST", {"drain": False})
    _polled(flink, f"/jobs/{job}/savepoints", "/jobs/:jobid/savepoints", asked["request-id"])
    flink.ask(f"/jobs/{jobs['failing job']}", "/jobs/:jobid", "PATCH")
    time.sleep(3)
    flink.ask(f"/jobs/{jobs['failing job']}/execution-result", "/jobs/:jobid/execution-result")
    flink.ask(f"/jobs/{job}/execution-result", "/jobs/:jobid/execution-result")
    flink.ask(f"/jobs/{job}/checkpoints", "/jobs/:jobid/checkpoints")
    flink.ask(f"/jobs/{job}", "/jobs/:jobid")


def _record_mistakes(flink: Recorder, job: str) -> None:
    nothing = "0" * 32
    flink.ask("/no/such/path", "/no/such/path")
    flink.ask("/jobs/zz", "/jobs/zz")
    flink.ask("/overview", "/overview", "POST", {})
    flink.ask(f"/jobs/{job}?mode=sideways", "/jobs/:jobid?mode=sideways", "PATCH")
    for path in ("", "/vertices/:nothing", "/checkpoints/details/999999", "/savepoints/:nothing"):
        asked = f"/jobs/{job if path else nothing}{path.replace(':nothing', nothing)}"
        flink.ask(asked, f"/jobs/:jobid{path}" if path else "/jobs/:nothing")


if __name__ == "__main__":
    print(json.dumps(record(sys.argv[1]), indent=1, sort_keys=True))
