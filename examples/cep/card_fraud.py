"""Suspect a card that is tried with small amounts and then charged with a large one.

Two or more payments below one euro, then one above five hundred within a minute, and no call of the
owner in between. The tries are a loop of a group: each is a payment and its approval.
"""

from dataclasses import dataclass

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment


@dataclass
class CardEvent:
    card: str
    kind: str
    amount: float
    second: int


EVENTS = [
    CardEvent("4711", "pay", 0.50, 1),
    CardEvent("0815", "pay", 0.90, 2),
    CardEvent("4711", "approve", 0.50, 3),
    CardEvent("0815", "approve", 0.90, 4),
    CardEvent("4711", "pay", 0.20, 5),
    CardEvent("4711", "approve", 0.20, 6),
    CardEvent("0815", "pay", 0.10, 7),
    CardEvent("0815", "approve", 0.10, 8),
    CardEvent("0815", "call", 0, 9),
    CardEvent("4711", "pay", 999.0, 20),
    CardEvent("0815", "pay", 700.0, 21),
    CardEvent("1234", "pay", 0.30, 22),
    CardEvent("1234", "approve", 0.30, 23),
    CardEvent("1234", "pay", 650.0, 24),
]


def fraud():
    """Return the pattern."""
    tried = (
        Pattern.begin("try")
        .where(lambda event: event.kind == "pay" and event.amount < 1)
        .next("approval")
        .where(lambda event: event.kind == "approve")
    )
    return (
        Pattern.begin(tried, AfterMatchSkipStrategy.skip_past_last_event())
        .times_or_more(2)
        .not_followed_by("call")
        .where(lambda event: event.kind == "call")
        .followed_by("charge")
        .where(lambda event: event.kind == "pay" and event.amount > 500)
        .within(Time.minutes(1))
    )


def report(match):
    tries = ", ".join(f"{event.amount:.2f}" for event in match["try"])
    charge = match["charge"][0]
    yield f"card {charge.card}: {charge.amount:.2f} after tries of {tries}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event.second * 1000
    )
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    cards = events.key_by(lambda event: event.card)
    CEP.pattern(cards, fraud()).flat_select(report).map(lambda text: f"fraud: {text}").print()
    env.execute("card fraud")


if __name__ == "__main__":
    main()
