"""Complete events with what a table of users says, and notice when the table changes.

A source reads the table again and again; what it read is broadcast, and every subtask keeps it in
broadcast state. Events of users that are not in the table are left out.

    examples/process/user_info.py [--host HOST --port PORT --user USER --password PASSWORD]

Without arguments a MariaDB server is started. Needs PyMySQL.
"""

import argparse
import sys
import time
from pathlib import Path

import pymysql

from penstock.common import Types
from penstock.datastream import (
    BroadcastProcessFunction,
    RichSourceFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import MapStateDescriptor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address

USERS = [("user_1", "张三", 10), ("user_2", "李四", 20), ("user_3", "王五", 30)]
CONFIG = MapStateDescriptor("config", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


class Events(SourceFunction):
    """What users do: (user, type of event, product). user_4 is not in the table."""

    def __init__(self):
        self.running = True
        self.number = 0

    def run(self, ctx):
        while self.running:
            with ctx.get_checkpoint_lock():
                user = self.number % 4 + 1
                ctx.collect((f"user_{user}", ("browse", "click")[user % 2], user))
                self.number += 1
            time.sleep(0.05)

    def cancel(self):
        self.running = False


class UserTable(RichSourceFunction):
    """The whole table as {user: (name, age)}, every half second."""

    def __init__(self, server):
        self.server = server
        self.running = True

    def open(self, runtime_context):
        self.connection = pymysql.connect(**self.server, autocommit=True)

    def run(self, ctx):
        while self.running:
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT userID, userName, userAge FROM user_info")
                ctx.collect({user: (name, age) for user, name, age in cursor.fetchall()})
            time.sleep(0.5)

    def cancel(self):
        self.running = False

    def close(self):
        self.connection.close()


class Complete(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        users = ctx.get_broadcast_state(CONFIG).get("users")
        if users and value[0] in users:
            yield (*value, *users[value[0]])

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(CONFIG).put("users", value)


def execute(server, *statements):
    with pymysql.connect(**server, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(*statement) if isinstance(statement, tuple) else cursor.execute(
                statement
            )


def prepare(server):
    """Make the table and fill it."""
    insert = "INSERT INTO user_info VALUES (%s, %s, %s)"
    execute(
        server,
        "DROP TABLE IF EXISTS user_info",
        "CREATE TABLE user_info (userID varchar(20) PRIMARY KEY, userName varchar(10), userAge int)"
        " CHARACTER SET utf8mb4",
        *((insert, row) for row in USERS),
    )


def database():
    """Return how to reach the server that was named, or one that is started for it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--user", default="penstock")
    parser.add_argument("--password", default="penstock")
    options, _ = parser.parse_known_args()
    server = {"user": options.user, "password": options.password, "database": "penstock"}
    if options.port is not None:
        return {**server, "host": options.host, "port": options.port}
    started = address("mariadb")
    return {**server, "host": started["host"], "port": started["port"]}


def main():
    server = database()
    prepare(server)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    table = env.add_source(UserTable(server), "user_info")
    events = env.add_source(Events(), "events")
    completed = events.connect(table.broadcast(CONFIG)).process(Complete())

    seen = set()
    with completed.execute_and_collect("user_info") as results:
        for user, event, product, name, age in results:
            if (user, age) in seen:
                continue
            seen.add((user, age))
            print(f"({user}, {event}, {product}, {name}, {age})", flush=True)
            if len(seen) == len(USERS):
                execute(server, "UPDATE user_info SET userAge = 33 WHERE userID = 'user_3'")
            if len(seen) > len(USERS):
                break


if __name__ == "__main__":
    main()
