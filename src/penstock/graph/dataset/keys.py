"""Keys and sort orders of data sets: by position, by name, by function."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

from penstock.core.batch.options import Order
from penstock.core.functions import KeySelector
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field, FieldKey, get_field

#: Stands for "no record of this data set is known yet".
UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()

_ALL_FIELDS = ("*", "_")


@dataclass(frozen=True)
class Key:
    """What a data set is grouped, joined or partitioned by.

    :param selector: returns the key of a record: a `FieldKey`, a `KeySelector` or any function;
        None for the record itself.
    :param text: how messages and plans name it.
    """

    selector: Any
    text: str

    @property
    def position(self) -> int | None:
        """The one position that the key is made of; None if it is made in another way."""
        if not isinstance(self.selector, FieldKey) or len(self.selector.fields) != 1:
            return None
        field = self.selector.fields[0]
        return field if type(field) is int and field >= 0 else None

    def function(self) -> Callable[[Any], Any]:
        """Return the fastest function that gives a record's key."""
        if self.selector is None:
            return _itself
        if isinstance(self.selector, KeySelector):
            return self.selector.get_key
        if isinstance(self.selector, FieldKey):
            return _of_fields(self.selector)
        return self.selector

    def of_all(self, records: list[Any]) -> list[Any]:
        """Return the keys of many records."""
        if self._reads_tuples(records):
            try:
                return list(map(operator.itemgetter(*self.selector.fields), records))
            except IndexError:
                pass  # the way below says which record has no such field
        return list(map(self.function(), records))

    def sort(self, records: list[Any], *, descends: bool) -> None:
        """Sort records by their keys, in place; equal ones keep their order."""
        if self._reads_tuples(records):
            try:
                records.sort(key=operator.itemgetter(*self.selector.fields), reverse=descends)
                return
            except IndexError:
                pass
        records.sort(key=self.function(), reverse=descends)

    def _reads_tuples(self, records: list[Any]) -> bool:
        """Tell whether the key is made of positions and the records are plain tuples."""
        selector = self.selector
        return (
            isinstance(selector, FieldKey)
            and _are_positions(selector.fields)
            and operator.countOf(map(type, records), tuple) == len(records)
        )


@dataclass(frozen=True)
class SortKey:
    """One key of a sort and its direction."""

    key: Key
    order: Order


def make_key(call: str, fields: Sequence[Any], example: Any = UNKNOWN) -> Key:
    """Return the key that the arguments of a call mean.

    :param call: name of the call, for messages.
    :param fields: positions, names, a `KeySelector` or a function; nothing or `*`: the record.
    :param example: a record of the data set, if one is known: fields are looked up in it.
    :raises TypeMismatchError: if they mean no key, or the record has no such field.
    """
    flat = _flat(fields)
    if not flat or (len(flat) == 1 and flat[0] in _ALL_FIELDS):
        return Key(None, "the record")
    if len(flat) == 1 and not _is_field(flat[0]):
        selector = flat[0]
        if isinstance(selector, type) or not (
            isinstance(selector, KeySelector) or callable(selector)
        ):
            raise _no_key(call, fields)
        return Key(selector, getattr(selector, "__name__", type(selector).__name__))
    if not all(_is_field(field) for field in flat):
        raise _no_key(call, fields)
    key = Key(FieldKey(tuple(flat)), ", ".join(repr(field) for field in flat))
    if example is not UNKNOWN:
        _check_fields(call, flat, example)
    return key


def make_sort_key(call: str, field: Any, order: Order, example: Any = UNKNOWN) -> SortKey:
    """Return one key of a sort.

    :raises TypeMismatchError: if `order` is no order, or as `make_key` does.
    """
    if not isinstance(order, Order):
        raise TypeMismatchError(
            f"{call} needs an order",
            where=str(capture_call_site()),
            got=show_value(order),
            todo="pass Order.ASCENDING or Order.DESCENDING",
        )
    return SortKey(make_key(call, [field], example), order)


def require_like_keys(
    call: str, left: Key, left_example: Any, right: Key, right_example: Any
) -> None:
    """Check that two keys can be equal at all, as far as records are known.

    :raises TypeMismatchError: if they never can.
    """
    if left_example is UNKNOWN or right_example is UNKNOWN:
        return
    try:
        first = left.function()(left_example)
        second = right.function()(right_example)
    except Exception:
        return  # the user's own functions: they will say it when they are called for a record
    require_like_values(call, first, second, where=str(capture_call_site()))


def require_like_values(call: str, first: Any, second: Any, *, where: str | None) -> None:
    """Check that two values of keys are of kinds that can be equal.

    :raises TypeMismatchError: if they are not.
    """
    if _alike(first, second):
        return
    raise TypeMismatchError(
        f"the keys of {call} are of unlike types, so they are never equal",
        where=where,
        got=f"{type(first).__name__} {show_value(first)} on the first side, "
        f"{type(second).__name__} {show_value(second)} on the second",
        todo="convert one of the two keys, for instance with a key selector function",
    )


def _alike(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return True
    if isinstance(first, Number) and isinstance(second, Number):
        return True
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_alike, first, second))
    plain = (str, bytes, tuple, Number)
    if isinstance(first, plain) or isinstance(second, plain):
        return isinstance(first, type(second)) or isinstance(second, type(first))
    return True  # classes of the user's own may be equal across types


def _itself(record: Any) -> Any:
    return record


def _of_fields(selector: FieldKey) -> Callable[[Any], Any]:
    fields = selector.fields
    if not _are_positions(fields):
        return selector
    # Most records are tuples: no need to find out anew for each how its fields are read.
    read = operator.itemgetter(*fields)
    least = max(int(field) for field in fields)

    def key(record: Any) -> Any:
        if type(record) is tuple and len(record) > least:
            return read(record)
        return selector(record)

    return key


def _are_positions(fields: tuple[Field, ...]) -> bool:
    return all(type(field) is int and field >= 0 for field in fields)


def _flat(fields: Sequence[Any]) -> list[Any]:
    if len(fields) == 1 and isinstance(fields[0], (list, tuple)):
        return list(fields[0])
    return list(fields)


def _is_field(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _check_fields(call: str, fields: Sequence[Field], example: Any) -> None:
    for field in fields:
        try:
            get_field(example, field)
        except TypeMismatchError as error:
            error.where = f"{call} at {capture_call_site()}"
            raise error from None


def _no_key(call: str, fields: Sequence[Any]) -> TypeMismatchError:
    return TypeMismatchError(
        f"{call} needs fields or one function that gives the key",
        where=str(capture_call_site()),
        got=", ".join(show_value(field) for field in fields),
        todo=f"write {call.rstrip('()')}(0), ('name'), (0, 1) or (lambda record: ...)",
    )
