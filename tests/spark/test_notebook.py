"""Jobs in the cells of a real Jupyter kernel, with classes that live in those cells only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

IMPORTS = """
from dataclasses import dataclass
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
"""

CLASSES = """
@dataclass(frozen=True)
class Place:
    city: str

@dataclass
class Sale:
    place: Place
    cents: int

@dataclass
class Till:
    cents: int
    last: Sale

class Tills(KeyedProcessFunction):
    def open(self, context):
        self.till = context.get_state(ValueStateDescriptor("till"))

    def process_element(self, sale, ctx):
        before = self.till.value()
        assert type(sale) is Sale and type(ctx.get_current_key()) is Place
        assert before is None or type(before) is Till and type(before.last) is Sale
        till = Till((before.cents if before else 0) + sale.cents, sale)
        self.till.update(till)
        yield till
"""

JOB = """
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
sales = [Sale(Place(city), cents) for city in ("Bergen", "Oslo") for cents in (100, 20, 3)]
tills = env.from_collection(sales).key_by(lambda sale: sale.place).process(Tills())
with tills.execute_and_collect() as results:
    found = list(results)
assert all(type(till) is Till for till in found)
print(sorted((till.last.place.city, till.cents) for till in found))
"""

CLASSES_AGAIN = """
@dataclass
class Till:
    cents: int
    last: Sale
    sales: int = 0

    @property
    def average(self):
        return self.cents / self.sales

class Tills(KeyedProcessFunction):
    def open(self, context):
        self.till = context.get_state(ValueStateDescriptor("till"))

    def process_element(self, sale, ctx):
        before = self.till.value() or Till(0, sale)
        assert type(before) is Till
        till = Till(before.cents + sale.cents, sale, before.sales + 1)
        self.till.update(till)
        yield till
"""

JOB_AGAIN = JOB.replace("till.cents)", "till.average)")

#: Twice, since output belongs to the cell whose job it is.
PRINTING = """
def tell(number):
    print("told", number)
    return number

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
with env.from_collection([{number}]).map(tell).execute_and_collect() as results:
    print("found", list(results))
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    manager = KernelManager()
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run_cell(kernel: BlockingKernelClient, code: str) -> str:
    """Run a cell; return what it printed."""
    printed: list[str] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    reply = kernel.execute_interactive(code, timeout=200, output_hook=take)
    content = reply["content"]
    assert content["status"] == "ok", "\n".join(content.get("traceback", []))
    return "".join(printed).strip()


@pytest.mark.timeout(500)
def test_classes_of_a_cell_and_their_next_version(kernel: BlockingKernelClient) -> None:
    run_cell(kernel, IMPORTS)
    run_cell(kernel, CLASSES)

    first = run_cell(kernel, JOB)
    run_cell(kernel, CLASSES_AGAIN)
    second = run_cell(kernel, JOB_AGAIN)

    assert first == str([(city, cents) for city in ("Bergen", "Oslo") for cents in (100, 120, 123)])
    assert second == str([(city, a) for city in ("Bergen", "Oslo") for a in (41.0, 60.0, 100.0)])


@pytest.mark.timeout(500)
def test_what_functions_print_appears_in_the_cell(kernel: BlockingKernelClient) -> None:
    run_cell(kernel, IMPORTS)
    for number in (1, 2):
        printed = run_cell(kernel, PRINTING.format(number=number))
        assert sorted(printed.splitlines()) == [f"found [{number}]", f"told {number}"]


#: A job as the last word of a cell; it needs no Spark to be shown.
SHOWN = """
import time
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
configuration = Configuration().set_string("execution.target", "in-process")
env = StreamExecutionEnvironment.get_execution_environment(configuration)

def slowly(number):
    time.sleep(0.5)
    return number

env.from_sequence(1, 6).set_parallelism(1).map(slowly).set_parallelism(1).print()
job = env.execute_async("shown in a cell")
job
"""


@pytest.mark.timeout(200)
def test_a_job_is_shown_live_in_the_cell_that_ends_with_it(kernel: BlockingKernelClient) -> None:
    seen: list[tuple[str, str]] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            html = message["content"]["data"].get("text/html", "")
            seen.append((message["msg_type"], html))

    kernel.execute_interactive(SHOWN, timeout=100, output_hook=take)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and "FINISHED" not in seen[-1][1]:
        message = kernel.get_iopub_msg(timeout=100)
        take(message)
    assert seen[0][0] == "display_data"
    assert "shown in a cell" in seen[0][1]
    assert "RUNNING" in seen[0][1]
    assert seen[-1][0] == "update_display_data"
    assert "FINISHED" in seen[-1][1]
