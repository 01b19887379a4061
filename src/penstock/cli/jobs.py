"""`penstock list`, `cancel`, `stop`, `savepoint` and `checkpoint`: control jobs that run.

They are for the session that `-m` or the configuration file names, and else for the jobs of this
user on this machine.
"""

from __future__ import annotations

import argparse
import os

from penstock.cli.printing import print_jobs
from penstock.cli.session_client import SessionClient, SessionJob, session_address
from penstock.connectors.file_paths import absolute
from penstock.execution.job_control import JobEntry, find_job, running_jobs
from penstock.runtime.coordinator.savepoints import dispose

Commands = argparse._SubParsersAction  # argparse has no public name for it


def add_parsers(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the commands with their options."""
    listing = commands.add_parser("list", help="list jobs")
    listing.add_argument("-r", "--running", action="store_true", help="running ones only")
    listing.add_argument("-s", "--scheduled", action="store_true", help="those not started yet")
    listing.add_argument("-a", "--all", action="store_true", help="those that have ended as well")
    listing.set_defaults(command=list_jobs)

    cancel = commands.add_parser("cancel", help="cancel a job")
    cancel.add_argument(
        "-s",
        "--withSavepoint",
        nargs="?",
        const="",
        metavar="DIR",
        help="write a savepoint first; 'stop' is better",
    )
    cancel.add_argument("job_id")
    cancel.set_defaults(command=cancel_job)

    stop = commands.add_parser("stop", help="write a savepoint and end a job")
    stop.add_argument("-p", "--savepointPath", metavar="DIR", help="folder of the savepoint")
    stop.add_argument(
        "-d", "--drain", action="store_true", help="send MAX_WATERMARK first: all windows fire"
    )
    stop.add_argument("job_id")
    stop.set_defaults(command=stop_job)

    savepoint = commands.add_parser("savepoint", help="write a savepoint, or dispose of one")
    savepoint.add_argument("-d", "--dispose", metavar="PATH", help="remove this savepoint")
    savepoint.add_argument("job_id", nargs="?")
    savepoint.add_argument("directory", nargs="?", help="folder of the savepoint")
    savepoint.set_defaults(command=savepoint_command)

    checkpoint = commands.add_parser("checkpoint", help="complete a checkpoint now")
    checkpoint.add_argument(
        "-full", "--full", action="store_true", help="as every checkpoint is, in the end"
    )
    checkpoint.add_argument("job_id")
    checkpoint.set_defaults(command=checkpoint_command)
    for parser in (listing, cancel, stop, savepoint, checkpoint):
        parser.add_argument("-m", "--jobmanager", metavar="HOST:PORT", help="address of a session")


def list_jobs(options: argparse.Namespace) -> int:
    """List jobs."""
    print("Waiting for response...")
    some = options.running or options.scheduled
    address = session_address(options.jobmanager)
    print_jobs(
        running_jobs() if address is None else SessionClient(address).jobs(),
        running=options.running or options.all or not some,
        scheduled=options.scheduled or options.all or not some,
        ended=options.all,
    )
    return 0


def cancel_job(options: argparse.Namespace) -> int:
    """Cancel a job, and wait until it has ended."""
    job = _job(options)
    if options.withSavepoint is not None:
        directory = _directory(options.withSavepoint)
        where = directory or "the default savepoint directory"
        print(f"Cancelling job {job.job_id} with savepoint to {where}.")
        path = job.ask("cancel-with-savepoint", directory=directory)
        print(f"Cancelled job {job.job_id}. Savepoint stored in {path}.")
        return 0
    print(f"Cancelling job {job.job_id}.")
    job.ask("cancel")
    print(f"Cancelled job {job.job_id}.")
    return 0


def stop_job(options: argparse.Namespace) -> int:
    """Write a savepoint and end a job."""
    job = _job(options)
    print(f'Suspending job "{job.job_id}" with a CANONICAL savepoint.')
    path = job.ask("stop", drain=options.drain, directory=_directory(options.savepointPath))
    print(f"Savepoint completed. Path: {path}")
    return 0


def savepoint_command(options: argparse.Namespace) -> int:
    """Write a savepoint of a job that goes on, or remove one."""
    if options.dispose:
        print(f"Disposing savepoint '{options.dispose}'.")
        print("Waiting for response...")
        _dispose(options)
        print(f"Savepoint '{options.dispose}' disposed.")
        return 0
    if not options.job_id:
        raise SystemExit("penstock savepoint: give the id of a job, or -d and a path")
    job = _job(options)
    print(f"Triggering savepoint for job {job.job_id}.")
    print("Waiting for response...")
    path = job.ask("savepoint", directory=_directory(options.directory))
    print(f"Savepoint completed. Path: {path}")
    print("You can resume your program from this savepoint with the run command.")
    return 0


def checkpoint_command(options: argparse.Namespace) -> int:
    """Complete a checkpoint of a job that goes on."""
    job = _job(options)
    print(f"Triggering checkpoint for job {job.job_id}.")
    print("Waiting for response...")
    number = job.ask("checkpoint")
    print(f"Checkpoint {number} for job {job.job_id} completed.")
    print("You can resume your program from this checkpoint with the run command.")
    return 0


def _job(options: argparse.Namespace) -> JobEntry | SessionJob:
    address = session_address(options.jobmanager)
    if address is None:
        return find_job(options.job_id)
    return SessionClient(address).job(options.job_id)


def _dispose(options: argparse.Namespace) -> None:
    address = session_address(options.jobmanager)
    if address is None:
        dispose(absolute(options.dispose))
        return
    session = SessionClient(address)
    body = {"savepoint-path": options.dispose}
    asked = session.ask("POST", "/savepoint-disposal", body)
    session.wait_for(f"/savepoint-disposal/{asked['request-id']}")


def _directory(given: str | None) -> str | None:
    """Return a folder as the job's process, which works in another one, will find it."""
    if not given:
        return None
    return given if "://" in given or given.startswith("file:") else os.path.abspath(given)
