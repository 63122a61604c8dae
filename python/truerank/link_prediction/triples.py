"""Triples: splits in any of their forms, read into ids with one vocabulary for all of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..selection import as_integers
from .text import is_path, read_text
from .vocabularies import Column, Vocabulary, Words, numbers, settle, settle_qualifier

if TYPE_CHECKING:
    from ..arrays import IntArray


class Triples(NamedTuple):
    """Triples as ids, and what the ids stand for.

    Attributes
    ----------
    ids : ndarray of int64, shape (n, 3 + qualifiers)
        Head, relation, tail, then the qualifiers.
    entities, relations : tuple of str, or None
        The labels in the order of the ids; None where the triples held ids.
    qualifiers : tuple
        The labels of each further column, or None.
    """

    ids: IntArray
    entities: tuple[str, ...] | None
    relations: tuple[str, ...] | None
    qualifiers: tuple[tuple[str, ...] | None, ...] = ()


class Splits(NamedTuple):
    """Some splits as ids over one vocabulary.

    Attributes
    ----------
    triples : ndarray of int64, shape (n, 3 + qualifiers)
        Of all splits, one after the other; column by column in memory, as they are read.
    sizes : dict of str to int
        How many triples each split has.
    entities, relations : Vocabulary
    qualifiers : tuple
    """

    triples: IntArray
    sizes: dict[str, int]
    entities: Vocabulary
    relations: Vocabulary
    qualifiers: tuple[tuple[str, ...] | None, ...]

    def show(self, triple: Sequence[int]) -> tuple[str | int, ...]:
        """Give a triple by its labels, where there are any."""
        first = (
            self.entities.show(int(triple[0])),
            self.relations.show(int(triple[1])),
            self.entities.show(int(triple[2])),
        )
        further = zip(triple[3:], self.qualifiers, strict=True)
        return (*first, *(Vocabulary(0, names).show(int(code)) for code, names in further))


def read_triples(triples: Any, *, entities: Any = None, relations: Any = None) -> Triples:
    """Read triples of any form into ids.

    Parameters
    ----------
    triples : array of int or str, shape (n, 3+), list of tuples, or path
        Head, relation, tail, then any qualifiers. An array or tuples of integers hold ids, of str
        labels. A path ending in .npy is an array of ids; any other file is tab-separated text in
        UTF-8, gzipped where the name ends in .gz. Text holds labels, unless `entities` is an int:
        then it holds ids, also of relations, unless `relations` names those.
    entities, relations : None, int, sequence of str, or mapping of str to int
        None: the labels found, in ascending order (by code point), or ids from 0 to the largest;
        an error where all labels are numbers as ids are written. An int: how many ids there are.
        Labels in the order of their ids, or a mapping to ids.

    Returns
    -------
    Triples
        ``ids`` (int64), and the labels of ``entities`` and ``relations``.

    Raises
    ------
    TypeError
        For anything else, and for floats.
    ValueError
        For fewer than three columns, lines of another width (with file and line), ids out of
        range, unknown labels, and labels that are all numbers where neither their number nor
        their order is given.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> triples = read_triples([("b", "likes", "a"), ("a", "knows", "b")])
    >>> triples.ids
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> triples.entities, triples.relations
    (('a', 'b'), ('knows', 'likes'))
    """
    splits = read_splits({"triples": ("triples", triples)}, entities, relations)
    names = splits.entities.names, splits.relations.names
    return Triples(np.ascontiguousarray(splits.triples), *names, splits.qualifiers)


def read_splits(splits: Mapping[str, tuple[str, Any]], entities: Any, relations: Any) -> Splits:
    """Read splits over one vocabulary.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: what to call it in messages, and the split as `read_triples` takes one.
    entities, relations : optional
        As `read_triples` takes them.
    """
    words: dict[int, Words] = {}
    read = {name: _columns(title, split, words) for name, (title, split) in splits.items()}
    widths = {title: len(read[name]) for name, (title, _) in splits.items() if read[name]}
    if len(set(widths.values())) > 1:
        said = ", ".join(f"{title} {width}" for title, width in widths.items())
        raise ValueError(f"triples: expected as many columns in every split, got {said}")
    width = next(iter(widths.values()), 3)
    for name, (title, _) in splits.items():  # a split without lines has no width of its own
        read[name] = read[name] or [
            Column(title, j, np.zeros(0, dtype=np.int64), None) for j in range(width)
        ]
    numbered = isinstance(entities, (int, np.integer))
    both = [column for columns in read.values() for column in (columns[0], columns[2])]
    entity, ids = settle("entities", "entity", entities, both)
    if (
        numbered
        and relations is None
        and any(columns[1].words is not None for columns in read.values())
    ):
        relations = _as_many_as_found([columns[1] for columns in read.values()])
    relation, middle = settle(
        "relations", "relation", relations, [columns[1] for columns in read.values()]
    )
    columns_of = [ids[0::2], middle, ids[1::2]]
    names = []
    for j in range(3, width):
        found, codes = settle_qualifier([columns[j] for columns in read.values()], numbered)
        columns_of.append(codes)
        names.append(found)
    sizes = {name: len(columns[0].values) for name, columns in read.items()}
    triples = np.empty((sum(sizes.values()), width), dtype=np.int64, order="F")
    for column, parts in zip(triples.T, columns_of, strict=True):
        np.concatenate(parts, out=column)
    return Splits(triples, sizes, entity, relation, tuple(names))


def _as_many_as_found(columns: Sequence[Column]) -> int:
    """How many relations there are where text holds their ids."""
    tops = (
        int(numbers("relations", "relation", column).max())
        for column in columns
        if len(column.values)
    )
    return max([0, *tops]) + 1


def _columns(title: str, split: Any, words: dict[int, Words]) -> list[Column]:
    """Read the columns of a split, in whatever form it is; none where it has no rows at all."""
    if is_path(split):
        path = os.fsdecode(split)
        if not path.endswith(".npy"):
            return [
                Column(title, j, codes, _words(j, words))
                for j, codes in enumerate(
                    read_text(title, path, lambda j, fields: _words(j, words).read(fields))
                )
            ]
        title = f"{title}: {path}"
        split = _loaded(title, path)
    if isinstance(split, (list, tuple)):
        return _of_rows(title, split, words)
    if isinstance(split, (bytes, Mapping, set, frozenset)) or split is None:
        raise TypeError(
            f"{title}: expected an array, a path or a list of tuples, got {type(split).__name__}"
        )
    array = np.asarray(split)
    if array.dtype.kind in "OUT" and array.ndim == 2:
        return _of_rows(title, list(map(tuple, array.tolist())), words, array.shape[1])
    return _of_array(title, array)


def _loaded(title: str, path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{title}: no .npy array of ids ({error})") from None


def _of_array(title: str, array: Any) -> list[Column]:
    if array.dtype.kind not in "iu":
        raise TypeError(f"{title}: expected integers or labels, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] < 3:
        raise ValueError(
            f"{title}: expected shape (n, 3) or wider (head, relation, tail), "
            f"got shape {array.shape}"
        )
    ids = as_integers(title, array, copy=False)
    return [Column(title, j, ids[:, j], None) for j in range(array.shape[1])]


def _of_rows(
    title: str, rows: Sequence[Any], words: dict[int, Words], width: int = 3
) -> list[Column]:
    """Read tuples: each column of them holds labels, or ids."""
    if not len(rows):
        return []
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            raise TypeError(
                f"{title}: expected tuples (head, relation, tail), "
                f"got {type(row).__name__} at position {i}"
            )
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or width < 3:
            expected = f"{width} members, as in the first" if width >= 3 else "at least 3 members"
            raise ValueError(f"{title}: expected {expected}, got {len(row)} in triple {i}")
    return [_of_values(title, j, column, words) for j, column in enumerate(zip(*rows, strict=True))]


def _of_values(title: str, j: int, values: Sequence[Any], words: dict[int, Words]) -> Column:
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        if j < 3 and "" in values:
            raise ValueError(
                f"{title}: expected labels, got an empty str in column {j} of triple "
                f"{values.index('')}"
            )
        return Column(title, j, _words(j, words).read(values), _words(j, words))
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return Column(title, j, as_integers(title, list(values)), None)
    wrong = {kind for kind in kinds if not issubclass(kind, (str, int, np.integer)) or kind is bool}
    row = next((i for i, value in enumerate(values) if type(value) in wrong), -1)
    got = f"{type(values[row]).__name__} (triple {row})"
    if row < 0:
        named = isinstance(values[0], str)
        row = next(i for i, value in enumerate(values) if isinstance(value, str) != named)
        got = (
            f"both (triple {row} has {type(values[row]).__name__}, those before "
            f"{'str' if named else 'integers'})"
        )
    raise TypeError(f"{title}: expected integers or str in column {j}, got {got}")


def _words(j: int, words: dict[int, Words]) -> Words:
    """Give the labels of a column; heads and tails share theirs."""
    return words.setdefault(0 if j == 2 else j, Words())


def named_splits(known: Any) -> dict[str, tuple[str, Any]]:
    """Name the known splits, and say what to call each in messages.

    Examples
    --------
    >>> list(named_splits(["train.txt", "valid.txt"])), list(named_splits({"train": "train.txt"}))
    (['known_0', 'known_1'], ['train'])
    """
    if known is None:
        return {}
    if isinstance(known, Mapping):
        for name in known:
            if not isinstance(name, str):
                raise TypeError(f"known: expected names of splits, got {type(name).__name__}")
            if not name:
                raise ValueError("known: expected names of splits, got an empty str")
        return {name: (f'known["{name}"]', split) for name, split in known.items()}
    if _is_several(known):
        return {f"known_{i}": (f"known[{i}]", split) for i, split in enumerate(known)}
    return {"known_0": ("known", known)}


def _is_several(known: Any) -> bool:
    """Whether this is a list of splits rather than the rows of one."""
    if not isinstance(known, (list, tuple)):
        return False
    if not known:
        return True
    first = known[0]
    if is_path(first) or first is None or isinstance(first, Mapping):
        return True
    if isinstance(first, (list, tuple)):
        return not first or isinstance(first[0], (list, tuple, np.ndarray))
    return getattr(first, "ndim", None) == 2
