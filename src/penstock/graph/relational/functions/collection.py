"""Collection functions, and how arrays, maps and rows are made and looked into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.graph.relational.expressions import Call, Expr, Literal, cast
from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.type_rules import can_cast_implicitly, common_type
from penstock.graph.relational.types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    CharacterType,
    IntegralType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    VariantType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter


def _element(t: LogicalType) -> LogicalType:
    return t.children()[0]


def _array_rewrite(args: tuple[Expr, ...]) -> Expr | None:
    common = common_type([arg.type for arg in args]) if args else NullType()
    if common is None:
        return None
    values = tuple(cast(arg, common) for arg in args)
    return Call("ARRAY", values, ArrayType(common, is_nullable=False))


def _map_rewrite(args: tuple[Expr, ...]) -> Expr | None:
    if len(args) % 2:
        return None
    keys = common_type([arg.type for arg in args[::2]]) if args else NullType()
    values = common_type([arg.type for arg in args[1::2]]) if args else NullType()
    if keys is None or values is None:
        return None
    pairs = tuple(cast(arg, values if i % 2 else keys) for i, arg in enumerate(args))
    return Call("MAP", pairs, MapType(keys, values, is_nullable=False))


def _row_result(args: tuple[Expr, ...]) -> LogicalType:
    fields = (RowField(f"EXPR${i}", arg.type) for i, arg in enumerate(args))
    return RowType(tuple(fields), is_nullable=False)


def _item_result(args: tuple[Expr, ...]) -> LogicalType | None:
    holder, key = args[0].type, args[1].type
    if isinstance(holder, ArrayType | MultisetType):
        return holder.element.nullable() if isinstance(key, IntegralType) else None
    if isinstance(holder, MapType):
        return holder.value.nullable() if can_cast_implicitly(key, holder.key) else None
    if isinstance(holder, VariantType):
        return VariantType() if isinstance(key, CharacterType | IntegralType) else None
    if isinstance(holder, RowType) and isinstance(args[1], Literal):
        index = _field_index(holder, args[1].value)
        return None if index is None else holder.fields[index].type.nullable()
    return None


def _field_index(row: RowType, key: object) -> int | None:
    if isinstance(key, int):
        return key - 1 if 1 <= key <= len(row.fields) else None
    return row.index(str(key))


def _item_code(call: Call, emitter: Emitter) -> str:
    holder = call.args[0].type
    if isinstance(holder, ArrayType):
        return "@arrays.item($0, $1)"
    if isinstance(holder, VariantType):
        return "@json_texts.variant_item($0, $1)"
    if isinstance(holder, RowType):
        assert isinstance(call.args[1], Literal)
        return f"$0[{_field_index(holder, call.args[1].value)}]"
    return "$0.get($1)"


def _needle(args: tuple[Expr, ...]) -> tuple[Expr, Expr] | None:
    """Return array and element with a type in common; the array keeps its own if it can."""
    if len(args) != 2 or not isinstance(args[0].type, ArrayType):
        return None
    array, value = args
    element = _element(array.type)
    if can_cast_implicitly(value.type, element):
        return array, cast(value, element)
    common = common_type([element, value.type])
    return None if common is None else (cast(array, ArrayType(common)), cast(value, common))


def _search(name: str, result: LogicalType, strict: bool) -> Callable[..., Expr | None]:
    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        pair = _needle(args)
        if pair is None:
            return None
        looked_at = pair if strict else pair[:1]
        nullable = any(arg.type.is_nullable for arg in looked_at)
        return Call(name, pair, result.with_nullability(nullable))

    return rewrite


def _extended(name: str) -> Callable[[tuple[Expr, ...]], Expr | None]:
    """Return the rule of functions that put an element, which may be NULL, into an array."""

    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        if len(args) != 2 or not isinstance(args[0].type, ArrayType):
            return None
        common = common_type([_element(args[0].type), args[1].type])
        if common is None:
            return None
        array = cast(args[0], ArrayType(common))
        result = ArrayType(common).with_nullability(any(arg.type.is_nullable for arg in args))
        return Call(name, (array, cast(args[1], common)), result)

    return rewrite


def _removed(args: tuple[Expr, ...]) -> Expr | None:
    pair = _needle(args)
    return None if pair is None else Call("ARRAY_REMOVE", pair, pair[0].type)


def _same(args: tuple[Expr, ...]) -> LogicalType:
    return args[0].type


def _least_element(args: tuple[Expr, ...]) -> LogicalType:
    return _element(args[0].type).nullable()


def _only_element(args: tuple[Expr, ...]) -> LogicalType:
    inner = _element(args[0].type)
    return inner.with_nullability(inner.is_nullable or args[0].type.is_nullable)


def _keys(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    return ArrayType(t.key) if isinstance(t, MapType) else None


def _values(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    return ArrayType(t.value) if isinstance(t, MapType) else None


def _entries(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    if not isinstance(t, MapType):
        return None
    return ArrayType(RowType.of(("key", t.key), ("value", t.value)))


def _from_arrays(args: tuple[Expr, ...]) -> LogicalType:
    return MapType(_element(args[0].type), _element(args[1].type))


def _joined(args: tuple[Expr, ...]) -> LogicalType | None:
    return STRING if isinstance(_element(args[0].type), CharacterType) else None


def _lib(name: str) -> str:
    return f"@arrays.{name}($*)"


_SIZED = ("array", "map", "multiset")

FUNCTIONS: list[Function | Rewrite] = [
    scalar(
        "ARRAY", "T...", _same, "[$*]", "An array of values.", nulls="own", rewrite=_array_rewrite
    ),
    scalar(
        "MAP",
        "any...",
        _same,
        "@arrays.map_of($*)",
        "A map of keys and values.",
        nulls="own",
        rewrite=_map_rewrite,
    ),
    scalar(
        "ROW",
        "any...",
        _row_result,
        lambda call, emitter: "($*,)" if call.args else "()",
        "A row of values.",
        nulls="own",
    ),
    scalar(
        "ITEM",
        "any, any",
        _item_result,
        _item_code,
        "An element by index or key.",
        nulls="maybe",
        aliases=("AT",),
    ),
    scalar("CARDINALITY", _SIZED, INT, "len($0)", "How many elements there are."),
    scalar(
        "ELEMENT",
        ("array", "multiset"),
        _only_element,
        "@arrays.element($0)",
        "The only element.",
        nulls="own",
    ),
    scalar(
        "ARRAY_APPEND",
        "array, any",
        _same,
        _lib("append"),
        "With one more at the end.",
        nulls="own",
        rewrite=_extended("ARRAY_APPEND"),
    ),
    scalar(
        "ARRAY_PREPEND",
        "array, any",
        _same,
        _lib("prepend"),
        "With one more in front.",
        nulls="own",
        rewrite=_extended("ARRAY_PREPEND"),
    ),
    scalar(
        "ARRAY_CONTAINS",
        "array, any",
        BOOLEAN,
        _lib("contains"),
        "Whether it is there.",
        nulls="own",
        rewrite=_search("ARRAY_CONTAINS", BOOLEAN, False),
    ),
    scalar(
        "ARRAY_POSITION",
        "array, any",
        INT,
        _lib("position"),
        "Where it is; or 0.",
        rewrite=_search("ARRAY_POSITION", INT, True),
    ),
    scalar(
        "ARRAY_REMOVE",
        "array, any",
        _same,
        _lib("remove"),
        "Without such elements.",
        nulls="own",
        rewrite=_removed,
    ),
    scalar("ARRAY_DISTINCT", "array", _same, _lib("distinct"), "Each element once."),
    scalar("ARRAY_REVERSE", "array", _same, "$0[::-1]", "Backwards."),
    scalar("ARRAY_SLICE", "array, int [, int]", _same, _lib("slice_"), "A part of an array."),
    scalar("ARRAY_SORT", "array [, boolean] [, boolean]", _same, _lib("sort"), "In order."),
    scalar("ARRAY_UNION", "T, T", _same, _lib("union"), "What is in either array."),
    scalar("ARRAY_INTERSECT", "T, T", _same, _lib("intersect"), "What is in both arrays."),
    scalar("ARRAY_EXCEPT", "T, T", _same, _lib("except_"), "What is in the first only."),
    scalar("ARRAY_CONCAT", "T, T...", _same, _lib("concat"), "One after the other."),
    scalar(
        "ARRAY_MAX",
        "array",
        _least_element,
        _lib("greatest"),
        "The greatest element.",
        nulls="maybe",
    ),
    scalar(
        "ARRAY_MIN", "array", _least_element, _lib("least"), "The least element.", nulls="maybe"
    ),
    scalar("ARRAY_JOIN", "array, string [, string]", _joined, _lib("join"), "Texts, joined."),
    scalar("MAP_KEYS", "map", _keys, "list($0)", "The keys."),
    scalar("MAP_VALUES", "map", _values, "list($0.values())", "The values."),
    scalar("MAP_ENTRIES", "map", _entries, "list($0.items())", "Keys and values as rows."),
    scalar("MAP_UNION", "T, T...", _same, _lib("map_union"), "All entries; later maps win."),
    scalar(
        "MAP_FROM_ARRAYS",
        "array, array",
        _from_arrays,
        _lib("map_from_arrays"),
        "A map of two arrays.",
    ),
]
