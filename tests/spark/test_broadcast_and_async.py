"""Broadcast state, asynchronous functions and metrics on a real Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from penstock.common import Time
from penstock.core.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
)
from tests.spark.conftest import MakeEnvironment

RULES = MapStateDescriptor("rules")


class Weigh(KeyedBroadcastProcessFunction):
    """Multiply by the factor that was broadcast, and count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        self.seen.inc()
        self.count.update((self.count.value() or 0) + 1)
        factor = ctx.get_broadcast_state(RULES).get(value[0])
        yield value[0], value[1] * factor, self.count.value()

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def test_broadcast_state_in_three_subtasks(make_env: MakeEnvironment) -> None:
    env = make_env(3, **{"penstock.batch.max-records": "8"})
    rules = env.from_collection([(key, n) for n, key in enumerate("abcd", 1)])
    data = env.from_collection([(key, n) for n in range(6) for key in "abcd"])
    keyed = data.key_by(lambda pair: pair[0])
    stream = keyed.connect(rules.broadcast(RULES)).process(Weigh()).name("weigh")
    with stream.execute_and_collect() as results:
        found = sorted(results)
    factors = {key: n for n, key in enumerate("abcd", 1)}
    assert found == sorted((k, n * f, n + 1) for k, f in factors.items() for n in range(6))


class LookUp(AsyncFunction):
    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep(0.2)
        return [value * 10]


def test_asynchronous_functions_at_the_source_and_in_slots(make_env: MakeEnvironment) -> None:
    env = make_env(2)
    numbers = env.from_collection(list(range(40)))
    once = AsyncDataStream.ordered_wait(numbers, LookUp(), Time.seconds(30), 20)
    twice = AsyncDataStream.unordered_wait(once.rebalance(), LookUp(), Time.seconds(30), 20)
    with twice.execute_and_collect() as results:
        assert sorted(results) == [n * 100 for n in range(40)]


def test_metrics_reach_the_result(make_env: MakeEnvironment) -> None:
    env = make_env(2, **{"penstock.batch.max-records": "4"})
    rules = env.from_collection([("a", 1), ("b", 1)])
    data = env.from_collection([(key, n) for n in range(10) for key in "ab"])
    keyed = data.key_by(lambda pair: pair[0])
    keyed.connect(rules.broadcast(RULES)).process(Weigh()).name("weigh").print()
    client = env.execute_async("metrics")
    result = client.get_job_execution_result().result()
    counts = {name: count for name, count in result.get_all_metrics().items() if "seen" in name}
    assert set(counts) == {"weigh.0.seen", "weigh.1.seen"}
    assert sum(counts.values()) == 20
    assert client.get_metrics().result() == result.get_all_metrics()
