"""Asynchronous functions: many records under way at once, their results sent on in some order.

Calls run on the worker's event loop; results are taken and sent on by the task itself, whenever it
has a record, a watermark or the end of the batch to deal with. Nothing is under way when a batch
ends, so there is nothing to save.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import Any

from penstock.core.functions import AsyncFunctionDescriptor
from penstock.errors import ProgramError, show_value
from penstock.runtime.event_loop import worker_loop
from penstock.runtime.operators.async_queues import Call, Mark, OrderedQueue, UnorderedQueue
from penstock.runtime.operators.base import Operator

#: What a call gives whose time is over.
_TIMED_OUT = object()


class AsyncWaitOperator(Operator):
    """Call an `AsyncFunction` for every record.

    Ordered: results leave in the order of their records. Unordered: results leave as they come, but
    no result overtakes a watermark, nor is overtaken by one.
    """

    def open(self) -> None:
        """Open the user's function."""
        descriptor: AsyncFunctionDescriptor = self.spec.descriptor
        self.context.no_state = "an asynchronous function has no keyed state"
        self._function = self.host(descriptor.async_function)
        self._retry = descriptor.async_retry_strategy
        self._seconds = descriptor.timeout.to_milliseconds() / 1000 or None
        self._capacity = descriptor.capacity
        ordered = descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED
        self._queue: OrderedQueue | UnorderedQueue = OrderedQueue() if ordered else UnorderedQueue()
        self._loop = worker_loop()
        super().open()

    # --- input ----------------------------------------------------------------------------

    def process(self, value: Any) -> None:
        """Take one record."""
        while self._queue.calls >= self._capacity:
            self._send_next(block=True)
        call = Call(value, self.scope.timestamp)
        self._queue.add(call)
        self._loop.call_soon_threadsafe(self._start, call)
        self._send_ready()

    def advance_watermark(self, watermark: int) -> None:
        """Let a watermark wait until all before it have left."""
        self._queue.add_mark(Mark(watermark))
        self._send_ready()

    def change_idle(self, idle: bool) -> None:
        """Pass on that the inputs went idle, behind everything that came before."""
        self._send_all()
        super().change_idle(idle)

    def end_batch(self) -> None:
        """Wait for all results: they belong to this batch."""
        self._send_all()

    def end_input(self) -> None:
        """Wait for all results: nothing may come behind the end."""
        self._send_all()

    # --- on the event loop ----------------------------------------------------------------

    def _start(self, call: Call) -> None:
        task = call.task = self._loop.create_task(self._try(call.value))
        if self._seconds is not None:
            call.timer = self._loop.call_later(self._seconds, self._expire, call)
        task.add_done_callback(partial(self._end, call))

    def _end(self, call: Call, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            error: BaseException | None = RuntimeError("the call was cancelled")
        else:
            error = task.exception()
        if call.done:  # its time was over before
            return
        if call.timer is not None:
            call.timer.cancel()
        call.error = error
        call.result = None if error is not None else task.result()
        self._tell(call)

    def _expire(self, call: Call) -> None:
        assert call.task is not None
        call.result = _TIMED_OUT
        self._tell(call)
        call.task.cancel()

    def _tell(self, call: Call) -> None:
        call.done = True
        self._queue.finished.put(call)

    async def _try(self, value: Any) -> Any:
        """Call the function, again if the retry strategy says so."""
        predicate = self._retry.get_retry_predicate()
        bad_result, bad_error = predicate.result_predicate(), predicate.exception_predicate()
        attempt = 1
        while True:
            try:
                result = await self._invoke(value)
            except Exception as error:
                again = bad_error is not None and bad_error(error)
                if not again or not self._retry.can_retry(attempt):
                    raise
            else:
                again = bad_result is not None and bad_result(result)
                if not again or not self._retry.can_retry(attempt):
                    return result
            await asyncio.sleep(self._retry.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    def _invoke(self, value: Any) -> Any:
        answer = self._function.async_invoke(value)
        if not inspect.isawaitable(answer):
            raise ProgramError(
                "async_invoke() must be a coroutine",
                where=self.plan.describe(),
                got=show_value(answer),
                todo="write `async def async_invoke(self, value)`",
            )
        return answer

    # --- output ---------------------------------------------------------------------------

    def _send_ready(self) -> None:
        while self._send_next(block=False):
            pass

    def _send_all(self) -> None:
        while self._send_next(block=True):
            pass

    def _send_next(self, *, block: bool) -> bool:
        """Send what leaves next; False if there is nothing, or nothing yet."""
        entry = self._queue.take(block=block)
        if entry is None:
            return False
        if isinstance(entry, Mark):
            self.watermark = entry.watermark
            self.output.watermark(entry.watermark)
            return True
        try:
            self._send(entry)
        except BaseException:
            self._loop.call_soon_threadsafe(_cancel, self._queue.under_way())
            raise
        return True

    def _send(self, call: Call) -> None:
        value, results = call.value, call.result
        if call.error is not None:
            raise call.error
        if results is _TIMED_OUT:
            results = self._function.timeout(value)
        if isinstance(results, (str, bytes)) or not hasattr(results, "__iter__"):
            kind = "cannot be none" if results is None else "should be of list type"
            raise ProgramError(
                f"The result of AsyncFunction {kind}, please check the methods 'async_invoke' "
                f"and 'timeout' of class '{type(self._function).__name__}'.",
                where=self.plan.describe(),
                got=f"{show_value(results)} for {show_value(value)}",
                todo="return [result], or [] for none",
            )
        scope = self.scope
        before, scope.timestamp = scope.timestamp, call.timestamp
        self.emit_all(results)
        scope.timestamp = before


def _cancel(calls: list[Call]) -> None:
    for call in calls:
        if call.task is not None:
            call.task.cancel()
