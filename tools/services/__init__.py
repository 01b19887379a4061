"""Real servers for tests and demos: Kafka, MariaDB, PostgreSQL, Redis, OpenSearch, RabbitMQ,
Cassandra, Pulsar.

Each runs on free ports of the loopback interface, with its data in a scratch folder. As a command:

    python -m tools.services start kafka mariadb    # installs what is missing; prints addresses
    python -m tools.services status
    python -m tools.services stop

From Python: `start(KINDS["kafka"], folder)` returns a `Server` to kill, pause and start again;
`address("kafka")` is for programs that want one for as long as they run.
"""

from tools.services.cassandra import Cassandra
from tools.services.kafka import Kafka
from tools.services.mariadb import MariaDb
from tools.services.opensearch import OpenSearch
from tools.services.postgres import Postgres
from tools.services.pulsar import Pulsar
from tools.services.rabbitmq import RabbitMq
from tools.services.redis import Redis
from tools.services.server import Facts, Kind, Server, start
from tools.services.shared import address_of

#: Every kind of server by its name.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kafka(),
        MariaDb(),
        Postgres(),
        Redis(),
        OpenSearch(),
        RabbitMq(),
        Cassandra(),
        Pulsar(),
    )
}


def address(name: str) -> Facts:
    """Return where a server is that this process has; it is started by the first question."""
    return address_of(KINDS[name])


__all__ = ["KINDS", "Kind", "Server", "address", "start"]
