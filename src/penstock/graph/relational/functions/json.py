"""JSON functions. What follows their arguments (`RETURNING INT NULL ON EMPTY`) is one symbol."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.graph.relational.expressions import Call, Expr, Literal
from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    SYMBOL,
    ArrayType,
    BooleanType,
    DoubleType,
    IntegralType,
    LogicalType,
    MapType,
    RowType,
    VariantType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter

_RETURNS: dict[str, LogicalType] = {
    "STRING": STRING, "VARCHAR": STRING, "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT,
    "DOUBLE": DOUBLE, "ARRAY<STRING>": ArrayType(STRING),
}  # fmt: skip
_RETURNING = re.compile(r"RETURNING\s+(\w+(?:\s*<[^>]*>)?)(?:\s*\([^)]*\))?")
_BEHAVIOUR = r"(NULL|ERROR|TRUE|FALSE|UNKNOWN|EMPTY ARRAY|EMPTY OBJECT|DEFAULT\s+(.*?))"


def _clause(args: tuple[Expr, ...]) -> str:
    last = args[-1] if args else None
    return str(last.value) if isinstance(last, Literal) and last.type == SYMBOL else ""


def _behaviour(clause: str, event: str) -> tuple[str, str | None]:
    """Return what is to happen ON EMPTY or ON ERROR, and the text of a default."""
    match = re.search(rf"{_BEHAVIOUR}\s+ON\s+{event}", clause)
    if match is None:
        return "NULL", None
    # An earlier ON EMPTY must not be taken for the beginning of a default.
    word = match[1].rpartition(" ON EMPTY ")[2]
    if word.startswith("DEFAULT"):
        return "DEFAULT", word.removeprefix("DEFAULT").strip()
    return word, None


def _returning(args: tuple[Expr, ...]) -> LogicalType | None:
    match = _RETURNING.search(_clause(args))
    return STRING if match is None else _RETURNS.get(match[1].replace(" ", "").upper())


def _default(text: str | None, t: LogicalType) -> Any:
    """Return the constant that a default's text is, in the type of the result."""
    if text is None or text.upper() == "NULL":
        return None
    value: Any = text
    if text.startswith("'"):
        value = text[1:-1].replace("''", "'")
    elif text.upper() in ("TRUE", "FALSE"):
        value = text.upper() == "TRUE"
    else:
        value = Decimal(text)
    if isinstance(t, BooleanType):
        return value if isinstance(value, bool) else str(value).lower() == "true"
    if isinstance(t, IntegralType):
        return int(value)
    if isinstance(t, DoubleType):
        return float(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value_code(call: Call, emitter: Emitter) -> str:
    clause = _clause(call.args)
    word = {BooleanType: "as_boolean", DoubleType: "as_double"}.get(type(call.type), "as_text")
    if isinstance(call.type, IntegralType):
        word = "as_integer"
    parts = []
    for event in ("EMPTY", "ERROR"):
        kind, default = _behaviour(clause, event)
        parts.append(f"({kind!r}, {_default(default, call.type)!r})")
    settings = ", ".join(emitter.hoist(part) for part in parts)
    return f"@json_texts.value($0, $1, @json_texts.{word}, {settings})"


def _query_code(call: Call, emitter: Emitter) -> str:
    clause = _clause(call.args)
    match = re.search(r"(WITHOUT|WITH)(?:\s+(CONDITIONAL|UNCONDITIONAL))?(?:\s+ARRAY)?\s+WRAPPER",
                      clause)  # fmt: skip
    wrapper = "WITHOUT"
    if match is not None and match[1] == "WITH":
        wrapper = match[2] or "UNCONDITIONAL"
    behaviours = [_behaviour(clause, event)[0] for event in ("EMPTY", "ERROR")]
    words = ", ".join(emitter.hoist(repr(word)) for word in (wrapper, *behaviours))
    return f"@json_texts.query($0, $1, {words}, {isinstance(call.type, ArrayType)})"


def _exists_code(call: Call, emitter: Emitter) -> str:
    match = re.search(r"(TRUE|FALSE|UNKNOWN|ERROR)\s+ON\s+ERROR", _clause(call.args))
    on_error = emitter.hoist(repr(match[1] if match else "FALSE"))
    return f"@json_texts.exists($0, $1, {on_error})"


def shape_of(t: LogicalType) -> Any:
    """Return how values of a type are written as JSON (`core.sql.json_texts.Shape`)."""
    if isinstance(t, RowType):
        return ("row", tuple(t.names()), tuple(shape_of(inner) for inner in t.children()))
    if isinstance(t, ArrayType):
        return ("array", shape_of(t.element))
    return ("map", shape_of(t.value)) if isinstance(t, MapType) else None


def _constructed(word: str) -> Callable[[Call, Emitter], str]:
    def code(call: Call, emitter: Emitter) -> str:
        clause = _clause(call.args)
        args = [arg for arg in call.args if arg.type != SYMBOL]
        absent = "ABSENT" in clause or (word == "array" and "NULL ON NULL" not in clause)
        values = args[1::2] if word == "object" else args
        shapes = emitter.hoist(repr(tuple(shape_of(arg.type) for arg in values)))
        codes = []
        for i, arg in enumerate(call.args):
            if arg.type == SYMBOL:
                continue
            raw = isinstance(arg, Call) and arg.function in ("JSON_OBJECT", "JSON_ARRAY", "JSON")
            codes.append(f"@json_texts.raw(${i})" if raw else f"${i}")
        return f"@json_texts.{word}_text({', '.join([str(absent), shapes, *codes])})"

    return code


def _string_code(call: Call, emitter: Emitter) -> str:
    shape = emitter.hoist(repr(shape_of(call.args[0].type)))
    return f"@json_texts.dump($0, {shape})"


def _is_json(kind: str, negated: bool) -> Function:
    suffix = "" if kind == "VALUE" else f" {kind}"
    name = f"IS NOT JSON{suffix}" if negated else f"IS JSON{suffix}"
    code = f"@json_texts.is_json($0, {kind!r})"
    aliases = () if suffix else (f"{name} VALUE",)
    return scalar(
        name, "string", BOOLEAN, f"not {code}" if negated else code, f"Whether it is {kind}.",
        aliases=aliases,
        nulls="never",
    )  # fmt: skip


FUNCTIONS: list[Function | Rewrite] = [
    *(
        _is_json(kind, no)
        for kind in ("VALUE", "SCALAR", "ARRAY", "OBJECT")
        for no in (False, True)
    ),
    scalar(
        "JSON_EXISTS",
        "string, string [, symbol]",
        BOOLEAN,
        _exists_code,
        "Whether a path finds something.",
        nulls="maybe",
    ),
    scalar(
        "JSON_VALUE",
        "string, string [, symbol]",
        _returning,
        _value_code,
        "The scalar that a path finds.",
        nulls="maybe",
    ),
    scalar(
        "JSON_QUERY",
        "string, string [, symbol]",
        _returning,
        _query_code,
        "The JSON that a path finds.",
        nulls="maybe",
    ),
    scalar("JSON_STRING", "any", STRING, _string_code, "A value as JSON."),
    scalar(
        "JSON_OBJECT",
        "any...",
        STRING.not_null(),
        _constructed("object"),
        "A JSON object.",
        nulls="never",
    ),
    scalar(
        "JSON_ARRAY",
        "any...",
        STRING.not_null(),
        _constructed("array"),
        "A JSON array.",
        nulls="never",
    ),
    scalar(
        "JSON",
        "string",
        STRING,
        "@json_texts.checked($0)",
        "A text that is put into JSON as it is.",
    ),
    scalar(
        "PARSE_JSON",
        "string [, boolean]",
        VariantType(),
        "@json_texts.parse_variant($0)",
        "JSON as a VARIANT.",
    ),
    scalar(
        "TRY_PARSE_JSON",
        "string [, boolean]",
        VariantType(),
        "@json_texts.try_parse_variant($0)",
        "JSON as a VARIANT; NULL if it is not valid.",
        nulls="maybe",
    ),
]
