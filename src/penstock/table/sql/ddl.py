"""Statements around queries: CREATE, ALTER, DROP, INSERT, SHOW, SET and their kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot.tokens import Token, TokenType

from penstock.table.sql import statements as st
from penstock.table.sql.statement_parts import StatementParts

_SHOW_PLAIN = (
    "CATALOGS", "DATABASES", "TABLES", "VIEWS", "FUNCTIONS", "USER FUNCTIONS", "MODULES",
    "FULL MODULES", "JARS", "JOBS", "CURRENT CATALOG", "CURRENT DATABASE", "COLUMNS", "PARTITIONS",
    "CREATE TABLE", "CREATE VIEW", "CREATE CATALOG", "PROCEDURES",
)  # fmt: skip
_NO_DML = {
    "UPDATE": "write a query with the new values and INSERT it into an upsert table",
    "DELETE": "filter the rows in a query and INSERT its result",
    "TRUNCATE": "use INSERT OVERWRITE, or empty the external system itself",
    "ANALYZE": "leave it out: the planner needs no statistics",
    "CALL": "call the function from Python",
    "COMPILE": "run the statement itself",
    "STOP": "cancel the job through its JobClient, or `penstock cancel`",
}


class StatementParser(StatementParts):
    """Parse whole statements."""

    def parse_all(self, tokens: list[Token], sql: str) -> list[st.Statement]:
        """Return the statements of a script."""
        self.reset()
        self.sql = sql
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()
        found: list[st.Statement] = []
        while self._curr:
            if self._match(TokenType.SEMICOLON):
                continue
            found.append(self.statement())
            if self._curr and not self._match(TokenType.SEMICOLON):
                self.raise_error("Invalid expression / Unexpected token")
        return found

    # ---- dispatch ------------------------------------------------------------------------------

    def statement(self) -> st.Statement:
        """Parse one statement."""
        token = self._curr
        word = token.text.upper()
        if word in _NO_DML and self._next and self._next.token_type != TokenType.L_PAREN:
            while self._curr and self._curr.token_type != TokenType.SEMICOLON:
                self._advance()
            text = self._find_sql(token, self._prev)
            return st.Unsupported(text, f"{word} is not supported", _NO_DML[word])
        maker = _STATEMENTS.get(word)
        if maker is None or token.token_type is TokenType.IDENTIFIER:
            return self.query()
        self._advance()
        return maker(self)

    # ---- CREATE --------------------------------------------------------------------------------

    def create(self) -> st.Statement:
        """Parse what follows CREATE."""
        replaces = self.words("OR REPLACE")
        temporary = self.words("TEMPORARY")
        system = self.words("SYSTEM")
        if self.words("TABLE"):
            return self.create_table(temporary, replaces)
        if self.words("VIEW"):
            return self.create_view(temporary, replaces)
        if self.words("FUNCTION"):
            return self.create_function(temporary, system)
        if self.words("DATABASE"):
            missing = self.words("IF NOT EXISTS")
            name = self.name()
            comment = self.string() if self.words("COMMENT") else None
            options = self.options() if self.words("WITH") else {}
            return st.CreateDatabase(name, comment, options, missing)
        if self.words("CATALOG"):
            missing = self.words("IF NOT EXISTS")
            catalog = self.identifier()
            comment = self.string() if self.words("COMMENT") else None
            return st.CreateCatalog(catalog, comment, self.options() if self.words("WITH") else {},
                                    missing)  # fmt: skip
        self.raise_error("Expected TABLE, VIEW, FUNCTION, DATABASE or CATALOG")
        raise AssertionError

    def create_table(self, temporary: bool, replaces: bool) -> st.CreateTable:
        """Parse what follows CREATE TABLE."""
        missing = self.words("IF NOT EXISTS")
        table = st.CreateTable(self.name(), temporary=temporary, if_not_exists=missing,
                               replace=replaces)  # fmt: skip
        if self._match(TokenType.L_PAREN):
            table, _ = self.table_elements(table)
        if self.words("COMMENT"):
            table = replace(table, comment=self.string())
        if self.words("DISTRIBUTED"):
            self.raise_error("DISTRIBUTED is not supported; leave it out")
        if self.words("PARTITIONED BY"):
            table = replace(table, partitioned_by=self.names())
        if self.words("WITH"):
            table = replace(table, options=self.options())
        if self.words("LIKE"):
            table = replace(table, like=self.like())
        if self._match(TokenType.ALIAS):
            table = replace(table, query=self.query())
        return table

    def like(self) -> st.Like:
        """Parse what follows LIKE."""
        source = self.name()
        choices = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                verb, what = self.identifier().upper(), self.identifier().upper()
                choices.append((verb, what))
        return st.Like(source, tuple(choices))

    def table_elements(
        self, table: st.CreateTable, *, single: bool = False
    ) -> tuple[st.CreateTable, dict[str, tuple[str, ...]]]:
        """Parse columns, keys and watermarks up to the closing parenthesis."""
        columns = list(table.columns)
        positions: dict[str, tuple[str, ...]] = {}
        while True:
            if self.words("WATERMARK FOR"):
                column = self.name()
                if not self._match(TokenType.ALIAS):
                    self.raise_error("Expected AS")
                tree, text = self.expression_with_text()
                table = replace(table, watermark=st.WatermarkDefinition(column, tree, text))
            elif self.words("PRIMARY KEY") or self.words("CONSTRAINT"):
                if self._prev.text.upper() == "CONSTRAINT":
                    self.identifier()
                    self.need("PRIMARY KEY")
                table = replace(table, primary_key=self.names())
                self.words("NOT ENFORCED")
            elif self._match(TokenType.R_PAREN, advance=False):
                pass
            else:
                column_definition, is_key = self.column()
                columns.append(column_definition)
                if is_key:
                    table = replace(table, primary_key=(column_definition.name,))
                if self.words("FIRST"):
                    positions[column_definition.name] = ("FIRST",)
                elif self.words("AFTER"):
                    positions[column_definition.name] = ("AFTER", self.identifier())
            if single:
                break
            if self._match(TokenType.R_PAREN):
                break
            if not self._match(TokenType.COMMA):
                self.raise_error("Expected , or )")
        return replace(table, columns=tuple(columns)), positions

    def column(self) -> tuple[st.ColumnDefinition, bool]:
        """Parse a column; tell whether it is the primary key."""
        name = self.identifier()
        column = st.ColumnDefinition(name)
        is_key = False
        if self._match(TokenType.ALIAS):
            tree, text = self.expression_with_text()
            column = replace(column, expression=tree, expression_text=text)
        elif self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            column = replace(column, type_text=self.type_text())
            if self.words("NOT NULL"):
                column = replace(column, not_null=True)
            if self.words("METADATA"):
                key = self.string() if self.words("FROM") else ""
                column = replace(column, metadata=key, virtual=self.words("VIRTUAL"))
        while True:
            if self.words("NOT NULL"):
                column = replace(column, not_null=True)
            elif self.words("NULL"):
                pass
            elif self.words("PRIMARY KEY"):
                self.words("NOT ENFORCED")
                is_key = True
            elif self.words("COMMENT"):
                column = replace(column, comment=self.string())
            else:
                return column, is_key

    def create_view(self, temporary: bool, replaces: bool) -> st.CreateView:
        """Parse what follows CREATE VIEW."""
        missing = self.words("IF NOT EXISTS")
        name = self.name()
        columns = self.names() if self._match(TokenType.L_PAREN, advance=False) else ()
        comment = self.string() if self.words("COMMENT") else None
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        return st.CreateView(name, self.query(), columns, comment, temporary, missing, replaces)

    def create_function(self, temporary: bool, system: bool) -> st.CreateFunction:
        """Parse what follows CREATE FUNCTION."""
        missing = self.words("IF NOT EXISTS")
        name = self.name()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        identifier = self.string()
        language = self.identifier().upper() if self.words("LANGUAGE") else "JAVA"
        if self.words("USING"):
            while True:
                self.identifier()
                self.string()
                if not self._match(TokenType.COMMA):
                    break
        return st.CreateFunction(name, identifier, language, temporary, system, missing)

    # ---- DROP, ALTER ---------------------------------------------------------------------------

    def drop(self) -> st.Drop:
        """Parse what follows DROP."""
        temporary = self.words("TEMPORARY")
        system = self.words("SYSTEM")
        kind = self.identifier().upper()
        if kind not in ("TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG"):
            self.raise_error("Expected TABLE, VIEW, FUNCTION, DATABASE or CATALOG", self._prev)
        present = self.words("IF EXISTS")
        name = self.name()
        cascade = self.words("CASCADE")
        self.words("RESTRICT")
        return st.Drop(kind, name, present, temporary, system, cascade)

    def alter(self) -> st.Statement:
        """Parse what follows ALTER."""
        temporary = self.words("TEMPORARY")
        system = self.words("SYSTEM")
        if self.words("TABLE"):
            return self.alter_table()
        if self.words("VIEW"):
            name = self.name()
            if self.words("RENAME TO"):
                return st.AlterView(name, new_name=self.name())
            self._match(TokenType.ALIAS)
            return st.AlterView(name, query=self.query())
        if self.words("FUNCTION"):
            present = self.words("IF EXISTS")
            return st.AlterFunction(self.create_function(temporary, system), present)
        if self.words("DATABASE"):
            name = self.name()
            self.need("SET")
            return st.AlterDatabase(name, self.options())
        self.raise_error("Expected TABLE, VIEW, FUNCTION or DATABASE")
        raise AssertionError

    def alter_table(self) -> st.AlterTable:
        """Parse what follows ALTER TABLE."""
        present = self.words("IF EXISTS")
        table = st.AlterTable(self.name(), "", present)
        if self.words("RENAME TO"):
            return replace(table, action="rename", new_name=self.name())
        if self.words("RENAME"):
            old = self.identifier()
            self.need("TO")
            return replace(table, action="rename_column", keys=(old,), new_name=self.name())
        if self.words("SET"):
            return replace(table, action="set", options=self.options())
        if self.words("RESET"):
            self._match(TokenType.L_PAREN)
            keys = [self.string()]
            while self._match(TokenType.COMMA):
                keys.append(self.string())
            self._match_r_paren()
            return replace(table, action="reset", keys=tuple(keys))
        for action in ("ADD", "MODIFY"):
            if self.words(action):
                several = bool(self._match(TokenType.L_PAREN))
                schema, positions = self.table_elements(
                    st.CreateTable(table.name), single=not several
                )
                return replace(table, action=action.lower(), schema=schema, positions=positions)
        self.need("DROP")
        if self.words("PRIMARY KEY"):
            return replace(table, action="drop_key")
        if self.words("CONSTRAINT"):
            self.identifier()
            return replace(table, action="drop_key")
        if self.words("WATERMARK"):
            return replace(table, action="drop_watermark")
        if self._match(TokenType.L_PAREN, advance=False):
            return replace(table, action="drop_columns", keys=self.names())
        return replace(table, action="drop_columns", keys=(self.identifier(),))

    # ---- the rest ------------------------------------------------------------------------------

    def use(self) -> st.Use:
        """Parse what follows USE."""
        if self.words("CATALOG"):
            return st.Use("CATALOG", (self.identifier(),))
        if self.words("MODULES"):
            found = [self.identifier()]
            while self._match(TokenType.COMMA):
                found.append(self.identifier())
            return st.Use("MODULES", tuple(found))
        return st.Use("DATABASE", self.name())

    def load(self) -> st.LoadModule:
        """Parse what follows LOAD."""
        self.need("MODULE")
        name = self.identifier()
        return st.LoadModule(name, self.options() if self.words("WITH") else {})

    def unload(self) -> st.UnloadModule:
        """Parse what follows UNLOAD."""
        self.need("MODULE")
        return st.UnloadModule(self.identifier())

    def show(self) -> st.Show:
        """Parse what follows SHOW."""
        for kind in sorted(_SHOW_PLAIN, key=len, reverse=True):
            if self.words(kind):
                break
        else:
            self.raise_error(f"Expected one of {', '.join(_SHOW_PLAIN)} after SHOW")
        name: st.Name = ()
        named = kind.startswith("CREATE") or kind == "PARTITIONS"
        if named or self._match(TokenType.FROM) or self._match(TokenType.IN):
            name = self.name()
        negated = bool(self._match(TokenType.NOT))
        like = None
        if self._match(TokenType.LIKE) or self.words("ILIKE"):
            like = self.string()
        return st.Show(kind, name, like, negated)

    def describe(self) -> st.Describe:
        """Parse what follows DESCRIBE."""
        kind = "TABLE"
        for word in ("CATALOG", "DATABASE", "FUNCTION", "JOB"):
            if self.words(word):
                kind = word
        extended = self.words("EXTENDED")
        return st.Describe(kind, self.name(), extended)

    def explain(self) -> st.Explain:
        """Parse what follows EXPLAIN."""
        details = []
        while not self.words("PLAN FOR"):
            for word in ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"):
                if self.words(word):
                    details.append(word)
                    self._match(TokenType.COMMA)
                    break
            else:
                break
        if self.words("STATEMENT SET"):
            return st.Explain(self.statement_set(), tuple(details))
        return st.Explain(self.statement(), tuple(details))

    def set_option(self) -> st.SetOption:
        """Parse what follows SET."""
        if not self._curr or self._curr.token_type is TokenType.SEMICOLON:
            return st.SetOption()
        if self._curr.token_type is TokenType.STRING:
            key = self.string()
            if not self._match(TokenType.EQ):
                self.raise_error("Expected =")
            return st.SetOption(key, self.string())
        # The old form: SET key = value
        return st.SetOption(self._raw(TokenType.EQ), self._raw(TokenType.SEMICOLON))

    def _raw(self, until: TokenType) -> str:
        start = self._curr
        while self._curr and self._curr.token_type != until:
            self._advance()
        text = self._find_sql(start, self._prev)
        self._match(TokenType.EQ)
        return text.strip()

    def reset_option(self) -> st.ResetOption:
        """Parse what follows RESET."""
        if not self._curr or self._curr.token_type is TokenType.SEMICOLON:
            return st.ResetOption()
        quoted = self._curr.token_type is TokenType.STRING
        return st.ResetOption(self.string() if quoted else self._raw(TokenType.SEMICOLON))

    def insert(self) -> st.Insert:
        """Parse what follows INSERT."""
        overwrite = self.words("OVERWRITE")
        if not overwrite:
            self.need("INTO")
        else:
            self.words("INTO")
        self.words("TABLE")
        target = self.name()
        partition: dict[str, Any] = {}
        if self.words("PARTITION"):
            self._match(TokenType.L_PAREN)
            while not self._match(TokenType.R_PAREN):
                column = self.identifier()
                partition[column] = self._parse_disjunction() if self._match(TokenType.EQ) else None
                self._match(TokenType.COMMA)
        columns: tuple[str, ...] = ()
        if self._match(TokenType.L_PAREN, advance=False) and self._next and (
            self._next.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.VALUES,
                                          TokenType.L_PAREN)
        ):  # fmt: skip
            columns = self.names()
        return st.Insert(target, self.query(), columns, partition, overwrite)

    def execute(self) -> st.Statement:
        """Parse what follows EXECUTE."""
        if self.words("STATEMENT SET"):
            return self.statement_set()
        return self.statement()

    def begin(self) -> st.Statement:
        """Parse what follows BEGIN."""
        self.need("STATEMENT SET")
        self._match(TokenType.SEMICOLON)
        return self.statement_set(begun=True)

    def statement_set(self, *, begun: bool = False) -> st.StatementSetStatement:
        """Parse BEGIN INSERT ...; END."""
        if not begun:
            self.need("BEGIN")
        inserts: list[st.Insert] = []
        while not self.words("END"):
            if self._match(TokenType.SEMICOLON):
                continue
            self.need("INSERT")
            inserts.append(self.insert())
        return st.StatementSetStatement(tuple(inserts))

    def jar(self) -> st.Jar:
        """Parse what follows ADD or REMOVE."""
        action = self._prev.text.upper()
        self.need("JAR")
        return st.Jar(action, self.string())


_STATEMENTS: dict[str, Callable[[StatementParser], st.Statement]] = {
    "CREATE": StatementParser.create,
    "DROP": StatementParser.drop,
    "ALTER": StatementParser.alter,
    "USE": StatementParser.use,
    "LOAD": StatementParser.load,
    "UNLOAD": StatementParser.unload,
    "SHOW": StatementParser.show,
    "DESCRIBE": StatementParser.describe,
    "DESC": StatementParser.describe,
    "EXPLAIN": StatementParser.explain,
    "SET": StatementParser.set_option,
    "RESET": StatementParser.reset_option,
    "INSERT": StatementParser.insert,
    "EXECUTE": StatementParser.execute,
    "BEGIN": StatementParser.begin,
    "ADD": StatementParser.jar,
    "REMOVE": StatementParser.jar,
}
