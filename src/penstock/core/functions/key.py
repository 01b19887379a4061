"""Choosing a record's key, and the subtask that a key goes to."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from penstock.core.functions.base import Function

IN = TypeVar("IN")
KEY = TypeVar("KEY")


class KeySelector(Function, Generic[IN, KEY]):
    """Take the key out of a record."""

    @abstractmethod
    def get_key(self, value: IN) -> KEY:
        """Return the key; hashable, and the same for the same record in every process."""


class Partitioner(Function, Generic[KEY]):
    """Choose the subtask that a record goes to."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Return a number from zero up to, but not including, `num_partitions`."""
