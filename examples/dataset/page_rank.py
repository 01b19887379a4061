"""Page rank by a bulk iteration that ends when no rank changes any more."""

from typing import Any

from penstock.dataset import DataSet, ExecutionEnvironment

LINKS = [(1, [2, 3]), (2, [3]), (3, [1]), (4, [1, 3])]
DAMPING = 0.85


def share(rank: tuple[int, float], links: tuple[int, list[int]]) -> Any:
    for target in links[1]:
        yield target, rank[1] / len(links[1])


def page_ranks(pages: DataSet, links: DataSet, count: int) -> DataSet:
    """Return `(page, rank)`, given the same to begin with, and `(page, pages it links to)`."""
    loop = pages.iterate(60)
    base = loop.map(lambda rank: (rank[0], (1 - DAMPING) / count))
    ranks = (
        loop.join(links)
        .where(0)
        .equal_to(0)
        .with_(share)
        .map(lambda part: (part[0], DAMPING * part[1]))
        .union(base)
        .group_by(0)
        .sum(1)
    )
    moved = (
        loop.join(ranks)
        .where(0)
        .equal_to(0)
        .filter(lambda pair: abs(pair[0][1] - pair[1][1]) > 1e-4)
    )
    return loop.close_with(ranks, moved)


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    pages = env.from_collection([(page, 1 / len(LINKS)) for page, _ in LINKS])
    result = page_ranks(pages, env.from_collection(LINKS), len(LINKS))
    for page, rank in sorted(result.collect()):
        print(f"page {page} rank {rank:.3f}")


if __name__ == "__main__":
    main()
