"""The shell that `penstock sql` starts: statements from a script or from the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from penstock.cli.printing import print_failure
from penstock.cli.sql import add_options
from penstock.cli.sql_prompt import make_reader
from penstock.cli.sql_view import show_live
from penstock.common.options import RUNTIME_MODE
from penstock.errors import ConfigurationError, PenstockError, show_value
from penstock.execution.command_settings import settings_of
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.result_kind import ResultKind
from penstock.table.result_text import draw
from penstock.table.sql import statements as st
from penstock.table.sql.parser import parse_statement
from penstock.table.sql.script import split_script
from penstock.table.table_result import TableResult

RESULT_MODE = "sql-client.execution.result-mode"
_MOST_ROWS = "sql-client.execution.max-table-result.rows"
_SYNC = "table.dml-sync"
_PROMPT = "Penstock SQL> "
_HELP = """The following commands are available:

QUIT, EXIT                  Leave the shell.
CLEAR                       Clear the terminal.
HELP                        Show this list.
SET 'key' = 'value'         Set a session's property; SET lists them.
RESET 'key'                 Set a property back; RESET all of them.

All other statements are Flink's SQL and end with a semicolon. Ctrl-C cancels the query that runs.
'sql-client.execution.result-mode' is 'table' (the rows that are left), 'changelog' or 'tableau';
'execution.runtime-mode' is 'streaming' or 'batch'."""
#: How many rows stay on the terminal when a view is left.
_LEFT_ROWS = 20
_MODES = ("table", "changelog", "tableau")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line says, and return the exit code."""
    parser = argparse.ArgumentParser(prog="penstock sql")
    add_options(parser)
    try:
        return _run(parser.parse_args(arguments))
    except PenstockError as error:
        print_failure(error)
        return 1


def _run(options: argparse.Namespace) -> int:
    """Run the scripts, then read statements from the terminal or from standard input.

    :raises ConfigurationError: if there is no such script.
    """
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in settings_of(options.settings, "penstock sql -D").items():
        t_env.get_config().set(key, value)
        if key == RUNTIME_MODE.key:
            t_env._set_batch_mode(_is_batch(value))
    shell = SqlShell(t_env)
    if options.init:
        if not shell.run_script(_text(options.init, "-i"), echo=False):
            return 1
        print(f"Successfully initialized from sql script: {options.init}")
    if options.file:
        done = shell.run_script(_text(options.file, "-f"))
    elif sys.stdin.isatty():
        shell.in_terminal = True
        done = shell.converse(make_reader(t_env, _PROMPT))
    else:
        done = shell.run_script(sys.stdin.read())
    return 0 if shell.wait_for_jobs() and done else 1


def _text(path: str, option: str) -> str:
    if not Path(path).is_file():
        raise ConfigurationError(
            "there is no such script",
            where=f"penstock sql {option}",
            got=show_value(path),
            todo="pass the path of a file with SQL",
        )
    return Path(path).read_text(encoding="utf-8")


class SqlShell:
    """A session: statements run one after another and print what Flink's client prints."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._jobs: list[TableResult] = []
        #: Whether results are drawn on a terminal: there they update while the query runs.
        self.in_terminal = False
        #: Input and output of the view of results; the terminal's own if empty.
        self.terminal: dict[str, Any] = {}
        self._quiet = False
        self._ended = False

    # ---- where statements come from ------------------------------------------------------------

    def run_script(self, text: str, *, echo: bool = True) -> bool:
        """Run the statements of a script; the first that fails ends it.

        :param echo: whether each statement, and that it worked, is printed.
        :return: whether all worked.
        """
        statements, rest = split_script(text)
        self._quiet = not echo
        for statement in [*statements, rest] if rest else statements:
            if echo:
                print(f"{_PROMPT}{statement};", flush=True)
            if not self.run(statement):
                return False
            if self._ended:
                break
        return True

    def converse(self, read: Callable[[], str]) -> bool:
        """Read and run statements until the user leaves; what fails is told, and goes on."""
        self._quiet = False
        while not self._ended:
            try:
                statements, rest = split_script(read())
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            for statement in [*statements, rest] if rest else statements:
                self.run(statement)
        return True

    def wait_for_jobs(self) -> bool:
        """Wait for the jobs of INSERT: they live in this process. Ctrl-C cancels them."""
        worked = True
        for job in self._jobs:
            try:
                job.wait()
            except KeyboardInterrupt:
                client = job.get_job_client()
                if client is not None:
                    client.cancel()
            except PenstockError as error:
                worked = False
                _tell(error)
        self._jobs = []
        return worked

    # ---- one statement -------------------------------------------------------------------------

    def run(self, text: str) -> bool:
        """Run one statement and print its result.

        :return: whether it worked.
        """
        word = text.strip().upper()
        if word in ("QUIT", "EXIT"):
            self._ended = True
            return True
        if word in ("HELP", "CLEAR"):
            print(_HELP if word == "HELP" else "\x1b[2J\x1b[H", end="\n" if word == "HELP" else "")
            return True
        try:
            self._run(text)
        except KeyboardInterrupt:
            print("\n[INFO] Query terminated.")
        except PenstockError as error:
            _tell(error)
            return False
        return True

    def _run(self, text: str) -> None:
        statement = parse_statement(text)
        if isinstance(statement, st.SetOption) and statement.key == RESULT_MODE:
            _check_mode(statement.value)
        if isinstance(statement, st.SetOption) and statement.key == RUNTIME_MODE.key:
            self._t_env._set_batch_mode(_is_batch(statement.value))
        if isinstance(statement, st.Insert | st.StatementSetStatement):
            self._insert(text)
            return
        result = self._t_env.execute_sql(text)
        if isinstance(statement, st.Query):
            self._show(result)
        elif result.get_result_kind() is ResultKind.SUCCESS:
            if not self._quiet:
                print("[INFO] Execute statement succeeded.")
        else:
            result.print()

    def _insert(self, text: str) -> None:
        print("[INFO] Submitting SQL update statement to the cluster...", flush=True)
        result = self._t_env.execute_sql(text)
        client = result.get_job_client()
        if self._t_env.get_config().get(_SYNC, "false").lower() == "true":
            print("[INFO] Execute statement in sync mode. Please wait for the execution finish...")
            try:
                result.wait()
            except KeyboardInterrupt:
                if client is not None:
                    client.cancel()
                raise
            print("[INFO] Complete execution of the SQL update statement.")
            return
        self._jobs.append(result)
        print("[INFO] SQL update statement has been successfully submitted to the cluster:")
        if client is not None:
            print(f"Job ID: {client.get_job_id()}")

    def _show(self, result: TableResult) -> None:
        mode = self._t_env.get_config().get(RESULT_MODE, "table").lower()
        with result.collect() as rows:
            if mode == "tableau" or not self.in_terminal:
                # As in Flink, a script shows the changelog whatever the mode is.
                result.print()
                return
            zone = self._t_env.get_config().get_local_timezone()
            schema = result.get_table_schema().to_row_data_type()
            changes = mode == "changelog"
            found = show_live(
                rows, schema, zone, changes=changes, most=self._most_rows(), **self.terminal
            )
            was_running = not found.ended  # closing the rows ends them
        # What was seen last stays on the terminal.
        for line in draw(found.all()[-_LEFT_ROWS:], schema, zone, changes=changes):
            print(line, flush=True)
        if found.error is not None:
            raise found.error
        if was_running:
            print("[INFO] Query terminated.")

    def _most_rows(self) -> int:
        return int(self._t_env.get_config().get(_MOST_ROWS, "1000000"))


def _check_mode(value: str | None) -> None:
    if str(value).lower() not in _MODES:
        raise ConfigurationError(
            f"{RESULT_MODE!r} has no such value",
            got=show_value(value),
            todo=f"use one of: {', '.join(_MODES)}",
        )


def _is_batch(value: str | None) -> bool:
    word = str(value).upper()
    if word not in ("BATCH", "STREAMING"):
        raise ConfigurationError(
            f"{RUNTIME_MODE.key!r} has no such value",
            got=show_value(value),
            todo="use batch or streaming",
        )
    return word == "BATCH"


def _tell(error: PenstockError) -> None:
    print("[ERROR] Could not execute SQL statement. Reason:", flush=True)
    print(str(error), flush=True)


if __name__ == "__main__":
    sys.exit(main())
