"""The view of a running query on a terminal: pages of rows that change while one looks at them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from penstock.common import Row
from penstock.errors import PenstockError
from penstock.graph.relational.types import RowType
from penstock.table.result_text import draw

_REFRESH_SECONDS = 0.3
#: What the frame of the table and the two lines around it take.
_FRAME_LINES = 7


class ResultRows:
    """The rows of a query so far: those that are left, or all changes.

    :param most: how many are kept; the oldest go first.
    """

    def __init__(self, *, changes: bool, most: int) -> None:
        self._changes = changes
        self._most = most
        self._rows: list[Row] = []
        self._lock = threading.Lock()
        self.ended = False
        self.error: PenstockError | None = None

    def apply(self, change: Row) -> None:
        """Take a change."""
        with self._lock:
            if self._changes or change.get_row_kind().value in (0, 2):
                self._rows.append(change)
                if len(self._rows) > self._most:
                    del self._rows[0]
                return
            values = tuple(change)
            for index in range(len(self._rows) - 1, -1, -1):
                if tuple(self._rows[index]) == values:
                    del self._rows[index]
                    return

    def read(self, rows: Iterable[Row]) -> None:
        """Take all changes of a query."""
        try:
            for row in rows:
                self.apply(row)
        except PenstockError as error:
            self.error = error
        self.ended = True

    def page(self, number: int, size: int) -> tuple[list[Row], int]:
        """Return a page's rows, and how many pages there are."""
        with self._lock:
            pages = max(-(-len(self._rows) // size), 1)
            start = min(number, pages - 1) * size
            return self._rows[start : start + size], pages

    def all(self) -> list[Row]:
        """Return all rows."""
        with self._lock:
            return list(self._rows)


class ResultView:
    """Show the pages of a result until the user leaves.

    Keys: N and P turn pages, G and L go to the first and the last (L stays there), Q leaves. Ctrl-C
    leaves as well. Leaving ends the query: the caller closes it.
    """

    def __init__(
        self, rows: ResultRows, schema: RowType, zone: str, *, changes: bool,
        terminal_input: Input | None = None, terminal_output: Output | None = None,
    ) -> None:  # fmt: skip
        self._rows = rows
        self._schema = schema
        self._zone = zone
        self._changes = changes
        self._page = 0
        self._follows = True  # stays on the last page while it grows
        body = Window(FormattedTextControl(self._text), wrap_lines=False)
        foot = Window(FormattedTextControl(self._foot), height=1, style="reverse")
        self._application: Application[None] = Application(
            Layout(HSplit([body, foot])), key_bindings=self._keys(), full_screen=True,
            refresh_interval=_REFRESH_SECONDS, input=terminal_input, output=terminal_output,
        )  # fmt: skip

    def run(self) -> None:
        """Show the result until the user leaves."""
        self._application.run()

    def turn(self, pages: int) -> None:
        """Go on or back by some pages."""
        _, count = self._rows.page(0, self._size())
        at = count - 1 if self._follows else self._page
        self._page = min(max(at + pages, 0), count - 1)
        self._follows = False

    def _size(self) -> int:
        return max(self._application.output.get_size().rows - _FRAME_LINES, 1)

    def lines(self) -> list[str]:
        """Return the page as it is now."""
        _, count = self._rows.page(0, self._size())
        number = count - 1 if self._follows else self._page
        found, _ = self._rows.page(number, self._size())
        drawn = list(draw(found, self._schema, self._zone, changes=self._changes))
        # The last line counts the rows of the page: it is not what a reader wants to know.
        return drawn[:-1] if found else drawn

    def _text(self) -> StyleAndTextTuples:
        return [("", "\n".join(self.lines()))]

    def _foot(self) -> StyleAndTextTuples:
        _, count = self._rows.page(0, self._size())
        number = count if self._follows else min(self._page + 1, count)
        state = "finished" if self._rows.ended else "running"
        if self._rows.error is not None:
            state = "failed"
        total = len(self._rows.all())
        text = f" {state}, page {number} of {count}, {total} rows"
        return [("", f"{text}   N next  P previous  G first  L last  Q quit ")]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("q")
        @keys.add("Q")
        @keys.add("c-c")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("n")
        @keys.add("N")
        @keys.add("pagedown")
        def forward(event: KeyPressEvent) -> None:
            self.turn(1)

        @keys.add("p")
        @keys.add("P")
        @keys.add("pageup")
        def back(event: KeyPressEvent) -> None:
            self.turn(-1)

        @keys.add("g")
        @keys.add("G")
        @keys.add("home")
        def first(event: KeyPressEvent) -> None:
            self._page, self._follows = 0, False

        @keys.add("l")
        @keys.add("L")
        @keys.add("end")
        def last(event: KeyPressEvent) -> None:
            self._follows = True

        return keys


def show_live(
    rows: Any, schema: RowType, zone: str, *, changes: bool, most: int, **terminal: Any
) -> ResultRows:
    """Show the rows of a query while they come; return those that there are when the user leaves.

    :param rows: an iterator over changes.
    :param changes: whether changes are shown, or the rows that are left.
    """
    model = ResultRows(changes=changes, most=most)
    threading.Thread(target=model.read, args=(rows,), name="sql-rows", daemon=True).start()
    ResultView(model, schema, zone, changes=changes, **terminal).run()
    return model
