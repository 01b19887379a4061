"""Everything that can be asked for and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers import cluster, metrics, taskmanagers
from penstock.server.answers.question import Question
from penstock.server.answers.table import JOB_ANSWERS, Answer
from penstock.server.context import Asked, Context, Endpoint, Handler


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoints of the session and of single jobs."""
    jobs = context.jobs

    def config(asked: Asked) -> Any:
        return cluster.config(
            context.version,
            submit=jobs.takes_scripts,
            cancel=jobs.takes_orders,
            history=jobs.is_history,
        )

    def over_jobs(answer: Callable[[list[JobSnapshot]], Any]) -> Handler:
        return _described(answer, lambda asked: answer(jobs.all()))

    def over_query(answer: Callable[[list[JobSnapshot], Mapping[str, str]], Any]) -> Handler:
        return _described(answer, lambda asked: answer(jobs.all(), asked.query))

    def worker(asked: Asked) -> str:
        return asked.path["taskmanagerid"]

    of_session: dict[str, Handler] = {
        "/overview": _described(
            cluster.overview, lambda asked: cluster.overview(jobs.all(), context.version)
        ),
        "/config": _described(cluster.config, config),
        "/jobs": over_jobs(cluster.jobs_with_ids),
        "/jobs/overview": over_jobs(cluster.jobs_overview),
        "/jobs/metrics": over_query(metrics.of_jobs),
        "/applications/overview": over_jobs(cluster.applications_overview),
        "/taskmanagers": over_jobs(taskmanagers.overview),
        "/taskmanagers/metrics": over_query(taskmanagers.all_metrics),
        "/taskmanagers/:taskmanagerid": _described(
            taskmanagers.details, lambda asked: taskmanagers.details(jobs.all(), worker(asked))
        ),
        "/taskmanagers/:taskmanagerid/metrics": _described(
            taskmanagers.metrics,
            lambda asked: taskmanagers.metrics(jobs.all(), worker(asked), asked.query),
        ),
        "/taskmanagers/:taskmanagerid/thread-dump": _described(
            cluster.no_threads,
            lambda asked: cluster.no_threads(taskmanagers.find_executor(jobs.all(), worker(asked))),
        ),
        "/jobmanager/config": _described(
            cluster.settings, lambda asked: cluster.settings(jobs.settings())
        ),
        "/jobmanager/environment": _described(
            cluster.environment, lambda asked: cluster.environment()
        ),
        "/jobmanager/metrics": over_query(cluster.metrics),
        "/jobmanager/thread-dump": _described(
            cluster.no_threads, lambda asked: cluster.no_threads(None)
        ),
    }
    found = [Endpoint("GET", path, handler) for path, handler in of_session.items()]
    for path, answer in JOB_ANSWERS.items():
        found.append(Endpoint("GET", f"/jobs/:jobid{path}", _job_handler(context, answer)))
    return found


def _job_handler(context: Context, answer: Answer) -> Handler:
    return _described(
        answer,
        lambda asked: answer(Question(context.jobs.one(asked.job_id), asked.path, asked.query)),
    )


def _described(answer: Callable[..., Any], handler: Handler) -> Handler:
    """Return a handler that says of itself what the answer says."""
    handler.__doc__ = answer.__doc__
    return handler
