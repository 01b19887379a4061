"""Nexmark's queries q0 to q8, q11 and q12: the texts for Penstock and Flink, and for Spark."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.workloads.nexmark import model
from bench.workloads.nexmark.events import rows_of, write_table
from bench.workloads.queries import Query, starts

_FILES = "WITH ('connector' = 'filesystem', 'path' = '{folder}/%s', 'format' = 'csv')"
_SPARK = "CREATE OR REPLACE TEMPORARY VIEW %s (%s) USING csv OPTIONS (path '{folder}/%s')"
_COLUMNS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
    "state STRING, `dateTime` TIMESTAMP(3), extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, "
    "reserve BIGINT, `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, "
    "category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "`dateTime` TIMESTAMP(3), extra STRING",
}
_WATERMARK = ", WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND"
NEXMARK_TABLES = {
    name: (
        f"CREATE TEMPORARY TABLE {name} ({columns}{_WATERMARK}) {_FILES % name}",
        _SPARK % (name, columns.replace("TIMESTAMP(3)", "TIMESTAMP_NTZ"), name),
    )
    for name, columns in _COLUMNS.items()
}
#: For q12: the same bids with the time at which they come.
NEXMARK_TABLES["arriving"] = (
    f"CREATE TEMPORARY TABLE arriving ({_COLUMNS['bid']}, p_time AS PROCTIME()) {_FILES % 'bid'}",
    "",
)

_BIDS_OF_ITEMS = """SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end"""
_BIDS_OF_ITEMS_SPARK = """SELECT auction, COUNT(*) AS num, w.start AS window_start,
    w.end AS window_end FROM (SELECT auction, window(`dateTime`, '10 seconds', '2 seconds') AS w
    FROM bid) GROUP BY auction, w"""
_HOT_ITEMS = """SELECT b.auction, b.num, b.window_start FROM ({bids}) b
    JOIN (SELECT MAX(num) AS most, window_start, window_end FROM ({bids}) c
          GROUP BY window_start, window_end) m
    ON b.window_start = m.window_start AND b.window_end = m.window_end AND b.num >= m.most"""
_CLOSING = """SELECT MAX(b.price) AS final, a.id, a.category FROM auction a JOIN bid b
    ON a.id = b.auction WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires
    GROUP BY a.id, a.category"""
_LAST_SALES = """SELECT seller, AVG(final) OVER (PARTITION BY seller ORDER BY `dateTime`
    ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM (SELECT * FROM (
        SELECT a.id, a.seller, b.price AS final, b.`dateTime`,
        ROW_NUMBER() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC) AS place
        FROM auction a JOIN bid b ON a.id = b.auction
        WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires) WHERE place <= 1)"""
_LAST_SALES_SPARK = (
    _LAST_SALES.replace(
        "AVG(final) OVER (PARTITION BY seller ORDER BY `dateTime`\n    "
        "ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)",
        "SUM(final) OVER w DIV COUNT(final) OVER w",
    )
    + " WINDOW w AS (PARTITION BY seller ORDER BY `dateTime` "
    "ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)"
)
_NEW_SELLERS = """SELECT p.id, p.name, p.started
    FROM (SELECT id, name, {start} AS started, {end} AS ended FROM {persons}
          GROUP BY id, name, {group}) p
    JOIN (SELECT seller, {start} AS started, {end} AS ended FROM {auctions}
          GROUP BY seller, {group}) a
    ON p.id = a.seller AND p.started = a.started AND p.ended = a.ended"""
_TUMBLED = "TABLE(TUMBLE(TABLE %s, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))"
_TUMBLED_SPARK = "(SELECT *, window(`dateTime`, '10 seconds') AS w FROM %s)"
_HIGHEST = """SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra FROM bid b
    JOIN (SELECT MAX(price) AS most, {end} AS ended FROM {bids} GROUP BY {group}) m
    ON b.price = m.most
    WHERE b.`dateTime` BETWEEN m.ended - INTERVAL '10' SECOND AND m.ended"""


#: Events of the larger run at most: their files must be written first. Bids are most of them.
_MOST, _MOST_WITHOUT_BIDS = 1_000_000, 12_500_000
#: Where the rows of a table come from.
_EVENTS = {"person": "person", "auction": "auction", "bid": "bid", "arriving": "bid"}


def _rows_read(tables: tuple[str, ...], events: int) -> int:
    return sum(rows_of(_EVENTS[table], events) for table in tables)


def _query(
    name: str, title: str, result: str, flink: str, expected: model.Model,
    tables: tuple[str, ...], spark: str | None = None, **more: bool,
) -> Query:  # fmt: skip
    bids = bool({"bid", "arriving"} & set(tables))
    return Query(
        f"nexmark-{name}", f"Nexmark {name}: {title}", result, flink,
        starts(*(20_000 if bids else 250_000,) * 3), partial(model.answer, expected), spark, tables,
        most=_MOST if bids else _MOST_WITHOUT_BIDS, rows_read=partial(_rows_read, tables), **more,
    )  # fmt: skip


def write_input(folder: Path, query: Query, events: int) -> Path:
    """Write what a query reads, unless it is there; return the folder of the tables."""
    for table in query.tables:
        write_table(folder, _EVENTS[table], events)
    return folder / f"nexmark-{events}"


NEXMARK = {
    query.name: query
    for query in (
        _query(
            "q0", "pass through",
            "auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP(3), extra STRING",
            "SELECT auction, bidder, price, `dateTime`, extra FROM bid", model.q0, ("bid",),
        ),
        _query(
            "q1", "currency conversion",
            "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), at TIMESTAMP(3), extra STRING",
            "SELECT auction, bidder, 0.908 * price, `dateTime`, extra FROM bid", model.q1,
            ("bid",),
        ),
        _query(
            "q2", "selection", "auction BIGINT, price BIGINT",
            "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0", model.q2, ("bid",),
        ),
        _query(
            "q3", "local items", "name STRING, city STRING, state STRING, id BIGINT",
            """SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p
            ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
            model.q3, ("auction", "person"),
        ),
        _query(
            "q4", "average price of a category", "category BIGINT, price BIGINT",
            f"SELECT category, AVG(final) FROM ({_CLOSING}) q GROUP BY category", model.q4,
            ("auction", "bid"),
            f"SELECT category, SUM(final) DIV COUNT(*) FROM ({_CLOSING}) q GROUP BY category",
        ),
        _query(
            "q5", "hot items", "auction BIGINT, num BIGINT, started TIMESTAMP(3)",
            _HOT_ITEMS.format(bids=_BIDS_OF_ITEMS), model.q5, ("bid",),
            _HOT_ITEMS.format(bids=_BIDS_OF_ITEMS_SPARK),
        ),
        _query(
            "q6", "average price of a seller", "seller BIGINT, price BIGINT", _LAST_SALES,
            model.q6, ("auction", "bid"), _LAST_SALES_SPARK, batch=True,
        ),
        _query(
            "q7", "highest bid",
            "auction BIGINT, price BIGINT, bidder BIGINT, at TIMESTAMP(3), extra STRING",
            _HIGHEST.format(
                end="window_end", bids=_TUMBLED % "bid", group="window_start, window_end"
            ),
            model.q7, ("bid",),
            _HIGHEST.format(end="w.end", bids=_TUMBLED_SPARK % "bid", group="w"),
        ),
        _query(
            "q8", "monitor new users", "id BIGINT, name STRING, started TIMESTAMP(3)",
            _NEW_SELLERS.format(
                start="window_start", end="window_end", group="window_start, window_end",
                persons=_TUMBLED % "person", auctions=_TUMBLED % "auction",
            ),
            model.q8, ("person", "auction"),
            _NEW_SELLERS.format(
                start="w.start", end="w.end", group="w",
                persons=_TUMBLED_SPARK % "person", auctions=_TUMBLED_SPARK % "auction",
            ),
        ),
        _query(
            "q11", "user sessions", "bidder BIGINT, bids BIGINT, started TIMESTAMP(3)",
            """SELECT bidder, COUNT(*), window_start FROM TABLE(SESSION(
                TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
            GROUP BY bidder, window_start, window_end""",
            model.q11, ("bid",),
            """SELECT bidder, COUNT(*), w.start FROM (
                SELECT bidder, session_window(`dateTime`, '10 seconds') AS w FROM bid)
            GROUP BY bidder, w""",
        ),
        _query(
            "q12", "bids by the clock", "bidder BIGINT, bids BIGINT, started TIMESTAMP(3)",
            """SELECT bidder, COUNT(*), window_start FROM TABLE(TUMBLE(
                TABLE arriving, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
            GROUP BY bidder, window_start, window_end""",
            model.q12, ("arriving",), "", by_clock=True,
        ),
    )
}  # fmt: skip
