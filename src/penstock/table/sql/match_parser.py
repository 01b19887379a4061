"""MATCH_RECOGNIZE as sqlglot's parser takes it, with Flink's WITHIN and the pattern in parts."""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot import exp, parser
from sqlglot.tokens import TokenType

_PART = re.compile(r"\s*(`[^`]+`|\w+)\s*(\*|\+|\?|\{\s*\d*\s*(?:,\s*\d*\s*)?\})?\s*(\?)?")


class PatternPart(exp.Expression):
    """A variable of a pattern: its name, the fewest and the most rows, and if it is reluctant."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True, "least": True, "most": False, "reluctant": False,
    }  # fmt: skip


class Definition(exp.Expression):
    """`variable AS condition`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class MatchClause(exp.Expression):
    """The whole of MATCH_RECOGNIZE."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True, "partition_by": False, "order": False, "measures": False, "all_rows": False,
        "skip": False, "skip_to": False, "pattern": True, "within": False, "define": False,
        "alias": False,
    }  # fmt: skip


class MatchParser(parser.Parser):
    """Parse MATCH_RECOGNIZE (...) behind a table."""

    def _parse_match_recognize(self) -> exp.Expr | None:
        if not self._match(TokenType.MATCH_RECOGNIZE):
            return None
        token = self._prev
        self._match_l_paren()
        partition = self._parse_partition_by()
        order = self._parse_order()
        measures = []
        if self._match_text_seq("MEASURES"):
            measures = self._parse_csv(self._parse_measure)
        all_rows = self._match_text_seq("ALL", "ROWS", "PER", "MATCH")
        if not all_rows:
            self._match_text_seq("ONE", "ROW", "PER", "MATCH")
        skip, skip_to = self._parse_skip()
        if not self._match_text_seq("PATTERN"):
            self.raise_error("Expected PATTERN")
        pattern = self._parse_pattern()
        within = self._parse_interval() if self._match_text_seq("WITHIN") else None
        if not self._match_text_seq("DEFINE"):
            self.raise_error("Expected DEFINE")
        define = self._parse_csv(self._parse_definition)
        self._match_r_paren()
        clause = MatchClause(
            this=token.text, partition_by=partition, order=order, measures=measures,
            all_rows=bool(all_rows), skip=skip, skip_to=skip_to, pattern=pattern,
            within=within, define=define, alias=self._parse_table_alias(),
        )  # fmt: skip
        return self.expression(clause).update_positions(token)

    def _parse_measure(self) -> exp.Expr | None:
        if not self._match_text_seq("FINAL"):
            self._match_text_seq("RUNNING")
        measure = self._parse_expression()
        if not isinstance(measure, exp.Alias):
            self.raise_error("Expected AS and a name behind a measure")
        return measure

    def _parse_skip(self) -> tuple[str | None, str | None]:
        if not self._match_text_seq("AFTER", "MATCH", "SKIP"):
            return None, None
        if self._match_text_seq("PAST", "LAST", "ROW"):
            return "PAST LAST ROW", None
        if self._match_text_seq("TO", "NEXT", "ROW"):
            return "NEXT ROW", None
        if not self._match_text_seq("TO"):
            self.raise_error("Expected PAST LAST ROW or TO behind AFTER MATCH SKIP")
        # As in standard SQL, a variable alone means its last row.
        which = "FIRST" if self._match_text_seq("FIRST") else "LAST"
        if which == "LAST":
            self._match_text_seq("LAST")
        name = self._parse_id_var()
        if name is None:
            self.raise_error("Expected a variable behind AFTER MATCH SKIP TO")
        return which, name.name if name is not None else None

    def _parse_pattern(self) -> list[PatternPart]:
        self._match_l_paren()
        start, depth = self._curr, 0
        while self._curr:
            kind = self._curr.token_type
            if kind is TokenType.R_PAREN and depth == 0:
                break
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            self._advance()
        if not self._curr or self._curr is start:
            self.raise_error("Expected variables of a pattern")
        text = self._find_sql(start, self._prev)
        self._match_r_paren()
        parts, place = [], 0
        while place < len(text):
            found = _PART.match(text, place)
            if found is None:
                self.raise_error(
                    "Groups, alternatives, PERMUTE and exclusions are not supported in a PATTERN. "
                    "Expected variables with quantifiers", start,
                )  # fmt: skip
                break
            parts.append(_part(found).update_positions(start))
            place = found.end()
        return parts

    def _parse_definition(self) -> exp.Expr | None:
        name = self._parse_id_var()
        if name is None or not self._match(TokenType.ALIAS):
            self.raise_error("Expected a variable and AS behind DEFINE")
        return self.expression(Definition(this=name, expression=self._parse_disjunction()))


def _part(found: re.Match[str]) -> PatternPart:
    name, quantifier, reluctant = found[1].strip("`"), found[2], found[3]
    least, most = 1, 1
    if quantifier in ("*", "+", "?"):
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[quantifier]  # type: ignore[assignment]
    elif quantifier:
        low, comma, high = quantifier.strip("{}").partition(",")
        least = int(low) if low.strip() else 0
        most = least if not comma else int(high) if high.strip() else None  # type: ignore[assignment]
    return PatternPart(this=name, least=least, most=most, reluctant=bool(reluctant))
