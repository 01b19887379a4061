"""MATCH_RECOGNIZE: the automaton of `penstock.cep` over rows, with generated conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.core.pattern import AfterMatchSkipStrategy, Pattern
from penstock.graph.relational.specs import MatchStagePlan, ReadingPlan
from penstock.graph.specs import CepSpec
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.cep import CepOperator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.timed import row_time

#: Gives the rows that a variable has taken; those of all variables for None.
RowsOf = Callable[[str | None], Sequence[Any]]


class _Reader:
    """Computes what expressions read of a match: a tuple of values and aggregates."""

    def __init__(self, operator: Operator, plan: ReadingPlan) -> None:
        self._values = [(v.variable, v.first, v.offset, v.column) for v in plan.values]
        self._aggregates = []
        for variable, program in plan.aggregates:
            loaded = load_program(operator, program)
            functions = (loaded["create"], loaded["accumulate"], loaded["result"])
            self._aggregates.append((variable, *functions))

    def read(self, rows_of: RowsOf) -> tuple[Any, ...]:
        out: list[Any] = []
        for variable, first, offset, column in self._values:
            rows = rows_of(variable)
            if offset < len(rows):
                out.append(rows[offset if first else -1 - offset][column])
            else:
                out.append(None)
        for variable, create, accumulate, result in self._aggregates:
            acc = create()
            for row in rows_of(variable):
                acc = accumulate(acc, row)
            out += result(acc)
        return tuple(out)


class MatchOperator(CepOperator):
    """Find the matches of a pattern, and send one row for each."""

    def open(self) -> None:
        """Load the code and build the pattern."""
        plan = self.spec
        self._time: int | None = plan.time
        self._key_columns = plan.partition
        self._names = [stage.name for stage in plan.stages]
        self._measures = load_program(self, plan.measures)["calc"]
        self._reader = _Reader(self, plan.reading)
        comparator = None
        if plan.order is not None:
            order = load_program(self, plan.order)["order"]
            comparator = _comparator(order)
        self.spec = CepSpec(
            self._pattern(), self._row, "flat_select",
            event_time=plan.time is not None, comparator=comparator,
        )  # fmt: skip
        super().open()

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key; those without a time match nothing."""
        time = self._time
        if time is not None:
            known = [i for i, row in enumerate(values) if row[time] is not None]
            if len(known) < len(values):
                keys, values = [keys[i] for i in known], [values[i] for i in known]
            timestamps = [row_time(row[time]) for row in values]
        super().process_keyed(keys, timestamps, values)

    # ---- the pattern ---------------------------------------------------------------------------

    def _pattern(self) -> Pattern:
        plan = self.spec
        pattern: Pattern | None = None
        for stage in plan.stages:
            if pattern is None:
                pattern = Pattern.begin(stage.name, _skip(plan.skip, plan.skip_to))
            else:
                pattern = pattern.next(stage.name)
            if stage.condition is not None:
                pattern.where(self._condition(stage))
            _repeat(pattern, stage)
        assert pattern is not None
        return pattern if plan.within is None else pattern.within(plan.within)

    def _condition(self, stage: MatchStagePlan) -> Callable[..., bool]:
        assert stage.condition is not None
        matches = load_program(self, stage.condition)["matches"]
        if not stage.reading:
            return lambda row: matches(row, ())
        reader, name = _Reader(self, stage.reading), stage.name
        before = self._names[: self._names.index(name) + 1]

        def accepts(row: Any, context: Any) -> bool:
            events = context.get_events_for_pattern

            def rows_of(variable: str | None) -> Sequence[Any]:
                if variable is None:
                    return [*(each for other in before for each in events(other)), row]
                taken: Sequence[Any] = events(variable)
                return [*taken, row] if variable == name else taken

            return bool(matches(row, reader.read(rows_of)))

        return accepts

    def _row(self, match: dict[str, list[Any]]) -> Iterable[Any]:
        rows = [row for name in self._names for row in match.get(name, ())]

        def rows_of(variable: str | None) -> Sequence[Any]:
            return rows if variable is None else match.get(variable, ())

        last = rows[-1]
        keys = tuple(last[column] for column in self._key_columns)
        measured: Iterable[Any] = self._measures([keys + self._reader.read(rows_of)])
        return measured


def _comparator(order: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    def compare(first: Any, second: Any) -> int:
        a, b = order(first), order(second)
        return (a > b) - (a < b)

    return compare


def _skip(kind: str, variable: str | None) -> AfterMatchSkipStrategy:
    if kind == "NEXT ROW":
        return AfterMatchSkipStrategy.skip_to_next()
    if kind == "PAST LAST ROW":
        return AfterMatchSkipStrategy.skip_past_last_event()
    assert variable is not None
    make = AfterMatchSkipStrategy.skip_to_first if kind == "FIRST" else (
        AfterMatchSkipStrategy.skip_to_last)  # fmt: skip
    return make(variable).throw_exception_on_miss()


def _repeat(pattern: Pattern, stage: MatchStagePlan) -> None:
    """Say how many rows a stage takes, in the way in which Flink does."""
    least, most = stage.least, stage.most
    if (least, most) == (1, 1):
        return
    if (least, most) == (0, 1):
        pattern.optional()
        return
    if most is not None:
        pattern.times(least, most).consecutive()
    elif least == 0:
        pattern.one_or_more().optional().consecutive()
    else:
        pattern.times_or_more(least).consecutive()
    if stage.greedy and least != most:
        pattern.greedy()
