"""Input and output formats that users write for the DataSet API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class OutputFormat(ABC, Generic[T]):
    """Take the records of one subtask. Must be picklable; an instance of it works in each subtask.

    A task that fails is run again: what `open` and `write_record` did is then done twice, so
    write to a place of the attempt's own and move it in `close`.
    """

    def configure(self, parameters: Any) -> None:
        """Take the parameters that `with_parameters` gave. Called once before `open`."""

    def initialize_global(self, parallelism: int) -> None:
        """Prepare the output as a whole. Called once in the user's program, before the subtasks."""

    def finalize_global(self, parallelism: int) -> None:
        """Finish the output as a whole. Called once in the user's program, after all subtasks."""

    def try_cleanup_on_error(self) -> None:
        """Take back what this subtask has written. Called before `close` if it has failed."""

    @abstractmethod
    def open(self, task_number: int, num_tasks: int) -> None:
        """Prepare for the records of subtask `task_number` (from zero) of `num_tasks`."""

    @abstractmethod
    def write_record(self, record: T) -> None:
        """Take one record."""

    def close(self) -> None:
        """Finish. Called once after the last record, and after a failure."""


class DiscardingOutputFormat(OutputFormat[Any]):
    """Take records and forget them: the functions in front run, and nothing is kept."""

    def open(self, task_number: int, num_tasks: int) -> None:
        pass

    def write_record(self, record: Any) -> None:
        pass


class InputFormat(ABC, Generic[T]):
    """Make the records of one source, split by split. Must be picklable.

    `create_input_splits` is called in the user's program, `read` in the workers.

    >>> class Digits(InputFormat):
    ...     def create_input_splits(self, min_num_splits):
    ...         return [range(0, 5), range(5, 10)]
    ...     def read(self, split):
    ...         yield from split
    """

    def configure(self, parameters: Any) -> None:
        """Take the parameters that `with_parameters` gave."""

    @abstractmethod
    def create_input_splits(self, min_num_splits: int) -> list[Any]:
        """Return what is to be read, in pieces that can be read apart; plain data."""

    @abstractmethod
    def read(self, split: Any) -> Iterator[T]:
        """Read one piece; the same records each time."""


class TextFormatter(ABC, Generic[T]):
    """Turn a record into a line."""

    @abstractmethod
    def format(self, value: T) -> str:
        """Return the text of one record, without a line end."""
