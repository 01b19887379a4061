"""The transformations of a data set, each on a few records: joins, outer joins, cross and more."""

import tempfile
from pathlib import Path
from typing import Any

from penstock.dataset import DataSet, ExecutionEnvironment, Order

PEOPLE = """id,name
1,zs
2,ls
3,ww
"""
CITIES = [(1, "beijing"), (2, "shanghai"), (4, "guangzhou")]


def show(title: str, data: DataSet) -> None:
    for record in sorted(data.collect(), key=str):
        print(f"{title}: {record}")


def name_and_city(person: Any, city: Any) -> tuple[int, str, str]:
    key = person[0] if person else city[0]
    return key, person[1] if person else "null", city[1] if city else "null"


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_text(PEOPLE)
        people = env.from_collection(
            env.read_csv_file(path).ignore_first_line().types(int, str).collect()
        )
    cities = env.from_collection(CITIES)

    show("join", people.join(cities).where(0).equal_to(0).with_(name_and_city))
    show("left", people.left_outer_join(cities).where(0).equal_to(0).with_(name_and_city))
    show("right", people.right_outer_join(cities).where(0).equal_to(0).with_(name_and_city))
    show("full", people.full_outer_join(cities).where(0).equal_to(0).with_(name_and_city))
    show("cross", env.from_elements("zs", "ww").cross(env.from_elements(1, 2)))
    show("union", people.union(env.from_elements((5, "zl"))))
    show("distinct", env.from_elements("you", "jump", "i", "jump").distinct())

    scores = env.from_elements(
        (2, "zs"), (4, "ls"), (3, "ww"), (1, "aw"), (1, "xw"), (1, "mw"), (3, "oo")
    )
    by_class = scores.group_by(0)
    show("two of each", by_class.sort_group(1, Order.ASCENDING).first(2))
    show("sums", scores.map(lambda r: (r[0] % 2, r[0])).group_by(0).sum(1))
    ordered = scores.sort_partition(0, Order.ASCENDING).sort_partition(1, Order.DESCENDING)
    for record in ordered.set_parallelism(1).first(3).collect():
        print(f"sorted: {record}")
    sizes = env.generate_sequence(1, 10).map_partition(lambda numbers: [sum(numbers)])
    show("sum of a partition", sizes)


if __name__ == "__main__":
    main()
