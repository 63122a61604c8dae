"""Rank the four published models of Kinships: filtered, head and tail of each test triple.

The studies that need real ranks import this module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr

Array = NDArray[Any]

MODELS = ("complex", "rotate", "transe", "tucker")
SIDES = {"head": (2, 0), "tail": (0, 2)}  # columns of a triple: in the query, and the target

SCORES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda queries, entities: queries @ entities.T,
    "l1": lambda queries, entities: -np.stack([np.abs(q - entities).sum(1) for q in queries]),
    "l2": lambda queries, entities: (
        -np.stack([np.sqrt(((q - entities) ** 2).sum(1)) for q in queries])
    ),
}


def rank_model(folder: Path, model: str) -> tr.Ranks:
    """Rank head and tail of every test triple, without all other known answers.

    Parameters
    ----------
    folder
        Has triples.npz and the arrays of each model.
    model
        One of MODELS.

    Returns
    -------
    Ranks
        With sides, relations (as groups) and the split in their protocol.
    """
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        test = triples["test"].astype(np.int64)
        every = np.concatenate([triples[split] for split in ("train", "valid", "test")])
        score = SCORES[str(arrays["similarity"])]
        sides = []
        for side, (known, target) in SIDES.items():
            answers: dict[tuple[int, int], list[int]] = {}
            for triple in every.tolist():
                answers.setdefault((triple[known], triple[1]), []).append(triple[target])
            ranks = tr.rank(
                score(arrays[f"queries_{side}"], arrays["entities"]),
                test[:, target],
                filter=[answers[query] for query in map(tuple, test[:, [known, 1]].tolist())],
            )
            sides.append(ranks.with_labels(side=side, relation=test[:, 1]))
    return tr.concatenate(sides).with_protocol(filter=("train", "valid", "test"), split="test")
