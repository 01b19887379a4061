"""Pulsar on a real broker: where reading begins and ends, and each message once."""

from __future__ import annotations

import collections
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulsar as client
import pytest

from penstock.common import WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.pulsar.client import PulsarAccess
from penstock.connectors.pulsar.publishing import PulsarCommitter
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream import ProcessFunction
from penstock.datastream.connectors.pulsar import (
    DeliveryGuarantee,
    MessageDelayer,
    PulsarSink,
    PulsarSource,
    PulsarSourceBuilder,
    RangeGenerator,
    StartCursor,
    StopCursor,
    TopicRoutingMode,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, SinkError, SourceError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment, plan_of, run
from tools.services import Server

pytestmark = pytest.mark.timeout(300)

_numbers = itertools.count()
EXACTLY_ONCE, AT_LEAST_ONCE = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE
LATEST = StopCursor.latest()


class Topic:
    """A topic of its own for one test, written and read with the plain client."""

    def __init__(self, server: Server, partitions: int = 0) -> None:
        self.address = server.address
        self.name = f"persistent://public/default/t{os.getpid()}-{next(_numbers)}"
        self.access = PulsarAccess(self.address["service_url"], self.address["admin_url"])
        self._client = self.access.connect()
        if partitions:
            self.access.ask(f"{self._path}/partitions", "PUT", partitions)
        else:
            self.access.ask(self._path, "PUT")
        # Who writes before anybody has subscribed writes for nobody: full ledgers are deleted.
        self.access.ask(f"{self._path}/subscription/job", "PUT")

    @property
    def _path(self) -> str:
        return self.name.replace("://", "/")

    def grow(self, partitions: int) -> None:
        self.access.ask(f"{self._path}/partitions", "POST", partitions)

    def write(
        self, *values: str, batched: bool = False, part: int | None = None, **how: Any
    ) -> Any:
        """Write messages; return the ids."""
        topic = self.name if part is None else f"{self.name}-partition-{part}"
        producer = self._client.create_producer(
            topic, batching_enabled=batched, batching_max_publish_delay_ms=1000
        )
        ids: list[Any] = []
        for value in values:
            producer.send_async(value.encode(), lambda _, found: ids.append(found), **how)
        producer.flush()
        producer.close()
        assert len(ids) == len(values)
        return ids

    def values(self) -> list[str]:
        """Return all messages that there are, partition by partition."""
        found = []
        for part in sorted(self._client.get_topic_partitions(self.name)):
            reader = self._client.create_reader(part, client.MessageId.earliest)
            while reader.has_message_available():
                found.append(reader.read_next(30_000).data().decode())
            reader.close()
        return found

    def unread(self, subscription: str) -> int:
        stats = self.access.ask(f"{self._path}/stats")
        return int(stats["subscriptions"][subscription]["msgBacklog"])

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def make_topic(pulsar: Server) -> Iterator[Callable[..., Topic]]:
    made: list[Topic] = []

    def make(partitions: int = 0) -> Topic:
        made.append(Topic(pulsar, partitions))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def topic(make_topic: Callable[..., Topic]) -> Topic:
    return make_topic()


def builder(topic: Topic) -> PulsarSourceBuilder:
    return (
        PulsarSource.builder()
        .set_service_url(topic.address["service_url"])
        .set_admin_url(topic.address["admin_url"])
        .set_subscription_name("job")
        .set_topics(topic.name)
        .set_deserialization_schema(SimpleStringSchema())
    )


def read(source: PulsarSource, **options: Any) -> list[Any]:
    strategy = WatermarkStrategy.no_watermarks()
    return run(lambda env: env.from_source(source, strategy, "pulsar"), **options)


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("cuts", [None, 7])
def test_a_topic_of_several_ledgers(topic: Topic, cuts: int | None, batched: bool) -> None:
    for begin in range(0, 120, 60):
        topic.write(*numbers(120)[begin : begin + 60], batched=batched)
    source = builder(topic).set_bounded_stop_cursor(LATEST).build()
    assert read(source, cuts=cuts) == numbers(120)
    assert source.bounded


def test_partitions_are_read_side_by_side(make_topic: Callable[..., Topic]) -> None:
    topic = make_topic(3)
    for part in range(3):
        topic.write(*(f"{part} {n}" for n in range(20)), part=part)
    found = read(builder(topic).set_bounded_stop_cursor(LATEST).build(), parallelism=2, cuts=4)
    assert sorted(found) == sorted(f"{part} {n}" for part in range(3) for n in range(20))
    for part in range(3):
        mine = [value for value in found if value.startswith(f"{part} ")]
        assert mine == [f"{part} {n}" for n in range(20)]


def test_where_reading_begins_and_ends(topic: Topic) -> None:
    ids = topic.write(*"abc", batched=True) + topic.write(*"def")
    b, e = ids[1].serialize(), ids[4].serialize()

    def between(start: StartCursor, stop: StopCursor) -> str:
        source = builder(topic).set_start_cursor(start).set_bounded_stop_cursor(stop)
        return "".join(read(source.build()))

    earliest, from_b = StartCursor.earliest(), StartCursor.from_message_id(b)
    assert between(from_b, LATEST) == "bcdef"
    assert between(StartCursor.from_message_id(b, inclusive=False), LATEST) == "cdef"
    assert between(earliest, StopCursor.at_message_id(e)) == "abcd"
    assert between(from_b, StopCursor.after_message_id(e)) == "bcde"
    assert between(StartCursor.latest(), LATEST) == ""


def test_where_times_begin_and_end(topic: Topic) -> None:
    topic.write("a", event_timestamp=10)
    time.sleep(0.05)
    middle = int(time.time() * 1000)
    time.sleep(0.05)
    topic.write("b", event_timestamp=20)
    topic.write("c", event_timestamp=30)

    def between(start: StartCursor, stop: StopCursor) -> str:
        source = builder(topic).set_start_cursor(start).set_bounded_stop_cursor(stop)
        return "".join(read(source.build()))

    earliest = StartCursor.earliest()
    assert between(StartCursor.from_publish_time(middle), LATEST) == "bc"
    assert between(earliest, StopCursor.at_publish_time(middle)) == "a"
    assert between(earliest, StopCursor.after_publish_time(middle)) == "a"
    assert between(earliest, StopCursor.at_event_time(20)) == "a"
    assert between(earliest, StopCursor.after_event_time(20)) == "ab"


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


def test_a_record_has_the_messages_event_time(topic: Topic) -> None:
    topic.write("a", event_timestamp=1234)
    topic.write("b")
    source = builder(topic).set_bounded_stop_cursor(LATEST).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    found = run(lambda env: env.from_source(source, strategy, "pulsar").process(Stamped()))
    assert found[0] == ("a", 1234)


def test_some_keys_only(topic: Topic) -> None:
    topic.write("a", partition_key="x")
    topic.write("b", partition_key="y")
    topic.write("c")
    source = builder(topic).set_bounded_stop_cursor(LATEST)
    assert read(source.set_range_generator(RangeGenerator.fixed_key(keys="x")).build()) == ["a"]
    either = RangeGenerator.fixed_key(support_null_key=True, keys=["y", "z"])
    assert read(source.set_range_generator(either).build()) == ["b", "c"]
    assert read(source.set_range_generator(RangeGenerator.full()).build()) == ["a", "b", "c"]


def step_until(job: LocalJob, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        assert job.coordinator.failure is None, job.coordinator.failure
        job.step()


def test_an_endless_job_that_is_killed_and_a_topic_that_grows(
    pulsar: Server, make_topic: Callable[..., Topic], tmp_path: Path
) -> None:
    topic = make_topic(1)
    source = builder(topic).set_config("pulsar.source.partitionDiscoveryIntervalMs", 200).build()
    plan, sink = plan_of(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "pulsar")
    )
    topic.write(*"ab", part=0)
    killed = LocalJob(plan, tmp_path, cuts=1)
    step_until(killed, lambda: sink.values() == ["a", "b"])
    killed.close()
    topic.write("c", part=0)
    job = LocalJob(plan, tmp_path, cuts=1)
    step_until(job, lambda: "c" in sink.values())
    topic.grow(2)
    topic.write("d", part=1)
    step_until(job, lambda: "d" in sink.values())
    pulsar.pause()
    resuming = threading.Timer(5, pulsar.resume)
    resuming.start()
    while resuming.is_alive():
        job.step()  # a source whose broker is silent has nothing, and fails nobody
    topic.write("e", part=0)
    step_until(job, lambda: "e" in sink.values())
    job.coordinator.cancel()
    job.close()
    assert sink.values() == ["a", "b", "c", "d", "e"]


def test_what_has_been_read_is_acknowledged(topic: Topic, tmp_path: Path) -> None:
    topic.write(*"abc")
    plan, sink = plan_of(
        lambda env: env.from_source(
            builder(topic).build(), WatermarkStrategy.no_watermarks(), "pulsar"
        )
    )
    job = LocalJob(plan, tmp_path)
    step_until(job, lambda: len(sink.values()) == 3 and topic.unread("job") == 0)
    job.coordinator.cancel()
    job.close()


class Whole(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)


def test_a_message_that_the_schema_does_not_fit(topic: Topic) -> None:
    topic.write("1", "two")
    source = builder(topic).set_deserialization_schema(Whole()).set_bounded_stop_cursor(LATEST)
    with pytest.raises(SourceError) as caught:
        read(source.build())
    assert caught.value.what == "a message cannot be turned into a record"
    assert "b'two'; ValueError: invalid literal" in str(caught.value.got)
    assert topic.name in str(caught.value.got)


# ------------------------------------------------------------------------------------------ sink


def sink_to(topic: Topic, guarantee: DeliveryGuarantee = EXACTLY_ONCE, **how: Any) -> PulsarSink:
    built = (
        PulsarSink.builder()
        .set_service_url(topic.address["service_url"])
        .set_admin_url(topic.address["admin_url"])
        .set_producer_name(topic.name.rpartition("/")[2])
        .set_topics([topic.name])
        .set_serialization_schema(SimpleStringSchema())
        .set_delivery_guarantee(guarantee)
    )
    for method, value in how.items():
        getattr(built, method)(value)
    return built.build()


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_a_job_writes_each_record_once(
    topic: Topic, tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    env = environment()
    env.from_collection(numbers(100)).sink_to(sink_to(topic, guarantee)).uid("out")
    LocalJob(build_plan(env), tmp_path, cuts=7).run()
    assert topic.values() == numbers(100)


class Hand:
    """Drive a sink by hand: stage, publish, and begin again as a new run of the job."""

    def __init__(self, sink: PulsarSink, folder: Path) -> None:
        self._sink = sink
        self._folder = folder
        self.stopping = False
        folder.mkdir(exist_ok=True)
        self.committer = self.connect(restored=False)

    def connect(self, *, restored: bool) -> PulsarCommitter:
        context = CommitterContext(
            "sink", "out", 1, str(self._folder), restored, "job", lambda: self.stopping
        )
        committer = self._sink.create_committer(context)
        assert isinstance(committer, PulsarCommitter)
        return committer

    def restart(self) -> None:
        self.committer.close()
        self.committer = self.connect(restored=True)

    def stage(self, values: list[str]) -> list[Committable]:
        writer = self._sink.create_writer(WriterContext(0, 1, lambda: 0))
        for value in values:
            writer.write(value, None)
        return [Committable(0, payload) for payload in writer.prepare_commit(False)]


def test_a_batch_goes_on_where_it_was_cut_off(
    pulsar: Server, make_topic: Callable[..., Topic], tmp_path: Path
) -> None:
    topic = make_topic(2)
    hand = Hand(sink_to(topic), tmp_path / "sink")
    first = hand.stage(numbers(10))
    hand.committer.commit(0, first)
    # Half of the second batch is sent, and then the process dies.
    hand.committer._attempt(1, [(f"x{n}".encode(), None) for n in range(5)])
    second = hand.stage([f"x{n}" for n in range(10)])
    hand.restart()
    topic.grow(3)
    pulsar.kill()
    pulsar.start(die_with_parent=True)
    hand.committer.commit(0, first)
    hand.committer.commit(1, second)
    hand.committer._published._batch = 0  # dies before its own note
    hand.committer.commit(1, second)
    hand.committer.commit(2, hand.stage(numbers(3)))
    hand.committer.close()
    expected = [*numbers(10), *(f"x{n}" for n in range(10)), *numbers(3)]
    assert collections.Counter(topic.values()) == collections.Counter(expected)


def test_a_second_run_waits_for_the_first(topic: Topic, tmp_path: Path) -> None:
    hand = Hand(sink_to(topic), tmp_path / "sink")
    staged = hand.stage(["a"])
    hand.committer.commit(0, staged)
    second = hand.connect(restored=True)
    second._published._batch = -1
    hand.stopping = True
    with pytest.raises(SinkError, match="the job has ended while it was being published"):
        second.commit(0, staged)
    hand.stopping = False
    hand.committer.close()
    second.commit(0, staged)
    second.close()
    assert topic.values() == ["a"]


def test_a_job_that_is_told_to_end_does_not_wait_for_the_broker(
    pulsar: Server, topic: Topic, tmp_path: Path
) -> None:
    hand = Hand(sink_to(topic), tmp_path / "sink")
    hand.committer.commit(0, hand.stage(["a"]))
    pulsar.pause()
    try:
        threading.Timer(1, lambda: setattr(hand, "stopping", True)).start()
        began = time.monotonic()
        with pytest.raises(SinkError, match="the job has ended while it was being published"):
            hand.committer.commit(1, hand.stage(["b"]))
        assert time.monotonic() - began < 45
    finally:
        pulsar.resume()
    hand.stopping = False
    hand.restart()
    hand.committer.commit(1, hand.stage(["b"]))
    hand.committer.close()
    assert topic.values() == ["a", "b"]


def test_routes_and_delays(make_topic: Callable[..., Topic], tmp_path: Path) -> None:
    for how in (
        {"set_topic_routing_mode": TopicRoutingMode.MESSAGE_KEY_HASH},
        {"set_topic_router": lambda content, topics: topics[int(content) % len(topics)]},
        {"delay_sending_message": MessageDelayer.never()},
    ):
        topic = make_topic(2)
        hand = Hand(sink_to(topic, AT_LEAST_ONCE, **how), tmp_path / topic.name[-4:])
        hand.committer.commit(0, hand.stage(numbers(10)))
        hand.committer.close()
        assert sorted(topic.values()) == numbers(10)
        if "set_topic_router" in how:
            assert topic.values() == [*numbers(10)[::2], *numbers(10)[1::2]]


def test_a_message_that_is_too_large(topic: Topic, tmp_path: Path) -> None:
    hand = Hand(sink_to(topic, AT_LEAST_ONCE), tmp_path / "sink")
    with pytest.raises(SinkError, match=r"TooBig|MessageTooBig"):
        hand.committer.commit(0, hand.stage(["x" * 6_000_000]))
    hand.committer.close()


def test_builders_that_lack_something() -> None:
    with pytest.raises(ConfigurationError) as caught:
        PulsarSink.builder().build()
    assert str(caught.value) == (
        "Pulsar's service URL is missing\n"
        "  where: PulsarSink.builder()\n"
        "  to do: call set_service_url()"
    )
    source = PulsarSource.builder().set_service_url("pulsar://x").set_admin_url("http://x")
    with pytest.raises(ConfigurationError, match="reads topics, or a pattern"):
        source.build()
    with pytest.raises(ConfigurationError, match="no such way to authenticate"):
        source.set_authentication("org.apache.AuthenticationSasl", "s3cret").build()
    assert "s3cret" not in repr(PulsarAccess("a", "b", "AuthenticationToken", "s3cret"))
