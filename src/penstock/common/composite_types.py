"""Type information of what has parts: dicts, tuples, rows and objects with fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.type_information import TypeInformation
from penstock.common.types import Row
from penstock.errors import TypeMismatchError, show_value


class MapTypeInfo(TypeInformation):
    """Dicts."""

    python_types = (dict,)

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info

    def _parts(self) -> tuple[Any, ...]:
        return self.key_type_info, self.value_type_info

    def need_conversion(self) -> bool:
        return self.key_type_info.need_conversion() or self.value_type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type_info, self.value_type_info
        return {key.to_internal_type(k): value.to_internal_type(v) for k, v in obj.items()}

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type_info, self.value_type_info
        return {key.from_internal_type(k): value.from_internal_type(v) for k, v in obj.items()}

    def __str__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info}, {self.value_type_info}>"


class TupleTypeInfo(TypeInformation):
    """Tuples of a fixed length."""

    python_types = (tuple, list)

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        self.field_types = list(field_types)

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self.field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields in order."""
        return list(self.field_types)

    def accepts(self, value: Any) -> bool:
        return value is None or (super().accepts(value) and len(value) == len(self.field_types))

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        pairs = zip(self.field_types, obj, strict=True)
        return tuple(field.to_internal_type(value) for field, value in pairs)

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        pairs = zip(self.field_types, obj, strict=True)
        return tuple(field.from_internal_type(value) for field, value in pairs)

    def __str__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self.field_types))})"


class RowTypeInfo(TypeInformation):
    """Rows; inside, tuples in the order of the fields.

    :param field_names: `f0`, `f1` and so on if left out.
    """

    python_types = (Row, tuple, list, dict, object)

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        self.field_types = list(field_types)
        self.field_names = list(field_names or _default_names(len(self.field_types)))
        if len(self.field_names) != len(self.field_types):
            raise TypeMismatchError(
                "a row needs as many names as types",
                where="RowTypeInfo",
                got=f"names {self.field_names}, types {self.field_types}",
            )

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self.field_names), tuple(self.field_types)

    def get_field_names(self) -> list[str]:
        """Return the names of the fields in order."""
        return list(self.field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields in order."""
        return list(self.field_types)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1."""
        return self.field_names.index(field_name) if field_name in self.field_names else -1

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        values = self.values_of(obj)
        if len(values) != len(self.field_types):
            raise TypeMismatchError(
                f"a row of {len(self.field_types)} fields was expected",
                where=str(self),
                got=show_value(obj),
            )
        pairs = zip(self.field_types, values, strict=True)
        return tuple(field.to_internal_type(value) for field, value in pairs)

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        pairs = zip(self.field_types, obj, strict=True)
        row = Row(*(field.from_internal_type(value) for field, value in pairs))
        row.set_field_names(self.field_names)
        return row

    def values_of(self, obj: Any) -> Sequence[Any]:
        """Return the values of a row, dict, tuple or other object, in the order of the fields.

        :raises TypeMismatchError: if it is none of these.
        """
        if isinstance(obj, Row):
            return obj.get_fields_by_names(self.field_names)
        if isinstance(obj, dict):
            return [obj.get(name) for name in self.field_names]
        if isinstance(obj, (tuple, list)):
            return obj
        if hasattr(obj, "__dict__"):
            return [vars(obj).get(name) for name in self.field_names]
        raise TypeMismatchError("not a row", where=str(self), got=show_value(obj))

    def __str__(self) -> str:
        if self.field_names == _default_names(len(self.field_types)):
            return f"RowTypeInfo({', '.join(map(str, self.field_types))})"
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {field}' for name, field in pairs)})"


def _default_names(count: int) -> list[str]:
    return [f"f{i}" for i in range(count)]


class PojoTypeInfo(TypeInformation):
    """Objects of a class with named and typed fields, such as a dataclass.

    :param pojo_class: the class.
    :param fields: types of its fields by name.
    """

    def __init__(self, pojo_class: type, fields: dict[str, TypeInformation]) -> None:
        self.pojo_class = pojo_class
        self.fields = dict(fields)
        self.python_types = (pojo_class,)

    def _parts(self) -> tuple[Any, ...]:
        return self.pojo_class, tuple(self.fields.items())

    def get_field_names(self) -> list[str]:
        """Return the names of the fields in order."""
        return list(self.fields)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields in order."""
        return list(self.fields.values())

    def __str__(self) -> str:
        fields = ", ".join(f"{name}: {field}" for name, field in self.fields.items())
        return f"PojoType<{self.pojo_class.__qualname__}, fields = [{fields}]>"
