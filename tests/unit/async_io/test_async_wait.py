"""Asynchronous functions: order, watermarks, capacity, timeouts, retries and failures."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.core.time import Watermark
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from penstock.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
)
from penstock.errors import ConfigurationError, ProgramError, TypeMismatchError, UserFunctionError
from penstock.runtime.event_loop import worker_loop
from penstock.testing import OneInputHarness, Record
from tests.unit.process.jobs import run

ORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED
UNORDERED = AsyncFunctionDescriptor.OutputMode.UNORDERED
in_both_modes = pytest.mark.parametrize("mode", [ORDERED, UNORDERED], ids=lambda mode: mode.name)


class Steered(AsyncFunction):
    """Answer when the test says so. Events belong to the loop, so the test asks it to set them."""

    events: ClassVar[dict[Any, asyncio.Event]] = {}
    most = 0
    running = 0

    def __init__(self) -> None:
        Steered.events = {}
        Steered.most = Steered.running = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        Steered.running += 1
        Steered.most = max(Steered.most, Steered.running)
        event = Steered.events.setdefault(value, asyncio.Event())
        await event.wait()
        Steered.running -= 1
        return [value, f"{value}'"]

    @staticmethod
    def answer(*values: Any) -> None:
        """Let some records be answered, one after the other."""

        async def give(value: Any) -> None:
            Steered.events.setdefault(value, asyncio.Event()).set()
            await asyncio.sleep(0.02)  # lets the call go on, and its result arrive

        for value in values:
            asyncio.run_coroutine_threadsafe(give(value), worker_loop()).result(5)


def harness_of(
    function: AsyncFunction,
    mode: AsyncFunctionDescriptor.OutputMode = ORDERED,
    timeout: int = 5000,
    capacity: int = 100,
    retry: AsyncRetryStrategy | None = None,
) -> OneInputHarness:
    return OneInputHarness(
        AsyncFunctionDescriptor(function, Time.milliseconds(timeout), capacity, retry, mode)
    )


def failing(harness: OneInputHarness, value: Any, kind: type[BaseException]) -> str:
    """Return what a record fails with: at once, or when the batch ends."""
    with pytest.raises(kind) as error:  # noqa: PT012
        harness.process_element(value)
        harness.cut()
    return str(error.value)


def both(value: Any, timestamp: int) -> list[Any]:
    return [Record(value, timestamp), Record(f"{value}'", timestamp)]


def test_ordered_results_keep_the_order_of_their_records() -> None:
    harness = harness_of(Steered())
    for timestamp, value in enumerate("abc"):
        harness.process_element(value, timestamp)
    Steered.answer("b", "c")
    harness.process_watermark(5)
    assert harness.take_output() == []
    Steered.answer("a")
    harness.process_watermark(6)
    assert harness.take_output() == [
        *both("a", 0), *both("b", 1), *both("c", 2), Watermark(5), Watermark(6),
    ]  # fmt: skip


def test_unordered_results_leave_as_they_come() -> None:
    harness = harness_of(Steered(), UNORDERED)
    for timestamp, value in enumerate("abc"):
        harness.process_element(value, timestamp)
    Steered.answer("c", "a")
    harness.process_element("d", 3)
    assert harness.take_output() == [*both("c", 2), *both("a", 0)]
    Steered.answer("d", "b")
    harness.cut()
    assert harness.take_output() == [*both("d", 3), *both("b", 1)]


def test_watermarks_are_barriers_for_unordered_results() -> None:
    harness = harness_of(Steered(), UNORDERED)
    harness.process_element("a", 1)
    harness.process_watermark(1)
    harness.process_element("b", 2)
    harness.process_watermark(2)
    harness.process_watermark(3)
    harness.process_element("c", 4)
    Steered.answer("c", "b")
    harness.process_element("d", 5)
    assert harness.take_output() == []
    Steered.answer("a")
    harness.process_element("e", 6)
    assert harness.take_output() == [
        *both("a", 1), Watermark(1), *both("b", 2), Watermark(2), Watermark(3), *both("c", 4),
    ]  # fmt: skip
    Steered.answer("e", "d")
    harness.cut()
    assert harness.take_output() == [*both("e", 6), *both("d", 5)]


@in_both_modes
def test_no_more_than_the_capacity_is_under_way(mode: Any) -> None:
    harness = harness_of(Steered(), mode, capacity=3)
    feeder = threading.Thread(target=lambda: [harness.process_element(n) for n in range(10)])
    feeder.start()
    for n in range(10):
        Steered.answer(n)
    feeder.join(10)
    harness.cut()
    assert sorted(harness.take_records(), key=str) == sorted(
        [r for n in range(10) for r in (n, f"{n}'")], key=str
    )
    assert Steered.most <= 3


class Slow(AsyncFunction):
    """Wait for as many milliseconds as the record says."""

    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep(value / 1000)
        return [value]


@in_both_modes
def test_a_batch_waits_for_all_its_results(mode: Any) -> None:
    harness = harness_of(Slow(), mode)
    for value in (60, 40, 20):
        harness.process_element(value)
    harness.move()
    found = harness.take_records()
    assert (found if mode is ORDERED else sorted(found, reverse=True)) == [60, 40, 20]


@in_both_modes
def test_calls_overlap(mode: Any) -> None:
    began = time.monotonic()
    harness = harness_of(Slow(), mode)
    for _ in range(50):
        harness.process_element(100)
    harness.cut()
    assert time.monotonic() - began < 2.5  # one after the other: 5 s
    assert len(harness.take_records()) == 50


class WithTimeout(Slow):
    def timeout(self, value: int) -> list[Any]:
        return [f"{value} took too long"]


@in_both_modes
def test_a_timeout_may_be_answered(mode: Any) -> None:
    harness = harness_of(WithTimeout(), mode, timeout=500)
    for value in (5, 30000):
        harness.process_element(value)
    harness.cut()
    assert harness.take_records() == [5, "30000 took too long"]


def test_a_timeout_fails_the_job_otherwise() -> None:
    text = failing(harness_of(Slow(), timeout=30), 3000, TimeoutError)
    assert text == "async function call has timed out for input: 3000"


def test_no_time_is_no_limit() -> None:
    harness = harness_of(Slow(), timeout=0)
    harness.process_element(30)
    harness.cut()
    assert harness.take_records() == [30]


class Flaky(AsyncFunction):
    """Fail at first: raise, or return nothing, as often as the record says."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.tries: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[Any]:
        self.tries[value] = self.tries.get(value, 0) + 1
        if self.tries[value] <= value:
            if self.how == "raise":
                raise ConnectionError("not now")
            return []
        return [(value, self.tries[value])]

    def timeout(self, value: int) -> list[Any]:
        return [(value, "timeout")]


def nothing(results: list[Any]) -> bool:
    return not results


def gone(error: BaseException) -> bool:
    return isinstance(error, ConnectionError)


@in_both_modes
@pytest.mark.parametrize("how", ["raise", "return"])
def test_failed_calls_are_tried_again(how: str, mode: Any) -> None:
    retry = AsyncRetryStrategy.fixed_delay(3, 5, nothing, gone)
    harness = harness_of(Flaky(how), mode, retry=retry)
    for value in (0, 1, 3):
        harness.process_element(value)
    harness.cut()
    assert sorted(harness.take_records()) == [(0, 1), (1, 2), (3, 4)]


def test_after_the_last_try_its_outcome_counts() -> None:
    retry = AsyncRetryStrategy.fixed_delay(2, 5, nothing, gone)
    harness = harness_of(Flaky("return"), retry=retry)
    harness.process_element(3)
    harness.cut()
    assert harness.take_records() == []
    harness = harness_of(Flaky("raise"), retry=retry)
    assert failing(harness, 3, ConnectionError) == "not now"


def test_what_the_predicates_do_not_name_is_final() -> None:
    harness = harness_of(Flaky("raise"), retry=AsyncRetryStrategy.fixed_delay(5, 5, nothing))
    assert failing(harness, 1, ConnectionError) == "not now"
    harness = harness_of(Flaky("return"), retry=AsyncRetryStrategy.fixed_delay(5, 5, None, gone))
    harness.process_element(1)
    harness.cut()
    assert harness.take_records() == []


def test_pauses_grow_and_count_towards_the_timeout() -> None:
    retry = AsyncRetryStrategy.exponential_backoff(50, 10, 40, 2.0, nothing)
    assert [retry.get_backoff_time_millis(n) for n in (1, 2, 3, 4)] == [10, 20, 40, 40]
    harness = harness_of(Flaky("return"), timeout=1000, retry=retry)
    for value in (2, 40):
        harness.process_element(value)
    harness.cut()
    assert harness.take_records() == [(2, 3), (40, "timeout")]


def lookups(wait: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([30, 5, 15, 1])
        return wait(stream, Slow(), Time.seconds(5), **options)

    return build


def test_in_a_job_at_the_source() -> None:
    assert run(lookups(AsyncDataStream.ordered_wait)) == [30, 5, 15, 1]
    assert sorted(run(lookups(AsyncDataStream.unordered_wait))) == [1, 5, 15, 30]
    first, second, *others = run(lookups(AsyncDataStream.unordered_wait), cuts=2)
    assert (sorted([first, second]), sorted(others)) == ([5, 30], [1, 15])


@pytest.mark.parametrize("cuts", [None, 1])
@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_in_a_job_in_slots(wait: Any, cuts: int | None) -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([3, 5, 1, 2]).key_by(lambda n: n % 3)
        return wait(stream, Slow(), Time.seconds(5)).map(lambda n: n * 10)

    assert sorted(run(build, 2, cuts, ["a", "b"])) == [10, 20, 30, 50]


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
def test_event_time_behind_it_is_right(wait: Any) -> None:
    """Windows would lose results that came behind the watermark of their records."""

    def build(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(lambda value, _: value)
        stream = env.from_collection([9, 1, 20, 21, 35, 30, 36])
        stream = stream.assign_timestamps_and_watermarks(strategy)
        return wait(stream, Slow(), Time.seconds(5)).process(Late())

    found = run(build)
    # 1 and 30 are late against their neighbours before the call, and so they are behind it.
    late = [value for value, late in found if late]
    assert sorted(value for value, _ in found) == [1, 9, 20, 21, 30, 35, 36]
    assert late == [1, 30]


class Late(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp() <= ctx.timer_service().current_watermark()


class Failing(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        raise ValueError(f"cannot look {value} up")


def test_a_failure_names_function_and_record() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection(["tea"])
        return AsyncDataStream.ordered_wait(stream, Failing(), Time.seconds(5)).name("look up")

    with pytest.raises(UserFunctionError) as error:
        run(build)
    assert str(error.value).startswith(
        "async_invoke() of operator 'look up' raised ValueError: cannot look tea up\n"
        "  where: operator 'look up', built at "
    )
    assert error.value.record == "'tea'"


class NoList(AsyncFunction):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def async_invoke(self, value: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "shown", "fault"),
    [
        (None, "None", "cannot be none"),
        ("tea", "'tea'", "should be of list type"),
        (7, "7", "should be of list type"),
    ],
)
def test_an_answer_that_is_no_list(answer: Any, shown: str, fault: str) -> None:
    assert failing(harness_of(NoList(answer)), "x", ProgramError) == (
        f"The result of AsyncFunction {fault}, please check the methods 'async_invoke' and "
        "'timeout' of class 'NoList'.\n"
        "  where: operator 'operator', built at test:1\n"
        f"  got:   {shown} for 'x'\n"
        "  to do: return [result], or [] for none"
    )


class NoCoroutine(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:  # type: ignore[override]
        return [value]


def test_a_function_that_is_no_coroutine() -> None:
    assert failing(harness_of(NoCoroutine()), "x", ProgramError) == (
        "async_invoke() must be a coroutine\n"
        "  where: operator 'operator', built at test:1\n"
        "  got:   ['x']\n"
        "  to do: write `async def async_invoke(self, value)`"
    )


class Opened(AsyncFunction):
    """Use what open() made, and count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.prices = {"tea": 3}
        self.asked = runtime_context.get_int_counter("asked")

    async def async_invoke(self, value: Any) -> list[Any]:
        self.asked.add(1)
        return [(value, self.prices.get(value))]


def test_open_and_accumulators() -> None:
    harness = OneInputHarness(Opened())
    for value in ("tea", "milk"):
        harness.process_element(value)
    harness.cut()
    assert harness.take_records() == [("tea", 3), ("milk", None)]
    assert harness.accumulators() == {"asked": 2}


def test_arguments_are_checked_where_they_are_written() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream: Any = env.from_collection([1])
    with pytest.raises(TypeMismatchError, match="needs an AsyncFunction"):
        AsyncDataStream.ordered_wait(stream, lambda value: [value], Time.seconds(1))  # type: ignore
    with pytest.raises(ConfigurationError, match="capacity must be above zero"):
        AsyncDataStream.ordered_wait(stream, Slow(), Time.seconds(1), 0)
    with pytest.raises(ConfigurationError, match="with retries it must be above zero"):
        AsyncDataStream.unordered_wait_with_retry(
            stream, Slow(), Time.seconds(0), AsyncRetryStrategy.no_restart()
        )
    typed = AsyncDataStream.ordered_wait_with_retry(
        stream, Slow(), Time.seconds(1), AsyncRetryStrategy.no_restart(), 5, Types.INT()
    )
    assert typed.get_type() == Types.INT()
    assert typed.get_name() == "async wait operator"


class FirstTwo(AsyncFunction):
    """Fail for the first two calls of each record."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error
        self.calls: dict[Any, int] = {}

    async def async_invoke(self, value: Any) -> list[Any]:
        self.calls[value] = self.calls.get(value, 0) + 1
        if self.calls[value] < 3:
            raise self.error(value)
        return [value, self.calls[value]]


def test_the_strategies_and_predicates_of_pyflinks_modules() -> None:
    lost = partial(exception_type_predicate, expected_error_type=ConnectionError)
    fixed = FixedDelayRetryStrategy(2, 5, empty_result_predicate, lost)
    harness = harness_of(FirstTwo(ConnectionResetError), retry=fixed)
    harness.process_element("a", 1)
    harness.cut()
    assert harness.take_output() == [Record("a", 1), Record(3, 1)]
    assert failing(harness_of(FirstTwo(ValueError), retry=fixed), "x", ValueError) == "x"
    growing = ExponentialBackoffDelayRetryStrategy(1, 5, 50, 2.0, None, has_exception_predicate)
    assert failing(harness_of(FirstTwo(KeyError), retry=growing), "x", KeyError) == "'x'"
    assert not NoRetryStrategy().can_retry(1)
