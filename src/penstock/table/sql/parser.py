"""From SQL text to statements and trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot.errors import ErrorLevel, ParseError, TokenError

from penstock.errors import SqlParseError
from penstock.table.sql.ddl import StatementParser
from penstock.table.sql.dialect import Flink
from penstock.table.sql.statements import Statement

_T = TypeVar("_T")
_DIALECT = Flink()


def parse_statements(sql: str) -> list[Statement]:
    """Return the statements of a script, parted by semicolons.

    :raises SqlParseError: with line, column and the place underlined.
    """
    return _parse(sql, lambda parser, tokens: parser.parse_all(tokens, sql))


def parse_statement(sql: str) -> Statement:
    """Return the one statement of a text.

    :raises SqlParseError: if it is none, or more than one.
    """
    found = parse_statements(sql)
    if len(found) != 1:
        raise SqlParseError(
            "one statement is expected",
            got=f"{len(found)} statements",
            todo="pass one statement at a time",
        )
    return found[0]


def parse_expression(text: str) -> Any:
    """Return the tree of a scalar expression."""

    def run(parser: StatementParser, tokens: list[Any]) -> Any:
        parser.reset()
        parser.sql = text
        parser._tokens = tokens
        parser._tokens_size = len(tokens)
        parser._index = -1
        parser._advance()
        tree = parser._parse_alias(parser._parse_disjunction())
        if tree is None or parser._curr:
            parser.raise_error("Invalid expression / Unexpected token")
        return tree

    return _parse(text, run)


def _parse(sql: str, run: Callable[[StatementParser, list[Any]], _T]) -> _T:
    try:
        tokens = _DIALECT.tokenize(sql)
        parser = StatementParser(dialect=_DIALECT, error_level=ErrorLevel.IMMEDIATE)
        return run(parser, tokens)
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        what = str(detail.get("description") or error)
        if (missing := _MISSING.match(what)) is not None:
            what = f"Something is missing here: {missing[1]} is not complete"
        raise _located(sql, what, detail.get("line"), detail.get("col"), detail) from None
    except TokenError as error:
        raise SqlParseError("the text is no SQL", got=str(error).splitlines()[0]) from None


#: How sqlglot tells that a part of an expression is not there.
_MISSING = re.compile(r"Required keyword: '.*' missing for <class '.*\.(\w+)'>")


def _located(sql: str, what: str, line: Any, column: Any, detail: Any) -> SqlParseError:
    if not line:
        return SqlParseError(what)
    lines = sql.splitlines() or [""]
    number = min(int(line), len(lines))
    text = lines[number - 1]
    found = str(detail.get("highlight") or "")
    # sqlglot counts a token's last character.
    start = max(int(column) - len(found), 0) if found else max(int(column) - 1, 0)
    marker = " " * start + "^" * max(len(found), 1)
    return SqlParseError(
        what[:1].lower() + what[1:],
        where=f"line {number}, column {start + 1}",
        got=f"{text}\n{marker}",
        todo="correct the statement there",
    )
