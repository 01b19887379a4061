"""Kinds of changes as a column of texts, and back."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError, ValidationError
from penstock.table import EnvironmentSettings, Table, TableEnvironment
from penstock.table.expressions import col, descriptor, map_


@pytest.fixture
def t_env() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    return made


def _changes(table: Table) -> list[str]:
    rows = table.execute().collect()
    return [f"{row.get_row_kind()}[{', '.join(map(str, row))}]" for row in rows]


def _sums(t_env: TableEnvironment) -> Table:
    rows = t_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["k", "v"])
    return rows.group_by(col("k")).select(col("k"), col("v").sum.alias("s"))


def test_changes_become_rows(t_env: TableEnvironment) -> None:
    made = _sums(t_env).to_changelog()
    assert made.get_schema().get_field_names() == ["op", "k", "s"]
    assert _changes(made) == [
        "+I[INSERT, a, 1]", "+I[INSERT, b, 2]", "+I[UPDATE_BEFORE, a, 1]",
        "+I[UPDATE_AFTER, a, 4]",
    ]  # fmt: skip


def test_other_words_for_some_kinds(t_env: TableEnvironment) -> None:
    made = _sums(t_env).to_changelog(
        descriptor("deleted").as_argument("op"),
        map_("INSERT, UPDATE_AFTER", "false", "DELETE", "true").as_argument("op_mapping"),
    )
    assert made.get_schema().get_field_names()[0] == "deleted"
    assert _changes(made) == ["+I[false, a, 1]", "+I[false, b, 2]", "+I[false, a, 4]"]


def test_rows_become_changes_again(t_env: TableEnvironment) -> None:
    made = _sums(t_env).to_changelog().from_changelog()
    assert _changes(made) == _changes(_sums(t_env))
    total = made.select(col("s").sum.alias("t"))
    assert _changes(total)[-1] == "+U[6]"


def test_rows_with_words_of_their_own(t_env: TableEnvironment) -> None:
    rows = t_env.from_elements(
        [(1, "c", "a"), (1, "ub", "a"), (1, "ua", "b"), (2, "r", "x"), (2, "d", "x")],
        ["id", "kind", "n"],
    )
    words = map_("c, r", "INSERT", "ub", "UPDATE_BEFORE", "ua", "UPDATE_AFTER", "d", "DELETE")
    arguments = (descriptor("kind").as_argument("op"), words.as_argument("op_mapping"))
    assert _changes(rows.from_changelog(*arguments)) == [
        "+I[1, a]", "-U[1, a]", "+U[1, b]", "+I[2, x]", "-D[2, x]",
    ]  # fmt: skip


def test_what_does_not_fit_is_told(t_env: TableEnvironment) -> None:
    rows = t_env.from_elements([("WHAT", 1)], ["op", "id"])
    with pytest.raises(PenstockError, match="no kind of change has this word"):
        _changes(rows.from_changelog())
    with pytest.raises(ValidationError, match="there is no column 'op' that tells"):
        rows.drop_columns(col("op")).from_changelog()
    with pytest.raises(ValidationError, match="names a kind that is not there"):
        rows.to_changelog(map_("ADD", "I").as_argument("op_mapping"))
    with pytest.raises(ValidationError, match="does not take this argument"):
        rows.to_changelog(col("id"))
