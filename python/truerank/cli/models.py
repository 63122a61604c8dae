"""The model that `truerank link-prediction` evaluates: vectors or scores in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..inputs.errors import renamed
from .files import naming, open_store, read_array
from .progress import Bar, Follower

if TYPE_CHECKING:
    from .. import Report
    from ..link_prediction import Task
    from ..stores import Store

AMONG = {"head": "entities", "tail": "entities", "relation": "relations"}
# Options of one of the two ways alone, and what `evaluate_embeddings` and `evaluate_scores` call
# what both of them take.
OF_VECTORS = ("similarity", "bias")
OF_SCORES = ("order", "io")
RULES = ("nan", "dtype", "threads", "unique")


class Model(NamedTuple):
    """The files that a model's vectors or scores are in.

    Attributes
    ----------
    scored : bool
        Whether they are scores.
    sides : dict of str to Path
        The vectors of queries, or the scores, of each side.
    among : dict of str to Path
        The vectors of the candidates, by the name of the option; empty for scores.
    """

    scored: bool
    sides: dict[str, Path]
    among: dict[str, Path]


def model_of(sides: Sequence[str], given: Mapping[str, Any]) -> Model:
    """Say which files the options name; what is missing or too much is a wrong command line."""
    lists = {
        "queries": [f"queries_{side}" for side in AMONG],
        "scores": [f"scores_{side}" for side in AMONG],
        "vectors": list(dict.fromkeys(AMONG.values())),
    }
    scores = [name for name in lists["scores"] if name in given]
    vectors = [name for name in (*lists["vectors"], *lists["queries"]) if name in given]
    if scores and vectors:
        raise click.UsageError(
            f"{options(scores[:1])} and {options(vectors[:1])}: expected either scores or vectors"
        )
    scored = bool(scores)
    wanted = [f"{'scores' if scored else 'queries'}_{side}" for side in sides]
    needed = wanted if scored else [*dict.fromkeys(AMONG[side] for side in sides), *wanted]
    missing = [name for name in needed if name not in given]
    if missing and not scores and not vectors:
        others = [f"scores_{side}" for side in sides]
        raise click.UsageError(
            f"expected the vectors of a model ({options(needed)}) or its scores ({options(others)})"
        )
    if missing:
        raise click.UsageError(f"Missing option {options(missing)}, for --sides {','.join(sides)}")
    spare = [name for name in (*scores, *vectors) if name not in needed]
    if spare:
        raise click.UsageError(f"{options(spare)} cannot apply: --sides {','.join(sides)}")
    lost = [name for name in (OF_VECTORS if scored else OF_SCORES) if name in given]
    if lost:
        raise click.UsageError(
            f"{options(lost)} cannot apply to {'scores' if scored else 'vectors'}"
        )
    files = {side: given[name] for side, name in zip(sides, wanted, strict=True)}
    among = {} if scored else {name: given[name] for name in needed[: -len(wanted)]}
    return Model(scored, files, among)


def options(names: Sequence[str]) -> str:
    """Options by their names.

    Examples
    --------
    >>> options(["queries_tail", "entities"])
    '--queries-tail, --entities'
    """
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


class Opened(NamedTuple):
    """A model's files, opened.

    Attributes
    ----------
    sides : dict of str to array or Store
    among : dict of str to array
    files : list of str
        All that is read.
    counts : dict of str to int
        How many entities and relations there are, where a side tells.
    """

    sides: dict[str, Any]
    among: dict[str, Any]
    files: list[str]
    counts: dict[str, int]


def open_model(model: Model, given: Mapping[str, Any], stack: ExitStack) -> Opened:
    """Open the files of a model; arrays are mapped, not read."""
    if not model.scored:
        sides = {k: read_array(options([f"queries_{k}"]), path) for k, path in model.sides.items()}
        among = {k: read_array(options([k]), path) for k, path in model.among.items()}
        files = [*map(str, model.sides.values()), *map(str, model.among.values())]
        return Opened(sides, among, files, {k: len(array) for k, array in among.items()})
    stores: dict[str, Store] = {}
    stored = {name: given[name] for name in ("dtype", "io") if name in given}
    for side, path in model.sides.items():
        option = options([f"scores_{side}"])
        with naming(option), renamed(scores=option):
            stores[side] = stack.enter_context(open_store(path, stored))
    files = [file for store in stores.values() for file in store.files]
    widths: dict[str, set[int]] = {}
    for side, store in stores.items():
        widths.setdefault(AMONG[side], set()).add(store.shape[1])
    return Opened(stores, {}, files, {k: w.pop() for k, w in widths.items() if len(w) == 1})


def evaluated(
    task: Task, model: Model, found: Opened, given: Mapping[str, Any], audit: bool
) -> Report:
    """Rank a model's vectors or scores; a bar shows how far scores are."""
    rules = {name: given[name] for name in RULES if name in given}
    if not model.scored:
        rules |= {name: given[name] for name in OF_VECTORS if name in given}
        if "bias" in rules:
            rules["bias"] = read_array("--bias", rules["bias"])
        queries = {f"queries_{side}": array for side, array in found.sides.items()}
        return task.evaluate_embeddings(**queries, **found.among, **rules, audit=audit)
    rules |= {name: given[name] for name in OF_SCORES if name in given}
    scores = {f"{side}_scores": store for side, store in found.sides.items()}
    with Bar() as bar:
        return task.evaluate_scores(**scores, **rules, audit=audit, progress=Follower(bar))
