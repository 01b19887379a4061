"""Which command of Redis a record becomes: names of the connector for Flink in Java."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.errors import ConfigurationError, SerializationError, show_value

T = TypeVar("T")
#: What Redis takes as an argument.
Argument = str | bytes | int | float
Command = tuple[Argument, ...]


class RedisDataType(Enum):
    """What is stored under a key."""

    STRING = "string"
    HASH = "hash"
    LIST = "list"
    SET = "set"
    SORTED_SET = "sorted set"
    HYPER_LOG_LOG = "HyperLogLog"
    PUBSUB = "channel"
    STREAM = "stream"


class RedisCommand(Enum):
    """What is done with a record's key and value.

    With a hash or a sorted set the additional key names it, and the record's key is the field or
    the member; else the record's key is the key. The value of ZADD is the score. The value of XADD
    is a dict, the fields of the entry, or any other value for an entry with the field `value`.
    """

    LPUSH = "LPUSH"
    RPUSH = "RPUSH"
    SADD = "SADD"
    SET = "SET"
    SETEX = "SETEX"
    PFADD = "PFADD"
    PUBLISH = "PUBLISH"
    ZADD = "ZADD"
    ZINCRBY = "ZINCRBY"
    ZREM = "ZREM"
    HSET = "HSET"
    HINCRBY = "HINCRBY"
    INCRBY = "INCRBY"
    INCRBY_EX = "INCRBY_EX"
    DECRBY = "DECRBY"
    DECRBY_EX = "DECRBY_EX"
    XADD = "XADD"

    @property
    def word(self) -> str:
        """What is sent: those that bound the key's life do so by a second command."""
        return self.value.removesuffix("_EX")

    def get_redis_data_type(self) -> RedisDataType:
        """Return what the command works on."""
        return _DATA_TYPES[self.word]


_DATA_TYPES = {
    "LPUSH": RedisDataType.LIST,
    "RPUSH": RedisDataType.LIST,
    "SADD": RedisDataType.SET,
    "SET": RedisDataType.STRING,
    "SETEX": RedisDataType.STRING,
    "PFADD": RedisDataType.HYPER_LOG_LOG,
    "PUBLISH": RedisDataType.PUBSUB,
    "ZADD": RedisDataType.SORTED_SET,
    "ZINCRBY": RedisDataType.SORTED_SET,
    "ZREM": RedisDataType.SORTED_SET,
    "HSET": RedisDataType.HASH,
    "HINCRBY": RedisDataType.HASH,
    "INCRBY": RedisDataType.STRING,
    "DECRBY": RedisDataType.STRING,
    "XADD": RedisDataType.STREAM,
}
_NEED_TTL = (RedisCommand.SETEX, RedisCommand.INCRBY_EX, RedisCommand.DECRBY_EX)
_TAKE_TTL = (*_NEED_TTL, RedisCommand.HSET, RedisCommand.HINCRBY)
_NAMED = (RedisDataType.HASH, RedisDataType.SORTED_SET)


class RedisCommandDescription:
    """A command with what it needs besides a record's key and value.

    :param additional_key: name of the hash or the sorted set.
    :param additional_ttl: seconds after which the key is removed.
    :raises ConfigurationError: if the command needs one of them and it is missing.

    >>> RedisCommandDescription(RedisCommand.HSET, "sensor_temperature").get_additional_key()
    'sensor_temperature'
    """

    def __init__(
        self,
        redis_command: RedisCommand,
        additional_key: str | None = None,
        additional_ttl: int | None = None,
    ) -> None:
        where = f"RedisCommandDescription({redis_command.name})"
        if redis_command.get_redis_data_type() in _NAMED and additional_key is None:
            raise ConfigurationError(
                f"the name of the {redis_command.get_redis_data_type().value} is missing",
                where=where,
                todo="pass additional_key",
            )
        if redis_command in _NEED_TTL and additional_ttl is None:
            raise ConfigurationError(
                "the time for which the key lives is missing",
                where=where,
                todo="pass additional_ttl, in seconds",
            )
        if additional_ttl is not None and (redis_command not in _TAKE_TTL or additional_ttl <= 0):
            raise ConfigurationError(
                "this time to live cannot work",
                where=where,
                got=f"additional_ttl={additional_ttl}",
                todo="give seconds above zero, with "
                + ", ".join(command.name for command in _TAKE_TTL),
            )
        self._command = redis_command
        self._additional_key = additional_key
        self._additional_ttl = additional_ttl

    def get_command(self) -> RedisCommand:
        """Return the command."""
        return self._command

    def get_additional_key(self) -> str | None:
        """Return the name of the hash or the sorted set."""
        return self._additional_key

    def get_additional_ttl(self) -> int | None:
        """Return the seconds after which the key is removed."""
        return self._additional_ttl


class RedisMapper(ABC, Generic[T]):
    """Turn a record into key and value of a command.

    >>> class Temperatures(RedisMapper):
    ...     def get_command_description(self):
    ...         return RedisCommandDescription(RedisCommand.HSET, "sensor_temperature")
    ...
    ...     def get_key_from_data(self, data):
    ...         return data[0]
    ...
    ...     def get_value_from_data(self, data):
    ...         return str(data[1])
    """

    @abstractmethod
    def get_command_description(self) -> RedisCommandDescription:
        """Return the command. Asked once in each worker."""

    @abstractmethod
    def get_key_from_data(self, data: T) -> Any:
        """Return the record's key: of a hash the field, of a sorted set the member."""

    @abstractmethod
    def get_value_from_data(self, data: T) -> Any:
        """Return the record's value; for ZADD the score."""

    def get_additional_key(self, data: T) -> str | None:
        """Return the name of the record's hash or sorted set; None: that of the description."""
        return None

    def get_additional_ttl(self, data: T) -> int | None:
        """Return the seconds for which the record's key lives; None: as the description says."""
        return None


class CommandMaker:
    """Make the commands of records, as their words."""

    def __init__(self, mapper: RedisMapper[Any]) -> None:
        description = mapper.get_command_description()
        self._mapper = mapper
        self._command = description.get_command()
        self._name = description.get_additional_key()
        self._ttl = description.get_additional_ttl()
        self._word = self._command.word
        data_type = self._command.get_redis_data_type()
        self._named = data_type in _NAMED
        self._sorted = data_type is RedisDataType.SORTED_SET

    def commands(self, record: Any) -> list[Command]:
        """Return the command of a record, and one that bounds the key's life if that is wanted.

        :raises SerializationError: if key or value are nothing that Redis takes.
        """
        mapper, command, word = self._mapper, self._command, self._word
        key = _argument("key", mapper.get_key_from_data(record), record)
        if command is RedisCommand.ZREM:
            return [(word, self._name_of(record), key)]
        if command is RedisCommand.XADD:
            return [(word, key, "*", *_fields(mapper.get_value_from_data(record), record))]
        value = _argument("value", mapper.get_value_from_data(record), record)
        ttl = mapper.get_additional_ttl(record) or self._ttl
        if command is RedisCommand.SETEX:
            return [(word, key, int(ttl or 0), value)]
        place = self._name_of(record) if self._named else key
        if not self._named:
            made: Command = (word, key, value)
        elif self._sorted:
            made = (word, place, value, key)
        else:
            made = (word, place, key, value)
        return [made, ("EXPIRE", place, ttl)] if ttl and command in _TAKE_TTL else [made]

    def _name_of(self, record: Any) -> Argument:
        name = self._mapper.get_additional_key(record)
        return _argument("additional key", self._name if name is None else name, record)


def _fields(value: Any, record: Any) -> list[Argument]:
    """Return the fields of an entry, names and values in turn."""
    fields = value if isinstance(value, Mapping) else {"value": value}
    if not fields:
        raise SerializationError(
            "an entry of a stream needs a field",
            where="RedisMapper",
            got=f"an empty dict of record {show_value(record, 200)}",
        )
    return [_argument("field", part, record) for pair in fields.items() for part in pair]


def _argument(what: str, value: Any, record: Any) -> Argument:
    if isinstance(value, bool) or not isinstance(value, (str, bytes, int, float)):
        raise SerializationError(
            f"the {what} is nothing that Redis takes",
            where="RedisMapper",
            got=f"{show_value(value)} of record {show_value(record, 200)}",
            todo="return a string, bytes or a number",
        )
    return value
