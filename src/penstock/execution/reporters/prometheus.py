"""Prometheus: an endpoint with the names and labels of Flink's reporter.

`families` and `exposition` make the answer from snapshots alone. The reporter serves it over HTTP:
one endpoint for all jobs of a process that ask for the same ports.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, generate_latest, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric

from penstock.common.options import PROMETHEUS_HOST, PROMETHEUS_PORT
from penstock.execution.facts.metric_values import job_values, operator_values, task_values
from penstock.execution.facts.snapshot import JobSnapshot, OperatorFacts, VertexFacts
from penstock.execution.reporters import Ask

_JOB = ("host", "job_id", "job_name")
_TASK = (
    "host", "tm_id", "job_id", "job_name", "task_id", "task_name", "task_attempt_id",
    "task_attempt_num", "subtask_index",
)  # fmt: skip
_OPERATOR = (*_TASK, "operator_id", "operator_name")
_ALLOWED = re.compile(r"[^a-zA-Z0-9:_]")
#: Operators' names are cut to this length, as in Flink.
_LONGEST = 80


class _Families:
    """Gather samples by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, GaugeMetricFamily] = {}

    def add(self, prefix: str, keys: tuple[str, ...], labels: list[str], value: object) -> None:
        if not isinstance(value, (int, float)):
            return
        name = _ALLOWED.sub("_", prefix)
        family = self.by_name.get(name)
        if family is None:
            told = prefix.rpartition("_")[2]
            family = self.by_name[name] = GaugeMetricFamily(name, told, labels=keys)
        family.add_metric(labels, float(value))


def families(snapshots: Iterable[JobSnapshot]) -> Iterator[Metric]:
    """Return all metrics of some jobs, as Prometheus has them."""
    gathered = _Families()
    jobs = list(snapshots)
    for job in jobs:
        labels = [job.host, job.job_id, job.name]
        for name, value in job_values(job).items():
            gathered.add(f"flink_jobmanager_job_{name}", _JOB, labels, value)
        for vertex in job.vertices:
            for index in range(vertex.parallelism):
                _add_task(gathered, job, vertex, index)
    running = sum(job.end_time < 0 for job in jobs)
    gathered.add("flink_jobmanager_numRunningJobs", ("host",), [_host(jobs)], running)
    yield from gathered.by_name.values()


def _host(jobs: list[JobSnapshot]) -> str:
    return jobs[0].host if jobs else ""


def _add_task(gathered: _Families, job: JobSnapshot, vertex: VertexFacts, index: int) -> None:
    task = vertex.subtasks[index]
    worker = task.worker
    labels = [
        worker.partition(":")[0], worker, job.job_id, job.name, vertex.id, vertex.name[:_LONGEST],
        f"{vertex.id}_{index}_{task.attempt}", str(task.attempt), str(index),
    ]  # fmt: skip
    for name, value in task_values(vertex, index).items():
        gathered.add(f"flink_taskmanager_job_task_{name}", _TASK, labels, value)
    for operator in vertex.operators:
        _add_operator(gathered, labels, operator, index)


def _add_operator(
    gathered: _Families, labels: list[str], operator: OperatorFacts, index: int
) -> None:
    own = [*labels, operator.id, operator.name[:_LONGEST]]
    one = operator.subtasks[index]
    for name, value in operator_values(one).items():
        gathered.add(f"flink_taskmanager_job_task_operator_{name}", _OPERATOR, own, value)


class _Collector:
    """What Prometheus's library asks at each scrape."""

    def __init__(self, asks: Iterable[Ask]) -> None:
        self._asks = asks

    def collect(self) -> Iterator[Metric]:
        return families([ask() for ask in self._asks])


def exposition(snapshots: Iterable[JobSnapshot]) -> bytes:
    """Return the metrics of some jobs in the text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    held = list(snapshots)
    registry.register(_Collector([lambda job=job: job for job in held]))  # type: ignore[misc]
    return generate_latest(registry)


# ------------------------------------------------------------------------------- the endpoint


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a scrape is no news."""


class Endpoint:
    """An HTTP server for the jobs of this process that ask for the same address and ports."""

    def __init__(self, host: str, ports: str) -> None:
        self.asks: list[Ask] = []
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self.asks))
        self._server = _listen(host, ports, make_wsgi_app(registry))
        self.port = self._server.server_port
        threading.Thread(
            target=self._server.serve_forever, name="penstock-prometheus", daemon=True
        ).start()

    def close(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()


def _listen(host: str, ports: str, app: Any) -> WSGIServer:
    wanted = list(ports_of(ports))
    for port in wanted:
        with suppress(OSError):
            return make_server(host, port, app, handler_class=_Quiet)
    raise OSError(f"no port of {ports} is free on {host}")


def ports_of(text: str) -> Iterator[int]:
    """Return the ports that a setting names.

    >>> list(ports_of("9249")), list(ports_of("9250-9252,9260"))
    ([9249], [9250, 9251, 9252, 9260])
    """
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


_guard = threading.Lock()
_endpoints: dict[tuple[str, str], Endpoint] = {}


class PrometheusReporter:
    """Tell Prometheus of one job, if it asks.

    :param name: of the reporter, as it stands in the settings' keys.
    """

    def __init__(self, name: str, snapshot: Ask, settings: Mapping[str, str]) -> None:
        host = settings.get(f"metrics.reporter.{name}.host") or PROMETHEUS_HOST.read(settings)
        ports = settings.get(f"metrics.reporter.{name}.port") or PROMETHEUS_PORT.read(settings)
        self._place = (host, str(ports))
        self._ask = snapshot
        with _guard:
            endpoint = _endpoints.get(self._place)
            if endpoint is None:
                endpoint = _endpoints[self._place] = Endpoint(*self._place)
            endpoint.asks.append(snapshot)
        self.port = endpoint.port

    def close(self) -> None:
        """Tell of the job no more; who is the last to go closes the door."""
        with _guard:
            endpoint = _endpoints[self._place]
            endpoint.asks.remove(self._ask)
            if not endpoint.asks:
                del _endpoints[self._place]
                endpoint.close()
