"""Rounds of trouble: a job is killed, its servers go away, and in the end nothing may be wrong.

python -m tests.services.chaos.harness --rounds 20 --seed 7
"""

from __future__ import annotations

import argparse
import collections
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.services.chaos.program import KEYS, PARTITIONS, WINDOW
from tests.services.databases import Database
from tests.services.topics import QUIET
from tools.services import KINDS, Server, start

PROGRAM = Path(__file__).with_name("program.py")
SERVERS = ("kafka", "mariadb", "postgres")
#: How long a round may take; whoever takes longer hangs.
ROUND_SECONDS = 420.0
#: How long a job may take to write its first record.
START_SECONDS = 120.0
#: How long a job may take to end when it is interrupted.
INTERRUPT_SECONDS = 60.0


@dataclass
class Trouble:
    """What happens in a round: moments, counted from the start, and what is done then."""

    plan: list[tuple[float, str]]
    log: list[str] = field(default_factory=list)
    #: How many seconds a server that is killed stays away.
    away: float = 2.0

    KINDS = ("worker", "worker", "jvm", "driver", "all", "interrupt", *SERVERS)

    @classmethod
    def random(cls, chance: random.Random, events: int) -> Trouble:
        moments = sorted(chance.uniform(5, 30) for _ in range(events))
        return cls([(moment, chance.choice(cls.KINDS)) for moment in moments])


class Watcher(threading.Thread):
    """A reader of committed messages that runs all along: it must never see one twice."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": f"{topic}-watcher",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                **QUIET,
            }
        )
        self._consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        self.seen: collections.Counter[str] = collections.Counter()
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.is_set():
            for message in self._consumer.consume(1000, 0.2):
                if message.error() is None:
                    self.seen[message.value().decode()] += 1
                elif not message.error().retriable():
                    assert message.error().code() != KafkaError._PARTITION_EOF
        self._consumer.close()

    def finish(self, expected: int) -> None:
        deadline = time.monotonic() + 120
        while self.seen.total() < expected and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)  # for one more than there should be
        self._done.set()
        self.join(30)


class Round:
    """One job, from its empty topics to the comparison of everything that it wrote."""

    def __init__(
        self, servers: dict[str, Server], folder: Path, name: str, records: int = 6000
    ) -> None:
        self._servers = servers
        self._folder = folder
        self._name = name
        self._records = records
        self._kafka = servers["kafka"].address["bootstrap_servers"]
        self._databases = [
            Database(servers[kind].address["url"], servers[kind]) for kind in SERVERS[1:]
        ]
        folder.mkdir(parents=True)
        admin = AdminClient({"bootstrap.servers": self._kafka, **QUIET})
        # What the job writes is of 1970: a broker would throw it away.
        keep = {"retention.ms": "-1"}
        topics = [NewTopic(f"{name}-{end}", PARTITIONS, config=keep) for end in ("in", "out")]
        for made in admin.create_topics(topics).values():
            made.result(60)
        for database in self._databases:
            database.run(f"CREATE TABLE {name} (number INTEGER, seen INTEGER)")

    def run(self, trouble: Trouble) -> None:
        """Run the job through its trouble; raise what is wrong in the end."""
        watcher = self._watcher = Watcher(self._kafka, f"{self._name}-out")
        watcher.start()
        writer = threading.Thread(target=self._write_numbers, daemon=True)
        writer.start()
        self._live_through(trouble)
        writer.join(60)
        self._check_input()
        expected = expected_texts(self._records)
        watcher.finish(len(expected))
        self._compare(watcher, expected)

    _watcher: Watcher
    #: How many messages there were when the job was started last.
    _seen_before = 0

    def _live_through(self, trouble: Trouble) -> None:
        began = time.monotonic()
        events = collections.deque(trouble.plan)
        process = self._start()
        starts = 1
        try:
            while True:
                passed = time.monotonic() - began
                assert passed < ROUND_SECONDS, f"the job hangs: {self._log()}"
                if events and passed >= events[0][0]:
                    what = events.popleft()[1]
                    trouble.log.append(f"{passed:.1f} s: {what}")
                    self._strike(what, process, trouble.away)
                code = process.poll()
                if code == 0 or (code is not None and self._has_finished()):
                    return
                if code is not None:
                    trouble.log.append(f"{passed:.1f} s: started again after exit code {code}")
                    starts += 1
                    assert starts <= len(trouble.plan) + 3, f"it keeps failing: {self._log()}"
                    process = self._start()
                time.sleep(0.05)
        finally:
            _kill(_family(process.pid))

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = [f"--{name}={self._servers[name].address['url']}" for name in SERVERS[1:]]
        arguments += [f"--kafka={self._kafka}", f"--name={self._name}"]
        self._seen_before = self._watcher.seen.total()
        with (self._folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, PROGRAM, self._folder, *arguments, f"--records={self._records}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # A shell's background processes ignore it, and so would the job.
                preexec_fn=_listen_to_interrupts,
            )

    def _strike(self, what: str, process: subprocess.Popen[bytes], away: float) -> None:
        if what in SERVERS:
            server = self._servers[what]
            server.kill()
            time.sleep(away)
            server.start()
            return
        if what == "interrupt":
            self._interrupt(process)
            return
        family = _family(process.pid)
        if what == "driver":
            _kill(family[:1])
        elif what == "jvm":
            _kill([each for each in family[1:] if _is(each, "java")])
        elif what == "worker":
            workers = [each for each in family[1:] if _is(each, "python")]
            _kill(random.sample(workers, min(1, len(workers))))
        else:
            _kill(family)

    def _interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """End the job as a user does, at work and while the broker does not answer."""
        at_work = time.monotonic() + START_SECONDS
        # Not while Python loads its modules: some of them swallow an interrupt.
        while self._watcher.seen.total() <= self._seen_before and process.poll() is None:
            if time.monotonic() > at_work:
                break
            time.sleep(0.1)
        kafka = self._servers["kafka"]
        kafka.pause()
        try:
            process.send_signal(signal.SIGINT)
            process.wait(INTERRUPT_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self._log()}") from None
        finally:
            kafka.resume()

    def _write_numbers(self) -> None:
        # With the time of writing: a broker that is started again does not know producers any more
        # whose last record is of 1970, and then takes retried records twice or in another order.
        settings = {"bootstrap.servers": self._kafka, "enable.idempotence": True}
        producer = Producer({**settings, **QUIET})
        for number in range(self._records):
            producer.produce(f"{self._name}-in", str(number), partition=number % PARTITIONS)
            if number % 50 == 49:
                producer.poll(0)
                time.sleep(30 * 50 / self._records)
        assert producer.flush(120) == 0

    def _check_input(self) -> None:
        """Make sure that the topic has each record once and in order: the job is judged by it."""
        for partition in range(PARTITIONS):
            found = read_partition(self._kafka, f"{self._name}-in", partition)
            sent = [str(number) for number in range(partition, self._records, PARTITIONS)]
            pairs = zip(found, sent, strict=False)
            place = next((n for n, (is_, was) in enumerate(pairs) if is_ != was), len(sent))
            assert found == sent, (
                f"not the job's fault: partition {partition} of the input has {len(found)} records "
                f"for {len(sent)}, and from {place} on others: {found[place : place + 5]}"
            )

    def _compare(self, watcher: Watcher, expected: set[str]) -> None:
        problems = _differences("Kafka", watcher.seen, expected)
        texts = {text for text in expected if not text.startswith("window")}
        for database in self._databases:
            found = database.rows(f"SELECT number, seen FROM {self._name}")
            rows = collections.Counter(f"{number} {seen}" for number, seen in found)
            problems += _differences(database.url, rows, texts)
        problems += _differences("files", self._lines(), texts)
        assert not problems, "\n".join([*problems, self._log()])

    def _lines(self) -> collections.Counter[str]:
        files = (self._folder / "files").rglob("part-*")
        return collections.Counter(
            line for file in files if file.is_file() for line in file.read_text().splitlines()
        )

    def _has_finished(self) -> bool:
        """Tell whether an interrupt came too late: started again the job would begin anew."""
        return self._log().rstrip().endswith("had finished, its output is complete")

    def _log(self) -> str:
        return (self._folder / "log.txt").read_text(errors="replace")[-5000:]


def expected_texts(records: int) -> set[str]:
    """Return what one run without trouble writes."""
    texts = {f"{number} {number // KEYS + 1}" for number in range(records)}
    for begin in range(0, records, WINDOW):
        for key in range(KEYS):
            in_window = len(range(begin + key, min(begin + WINDOW, records), KEYS))
            texts.add(f"window {key} {begin} {in_window}")
    return texts


def read_partition(servers: str, topic: str, partition: int) -> list[str]:
    """Return the records of a partition in the order of their offsets."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"{topic}-order",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        **QUIET,
    }
    consumer = Consumer(settings)
    found: list[str] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for message in consumer.consume(1000, 1):
                if message.error() is None:
                    found.append(message.value().decode())
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    return found
        raise AssertionError(f"{topic}-{partition} cannot be read")
    finally:
        consumer.close()


def _differences(where: str, found: collections.Counter[str], expected: set[str]) -> list[str]:
    doubled = sorted(text for text, times in found.items() if times > 1)
    missing, added = sorted(expected - found.keys()), sorted(found.keys() - expected)
    return [
        f"{where}: {len(texts)} {what}, as {texts[:5]}"
        for what, texts in (("twice", doubled), ("missing", missing), ("wrong", added))
        if texts
    ]


def _family(pid: int) -> list[psutil.Process]:
    """Return a process and all that it has started, directly or not."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _listen_to_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _is(process: psutil.Process, program: str) -> bool:
    try:
        return program in process.name()
    except psutil.NoSuchProcess:
        return False


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    folder.chmod(0o755)
    servers = {name: start(KINDS[name], folder / name, die_with_parent=True) for name in SERVERS}
    failed = 0
    try:
        for number in range(options.rounds):
            seed = options.seed + number
            trouble = Trouble.random(random.Random(seed), 3)
            began = time.monotonic()
            try:
                Round(servers, folder / f"round{number}", f"chaos{seed}").run(trouble)
                outcome = "right"
            except AssertionError as error:
                failed += 1
                outcome = f"WRONG\n{error}"
            took = time.monotonic() - began
            print(f"seed {seed}, {took:.0f} s, {'; '.join(trouble.log)}: {outcome}", flush=True)
            for server in servers.values():
                server.start(die_with_parent=True)
    finally:
        for server in servers.values():
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.rounds} rounds, {failed} of them wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
