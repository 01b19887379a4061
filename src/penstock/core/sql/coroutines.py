"""Calls of asynchronous functions: those of a chunk wait at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

#: So many calls wait at the same time (`table.exec.async-scalar.max-concurrent-operations`).
CONCURRENT_CALLS = 10


def call(function: Any, columns: Sequence[list[Any]], types: Any, count: int) -> list[Any]:
    """Call a coroutine function for each row; return the results in the order of the rows."""

    async def gather() -> list[Any]:
        turn = asyncio.Semaphore(CONCURRENT_CALLS)

        async def one(args: tuple[Any, ...]) -> Any:
            async with turn:
                return await function(*args)

        rows = zip(*columns, strict=True) if columns else [()] * count
        return list(await asyncio.gather(*(one(row) for row in rows)))

    return asyncio.run(gather())
