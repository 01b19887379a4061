"""What a wrong query is told: the full text of each message."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import (
    CatalogError,
    FunctionError,
    PenstockError,
    SqlParseError,
    ValidationError,
)
from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    for name in ("orders", "rates"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (id INT, currency STRING, amount DOUBLE, at TIMESTAMP(3)) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
        )
    return t_env


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        (
            "SELECT curency FROM orders",
            ValidationError,
            "there is no column 'curency'\n"
            "  where: line 1, column 8\n"
            "         SELECT curency FROM orders\n"
            "                ^^^^^^^\n"
            "  to do: did you mean currency?",
        ),
        (
            "SELECT id FROM ordres",
            ValidationError,
            "there is no table 'ordres'\n  where: line 1, column 16\n"
            "         SELECT id FROM ordres\n"
            "                        ^^^^^^\n"
            "  to do: did you mean orders?",
        ),
        (
            "SELECT id FROM orders JOIN rates ON orders.id = rates.id",
            ValidationError,
            "column 'id' is ambiguous\n"
            "  where: line 1, column 8\n"
            "         SELECT id FROM orders JOIN rates ON orders.id = rates.id\n"
            "                ^^\n"
            "  got:   it is a column of orders and of rates\n"
            "  to do: write the table's name in front: orders.id or rates.id",
        ),
        (
            "SELECT currency FROM orders GROUP BY id",
            ValidationError,
            "column 'currency' is neither a key of GROUP BY nor inside an aggregate\n"
            "  got:   keys: id\n"
            "  to do: add currency to GROUP BY, or aggregate it",
        ),
        (
            "SELECT window_start FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)",
            ValidationError,
            "the window TUMBLE needs a time attribute, and column 'at' is none\n"
            "  where: line 1, column 26\n"
            "         SELECT window_start FROM TUMBLE(TABLE orders, DESCRIPTOR(at), "
            "INTERVAL '1' MINUTE)\n"
            "                                  ^^^^^^\n"
            "  got:   type TIMESTAMP(3)\n"
            "  to do: declare WATERMARK FOR it in CREATE TABLE or in the Schema, use .rowtime in "
            "from_data_stream, or PROCTIME()",
        ),
        (
            "SELECT id FROM orders WHERE id",
            ValidationError,
            "a condition must be BOOLEAN\n"
            "  got:   id of type INT\n"
            "  to do: compare it with something",
        ),
        (
            "SELECT id FROM orders UNION SELECT id, amount FROM rates",
            ValidationError,
            "both sides of UNION must have the same number of columns\n"
            "  where: line 1, column 8\n"
            "         SELECT id FROM orders UNION SELECT id, amount FROM rates\n"
            "                ^^\n"
            "  got:   1 and 2 columns\n"
            "  to do: select the same columns on both sides",
        ),
        (
            "UPDATE orders SET id = 1",
            ValidationError,
            "UPDATE is not supported\n"
            "  got:   UPDATE orders SET id = 1\n"
            "  to do: write a query with the new values and INSERT it into an upsert table",
        ),
        (
            "DROP TABLE nothing",
            CatalogError,
            "there is no table or view 'default_catalog.default_database.nothing'\n"
            "  to do: there are: orders, rates",
        ),
        (
            "INSERT INTO orders SELECT id, currency FROM rates",
            ValidationError,
            "the query has another number of columns than the table\n"
            "  where: INSERT INTO orders\n"
            "  got:   2 columns for id, currency, amount, at\n"
            "  to do: select one value for every column, or name the columns: INSERT INTO t (a, b)",
        ),
        (
            "INSERT INTO orders (id) SELECT currency FROM rates",
            ValidationError,
            "the query's type for column 'id' does not fit the table's\n"
            "  where: INSERT INTO orders\n"
            "  got:   STRING for INT\n"
            "  to do: cast it: CAST(... AS INT)",
        ),
        (
            "INSERT INTO orders (id) SELECT CAST(COUNT(*) AS INT) FROM rates GROUP BY id",
            ValidationError,
            "the table 'orders' takes inserts only, and the query makes update changes\n"
            "  where: INSERT INTO orders\n"
            "  got:   changes [I,UB,UA] of a query with columns id, currency, amount, at\n"
            "  to do: write to a table with a primary key (upsert-kafka, jdbc), or use a window",
        ),
    ],
)
def test_a_wrong_statement_is_told_what_to_do(
    t_env: TableEnvironment, query: str, error: type[PenstockError], text: str
) -> None:
    with pytest.raises(error) as failure:
        t_env.execute_sql(query)
    assert str(failure.value) == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "SELECT id + currency FROM orders",
            "+ does not take values of these types\n"
            "  where: line 1, column 8\n"
            "         SELECT id + currency FROM orders\n"
            "                ^^\n"
            "  got:   INT + STRING\n"
            "  to do: CAST one of them to a type that goes with the other",
        ),
        (
            "SELECT UPPER(amount) FROM orders",
            "UPPER does not take these arguments\n"
            "  where: line 1, column 8\n"
            "         SELECT UPPER(amount) FROM orders\n"
            "                ^^^^^\n"
            "  got:   UPPER(DOUBLE)\n"
            "  to do: call it as UPPER(STRING)",
        ),
        (
            "SELECT SUM(currency) FROM orders",
            "SUM does not take these arguments\n"
            "  where: line 1, column 8\n"
            "         SELECT SUM(currency) FROM orders\n"
            "                ^^^\n"
            "  got:   SUM(STRING)\n"
            "  to do: call it as SUM(NUMERIC)",
        ),
    ],
)
def test_types_that_do_not_fit_are_named(t_env: TableEnvironment, query: str, text: str) -> None:
    with pytest.raises(FunctionError) as failure:
        t_env.sql_query(query)
    assert str(failure.value) == text


def test_a_statement_that_is_not_complete_is_told_so(t_env: TableEnvironment) -> None:
    with pytest.raises(SqlParseError) as failure:
        t_env.sql_query("SELECT id FROM orders WHERE id > 1 AND")
    assert str(failure.value) == (
        "something is missing here: And is not complete\n"
        "  where: line 1, column 36\n"
        "  got:   SELECT id FROM orders WHERE id > 1 AND\n"
        "                                            ^^^\n"
        "  to do: correct the statement there"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            "'connector' = 'filesystem', 'path' = '/tmp/x'",
            "the connector 'filesystem' needs the option 'format'\n"
            "  where: table t\n"
            "  got:   options connector, path\n"
            "  to do: add 'format' = '...' to the WITH clause",
        ),
        (
            "'path' = '/tmp/x'",
            "the table has no connector\n"
            "  where: table t\n"
            "  to do: add 'connector' = '...' to the WITH clause: one of ",
        ),
        (
            "'connector' = 'datagen', 'rows-per-secnd' = '5'",
            "the connector 'datagen' does not know the option 'rows-per-secnd'\n"
            "  where: table t\n"
            "  got:   'rows-per-secnd' = '5'\n",
        ),
    ],
)
def test_options_of_a_connector_are_checked(
    t_env: TableEnvironment, options: str, text: str
) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    with pytest.raises(ValidationError) as failure:
        t_env.execute_sql("SELECT * FROM t")
    assert str(failure.value).startswith(text)


def test_a_text_that_is_no_sql_is_underlined(t_env: TableEnvironment) -> None:
    with pytest.raises(SqlParseError) as failure:
        t_env.sql_query("SELECT id\nFROM orders\nWHRE id > 1")
    assert str(failure.value) == (
        "invalid expression / Unexpected token\n"
        "  where: line 3, column 6\n"
        "  got:   WHRE id > 1\n"
        "              ^^\n"
        "  to do: correct the statement there"
    )


@pytest.mark.parametrize("function", ["RANK", "DENSE_RANK"])
def test_only_row_number_bounds_the_rows(t_env: TableEnvironment, function: str) -> None:
    query = (
        f"SELECT * FROM (SELECT *, {function}() OVER (PARTITION BY currency ORDER BY amount) AS r "
        "FROM orders) WHERE r <= 2"
    )
    with pytest.raises(ValidationError) as caught:
        t_env.explain_sql(query)
    assert caught.value.what == f"{function}() cannot bound the number of rows"
