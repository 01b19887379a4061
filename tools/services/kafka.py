"""Kafka from its Maven packages: broker and controller in one process, without ZooKeeper."""

from __future__ import annotations

import struct
from pathlib import Path

from tools.services.installing import fetch_jars, need, run_quietly
from tools.services.server import Facts, Kind, Launch, exchange, free_port

VERSION = "4.1.0"
_CLUSTER = "cGVuc3RvY2stdGVzdC1jbA"
_PASSWORD = "penstock"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
#: An ApiVersions request: whoever answers it is a broker.
_QUESTION = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class Kafka(Kind):
    """A broker with a plain listener and one that wants a password."""

    name = "kafka"

    def install(self) -> None:
        _jars()

    def prepare(self, folder: Path) -> Facts:
        facts = {name: free_port() for name in ("port", "sasl_port", "controller_port")}
        properties = folder / "server.properties"
        properties.write_text(_properties(folder, facts))
        format_storage = ["kafka.tools.StorageTool", "format", "--standalone"]
        run_quietly([*_java(), *format_storage, "-t", _CLUSTER, "-c", str(properties)])
        return facts

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        return [Launch([*_java(), "kafka.Kafka", str(folder / "server.properties")])]

    def answers(self, facts: Facts) -> bool:
        return len(exchange(facts["port"], _QUESTION)) > 4

    def address(self, facts: Facts) -> Facts:
        return {
            "bootstrap_servers": f"127.0.0.1:{facts['port']}",
            "sasl_bootstrap_servers": f"127.0.0.1:{facts['sasl_port']}",
            "user": "penstock",
            "password": _PASSWORD,
        }


def _jars() -> Path:
    packages = [f"org.apache.kafka:{each}:{VERSION}" for each in ("kafka_2.13", "kafka-tools")]
    packages.append("org.slf4j:slf4j-simple:1.7.36")
    return fetch_jars(f"kafka-{VERSION}", *packages)


def _java() -> list[str]:
    java = need("java", "default-jre-headless")
    options = ["-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    options.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    return [java, *options, "-cp", f"{_jars()}/*"]


def _properties(folder: Path, facts: Facts) -> str:
    plain, sasl = f"127.0.0.1:{facts['port']}", f"127.0.0.1:{facts['sasl_port']}"
    controller = f"127.0.0.1:{facts['controller_port']}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": controller,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{plain},SASL_PLAINTEXT://{sasl},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{plain},SASL_PLAINTEXT://{sasl}",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{_LOGIN} required username="penstock" password="{_PASSWORD}" '
            f'user_penstock="{_PASSWORD}";'
        ),
        "log.dirs": str(folder / "data"),
        # Tests write records that are dated 1970.
        "log.retention.ms": "-1",
        "num.partitions": "1",
        # As in most places: who writes to a topic that is not there shall learn it.
        "auto.create.topics.enable": "false",
        # One broker has one replica of everything.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "2",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        # A broker that was killed must not wait for itself before it is back.
        "broker.session.timeout.ms": "6000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())
