"""Functions as lambdas, classes and rich classes, on numbers, tuples, dataclasses and objects."""

from dataclasses import dataclass

from penstock.datastream import (
    FilterFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichSinkFunction,
    StreamExecutionEnvironment,
)


@dataclass(frozen=True)
class Person:
    """What Scala calls a case class."""

    name: str
    age: int


class Account:
    """A plain object."""

    def __init__(self, owner, balance):
        self.owner = owner
        self.balance = balance


class FlinkFilter(FilterFunction):
    def filter(self, value):
        return "flink" in value


class KeywordFilter(RichFilterFunction):
    """What is passed to the constructor reaches the workers."""

    def __init__(self, keyword):
        self.keyword = keyword

    def filter(self, value):
        return self.keyword in value


class MyFlatMap(RichFlatMapFunction):
    """Keep the numbers that belong to this subtask."""

    def open(self, configuration):
        self.subtask = self.get_runtime_context().get_index_of_this_subtask()

    def flat_map(self, value):
        if value % 2 == self.subtask:
            yield self.subtask, value


class Printing(RichSinkFunction):
    """A sink of one's own: connections are opened once for each subtask."""

    def open(self, configuration):
        self.connection = "sink"

    def invoke(self, value, context):
        print(self.connection, *value)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    tweets = env.from_elements("flink is fast", "spark is wide")
    tweets.filter(FlinkFilter()).map(lambda text: f"class {text}").print()
    tweets.filter(KeywordFilter("spark")).map(lambda text: f"rich {text}").print()
    tweets.filter(lambda text: "flink" in text).map(lambda text: f"lambda {text}").print()

    env.from_elements(1, 2, 3).map(lambda n: f"number {n + 1}").print()
    env.from_elements(("Adam", 17), ("Sarah", 23)).filter(lambda p: p[1] > 18).map(
        lambda p: f"tuple {p[0]}"
    ).print()
    env.from_elements(Person("Alex", 42), Person("Wendy", 15)).filter(lambda p: p.age > 18).map(
        lambda p: f"dataclass {p.name}"
    ).print()
    env.from_elements(Account("Eve", 10), Account("Bob", -3)).filter(
        lambda account: account.balance > 0
    ).map(lambda account: f"object {account.owner}").print()

    env.from_elements(1, 2, 3, 4).flat_map(MyFlatMap()).add_sink(Printing())
    env.execute("functions and types")


if __name__ == "__main__":
    main()
