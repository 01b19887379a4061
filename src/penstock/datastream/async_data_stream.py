"""Asynchronous functions on a stream: many records wait for an answer at the same time."""

from __future__ import annotations

from typing import Any

from penstock.common import Duration, Time, TypeInformation
from penstock.core.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from penstock.datastream.stream import DataStream
from penstock.errors import ConfigurationError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import require_object
from penstock.graph.specs import AsyncWaitSpec

_Mode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Apply an `AsyncFunction` to a stream.

    All results of a batch are there before the batch ends.

    >>> from penstock.common import Time
    >>> from penstock.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
    >>> class Price(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         return [(value, 42)]
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> items = env.from_collection(["tea", "milk"])
    >>> prices = AsyncDataStream.ordered_wait(items, Price(), Time.seconds(5), capacity=20)
    """

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Send results on in the order of their records.

        :param timeout: how long a record may take; zero: as long as it takes.
        :param capacity: how many records of a subtask may be under way at once.
        """
        return _add(
            data_stream, async_function, timeout, None, capacity, output_type, _Mode.ORDERED
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Send results on in the order of their records, and try again what went wrong.

        :param timeout: how long a record may take, all its tries together.
        """
        return _add(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type,
            _Mode.ORDERED,
        )  # fmt: skip

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Send results on as they come; none overtakes a watermark or is overtaken by one.

        :param timeout: how long a record may take; zero: as long as it takes.
        :param capacity: how many records of a subtask may be under way at once.
        """
        return _add(
            data_stream, async_function, timeout, None, capacity, output_type, _Mode.UNORDERED
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Send results on as they come, and try again what went wrong.

        :param timeout: how long a record may take, all its tries together.
        """
        return _add(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type,
            _Mode.UNORDERED,
        )  # fmt: skip


def _add(
    stream: DataStream,
    function: AsyncFunction[Any, Any],
    timeout: Time | Duration,
    retry: AsyncRetryStrategy[Any] | None,
    capacity: int,
    output_type: TypeInformation | None,
    mode: AsyncFunctionDescriptor.OutputMode,
) -> DataStream:
    call = f"AsyncDataStream.{mode.name.lower()}_wait()"
    require_object(call, stream, DataStream)
    require_object(call, function, AsyncFunction)
    require_object(call, timeout, Time, Duration)
    if retry is not None:
        require_object(call, retry, AsyncRetryStrategy)
    if timeout.to_milliseconds() < 0 or (retry is not None and timeout.to_milliseconds() == 0):
        raise ConfigurationError(
            "the timeout of an asynchronous function must not be negative, "
            "and with retries it must be above zero",
            where=str(capture_call_site()),
            got=show_value(timeout),
            todo="pass for instance Time.seconds(10)",
        )
    descriptor = AsyncFunctionDescriptor(function, timeout, capacity, retry, mode)
    return stream._transform("async wait operator", AsyncWaitSpec(descriptor), output_type)
