"""RabbitMQ from the system's packages, with a name server of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.services.installing import need
from tools.services.server import Facts, Kind, Launch, exchange, free_port


class RabbitMq(Kind):
    """A broker with the user `guest`."""

    name = "rabbitmq"

    def install(self) -> None:
        _server()

    def prepare(self, folder: Path) -> Facts:
        if os.geteuid() == 0:
            shutil.chown(folder, "rabbitmq", "rabbitmq")
        (folder / "plugins").write_text("[].\n")
        return {name: free_port() for name in ("port", "epmd_port", "distribution_port")}

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        names = {"ERL_EPMD_PORT": str(facts["epmd_port"]), "ERL_EPMD_ADDRESS": "127.0.0.1"}
        environment = {
            **names,
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"penstock{facts['port']}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(facts["port"]),
            "RABBITMQ_DIST_PORT": str(facts["distribution_port"]),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none",
        }
        epmd = [need("epmd", "erlang-base"), "-port", str(facts["epmd_port"])]
        return [
            Launch(epmd, names, user="rabbitmq"),
            Launch([_server()], environment, user="rabbitmq"),
        ]

    def answers(self, facts: Facts) -> bool:
        # Method 10.10 on channel 0: the broker begins the conversation.
        return exchange(facts["port"], b"AMQP\x00\x00\x09\x01")[:1] == b"\x01"

    def address(self, facts: Facts) -> Facts:
        port = facts["port"]
        account = {"user": "guest", "password": "guest", "virtual_host": "/"}
        url = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
        return {"host": "127.0.0.1", "port": port, **account, "url": url}


def _server() -> str:
    # Not the wrapper on the path: it wants to be root, to become another user.
    return need("rabbitmq-server", "rabbitmq-server", "/usr/lib/rabbitmq/bin")
