"""The four published models of Kinships: their scores, and the known answers of every query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import truerank as tr

Array = npt.NDArray[Any]

MODELS = ("transe", "rotate", "complex", "tucker")
SIDES = {"head": (2, 0), "tail": (0, 2)}  # the column of the known entity, and that of the target
SPLITS = ("train", "valid", "test")
HITS = (1, 3, 5, 10)
# The names of the published figures.
KINDS = ("optimistic", "realistic", "pessimistic")
EXACT = {  # ours, theirs: of whole numbers in float64
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "hmr": "harmonic_mean_rank",
    "imr": "inverse_arithmetic_mean_rank",
    "median": "median_rank",
    "imedian": "inverse_median_rank",
    "std": "standard_deviation",
    "variance": "variance",
    "mad": "median_absolute_deviation",
    "count": "count",
    **{f"hits@{k}": f"hits_at_{k}" for k in HITS},
    **{f"ah@{k}": f"adjusted_hits_at_{k}" for k in HITS},
}
SINGLE = {  # partly computed in float32: the sum of logarithms, the expected mean rank
    "gmr": "geometric_mean_rank",
    "igmr": "inverse_geometric_mean_rank",
    "amr": "adjusted_arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
}
STAND_IN = {"amrr": "adjusted_inverse_harmonic_mean_rank"}
NAMES = {**EXACT, **SINGLE}


def minus_distance(queries: Array, entities: Array, length: Callable[[Array], Array]) -> Array:
    rows = [-length(query - entities) for query in queries]
    return np.stack(rows)


SIMILARITIES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: q @ e.T,
    "l1": lambda q, e: minus_distance(q, e, lambda d: np.abs(d).sum(axis=1)),
    "l2": lambda q, e: minus_distance(q, e, lambda d: np.sqrt((d * d).sum(axis=1))),
}


@dataclass(frozen=True)
class Side:
    """One side of the test triples under one model."""

    scores: Array
    targets: Array
    lists: list[list[int]]

    def selection(self) -> tuple[Array, Array]:
        """Return the lists as a CSR pair."""
        lengths = [len(entries) for entries in self.lists]
        return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(self.lists).astype(int)


def score_sides(folder: Path, model: str) -> dict[str, Side]:
    """Return the float32 scores of both sides, and all known answers of each query."""
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        test = triples["test"]
        known = np.concatenate([triples[split] for split in SPLITS]).tolist()
        score = SIMILARITIES[str(arrays["similarity"])]
        made = {}
        for side, (given, asked) in SIDES.items():
            answers: dict[tuple[int, int], list[int]] = {}
            for triple in known:
                answers.setdefault((triple[given], triple[1]), []).append(triple[asked])
            made[side] = Side(
                score(arrays[f"queries_{side}"], arrays["entities"]),
                test[:, asked].astype(np.int64),
                [
                    answers[given_id, relation]
                    for given_id, relation in test[:, [given, 1]].tolist()
                ],
            )
    return made


def rank_sides(sides: dict[str, Side]) -> tr.Ranks:
    """Return the filtered ranks of both sides."""
    return tr.concatenate(
        [
            tr.rank(s.scores, s.targets, filter=s.selection()).with_labels(side=side)
            for side, s in sides.items()
        ]
    )
