"""The SQL shell: scripts from end to end, what it prints, completion and colours."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from penstock.cli import sql
from penstock.cli.main import main
from penstock.cli.sql_prompt import SqlCompleter, is_complete, styled
from penstock.cli.sql_shell import SqlShell
from penstock.cli.sql_shell import main as shell
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


def test_a_terminal_shows_the_rows_that_are_left_or_the_changelog(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = _session(words)
    answers = iter(
        [
            "SELECT w, SUM(n) AS s FROM words GROUP BY w;",
            "SET 'sql-client.execution.result-mode' = 'pages';",
            "SET 'sql-client.execution.result-mode' = 'changelog';",
            "SELECT w, SUM(n) AS s FROM words GROUP BY w;",
            "EXIT;",
        ]
    )
    capsys.readouterr()
    assert session.converse(lambda: next(answers))
    table, changelog = capsys.readouterr().out.split("[ERROR]")
    assert table.splitlines()[3:5] == ["| b | 2 |", "| a | 4 |"]
    assert "got:   'pages'\n  to do: use one of: table, changelog, tableau\n" in changelog
    assert "| -U |" in changelog


def test_an_interrupt_ends_the_query_and_not_the_shell(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _session(words)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session, "_table", interrupted)
        assert session.run("SELECT * FROM words")
    assert capsys.readouterr().out.endswith("\n[INFO] Query terminated.\n")
    assert session.run("SELECT n FROM words WHERE n > 2")
    assert "| 3 |" in capsys.readouterr().out


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
    assert "w" not in completer.names("SELECT ")


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
