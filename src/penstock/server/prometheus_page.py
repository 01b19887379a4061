"""The metrics of all jobs on one page, for Prometheus to scrape."""

from __future__ import annotations

from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from penstock.execution.reporters.prometheus import exposition
from penstock.server.context import Context, Endpoint


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoint of the page."""

    def metrics(asked: Any) -> Any:
        """Answer the metrics of the jobs that have not ended, in Prometheus' text format."""
        running = [job for job in context.jobs.all() if job.end_time < 0]
        return Response(exposition(running), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return [] if context.jobs.is_history else [Endpoint("GET", "/metrics", metrics)]
