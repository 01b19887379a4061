from __future__ import annotations

import asyncio
import inspect
from typing import Any

import cloudpickle
import pytest

from penstock.common import Time
from penstock.core import functions
from penstock.core.functions import (
    Accumulator,
    AggregateFunction,
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
    CheckpointedFunction,
    Function,
    IntCounter,
    KeyedProcessFunction,
    MapFunction,
    RichMapFunction,
    RuntimeContext,
    SinkFunction,
    bind_runtime_context,
)
from penstock.core.metrics import MetricGroup
from penstock.errors import ConfigurationError, ProgramError


class Context(RuntimeContext):
    """A context that knows its place and its accumulators, and has no keyed state."""

    def __init__(self) -> None:
        self.accumulators: dict[str, Accumulator[Any, Any]] = {}

    def get_job_id(self) -> str:
        return "job"

    def get_task_name(self) -> str:
        return "Map"

    def get_number_of_parallel_subtasks(self) -> int:
        return 4

    def get_max_number_of_parallel_subtasks(self) -> int:
        return 128

    def get_index_of_this_subtask(self) -> int:
        return 1

    def get_attempt_number(self) -> int:
        return 0

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        return default_value

    def get_metrics_group(self) -> MetricGroup:
        return MetricGroup(lambda: 0)

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self.accumulators.get(name)

    def get_state(self, state_descriptor: Any) -> Any: ...

    def get_list_state(self, state_descriptor: Any) -> Any: ...

    def get_map_state(self, state_descriptor: Any) -> Any: ...

    def get_reducing_state(self, state_descriptor: Any) -> Any: ...

    def get_aggregating_state(self, state_descriptor: Any) -> Any: ...


class Plus(RichMapFunction[int, int], CheckpointedFunction):
    def __init__(self, number: int) -> None:
        self.number = number

    def open(self, runtime_context: RuntimeContext) -> None:
        self.task = runtime_context.get_task_name()

    def map(self, value: int) -> int:
        return value + self.number

    def snapshot_state(self, context: Any) -> None: ...

    def initialize_state(self, context: Any) -> None: ...


def test_the_context_is_there_even_if_open_never_calls_super() -> None:
    function, context = Plus(1), Context()
    bind_runtime_context(function, context)
    function.open(context)
    assert function.get_runtime_context() is context
    assert vars(function) == {"number": 1, "task": "Map"}, "the context is no attribute to save"


def test_the_context_is_not_there_in_the_constructor() -> None:
    with pytest.raises(ProgramError) as caught:
        Plus(1).get_runtime_context()
    assert str(caught.value) == (
        "the runtime context is not there yet\n  where: Plus.get_runtime_context()\n"
        "  to do: call it in open() or later, not in the constructor"
    )


def test_a_plain_callable_needs_no_context() -> None:
    bind_runtime_context(len, Context())


def test_functions_reach_the_workers_with_their_attributes() -> None:
    assert cloudpickle.loads(cloudpickle.dumps(Plus(5))).map(1) == 6


def test_a_context_names_the_subtask_and_makes_accumulators_once() -> None:
    context = Context()
    assert context.get_task_name_with_subtasks() == "Map (2/4)#0"
    context.get_int_counter("lines").add(2)
    assert context.get_int_counter("lines").get_local_value() == 2
    assert isinstance(context.accumulators["lines"], IntCounter)
    with pytest.raises(ProgramError) as caught:
        context.get_histogram("lines")
    assert str(caught.value) == (
        "accumulator 'lines' exists already as another kind\n"
        "  got:   asked for Histogram, is IntCounter\n  to do: choose another name"
    )


ABSTRACT = {
    name: kind
    for name, kind in vars(functions).items()
    if inspect.isclass(kind) and issubclass(kind, Function) and inspect.isabstract(kind)
}


@pytest.mark.parametrize("name", ABSTRACT)
def test_a_function_without_its_methods_cannot_be_made(name: str) -> None:
    with pytest.raises(TypeError, match="abstract"):
        ABSTRACT[name]()


def test_optional_methods_have_defaults() -> None:
    class Quiet(KeyedProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> None: ...

    assert Quiet().on_timer(0, None) is None  # type: ignore[arg-type]
    assert Quiet().close() is None  # type: ignore[func-returns-value]


def test_rich_functions_are_the_functions() -> None:
    assert RichMapFunction is MapFunction
    assert functions.RichSinkFunction is SinkFunction


class NoMerge(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return value + accumulator

    def get_result(self, accumulator: int) -> int:
        return accumulator


def test_merge_is_needed_only_where_windows_merge() -> None:
    with pytest.raises(ProgramError) as caught:
        NoMerge().merge(1, 2)
    assert str(caught.value) == (
        "accumulators must be merged here, but the function does not say how\n"
        "  where: NoMerge.merge(acc_a, acc_b)\n"
        "  to do: define merge; session windows cannot do without it"
    )


class Echo(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value]


def test_async_functions_fail_by_default_when_the_time_is_over() -> None:
    assert asyncio.run(Echo().async_invoke(3)) == [3]
    with pytest.raises(TimeoutError, match="async function call has timed out for input: 3"):
        Echo().timeout(3)


@pytest.mark.parametrize(
    ("strategy", "tries", "delays"),
    [
        (AsyncRetryStrategy.no_restart(), [False, False, False], []),
        (AsyncRetryStrategy.fixed_delay(2, 100), [True, True, False], [100, 100, 100]),
        (
            AsyncRetryStrategy.exponential_backoff(2, 100, 250, 2.0),
            [True, True, False],
            [100, 200, 250],
        ),
    ],
)
def test_retries(strategy: AsyncRetryStrategy, tries: list[bool], delays: list[int]) -> None:
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == tries
    for attempt, delay in enumerate(delays, 1):
        assert strategy.get_backoff_time_millis(attempt) == delay
    assert strategy.get_retry_predicate().result_predicate() is None


def test_a_descriptor_has_flinks_defaults() -> None:
    descriptor = AsyncFunctionDescriptor(Echo(), Time.seconds(1))
    assert descriptor.capacity == 100
    assert descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED
    assert not descriptor.async_retry_strategy.can_retry(1)
    with pytest.raises(ConfigurationError) as caught:
        AsyncRetryStrategy.fixed_delay(0, 100)
    assert str(caught.value) == (
        "max_attempts must be above zero\n  where: FixedDelayRetryStrategy\n  got:   0"
    )
