"""The SQL shell: scripts from end to end, what it prints, completion and colours."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from penstock.cli import sql
from penstock.cli.main import main
from penstock.cli.sql_prompt import SqlCompleter, is_complete, styled
from penstock.cli.sql_shell import SqlShell
from penstock.cli.sql_shell import main as shell
from penstock.cli.sql_view import ResultRows, ResultView, show_live
from penstock.common import Row, RowKind
from penstock.graph.relational.types import INT, RowType
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.sql.script import split_script

IN_PROCESS = ["-D", "execution.target=in-process", "-D", "parallelism.default=1"]


@pytest.fixture
def words(tmp_path: Path) -> str:
    (tmp_path / "words.csv").write_text("a,1\nb,2\na,3\n", encoding="utf-8")
    return (
        "CREATE TABLE words (w STRING, n INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/words.csv', 'format' = 'csv');\n"
    )


def _file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_script_runs_from_end_to_end(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init = _file(tmp_path, "init.sql", words)
    script = _file(
        tmp_path,
        "script.sql",
        "-- counts; by word\n"
        "SELECT w, SUM(n) AS s FROM words GROUP BY w;\n"
        f"CREATE TABLE out (w STRING, n INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/out', 'format' = 'csv');\n"
        "INSERT INTO out SELECT w, n FROM words WHERE n > 1;\n"
        "SHOW TABLES",
    )
    assert shell([*IN_PROCESS, "-i", init, "-f", script]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        f"Successfully initialized from sql script: {init}\n"
        "Penstock SQL> -- counts; by word\nSELECT w, SUM(n) AS s FROM words GROUP BY w;\n"
        "+----+--------------------------------+-------------+\n"
        "| op |                              w |           s |\n"
        "+----+--------------------------------+-------------+\n"
        "| +I |                              a |           1 |\n"
    )
    assert "| +U |                              a |           4 |\n" in text
    assert "[INFO] Execute statement succeeded.\n" in text
    assert "[INFO] SQL update statement has been successfully submitted to the cluster:\n" in text
    assert "|      words |\n" in text
    # The job of the INSERT has ended before the shell has.
    lines = [
        line
        for file in (tmp_path / "out").rglob("*")
        if file.is_file() and "inprogress" not in file.name
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert sorted(lines) == ["a,3", "b,2"]


def _words_row(word: str, count: int) -> str:
    """Return a row as it is drawn: types say how wide columns are."""
    return f"| {word:>30} | {count:>11} |"


def test_the_first_statement_that_fails_ends_a_script(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _file(tmp_path, "s.sql", f"{words}SELECT nn FROM words; SHOW TABLES;")
    assert shell([*IN_PROCESS, "-f", script]) == 1
    assert capsys.readouterr().out.endswith(
        "Penstock SQL> SELECT nn FROM words;\n"
        "[ERROR] Could not execute SQL statement. Reason:\n"
        "there is no column 'nn'\n"
        "  where: line 1, column 8\n"
        "         SELECT nn FROM words\n"
        "                ^^\n"
        "  to do: did you mean n?\n"
    )


def test_statements_come_from_standard_input_without_a_terminal(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{words}DESCRIBE words;\nQUIT;\nSELECT 1;"))
    assert shell(IN_PROCESS) == 0
    text = capsys.readouterr().out
    assert "|    w | STRING |" in text
    assert "SELECT 1" not in text


def test_an_insert_waits_in_sync_mode(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _file(
        tmp_path,
        "s.sql",
        f"{words}SET 'table.dml-sync' = 'true';\n"
        "CREATE TABLE none WITH ('connector' = 'blackhole') LIKE words (EXCLUDING ALL);\n"
        "INSERT INTO none SELECT * FROM words;",
    )
    assert shell([*IN_PROCESS, "-f", script]) == 0
    assert capsys.readouterr().out.endswith(
        "[INFO] Complete execution of the SQL update statement.\n"
    )


def _session(words: str) -> SqlShell:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    session = SqlShell(t_env)
    assert session.run_script(words, echo=False)
    session.in_terminal = True
    return session


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[SqlShell, str, int], None]]:
    """Give what presses a key once a query has sent so many rows; 0: when it has ended."""
    with create_pipe_input() as pipe:

        def press(session: SqlShell, key: str, after: int) -> None:
            session.terminal = {"terminal_input": pipe, "terminal_output": DummyOutput()}

            def watched(rows: Any) -> Iterator[Any]:
                for number, row in enumerate(rows, 1):
                    yield row
                    if number == after:
                        pipe.send_text(key)
                if not after:
                    # Behind the end of the rows, which the view learns at once.
                    threading.Timer(0.3, pipe.send_text, (key,)).start()

            def show(rows: Any, *arguments: Any, **options: Any) -> Any:
                return show_live(watched(rows), *arguments, **options)

            monkeypatch.setattr("penstock.cli.sql_shell.show_live", show)

        yield press


def test_a_terminal_shows_the_rows_that_are_left_or_the_changelog(
    words: str, capsys: pytest.CaptureFixture[str], keys: Any
) -> None:
    session = _session(words)
    keys(session, "q", 0)
    query = "SELECT w, SUM(n) AS s FROM words GROUP BY w;"
    answers = iter(
        [
            query,
            "SET 'sql-client.execution.result-mode' = 'pages';",
            "SET 'sql-client.execution.result-mode' = 'changelog';",
            query,
            "SET 'sql-client.execution.result-mode' = 'tableau';",
            query,
            "EXIT;",
        ]
    )
    capsys.readouterr()
    assert session.converse(lambda: next(answers))
    text = capsys.readouterr().out
    table, changelog = text.split("[ERROR]")
    assert table.splitlines()[3:5] == [_words_row("b", 2), _words_row("a", 4)]
    assert "got:   'pages'\n  to do: use one of: table, changelog, tableau\n" in changelog
    assert changelog.count("| -U |") == 2
    assert "terminated" not in text


def test_a_key_ends_the_query_and_not_the_shell(
    words: str, capsys: pytest.CaptureFixture[str], keys: Any
) -> None:
    session = _session(words)
    assert session.run("CREATE TABLE g (n INT) WITH ('connector' = 'datagen')")
    keys(session, "\x03", 3)
    assert session.run("SELECT n FROM g")
    assert capsys.readouterr().out.endswith("[INFO] Query terminated.\n")
    keys(session, "q", 0)
    assert session.run("SELECT n FROM words WHERE n > 2")
    assert "|           3 |" in capsys.readouterr().out


def test_a_query_that_fails_is_told_when_its_view_is_left(
    words: str, capsys: pytest.CaptureFixture[str], keys: Any
) -> None:
    session = _session(words)
    keys(session, "q", 0)
    session.terminal["terminal_input"].send_text("l")
    threading.Timer(2.0, session.terminal["terminal_input"].send_text, ("q",)).start()
    assert not session.run("SELECT 1 / (n - n) FROM words")
    assert "[ERROR] Could not execute SQL statement. Reason:" in capsys.readouterr().out


def test_pages_are_turned_while_rows_come() -> None:
    schema = RowType.of(("n", INT))
    rows = ResultRows(changes=False, most=100)
    with create_pipe_input() as pipe:
        view = ResultView(
            rows, schema, "UTC", changes=False, terminal_input=pipe, terminal_output=DummyOutput()
        )
        assert view.lines() == ["Empty set"]
        size = 33  # of the terminal's 40 lines
        for number in range(2 * size + 1):
            rows.apply(Row(number))
        assert view.lines()[3:-1] == ["|          66 |"]
        view.turn(-1)
        assert view.lines()[3] == "|          33 |"
        view.turn(-5)
        assert view.lines()[3] == "|           0 |"
        rows.apply(_row(1, 0))
        assert view.lines()[3] == "|           1 |"
        view.turn(9)
        assert view.lines()[3] == "|          34 |"
        for number in range(200):
            rows.apply(Row(number))
        assert len(rows.all()) == 100


def _row(kind: int, value: int) -> Row:
    row = Row(value)
    row.set_row_kind(list(RowKind)[kind])
    return row


def test_batch_mode_gives_final_rows(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = _session(words)
    session.in_terminal = False
    assert not session.run("SET 'execution.runtime-mode' = 'sometimes'")
    assert session.run("SET 'execution.runtime-mode' = 'batch'")
    capsys.readouterr()
    assert session.run("SELECT w, SUM(n) AS s FROM words GROUP BY w")
    text = capsys.readouterr().out
    assert _words_row("a", 4) in text
    assert "op" not in text
    assert session.run("SET 'execution.runtime-mode' = 'streaming'")
    assert session.run("SELECT w, SUM(n) AS s FROM words GROUP BY w")
    assert "| -U |" in capsys.readouterr().out


def test_a_script_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell(["-f", "/no/such.sql"]) == 1
    assert capsys.readouterr().err.endswith(
        "there is no such script\n"
        "  where: penstock sql -f\n"
        "  got:   '/no/such.sql'\n"
        "  to do: pass the path of a file with SQL\n"
    )


def test_the_command_starts_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def become(_: str, command: list[str]) -> None:
        started.append(command)
        raise SystemExit(0)

    monkeypatch.setattr(sql.os, "execvp", become)
    with pytest.raises(SystemExit):
        main(["sql", "-f", "a.sql", "-i", "b.sql", "-D", "x=1"])
    assert started[0][1:] == (
        ["-m", "penstock.cli.sql_shell", "-f", "a.sql", "-i", "b.sql", "-D", "x=1"]
    )


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1; SELECT ';'", ["SELECT 1"], "SELECT ';'"),
        ("SELECT 1 -- a; b\n;\n", ["SELECT 1 -- a; b"], ""),
        ("SELECT /* ; */ 1;;", ["SELECT /* ; */ 1"], ""),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; X",
            ["EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END"],
            "X",
        ),
        ("SELECT 'open", [], "SELECT 'open"),
        ("-- nothing", [], ""),
    ],
)
def test_semicolons_end_statements(text: str, statements: list[str], rest: str) -> None:
    assert split_script(text) == (statements, rest)


def test_the_return_key_ends_what_is_complete() -> None:
    assert is_complete("SELECT 1;") and is_complete("quit") and is_complete("")
    assert not is_complete("SELECT 1") and not is_complete("SELECT ';")


def test_tables_and_their_columns_are_offered(words: str) -> None:
    session = _session(words)
    completer = SqlCompleter(session._t_env)
    assert completer.names("SELECT  FROM words")[:3] == ["w", "n", "words"]
    # FROM is written later: until then the columns of all tables may be meant.
    assert completer.names("SELECT ")[:3] == ["w", "n", "words"]
    session.run("CREATE TABLE others (x INT) WITH ('connector' = 'datagen')")
    assert "x" not in completer.names("SELECT  FROM words")


def test_colours_follow_the_tokens() -> None:
    assert styled("SELECT 'a', 1 FROM t -- x") == [
        ("bold ansiblue", "SELECT"),
        ("ansigray", " "),
        ("ansigreen", "'a'"),
        ("", ","),
        ("ansigray", " "),
        ("ansimagenta", "1"),
        ("ansigray", " "),
        ("bold ansiblue", "FROM"),
        ("ansigray", " "),
        ("", "t"),
        ("ansigray", " -- x"),
    ]
