"""Rank the four published models of Kinships: filtered, head and tail of each test triple."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import truerank as tr

MODELS = ("complex", "rotate", "transe", "tucker")


def rank_model(folder: Path, model: str) -> tr.Ranks:
    """Rank head and tail of every test triple, without all other known answers.

    Parameters
    ----------
    folder
        Has triples.npz and the arrays of each model.
    model
        One of MODELS.
    """
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        known = {split: triples[split] for split in ("train", "valid")}
        entities, similarity = arrays["entities"], str(arrays["similarity"])
        task = tr.link_prediction.Task(triples["test"], known, entities=len(entities))
        queries = arrays["queries_tail"], arrays["queries_head"]
        return task.evaluate_embeddings(*queries, entities, similarity=similarity).ranks
