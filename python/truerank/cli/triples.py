"""What `truerank link-prediction` reads: splits, labels, and the vectors or scores of a model."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..arguments import renamed
from ..link_prediction import Sampled, Task, read_triples
from ..link_prediction.vocabularies import MOST
from .files import open_store, opened, read_array
from .progress import Bar, Follower

if TYPE_CHECKING:
    from .. import Report
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
    entities : int, or None
        How many there are, where a side tells.
    """

    sides: dict[str, Any]
    among: dict[str, Any]
    files: list[str]
    entities: int | None


def open_model(model: Model, given: Mapping[str, Any], stack: ExitStack) -> Opened:
    """Open the files of a model; arrays are mapped, not read."""
    if not model.scored:
        sides = {k: read_array(options([f"queries_{k}"]), path) for k, path in model.sides.items()}
        among = {k: read_array(options([k]), path) for k, path in model.among.items()}
        files = [*map(str, model.sides.values()), *map(str, model.among.values())]
        return Opened(sides, among, files, len(among["entities"]) if "entities" in among else None)
    stores: dict[str, Store] = {}
    stored = {name: given[name] for name in ("dtype", "io") if name in given}
    for side, path in model.sides.items():
        with renamed(scores=options([f"scores_{side}"])):
            stores[side] = stack.enter_context(open_store(path, stored))
    files = [file for store in stores.values() for file in store.files]
    widths = [store.shape[1] for side, store in stores.items() if AMONG[side] == "entities"]
    return Opened(stores, {}, files, widths[0] if len(set(widths)) == 1 else None)


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


# -- splits and labels -----------------------------------------------------------------------------


def known_splits(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Path]:
    """Further splits, as NAME=FILE."""
    splits: dict[str, Path] = {}
    for text in values:
        name, _, path = text.partition("=")
        if not name or not path:
            raise click.BadParameter(f"expected NAME=FILE, got {text!r}")
        if name in splits:
            raise click.BadParameter(f"{name} is given twice")
        splits[name] = Path(path)
    return splits


def read_names(option: str, path: Path) -> list[str]:
    """Labels in the order of their ids: a line for each, perhaps gzipped, or .npy of words."""
    if path.suffix == ".npy":
        names = read_array(option, path)
        if names.ndim != 1 or names.dtype.kind != "U":
            raise ValueError(
                f"{option}: {path}: expected words in one dimension, got {names.dtype} of shape "
                f"{names.shape}"
            )
        listed: list[str] = names.tolist()
        return listed
    with opened(option, path) as file:
        data = file.read()
    try:
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{option}: cannot read {path}: {error}") from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if not line or "\t" in line:
            raise ValueError(
                f"{option}: {path}: line {number}: expected one label, that of id {number - 1}, "
                f"got {line!r}"
            )
    return lines


def make_task(
    test: Path,
    known: Mapping[str, Path],
    numbered: bool,
    found: Opened,
    given: Mapping[str, Any],
    **keywords: Any,
) -> Task:
    """Make the task; ids count the vectors or columns, and numbers are no names unless told so."""
    for option, path in {"--test": test, **{f'known["{k}"]': v for k, v in known.items()}}.items():
        opened(option, path).close()  # a pipe could not be read twice
    names: dict[str, Any] = {
        argument: read_names(options([option]), given[option])
        for argument, option in (("entities", "entity_labels"), ("relations", "relation_labels"))
        if option in given
    }
    ids = numbered or all(path.suffix == ".npy" for path in (test, *known.values()))
    if ids and "entities" not in names:
        names["entities"] = found.entities or _ids_in([test, *known.values()])
    with renamed(entities="--entity-labels", relations="--relation-labels"):
        task = Task(
            str(test), {name: str(path) for name, path in known.items()}, **names, **keywords
        )
    labels = task.entities or ()
    if "entities" in names or not labels:
        return task
    if all(map(_is_id, labels)):
        raise click.UsageError(
            "the entities are numbers: --ids takes them for rows of --entities or columns of "
            "scores, --entity-labels for names in the order of its lines"
        )
    if found.entities not in (None, len(labels)):
        raise ValueError(
            f"the triples name {len(labels):,} entities, but there are {found.entities:,} in the "
            "files of the model; give all names in their order by --entity-labels"
        )
    return task


def _ids_in(paths: Sequence[Path]) -> int:
    """How many entities there are, by the largest id, where no vectors or scores tell."""
    ends = [read_triples(str(path), entities=MOST).ids[:, :3:2] for path in paths]
    return 1 + max(int(ids.max(initial=0)) for ids in ends)


def _is_id(label: str) -> bool:
    return label.isdecimal() and label.isascii() and str(int(label)) == label


def candidates_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> Sampled | Path | str | None:
    """The candidates by name, as a file, or how many are sampled."""
    if text is None or text in ("all", "train", "typed"):
        return text
    kind, _, number = text.partition(":")
    if kind in ("sampled", "sampled-typed") and number.isdecimal() and int(number):
        return Sampled(int(number), typed=kind == "sampled-typed")
    if Path(text).suffix == ".npy":
        return Path(text)
    raise click.BadParameter(
        f"expected all, train, typed, sampled:100, sampled-typed:100 or a .npy file, got {text!r}"
    )
