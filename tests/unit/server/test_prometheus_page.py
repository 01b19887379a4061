"""All running jobs of a session on one page for Prometheus."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.unit.server.samples import JOB_ID


def test_the_page_has_the_jobs_that_run(client: TestClient) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    uptime = families["flink_jobmanager_job_uptime"].samples
    assert [sample.labels["job_id"] for sample in uptime] == [JOB_ID]
    assert families["flink_jobmanager_numRunningJobs"].samples[0].value == 1
