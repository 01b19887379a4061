"""A job travels whole, with the classes of the user's own script, or says what cannot travel."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.core.functions import MapFunction
from penstock.errors import SerializationError
from penstock.graph.plan import ExecutionPlan
from penstock.graph.specs import MapSpec
from penstock.runtime.job import dump_job, load_job, with_settings
from tests.unit.runtime.plans import Planner

LOCK = threading.Lock()
ROOT = Path(__file__).parents[3]


def plan_with(function: Any) -> ExecutionPlan:
    plan = Planner()
    plan.sink(plan.add(MapSpec(function), plan.source(), name="locked"))
    return plan.build()


def test_a_worker_unpickles_a_job_once() -> None:
    blob = dump_job(plan_with(lambda value: value + 1))
    job = load_job("once", blob)
    assert load_job("once", b"is not looked at again") is job
    assert load_job("other", blob) is not job
    assert job.plan.operator(1).spec.function(1) == 2  # type: ignore[attr-defined]


def test_settings_that_are_known_later() -> None:
    blob = with_settings(dump_job(plan_with(str)), {"penstock.job-id": "a", "penstock.attempt": 1})
    blob = with_settings(blob, {"penstock.attempt": 2})
    settings = load_job("told later", blob).plan.settings
    assert (settings["penstock.job-id"], settings["penstock.attempt"]) == ("a", 2)


def test_only_so_many_jobs_are_kept() -> None:
    blob = dump_job(plan_with(str))
    first = load_job("first", blob)
    for number in range(8):
        load_job(f"later {number}", blob)
    assert load_job("first", blob) is not first


def refused(function: Any) -> str:
    with pytest.raises(SerializationError) as caught:
        dump_job(plan_with(function))
    return str(caught.value)


WHAT = (
    "the function of 'locked' cannot be sent to the workers: "
    "TypeError: cannot pickle '_thread.lock' object\n"
    "  where: operator 'locked', built at job.py:11\n"
)
ADVICE = "  to do: create it inside open() instead, or pass plain data to the function"


def test_a_variable_that_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    text = refused(lambda value: (lock, value))
    assert text == f"{WHAT}  got:   variable 'lock' is a lock\n{ADVICE}"


def test_a_global_variable_that_cannot_be_pickled_is_named() -> None:
    scope: dict[str, Any] = {"LOCK": LOCK, "__name__": "__main__"}
    text = refused(eval("lambda value: (LOCK, value)", scope))
    assert text == f"{WHAT}  got:   variable 'LOCK' is a lock\n{ADVICE}"


def test_an_attribute_that_cannot_be_pickled_is_named() -> None:
    class Locked(MapFunction):
        def __init__(self) -> None:
            self.number = 1
            self.lock = threading.Lock()

        def map(self, value: Any) -> Any:
            return value

    assert refused(Locked()) == f"{WHAT}  got:   attribute 'lock' is a lock\n{ADVICE}"


SCRIPT = """
import enum, sys
from collections import namedtuple
from dataclasses import dataclass
from penstock.runtime.job import dump_job
from penstock.graph.specs import MapSpec
from tests.unit.runtime.plans import Planner

class Colour(enum.Enum):
    RED = 1

@dataclass(frozen=True)
class Reading:
    sensor: str
    colour: Colour = Colour.RED

Point = namedtuple("Point", "x y")

class Unpicklable:
    import threading
    lock = threading.Lock()

def convert(value):
    reading = Reading(value)
    return reading, Point(1, 2), isinstance(reading, Reading)

if __name__ == "__main__":
    plan = Planner()
    plan.sink(plan.add(MapSpec(convert), plan.source()))
    sys.stdout.buffer.write(dump_job(plan.build()))
"""

WORKER = """
import pickle, sys
from penstock.runtime.job import load_job
job = load_job("t", sys.stdin.buffer.read())
reading, point, fits = job.plan.operator(1).spec.function("s1")
data = pickle.dumps((reading, point))
assert fits and b"Reading" in data and len(data) < 200, len(data)
copy, _ = pickle.loads(data)
assert copy == reading and type(copy) is type(reading) and copy.colour is reading.colour
assert type(reading).__module__ == "__main__"
assert __name__ == "__main__" and "job" in globals(), "its own main is left alone"
import __main__
__main__.Reading
print("fine")
"""


def test_classes_of_the_script_are_pickled_by_name_in_a_worker(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    blob = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, check=False)
    assert blob.returncode == 0, blob.stderr.decode()
    path, *_ = pickle.loads(blob.stdout)
    assert str(tmp_path) in path, "modules beside the script can be imported"
    worker = subprocess.run(
        [sys.executable, "-c", WORKER], env=env, input=blob.stdout, capture_output=True, check=False
    )
    assert (worker.stdout.decode(), worker.stderr.decode()) == ("fine\n", "")
