"""The models that protocols rank: scores or vectors in files, and the rules to rank them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

from ..errors import InputError
from .files import open_store
from .options import Given, name_of, take
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
    options : dict of str to str
        What users call each of the arrays.
    """

    kind: str
    arrays: dict[str, Any]
    rules: dict[str, Any]
    options: dict[str, str]

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

        def count() -> Any:
            try:
                return evaluate(**self.arrays, **rules)
            except InputError as error:
                raise error.of(self.options.get(error.argument, error.argument)) from error

        return count


def open_model(given: Given, scores: str, vectors: str, needs_all: bool = True) -> Model:
    """Take a model: its scores, if any of these keywords are given, or else its vectors."""
    parameters = click.get_current_context().command.params
    option_of = {parameter.name: name_of(parameter) for parameter in parameters}
    arrays: dict[str, Any] = {}
    options: dict[str, str] = {}
    paths = take(given, scores)
    if paths:
        rules = take(given, "order io unique nan dtype threads")
        reading = {name: rules[name] for name in ("dtype", "io") if name in rules}
        for name, path in paths.items():
            options[_keyword(name)] = option_of[name]
            arrays[_keyword(name)] = open_store(path, **reading)
        return Model("scores", arrays, rules, options)
    for name, array in take(given, vectors).items():
        options[_keyword(name)] = option_of.get(name, name.upper())
        arrays[_keyword(name)] = array
    if not arrays or (needs_all and len(arrays) < len(vectors.split())):
        ways = [", ".join(map(option_of.__getitem__, way.split())) for way in (vectors, scores)]
        raise click.UsageError(
            f"expected the vectors of a model ({ways[0]}), or its scores ({ways[1]})"
        )
    rules = take(given, "similarity complex_layout bias csls unique nan dtype threads")
    if "complex_layout" in rules:
        rules["layout"] = rules.pop("complex_layout")
    return Model("vectors", arrays, rules, options)


def _keyword(name: str) -> str:
    """Return the keyword of a task: the last word of that of the option."""
    return name.rpartition("_")[2]


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
