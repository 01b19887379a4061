"""MariaDB from the system's packages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.services.installing import need, run_quietly
from tools.services.server import Facts, Kind, Launch, exchange, free_port

_ACCOUNT = """\
CREATE DATABASE IF NOT EXISTS penstock CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS penstock@'127.0.0.1' IDENTIFIED BY 'penstock';
GRANT ALL ON *.* TO penstock@'127.0.0.1';
"""


class MariaDb(Kind):
    """A server with a database `penstock` and a user of that name."""

    name = "mariadb"

    def install(self) -> None:
        need("mariadbd", "mariadb-server")

    def prepare(self, folder: Path) -> Facts:
        if os.geteuid() == 0:
            shutil.chown(folder, "mysql")
        install = need("mariadb-install-db", "mariadb-server")
        options = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        run_quietly([install, *_options(folder), *options])
        (folder / "init.sql").write_text(_ACCOUNT)
        (folder / "init.sql").chmod(0o644)
        return {"port": free_port()}

    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        command = [
            need("mariadbd", "mariadb-server"),
            *_options(folder),
            f"--socket={folder}/socket",
            f"--pid-file={folder}/mariadbd.pid",
            "--bind-address=127.0.0.1",
            f"--port={facts['port']}",
            f"--init-file={folder}/init.sql",
            # What a transaction wrote survives the server's death, which is what is tried here.
            "--innodb-flush-log-at-trx-commit=2",
            "--skip-name-resolve",
        ]
        return [Launch(command)]

    def answers(self, facts: Facts) -> bool:
        greeting = exchange(facts["port"], b"")
        return greeting[4:5] == b"\x0a"  # the protocol's version; an error has another byte

    def address(self, facts: Facts) -> Facts:
        return {
            "host": "127.0.0.1",
            "port": facts["port"],
            "user": "penstock",
            "password": "penstock",
            "database": "penstock",
            "url": f"jdbc:mysql://127.0.0.1:{facts['port']}/penstock",
        }


def _options(folder: Path) -> list[str]:
    as_user = ["--user=mysql"] if os.geteuid() == 0 else []
    return ["--no-defaults", *as_user, f"--datadir={folder}/data"]
