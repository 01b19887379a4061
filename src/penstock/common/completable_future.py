"""A value that is there later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A value that is there later, or the reason why it is not.

    >>> CompletableFuture.completed(3).result()
    3
    """

    def __init__(self) -> None:
        self._future: Future[T] = Future()

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """Return a future that has its value already."""
        future: CompletableFuture[T] = CompletableFuture()
        future.set_result(value)
        return future

    @staticmethod
    def supply_async(supplier: Callable[[], T], name: str | None = None) -> CompletableFuture[T]:
        """Return a future of what `supplier` returns; it runs in a thread of its own."""
        future: CompletableFuture[T] = CompletableFuture()

        def run() -> None:
            try:
                value = supplier()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(value)

        threading.Thread(target=run, name=name, daemon=True).start()
        return future

    def cancel(self) -> bool:
        """Give up waiting for the value; return False if it is there already."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether the future was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether there is a value, an exception, or nothing to wait for any more."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the value and return it, or raise why there is none.

        :param timeout: in seconds; without end if left out.
        """
        return self._future.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait until done and return the exception, or None if there is a value."""
        return self._future.exception(timeout)

    def set_result(self, result: T) -> CompletableFuture[T]:
        """Give the value to everybody who waits; ignored if the future was cancelled."""
        if self._future.set_running_or_notify_cancel():
            self._future.set_result(result)
        return self

    def set_exception(self, exception: BaseException) -> CompletableFuture[T]:
        """Give the exception to everybody who waits; ignored if the future was cancelled."""
        if self._future.set_running_or_notify_cancel():
            self._future.set_exception(exception)
        return self

    def add_done_callback(self, function: Callable[[Future[Any]], object]) -> None:
        """Call `function` once the future is done."""
        self._future.add_done_callback(function)

    def __repr__(self) -> str:
        state = "done" if self.done() else "not done"
        return f"CompletableFuture({state})"
