"""What statements are made of: names, texts, options, expressions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from penstock.table.sql import statements as st
from penstock.table.sql.dialect import FlinkParser


class StatementParts(FlinkParser):
    """Parse the parts that statements share."""

    def words(self, *texts: str) -> bool:
        """Take these words if they follow."""
        return bool(self._match_text_seq(*" ".join(texts).split()))

    def need(self, *texts: str) -> None:
        """Take these words, which must follow."""
        if not self.words(*texts):
            self.raise_error(f"Expected {' '.join(texts)}")

    def name(self) -> st.Name:
        """Parse `a.b.c`."""
        parts = [self.identifier()]
        while self._match(TokenType.DOT):
            parts.append(self.identifier())
        return tuple(parts)

    def identifier(self) -> str:
        """Parse one name."""
        token = self._curr
        if not token or token.token_type in (
            TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.SEMICOLON,
            TokenType.STRING, TokenType.NUMBER, TokenType.EQ,
        ):  # fmt: skip
            self.raise_error("Expected a name")
        self._advance()
        return token.text

    def string(self) -> str:
        """Parse a text in quotes."""
        if not self._match(TokenType.STRING):
            self.raise_error("Expected a string in single quotes")
        return self._prev.text

    def options(self) -> dict[str, str]:
        """Parse `('key' = 'value', ...)`."""
        found: dict[str, str] = {}
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expected (")
        while not self._match(TokenType.R_PAREN):
            key = self.string()
            if not self._match(TokenType.EQ):
                self.raise_error("Expected =")
            found[key] = self.string()
            if not self._match(TokenType.COMMA) and self._curr.token_type != TokenType.R_PAREN:
                self.raise_error("Expected , or )")
        return found

    def names(self) -> tuple[str, ...]:
        """Parse `(a, b)`."""
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expected (")
        found = [self.identifier()]
        while self._match(TokenType.COMMA):
            found.append(self.identifier())
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expected , or )")
        return tuple(found)

    def expression_with_text(self) -> tuple[Any, str]:
        """Parse an expression; return its tree and how it is written."""
        start = self._curr
        tree = self._parse_disjunction()
        if tree is None:
            self.raise_error("Expected an expression")
        return tree, self._find_sql(start, self._prev)

    def query(self) -> st.Query:
        """Parse a query."""
        start = self._curr
        tree = self._parse_statement()
        if not isinstance(tree, (exp.Query, exp.Values, exp.Table)):
            self.raise_error("Expected a query", start)
        return st.Query(tree, self._find_sql(start, self._prev))
