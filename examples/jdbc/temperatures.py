"""Keep the last temperature of each sensor in a table of a database.

    examples/jdbc/temperatures.py [--url JDBC_URL --user USER --password PASSWORD]

Without arguments a PostgreSQL server is started. Needs the extra `postgres`.
"""

import argparse
import sys
from pathlib import Path

import psycopg

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address

READINGS = [
    ("sensor_1", 35.8),
    ("sensor_6", 15.4),
    ("sensor_7", 6.7),
    ("sensor_1", 32.8),
    ("sensor_6", 16.1),
]


def connect(url, options):
    account = {"user": options.user, "password": options.password}
    return psycopg.connect(url.removeprefix("jdbc:"), **account)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--user", default="penstock")
    parser.add_argument("--password", default="penstock")
    options, _ = parser.parse_known_args()
    url = options.url or address("postgres")["url"]
    with connect(url, options) as c:
        c.execute("DROP TABLE IF EXISTS temperatures")
        c.execute("CREATE TABLE temperatures (sensor VARCHAR(20) PRIMARY KEY, temp FLOAT)")

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    row_type = Types.ROW_NAMED(["sensor", "temp"], [Types.STRING(), Types.DOUBLE()])
    readings = env.from_collection([Row(*reading) for reading in READINGS], type_info=row_type)
    readings.add_sink(
        JdbcSink.sink(
            "INSERT INTO temperatures (sensor, temp) VALUES (?, ?) "
            "ON CONFLICT (sensor) DO UPDATE SET temp = excluded.temp",
            row_type,
            JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            .with_url(url)
            .with_driver_name("org.postgresql.Driver")
            .with_user_name(options.user)
            .with_password(options.password)
            .build(),
            JdbcExecutionOptions.builder().with_batch_size(200).with_max_retries(5).build(),
        )
    )
    env.execute("temperatures")

    with connect(url, options) as c:
        for sensor, temperature in c.execute("SELECT * FROM temperatures ORDER BY sensor"):
            print(sensor, temperature)


if __name__ == "__main__":
    main()
