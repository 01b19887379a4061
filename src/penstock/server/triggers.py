"""Operations that take long: asked for with one request, looked at with others, as in Flink."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import RequestError
from penstock.server.java_throwable import failure_cause

#: How long an answer can be asked for: as long as Flink keeps it.
_KEPT_SECONDS = 300.0


@dataclass
class Operation:
    """One of them."""

    #: `(job id, kind)`: whoever asks names both.
    subject: tuple[str, str]
    result: dict[str, Any] | None = None
    ended: float = 0.0


class Triggers:
    """Run operations in threads of their own, and keep what came of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Operation] = {}

    def start(
        self,
        subject: tuple[str, str],
        work: Callable[[], dict[str, Any]],
        request_id: str | None = None,
    ) -> dict[str, str]:
        """Start an operation and answer with its id.

        :param work: returns the operation's part of the answer.
        :param request_id: chosen by the client; who asks twice gets one operation.
        """
        name = request_id or uuid.uuid4().hex
        operation = Operation(subject)
        with self._lock:
            self._forget_old()
            if name in self._known:
                return {"request-id": name}
            self._known[name] = operation
        thread = threading.Thread(
            target=self._run, args=(operation, work), name="penstock-trigger", daemon=True
        )
        thread.start()
        return {"request-id": name}

    def _run(self, operation: Operation, work: Callable[[], dict[str, Any]]) -> None:
        try:
            result = work()
        except Exception as error:
            cause = failure_cause(type(error).__name__, str(error))
            result = {"failure-cause": cause}
        with self._lock:
            operation.result = result
            operation.ended = time.monotonic()

    def look(self, subject: tuple[str, str], request_id: str) -> dict[str, Any]:
        """Answer whether an operation is done, and what came of it.

        :raises RequestError: if there is none.
        """
        with self._lock:
            operation = self._known.get(request_id)
            if operation is None or operation.subject != subject:
                raise RequestError(404, f"Operation {request_id} not found for key {subject[0]}")
            if operation.result is None:
                return {"status": {"id": "IN_PROGRESS"}}
            return {"status": {"id": "COMPLETED"}, "operation": operation.result}

    def _forget_old(self) -> None:
        now = time.monotonic()
        old = [n for n, o in self._known.items() if o.ended and now - o.ended > _KEPT_SECONDS]
        for name in old:
            del self._known[name]
