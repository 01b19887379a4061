"""Read the windows of a savepoint: what each holds for each key, whatever operator kept them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from penstock.core.functions import (
    AggregateFunction,
    KeyedStateStore,
    ReduceFunction,
)
from penstock.core.functions.host import FunctionHost
from penstock.core.state import StateDescriptor
from penstock.core.value_keys import unwrapped
from penstock.core.windowing import TaggedUnion, WindowAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import StateError
from penstock.graph.function_checks import require_function, require_object
from penstock.graph.specs import Aggregated, Reduced
from penstock.runtime.codec import copied
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.savepoint.evolution import evolve
from penstock.runtime.savepoint.format import OperatorInfo, Savepoint
from penstock.runtime.savepoint.restore import time_passed
from penstock.runtime.state.keyed_backend import TIMER_KINDS, KeyedBackend
from penstock.runtime.state.layout import Layout
from penstock.runtime.windowing.combine import NONE, Combiner, make_combiner
from penstock.runtime.windowing.contents import TABLE
from penstock.runtime.windowing.contexts import PANE_PREFIX, TRIGGER_PREFIX
from penstock.runtime.windowing.convert import WindowConversion, lateness_in
from penstock.runtime.windowing.layouts import SLICES, WINDOW_LAYOUTS
from penstock.runtime.windowing.merging import SETS
from penstock.runtime.windowing.panes import Pane, PaneStore, namespace_of, window_of
from penstock.state_processor.context import make_context
from penstock.state_processor.functions import WindowReaderFunction
from penstock.state_processor.operator_identifier import OperatorIdentifier, uid_of
from penstock.state_processor.rows import StateRow, StateRows
from penstock.state_processor.timers import Timers

#: Contents of windows that are one accumulator, in a layout's tag.
_ACCUMULATOR = "accumulator"
#: How the elements of a pane become those that a reader function is called with.
_Shape = Callable[[Any], list[Any]]


class WindowSavepointReader:
    """Read the windows of operators without an evictor. Made by `SavepointReader.window`.

    `reduce` and `aggregate` read windows that were combined as their elements came; `process`
    reads windows that keep all elements. Windows that have fired and gone are not there any more.
    """

    #: Whether elements stand with their timestamps, as an evictor needs them.
    _timed: ClassVar[bool] = False

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        savepoint: Savepoint,
        assigner: WindowAssigner[Any, Any],
    ) -> None:
        self._env = env
        self._savepoint = savepoint
        self._assigner = assigner

    def evictor(self) -> EvictingWindowSavepointReader:
        """Read windows of operators with an evictor: they keep all elements in any case."""
        return EvictingWindowSavepointReader(self._env, self._savepoint, self._assigner)

    def reduce(
        self,
        uid: str | OperatorIdentifier,
        function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        reader_function: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        key_type: Any = None,
        reduce_type: Any = None,
        output_type: Any = None,
    ) -> DataStream:
        """Read windows that were made by `reduce`: a stream of what each has come to.

        :param function: the reduce function of the program.
        :param reader_function: called with each window instead; its one element is the result.
        :param key_type: accepted, as `reduce_type` is; both are as they were.
        :raises StateError: if there is no such operator, or its windows keep something else.
        """
        require_function("reduce()", function, ReduceFunction)
        combiner = make_combiner(Reduced(function))
        return self._stream(uid_of(uid), combiner, reader_function, output_type)

    def aggregate(
        self,
        uid: str | OperatorIdentifier,
        aggregate_function: AggregateFunction[Any, Any, Any],
        reader_function: WindowReaderFunction[Any, Any, Any, Any] | None = None,
        key_type: Any = None,
        acc_type: Any = None,
        output_type: Any = None,
    ) -> DataStream:
        """Read windows that were made by `aggregate`: a stream of what each has come to.

        :param aggregate_function: the aggregate function of the program.
        :param reader_function: called with each window instead; its one element is the result.
        :param key_type: accepted, as `acc_type` is; both are as they were.
        :raises StateError: if there is no such operator, or its windows keep something else.
        """
        require_object("aggregate()", aggregate_function, AggregateFunction)
        combiner = make_combiner(Aggregated(aggregate_function))
        return self._stream(uid_of(uid), combiner, reader_function, output_type)

    def process(
        self,
        uid: str | OperatorIdentifier,
        reader_function: WindowReaderFunction[Any, Any, Any, Any],
        key_type: Any = None,
        state_type: Any = None,
        output_type: Any = None,
    ) -> DataStream:
        """Read windows that keep all elements: a stream of what the function returns.

        Elements of a window join or co-group are `TaggedUnion`s.

        :raises StateError: if there is no such operator, or its windows keep something else.
        """
        return self._stream(uid_of(uid), None, reader_function, output_type)

    def rows(
        self,
        uid: str | OperatorIdentifier,
        function: Callable[[Any, Any], Any]
        | ReduceFunction[Any]
        | AggregateFunction[Any, Any, Any]
        | None = None,
    ) -> StateRows:
        """Return the windows as rows: key, window, what it holds, and its timers.

        :param function: the reduce or aggregate function of the program; without it a combined
            window shows its accumulator, and all others a list of their elements.
        """
        how = None
        if function is not None:
            aggregates = isinstance(function, AggregateFunction)
            how = Aggregated(function) if aggregates else Reduced(function)  # type: ignore[arg-type]
        windows = _Windows(self._savepoint, uid_of(uid), self._timed, make_combiner(how))
        return StateRows(
            StateRow(
                unwrapped(pane[0]),
                window,
                elements[0] if windows.combined else elements,
                sorted(windows.timers.event(windows.owner(pane, window))),
                sorted(windows.timers.processing(windows.owner(pane, window))),
            )
            for pane, window, elements in windows.read()
        )

    def _stream(
        self,
        uid: str,
        combiner: Combiner | None,
        function: WindowReaderFunction[Any, Any, Any, Any] | None,
        output_type: Any,
    ) -> DataStream:
        if function is not None or combiner is None:
            require_object("a window reader", function, WindowReaderFunction)
        windows = _Windows(self._savepoint, uid, self._timed, combiner, exact=True)
        return self._env.from_collection(list(_read(windows, function)), output_type)


class EvictingWindowSavepointReader(WindowSavepointReader):
    """Read the windows of operators with an evictor. What it would leave out is still there."""

    _timed = True


def _read(
    windows: _Windows, function: WindowReaderFunction[Any, Any, Any, Any] | None
) -> Iterator[Any]:
    if function is None:
        for _, _, elements in windows.read():
            yield from elements
        return
    host = FunctionHost(function, windows.context)
    host.open()
    context = _Context(windows)
    for pane, window, elements in windows.read():
        context.enter(pane, window)
        windows.backend.context.key = pane[0]
        result = function.read_window(unwrapped(pane[0]), context, elements)
        yield from () if result is None else result
    host.close()


class _Windows:
    """The windows of one operator, in panes.

    :param timed: whether the program's operator had an evictor.
    :param combiner: what makes a result of an accumulator, or of elements.
    :param exact: refuse an accumulator without a combiner, and elements with one.
    """

    context: OperatorRuntimeContext
    backend: KeyedBackend

    def __init__(
        self,
        savepoint: Savepoint,
        uid: str,
        timed: bool,
        combiner: Combiner | None,
        *,
        exact: bool = False,
    ) -> None:
        self._savepoint = savepoint
        self._info = savepoint.manifest.operator(uid)
        self._where = f"operator {self._info.name!r}, uid {uid!r} in {savepoint.path}"
        layout = Layout.parse(self._info.layout)
        if layout.kind not in WINDOW_LAYOUTS:
            raise StateError(
                "the operator has no windows",
                where=self._where,
                got=f"state of the layout {self._info.layout}",
                todo="read it with read_keyed_state(), or give the uid of a window",
            )
        self._contents = layout.settings["contents"]
        self._timed = timed
        self._combiner = combiner
        #: Whether a window has one element, which all others went into.
        self.combined = combiner is not None or self._contents == _ACCUMULATOR
        self._require_evictor()
        if exact:
            self._require_form()
        if layout.kind == SLICES and self._contents == _ACCUMULATOR and combiner is None:
            raise StateError(
                "windows that share accumulators cannot be read without the program's function",
                where=self._where,
                todo="pass the reduce or aggregate function, which merges them",
            )
        self.context, self.backend = make_context(uid, self._info.max_parallelism, keyed=True)
        self.timers = Timers()
        self._load(self._info)

    def _require_evictor(self) -> None:
        timed = self._contents.startswith("timed-")
        if timed != self._timed:
            raise StateError(
                f"the windows were kept {'for' if timed else 'without'} an evictor",
                where=self._where,
                got=f"state of the layout {self._info.layout}",
                todo=f"read them with window(...){'.evictor()' if timed else ''}, "
                f"{'and then' if timed else 'not .evictor(), and'} reduce, aggregate or process",
            )

    def _require_form(self) -> None:
        accumulated = self._contents == _ACCUMULATOR
        if accumulated == (self._combiner is not None) or self._timed:
            return
        kept, calls = (
            ("an accumulator", "reduce() or aggregate()")
            if accumulated
            else ("all elements", "process()")
        )
        raise StateError(
            f"the windows keep {kept}",
            where=self._where,
            got=f"state of the layout {self._info.layout}",
            todo=f"read them with {calls}",
        )

    def _load(self, info: OperatorInfo) -> None:
        savepoint, tag = self._savepoint, info.layout
        groups = [evolve(changes, self._where) for changes in savepoint.keyed(info.uid)]
        now = time_passed(tag, savepoint.plain(info.uid), savepoint)
        lateness = max((lateness_in(tag, changes) for changes in groups), default=0)
        merging = None if self._timed else self._combiner
        conversion = WindowConversion(tag, merging, lateness, now)
        for changes in map(conversion.convert, groups):
            for place, (kind, delta) in changes.items():
                if kind in TIMER_KINDS:
                    self.timers.take(place, delta)
                else:
                    self.backend.apply({place: (kind, delta)})

    def read(self) -> Iterator[tuple[Pane, Any, list[Any]]]:
        """Return the pane, the window and the elements of each window that holds something."""
        if TABLE not in self.backend.tables:
            return
        table: Any = self.backend.tables[TABLE]
        merged = self._merged_windows()
        shape = self._shape()
        for pane in list(table.data):
            yield pane, window_of(merged.get(pane, pane[1])), shape(table.get(pane))

    def owner(self, pane: Pane, window: Any) -> Any:
        """Return whom the timers of a window belong to."""
        return pane[0], namespace_of(window)

    def _merged_windows(self) -> dict[Pane, Any]:
        """Return the window by the pane that holds its content, for windows that have merged."""
        if SETS not in self.backend.tables:
            return {}
        table: Any = self.backend.tables[SETS]
        return {
            (key, state): window for key in table.data for window, state in table.get(key) or ()
        }

    def _shape(self) -> _Shape:
        combiner = self._combiner
        if self._contents == _ACCUMULATOR:
            result = Combiner().result if combiner is None else combiner.result
            return lambda held: [copied(result(None if held is NONE else held))]
        shape = _SHAPES[self._contents]
        if combiner is None:
            return shape
        return lambda held: combiner.over(shape(held))


_SHAPES: dict[str, _Shape] = {
    "elements": list,
    "timed-elements": lambda held: [value for _, value in held],
    "two-sides": lambda held: [TaggedUnion(*element) for element in held],
    "timed-two-sides": lambda held: [TaggedUnion(*element) for _, element in held],
}


class _Context(WindowReaderFunction.Context[Any]):
    """What a reader function can ask about the window that it is called with."""

    def __init__(self, windows: _Windows) -> None:
        self._windows = windows
        self._trigger = PaneStore(windows.backend, TRIGGER_PREFIX)
        self._panes = PaneStore(windows.backend, PANE_PREFIX)
        self._window: Any = None
        self._owner: Any = None

    def enter(self, pane: Pane, window: Any) -> None:
        """Speak of this window from now on."""
        self._window = window
        self._owner = self._windows.owner(pane, window)
        self._trigger.context.key = self._panes.context.key = self._owner

    def window(self) -> Any:
        return self._window

    def trigger_state(self, descriptor: StateDescriptor) -> Any:
        return self._trigger.state(descriptor)

    def window_state(self) -> KeyedStateStore:
        return self._panes

    def global_state(self) -> KeyedStateStore:
        return self._windows.backend

    def registered_event_time_timers(self) -> set[int]:
        return self._windows.timers.event(self._owner)

    def registered_processing_time_timers(self) -> set[int]:
        return self._windows.timers.processing(self._owner)
