"""Serializers: how objects of one type are written to and read from a stream of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import BinaryIO, Generic, TypeVar

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Write and read objects of one type."""

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write one object."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read one object."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__
