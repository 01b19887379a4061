"""Pulsar from Maven's repository: broker and storage in one process."""

from __future__ import annotations

from pathlib import Path

from tools.services.installing import fetch_jars, need
from tools.services.server import Facts, Kind, Launch, exchange, free_port

#: The last version of which Maven's repository has all parts.
VERSION = "4.0.0"
#: Parts that a broker of its own needs not: they come from repositories of other houses.
_WITHOUT = (
    "org.apache.pulsar:jetcd-core-shaded",
    "io.etcd:*",
    "io.confluent:*",
    "io.kubernetes:*",
    "com.oracle.oci.sdk:*",
)
_OPENED = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.nio",
    "java.base/java.util.zip",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.base/sun.net",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)


class Pulsar(Kind):
    """A standalone broker, with an HTTP interface."""

    name = "pulsar"

    def install(self) -> None:
        _jars()

    def prepare(self, folder: Path) -> Facts:
        facts = {name: free_port() for name in ("port", "http_port", "storage_port")}
        (folder / "standalone.conf").write_text(_settings(facts))
        return facts

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        options = ["-Xmx512m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC"]
        options += ["-XX:TieredStopAtLevel=1", "-Dio.netty.tryReflectionSetAccessible=true"]
        for package in _OPENED:
            options += ["--add-opens", f"{package}=ALL-UNNAMED"]
        arguments = ["--config", str(folder / "standalone.conf"), "--no-functions-worker"]
        arguments += ["--no-stream-storage", "--metadata-dir", str(folder / "metadata")]
        arguments += ["--bookkeeper-dir", str(folder / "storage")]
        arguments += ["--num-bookies", "1", "--bookkeeper-port", str(facts["storage_port"])]
        main = "org.apache.pulsar.PulsarStandaloneStarter"
        java = need("java", "default-jre-headless")
        return [Launch([java, *options, "-cp", f"{_jars()}/*", main, *arguments])]

    def answers(self, facts: Facts) -> bool:
        # A namespace that the broker makes last of all.
        path = "/admin/v2/persistent/public/default"
        question = f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
        return b" 200 " in exchange(facts["http_port"], question, seconds=5)[:20]

    def address(self, facts: Facts) -> Facts:
        return {
            "host": "127.0.0.1",
            "port": facts["port"],
            "service_url": f"pulsar://127.0.0.1:{facts['port']}",
            "admin_url": f"http://127.0.0.1:{facts['http_port']}",
        }


def _settings(facts: Facts) -> str:
    settings = {
        "clusterName": "standalone",
        "brokerServicePort": facts["port"],
        "webServicePort": facts["http_port"],
        "bindAddress": "127.0.0.1",
        "advertisedAddress": "127.0.0.1",
        "metadataStoreUrl": "",
        "configurationMetadataStoreUrl": "",
        # One node has one copy of everything.
        "managedLedgerDefaultEnsembleSize": 1,
        "managedLedgerDefaultWriteQuorum": 1,
        "managedLedgerDefaultAckQuorum": 1,
        "loadBalancerEnabled": "false",
        "brokerDeleteInactiveTopicsEnabled": "false",
        # Ledgers of a few entries: a topic of a test has several.
        "managedLedgerMaxEntriesPerLedger": 50,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _jars() -> Path:
    return fetch_jars(
        f"pulsar-{VERSION}", f"org.apache.pulsar:pulsar-broker:{VERSION}", without=_WITHOUT
    )
