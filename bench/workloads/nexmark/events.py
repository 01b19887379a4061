"""Nexmark's events out of their numbers: persons, auctions and bids, in Nexmark's proportions.

Of 50 events in a row the first is a person, the next three are auctions, the others are bids. As in
Nexmark's own generator some auctions, bidders and sellers are hot, prices span six powers of ten,
and about a hundred auctions are open at a time. An event depends on its number alone, so any part
can be made by itself, and twice.

The files are CSV, two for each kind, for two readers: the even and the odd events, each in order of
time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

TURN, PERSONS, AUCTIONS = 50, 1, 3
BIDS = TURN - PERSONS - AUCTIONS
FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
#: Of so many bids, or auctions, all but one go to somebody hot.
HOT_AUCTION, HOT_BIDDER, HOT_SELLER = 2, 4, 4
#: Every so many ids somebody is hot.
HOT_EVERY = 100
ACTIVE_PERSONS, OPEN_AUCTIONS = 1000, 100
#: An event each millisecond, from here on.
BEGIN = datetime(2026, 1, 1)
MS = timedelta(milliseconds=1)

_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond",
           "Seattle", "Kent", "Cheyenne")  # fmt: skip
_FIRST = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter")
_LAST = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_MASK = (1 << 64) - 1


class Person(NamedTuple):
    """Somebody who sells and bids."""

    id: int
    name: str
    email: str
    credit_card: str
    city: str
    state: str
    at: datetime
    extra: str


class Auction(NamedTuple):
    """Something that is for sale until it expires."""

    id: int
    item: str
    description: str
    initial_bid: int
    reserve: int
    at: datetime
    expires: datetime
    seller: int
    category: int
    extra: str


class Bid(NamedTuple):
    """Somebody's offer for an auction."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    at: datetime
    extra: str


Event = Person | Auction | Bid


class Dice:
    """Numbers that look random and follow from the event's number (the steps of splitmix64)."""

    def __init__(self, number: int) -> None:
        self._state = number * 0x9E3779B97F4A7C15 & _MASK

    def below(self, bound: int) -> int:
        """Return a number from 0 to below the bound."""
        self._state = state = self._state + 0x9E3779B97F4A7C15 & _MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        return (state ^ state >> 31) % bound

    def price(self) -> int:
        """Return an amount in cents; each power of ten is as likely as the others."""
        return round(100 * 10 ** (self.below(1_000_000) / 1_000_000 * 6))

    def word(self, length: int) -> str:
        """Return some text of at most 16 characters."""
        return f"{self.below(1 << 4 * length):0{length}x}"


def event(number: int) -> Event:
    """Return the event of a number.

    >>> type(event(0)).__name__, type(event(3)).__name__, type(event(4)).__name__
    ('Person', 'Auction', 'Bid')
    >>> event(104) == event(104), event(104).at - event(4).at == 100 * MS
    (True, True)
    """
    turn, place = divmod(number, TURN)
    dice, at = Dice(number), BEGIN + number * MS
    if place < PERSONS:
        return _person(turn, dice, at)
    if place < PERSONS + AUCTIONS:
        return _auction(turn, place - PERSONS, dice, at)
    return _bid(turn, dice, at)


def _person(turn: int, dice: Dice, at: datetime) -> Person:
    name = f"{_FIRST[dice.below(len(_FIRST))]} {_LAST[dice.below(len(_LAST))]}"
    card = " ".join(f"{dice.below(10_000):04}" for _ in range(4))
    email = f"{dice.word(7)}@{dice.word(5)}.com"
    city, state = _CITIES[dice.below(len(_CITIES))], _STATES[dice.below(len(_STATES))]
    return Person(FIRST_ID + turn, name, email, card, city, state, at, dice.word(16))


def _auction(turn: int, place: int, dice: Dice, at: datetime) -> Auction:
    # A turn has one person, so its number is that of the newest one.
    seller = _somebody(turn, dice, HOT_SELLER, 0)
    initial = dice.price()
    length = 1 + dice.below(2 * OPEN_AUCTIONS * TURN // AUCTIONS)
    return Auction(
        FIRST_ID + turn * AUCTIONS + place, dice.word(10), dice.word(16), initial,
        initial + dice.price(), at, at + length * MS, seller,
        FIRST_CATEGORY + dice.below(CATEGORIES), dice.word(16),
    )  # fmt: skip


def _bid(turn: int, dice: Dice, at: datetime) -> Bid:
    newest = turn * AUCTIONS + AUCTIONS - 1
    if dice.below(HOT_AUCTION):
        auction = newest // HOT_EVERY * HOT_EVERY
    else:
        auction = max(newest - dice.below(OPEN_AUCTIONS), 0)
    bidder = _somebody(turn, dice, HOT_BIDDER, 1)
    if dice.below(2):
        channel = _CHANNELS[dice.below(len(_CHANNELS))]
    else:
        channel = f"channel-{dice.below(10_000)}"
    url = f"https://www.nexmark.com/{dice.word(5)}/item.htm?query=1"
    return Bid(FIRST_ID + auction, bidder, dice.price(), channel, url, at, dice.word(16))


def _somebody(newest: int, dice: Dice, hot: int, next_to: int) -> int:
    """Return the id of somebody hot, or of one of those who came last."""
    if dice.below(hot):
        return FIRST_ID + min(newest // HOT_EVERY * HOT_EVERY + next_to, newest)
    return FIRST_ID + max(newest - dice.below(ACTIVE_PERSONS), 0)


def events(count: int) -> Iterator[Event]:
    """Return the first events."""
    return map(event, range(count))


#: The first place in a turn of the events of a table, and how many of them a turn has.
PLACES = {"person": (0, PERSONS), "auction": (PERSONS, AUCTIONS), "bid": (TURN - BIDS, BIDS)}


def rows_of(table: str, count: int) -> int:
    """Return how many of the first events are rows of a table.

    >>> rows_of("person", 51), rows_of("auction", 52), rows_of("bid", 100)
    (2, 4, 92)
    """
    first, many = PLACES[table]
    turns, rest = divmod(count, TURN)
    return turns * many + min(max(rest - first, 0), many)


def write_table(folder: Path, table: str, count: int) -> Path:
    """Write the rows of a table among the first events as CSV; return where it is.

    It is a folder of two files, one with the events of even number and one with the others. What
    is there already is left as it is.
    """
    target = folder / f"nexmark-{count}" / table
    if target.exists():
        return target
    scratch = target.with_name(f"{table}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    first, many = PLACES[table]
    with (scratch / "part-0.csv").open("w") as even, (scratch / "part-1.csv").open("w") as odd:
        for begin in range(first, count, TURN):
            for number in range(begin, min(begin + many, count)):
                line = ",".join(map(_cell, event(number)))
                (odd if number % 2 else even).write(line + "\n")
    scratch.rename(target)
    return target


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds")
    return str(value)
