"""Expressions as the texts of Flink's older Table API: `'a.count as 'n`, `ch = 'appstore'`.

Scala's symbols (`'a`) and plain names mean columns; calls are written behind a dot (`ts.rowtime`,
`amount.sum`), names with `as`. A text that is SQL is read as SQL.

>>> [str(e) for e in parse_expressions("'id, 'amount.sum as 'total, ts.rowtime")]
['id', 'SUM(amount) AS total', 'rowtime(ts)']
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from penstock.errors import ProgramError
from penstock.table.expression import Expression
from penstock.table.expression_tree import literal
from penstock.table.sql.parser import parse_expression

_SYMBOL = re.compile(r"'([A-Za-z_]\w*)(?!\w*')")
_SUFFIX = re.compile(r"^(?P<operand>.+)\.(?P<name>[A-Za-z]\w*)(?:\((?P<args>.*)\))?$", re.DOTALL)
_AS = re.compile(r"^(?P<inner>.+?)\s+as\s+\(?(?P<names>[\w`',\s]+?)\)?$", re.IGNORECASE | re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
#: Scala's names that are not the snake case of Python's.
_NAMES = {"not_equal": "__ne__", "sum_0": "sum0", "lower": "lower_case", "upper": "upper_case"}


def parse_expressions(text: str) -> list[Expression[Any]]:
    """Return the expressions of a text, parted by commas."""
    return [classic_expression(part) for part in split_top(text) if part.strip()]


def split_top(text: str, mark: str = ",") -> list[str]:
    """Cut a text at the marks that stand outside parentheses and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in '"`' or (character == "'" and _closes(text, position)):
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == mark and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _closes(text: str, position: int) -> bool:
    """Return whether a quote begins a text and not one of Scala's symbols."""
    return _SYMBOL.match(text, position) is None


def classic_expression(text: str) -> Expression[Any]:
    """Return the expression of a text, in the older form or in SQL.

    :raises ProgramError: if it is neither.
    """
    body = text.strip()
    named = _AS.match(body)
    if named is not None and not _inside_call(named["inner"]):
        names = [name.strip().strip("'`") for name in named["names"].split(",")]
        return classic_expression(named["inner"]).alias(*names)
    plain = _SYMBOL.sub(lambda m: f"`{m[1]}`", body)
    found = _suffixed(plain)
    if found is not None:
        return found
    if body.isdigit():
        return Expression(literal(int(body)))
    sql = plain
    if re.search(r"===|!==|&&", plain):
        # Scala's operators; only beside them || means OR.
        for scala, word in (("!==", "<>"), ("===", "="), ("&&", " AND "), ("||", " OR ")):
            sql = sql.replace(scala, word)
    return Expression(parse_expression(sql))


def _inside_call(text: str) -> bool:
    return text.count("(") > text.count(")")


def _suffixed(text: str) -> Expression[Any] | None:
    """Return `operand.method(args)`, or None if the text is not of that form."""
    match = _SUFFIX.match(text)
    if match is None or not _is_operand(match["operand"]):
        return None
    name = _CAMEL.sub(r"_\1", match["name"]).lower()
    name = _NAMES.get(name, name)
    operand = classic_expression(match["operand"])
    member = getattr(type(operand), name, None)
    if member is None:
        if match["args"] is None:
            # A field of a row, or a table's column.
            return Expression(
                exp.Dot(this=operand.tree.copy(), expression=exp.to_identifier(match["name"]))
            )
        raise ProgramError(
            f"an expression has no method {match['name']}",
            got=text,
            todo="use a method of penstock.table.Expression",
        )
    if isinstance(member, property):
        return getattr(operand, name)
    args = [classic_expression(part) for part in split_top(match["args"] or "") if part.strip()]
    return getattr(operand, name)(*args)


def _is_operand(text: str) -> bool:
    """Return whether a text is one operand: a name, a number, a call, or in parentheses."""
    if text.count("(") != text.count(")") or (
        re.fullmatch(r"-?\d+", text) is None and text.isdigit()
    ):
        return False
    outside = re.sub(r"\([^()]*\)", "", text)
    while "(" in outside:
        shorter = re.sub(r"\([^()]*\)", "", outside)
        if shorter == outside:
            return False
        outside = shorter
    return re.fullmatch(r"[\w`.]*", outside.strip()) is not None and text[-1:] != "."
