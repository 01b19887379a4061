"""PostgreSQL from the system's packages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.services.installing import need, run_quietly
from tools.services.server import Facts, Kind, Launch, exchange, free_port

#: A request for encryption: the answer is one byte, whatever the server thinks of it.
_QUESTION = bytes.fromhex("0000000804d2162f")


class Postgres(Kind):
    """A server with a database `penstock` and a user of that name."""

    name = "postgres"

    def install(self) -> None:
        _program("initdb")

    def prepare(self, folder: Path) -> Facts:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        (folder / "password").write_text("penstock")
        (folder / "password").chmod(0o644)
        options = ["--username=penstock", "--auth=scram-sha-256", f"--pwfile={folder}/password"]
        extra = ["--encoding=UTF8", "--no-sync"]
        run_quietly(
            [_program("initdb"), f"--pgdata={folder}/data", *options, *extra], **_as_postgres()
        )
        return {"port": free_port()}

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        settings = {
            "port": facts["port"],
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": folder,
            # For transactions in two phases.
            "max_prepared_transactions": 64,
            # What is written survives the server's death, which is what is tried here.
            "fsync": "off",
        }
        pairs = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [_program("postgres"), "-D", f"{folder}/data", *pairs]
        return [Launch(command, user="postgres")]

    def answers(self, facts: Facts) -> bool:
        return exchange(facts["port"], _QUESTION) in (b"N", b"S") and _is_ready(facts)

    def settle(self, folder: Path, facts: Facts) -> None:
        connection = ["--host=127.0.0.1", f"--port={facts['port']}", "--username=penstock"]
        environment = {**os.environ, "PGPASSWORD": "penstock"}
        run_quietly([_program("createdb"), *connection, "penstock"], env=environment)

    def address(self, facts: Facts) -> Facts:
        return {
            "host": "127.0.0.1",
            "port": facts["port"],
            "user": "penstock",
            "password": "penstock",
            "database": "penstock",
            "url": f"jdbc:postgresql://127.0.0.1:{facts['port']}/penstock",
        }


def _is_ready(facts: Facts) -> bool:
    # A start-up packet of protocol 3: a server that still starts up answers with an error.
    body = b"\x00\x03\x00\x00user\x00penstock\x00database\x00postgres\x00\x00"
    packet = (len(body) + 4).to_bytes(4, "big") + body
    return exchange(facts["port"], packet)[:1] == b"R"


def _as_postgres() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"}


def _program(name: str) -> str:
    folders = sorted(str(path) for path in Path("/usr/lib/postgresql").glob("*/bin"))
    return need(name, "postgresql", *reversed(folders))
