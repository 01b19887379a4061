"""Restart strategies: when a failed job is started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ConfigurationError, UserFunctionError
from penstock.spark.restart import RestartStrategy
from tests.spark.conftest import MakeEnvironment


def delays(configuration: dict[str, str], failures: list[float]) -> list[float | None]:
    strategy = RestartStrategy.from_settings(configuration)
    return [strategy.delay_after_failure(at) for at in failures]


def of(name: str, **options: str) -> dict[str, str]:
    keys = {f"restart-strategy.{name}.{key.replace('_', '-')}": v for key, v in options.items()}
    return {"restart-strategy.type": name, **keys}


def test_the_default_depends_on_checkpoints() -> None:
    assert delays({}, [0]) == [None]
    assert delays({"execution.checkpointing.interval": "0 ms"}, [0]) == [None]
    enabled = {"execution.checkpointing.interval": "500 ms"}
    assert delays(enabled, [0, 1, 2]) == [1, 1.5, 2.25]
    assert delays({**enabled, "restart-strategy.type": "none"}, [0]) == [None]
    assert delays({"restart-strategy.type": "none"}, [0]) == [None]


def test_fixed_delay() -> None:
    assert delays(of("fixed-delay", attempts="2", delay="3 s"), [0, 0, 0]) == [3, 3, None]


def test_failure_rate() -> None:
    options = of(
        "failure-rate", max_failures_per_interval="2", failure_rate_interval="10 s", delay="1 s"
    )
    assert delays(options, [0, 1, 12, 13, 14]) == [1, 1, 1, 1, None]


def test_exponential_delay() -> None:
    options = of(
        "exponential-delay",
        initial_backoff="1 s",
        max_backoff="5 s",
        backoff_multiplier="2",
        reset_backoff_threshold="1 min",
        attempts_before_reset_backoff="4",
    )
    assert delays(options, [0, 1, 3, 7]) == [1, 2, 4, 5]
    assert delays(options, [0, 1, 3, 7, 12]) == [1, 2, 4, 5, None]
    assert delays(options, [0, 1, 100]) == [1, 2, 1]


def test_a_name_that_is_none() -> None:
    with pytest.raises(ConfigurationError) as caught:
        RestartStrategy.from_settings({"restart-strategy.type": "often"})
    assert str(caught.value) == (
        "the setting has a value that cannot work\n"
        "  where: configuration key restart-strategy.type\n"
        "  got:   'often'\n"
        "  to do: use one of: none, fixed-delay, failure-rate, exponential-delay"
    )


def failing(path: Path, times: int) -> object:
    def check(value: tuple[str, int]) -> tuple[str, int]:
        if value[1] == 3 and path.read_text() != "x" * times:
            path.write_text(path.read_text() + "x")
            raise ValueError("not yet")
        return value

    return check


def test_a_job_goes_on_after_its_failures(
    make_env: MakeEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failures = tmp_path / "failures"
    failures.touch()
    env = make_env(
        **of("fixed-delay", attempts="2", delay="10 ms"), **{"penstock.batch.max-records": "2"}
    )
    pairs = [("a", n) for n in range(6)]
    # Spark itself tries a task four times in each attempt.
    stream = env.from_collection(pairs).map(failing(failures, 8)).key_by(lambda pair: pair[0])
    with stream.sum(1).execute_and_collect("restarted") as results:
        assert [total for _, total in results] == [0, 1, 3, 6, 10, 15]
    assert failures.read_text() == "x" * 8
    told = [record.getMessage() for record in caplog.records if record.name == "penstock.spark.job"]
    assert len(told) == 2
    assert told[0].startswith(
        "job 'restarted' failed, and starts again in 0.01 s: check() of operator 'Map' raised "
        "ValueError: not yet\n  where: operator 'Map', built at "
    )


def test_a_job_that_fails_too_often(make_env: MakeEnvironment, tmp_path: Path) -> None:
    failures = tmp_path / "failures"
    failures.touch()
    env = make_env(**of("fixed-delay", attempts="1", delay="10 ms"))
    env.from_collection([("a", 3)]).map(failing(failures, 100)).print()
    with pytest.raises(UserFunctionError, match="ValueError: not yet"):
        env.execute("too often")
    assert failures.read_text() == "x" * 8
