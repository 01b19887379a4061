"""Cassandra from its Maven packages: one node."""

from __future__ import annotations

import struct
from pathlib import Path

from tools.services.installing import fetch_jars, need
from tools.services.server import Facts, Kind, Launch, exchange, free_port

VERSION = "5.0.4"
#: An OPTIONS request of version 4 of its protocol: whoever answers it serves.
_QUESTION = struct.pack(">BBhBi", 4, 0, 0, 5, 0)
#: What its own script opens for Java 17.
_OPENS = (
    *(f"java.base/java.{each}" for each in ("io", "lang", "lang.module", "lang.reflect", "math")),
    *(f"java.base/java.{each}" for each in ("net", "nio", "util", "util.concurrent")),
    "java.base/java.util.concurrent.atomic",
    *(f"java.base/jdk.internal.{each}" for each in ("loader", "math", "module", "ref", "reflect")),
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
)
_EXPORTS = (
    *(f"java.base/{each}" for each in ("jdk.internal.misc", "jdk.internal.ref", "sun.nio.ch")),
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    *(f"java.rmi/sun.rmi.{each}" for each in ("registry", "server", "transport.tcp")),
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
)


class Cassandra(Kind):
    """One node that lets everybody in."""

    name = "cassandra"

    def install(self) -> None:
        _jars()

    def prepare(self, folder: Path) -> Facts:
        facts = {"port": free_port(), "storage_port": free_port()}
        (folder / "cassandra.yaml").write_text(_settings(folder, facts))
        return facts

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        java = need("java", "default-jre-headless")
        opened = [text for each in _OPENS for text in ("--add-opens", f"{each}=ALL-UNNAMED")]
        opened += [text for each in _EXPORTS for text in ("--add-exports", f"{each}=ALL-UNNAMED")]
        settings = {
            "cassandra.config": (folder / "cassandra.yaml").as_uri(),
            "cassandra.storagedir": str(folder),
            "cassandra-foreground": "yes",
            # There is nobody else to wait for.
            "cassandra.ring_delay_ms": "100",
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "jdk.attach.allowAttachSelf": "true",
        }
        options = [f"-D{key}={value}" for key, value in settings.items()]
        memory = ["-Xmx700m", "-Xms256m", "-XX:TieredStopAtLevel=1"]
        main = "org.apache.cassandra.service.CassandraDaemon"
        return [Launch([java, *memory, *opened, *options, "-cp", f"{_jars()}/*", main])]

    def answers(self, facts: Facts) -> bool:
        return exchange(facts["port"], _QUESTION)[:1] == b"\x84"

    def address(self, facts: Facts) -> Facts:
        return {"host": "127.0.0.1", "port": facts["port"]}


def _jars() -> Path:
    return fetch_jars(f"cassandra-{VERSION}", f"org.apache.cassandra:cassandra-all:{VERSION}")


def _settings(folder: Path, facts: Facts) -> str:
    return f"""\
cluster_name: penstock
num_tokens: 1
allocate_tokens_for_local_replication_factor: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [{folder}/data]
commitlog_directory: {folder}/commitlog
saved_caches_directory: {folder}/caches
hints_directory: {folder}/hints
cdc_raw_directory: {folder}/cdc
commitlog_sync: periodic
commitlog_sync_period: 1000ms
endpoint_snitch: SimpleSnitch
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: {facts["storage_port"]}
native_transport_port: {facts["port"]}
start_native_transport: true
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:{facts["storage_port"]}"
"""
