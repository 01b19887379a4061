"""Scripts of SQL: which characters belong to which statement."""

from __future__ import annotations

from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from penstock.table.sql.dialect import Flink

_DIALECT = Flink()
_SETS = (["EXECUTE", "STATEMENT", "SET"], ["BEGIN", "STATEMENT", "SET"])


def split_script(text: str) -> tuple[list[str], str]:
    """Return the statements that semicolons end, and what stands behind the last of them.

    Semicolons in texts, comments and statement sets end nothing.

    >>> split_script("SHOW TABLES; SELECT ';' -- a; b")
    (['SHOW TABLES'], "SELECT ';' -- a; b")
    """
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError:
        # A text or a comment that has not ended yet.
        return [], text.strip()
    statements: list[str] = []
    words: list[str] = []
    start = 0
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            words.append(token.text.upper())
            continue
        if words[:3] in _SETS and words[-1] != "END":
            continue
        # The token tells where it ends: comments stand in front of it.
        end = token.end
        if words:
            statements.append(text[start:end].strip())
        words, start = [], end + 1
    rest = text[start:].strip()
    return statements, rest if words else ""
