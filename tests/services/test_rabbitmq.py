"""RabbitMQ on a real broker: every message once, whatever happens in between."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pika
import pytest

from penstock.common.serialization import SimpleStringSchema
from penstock.core.io import Committable, CommitterContext, EnumeratorContext, WriterContext
from penstock.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import PenstockError, SinkError, SourceError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment, run
from tools.services import Server

pytestmark = pytest.mark.timeout(600)


class UntilEnd(SimpleStringSchema):
    def is_end_of_stream(self, next_element: str) -> bool:
        return next_element == "end"


@pytest.fixture
def queue(rabbitmq: Server) -> Iterator[str]:
    name = f"queue-{uuid.uuid4().hex}"
    yield name
    with connected(rabbitmq) as channel:
        channel.queue_delete(name)


class connected:
    def __init__(self, server: Server) -> None:
        self._connection = pika.BlockingConnection(pika.URLParameters(server.address["url"]))

    def __enter__(self) -> Any:
        return self._connection.channel()

    def __exit__(self, *error: object) -> None:
        self._connection.close()


def config_of(server: Server, **changes: Any) -> RMQConnectionConfig:
    address = server.address
    builder = RMQConnectionConfig.Builder().set_host(address["host"]).set_port(address["port"])
    builder.set_network_recovery_interval(200)
    return builder.set_password(changes.get("password", "guest")).build()


def send(server: Server, queue: str, *messages: str, ids: bool = False) -> None:
    with connected(server) as channel:
        channel.queue_declare(queue, durable=True)
        channel.confirm_delivery()
        for message in messages:
            properties = pika.BasicProperties(correlation_id=f"id-{message}" if ids else None)
            channel.basic_publish("", queue, message, properties)


def messages_of(server: Server, queue: str) -> list[Any]:
    found = []
    with connected(server) as channel:
        while True:
            method, properties, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                return found
            found.append((body.decode(), properties.correlation_id))


def left(server: Server, queue: str) -> int:
    """Return how many messages the queue has for the next reader."""
    with connected(server) as channel:
        return int(channel.queue_declare(queue, passive=True).method.message_count)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("ids", [False, True])
def test_a_queue_is_read_and_acknowledged(rabbitmq: Server, queue: str, ids: bool) -> None:
    words = [str(n) for n in range(3000)]
    send(rabbitmq, queue, *words, "end", "behind the end", ids=ids)
    source = RMQSource(config_of(rabbitmq), queue, ids, UntilEnd())
    assert run(lambda env: env.add_source(source)) == words
    until(lambda: left(rabbitmq, queue) == 1, "messages were not acknowledged")


@pytest.mark.parametrize("ids", [False, True])
def test_what_comes_again_is_known(rabbitmq: Server, queue: str, ids: bool, tmp_path: Path) -> None:
    """A reader that logs messages and dies before it acknowledges them."""
    config = config_of(rabbitmq)
    source = RMQSource(config, queue, ids, UntilEnd())
    # Without ids, messages of the same content are told apart by how many there are.
    expected = ["a", "b"] if ids else ["a", "b", "b"]
    send(rabbitmq, queue, *expected, ids=ids)
    first = Log(source, tmp_path)
    until(lambda: first.bodies() == expected, "nothing arrived")
    first.die()
    new = ["c"] if ids else ["b", "c"]
    send(rabbitmq, queue, *new, "end", ids=ids)
    second = Log(source, tmp_path, restored=True)
    expected += new
    until(lambda: second.bodies() == expected, f"got {second.bodies()}")
    second.enumerator.committed({"splits": {"0": {"at": len(expected)}}, "done": False})
    second.die()
    until(lambda: left(rabbitmq, queue) == 0, "messages were not acknowledged")


class Log:
    """A source's half in the user's process, and what it has logged."""

    def __init__(self, source: RMQSource, folder: Path, *, restored: bool = False) -> None:
        position = {"splits": {"0": {"at": 0, "subtask": 0, "done": False}}, "done": False}
        self.source = source
        self.errors: list[BaseException] = []
        context = EnumeratorContext(
            uid="uid",
            operator="queue",
            parallelism=1,
            directory=str(folder),
            restored=position if restored else None,
            wake=lambda: None,
            fail=self.errors.append,
            now=lambda: 0,
        )
        self.enumerator: Any = source.create_enumerator(context)
        self.enumerator.start()
        self.enumerator.begin()

    def bodies(self) -> list[str]:
        log = self.enumerator._hosted["0"].log.log
        start = {"splits": {"0": {"at": 0, "subtask": 0, "done": False}}, "done": False}
        end = {"splits": {"0": {"at": log.end, "subtask": 0, "done": False}}, "done": False}
        ranges = [part for parts in self.enumerator.plan(start, end) for part in parts]
        batches = (batch for part in ranges for batch in self.source.read(part))
        return [body.decode() for batch in batches for _, body in batch.values]

    def die(self) -> None:
        self.enumerator.close()


def test_a_broker_that_is_gone_for_a_while(rabbitmq: Server, queue: str, tmp_path: Path) -> None:
    with connected(rabbitmq) as channel:
        channel.queue_declare(queue, durable=True)
        for word in "ab":
            keeps = pika.BasicProperties(delivery_mode=2)
            channel.basic_publish("", queue, word, keeps)
    log = Log(RMQSource(config_of(rabbitmq), queue, False, UntilEnd()), tmp_path)
    until(lambda: log.bodies() == ["a", "b"], "nothing arrived")
    rabbitmq.kill()
    rabbitmq.start(die_with_parent=True)
    send(rabbitmq, queue, "c")
    until(lambda: "c" in log.bodies(), f"it does not go on: {log.errors}")
    assert log.bodies() == ["a", "b", "c"]
    log.die()


def test_a_sink_sends_each_record_once(rabbitmq: Server, queue: str, tmp_path: Path) -> None:
    env = environment()
    words = [str(n) for n in range(2000)]
    sink = RMQSink(config_of(rabbitmq), queue, SimpleStringSchema())
    env.from_collection(words).add_sink(sink)
    LocalJob(build_plan(env), tmp_path, cuts=700).run()
    found = messages_of(rabbitmq, queue)
    assert [body for body, _ in found] == words
    assert len({key for _, key in found}) == len(words)


def committer_of(sink: RMQSink, folder: Path, *, restored: bool = False) -> Any:
    return sink.create_committer(CommitterContext("uid", "queue", 1, str(folder), restored, "job"))


def stage(sink: RMQSink, *records: str) -> list[Committable]:
    writer = sink.create_writer(WriterContext(0, 1, lambda: 0))
    for record in records:
        writer.write(record, None)
    return [Committable(0, payload) for payload in writer.prepare_commit(False)]


def test_a_batch_is_sent_whole_or_not_at_all(rabbitmq: Server, queue: str, tmp_path: Path) -> None:
    sink = RMQSink(config_of(rabbitmq), queue, SimpleStringSchema())
    first = committer_of(sink, tmp_path)
    first.commit(0, stage(sink, "a", "b"))
    # It dies within the next batch: what it has sent of it is undone.
    first._channel.basic_publish("", queue, b"half")
    first.close()
    second = committer_of(sink, tmp_path, restored=True)
    second.commit(0, stage(sink, "a", "b"))
    second.commit(1, stage(sink, "half", "whole"))
    rabbitmq.kill()
    rabbitmq.start(die_with_parent=True)
    second.commit(2, stage(sink, "after"))
    second.close()
    found = messages_of(rabbitmq, queue)
    assert [body for body, _ in found] == ["a", "b", "half", "whole", "after"]
    assert [key.rsplit("-", 2)[1:] for _, key in found] == [
        ["0", "0"],
        ["0", "1"],
        ["1", "0"],
        ["1", "1"],
        ["2", "0"],
    ]


def test_a_queue_that_is_deleted_is_made_again(
    rabbitmq: Server, queue: str, tmp_path: Path
) -> None:
    sink = RMQSink(config_of(rabbitmq), queue, SimpleStringSchema())
    committer = committer_of(sink, tmp_path)
    with connected(rabbitmq) as channel:
        channel.queue_delete(queue)
    committer.commit(0, stage(sink, "a"))
    committer.close()
    assert [body for body, _ in messages_of(rabbitmq, queue)] == ["a"]


def test_wrong_credentials(rabbitmq: Server, queue: str, tmp_path: Path) -> None:
    config = config_of(rabbitmq, password="hunter2")
    with pytest.raises(PenstockError) as reading:
        run(lambda env: env.add_source(RMQSource(config, queue, False, SimpleStringSchema())))
    with pytest.raises(SinkError) as writing:
        committer_of(RMQSink(config, queue, SimpleStringSchema()), tmp_path)
    for caught in (reading.value, writing.value):
        assert "RabbitMQ refuses the connection" in str(caught)
        assert "correct user, password and virtual host" in str(caught)
        assert "hunter2" not in str(caught) + repr(config) + repr(vars(caught))


def test_a_message_without_an_id(rabbitmq: Server, queue: str) -> None:
    send(rabbitmq, queue, "a")
    source = RMQSource(config_of(rabbitmq), queue, True, SimpleStringSchema())
    with pytest.raises(SourceError) as caught:
        run(lambda env: env.add_source(source))
    assert "a message has no correlation id" in str(caught.value)
    assert left(rabbitmq, queue) == 1


class Whole(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)


def test_a_message_that_the_schema_does_not_fit(rabbitmq: Server, queue: str) -> None:
    send(rabbitmq, queue, "1", "two")
    source = RMQSource(config_of(rabbitmq), queue, False, Whole())
    with pytest.raises(SourceError) as caught:
        run(lambda env: env.add_source(source))
    assert "a message cannot be turned into a record" in str(caught.value)
    assert f"queue '{queue}': b'two'; ValueError" in str(caught.value)
