"""The terminal of `penstock sql`: several lines, colours, completion, history."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.lexers import Lexer
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from penstock.errors import PenstockError
from penstock.table import TableEnvironment
from penstock.table.described import described
from penstock.table.sql.dialect import Flink
from penstock.table.sql.script import split_script

_DIALECT = Flink()
_COMMANDS = ("QUIT", "EXIT", "HELP", "CLEAR")
_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "JOIN", "LEFT JOIN", "ON", "AS",
    "INSERT INTO", "CREATE TABLE", "CREATE VIEW", "DROP TABLE", "DROP VIEW", "SHOW TABLES",
    "DESCRIBE", "EXPLAIN", "SET", "RESET", "USE", "WITH", "LIMIT", "UNION ALL", "TUMBLE", "HOP",
    "CUMULATE", "SESSION", "MATCH_RECOGNIZE", "WATERMARK FOR", "PARTITION BY", "DISTINCT",
)  # fmt: skip


def make_reader(t_env: TableEnvironment, prompt: str) -> Callable[[], str]:
    """Return what reads the next statements from the terminal."""
    history = Path(os.path.expanduser("~/.penstock-sql-history"))
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)), lexer=SqlLexer(), completer=SqlCompleter(t_env),
        complete_while_typing=False, prompt_continuation="> ",
    )  # fmt: skip
    goes_on = Condition(lambda: not is_complete(session.default_buffer.text))
    session.multiline = goes_on
    return lambda: session.prompt(prompt)


def is_complete(text: str) -> bool:
    """Tell whether the return key ends the input: all statements have their semicolon."""
    word = text.strip().upper()
    if not word or word in _COMMANDS:
        return True
    statements, rest = split_script(text)
    return bool(statements) and not rest


class SqlLexer(Lexer):
    """Colours by sqlglot's tokens."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = document.lines

        def line(number: int) -> StyleAndTextTuples:
            return styled(lines[number])

        return line


def styled(text: str) -> StyleAndTextTuples:
    """Return a line in parts with their styles."""
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError:
        return [("", text)]
    parts: StyleAndTextTuples = []
    place = 0
    for token in tokens:
        if token.start > place:
            parts.append(("ansigray", text[place : token.start]))
        parts.append((_style(token), text[token.start : token.end + 1]))
        place = token.end + 1
    if place < len(text):
        parts.append(("ansigray", text[place:]))
    return parts


def _style(token: Token) -> str:
    if token.token_type is TokenType.STRING:
        return "ansigreen"
    if token.token_type is TokenType.NUMBER:
        return "ansimagenta"
    if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        return ""
    return "bold ansiblue" if token.text[:1].isalpha() else ""


class SqlCompleter(Completer):
    """Offers keywords, tables, and columns: of the tables that the text names, else of all."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env

    def get_completions(self, document: Document, complete_event: object) -> Iterable[Completion]:
        word = document.get_word_before_cursor()
        for name in self.names(document.text):
            if name.lower().startswith(word.lower()):
                yield Completion(name, start_position=-len(word))

    def names(self, text: str) -> list[str]:
        """Return all that may be meant in a text."""
        try:
            tables = [*self._t_env.list_tables(), *self._t_env.list_views()]
        except PenstockError:
            tables = []
        # SELECT is written before FROM: until then the columns of all tables may be meant.
        named = [table for table in dict.fromkeys(tables) if table in text] or tables
        columns: dict[str, None] = {}
        for table in named:
            try:
                # The connector is not asked: it may be slow, or away.
                names = described(self._t_env, (table,)).get_column_names()
            except PenstockError:
                continue
            columns.update(dict.fromkeys(names))
        return [*columns, *dict.fromkeys(tables), *_WORDS, *_COMMANDS]
