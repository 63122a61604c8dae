"""Statements with qualifiers, from Python and from files, as triples and numbered sets of pairs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import ReadOnlyArrays, index_array, read_only
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import indptr_of
from ..tasks.list_files import is_json, json_lines
from ..tasks.row_keys import row_keys
from ..tasks.split_columns import SplitReader, stack_splits
from ..tasks.text import MAX_COLUMNS, RowForm, is_path, text_lines
from ..tasks.vocabularies import Column, Vocabulary
from .triples import TripleSplits, encode_names

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

_COLUMNS = ("head", "relation", "tail", "qualifier relation", "value")
_VOCABULARIES = (0, 1, 0, 1, 0)  # values are entities, and qualifiers have relations
_STATEMENT = RowForm("statement", _COLUMNS, _VOCABULARIES)
_QUALIFIER = RowForm("qualifier", _COLUMNS, _VOCABULARIES)
_FORM = "head, relation and tail, then a relation and a value for each qualifier"


@public("truerank.link_prediction")
class Statements(NamedTuple):
    """Statements as ids, and the labels of the ids.

    Attributes
    ----------
    triples : ndarray of int64, shape (n, 3)
        Head, relation and tail.
    indptr : ndarray of int64, shape (n + 1,)
        Statement i has the qualifiers ``indptr[i]:indptr[i + 1]``.
    qualifiers : ndarray of int64, shape (m, 2)
        The relation and the value of each qualifier, as given.
    entities, relations : tuple of str, or None
        The labels in the order of the ids; None if the statements held ids.
    """

    triples: IntArray
    indptr: IntArray
    qualifiers: IntArray
    entities: tuple[str, ...] | None
    relations: tuple[str, ...] | None


class FlatQualifiers(NamedTuple):
    """The qualifiers of the statements of all splits, one after the other, as given.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n + 1,)
        Statement i has the qualifiers ``indptr[i]:indptr[i + 1]``.
    codes : ndarray of int64, shape (m,)
        Equal for equal pairs; the position of the pair in the table of the sets.
    sets : QualifierSets
    """

    indptr: IntArray
    codes: IntArray
    sets: QualifierSets

    @property
    def pairs(self) -> IntArray:
        """The relation and the value of each, shape (m, 2)."""
        return self.sets.table[self.codes]

    @property
    def statement(self) -> IntArray:
        """The statement of each qualifier."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class QualifierSets(ReadOnlyArrays):
    """Distinct sets of qualifiers, numbered as they come; the empty one is 0.

    Parameters
    ----------
    table : ndarray of int64, shape (p, 2)
        The distinct pairs of a relation and a value.

    Examples
    --------
    >>> sets = QualifierSets(np.array([[4, 7], [5, 7]]))
    >>> sets.number([1, 0, 1]), sets.number([0, 1]), sets.number([])
    (1, 1, 0)
    >>> sets[1]
    array([[4, 7],
           [5, 7]])
    """

    def __init__(self, table: IntArray) -> None:
        self.table = read_only(table)
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._members: list[tuple[int, ...]] = [()]

    def number(self, codes: Sequence[int]) -> int:
        """Return the number of a set of pairs, each by its position in the table."""
        key = tuple(sorted(set(codes)))
        number = self._numbers.setdefault(key, len(self._members))
        if number == len(self._members):
            self._members.append(key)
        return number

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, number: int) -> IntArray:
        """Return the pairs of a set, ascending."""
        return self.table[list(self._members[number])].reshape(-1, 2)

    @property
    def sizes(self) -> IntArray:
        """The number of pairs of each set."""
        return np.array(list(map(len, self._members)), dtype=np.int64)

    def padded(self, numbers: Any, *, pad: int = -1) -> IntArray:
        """Return some sets as an array, as models read them.

        Parameters
        ----------
        numbers : array_like of int, shape (b,)
            The numbers of the sets, such as the last column of queries.
        pad : int
            What fills short sets.

        Returns
        -------
        ndarray of int64, shape (b, k, 2)
            The relation and the value of each qualifier.

        Examples
        --------
        >>> from truerank.link_prediction import Task
        >>> task = Task([("a", "won", "z", "in", "x"), ("a", "won", "y")], statements=True)
        >>> task.sets.padded(task.tail.queries[:, 2]).tolist()
        [[[-1, -1]], [[0, 1]]]
        """
        chosen = [self[number] for number in index_array("numbers", numbers).tolist()]
        longest = max(map(len, chosen), default=0)
        padded = np.full((len(chosen), longest, 2), pad, dtype=np.int64)
        for row, pairs in zip(padded, chosen, strict=True):
            row[: len(pairs)] = pairs
        return padded


@public("truerank.link_prediction")
def read_statements(
    statements: Any,
    *,
    entities: Any = None,
    relations: Any = None,
) -> Statements:
    """Read statements with qualifiers into ids.

    Parameters
    ----------
    statements : path, list of tuples, (triples, qualifiers), or Statements
        The path of text with a line ``head,relation,tail,qualifier relation,value,...`` for each
        statement, as StarE has them, with commas or, if the first line has a tab, with tabs
        between them; or of lines of JSON, if its name ends in .json or .jsonl: arrays of that form,
        or objects ``{"P39_h": head, "P39_t": tail, "P580": [values], ...}``, as WikiPeople has
        them. Gzipped if the name ends in .gz as well. Or tuples of that form; or triples, shape
        (n, 3), and for each of them the list of its qualifiers, pairs of a relation and a value.
        Integers are ids, str are labels.
    entities, relations : None, int, sequence of str, or mapping of str to int
        As in `read_triples`; the values of qualifiers are entities, and their relations are
        relations.

    Returns
    -------
    Statements

    Raises
    ------
    TypeError, ValueError
        For statements of another form; messages name the line or the position.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> read = read_statements([("curie", "won", "nobel", "with", "pierre"), ("a", "won", "b")])
    >>> read.triples.tolist(), read.indptr.tolist(), read.qualifiers.tolist()
    ([[2, 1, 3], [0, 1, 1]], [0, 1, 1], [[0, 4]])
    >>> read.relations
    ('with', 'won')
    """
    splits = read_statement_splits({"statements": ("statements", statements)}, entities, relations)
    flat = splits.beside
    triples = np.ascontiguousarray(splits.triples[:, :3])
    return Statements(
        triples, flat.indptr, flat.pairs, splits.entities.names, splits.relations.names
    )


def read_statement_splits(
    splits: Mapping[str, tuple[str, Any]], entities: Any, relations: Any, time: Any = None
) -> TripleSplits:
    """Read splits over one vocabulary; a statement's set of qualifiers is its fourth column.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and the split as `read_statements` takes it.
    entities, relations : optional
        As `read_statements` takes them.

    Returns
    -------
    TripleSplits
        Its `beside` are the `FlatQualifiers`.
    """
    _check_no_time(time)
    statements, qualifiers = SplitReader(_STATEMENT), SplitReader(_QUALIFIER)
    qualifiers.indexes = statements.indexes
    of_entities: list[Column] = []
    of_relations: list[Column] = []
    lengths: list[int] = []
    sizes = {}
    for name, (title, value) in splits.items():
        rows = _rows_of(title, value)
        ends = [[row[j] for row in rows] for j in range(3)]
        pairs_of_rows = [list(chain.from_iterable(row[j::2] for row in rows)) for j in (3, 4)]
        columns = [statements.column_of_values(title, j, each) for j, each in enumerate(ends)]
        for j, each in enumerate(pairs_of_rows, 3):
            columns.append(qualifiers.column_of_values(title, j, each))
        of_entities += columns[0::2]
        of_relations += columns[1::2]
        lengths += [(len(row) - 3) // 2 for row in rows]
        sizes[name] = len(rows)
    entity, relation, ids, relation_ids = encode_names(
        entities, relations, of_entities, of_relations
    )
    indptr = indptr_of(lengths)
    pairs = stack_splits([relation_ids[1::2], ids[2::3]])
    keys = row_keys([pairs[:, 0], pairs[:, 1]])
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    sets = QualifierSets(np.ascontiguousarray(pairs[first]))
    listed, bounds = codes.tolist(), pairwise(indptr.tolist())
    numbers = np.array([sets.number(listed[start:end]) for start, end in bounds], dtype=np.int64)
    names = ["without qualifiers"]
    for i in range(1, len(sets)):
        shown = (f"{relation.label_of(r)} {entity.label_of(v)}" for r, v in sets[i].tolist())
        names.append("; ".join(shown))
    flat = FlatQualifiers(indptr, codes, sets)
    triples = stack_splits([ids[0::3], relation_ids[0::2], ids[1::3], [numbers]])
    return TripleSplits(triples, sizes, entity, relation, (tuple(names),), beside=flat)


def _check_no_time(time: Any) -> None:
    if time is not None:
        got = f"{time!r}; a time is the value of a qualifier"
        raise InputValueError("time", expected="None for statements", got=got)


# -- one split -------------------------------------------------------------------------------------


def _rows_of(title: str, value: Any) -> Sequence[Sequence[Any]]:
    """Read the statements of a split in any form, as rows of an odd number of members."""
    if isinstance(value, Statements):
        return _rows_of_ids(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (list, np.ndarray)):
        return _rows_of_pairs(title, *value)
    if is_path(value):
        return _rows_of_file(title, os.fsdecode(value))
    if isinstance(value, np.ndarray) and value.ndim == 2:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        expected = f"a path, a list of tuples ({_FORM}), or (triples, qualifiers)"
        raise InputTypeError(title, expected=expected, got=type(value).__name__)
    for i, row in enumerate(value):
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            got = f"{type(row).__name__} at position {i}"
            raise InputTypeError(title, expected=f"tuples ({_FORM})", got=got)
        if len(row) < 3 or not len(row) % 2:
            expected = f"an odd number of members from 3 on ({_FORM})"
            raise InputValueError(title, expected=expected, got=f"{len(row)} in statement {i}")
    return value


def _rows_of_ids(facts: Statements) -> list[list[Any]]:
    """Return what was read before, with its labels, as other splits may have other ids."""
    entities, relations = Vocabulary(0, facts.entities), Vocabulary(0, facts.relations)
    pairs = [(relations.label_of(r), entities.label_of(v)) for r, v in facts.qualifiers.tolist()]
    bounds = pairwise(facts.indptr.tolist())
    return [
        [entities.label_of(h), relations.label_of(r), entities.label_of(t), *chain(*pairs[a:b])]
        for (h, r, t), (a, b) in zip(facts.triples.tolist(), bounds, strict=True)
    ]


def _rows_of_pairs(title: str, triples: Any, qualifiers: Any) -> list[list[Any]]:
    """Read triples and the pairs of each."""
    listed = triples.tolist() if isinstance(triples, np.ndarray) else triples
    expected = f"the list of the qualifiers of each of the {len(listed)} triples"
    if not isinstance(qualifiers, (list, tuple)):
        raise InputTypeError(title, expected=expected, got=type(qualifiers).__name__)
    if len(qualifiers) != len(listed):
        raise InputValueError(title, expected=expected, got=len(qualifiers))
    rows = []
    for i, (triple, row) in enumerate(zip(listed, qualifiers, strict=True)):
        pairs = row.tolist() if isinstance(row, np.ndarray) else row
        parts = [triple, *pairs] if isinstance(pairs, (list, tuple, set, frozenset)) else [pairs]
        widths = [len(part) if isinstance(part, (list, tuple)) else 0 for part in parts]
        if widths != [3] + [2] * (len(parts) - 1):
            expected = "triples of shape (n, 3), and pairs of a relation and a value"
            got = f"{triple!r} with {row!r} at position {i}"
            raise InputValueError(title, expected=expected, got=got)
        rows.append(list(chain.from_iterable(parts)))
    return rows


def _rows_of_file(title: str, path: str) -> list[list[Any]]:
    """Read lines of text, or of JSON: arrays, or objects as WikiPeople has them."""
    rows: list[list[Any]] = []
    delimiter = ""
    has_json = is_json(path)
    for line, value in (json_lines if has_json else text_lines)(title, path):
        fields = _fields_of_object(value) if isinstance(value, dict) else value
        if not has_json:
            delimiter = delimiter or ("\t" if "\t" in value else ",")
            fields = value.split(delimiter)
        if not isinstance(fields, list):
            expected = "an array, or an object with names that end in _h and _t"
            problem = f": expected {expected}, got {type(value).__name__}"
        elif len(fields) < 3 or not len(fields) % 2 or len(fields) > MAX_COLUMNS:
            expected = f"an odd number from 3 to {MAX_COLUMNS:,} ({_FORM})"
            problem = f" has {len(fields):,} fields, expected {expected}"
        elif "" in fields:
            problem = f": field {fields.index('') + 1} is empty"
        else:
            rows.append(fields)
            continue
        raise InputValueError(title, f"line {line}{problem}", place=path)
    return rows


def _fields_of_object(statement: dict[str, Any]) -> list[Any] | None:
    """Return the fields of a statement; None if it has not one head and one tail of a relation."""
    heads = [name for name in statement if name.endswith("_h")]
    tails = [name for name in statement if name.endswith("_t")]
    relation = heads[0].removesuffix("_h") if heads else ""
    if len(heads) != 1 or tails != [f"{relation}_t"]:
        return None
    fields = [statement[heads[0]], relation, statement[tails[0]]]
    for name, values in statement.items():
        if name not in (heads[0], tails[0], "N"):  # N is the number of entities
            listed = values if isinstance(values, list) else [values]
            fields += chain.from_iterable((name, value) for value in listed)
    return fields
