"""Flink's SQL for sqlglot: tokens, and the expressions and queries that other dialects lack.

sqlglot only parses. Function names stay as they are written: the binder looks them up in the
function catalog. Types are kept as text, since Flink's types are not sqlglot's.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.tokens import TokenType

from penstock.table.sql.match_parser import MatchParser

#: Functions that stand without parentheses.
_BARE_FUNCTIONS = (
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_ROW_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "CURRENT_DATABASE",
    "CURRENT_WATERMARK",
)
_TYPES_WITH_LITERALS = ("DATE", "TIME", "TIMESTAMP")


class FlinkTokenizer(tokens.Tokenizer):
    """Backquoted identifiers; strings in single quotes only."""

    IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]
    QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
    HEX_STRINGS: ClassVar[list[Any]] = [("x'", "'"), ("X'", "'")]
    STRING_ESCAPES: ClassVar[list[str]] = ["'"]
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        key: value
        for key, value in tokens.Tokenizer.KEYWORDS.items()
        if value not in (TokenType.COMMAND, TokenType.SHOW) and " " not in key
    } | {
        "GROUP BY": TokenType.GROUP_BY,
        "GROUPING SETS": TokenType.GROUPING_SETS,
        "SIMILAR TO": TokenType.SIMILAR_TO,
        "ORDER BY": TokenType.ORDER_BY,
        "PARTITION BY": TokenType.PARTITION_BY,
        "!=": TokenType.NEQ,
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
    }
    COMMANDS: ClassVar[set[TokenType]] = set()


class TypeText(exp.Expression):
    """A type as it is written; `literal` if a literal of it follows, as in DATE '2020-01-01'."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "literal": False}


class Descriptor(exp.Expression):
    """`DESCRIPTOR(column, ...)` in a call of a table function."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class TableArgument(exp.Expression):
    """`TABLE t [PARTITION BY ...] [ORDER BY ...]` in a call of a table function."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False, "order": False}


class JsonCall(exp.Expression):
    """A JSON function whose arguments are followed by clauses."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "clauses": False}


class FlinkParser(MatchParser):
    """Queries and expressions of Flink's SQL."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    # ARRAY[1, 2][1] is an element, not another array.
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"],
        **{name: lambda self, name=name: self._parse_bare(name) for name in _BARE_FUNCTIONS},
        "ARRAY": lambda self: self._parse_constructor("ARRAY"),
        "MAP": lambda self: self._parse_constructor("MAP"),
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CAST": lambda self: self._parse_cast_text("CAST"),
        "TRY_CAST": lambda self: self._parse_cast_text("TRY_CAST"),
        "EXTRACT": lambda self: self._parse_extract_call(),
        "TRIM": lambda self: self._parse_trim_call(),
        "POSITION": lambda self: self._parse_separated("POSITION", "IN"),
        "OVERLAY": lambda self: self._parse_separated("OVERLAY", "PLACING", "FROM", "FOR"),
        "SUBSTRING": lambda self: self._parse_separated("SUBSTRING", "FROM", "FOR"),
        "CEIL": lambda self: self._parse_separated("CEIL", "TO"),
        "FLOOR": lambda self: self._parse_separated("FLOOR", "TO"),
        "DESCRIPTOR": lambda self: self._parse_descriptor(),
        **{
            name: lambda self, name=name: self._parse_json_call(name)
            for name in ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_ARRAY",
                         "JSON_OBJECTAGG", "JSON_ARRAYAGG")
        },
    }  # fmt: skip
    FUNC_TOKENS: ClassVar[set[TokenType]] = parser.Parser.FUNC_TOKENS | {TokenType.SESSION}
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **{
            key: value
            for key, value in parser.Parser.RANGE_PARSERS.items()
            if key
            in (
                TokenType.BETWEEN,
                TokenType.IN,
                TokenType.IS,
                TokenType.LIKE,
                TokenType.SIMILAR_TO,
                TokenType.OVERLAPS,
            )
        },
    }
    VERSION_PHRASES: ClassVar[dict[tuple[str, ...], str]] = {("FOR", "SYSTEM_TIME"): "TIMESTAMP"}

    # ---- expressions ---------------------------------------------------------------------------

    def _call(self, name: str, arguments: list[Any]) -> exp.Anonymous:
        node = self.expression(exp.Anonymous(this=name, expressions=arguments))
        return node

    def _parse_bare(self, name: str) -> exp.Expr:
        arguments: list[Any] = []
        if self._match(TokenType.L_PAREN):
            if not self._match(TokenType.R_PAREN, advance=False):
                arguments = self._parse_csv(self._parse_disjunction)
            self._match_r_paren()
        return self._call(name, arguments)

    def _parse_constructor(self, name: str) -> exp.Expr:
        if self._match(TokenType.L_BRACKET):
            values = []
            if not self._match(TokenType.R_BRACKET, advance=False):
                values = self._parse_csv(self._parse_disjunction)
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected ]")
            return self._call(name, values)
        if self._match(TokenType.L_PAREN):
            # ARRAY(SELECT ...), MAP(SELECT ...)
            query = self._parse_select()
            self._match_r_paren()
            return self._call(f"{name}_QUERY", [query])
        self.raise_error(f"Expected [ after {name}")
        return self._call(name, [])

    def type_text(self) -> str:
        """Take the tokens of a type and return them as text."""
        start = self._curr
        depth = 0
        last = self._curr
        while self._curr:
            kind, text = self._curr.token_type, self._curr.text.upper()
            if kind in (TokenType.L_PAREN, TokenType.LT):
                depth += 1
            elif kind in (TokenType.R_PAREN, TokenType.GT):
                if depth == 0:
                    break
                depth -= 1
            elif text == ">>" and depth:
                depth -= 2
            elif depth == 0:
                if kind is TokenType.COMMA or kind is TokenType.STRING:
                    break
                if last is not self._curr and text not in _TYPE_WORDS:
                    break
            last = self._curr
            self._advance()
        if last is start and not start:
            self.raise_error("Expected a type")
        return self._find_sql(start, last)

    def _parse_cast_text(self, name: str) -> exp.Expr:
        this = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS after the value of a CAST")
        to = self.expression(TypeText(this=self.type_text()))
        maker = exp.Cast if name == "CAST" else exp.TryCast
        return self.expression(maker(this=this, to=to))

    def _parse_extract_call(self) -> exp.Expr:
        unit = self._curr.text.upper() if self._curr else ""
        self._advance()
        if not self._match(TokenType.FROM):
            self.raise_error("Expected FROM in EXTRACT")
        return self._call("EXTRACT", [exp.Var(this=unit), self._parse_disjunction()])

    def _parse_trim_call(self) -> exp.Expr:
        side = "BOTH"
        if self._match_texts(("BOTH", "LEADING", "TRAILING")):
            side = self._prev.text.upper()
        first = None if self._match(TokenType.FROM, advance=False) else self._parse_disjunction()
        arguments = [exp.Var(this=side)]
        if self._match(TokenType.FROM):
            arguments.append(first or exp.Literal.string(" "))
            arguments.append(self._parse_disjunction())
        else:
            arguments += [exp.Literal.string(" "), first]
        return self._call("TRIM", arguments)

    def _parse_separated(self, name: str, *words: str) -> exp.Expr:
        """Parse arguments that words part, as in SUBSTRING(s FROM 2 FOR 3); or commas."""
        arguments = [self._parse_bitwise() if name == "POSITION" else self._parse_disjunction()]
        if self._match(TokenType.COMMA):
            return self._call(name, arguments + self._parse_csv(self._parse_disjunction))
        for word in words:
            if self._match_text_seq(word):
                if word == "TO" and self._curr:
                    arguments.append(exp.Var(this=self._curr.text.upper()))
                    self._advance()
                else:
                    arguments.append(self._parse_disjunction())
        return self._call(name, arguments)

    def _parse_descriptor(self) -> exp.Expr:
        return self.expression(Descriptor(expressions=self._parse_csv(self._parse_id_var)))

    def _parse_json_call(self, name: str) -> exp.Expr:
        """Parse a JSON function; what follows its arguments is kept as words."""
        arguments: list[Any] = []
        clauses: list[str] = []
        while self._curr and not self._match(TokenType.R_PAREN, advance=False):
            if self._match(TokenType.COMMA):
                continue
            if self._match_text_seq("KEY"):
                arguments.append(self._parse_bitwise())
                self._match_text_seq("VALUE")
                arguments.append(self._parse_disjunction())
                continue
            if self._match_text_seq("VALUE") or self._match(TokenType.COLON):
                arguments.append(self._parse_disjunction())
                continue
            word = self._curr.text.upper()
            if word in _JSON_CLAUSES and self._is_clause(word):
                self._advance()
                if word == "RETURNING":
                    clauses += ["RETURNING", self.type_text()]
                elif word == "DEFAULT":
                    arguments_default = self._parse_bitwise()
                    clauses += ["DEFAULT", arguments_default.sql() if arguments_default else ""]
                else:
                    clauses.append(word)
                continue
            if clauses:
                clauses.append(word)
                self._advance()
                continue
            arguments.append(self._parse_bitwise() if name.startswith("JSON_OBJECT")
                             else self._parse_disjunction())  # fmt: skip
        return self.expression(JsonCall(this=name, expressions=arguments, clauses=clauses))

    def _is_clause(self, word: str) -> bool:
        if word in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            return bool(self._next) and self._next.text.upper() == "ON"
        return True

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """Take a type only where a literal of it begins: DATE '2020-01-01'."""
        if (
            self._curr
            and self._next
            and self._next.token_type is TokenType.STRING
            and self._curr.text.upper() in _TYPES_WITH_LITERALS
        ):
            text = self._curr.text.upper()
            self._advance()
            return self.expression(TypeText(this=text, literal=True))
        return None

    def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if not (
            self._curr
            and self._curr.text.upper() == "INTERVAL"
            and self._next
            and self._next.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.DASH)
        ):
            return None
        self._advance()
        negative = self._match(TokenType.DASH)
        text = ("-" if negative else "") + self._curr.text
        self._advance()
        unit = self._interval_unit()
        return self.expression(exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this=unit)))

    def _interval_unit(self) -> str:
        words = []
        while self._curr:
            words.append(self._curr.text.upper())
            self._advance()
            if self._match(TokenType.L_PAREN):
                while self._curr and not self._match(TokenType.R_PAREN):
                    self._advance()
            if not self._match_text_seq("TO"):
                break
            words.append("TO")
        return " ".join(words)

    # ---- tables --------------------------------------------------------------------------------

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        table = self._parse_table_source(*args, **kwargs)
        if table is not None and (match := self._parse_match_recognize()) is not None:
            table.set("match", match)
        return table

    def _parse_table_source(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._match_pair(TokenType.TABLE, TokenType.L_PAREN, advance=False):
            self._advance(2)
            call = self._parse_table_call()
            self._match_r_paren()
            return self._with_modifiers(exp.Table(this=call))
        if (
            self._curr
            and self._next
            and self._next.token_type is TokenType.L_PAREN
            and (
                self._curr.token_type in self.FUNC_TOKENS
                and self._curr.text.upper() not in ("UNNEST", "LATERAL", "VALUES")
            )
        ):
            return self._with_modifiers(exp.Table(this=self._parse_table_call()))
        return super()._parse_table(*args, **kwargs)

    def _with_modifiers(self, table: exp.Expr) -> exp.Expr:
        alias = self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS)
        if alias:
            table.set("alias", alias)
        return self.expression(table)

    def _parse_table_call(self) -> exp.Expr:
        token = self._curr
        name = token.text
        self._advance()
        while self._match(TokenType.DOT):
            name = f"{name}.{self._curr.text}"
            self._advance()
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expected ( after the name of a table function")
        arguments = []
        if not self._match(TokenType.R_PAREN, advance=False):
            arguments = self._parse_csv(self._parse_table_argument)
        self._match_r_paren()
        return self._call(name, arguments).update_positions(token)

    def _parse_table_argument(self) -> exp.Expr | None:
        name = None
        if self._curr and self._next and self._next.text in ("=>",):
            name = self._curr.text
            self._advance(2)
        if self._match(TokenType.TABLE):
            if self._match(TokenType.L_PAREN):
                source = self._parse_select()
                this: Any = self.expression(exp.Subquery(this=source))
                self._match_r_paren()
            else:
                this = self._parse_table_parts()
            value: Any = TableArgument(this=this)
            if self._match(TokenType.PARTITION_BY):
                value.set("partition_by", self._parse_partition_columns())
            if self._match(TokenType.ORDER_BY):
                value.set("order", self._parse_csv(self._parse_ordered))
        elif (
            self._match(TokenType.L_PAREN, advance=False)
            and self._next
            and (self._next.token_type in (TokenType.SELECT, TokenType.WITH))
        ):
            self._advance()
            value = TableArgument(this=exp.Subquery(this=self._parse_select()))
            self._match_r_paren()
        else:
            value = self._parse_disjunction()
        if name is None:
            return value
        return self.expression(exp.Kwarg(this=exp.Var(this=name), expression=value))

    def _parse_partition_columns(self) -> list[Any]:
        """Parse columns; without parentheses, the list ends in front of the next argument."""
        if self._match(TokenType.L_PAREN):
            columns = self._parse_csv(self._parse_disjunction)
            self._match_r_paren()
            return columns
        columns = [self._parse_disjunction()]
        while self._match(TokenType.COMMA, advance=False):
            following = self._tokens[self._index + 2 : self._index + 3]
            ends = bool(following) and following[0].text in ("(", "=>", "'")
            if ends or self._next.token_type in (TokenType.STRING, TokenType.INTERVAL):
                break
            self._advance()
            columns.append(self._parse_disjunction())
        return columns

    def _parse_lateral(self) -> exp.Lateral | None:
        if not self._match_pair(TokenType.LATERAL, TokenType.TABLE, advance=False):
            return super()._parse_lateral()
        self._advance(2)
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expected ( after LATERAL TABLE")
        call = self._parse_table_call()
        self._match_r_paren()
        alias = self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS)
        return self.expression(exp.Lateral(this=call, alias=alias))


#: Words that go on with a type behind its first one.
_TYPE_WORDS = frozenset(
    ("WITH", "WITHOUT", "LOCAL", "TIME", "ZONE", "TO", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE",
     "SECOND", "PRECISION", "VARYING", "ARRAY", "MULTISET")
)  # fmt: skip
#: Words that begin a clause behind the arguments of a JSON function.
_JSON_CLAUSES = frozenset(
    ("RETURNING", "NULL", "ERROR", "ABSENT", "EMPTY", "DEFAULT", "WITH", "WITHOUT", "TRUE",
     "FALSE", "UNKNOWN", "ON")
)  # fmt: skip


class Flink(Dialect):
    """Flink's SQL; parsing only."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    Tokenizer = FlinkTokenizer
    Parser = FlinkParser
