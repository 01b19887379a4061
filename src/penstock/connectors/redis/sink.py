"""Redis as a sink: a batch's commands and how far they have come, in transactions."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.connectors.journal import numbering_of
from penstock.connectors.redis.commands import Command, CommandMaker, RedisMapper
from penstock.connectors.redis.config import FlinkJedisPoolConfig, library
from penstock.connectors.retrying import Again, Retries
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import ConfigurationError, SinkError, show_value

_logger = logging.getLogger("penstock.redis")

#: Begins the key that tells how far a sink has come.
MARKER = "penstock:published:"
#: Commands of one transaction: the server does nothing else meanwhile.
_CHUNK = 1000


class RedisSink(Sink):
    """Run a command for each record. Needs the extra `redis`.

    Commands run once their batch is durable, in transactions that also note how far the sink has
    come, under a key that begins with `penstock:published:`. So each runs exactly once, as long
    as the server keeps what it has confirmed. A command that Redis refuses (the key holds
    something else) fails the job; when the job goes on, the other commands of its transaction
    run again. SET, SETEX, HSET, SADD, ZADD, ZREM and PFADD come to the same then; LPUSH, RPUSH,
    PUBLISH and those that count do not.

    :param flink_jedis_config: where the server is.
    :param redis_sink_mapper: turns records into commands.
    :raises ConfigurationError: if one of them is something else, or the package is missing.

    >>> from penstock.connectors.redis.commands import RedisCommand, RedisCommandDescription
    >>> class Temperatures(RedisMapper):
    ...     def get_command_description(self):
    ...         return RedisCommandDescription(RedisCommand.HSET, "sensor_temperature")
    ...
    ...     def get_key_from_data(self, data):
    ...         return data[0]
    ...
    ...     def get_value_from_data(self, data):
    ...         return str(data[1])
    >>> config = FlinkJedisPoolConfig.Builder().set_host("localhost").build()
    >>> sink = RedisSink(config, Temperatures())
    """

    def __init__(
        self, flink_jedis_config: FlinkJedisPoolConfig, redis_sink_mapper: RedisMapper[Any]
    ) -> None:
        for given, kind in (
            (flink_jedis_config, FlinkJedisPoolConfig),
            (redis_sink_mapper, RedisMapper),
        ):
            if not isinstance(given, kind):
                raise ConfigurationError(
                    f"a {kind.__name__} is needed", where="RedisSink()", got=show_value(given)
                )
        library()
        CommandMaker(redis_sink_mapper)  # a wrong description shows now
        self._config = flink_jedis_config
        self._mapper = redis_sink_mapper

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _CommandWriter(self._mapper)

    def create_committer(self, context: CommitterContext) -> Committer:
        return RedisCommitter(context, self._config)


class _CommandWriter(SinkWriter):
    """Turn records into commands."""

    def __init__(self, mapper: RedisMapper[Any]) -> None:
        self._make = CommandMaker(mapper).commands
        self._commands: list[Command] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._commands += self._make(value)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        commands, self._commands = self._commands, []
        return [
            pickle.dumps(commands[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(commands), _CHUNK)
        ]


class RedisCommitter(Committer):
    """Run a batch's commands, one transaction for each piece that the writers prepared.

    The marker is watched: if a publisher of another run, which has not noticed its end, gets in
    between, the transaction does not happen and the marker is read again.
    """

    def __init__(self, context: CommitterContext, config: FlinkJedisPoolConfig) -> None:
        self._config = config
        self._retries = Retries(_logger, config, context.stopping)
        numbering = numbering_of(context.directory, fresh=not context.restored)
        self._marker = f"{MARKER}{numbering}/{context.uid}"
        self._client = config.connect()
        self._retries.run(partial(self._attempt, self._client.ping))

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        # In the same order whenever the batch is published: pieces are known by their number.
        pieces = sorted(committables, key=lambda each: each.subtask)
        for number, piece in enumerate(pieces):
            run = partial(self._run, (batch_id, number), pickle.loads(piece.payload))
            self._retries.run(partial(self._attempt, run))

    def close(self) -> None:
        self._client.close()

    def _run(self, position: tuple[int, int], commands: list[Command]) -> None:
        with self._client.pipeline(transaction=True) as pipe:
            pipe.watch(self._marker)
            before = pipe.get(self._marker)
            if before is not None and _position(before) >= position:
                return
            pipe.multi()
            for command in commands:
                pipe.execute_command(*command)
            pipe.set(self._marker, "{}:{}".format(*position))
            answers = pipe.execute(raise_on_error=False)
        pairs = zip(commands, answers, strict=False)
        refused = [(c, a) for c, a in pairs if isinstance(a, library().ResponseError)]
        if refused:
            # The rest has run. Nothing must be lost when the cause is gone: all of it runs again.
            self._client.set(self._marker, before if before is not None else "-1:0")
            raise _refused(*refused[0])

    def _attempt(self, work: Callable[[], Any]) -> None:
        errors = library().exceptions
        try:
            work()
        except errors.WatchError as error:
            raise Again(error, at_once=True) from None
        except errors.AuthenticationError as error:
            raise self._failed(error, "correct the password") from None
        except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
            away = self._failed(error, "check that the server is running")
            raise Again(error, away) from None
        except errors.RedisError as error:
            raise self._failed(error, "correct the settings of sink and server") from None

    def _failed(self, error: Exception, todo: str) -> SinkError:
        return SinkError(
            f"Redis at {self._config.get_host()}:{self._config.get_port()} does not take commands",
            got=f"{type(error).__name__}: {error}",
            todo=f"{todo}; what is recorded is written when the job is started again",
        )


def _position(text: bytes) -> tuple[int, int]:
    batch, _, number = text.decode().partition(":")
    return int(batch), int(number)


def _refused(command: Command, error: Exception) -> SinkError:
    return SinkError(
        "Redis refuses a command",
        got=f"{show_value(command, 200)}: {error}",
        todo="correct the mapper, or remove what stands in the way; the command "
        "and those beside it run when the job is started again",
    )
