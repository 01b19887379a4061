"""Messages of Protobuf, by their generated class."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError, EncodeError, Message

from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.errors import ConfigurationError, SerializationError, show_value


class ProtobufDeserializationSchema(DeserializationSchema[Any]):
    r"""Read messages of a generated class; they are the records.

    :param message_class: the class, of a module that `protoc` has written.
    :param ignore_parse_errors: leave out what is no such message.
    :raises ConfigurationError: if it is no class of messages.

    >>> from google.protobuf.wrappers_pb2 import StringValue
    >>> ProtobufDeserializationSchema(StringValue).deserialize(b"\n\x02be").value
    'be'
    """

    def __init__(self, message_class: type, ignore_parse_errors: bool = False) -> None:
        _check_class(message_class, "ProtobufDeserializationSchema")
        self._class: Any = message_class
        self._lenient = ignore_parse_errors

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._class.FromString(bytes(message))
        except DecodeError as error:
            if self._lenient:
                return None
            raise SerializationError(
                f"a message is no {self._class.__name__} of Protobuf",
                where="ProtobufDeserializationSchema",
                got=f"{show_value(bytes(message), 200)} ({error})",
                todo="use the class that the messages were written with, "
                "or leave such messages out by ignore_parse_errors=True",
            ) from None


class ProtobufSerializationSchema(SerializationSchema[Any]):
    r"""Write messages of a generated class.

    :param message_class: what the records must be. Default: any class of messages.
    :raises ConfigurationError: if it is no class of messages.

    >>> from google.protobuf.wrappers_pb2 import StringValue
    >>> ProtobufSerializationSchema(StringValue).serialize(StringValue(value="be"))
    b'\n\x02be'
    """

    def __init__(self, message_class: type = Message) -> None:
        _check_class(message_class, "ProtobufSerializationSchema")
        self._class: Any = message_class

    def serialize(self, element: Any) -> bytes:
        try:
            if isinstance(element, self._class):
                # The same bytes for the same message in every run, also where it holds a map.
                return bytes(element.SerializeToString(deterministic=True))
            problem = f"it is of class {type(element).__name__}"
        except EncodeError as error:
            problem = str(error)
        raise SerializationError(
            f"a record cannot be written as a {self._class.__name__} of Protobuf",
            where="ProtobufSerializationSchema",
            got=f"{show_value(element, 200)} ({problem})",
            todo="map the stream to whole messages of the class in front of the sink",
        )


def _check_class(message_class: Any, where: str) -> None:
    if not isinstance(message_class, type) or not issubclass(message_class, Message):
        raise ConfigurationError(
            "a class of Protobuf messages is needed",
            where=where,
            got=show_value(message_class),
            todo="pass a class of a module that protoc has written",
        )
