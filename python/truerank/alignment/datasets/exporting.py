"""Write data sets to disk in the layout of OpenEA."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tasks.row_keys import look_up, row_keys
from ..two_graphs import as_pairs
from .graphs import SPLITS, AlignmentData, Graph
from .readers import FOLDS
from .text_tables import write_files

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

    Names = Sequence[str]
    Lines = Iterator[str]

UNWRITABLE = re.compile("[\t\r\n\ud800-\udfff]")  # ends of columns and lines, and surrogates


@public("truerank.alignment")
def write_openea(
    data: AlignmentData,
    folder: str | os.PathLike[str],
    *,
    splits: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    folds: str = FOLDS,
    overwrite: bool = False,
) -> None:
    """Write a data set in the layout of OpenEA: either all files or none.

    The files are rel_triples_1 and rel_triples_2, ent_links, and for fold k train_links,
    valid_links and test_links in 721_5fold/k (see `read_openea`). If OpenEA's layout alone would
    not restore the same ids, ent_ids_1 and ent_ids_2 (and rel_ids_1 and rel_ids_2) are written as
    well, so that vectors still fit. Entities and relations without names are written as their ids.
    Reading the folder restores the data, with these ids as names.

    Files are written under temporary names and moved at the end, so that none is left half-written.
    Other files in the folder stay as they are.

    Parameters
    ----------
    data : AlignmentData
    folder : str or path-like
        The folder, which is made if it does not exist.
    splits : list of dict of str to array of int, shape (k, 2), or one dict, optional
        The folds, as `five_folds` returns them: "train", "test" and perhaps "valid". Default: the
        splits of `data` as fold 1, if it has any.
    folds : str
        The name of the folder of the folds.
    overwrite : bool
        Whether to replace existing files.

    Raises
    ------
    TypeError
        For anything else.
    FileExistsError
        If a file exists, unless `overwrite` is true. In any case, if there are folds or lists of
        ids that would not be replaced, but would be read with the new files.
    OSError
        If a file cannot be written.
    ValueError
        For names with tabs, line ends or surrogates, names that two entities share, graphs without
        triples, no pairs at all, and splits with other names or with pairs that are not in
        ``data.pairs``.

    Examples
    --------
    >>> import tempfile
    >>> from truerank.alignment.datasets.readers import read_openea
    >>> left = Graph(np.array([[0, 0, 1]]), 2, names=("b", "a"), relations=("r",))
    >>> right = Graph(np.array([[0, 0, 1]]), 2, names=("A", "B"), relations=("s",))
    >>> data = AlignmentData(left, right, [(0, 1), (1, 0)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_openea(data, folder, splits={"train": [(0, 1)], "test": [(1, 0)]})
    ...     sorted(os.listdir(folder)), read_openea(folder, 1)
    (['721_5fold', 'ent_ids_1', 'ent_links', 'rel_triples_1', 'rel_triples_2'], \
AlignmentData(2 and 2 entities, 1 and 1 triples, 2 pairs; train 1, test 1))
    """
    if not isinstance(data, AlignmentData):
        raise InputTypeError("data", expected="AlignmentData", got=type(data).__name__)
    if not folds:
        raise InputValueError("folds", expected="the name of a folder", got="an empty str")
    if not len(data.pairs):
        raise InputValueError("data", expected="at least one pair", got="none")
    graphs = (data.left, data.right)
    names = [
        _names_in_files(side, graph) for side, graph in zip(("left", "right"), graphs, strict=True)
    ]
    files: dict[str, Lines] = {}
    for k, (graph, (entities, relations)) in enumerate(zip(graphs, names, strict=True), 1):
        if not len(graph.triples):
            side = ("left", "right")[k - 1]
            raise InputValueError(
                "data", expected="triples in both graphs", got=f"none in the {side} one"
            )
        files[f"rel_triples_{k}"] = _row_lines(graph.triples, (entities, relations, entities))
        aligned = data.pairs[:, k - 1]
        if _needs_list(graph.ids, entities, graph.triples[:, [0, 2]].ravel(), aligned):
            files[f"ent_ids_{k}"] = _list_lines(graph.ids, entities)
        if _needs_list(graph.relation_ids, relations, graph.triples[:, 1]):
            files[f"rel_ids_{k}"] = _list_lines(graph.relation_ids, relations)
    ends = names[0][0], names[1][0]
    files["ent_links"] = _row_lines(data.pairs, ends)
    for k, fold in enumerate(_check_folds(data, splits), 1):
        for split in SPLITS:
            place = os.path.join(folds, str(k), f"{split}_links")
            files[place] = _row_lines(fold.get(split, data.pairs[:0]), ends)
    root = os.fsdecode(folder)
    _check_stale_files(root, folds, files)
    write_files(root, files, overwrite=overwrite)


def _names_in_files(side: str, graph: Graph) -> tuple[Names, Names]:
    """Return the names of entities and relations in files: their names, or else their ids."""
    relations = int(graph.triples[:, 1].max(initial=-1)) + 1
    parts = (
        ("entity", graph.size, graph.names, graph.ids),
        ("relation", relations, graph.relations, graph.relation_ids),
    )
    found: list[Names] = []
    for what, size, names, ids in parts:
        if names is None:
            names = tuple(map(str, (np.arange(size) if ids is None else ids).tolist()))
        seen: set[str] = set()
        for name in names:
            if not name or name.startswith("\ufeff") or UNWRITABLE.search(name):
                raise InputValueError(
                    "data",
                    expected="names without tabs and line ends, in Unicode",
                    got=f"the {what} {name!r} in the {side} graph",
                )
            if name in seen:
                raise InputValueError(
                    "data",
                    expected="names that differ",
                    got=f"two times the {what} {name!r} in the {side} graph",
                )
            seen.add(name)
        found.append(names)
    return found[0], found[1]


def _needs_list(ids: IntArray | None, names: Names, *used: IntArray) -> bool:
    """Return whether, without a list, a reader would number names differently or miss some."""
    used_names = np.zeros(len(names), dtype=bool)
    for some in used:
        used_names[some] = True
    numbers = all(name.isascii() and name.isdecimal() for name in names)
    in_order = not numbers and all(a < b for a, b in pairwise(names))
    return ids is not None or not in_order or not used_names.all()


def _list_lines(ids: IntArray | None, names: Names) -> Lines:
    numbers = (np.arange(len(names)) if ids is None else ids).tolist()
    return (f"{number}\t{name}" for number, name in zip(numbers, names, strict=True))


def _row_lines(rows: IntArray, names: Sequence[Names]) -> Lines:
    """Return the lines of rows, with the names of each column."""
    columns = [
        map(of.__getitem__, column.tolist()) for of, column in zip(names, rows.T, strict=True)
    ]
    return map("\t".join, zip(*columns, strict=True))


def _check_folds(
    data: AlignmentData, splits: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None
) -> list[dict[str, IntArray]]:
    """Check the folds, and return the pairs of the splits of each fold."""
    if splits is None:
        splits = [data.splits] if data.splits else []
    if isinstance(splits, Mapping):
        splits = [splits]
    checked = []
    for k, fold in enumerate(splits, 1):
        if not isinstance(fold, Mapping):
            raise InputTypeError("splits", expected="dicts of pairs", got=type(fold).__name__)
        if not {"train", "test"} <= set(fold) <= set(SPLITS):
            raise InputValueError(
                "splits", expected="train, test and perhaps valid", got=", ".join(fold) or "none"
            )
        pairs = {name: as_pairs(f'splits["{name}"]', value) for name, value in fold.items()}
        for name, some in pairs.items():
            if not len(some) and name != "valid":
                raise InputValueError(f'splits["{name}"]', expected="at least one pair", got="none")
            keys = row_keys(list(np.concatenate([data.pairs, some]).T))
            m = len(data.pairs)
            there, _ = look_up(np.unique(keys[:m]), keys[m:])
            if len(there) < len(some):
                row = int(np.setdiff1d(np.arange(len(some)), there)[0])
                raise InputValueError(
                    f'splits["{name}"]',
                    expected="pairs of the data",
                    got=f"{tuple(some[row].tolist())} in pair {row} of fold {k}",
                )
        checked.append(pairs)
    return checked


def _check_stale_files(root: str, folds: str, files: Mapping[str, object]) -> None:
    """Refuse existing files that a reader would read together with the new ones."""
    lists = [f"{what}_ids_{k}" for what in ("ent", "rel") for k in (1, 2)]
    others = [path for name in lists for path in (name, f"{name}.gz")]
    inner = os.path.join(root, folds)
    if os.path.isdir(inner):
        others += [
            os.path.join(folds, fold, f"{split}_links{end}")
            for fold in sorted(os.listdir(inner))
            for split in SPLITS
            for end in ("", ".gz")
        ]
    for name in others:
        path = os.path.join(root, name)
        if name not in files and os.path.lexists(path):
            raise FileExistsError(
                errno.EEXIST, "not written anew, but would be read with what is written", path
            )
