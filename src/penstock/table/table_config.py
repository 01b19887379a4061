"""Settings of a table environment."""

from __future__ import annotations

import datetime
import sys
from typing import Any

from penstock.common import Configuration
from penstock.common.options import (
    LOCAL_TIME_ZONE,
    PYTHON_EXECUTABLE,
    SOURCE_IDLE_TIMEOUT,
    SQL_DIALECT,
    STATE_TTL,
)
from penstock.table.sql_dialect import SqlDialect


class TableConfig:
    """Read and change the settings of one table environment.

    >>> config = TableConfig.get_default()
    >>> config.set(STATE_TTL.key, "1 h").get(STATE_TTL.key, "0")
    '1 h'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        """Return settings that nobody has changed."""
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """Return a setting."""
        return str(self._configuration.get_string(key, default_value))

    def set(self, key: str, value: Any) -> TableConfig:
        """Change a setting."""
        self._configuration.set_string(key, str(value))
        return self

    def get_configuration(self) -> Configuration:
        """Return the settings themselves."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Add settings."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """Return all settings by key."""
        return {key: str(value) for key, value in self._configuration.to_dict().items()}

    def get_local_timezone(self) -> str:
        """Return the zone in which TIMESTAMP_LTZ is shown."""
        zone = self.get(LOCAL_TIME_ZONE.key, "default")
        return "UTC" if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the zone in which TIMESTAMP_LTZ is shown, for instance Asia/Shanghai."""
        self.set(LOCAL_TIME_ZONE.key, timezone_id)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Forget what a query knows of a key that was silent for this long."""
        self.set(STATE_TTL.key, f"{int(duration.total_seconds() * 1000)} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """Return how long a silent key is kept; zero: for ever."""
        return datetime.timedelta(milliseconds=self.state_ttl())

    def state_ttl(self) -> int:
        """Return the same in milliseconds."""
        return STATE_TTL.read(self.to_map()).to_millis()

    def idle_timeout(self) -> int:
        """Return after how many milliseconds a silent split is left out; zero: never."""
        return SOURCE_IDLE_TIMEOUT.read(self.to_map()).to_millis()

    def get_max_generated_code_length(self) -> int:
        """Return Flink's limit, which has no meaning here: Python code is never split."""
        return int(self.get("table.generated-code.max-length", "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accept Flink's limit; no effect."""
        self.set("table.generated-code.max-length", max_generated_code_length)

    def get_sql_dialect(self) -> SqlDialect:
        """Return the dialect of SQL."""
        return SqlDialect[self.get(SQL_DIALECT.key, "default").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the dialect of SQL; only the default one has an effect."""
        self.set(SQL_DIALECT.key, SqlDialect(sql_dialect).name.lower())

    def get_python_executable(self) -> str:
        """Return the interpreter of the workers."""
        return self.get(PYTHON_EXECUTABLE.key, sys.executable)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter of the workers."""
        self.set(PYTHON_EXECUTABLE.key, python_exec)
