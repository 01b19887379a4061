"""Redis from the system's packages."""

from __future__ import annotations

from pathlib import Path

from tools.services.installing import need
from tools.services.server import Facts, Kind, Launch, exchange, free_port


class Redis(Kind):
    """A server that writes each command to its log, so that it can be killed."""

    name = "redis"

    def install(self) -> None:
        need("redis-server", "redis-server")

    def prepare(self, folder: Path) -> Facts:
        return {"port": free_port()}

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        settings = {
            "bind": "127.0.0.1",
            "port": facts["port"],
            "dir": folder,
            "save": "",
            "appendonly": "yes",
            "appendfsync": "no",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        return [Launch([need("redis-server", "redis-server"), *options])]

    def answers(self, facts: Facts) -> bool:
        return exchange(facts["port"], b"PING\r\n").startswith(b"+PONG")

    def address(self, facts: Facts) -> Facts:
        port = facts["port"]
        return {"host": "127.0.0.1", "port": port, "url": f"redis://127.0.0.1:{port}/0"}
