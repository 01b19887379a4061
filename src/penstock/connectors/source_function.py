"""Source functions: a loop of the user's, run in the user's process, as a source."""

from __future__ import annotations

import copy
import logging
import os
import sysconfig
import traceback
from typing import Any, NamedTuple

from penstock.common.watermark import Watermark
from penstock.connectors.receiver import (
    CheckpointLock,
    Receiver,
    ReceiverEnumerator,
    ReceiverLog,
    ReceiverSettings,
    ReceiverSource,
    ReceiverStopped,
)
from penstock.connectors.source_runtime_context import SourceRuntimeContext
from penstock.core.functions.accumulators import Accumulator
from penstock.core.functions.checkpointed import FunctionSnapshotContext
from penstock.core.functions.host import FunctionHost
from penstock.core.functions.source import ParallelSourceFunction, SourceFunction
from penstock.core.io import EnumeratorContext, SplitEnumerator
from penstock.core.pickling import dumps, loads
from penstock.errors import PenstockError, SerializationError, SourceError, show_value

_log = logging.getLogger(__name__)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class SourceFunctionSource(ReceiverSource):
    """Run a `SourceFunction` and read what it collects.

    Each subtask runs a copy of the function in a thread of the user's process; a function that is
    no `ParallelSourceFunction` runs in one subtask. What it collects is logged before a batch sees
    it, and its attributes with it. After a restart the attributes are as they were and `run` is
    called again, unless it had returned; a loop over local variables starts from the beginning.
    Records and attributes belong together exactly if they change under `ctx.get_checkpoint_lock()`.
    """

    fixed_splits = True
    bounded = False

    def __init__(
        self, function: SourceFunction[Any], settings: ReceiverSettings | None = None
    ) -> None:
        self._function: SourceFunction[Any] | None = function
        self._settings = settings
        self.parallel = isinstance(function, ParallelSourceFunction)

    def __getstate__(self) -> dict[str, Any]:
        # Workers only read the log; the function may hold what they could not even import.
        return {**self.__dict__, "_function": None}

    def kept_here(self) -> list[Any]:
        return [self._function]

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        def make(subtask: int, log: ReceiverLog, state: bytes | None) -> Receiver:
            function = _copied(self._function, context.operator)
            return _FunctionReceiver(function, subtask, log, state, context)

        return _FunctionEnumerator(context, make, self._settings)


class LogSourceContext(SourceFunction.SourceContext[Any]):
    """Take what a source function produces, into its log."""

    def __init__(self, log: ReceiverLog) -> None:
        self._log = log

    def collect(self, element: Any) -> None:
        self._log.append(element)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        self._log.append(element, timestamp)

    def emit_watermark(self, mark: Watermark) -> None:
        self._log.mark(mark.timestamp)

    def mark_as_temporarily_idle(self) -> None:
        self._log.mark_idle()

    def get_checkpoint_lock(self) -> CheckpointLock:
        return self._log.lock

    def close(self) -> None:
        self._log.end()


class _FunctionEnumerator(ReceiverEnumerator):
    """Knows too what the functions have counted."""

    def accumulators(self) -> dict[int, dict[str, Any]]:
        found = {}
        for name, hosted in self._hosted.items():
            if isinstance(hosted.receiver, _FunctionReceiver):
                found[int(name)] = hosted.receiver.accumulators()
            elif hosted.log.log.state is not None:  # its run() had returned before a restart
                found[int(name)] = _Saved.load(hosted.log.log.state).accumulators
        return found

    def metrics(self) -> dict[str, Any]:
        receivers = (hosted.receiver for hosted in self._hosted.values())
        functions = [r for r in receivers if isinstance(r, _FunctionReceiver)]
        return {name: value for f in functions for name, value in f.metrics().items()}


class _Saved(NamedTuple):
    """What belongs to a function's records, beside them."""

    attributes: bytes | None = None
    operator_state: bytes | None = None
    checkpoints: int = 0
    accumulators: dict[str, Accumulator[Any, Any]] = {}  # noqa: RUF012 - never changed

    @classmethod
    def load(cls, data: bytes | None) -> _Saved:
        return cls() if data is None else cls(*loads(data))


class _FunctionReceiver(Receiver):
    repeats = True

    def __init__(
        self,
        function: SourceFunction[Any],
        subtask: int,
        log: ReceiverLog,
        state: bytes | None,
        context: EnumeratorContext,
    ) -> None:
        self._function = function
        self._log = log
        self._saved = _Saved.load(state)
        self._checkpoints = self._saved.checkpoints
        self._context = context
        assert context.operator_state is not None
        self._store = context.operator_state(
            f"source {context.operator!r}", self._saved.operator_state
        )
        self._runtime_context = SourceRuntimeContext(
            context, subtask, self._store, restored=state is not None
        )
        self._host = FunctionHost(function, self._runtime_context, self._call)
        self._opened = False

    def run(self) -> None:
        try:
            self._host.open()
            self._runtime_context.restore_accumulators(self._saved.accumulators)
            if self._saved.attributes is not None:
                self._host.restore(self._saved.attributes)
            self._opened = True
            self._call("run", LogSourceContext(self._log))
        except BaseException:
            try:
                self._host.close()
            except Exception:
                # The first error is the one that tells.
                _log.warning("close() of %r raised too", self._context.operator, exc_info=True)
            raise
        self._host.close()

    def cancel(self) -> None:
        self._function.cancel()

    def snapshot(self) -> bytes | None:
        if not self._opened:
            return None
        operator_state = None
        if self._host.checkpointed:
            self._checkpoints += 1
            self._host.save_operator_state(
                FunctionSnapshotContext(self._checkpoints, self._context.now())
            )
            operator_state = self._store.save()
        saved = self._host.snapshot(), operator_state, self._checkpoints, self.accumulators()
        return dumps(saved)

    def accumulators(self) -> dict[str, Accumulator[Any, Any]]:
        """Return copies of the function's accumulators as they are now."""
        while True:
            try:
                return {n: a.clone() for n, a in self._runtime_context.accumulators.items()}
            except RuntimeError:  # the function has added something meanwhile
                continue

    def metrics(self) -> dict[str, Any]:
        """Return the readings of the function's metrics."""
        return self._runtime_context.get_metrics_group().report()

    def _call(self, method: str, *arguments: Any) -> None:
        try:
            getattr(self._function, method)(*arguments)
        except ReceiverStopped:
            raise
        except BaseException as error:
            described = _described(error, method, self._context.operator)
            if described is error:
                raise
            raise described from error


def _copied(function: SourceFunction[Any] | None, operator: str) -> SourceFunction[Any]:
    if function is None:
        raise SourceError(
            "a source function runs only in the process that made it",
            where=f"source {operator!r}",
        )
    try:
        # Not by cloudpickle: it would bind the methods of a class of the user's script, here in the
        # user's own process, to copies of the script's variables.
        return copy.deepcopy(function)
    except Exception as error:
        raise SerializationError(
            "a source function cannot be copied, one copy for each subtask",
            where=f"source {operator!r}",
            got=f"{show_value(function)} ({type(error).__name__}: {error})",
            todo="open files, locks and connections in open() or run(), not in the constructor",
        ) from error


def _described(error: BaseException, method: str, operator: str) -> PenstockError:
    """Return an error that points at the user's line."""
    if isinstance(error, PenstockError) and error.where is not None:
        return error
    frame = _users_frame(error)
    place = f"{frame.filename}:{frame.lineno}, in {frame.name}"
    if isinstance(error, PenstockError):
        error.where = f"source {operator!r}, {place}"
        return error
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return SourceError(
        f"{method}() of source {operator!r} raised {said}",
        where=place,
        todo="correct the function, or catch the exception inside it",
    )


def _users_frame(error: BaseException) -> traceback.FrameSummary:
    """Return the innermost line of the user's own: what it called may fail far away from it."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    outside = [f for f in frames if not f.filename.startswith(_PACKAGE)]
    own = [f for f in outside if not f.filename.startswith(foreign) and f.filename[0] != "<"]
    return (own or outside or frames)[-1]
