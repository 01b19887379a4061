"""How a table environment is set up."""

from __future__ import annotations

from penstock.common import Configuration
from penstock.common.options import RUNTIME_MODE

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"


class EnvironmentSettings:
    """Mode, names of the built-in catalog, and configuration of a table environment.

    >>> EnvironmentSettings.in_streaming_mode().is_streaming_mode()
    True
    """

    def __init__(
        self, streaming: bool, catalog: str, database: str, configuration: Configuration
    ) -> None:
        self._streaming = streaming
        self._catalog = catalog
        self._database = database
        self._configuration = configuration

    def get_built_in_catalog_name(self) -> str:
        """Return the name of the catalog that is there from the start."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """Return the name of the database that is there from the start."""
        return self._database

    def is_streaming_mode(self) -> bool:
        """Tell whether queries run as streams."""
        return self._streaming

    def get_configuration(self) -> Configuration:
        """Return the settings."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Return a builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Return settings of a streaming environment."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Return settings of a batch environment."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    class Builder:
        """Build settings step by step."""

        def __init__(self) -> None:
            self._streaming = True
            self._catalog = DEFAULT_CATALOG
            self._database = DEFAULT_DATABASE
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Add settings."""
            self._configuration.add_all(config)
            mode = config.get_string(RUNTIME_MODE.key, "")
            if mode:
                self._streaming = mode.upper() != "BATCH"
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Run queries to their final result."""
            self._streaming = False
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Run queries as streams; the default."""
            self._streaming = True
            return self

        def with_built_in_catalog_name(self, name: str) -> EnvironmentSettings.Builder:
            """Set the name of the first catalog."""
            self._catalog = name
            return self

        def with_built_in_database_name(self, name: str) -> EnvironmentSettings.Builder:
            """Set the name of the first database."""
            self._database = name
            return self

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(
                self._streaming, self._catalog, self._database, self._configuration
            )
