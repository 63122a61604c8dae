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
        sizes = {}
        for kind in kinds.values():
            vectors = self.arrays.get(kind)
            if vectors is not None and vectors.ndim > 0:
                sizes[kind] = len(vectors)
        return sizes

    def counter(self, task: Any, given: Given) -> Callable[[], Any]:
        """Return what evaluates the model by a task, with a bar of progress."""
        evaluate = task.evaluate_scores if self.kind == "scores" else task.evaluate_embeddings
        rules = self.rules | {"audit": "audit" in given, "progress": bar()}
        return partial(evaluate, **self.arrays, **rules)


def open_model(given: Given, scores: str, vectors: str, needs_all: bool = True) -> Model:
    """Take a model: its scores, if any of these keywords are given, or else (all of) its vectors.

    A keyword of a task is the last word of that of the option: "tail" of "queries_tail".
    """
    arrays = {}
    paths = take(given, scores)
    if paths:
        rules = take(given, "order io csls unique nan dtype threads")
        reading = {name: rules[name] for name in ("dtype", "io") if name in rules}
        for name, path in paths.items():
            arrays[name.rpartition("_")[2]] = open_store(path, **reading)
        return Model("scores", arrays, rules)
    for name, array in take(given, vectors).items():
        arrays[name.rpartition("_")[2]] = array
    if not arrays or (needs_all and len(arrays) < len(vectors.split())):
        options = [
            ", ".join(f"--{name.replace('_', '-')}" for name in names.split())
            for names in (vectors, scores)
        ]
        expected = f"the vectors of a model ({options[0]}), or its scores ({options[1]})"
        raise click.UsageError(f"expected {expected}")
    rules = take(given, "similarity complex_layout bias csls unique nan dtype threads")
    if "complex_layout" in rules:
        rules["layout"] = rules.pop("complex_layout")
    return Model("vectors", arrays, rules)


def chosen_part(task: Any, given: Given) -> Any:
    """Take the part of a task that is asked for; without one return the task."""
    return task[given.pop("test_part")] if "test_part" in given else task


def known_splits(given: Given) -> dict[str, str]:
    """Take the files of known answers, by the name of their split."""
    splits = take(given, "train valid")
    for name, path in given.pop("known", ()):
        if name in splits:
            raise click.UsageError("--known: expected a file for each split, got two for one")
        splits[name] = path
    return splits
