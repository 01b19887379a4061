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
from penstock.table.sql.underline import underlined

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
        raise _unreadable(sql, error) from None


def _unreadable(sql: str, error: TokenError) -> SqlParseError:
    """Return the error for a text that has no words: most often a quote is missing."""
    for quote, what in (("'", "a text"), ("`", "a name")):
        if sql.count(quote) % 2:
            before = sql[: sql.rindex(quote)]
            line, start = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
            return SqlParseError(
                f"{what} begins here and does not end",
                where=f"line {line}, column {start + 1}",
                got=underlined(sql.splitlines()[line - 1], start, 1),
                todo=f"write {quote} at its end; inside of it, a {quote} is written twice",
            )
    return SqlParseError("the text is no SQL", got=str(error).splitlines()[0])


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
    return SqlParseError(
        what[:1].lower() + what[1:],
        where=f"line {number}, column {start + 1}",
        got=underlined(text, start, len(found)),
        todo="correct the statement there",
    )
