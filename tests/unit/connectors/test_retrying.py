"""Waiting for servers: how long, how often, and until when."""

from __future__ import annotations

import logging

import pytest

from penstock.connectors.retrying import Again, Retries
from penstock.errors import SinkError

_logger = logging.getLogger("penstock.test")


def failing(times: int, made: list[int]) -> str:
    made.append(1)
    if len(made) <= times:
        raise Again("away", SinkError("the server is away"))
    return "done"


def retries(**options: object) -> Retries:
    defaults: dict[str, object] = {"pause": lambda failures: 0.0}
    return Retries(_logger, "server", lambda: False, **{**defaults, **options})  # type: ignore[arg-type]


def test_attempts_are_made_until_one_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    made: list[int] = []
    assert retries().run(lambda: failing(3, made)) == "done"
    assert len(made) == 4
    assert [record.getMessage() for record in caplog.records] == ["server: tried again: away"]


@pytest.mark.parametrize(
    ("options", "attempts"),
    [({"most": 2}, 3), ({"patience": 0.0}, 1), ({"patience": 0.0, "least": 4}, 5)],
)
def test_patience_has_an_end(options: dict[str, object], attempts: int) -> None:
    made: list[int] = []
    with pytest.raises(SinkError, match="the server is away"):
        retries(**options).run(lambda: failing(99, made))
    assert len(made) == attempts


def test_a_job_that_has_ended_waits_no_longer() -> None:
    made: list[int] = []
    waiting = Retries(_logger, "server", lambda: len(made) > 2, pause=lambda failures: 0.0)
    with pytest.raises(SinkError) as caught:
        waiting.run(lambda: failing(99, made))
    assert str(caught.value) == "the job has ended while it was being published"
    assert len(made) == 3


def test_what_need_not_wait_is_no_failure() -> None:
    made: list[int] = []

    def attempt() -> None:
        made.append(1)
        if len(made) < 5:
            raise Again("watched", at_once=True)

    retries(most=0).run(attempt)
    assert len(made) == 5
