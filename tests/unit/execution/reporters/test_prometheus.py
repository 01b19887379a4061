"""Prometheus: names, labels, the endpoint, and the dashboard that reads them."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.execution.reporters import start_reporters
from penstock.execution.reporters.prometheus import PrometheusReporter, exposition
from tests.sample_facts import JOB_ID, WINDOW, sample_snapshot

DASHBOARD = Path(__file__).parents[4] / "monitoring" / "grafana-dashboard.json"


def parsed(text: str) -> dict[str, list[Any]]:
    return {family.name: family.samples for family in text_string_to_metric_families(text)}


@pytest.fixture(scope="module")
def exported() -> dict[str, list[Any]]:
    return parsed(exposition([sample_snapshot()]).decode())


def test_names_and_labels_are_those_of_flinks_reporter(exported: dict[str, list[Any]]) -> None:
    samples = exported["flink_taskmanager_job_task_operator_numRecordsIn"]
    (window,) = [
        one for one in samples
        if one.labels["operator_name"] == "Window" and one.labels["subtask_index"] == "0"
    ]  # fmt: skip
    assert window.value == 52_800
    assert window.labels == {
        "host": "worker-host",
        "tm_id": "worker-host:4711",
        "job_id": JOB_ID,
        "job_name": "orders",
        "task_id": WINDOW,
        "task_name": "Window -> Sink: Print",
        "task_attempt_id": f"{WINDOW}_0_1",
        "task_attempt_num": "1",
        "subtask_index": "0",
        "operator_id": WINDOW,
        "operator_name": "Window",
    }
    assert {
        "flink_taskmanager_job_task_busyTimeMsPerSecond",
        "flink_taskmanager_job_task_idleTimeMsPerSecond",
        "flink_taskmanager_job_task_backPressuredTimeMsPerSecond",
        "flink_taskmanager_job_task_numRecordsInPerSecond",
        "flink_taskmanager_job_task_numRecordsOutPerSecond",
        "flink_taskmanager_job_task_numBytesIn",
        "flink_taskmanager_job_task_currentInputWatermark",
        "flink_taskmanager_job_task_operator_currentOutputWatermark",
        "flink_taskmanager_job_task_operator_numLateRecordsDropped",
        "flink_jobmanager_job_lastCheckpointDuration",
        "flink_jobmanager_job_lastCheckpointSize",
        "flink_jobmanager_job_numberOfCompletedCheckpoints",
        "flink_jobmanager_job_numRestarts",
        "flink_jobmanager_job_uptime",
        "flink_jobmanager_numRunningJobs",
    } <= exported.keys()


def test_a_chain_takes_what_its_head_takes_and_gives_what_its_ends_give(
    exported: dict[str, list[Any]],
) -> None:
    def of(name: str, vertex: str) -> float:
        samples = exported[f"flink_taskmanager_job_task_{name}"]
        return sum(one.value for one in samples if one.labels["task_id"] == vertex)

    assert (of("numRecordsIn", WINDOW), of("numRecordsOut", WINDOW)) == (88_000, 660)


def test_metrics_of_functions_have_their_groups_in_their_names(
    exported: dict[str, list[Any]],
) -> None:
    broken = exported["flink_taskmanager_job_task_operator_broken"]
    assert [one.value for one in broken] == [3, 3]
    rate = exported["flink_taskmanager_job_task_operator_parser_rate"]
    assert [one.value for one in rate] == [900, 600]
    assert "flink_taskmanager_job_task_operator_parser_rate_count" in exported


def test_two_jobs_share_a_page() -> None:
    other = sample_snapshot()
    other.job_id, other.name = "0" * 32, 'with "quotes" and\nlines'
    found = parsed(exposition([sample_snapshot(), other]).decode())
    names = {one.labels["job_name"] for one in found["flink_jobmanager_job_uptime"]}
    assert names == {"orders", other.name}
    assert found["flink_jobmanager_numRunningJobs"][0].value == 2


def test_the_dashboard_asks_for_nothing_that_is_not_exported(
    exported: dict[str, list[Any]],
) -> None:
    content = json.loads(DASHBOARD.read_text())
    asked = set(re.findall(r"\bflink_\w+", json.dumps(content)))
    assert len(asked) > 10
    assert asked <= exported.keys()
    labels = {label for samples in exported.values() for one in samples for label in one.labels}
    used = set(re.findall(r"\{\{(\w+)\}\}", json.dumps(content)))
    assert used <= labels
    identifiers = [panel["id"] for panel in content["panels"]]
    assert len(identifiers) == len(set(identifiers))


def fetch(port: int) -> dict[str, list[Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return parsed(answer.read().decode())


def test_an_endpoint_serves_all_jobs_that_ask_for_it() -> None:
    other = sample_snapshot()
    other.name = "other"
    settings = {"metrics.reporter.prom.port": "0"}
    first = PrometheusReporter("prom", sample_snapshot, settings)
    second = PrometheusReporter("prom", lambda: other, settings)
    try:
        assert first.port == second.port
        found = fetch(first.port)
        names = {one.labels["job_name"] for one in found["flink_jobmanager_job_uptime"]}
        assert names == {"orders", "other"}
        first.close()
        left = fetch(second.port)["flink_jobmanager_job_uptime"]
        assert [one.labels["job_name"] for one in left] == ["other"]
    finally:
        second.close()
    with pytest.raises(OSError, match="refused"):
        fetch(second.port)


def test_a_range_of_ports_is_tried_and_a_taken_one_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    holder = PrometheusReporter("prom", sample_snapshot, {"metrics.reporter.prom.port": "0"})
    taken = str(holder.port)
    settings = {"metrics.reporters": "prom", "metrics.reporter.prom.port": taken}
    start_reporters(sample_snapshot, settings)()
    holder.close()
    assert (
        f"metrics reporter 'prom' cannot be started: no port of {taken} is free on 127.0.0.1"
        in caplog.text
    )


def test_a_reporter_that_nobody_knows_does_not_stop_the_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = {"metrics.reporters": "mine", "metrics.reporter.mine.class": "org.x.Statsd"}
    start_reporters(sample_snapshot, settings)()
    assert "there is no reporter 'Statsd'; there are: prom" in caplog.text


def test_a_job_with_the_reporter_can_be_scraped_while_it_runs(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    go_on = tmp_path / "go on"
    configuration = Configuration().set_string("execution.target", "in-process")
    configuration.set_string("metrics.reporters", "prom")
    configuration.set_string(
        "metrics.reporter.prom.factory.class",
        "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
    )
    configuration.set_string("metrics.reporter.prom.port", str(port))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)

    def wait(value: int) -> int:
        while not go_on.exists():
            time.sleep(0.01)
        return value

    env.from_sequence(1, 10).map(wait).print()
    job = env.submit("scraped")
    (sample,) = fetch(port)["flink_jobmanager_job_uptime"]
    assert sample.labels["job_name"] == "scraped"
    go_on.touch()
    job.wait()
    with pytest.raises(OSError, match="refused"):
        fetch(port)
