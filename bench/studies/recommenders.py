"""Recommenders: all items ranked, beside a sort of each row of scores and a sample of items.

    python bench/studies/recommenders.py [--users 20000] [--items 50000]

Vectors are made; a quarter of the users is known to the first model, the second knows a little of
everybody. Prints a table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import truerank as tr

KEYS = ("recall@20", "ndcg@20", "auc")
BLOCK = 500  # users whose scores are in memory at a time


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = job()
    return result, time.perf_counter() - start


def by_sorting(vectors: Any, items: Any, train: Any, test: Any) -> float:
    """Compute recall@20 as toolkits do: all scores, the training items at -inf, the best 20."""
    hits = []
    for start in range(0, len(vectors), BLOCK):
        block = slice(start, start + BLOCK)
        scores = vectors[block] @ items.T
        np.put_along_axis(scores, train[block], -np.inf, axis=1)
        best = np.argpartition(-scores, 20, axis=1)[:, :20]
        hits.append((best[:, :, None] == test[block, None, :]).any(axis=1).mean(axis=1))
    return float(np.concatenate(hits).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=50_000)
    options = parser.parse_args()
    n, m, rng = options.users, options.items, np.random.default_rng(0)
    users, items = (rng.standard_normal((size, 64), np.float32) for size in (n, m))
    likes = np.empty((n, 12), np.int64)
    for start in range(0, n, BLOCK):
        block = users[start : start + BLOCK] @ items.T
        tastes = block + 2 * rng.standard_normal(block.shape, np.float32)
        best = np.argpartition(-tastes, 12, axis=1)[:, :12]
        likes[start : start + BLOCK] = rng.permuted(best, axis=1)
    train, test = likes[:, :6], likes[:, 6:]
    rows = np.arange(n).repeat(6)
    columns, known = (rows, test.ravel()), {"train": (rows, train.ravel())}
    noise = rng.standard_normal(users.shape, np.float32)
    models = {
        "knows some": np.where(np.arange(n)[:, None] % 4 == 0, users, noise),
        "knows a little": users + 2 * noise,
    }
    print(f"{n:,} users, {m:,} items, d = 64; seconds of one evaluation, making the task included.")
    print("| model | items | way | seconds | " + " | ".join(KEYS) + " |")
    print("| --- | --- | --- | ---: |" + " ---: |" * len(KEYS))
    for name, vectors in models.items():
        for label, candidates in (("all", "all"), ("99 drawn", tr.retrieval.Sampled(99, seed=0))):

            def evaluate(candidates: Any = candidates, vectors: Any = vectors) -> Any:
                task = tr.retrieval.Task(columns, entities=m, known=known, candidates=candidates)
                report = task.evaluate_embeddings(vectors, items, similarity="dot")
                return report[list(KEYS)]

            values, seconds = timed(evaluate)
            figures = " | ".join(f"{value:.3f}" for value in values.values())
            print(f"| {name} | {label} | truerank | {seconds:.2f} | {figures} |")
        recall, seconds = timed(lambda vectors=vectors: by_sorting(vectors, items, train, test))
        print(f"| {name} | all | numpy, argpartition | {seconds:.2f} | {recall:.3f} | | |")


if __name__ == "__main__":
    main()
