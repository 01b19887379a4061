"""Ask a service about every record, many at a time, and try again when it does not answer.

The service is a server in this program that needs some time for each answer and drops the first
question about each product.
"""

import asyncio
import threading

from penstock.common import Time
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    StreamExecutionEnvironment,
)

PRICES = {"tea": 3, "milk": 2, "bread": 4}


class PriceServer:
    """One line in, one line out; started on a free port."""

    def __init__(self):
        self.asked = set()
        self.started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        self.started.wait()

    async def serve(self):
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.started.set()
        await server.serve_forever()

    async def answer(self, reader, writer):
        product = (await reader.readline()).decode().strip()
        await asyncio.sleep(0.05)
        if product in self.asked:
            writer.write(f"{PRICES.get(product, 0)}\n".encode())
        self.asked.add(product)
        writer.close()


class AskForPrice(AsyncFunction):
    def __init__(self, port):
        self.port = port

    async def async_invoke(self, value):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{value}\n".encode())
        answer = await reader.readline()
        writer.close()
        if not answer:
            raise ConnectionError("no answer")
        return [f"{value} costs {int(answer)}"]

    def timeout(self, value):
        return [f"{value} has no price"]


def again(error):
    return isinstance(error, ConnectionError)


def main():
    port = PriceServer().port
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    products = env.from_collection(["tea", "milk", "bread", "tea"])
    retry = AsyncRetryStrategy.fixed_delay(3, 20, None, again)
    prices = AsyncDataStream.ordered_wait_with_retry(
        products, AskForPrice(port), Time.seconds(20), retry, capacity=10
    )
    prices.print("price")
    env.execute("look prices up")


if __name__ == "__main__":
    main()
