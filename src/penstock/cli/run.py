"""`penstock run`: start a program with the options of the command line."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from penstock.cli.settings import settings_of
from penstock.common.options import (
    CLAIM_MODE,
    IGNORE_UNCLAIMED,
    MASTER,
    PARALLELISM,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    RECOVERY_PATH,
)
from penstock.errors import ConfigurationError, JobFailedError, show_value
from penstock.execution.configuration import CLIENT_OPTIONS, SUBMITTED_VARIABLE
from penstock.execution.job_control import running_jobs

_POLL_SECONDS = 0.3


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("run", help="run a program")
    parser.add_argument("-d", "--detached", action="store_true", help="return once the job runs")
    parser.add_argument(
        "-p", "--parallelism", type=int, metavar="N", help="where the program sets none"
    )
    parser.add_argument("-m", "--jobmanager", metavar="MASTER", help="Spark master")
    parser.add_argument("-s", "--fromSavepoint", metavar="PATH", help="savepoint to go on from")
    parser.add_argument(
        "-n",
        "--allowNonRestoredState",
        action="store_true",
        help="leave out state of the savepoint that no operator has",
    )
    parser.add_argument(
        "-rm", "--restoreMode", "-claimMode", metavar="MODE", help="CLAIM or NO_CLAIM"
    )
    parser.add_argument(
        "-D", action="append", default=[], metavar="key=value", dest="settings", help="a setting"
    )
    parser.add_argument("-py", "--python", metavar="FILE", help="the program, as a file")
    parser.add_argument("-pym", "--pyModule", metavar="MODULE", help="the program, as a module")
    parser.add_argument("-pyfs", "--pyFiles", metavar="FILES", help="files for the workers")
    parser.add_argument("-pyarch", "--pyArchives", metavar="FILES", help="archives for the workers")
    parser.add_argument("-pyreq", "--pyRequirements", metavar="FILE", help="requirements file")
    parser.add_argument("-pyexec", "--pyExecutable", metavar="PYTHON", help="workers' interpreter")
    parser.add_argument(
        "-pyclientexec", "--pyClientExecutable", metavar="PYTHON", help="program's interpreter"
    )
    parser.add_argument("-c", "--class", dest="entry", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help="script.py and its arguments")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run a program; in the foreground this process becomes the program.

    :raises ConfigurationError: if no program is given, or a setting is not `key=value`.
    """
    command = _command(options)
    environment = {
        **os.environ,
        CLIENT_OPTIONS: json.dumps(_settings(options)),
        SUBMITTED_VARIABLE: "1",
    }
    sys.stdout.flush()
    if options.detached:
        return _run_detached(command, environment)
    os.execvpe(command[0], command, environment)


def _command(options: argparse.Namespace) -> list[str]:
    interpreter = options.pyClientExecutable or sys.executable
    arguments = list(options.program)
    if options.pyModule:
        return [interpreter, "-m", options.pyModule, *arguments]
    script = options.python or (arguments.pop(0) if arguments else None)
    if script is None:
        raise ConfigurationError(
            "no program is given",
            where="penstock run",
            todo="write: penstock run script.py [arguments]",
        )
    if not Path(script).is_file():
        raise ConfigurationError(
            "there is no such program",
            where="penstock run",
            got=show_value(script),
            todo="pass the path of a Python script",
        )
    return [interpreter, script, *arguments]


def _settings(options: argparse.Namespace) -> dict[str, str]:
    settings = settings_of(options.settings, "penstock run -D")
    given = {
        PARALLELISM.key: options.parallelism,
        MASTER.key: options.jobmanager,
        RECOVERY_PATH.key: options.fromSavepoint and _whole_path(options.fromSavepoint),
        CLAIM_MODE.key: options.restoreMode,
        PYTHON_FILES.key: options.pyFiles,
        PYTHON_ARCHIVES.key: options.pyArchives,
        PYTHON_REQUIREMENTS.key: options.pyRequirements,
        PYTHON_EXECUTABLE.key: options.pyExecutable,
    }
    if options.allowNonRestoredState:
        given[IGNORE_UNCLAIMED.key] = "true"
    return {**settings, **{key: str(value) for key, value in given.items() if value}}


def _whole_path(path: str) -> str:
    return path if "://" in path or path.startswith("file:") else os.path.abspath(path)


def _run_detached(command: list[str], environment: dict[str, str]) -> int:
    handle, log = tempfile.mkstemp(prefix="penstock-", suffix=".log")
    with open(handle, "wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    while process.poll() is None:
        for job in running_jobs():
            if job.pid == process.pid:
                print(f"Job has been submitted with JobID {job.job_id}")
                return 0
        time.sleep(_POLL_SECONDS)
    if process.returncode == 0:
        print(f"The program has ended; its output is in {log}")
        return 0
    raise JobFailedError(
        "the program ended before it had started a job",
        got=f"exit code {process.returncode}",
        todo=f"see its output: {log}",
    )
