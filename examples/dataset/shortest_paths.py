"""Shortest paths from one vertex, by a delta iteration."""

from penstock.dataset import DataSet, ExecutionEnvironment

EDGES = [(1, 2, 4.0), (1, 3, 1.0), (3, 2, 2.0), (2, 4, 5.0), (3, 4, 8.0), (5, 4, 1.0)]
FAR = float("inf")


def shortest_paths(distances: DataSet, edges: DataSet) -> DataSet:
    """Return `(vertex, distance)`, given the same with what is known, and `(from, to, length)`."""
    start = distances.filter(lambda vertex: vertex[1] < FAR)
    loop = distances.iterate_delta(start, 100, 0)
    offers = (
        loop.get_workset()
        .join(edges)
        .where(0)
        .equal_to(0)
        .with_(lambda vertex, edge: (edge[1], vertex[1] + edge[2]))
        .group_by(0)
        .min(1)
    )
    shorter = (
        offers.join(loop.get_solution_set())
        .where(0)
        .equal_to(0)
        .filter(lambda pair: pair[0][1] < pair[1][1])
        .map(lambda pair: pair[0])
    )
    return loop.close_with(shorter, shorter)


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    distances = env.from_collection([(n, 0.0 if n == 1 else FAR) for n in range(1, 6)])
    result = shortest_paths(distances, env.from_collection(EDGES))
    for vertex, distance in sorted(result.collect()):
        print(f"vertex {vertex} distance {distance}")


if __name__ == "__main__":
    main()
