"""Ship a job to the workers, with the classes of the user's own script.

Classes of `__main__` cannot be imported by a worker. They are pickled by value once a job and put
into the worker's `__main__`, so that records of those classes pickle by name: fast, and equal to
what is read back from state after a restart. It works the same for a script and a notebook. Classes
that are defined inside functions travel in the same way, under names that the job gives them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import pickle
import sys
import types
from collections import Counter, OrderedDict
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import cloudpickle

from penstock.connectors.file_paths import ensure_registered
from penstock.core.pickling import name_class
from penstock.errors import SerializationError
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SourceSpec

#: Setting of a job: the file systems that the program has registered, by scheme.
FILE_SYSTEMS_SETTING = "penstock.file-systems"
#: Jobs that a worker process keeps at hand.
_KEPT_JOBS = 8
_LIBRARIES = ("pyarrow", "pandas")


@dataclass
class Job:
    """A job as a worker knows it."""

    token: str
    plan: ExecutionPlan


_jobs: OrderedDict[str, Job] = OrderedDict()


def dump_job(plan: ExecutionPlan) -> bytes:
    """Pickle a job for the workers.

    :raises SerializationError: naming the operator whose function cannot be pickled.
    """
    try:
        plan_blob, local_classes = _dump_plan(plan)
    except Exception as error:
        raise _blame_operator(plan, error) from None
    classes = _dump_main_classes(), _dump_local_classes(local_classes)
    return pickle.dumps((list(sys.path), _eclipsing_modules(), classes, plan_blob, {}))


def with_settings(blob: bytes, settings: dict[str, Any]) -> bytes:
    """Return a pickled job with settings that were not known yet when it was pickled."""
    *parts, known = pickle.loads(blob)
    return pickle.dumps((*parts, {**known, **settings}))


def known_job(token: str) -> Job | None:
    """Return a job that this process has met, None if it has not, or has met many since."""
    return _jobs.get(token)


def load_job(token: str, blob: bytes) -> Job:
    """Return the job; unpickle it the first time that this process meets it."""
    job = known_job(token)
    if job is None:
        # In this order: modules must be importable before classes that refer to them are read,
        # and the script's classes must be there before instances of them are.
        path, eclipsing, (main_classes, local_classes), plan_blob, settings = pickle.loads(blob)
        sys.path.extend(entry for entry in path if entry not in sys.path)
        _load_modules(eclipsing)
        for class_blob in main_classes:
            _install_in_main(cloudpickle.loads(class_blob))
        for class_blob in local_classes:
            name_class(*cloudpickle.loads(class_blob))
        plan: ExecutionPlan = cloudpickle.loads(plan_blob)
        plan.settings.update(settings)
        ensure_registered(plan.settings.get(FILE_SYSTEMS_SETTING, {}))
        job = _jobs[token] = Job(token, plan)
        while len(_jobs) > _KEPT_JOBS:
            _jobs.popitem(last=False)
    return job


def _eclipsing_modules() -> dict[str, str]:
    """Find the program's modules that are named like one of Python's own: name and file."""
    own = os.path.dirname(os.__file__)
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name in sys.stdlib_module_names and file and not file.startswith(own):
            directory = os.path.dirname(file)
            if directory in sys.path and file.endswith(".py") and "site-packages" not in file:
                found[name] = file
    return found


def _load_modules(files: dict[str, str]) -> None:
    """Let the program's modules stand where this process would find Python's own."""
    for library in _LIBRARIES if files else ():
        # In a worker they are loaded when they are needed, and may want Python's own.
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    for name, file in files.items():
        spec = importlib.util.spec_from_file_location(name, file)
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded != file and os.path.exists(file) and spec is not None and spec.loader is not None:
            # Whoever has imported the other one keeps it.
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)


class _WatchfulPickler(cloudpickle.Pickler):  # type: ignore[misc, unused-ignore]
    """Take note of the classes inside functions that are met on the way."""

    def __init__(self, file: io.BytesIO, local_classes: dict[type, None]) -> None:
        super().__init__(file)
        self._local_classes = local_classes

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and "<locals>" in obj.__qualname__:
            self._local_classes[obj] = None
        return super().reducer_override(obj)


def _dump_plan(plan: ExecutionPlan) -> tuple[bytes, list[type]]:
    """Return the plan, and the classes inside functions that its records may be made of."""
    classes: dict[type, None] = {}
    with io.BytesIO() as file:
        _WatchfulPickler(file, classes).dump(plan)
        blob = file.getvalue()
    for operator in plan.operators:
        if isinstance(operator.spec, SourceSpec):
            for held in operator.spec.source.kept_here():
                # What cannot be pickled need not be: it stays.
                with io.BytesIO() as file, contextlib.suppress(Exception):
                    _WatchfulPickler(file, classes).dump(held)
    return blob, list(classes)


def _dump_local_classes(classes: list[type]) -> list[bytes]:
    """Name and pickle classes; one that is not the first of its name is told apart by its place."""
    seen: Counter[str] = Counter()
    blobs = []
    for kind in classes:
        name = f"{kind.__module__}.{kind.__qualname__}"
        seen[name] += 1
        name += f"#{seen[name]}" if seen[name] > 1 else ""
        with contextlib.suppress(Exception):  # a class that no record is made of need not travel
            blobs.append(cloudpickle.dumps((name, kind)))
            name_class(name, kind)
    return blobs


def _dump_main_classes() -> list[bytes]:
    main = sys.modules["__main__"]
    classes = {
        name: value
        for name, value in list(vars(main).items())
        if isinstance(value, type) and value.__module__ == "__main__"
    }
    blobs = []
    for name, value in classes.items():
        try:
            blobs.append(cloudpickle.dumps((name, value)))
        except Exception:
            continue  # a class that no record is made of need not travel
    return blobs


def _install_in_main(named_class: tuple[str, type]) -> None:
    name, value = named_class
    main = sys.modules["__main__"]
    if getattr(main, name, None) is value:
        return  # the user's own process
    if not isinstance(main, _WorkerMain):
        # A worker's `__main__` is Spark's: leave that module alone, and stand in for it.
        main = sys.modules["__main__"] = _WorkerMain("__main__")
    setattr(main, name, value)


class _WorkerMain(types.ModuleType):
    """The user's `__main__`, as far as a worker needs it."""


def _blame_operator(plan: ExecutionPlan, error: Exception) -> SerializationError:
    for operator in plan.operators:
        try:
            cloudpickle.dumps(operator.spec)
        except Exception as cause:
            return SerializationError(
                f"the function of {operator.name!r} cannot be sent to the workers: "
                f"{type(cause).__name__}: {cause}",
                where=operator.describe(),
                got=_culprit(operator),
                todo="create it inside open() instead, or pass plain data to the function",
            )
    return SerializationError(f"the job cannot be sent to the workers: {error}")


def _culprit(operator: PlanOperator) -> str | None:
    """Name the variable or attribute that cannot be pickled, if it can be found."""
    spec = operator.spec
    values: list[Any]
    values = [getattr(spec, f.name) for f in fields(spec)] if is_dataclass(spec) else []
    for value in values:
        closure = getattr(value, "__closure__", None) or ()
        names = getattr(getattr(value, "__code__", None), "co_freevars", ())
        held = {n: c.cell_contents for n, c in zip(names, closure, strict=False)}
        code = getattr(value, "__code__", None)
        if code is not None:
            scope = value.__globals__
            held |= {name: scope[name] for name in code.co_names if name in scope}
        kind = "variable" if held else "attribute"
        held = held or dict(getattr(value, "__dict__", {}))
        for name, content in held.items():
            try:
                cloudpickle.dumps(content)
            except Exception:
                return f"{kind} {name!r} is a {type(content).__name__}"
    return None
