"""String functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.graph.relational.expressions import Call, Expr
from penstock.graph.relational.functions.function import Function, Rewrite, of_arg, scalar
from penstock.graph.relational.type_rules import common_type
from penstock.graph.relational.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    INT,
    MAX_LENGTH,
    STRING,
    ArrayType,
    BinaryStringType,
    CharacterType,
    CharType,
    LogicalType,
    MapType,
    VarBinaryType,
    VarCharType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter


def _joined(args: tuple[Expr, ...]) -> LogicalType | None:
    """Return the type of `a || b`: lengths add up, and stay fixed if both are."""
    left, right = args[0].type, args[1].type
    fixed, varying = CharType, VarCharType
    if isinstance(left, BinaryStringType) and isinstance(right, BinaryStringType):
        return VarBinaryType(min(left.length + right.length, MAX_LENGTH))
    if not isinstance(left, CharacterType) or not isinstance(right, CharacterType):
        return None
    kind = fixed if isinstance(left, CharType) and isinstance(right, CharType) else varying
    return kind(min(left.length + right.length, MAX_LENGTH))


def _trimmed(args: tuple[Expr, ...]) -> LogicalType | None:
    text = args[2].type
    return VarCharType(text.length) if isinstance(text, CharacterType) else None


def _part(args: tuple[Expr, ...]) -> LogicalType:
    text = args[0].type
    if isinstance(text, BinaryStringType):
        return VarBinaryType(text.length)
    return VarCharType(text.length) if isinstance(text, CharacterType) else STRING


def _strip(word: str) -> Callable[[Call, Emitter], str]:
    return lambda call, emitter: f"$0.{word}({'$1' if len(call.args) == 2 else repr(' ')})"


def _concat_code(call: Call, emitter: Emitter) -> str:
    return " + ".join(f"${i}" for i in range(len(call.args)))


def _concat_result(args: tuple[Expr, ...]) -> LogicalType:
    return STRING


def _joined_length(args: tuple[Expr, ...]) -> LogicalType:
    text, new = args[0].type, args[1].type
    if not isinstance(text, CharacterType) or not isinstance(new, CharacterType):
        return STRING
    return VarCharType(min(text.length + new.length, MAX_LENGTH))


def _translated(args: tuple[Expr, ...]) -> LogicalType:
    return STRING.with_nullability(args[0].type.is_nullable)


def _element(args: tuple[Expr, ...]) -> LogicalType | None:
    common = common_type([arg.type for arg in args[1:]])
    return None if common is None else common.nullable()


_TEXT = "string"
_TWO = "string, string"
_MAYBE = {"nulls": "maybe"}
_PART = ("string, int [, int]",)


def _lib(name: str) -> str:
    return f"@strings.{name}($*)"


def _re(name: str) -> str:
    return f"@patterns.{name}($*)"


FUNCTIONS: list[Function | Rewrite] = [
    scalar("||", ("string, string", "binary, binary"), _joined, "$0 + $1", "Concatenated."),
    scalar(
        "CHAR_LENGTH",
        _TEXT,
        INT,
        "len($0)",
        "The number of characters.",
        aliases=("CHARACTER_LENGTH", "LENGTH"),
    ),
    scalar("UPPER", _TEXT, of_arg(0), "$0.upper()", "In upper case.", aliases=("UCASE",)),
    scalar("LOWER", _TEXT, of_arg(0), "$0.lower()", "In lower case.", aliases=("LCASE",)),
    scalar("POSITION", "string, string [, int]", INT, _lib("index_of"), "Where it begins; or 0."),
    scalar(
        "PRINTF",
        "string, any...",
        STRING,
        _lib("printf"),
        "Written by a template of Java's.",
        nulls="own",
    ),
    scalar("TRIM", "symbol, string, string", _trimmed, _lib("trim"), "Without these characters."),
    scalar("LTRIM", "string [, string]", _part, _strip("lstrip"), "Without these in front."),
    scalar("RTRIM", "string [, string]", _part, _strip("rstrip"), "Without these at the end."),
    scalar("BTRIM", "string [, string]", STRING, _strip("strip"), "Without these at both ends."),
    scalar("REPEAT", "string, int", STRING, _lib("repeat"), "Some times over."),
    scalar(
        "REGEXP_REPLACE",
        "string, string, string",
        STRING,
        _re("replace"),
        "With all parts that fit replaced.",
        nulls="loose",
    ),
    scalar(
        "OVERLAY",
        "string, string, int [, int]",
        _joined_length,
        _lib("overlay"),
        "With a part replaced by a text.",
    ),
    scalar(
        "STARTSWITH", (_TWO, "binary, binary"), BOOLEAN, "$0.startswith($1)", "Whether it does."
    ),
    scalar("ENDSWITH", (_TWO, "binary, binary"), BOOLEAN, "$0.endswith($1)", "Whether it does."),
    scalar("SUBSTRING", _PART, _part, _lib("substring"), "A part of a text.", nulls="maybe"),
    scalar("SUBSTR", _PART, _part, _lib("substring"), "A part of a text.", **_MAYBE),
    scalar(
        "REPLACE",
        "string, string, string",
        STRING,
        "$0.replace($1, $2)",
        "With all occurrences replaced.",
    ),
    scalar("REGEXP_COUNT", _TWO, INT, _re("count"), "How many parts fit.", **_MAYBE),
    scalar(
        "REGEXP_EXTRACT",
        "string, string [, int]",
        STRING,
        _re("extract"),
        "A group of the first part that fits.",
        **_MAYBE,
    ),
    scalar(
        "REGEXP_EXTRACT_ALL",
        "string, string [, integral]",
        ArrayType(STRING),
        _re("extract_all"),
        "A group of all parts that fit.",
        **_MAYBE,
    ),
    scalar(
        "REGEXP_INSTR",
        _TWO,
        INT,
        _re("position"),
        "Where the first part that fits begins.",
        **_MAYBE,
    ),
    scalar("REGEXP_SUBSTR", _TWO, STRING, _re("substring"), "The first part that fits.", **_MAYBE),
    scalar(
        "TRANSLATE",
        "string, string, string",
        _translated,
        _lib("translate"),
        "With characters replaced by others.",
        nulls="own",
    ),
    scalar("INITCAP", _TEXT, of_arg(0), _lib("initcap"), "Each word with a capital."),
    scalar("CONCAT", "string, string...", _concat_result, _concat_code, "Concatenated."),
    scalar(
        "CONCAT_WS",
        "string, string, string...",
        STRING,
        _lib("concat_ws"),
        "Joined with a separator; NULLs are left out.",
        nulls="own",
    ),
    scalar(
        "LPAD", "string, int, string", STRING, _lib("lpad"), "Filled up on the left.", nulls="loose"
    ),
    scalar(
        "RPAD",
        "string, int, string",
        STRING,
        _lib("rpad"),
        "Filled up on the right.",
        nulls="loose",
    ),
    scalar("FROM_BASE64", _TEXT, STRING, _lib("from_base64"), "Decoded from base 64."),
    scalar("TO_BASE64", (_TEXT, "binary"), STRING, _lib("to_base64"), "Encoded in base 64."),
    scalar("ASCII", _TEXT, INT, _lib("ascii_code"), "The first byte as a number."),
    scalar("CHR", "bigint", STRING, _lib("chr_of"), "The character of a number.", nulls="maybe"),
    scalar("DECODE", "binary, string", STRING, _lib("decode"), "Bytes as text."),
    scalar("ENCODE", _TWO, BYTES, _lib("encode"), "Text as bytes."),
    scalar(
        "INSTR",
        "string, string [, int] [, int]",
        INT,
        "@strings.index_of($1, $0)",
        "Where the second text begins in the first; or 0.",
    ),
    scalar("LEFT", "string, int", _part, _lib("left"), "The first characters.", nulls="maybe"),
    scalar("RIGHT", "string, int", _part, _lib("right"), "The last characters.", nulls="maybe"),
    scalar(
        "LOCATE",
        "string, string [, int]",
        INT,
        _lib("index_of"),
        "Where the first text begins in the second; or 0.",
    ),
    scalar("URL_DECODE", "string", STRING, _lib("url_decode"), "Decoded as forms are.", **_MAYBE),
    scalar("URL_ENCODE", "string", STRING, _lib("url_encode"), "Encoded as forms are.", **_MAYBE),
    scalar(
        "PARSE_URL",
        "string, string [, string]",
        STRING,
        _lib("parse_url"),
        "A part of an address.",
        **_MAYBE,
    ),
    scalar("REGEXP", _TWO, BOOLEAN, _re("find"), "Whether some part fits."),
    scalar("REVERSE", _TEXT, STRING, "$0[::-1]", "Backwards.", nulls="maybe"),
    scalar(
        "SPLIT_INDEX",
        ("string, string, int", "string, int, int"),
        STRING,
        _lib("split_index"),
        "A piece by its number.",
        **_MAYBE,
    ),
    scalar(
        "STR_TO_MAP",
        "string [, string, string]",
        MapType(STRING, STRING),
        _lib("str_to_map"),
        "A map of texts such as a=1,b=2.",
        nulls="maybe",
    ),
    scalar("JSON_QUOTE", _TEXT, STRING, _lib("json_quote"), "As a JSON string."),
    scalar("JSON_UNQUOTE", _TEXT, STRING, _lib("json_unquote"), "From a JSON string."),
    scalar(
        "ELT",
        ("integral, string, string...", "integral, binary, binary..."),
        _element,
        _lib("elt"),
        "The argument of that number.",
        nulls="own",
    ),
    scalar("UNHEX", _TEXT, BYTES, _lib("unhex"), "Bytes from base 16.", **_MAYBE),
    scalar("SPLIT", _TWO, ArrayType(STRING), _lib("split"), "The pieces between delimiters."),
    scalar("IS_ALPHA", _TEXT, BOOLEAN, _lib("is_alpha"), "Whether all are letters.", nulls="never"),
    scalar("IS_DIGIT", _TEXT, BOOLEAN, _lib("is_digit"), "Whether all are digits.", nulls="never"),
    scalar(
        "IS_DECIMAL",
        _TEXT,
        BOOLEAN,
        "@casts.is_decimal($0)",
        "Whether it is a number.",
        nulls="never",
    ),
    scalar(
        "INET_ATON", _TEXT, BIGINT, "@addresses.aton($0)", "An IPv4 address as a number.", **_MAYBE
    ),
    scalar(
        "INET_NTOA",
        "bigint",
        STRING,
        "@addresses.ntoa($0)",
        "A number as an IPv4 address.",
        **_MAYBE,
    ),
]
