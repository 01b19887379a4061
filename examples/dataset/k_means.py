"""K-means: the centroids are a broadcast set of a bulk iteration."""

from typing import Any

from penstock.dataset import DataSet, ExecutionEnvironment
from penstock.dataset.functions import RichMapFunction

POINTS = [(1.0, 1.0), (1.5, 2.0), (0.5, 1.5), (8.0, 8.0), (9.0, 8.5), (8.5, 9.5), (1.0, 9.0)]
CENTROIDS = [(0, 0.0, 0.0), (1, 10.0, 10.0), (2, 0.0, 10.0)]


class Nearest(RichMapFunction):
    """Find the nearest centroid of a point."""

    def open(self, runtime_context: Any) -> None:
        self.centroids = runtime_context.get_broadcast_variable("centroids")

    def map(self, value: tuple[float, float]) -> tuple[int, float, float, int]:
        x, y = value
        _, number = min(((cx - x) ** 2 + (cy - y) ** 2, n) for n, cx, cy in self.centroids)
        return number, x, y, 1


def centroids(points: DataSet, first: DataSet, steps: int) -> DataSet:
    """Return `(number, x, y)` of the centroids, given points `(x, y)` and the first centroids."""
    loop = first.iterate(steps)
    moved = (
        points.map(Nearest())
        .with_broadcast_set(loop, "centroids")
        .group_by(0)
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]))
        .map(lambda s: (s[0], s[1] / s[3], s[2] / s[3]))
    )
    return loop.close_with(moved)


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    result = centroids(env.from_collection(POINTS), env.from_collection(CENTROIDS), 10)
    for number, x, y in sorted(result.collect()):
        print(f"centroid {number} at {x:.2f} {y:.2f}")


if __name__ == "__main__":
    main()
