"""Sinks written as functions that promise more: transactions in two phases."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from penstock.core.functions.sink import SinkFunction

IN = TypeVar("IN")
TXN = TypeVar("TXN")


class TwoPhaseCommitSinkFunction(SinkFunction[IN], Generic[IN, TXN]):
    r"""Write records exactly once, to something that has transactions.

    A subtask begins a transaction with the first record of a batch, and pre-commits it when the
    batch ends: from then on it must be possible to commit it, in any process, whatever fails. When
    the batch is durable it is committed, in the user's process. So a transaction must be picklable:
    the name of a transaction rather than a connection. `commit`, `recover_and_commit` and
    `recover_and_abort` are called on a copy of the function that has not been opened; they may be
    called again for a transaction that has been ended, and must do nothing then.

        class FileTransactions(TwoPhaseCommitSinkFunction):
            def begin_transaction(self):
                return tempfile.mktemp(dir="pending")

            def invoke(self, transaction, value, context):
                with open(transaction, "a") as file:
                    file.write(f"{value}\n")

            def pre_commit(self, transaction):
                pass

            def commit(self, transaction):
                if os.path.exists(transaction):
                    shutil.move(transaction, "done")

            def abort(self, transaction):
                pathlib.Path(transaction).unlink(missing_ok=True)
    """

    @abstractmethod
    def begin_transaction(self) -> TXN:
        """Return a new transaction."""

    @abstractmethod
    def invoke(self, transaction: TXN, value: IN, context: SinkFunction.Context) -> None:  # type: ignore[override]
        """Write one record within a transaction."""

    @abstractmethod
    def pre_commit(self, transaction: TXN) -> None:
        """Finish writing: from now on `commit` must be able to succeed."""

    @abstractmethod
    def commit(self, transaction: TXN) -> None:
        """Make a pre-committed transaction visible."""

    @abstractmethod
    def abort(self, transaction: TXN) -> None:
        """Undo a transaction."""

    def recover_and_commit(self, transaction: TXN) -> None:
        """Commit a transaction of an earlier run. Default: `commit`."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: TXN) -> None:
        """Undo a transaction that another process has left behind. Default: `abort`."""
        self.abort(transaction)

    def set_transaction_timeout(
        self, transaction_timeout: int
    ) -> TwoPhaseCommitSinkFunction[IN, TXN]:
        """Accept a timeout in milliseconds; transactions end with their batch."""
        return self

    def ignore_failures_after_transaction_timeout(
        self,
    ) -> TwoPhaseCommitSinkFunction[IN, TXN]:
        """Do nothing: a transaction that cannot be committed fails the job."""
        return self

    def enable_transaction_timeout_warnings(
        self, warning_ratio: float
    ) -> TwoPhaseCommitSinkFunction[IN, TXN]:
        """Do nothing: transactions end with their batch."""
        return self


#: Any of them.
AnyTwoPhaseCommit = TwoPhaseCommitSinkFunction[Any, Any]
