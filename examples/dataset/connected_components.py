"""Connected components of a graph, by a delta iteration.

The solution set has the smallest vertex known of each vertex's component; the workset has those
that have changed. A step tells the neighbours of the latter.
"""

from penstock.dataset import DataSet, ExecutionEnvironment

EDGES = [(1, 2), (2, 3), (2, 4), (3, 5), (6, 7), (8, 9), (8, 10), (11, 11)]


def components(vertices: DataSet, edges: DataSet) -> DataSet:
    """Return `(vertex, smallest vertex of its component)`, given `(vertex, vertex)` and edges."""
    both_ways = edges.flat_map(lambda edge: [edge, edge[::-1]])
    loop = vertices.iterate_delta(vertices, 100, 0)
    told = (
        loop.get_workset()
        .join(both_ways)
        .where(0)
        .equal_to(0)
        .with_(lambda vertex, edge: (edge[1], vertex[1]))
        .group_by(0)
        .min(1)
    )
    changed = (
        told.join(loop.get_solution_set())
        .where(0)
        .equal_to(0)
        .filter(lambda pair: pair[0][1] < pair[1][1])
        .map(lambda pair: pair[0])
    )
    return loop.close_with(changed, changed)


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    vertices = env.from_collection([(n, n) for n in range(1, 12)])
    result = components(vertices, env.from_collection(EDGES))
    for vertex, component in sorted(result.collect()):
        print(f"vertex {vertex} is in component {component}")


if __name__ == "__main__":
    main()
