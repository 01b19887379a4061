"""Count words with `map_with_state` and its siblings: state goes in, new state comes out."""

from penstock.datastream import StreamExecutionEnvironment

PAIRS = [("hello", 1), ("world", 1), ("hello", 2), ("hello", 1), ("world", 5)]


def count(pair, total):
    total = pair[1] if total is None else total + pair[1]
    return (pair[0], total), total


def first_three(pair, seen):
    seen = (seen or 0) + 1
    return seen <= 2, seen


def repeat(pair, last):
    """Give back a word as often as it was counted the last time."""
    return [pair[0]] * (last or 0), pair[1]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_word = env.from_collection(PAIRS).key_by(lambda pair: pair[0])
    by_word.map_with_state(count).print("map")
    by_word.filter_with_state(first_three).print("filter")
    by_word.flat_map_with_state(repeat).print("flat_map")
    env.execute("count with state")


if __name__ == "__main__":
    main()
