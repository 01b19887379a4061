"""Settings of the connectors to relational databases: names of PyFlink's JDBC module."""

from __future__ import annotations

from penstock.connectors.jdbc.address import DatabaseAddress
from penstock.errors import ConfigurationError


class JdbcConnectionOptions:
    """Where a database is, and who asks.

    >>> options = (
    ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    ...     .with_url("jdbc:mysql://localhost:3306/shop")
    ...     .with_driver_name("com.mysql.cj.jdbc.Driver")
    ...     .with_user_name("eve")
    ...     .with_password("s3cret")
    ...     .build()
    ... )
    >>> options
    JdbcConnectionOptions(jdbc:mysql://localhost:3306/shop, user 'eve')
    """

    def __init__(
        self, url: str, driver_name: str | None, user_name: str | None, password: str | None
    ) -> None:
        self.address = DatabaseAddress.parse(url)
        self._url = url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password

    def get_db_url(self) -> str:
        """Return the database's URL."""
        return self._url

    def get_driver_name(self) -> str | None:
        """Return the name of the Java driver, which is not used."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """Return the user's name."""
        return self._user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self._password

    def __repr__(self) -> str:
        # Never with the password: this may stand in a log.
        return f"JdbcConnectionOptions({self.address.shown()}, user {self._user_name!r})"

    class JdbcConnectionOptionsBuilder:
        """Build `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL: `jdbc:mysql://host:port/database`, postgresql, mariadb or sqlite."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Accept the name of a Java driver, which is not needed."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user's name."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options.

            :raises ConfigurationError: if the URL is missing or of no known kind.
            """
            if self._url is None:
                raise ConfigurationError(
                    "the database's URL is missing",
                    where="JdbcConnectionOptionsBuilder",
                    todo="call with_url()",
                )
            return JdbcConnectionOptions(
                self._url, self._driver_name, self._user_name, self._password
            )


class JdbcExecutionOptions:
    """How rows are written.

    >>> options = JdbcExecutionOptions.builder().with_batch_size(100).build()
    >>> options.get_batch_size()
    100
    """

    def __init__(self, batch_interval_ms: int, batch_size: int, max_retries: int) -> None:
        self._batch_interval_ms = batch_interval_ms
        self._batch_size = batch_size
        self._max_retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """Return the interval; rows are written with checkpoints, whatever it says."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return how many rows are sent to the database at a time."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return how often a transaction that failed in passing is tried again."""
        return self._max_retries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JdbcExecutionOptions) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._batch_interval_ms, self._batch_size, self._max_retries))

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the options that hold if none are given."""
        return JdbcExecutionOptions.builder().build()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return a builder."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Build `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._batch_interval_ms = 0
            self._batch_size = 5000
            self._max_retries = 3

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set how many rows are sent to the database at a time."""
            self._batch_size = _at_least(1, size, "with_batch_size()")
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accept an interval; rows are written with checkpoints."""
            self._batch_interval_ms = _at_least(0, interval_ms, "with_batch_interval_ms()")
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often a transaction that failed in passing is tried again."""
            self._max_retries = _at_least(0, max_retries, "with_max_retries()")
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return JdbcExecutionOptions(
                self._batch_interval_ms, self._batch_size, self._max_retries
            )


def _at_least(least: int, number: int, where: str) -> int:
    if number < least:
        raise ConfigurationError(
            f"the number must be {least} or more", where=where, got=repr(number)
        )
    return number
