"""Tags that name side outputs."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from penstock.errors import ConfigurationError, TypeMismatchError, show_value

T = TypeVar("T")


class OutputTag(Generic[T]):
    """Name a side output.

    A process function sends a record to it by yielding `(tag, value)` or by
    `ctx.output(tag, value)`; `stream.get_side_output(tag)` is the stream of those records.
    Two tags are the same side output if their ids are equal.

    >>> late = OutputTag("late")
    >>> late == OutputTag("late")
    True

    :param tag_id: id of the side output; not empty.
    :param type_info: type of its records, which are converted to it or refused, as those of a main
        output are to its `output_type`; left out, they stay as they are.
    :raises ConfigurationError: if the id is empty or no string.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: Any = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ConfigurationError(
                "a side output needs an id",
                where="OutputTag(tag_id, type_info)",
                got=f"tag_id={show_value(tag_id)}",
                todo="give a non-empty string, for instance OutputTag('late-data')",
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def get_id(self) -> str:
        """Return the id."""
        return self.tag_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


def tag_id_of(tag: OutputTag[Any]) -> str:
    """Return the id of the tag that `output()` was called with.

    :raises TypeMismatchError: if it is no tag.
    """
    try:
        return tag.tag_id
    except AttributeError:
        raise TypeMismatchError(
            "output() needs the tag of a side output",
            got=f"{type(tag).__name__} {show_value(tag)}",
            todo="make one, for instance LATE = OutputTag('late'), and write output(LATE, value)",
        ) from None
