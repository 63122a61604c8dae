"""The models that protocols rank: scores or vectors in files, and the rules to rank them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import click

from .files import open_store
from .options import Given, take
from .output import bar


class Model(NamedTuple):
    """A model in files.

    Attributes
    ----------
    kind : str
        "scores" or "vectors".
    arrays : dict of str to (Store or ndarray)
        What `evaluate_scores` or `evaluate_embeddings` of a task take, by keyword.
    rules : dict
        Their other keywords.
    """

    kind: str
    arrays: dict[str, Any]
    rules: dict[str, Any]

    def sizes(self, kinds: Mapping[str, str]) -> dict[str, int]:
        """Return how many candidates the model has: as many as columns of scores, or vectors.

        `kinds` has the kind of the candidates by the keyword of the scores.
        """
        if self.kind == "scores":
            return {kinds[name]: store.shape[-1] for name, store in self.arrays.items()}
        vectors = {kind: self.arrays.get(kind) for kind in kinds.values()}
        return {kind: len(x) for kind, x in vectors.items() if x is not None and x.ndim}

    def counter(self, task: Any, given: Given) -> Callable[[], Any]:
        """Return what evaluates the model by a task, with a bar of progress."""
        evaluate = task.evaluate_scores if self.kind == "scores" else task.evaluate_embeddings
        rules = {**self.rules, "audit": "audit" in given, "progress": bar()}
        return partial(evaluate, **self.arrays, **rules)


def open_model(given: Given, scores: str, vectors: str) -> Model:
    """Take a model: its scores, if any of these keywords are given, or else its vectors.

    A keyword of a task is the last word of that of the option: "tail" of "queries_tail".
    """
    paths = take(given, scores)
    if not paths:
        arrays = take(given, vectors)
        rules = take(given, "similarity complex_layout bias csls unique nan dtype threads")
        if "complex_layout" in rules:
            rules["layout"] = rules.pop("complex_layout")
        if not arrays:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in scores.split())
            raise click.UsageError(f"expected the vectors of a model, or its scores ({options})")
        return Model("vectors", {name.rpartition("_")[2]: x for name, x in arrays.items()}, rules)
    rules = take(given, "order io csls unique nan dtype threads")
    how = {name: rules[name] for name in ("dtype", "io") if name in rules}
    stores = {name.rpartition("_")[2]: open_store(path, **how) for name, path in paths.items()}
    return Model("scores", stores, rules)


def known_splits(given: Given) -> dict[str, str]:
    """Take the files of known answers, by the name of their split."""
    splits = [*take(given, "train valid").items(), *given.pop("known", ())]
    if len(dict(splits)) < len(splits):
        raise click.UsageError("--known: expected a file for each split, got two for one")
    return dict(splits)
