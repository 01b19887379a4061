"""What Nexmark's queries must give, by plain Python over the events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from bench.workloads.nexmark.events import Auction, Bid, Person, events
from bench.workloads.queries import Row

SECOND = timedelta(seconds=1)
SIZE, SLIDE, GAP = 10 * SECOND, 2 * SECOND, 10 * SECOND
LAST_SALES = 11
_EPOCH = datetime(1970, 1, 1)


class House(NamedTuple):
    """All that has happened."""

    persons: list[Person]
    auctions: list[Auction]
    bids: list[Bid]


Model = Callable[[House], Iterator[Row]]


def house(count: int) -> House:
    """Return the first events by kind."""
    found = House([], [], [])
    for each in events(count):
        if isinstance(each, Bid):
            found.bids.append(each)
        elif isinstance(each, Auction):
            found.auctions.append(each)
        else:
            found.persons.append(each)
    return found


def answer(query: Model, count: int) -> Iterator[Row]:
    """Return what a query gives for the first events."""
    return query(house(count))


def window_of(moment: datetime, slide: timedelta = SIZE) -> datetime:
    """Return the start of the newest window that a moment is in."""
    return moment - (moment - _EPOCH) % slide


def q0(house: House) -> Iterator[Row]:
    return ((b.auction, b.bidder, b.price, b.at, b.extra) for b in house.bids)


def q1(house: House) -> Iterator[Row]:
    rate = Decimal("0.908")
    return ((b.auction, b.bidder, rate * b.price, b.at, b.extra) for b in house.bids)


def q2(house: House) -> Iterator[Row]:
    return ((b.auction, b.price) for b in house.bids if b.auction % 123 == 0)


def q3(house: House) -> Iterator[Row]:
    local = {p.id: p for p in house.persons if p.state in ("OR", "ID", "CA")}
    for a in house.auctions:
        if a.category == 10 and a.seller in local:
            seller = local[a.seller]
            yield seller.name, seller.city, seller.state, a.id


def _winners(house: House) -> dict[int, tuple[Auction, Bid]]:
    """Return each auction that was bid for while it was open, with its first highest bid."""
    auctions = {a.id: a for a in house.auctions}
    best: dict[int, tuple[Auction, Bid]] = {}
    for b in house.bids:
        a = auctions.get(b.auction)
        if a is None or not a.at <= b.at <= a.expires:
            continue
        if a.id not in best or b.price > best[a.id][1].price:
            best[a.id] = (a, b)
    return best


def q4(house: House) -> Iterator[Row]:
    prices: dict[int, list[int]] = defaultdict(list)
    for a, b in _winners(house).values():
        prices[a.category].append(b.price)
    return ((category, sum(each) // len(each)) for category, each in prices.items())


def q5(house: House) -> Iterator[Row]:
    counts: dict[datetime, Counter[int]] = defaultdict(Counter)
    for b in house.bids:
        start = window_of(b.at, SLIDE)
        while start > b.at - SIZE:
            counts[start][b.auction] += 1
            start -= SLIDE
    for start, auctions in counts.items():
        most = max(auctions.values())
        yield from ((auction, n, start) for auction, n in auctions.items() if n == most)


def q6(house: House) -> Iterator[Row]:
    sales: dict[int, list[Bid]] = defaultdict(list)
    for a, b in _winners(house).values():
        sales[a.seller].append(b)
    for seller, bids in sales.items():
        bids.sort(key=lambda bid: bid.at)
        for i in range(len(bids)):
            prices = [bid.price for bid in bids[max(i + 1 - LAST_SALES, 0) : i + 1]]
            yield seller, sum(prices) // len(prices)


def q7(house: House) -> Iterator[Row]:
    highest: Counter[datetime] = Counter()
    for b in house.bids:
        start = window_of(b.at)
        highest[start] = max(highest[start], b.price)
    for b in house.bids:
        # The bounds of BETWEEN belong to it, so the last moment counts for two windows.
        ends = [window_of(b.at) + SIZE] + ([b.at] if window_of(b.at) == b.at else [])
        for end in ends:
            if highest.get(end - SIZE) == b.price:
                yield b.auction, b.price, b.bidder, b.at, b.extra


def q8(house: House) -> Iterator[Row]:
    sellers = {(a.seller, window_of(a.at)) for a in house.auctions}
    for p in house.persons:
        if (p.id, window_of(p.at)) in sellers:
            yield p.id, p.name, window_of(p.at)


def q11(house: House) -> Iterator[Row]:
    times: dict[int, list[datetime]] = defaultdict(list)
    for b in house.bids:
        times[b.bidder].append(b.at)
    for bidder, moments in times.items():
        moments.sort()
        first = 0
        for i in range(1, len(moments) + 1):
            if i == len(moments) or moments[i] - moments[i - 1] >= GAP:
                yield bidder, i - first, moments[first]
                first = i


def q12(house: House) -> Iterator[Row]:
    """Give the counts of bidders over all time: where windows begin, the clock says."""
    return (
        (bidder, count, None) for bidder, count in Counter(b.bidder for b in house.bids).items()
    )
