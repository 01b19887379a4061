"""The window cases as programs, all in one job."""

from __future__ import annotations

from typing import Any

from penstock.core.output_tag import OutputTag
from penstock.core.time import Watermark
from penstock.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.windowed_stream import WindowedStream
from penstock.testing.cases import Case
from penstock.testing.marked_source import MarkedSource
from tests.unit.windowing.vocabulary import LATE, key_of, make_spec


class Stamp(ProcessFunction):
    """Say which case a result is of, whether it was late, and its timestamp."""

    def __init__(self, case: int, late: bool) -> None:
        self.case = case
        self.late = late

    def process_element(self, value, ctx):
        yield self.case, self.late, value[0], value[1], ctx.timestamp()


def fits_a_job(case: Case) -> bool:
    """Tell whether a case says nothing about processing time, which a job does not control."""
    return not any(event.kind == "time" for step in case.steps for event in step.events)


def build(env: StreamExecutionEnvironment, cases: list[Case]) -> DataStream:
    """Return the results of all cases as one stream."""
    results: list[DataStream] = []
    for number, case in enumerate(cases):
        spec = make_spec(case)
        stream = env.from_source(MarkedSource(events_of(case)), None, f"case {number}")
        windows = WindowedStream(stream.key_by(key_of), spec.assigner, spec.trigger, spec.evictor)
        windows.allowed_lateness(spec.allowed_lateness)
        tag = OutputTag(LATE)
        if spec.late_tag is not None:
            windows.side_output_late_data(tag)
        if spec.combine is None:
            made = windows.apply(spec.function)
        else:
            made = windows.reduce(spec.combine.function)
        results.append(made.process(Stamp(number, False)))
        if spec.late_tag is not None:
            results.append(made.get_side_output(tag).process(Stamp(number, True)))
    return results[0].union(*results[1:])


def events_of(case: Case) -> list[Any]:
    events: list[Any] = []
    for step in case.steps:
        for event in step.events:
            if event.kind == "watermark":
                events.append(Watermark(event.time))
            elif event.kind == "record":
                events.append(((event.key, event.value), event.time))
    return events


def check(cases: list[Case], results: list[tuple]) -> None:
    """Compare what came out with what the cases say.

    The end of the input fires windows of which a case says nothing: what it does say must come
    first, key by key.
    """
    for number, case in enumerate(cases):
        for late in (False, True):
            found = [result[2:] for result in results if result[:2] == (number, late)]
            expected = [
                (token.key, token.value, token.time)
                for step in case.steps
                for token in (step.late if late else step.expected)
                if token.kind == "record"
            ]
            for key in {result[0] for result in (*found, *expected)}:
                mine = [result for result in found if result[0] == key]
                wanted = [result for result in expected if result[0] == key]
                assert mine[: len(wanted)] == wanted, case.place
