"""`penstock run`: start a program with the options of the command line."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import Any

from penstock.cli.program_upload import uploaded_files
from penstock.cli.session_client import ENDED, SessionClient, session_address
from penstock.common.options import (
    CLAIM_MODE,
    IGNORE_UNCLAIMED,
    MASTER,
    PARALLELISM,
    PROGRESS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    RECOVERY_PATH,
)
from penstock.common.status_line import STATUS
from penstock.errors import ConfigurationError, JobFailedError, show_value
from penstock.execution.command_settings import settings_of
from penstock.execution.configuration import CLIENT_OPTIONS, SUBMITTED_VARIABLE
from penstock.execution.job_control import running_jobs
from penstock.execution.program_path import with_program_path

_POLL_SECONDS = 0.3


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("run", help="run a program", allow_abbrev=False)
    parser.add_argument("-d", "--detached", action="store_true", help="return once the job runs")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "-m", "--jobmanager", metavar="MASTER|URL", help="Spark master, or address of a session"
    )
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
    add_program_options(parser)
    parser.set_defaults(command=run)


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which program, and with what."""
    parser.add_argument(
        "-p", "--parallelism", type=int, metavar="N", help="where the program sets none"
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


def names_program(options: argparse.Namespace) -> bool:
    """Tell whether an option has named the program, so that all else is for it."""
    return bool(vars(options).get("pyModule") or vars(options).get("python"))


def run(options: argparse.Namespace) -> int:
    """Run a program; in the foreground this process becomes the program.

    :raises ConfigurationError: if no program is given, or a setting is not `key=value`.
    """
    address = session_address(options.jobmanager) if options.jobmanager else None
    if address is not None:
        return submit(SessionClient(address), options)
    command = program_command(options, "penstock run")
    environment = {**program_environment(options), SUBMITTED_VARIABLE: "1"}
    sys.stdout.flush()
    if options.detached:
        return _run_detached(command, environment)
    os.execvpe(command[0], command, environment)


def submit(session: SessionClient, options: argparse.Namespace) -> int:
    """Have a session run a program; in the foreground, wait for its end.

    The session gets the script and what -pyfs, -pyarch and -pyreq name; a module is one of -pyfs,
    or one that the session has. Interpreters are those of the session's machine.
    """
    with uploaded_files(session, program_settings(options)) as settings:
        asked = {
            "flinkConfiguration": settings,
            "pyClientExecutable": options.pyClientExecutable,
        }
        if options.pyModule:
            asked["programArgsList"] = list(options.program)
            module = urllib.parse.quote(options.pyModule, safe="")
            job_id = session.ask("POST", f"/modules/{module}/run", asked)["jobid"]
        else:
            job_id = _submit_script(session, options, asked)
    print(f"Job has been submitted with JobID {job_id}", flush=True)
    if options.detached:
        return 0
    return _wait_for(session, job_id, quiet=options.quiet)


def _submit_script(
    session: SessionClient, options: argparse.Namespace, asked: dict[str, Any]
) -> str:
    script, arguments = _script(options, "penstock run -m")
    body = {"name": os.path.basename(script), "content": Path(script).read_text(encoding="utf-8")}
    uploaded = session.ask("POST", "/scripts/upload", body)["id"]
    try:
        run_ = {**asked, "programArgsList": arguments}
        return str(session.ask("POST", f"/scripts/{uploaded}/run", run_)["jobid"])
    finally:
        # The session has made a copy for the job.
        session.ask("DELETE", f"/scripts/{uploaded}")


def _wait_for(session: SessionClient, job_id: str, *, quiet: bool) -> int:
    """Wait for the end of a job in a session; a line tells how far it is."""
    STATUS.want(not quiet)
    try:
        while (job := session.job(job_id)).status not in ENDED:
            STATUS.say(f"{job.status.lower()}: {progress(session, job_id)}")
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        # As a program of this machine: whoever interrupts it cancels its job.
        job.ask("cancel")
        raise
    finally:
        STATUS.clear()
    if job.status == "FINISHED":
        print(f"Job {job_id} has finished.")
        return 0
    found = session.ask("GET", f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]
    cause = found[0]["stacktrace"] if found else f"the job is {job.status}"
    raise JobFailedError(cause)


def progress(session: SessionClient, job_id: str) -> str:
    """Return how far a job of a session is: batch, records, rate, watermark."""
    batches = session.ask("GET", f"/jobs/{job_id}/batches")["batches"]
    if not batches:
        return "the first batch"
    last = batches[-1]
    records = sum(batch["records-in"] for batch in batches)
    seconds = (last["begin"] + last["duration"] - batches[0]["begin"]) / 1000
    facts = [f"batch {last['number']}", f"{last['records-in']:,} records"]
    if seconds > 0:
        facts.append(f"{records / seconds:,.0f} records/s")
    if last["watermark"] is not None:
        facts.append(
            f"watermark {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(last['watermark'] / 1000))}"
        )
    return ", ".join(facts)


def program_command(options: argparse.Namespace, where: str) -> list[str]:
    """Return the command that runs the program.

    :raises ConfigurationError: if there is no program.
    """
    interpreter = options.pyClientExecutable or sys.executable
    if options.pyModule:
        return [interpreter, "-m", options.pyModule, *options.program]
    script, arguments = _script(options, where)
    return [interpreter, script, *arguments]


def _script(options: argparse.Namespace, where: str) -> tuple[str, list[str]]:
    arguments = list(options.program)
    script = options.python or (arguments.pop(0) if arguments else None)
    if script is None:
        raise ConfigurationError(
            "no program is given",
            where=where,
            todo=f"write: {where} script.py [arguments]",
        )
    if not Path(script).is_file():
        raise ConfigurationError(
            "there is no such program",
            where=where,
            got=show_value(script),
            todo="pass the path of a Python script",
        )
    return script, arguments


def program_environment(options: argparse.Namespace) -> dict[str, str]:
    """Return the environment variables of the program."""
    settings = program_settings(options)
    return {**with_program_path(os.environ, settings), CLIENT_OPTIONS: json.dumps(settings)}


def program_settings(options: argparse.Namespace) -> dict[str, str]:
    """Return the settings that the options of the command line make."""
    settings = settings_of(options.settings, "penstock run -D")
    start = vars(options)
    given = {
        PARALLELISM.key: options.parallelism,
        MASTER.key: _master(start.get("jobmanager")),
        RECOVERY_PATH.key: _whole_path(start.get("fromSavepoint")),
        CLAIM_MODE.key: start.get("restoreMode"),
        PYTHON_FILES.key: options.pyFiles,
        PYTHON_ARCHIVES.key: options.pyArchives,
        PYTHON_REQUIREMENTS.key: options.pyRequirements,
        PYTHON_EXECUTABLE.key: options.pyExecutable,
        IGNORE_UNCLAIMED.key: "true" if start.get("allowNonRestoredState") else None,
        PROGRESS.key: "false" if start.get("quiet") else None,
    }
    return {**settings, **{key: str(value) for key, value in given.items() if value}}


def _master(given: str | None) -> str | None:
    return None if given is None or session_address(given) is not None else given


def _whole_path(path: str | None) -> str | None:
    if not path:
        return None
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
