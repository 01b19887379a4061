"""Modules of the pages that can be asked by themselves, in the browser that runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser

from penstock.server.archives import Archives
from penstock.server.history import make_history_app
from penstock.server.listening import listen

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def call(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Give a function that calls one of a module: `call("format.js", "count", 5)`."""
    app = make_history_app(Archives([Path(tmp_path_factory.mktemp("none"))]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    page = browser.new_context(timezone_id="UTC").new_page()
    page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/")

    def ask(module: str, name: str, *arguments: Any) -> Any:
        code = "async ([m, n, a]) => (await import(new URL(`js/${m}`, document.baseURI)))[n](...a)"
        return page.evaluate(code, [module, name, list(arguments)])

    yield ask
    page.context.close()
    server.should_exit = True
    thread.join(30)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("count", 0, "0"),
        ("count", 99_999, "99,999"),
        ("count", 100_000, "100 k"),
        ("count", 1_234_567, "1.23 M"),
        ("count", 2.5, "2.5"),
        ("count", None, "\u2013"),
        ("rate", 0.25, "0.25/s"),
        ("rate", 999, "999/s"),
        ("rate", 4_200, "4.20 k/s"),
        ("bytes", 1023, "1023 B"),
        ("bytes", 1024, "1.00 KiB"),
        ("bytes", 5 << 30, "5.00 GiB"),
        ("duration", 999, "999 ms"),
        ("duration", 1_500, "1.5 s"),
        ("duration", 61_000, "1 m 1 s"),
        ("duration", 3_600_000, "1 h 0 m"),
        ("duration", 90_000_000, "1 d 1 h"),
        ("duration", -1, "\u2013"),
        ("percent", 0.004, "<1 %"),
        ("percent", 0.5, "50 %"),
        ("eventTime", None, "\u2013"),
        ("eventTime", -(2**63), "\u2013"),
        ("eventTime", 2**63 - 1, "input ended"),
        ("eventTime", 4_999, "4,999 ms"),
        ("eventTime", 1_600_000_000_000, "2020-09-13 12:26:40"),
        ("stateWord", "CANCELED", "cancelled"),
    ],
)
def test_numbers_and_times_are_written_for_people(call, name, value, text):
    assert call("format.js", name, value) == text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  --rate 5 ", ["--rate", "5"]),
        ("'a b' \"c 'd'\" e''f", ["a b", "c 'd'", "ef"]),
        ("''", [""]),
    ],
)
def test_arguments_are_cut_as_a_shell_does(call, line, words):
    assert call("pages/submit.js", "words", line) == words


TRACE = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/penstock/runtime/task.py", line 120, in process
    self._operator.process(record)
  File "/venv/lib/python3.11/site-packages/penstock/runtime/operators/map.py", line 31, in run
    out(self._map(value))
        ^^^^^^^^^^^^^^^^
  File "/jobs/orders.py", line 41, in parse
    return price(fields[2])
  File "/jobs/orders.py", line 27, in price
    return Decimal(text)
           ^^^^^^^^^^^^^
ValueError: not a price
"""


def test_a_traceback_is_cut_into_the_users_frames_and_others(call):
    parts = call("traceback.js", "cut", TRACE)
    assert [(part["kind"], len(part["lines"])) for part in parts] == [
        ("text", 1),
        ("framework", 5),
        ("user", 2),
        ("user", 3),
        ("text", 1),
    ]
    assert call("traceback.js", "conclusion", TRACE) == "ValueError: not a price"


def test_frames_of_java_are_the_frameworks(call):
    trace = "org.apache.spark.SparkException: failed\n\tat org.apache.A.b(A.java:1)\n\t... 7 more"
    parts = call("traceback.js", "cut", trace)
    assert [part["kind"] for part in parts] == ["text", "framework"]
    assert call("traceback.js", "conclusion", trace) == "org.apache.spark.SparkException: failed"
