"""`penstock list`, `cancel`, `stop` and `savepoint`: control jobs that run."""

from __future__ import annotations

import argparse
import os

from penstock.cli.printing import print_jobs
from penstock.connectors.file_paths import absolute
from penstock.execution.job_control import find_job, running_jobs
from penstock.runtime.coordinator.savepoints import dispose

Commands = argparse._SubParsersAction  # argparse has no public name for it


def add_parsers(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the commands with their options."""
    listing = commands.add_parser("list", help="list jobs of this user on this machine")
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


def list_jobs(options: argparse.Namespace) -> int:
    """List jobs."""
    print("Waiting for response...")
    some = options.running or options.scheduled
    print_jobs(
        running_jobs(),
        running=options.running or options.all or not some,
        scheduled=options.scheduled or options.all or not some,
        ended=options.all,
    )
    return 0


def cancel_job(options: argparse.Namespace) -> int:
    """Cancel a job, and wait until it has ended."""
    job = find_job(options.job_id)
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
    job = find_job(options.job_id)
    print(f'Suspending job "{job.job_id}" with a CANONICAL savepoint.')
    path = job.ask("stop", drain=options.drain, directory=_directory(options.savepointPath))
    print(f"Savepoint completed. Path: {path}")
    return 0


def savepoint_command(options: argparse.Namespace) -> int:
    """Write a savepoint of a job that goes on, or remove one."""
    if options.dispose:
        print(f"Disposing savepoint '{options.dispose}'.")
        print("Waiting for response...")
        dispose(absolute(options.dispose))
        print(f"Savepoint '{options.dispose}' disposed.")
        return 0
    if not options.job_id:
        raise SystemExit("penstock savepoint: give the id of a job, or -d and a path")
    job = find_job(options.job_id)
    print(f"Triggering savepoint for job {job.job_id}.")
    print("Waiting for response...")
    path = job.ask("savepoint", directory=_directory(options.directory))
    print(f"Savepoint completed. Path: {path}")
    print("You can resume your program from this savepoint with the run command.")
    return 0


def _directory(given: str | None) -> str | None:
    """Return a folder as the job's process, which works in another one, will find it."""
    if not given:
        return None
    return given if "://" in given or given.startswith("file:") else os.path.abspath(given)
