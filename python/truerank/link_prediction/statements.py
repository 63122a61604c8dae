"""Statements with qualifiers, from Python and from files, as triples and numbered sets of pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of
from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.array_likes import index_array, read_only
from ..inputs.checks import is_iterable
from ..inputs.selection import indptr_of
from ..naming import public
from ..records.column_ids import IdColumn, refuse_unsaid_header
from ..records.column_roles import FACTS, is_header
from ..records.elements import without_blanks
from ..records.json_lines import is_json, json_lines
from ..records.split_columns import SplitReader, stack_splits
from ..records.text import (
    MAX_COLUMNS,
    RowForm,
    csv_fields,
    is_csv,
    is_path,
    note_of_header,
    text_lines,
)
from .triples import TripleSplits, encode_names

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..records.vocabularies import Names, Vocabulary

_COLUMNS = ("head", "relation", "tail", "qualifier relation", "value")
_VOCABULARIES = (0, 1, 0, 1, 0)  # Values are entities, and qualifiers have relations.
_STATEMENT = RowForm(_COLUMNS, _VOCABULARIES)
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
    entities, relations : tuple of str, tuple of int, or None
        The labels in the order of the ids; None if the statements held ids.
    """

    triples: IntArray
    indptr: IntArray
    qualifiers: IntArray
    entities: Names
    relations: Names


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

    def values_of(self, rows: slice) -> IntArray:
        """Return the values of the qualifiers of some statements."""
        return self.pairs[self.indptr[rows.start] : self.indptr[rows.stop], 1]

    @property
    def statement(self) -> IntArray:
        """The statement of each qualifier."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class QualifierSets:
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
        padded = np.full((len(chosen), max(map(len, chosen), default=0), 2), pad, dtype=np.int64)
        for row, pairs in zip(padded, chosen, strict=True):
            row[: len(pairs)] = pairs
        return padded


@public("truerank.link_prediction")
def read_statements(
    statements: Any, *, entities: Any = None, relations: Any = None, header: bool | None = None
) -> Statements:
    """Read statements with qualifiers into ids.

    Parameters
    ----------
    statements : path, or list of tuples
        The path of text with a line ``head,relation,tail,qualifier relation,value,...`` for each
        statement, as StarE has them, with commas or, if the first line has a tab, with tabs
        between them; or of lines of JSON, if its name ends in .json or .jsonl: arrays of that form,
        or objects ``{"P39_h": head, "P39_t": tail, "P580": [values], ...}``, as WikiPeople has
        them. Gzipped if the name ends in .gz as well. Or tuples of that form; integers are ids, str
        are labels.
    entities, relations : None, int, sequence of str or of int, or mapping of these to int
        As in `read_triples`; the values of qualifiers are entities, and their relations are
        relations.
    header : bool, optional
        Whether the first line of text names its columns, as in `Task`.

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
    named = {"statements": ("statements", statements)}
    splits = read_statement_splits(named, entities, relations, header)
    for note in splits.notes:
        warn_user(note)
    flat = splits.beside
    return Statements(
        triples=np.ascontiguousarray(splits.triples[:, :3]),
        indptr=flat.indptr,
        qualifiers=flat.pairs,
        entities=splits.entities.names,
        relations=splits.relations.names,
    )


def read_statement_splits(
    splits: Mapping[str, tuple[str, Any]],
    entities: Any,
    relations: Any,
    header: bool | None = None,
) -> TripleSplits:
    """Read splits over one vocabulary; a statement's set of qualifiers is its fourth column.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and the split as `read_statements` takes it.
    entities, relations : optional
        As `read_statements` takes them.
    header : bool, optional
        As `Task` takes it.

    Returns
    -------
    TripleSplits
        Its `beside` are the `FlatQualifiers`.
    """
    reader = SplitReader(_STATEMENT, header=header)
    columns: list[list[IdColumn]] = [[] for _ in _COLUMNS]
    lengths: list[int] = []
    sizes = {}
    for name, (title, value) in splits.items():
        columns_of_split, lengths_of_split = _read_columns(reader, title, value)
        for column, part in zip(columns, columns_of_split, strict=True):
            column.append(part)
        lengths.extend(lengths_of_split)
        sizes[name] = len(lengths_of_split)
    heads, between, tails, qualifier_relations, values = columns
    if header is None:
        for triple in zip(heads, between, tails, strict=True):
            if triple[0].path:
                refuse_unsaid_header(triple, list(chain.from_iterable(columns)))
    entity, relation, ids, relation_ids = encode_names(
        entities, relations, heads + tails + values, between + qualifier_relations
    )
    n = len(sizes)
    pairs = stack_splits([relation_ids[n:], ids[2 * n :]])
    flat, numbers = _number_sets(pairs, indptr_of(lengths))
    return TripleSplits(
        triples=stack_splits([ids[:n], relation_ids[:n], ids[n : 2 * n], [numbers]]),
        sizes=sizes,
        entities=entity,
        relations=relation,
        qualifiers=(_name_sets(flat.sets, entity, relation),),
        beside=flat,
        notes=tuple(reader.notes),
    )


def _read_columns(reader: SplitReader, title: str, value: Any) -> tuple[list[IdColumn], list[int]]:
    """Read a split as columns, as `_COLUMNS` has them, and count the qualifiers of each statement.

    The qualifiers of all statements make one column of relations and one of values.
    """
    rows, have_keys = _rows_of(title, value)
    is_text = is_path(value) and not is_json(os.fsdecode(value))
    path = os.fsdecode(value) if is_text else ""
    number = len(rows)
    if is_text and rows and reader.header is not False:
        rows = _without_header(reader, title, path, rows)
    title = f"{title}: {path}" if is_text else title
    columns = []
    for j, vocabulary in enumerate(_VOCABULARIES):
        if j < 3:
            members = [row[j] for row in rows]
        else:
            members = list(chain.from_iterable(row[j::2] for row in rows))
        has_no_type = is_text or (have_keys and vocabulary == 1)
        column = reader.column(title, j, members, is_text=has_no_type)
        if j < 3:  # Its rows are lines.
            column = column._replace(path=path, has_header=len(rows) < number)
        columns.append(column)
    lengths = [(len(row) - 3) // 2 for row in rows]
    return columns, lengths


def _without_header(reader: SplitReader, title: str, path: str, rows: list[Any]) -> list[Any]:
    """Return the rows of text below a header; one of known names has them in the order of rows."""
    has_names = is_header(rows[0], FACTS, may_have_further=True)
    if has_names and [FACTS.role_of(name) for name in rows[0][:3]] != FACTS.needed_roles:
        got = f'a header "{" ".join(rows[0])}"'
        raise InputValueError(title, expected=_FORM, got=got, place=path)
    if not has_names and not reader.header:
        return rows
    reader.notes.append(note_of_header(f"{title}: {path}", rows[0]))
    return rows[1:]


def _number_sets(pairs: IntArray, indptr: IntArray) -> tuple[FlatQualifiers, IntArray]:
    """Return the qualifiers of statements, and the number of the set that each statement has."""
    numbered = codes_of(pairs[:, 0], pairs[:, 1])
    codes = numbered.codes
    sets = QualifierSets(np.ascontiguousarray(pairs[numbered.first()]))
    listed = codes.tolist()
    numbers = [sets.number(listed[start:end]) for start, end in pairwise(indptr.tolist())]
    return FlatQualifiers(indptr, codes, sets), np.array(numbers, dtype=np.int64)


def _name_sets(sets: QualifierSets, entity: Vocabulary, relation: Vocabulary) -> tuple[str, ...]:
    """Return the labels of the sets, which say their pairs."""
    names = ["without qualifiers"]
    for i in range(1, len(sets)):
        pairs = sets[i].tolist()
        shown = [f"{relation.label_of(key)} {entity.label_of(value)}" for key, value in pairs]
        names.append("; ".join(shown))
    return tuple(names)


def _rows_of(title: str, value: Any) -> tuple[list[Any], bool]:
    """Read the statements of a split in any form, as rows of an odd number of members.

    Say whether relations are keys of JSON, which have no type.
    """
    path = os.fsdecode(value) if is_path(value) else ""
    kind = "line"
    numbered: Iterable[tuple[int, Any]]
    if is_json(path):
        numbered = json_lines(title, path)
    elif path:
        numbered = _rows_of_text(title, path)
    elif isinstance(value, (list, np.ndarray)) and is_iterable(value):
        kind = "statement"
        numbered = enumerate(value)
    else:
        expected = f"a path, or a list of tuples ({_FORM})"
        raise InputTypeError(title, expected=expected, got=type(value).__name__)
    rows: list[Any] = []
    have_keys = False
    for number, row in numbered:
        fields: Any = row
        if isinstance(row, dict):
            fields = _fields_of_object(row)
            have_keys = True
        is_row = isinstance(fields, (list, tuple, np.ndarray)) and not hasattr(fields, "_fields")
        if not is_row or not 3 <= len(fields) <= MAX_COLUMNS or len(fields) % 2 == 0:
            got = f"{shorten(str(row), 60)} in {kind} {number}"
            raise InputValueError(title, expected=_FORM, got=got, place=path)
        rows.append(fields)
    return rows, have_keys


def _rows_of_text(title: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line with its number; the first line says what is between them."""
    delimiter = ""
    # A line of blanks is empty, but one of tabs has empty fields, which are refused.
    for number, line in text_lines(title, path, blanks=" "):
        if is_csv(path):
            yield number, csv_fields(f"{title}: {path}", number, line)
            continue
        if not delimiter:
            delimiter = "\t" if "\t" in line else ","
        yield number, list(map(without_blanks, line.split(delimiter)))


def _fields_of_object(statement: dict[str, Any]) -> list[Any] | None:
    """Return the fields of a statement; None if it has not one head and one tail of a relation."""
    heads = [name for name in statement if name.endswith("_h")]
    tails = [name for name in statement if name.endswith("_t")]
    if len(heads) != 1:
        return None
    relation = heads[0].removesuffix("_h")
    if tails != [f"{relation}_t"]:
        return None
    fields = [statement[heads[0]], relation, statement[tails[0]]]
    for name, values in statement.items():
        if name in (heads[0], tails[0], "N"):  # N is the number of entities.
            continue
        listed = values if isinstance(values, list) else [values]
        for value in listed:
            fields.extend([name, value])
    return fields
