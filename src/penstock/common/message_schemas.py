"""The contracts of schemas: how a record becomes a message, and a message a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from penstock.common.typeinfo import TypeInformation, Types

T = TypeVar("T")


class SerializationSchema(ABC, Generic[T]):
    """Turn a record into bytes."""

    def open(self) -> None:
        """Prepare for work. Called once in each worker before the first record."""

    @abstractmethod
    def serialize(self, element: T) -> bytes:
        """Return the record as bytes."""


class DeserializationSchema(ABC, Generic[T]):
    """Turn bytes into a record."""

    def open(self) -> None:
        """Prepare for work. Called once in each worker before the first message."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T | None:
        """Return the record; None leaves the message out."""

    def is_end_of_stream(self, next_element: T) -> bool:
        """Return whether this record says that the stream has ended. Default: never."""
        return False

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return Types.PICKLED_BYTE_ARRAY()
