"""The many ways to say what the key of a record is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common import TypeInformation
from penstock.core.functions import KeySelector, RuntimeContext
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.declared_types import Converter, make_converter
from penstock.graph.fields import Field, FieldKey

Selector = Callable[[Any], Any] | KeySelector[Any, Any]


def make_key_selector(
    key_selector: Any, key_type: Any, more_fields: tuple[Field, ...]
) -> tuple[Selector, TypeInformation | None]:
    """Return a selector, and the key's type if it was declared.

    :param key_selector: a function, a KeySelector, a field, or a list or tuple of fields.
    :param key_type: a type, or a second field.
    :raises TypeMismatchError: if it is none of these.
    """
    declared = key_type if isinstance(key_type, TypeInformation) else None
    fields = _fields(key_selector)
    if fields:
        further = more_fields if key_type is None or declared else (key_type, *more_fields)
        fields = (*fields, *further)
        if all(_is_field(field) for field in fields):
            return _typed(FieldKey(fields), declared), declared
    elif _selects(key_selector) and not more_fields and (key_type is None or declared):
        return _typed(key_selector, declared), declared
    raise TypeMismatchError(
        "a key must be given as a function, a KeySelector or fields",
        where=str(capture_call_site()),
        got=", ".join(
            show_value(p) for p in (key_selector, key_type, *more_fields) if p is not None
        ),
        todo="write key_by(lambda record: ...), key_by(0), key_by('name') or key_by('a', 'b')",
    )


class TypedKeySelector(KeySelector[Any, Any]):
    """Give keys of a declared type, as PyFlink does: a DOUBLE makes 1.0 of 1."""

    def __init__(self, selector: Selector, convert: Converter) -> None:
        self._selector = selector
        self._convert = convert

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._selector, KeySelector):
            self._selector.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._selector, KeySelector):
            self._selector.close()

    def get_key(self, value: Any) -> Any:
        return self.direct()(value)

    def direct(self) -> Callable[[Any], Any]:
        """Return `get_key` in one call."""
        selector = self._selector
        select = selector.get_key if isinstance(selector, KeySelector) else selector
        return self._convert.behind(select)


def _typed(selector: Selector, declared: TypeInformation | None) -> Selector:
    convert = make_converter(declared)
    return selector if convert is None else TypedKeySelector(selector, convert)


def _fields(key_selector: Any) -> tuple[Any, ...]:
    if _is_field(key_selector):
        return (key_selector,)
    if isinstance(key_selector, (list, tuple)):
        return tuple(key_selector)
    return ()


def _is_field(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _selects(value: Any) -> bool:
    if isinstance(value, type) and issubclass(value, KeySelector):
        return False
    return isinstance(value, KeySelector) or callable(value)
