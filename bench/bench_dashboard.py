"""What does an open dashboard cost a job?

One job runs in a session. In turns nobody asks, and somebody asks what the page of the graph asks,
as often as it does. Told are records a second and processor time a million records of the job's
processes, with the pages open against without, and the processor time of the session server.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil

PROGRAM = Path(__file__).parent / "dashboard_program.py"
#: As the page does.
INTERVAL = 3.0


class Session:
    """A session server with one job."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "penstock.cli.main", "cluster", "start", "--port", "0"]
        self._server = subprocess.Popen(
            [*command, "--state-dir", str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self._server.stdout is not None
        found = re.search(r"http://[\d.:]+\d", self._server.stdout.readline())
        assert found is not None
        self._address = found[0]
        upload = {"name": PROGRAM.name, "content": PROGRAM.read_text()}
        script = self.ask("/scripts/upload", upload)["id"]
        self.job = self.ask(f"/scripts/{script}/run", {"parallelism": 2})["jobid"]

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self._address + path, data, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def records(self) -> int:
        vertices = self.ask(f"/jobs/{self.job}")["vertices"]
        return int(vertices[0]["metrics"]["read-records"]) if vertices else 0

    def next_records(self) -> int:
        """Return how many records have been read when a batch ends: spans have whole batches."""
        before = found = self.records()
        while found == before:
            time.sleep(0.5)
            found = self.records()
        return found

    def look_as_the_page_does(self, since: int) -> int:
        """Ask what the graph asks for; return the time from which on it asks next."""
        vertices = self.ask(f"/jobs/{self.job}")["vertices"]
        self.ask(f"/jobs/{self.job}/batches?since={2**53}")
        for vertex in vertices:
            self.ask(f"/jobs/{self.job}/vertices/{vertex['id']}")
        operators = self.ask(f"/jobs/{self.job}/event-time?since={since}")["operators"]
        return max((point[0] for each in operators for point in each["points"]), default=since)

    def cpu(self) -> tuple[float, float]:
        """Return seconds of processor time: of the job's processes, and of the server."""
        server = psutil.Process(self._server.pid)
        job = 0.0
        for process in server.children(recursive=True):
            try:
                job += sum(process.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
        return job, sum(server.cpu_times()[:2])

    def close(self) -> None:
        request = urllib.request.Request(
            f"{self._address}/jobs/{self.job}?mode=cancel", method="PATCH"
        )
        urllib.request.urlopen(request, timeout=120).close()
        while self.ask(f"/jobs/{self.job}")["end-time"] < 0:
            time.sleep(0.5)
        self._server.terminate()
        self._server.wait(60)


def span(session: Session, seconds: float, pages: int) -> tuple[float, float, float]:
    """Return records a second, the job's processor time a million records, and the server's."""
    ended = threading.Event()

    def look() -> None:
        since = 0
        while not ended.wait(INTERVAL):
            since = session.look_as_the_page_does(since)

    watchers = [threading.Thread(target=look) for _ in range(pages)]
    for watcher in watchers:
        watcher.start()
    records = session.next_records()
    begin, (job, server) = time.monotonic(), session.cpu()
    time.sleep(seconds)
    done, (job_after, server_after) = session.next_records() - records, session.cpu()
    took = time.monotonic() - begin
    ended.set()
    for watcher in watchers:
        watcher.join()
    return done / took, (job_after - job) / done * 1e6, (server_after - server) / took


def main() -> int:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pages", type=int, default=1, help="how many are open")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        try:
            while session.records() < 1_000_000:
                time.sleep(1)
            found: dict[int, list[tuple[float, float, float]]] = {0: [], options.pages: []}
            for _ in range(options.turns):
                for pages, told in found.items():
                    told.append(span(session, options.seconds, pages))
        finally:
            session.close()
    for pages, told in found.items():
        rate, cpu, server = (statistics.median(column) for column in zip(*told, strict=True))
        print(
            f"{pages} open: {rate:,.0f} records/s, {cpu:.2f} s of processor time for a million "
            f"records, session server {server * 100:.1f} % of a core"
        )
    for name, column in (("records/s", 0), ("processor time", 1)):
        ratios = [
            with_pages[column] / without[column]
            for without, with_pages in zip(found[0], found[options.pages], strict=True)
        ]
        print(f"{name}, open against not: {statistics.median(ratios):.3f} (median of turns)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
