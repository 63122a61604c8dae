"""A task is data: its sides, how their lists and rows are read, and the protocol of its ranks.

A protocol (link prediction, alignment, retrieval) makes it from facts, names an argument for each
side, and hands over by side what a model gives. How that is ranked is in `evaluation`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import reporting
from ..arrays.row_keys import codes_of, look_up
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import index_array
from ..inputs.checks import NUMBERED, Axis, check_shape, is_iterable
from ..ranks.protocol import Origin, Protocol
from ..records.columns import read_elements

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..counting.lists import CandidateLists
    from ..ranks.container import Ranks
    from ..records.lists import Lists
    from ..records.splits import FindingParts
    from ..records.vocabularies import Vocabulary
    from .side import Side


class Task:
    """The tasks of a protocol by side, and the protocol that their ranks carry.

    Parameters
    ----------
    sides : mapping of str to Side
        By name, in the order of their tasks in Ranks; they are attributes, too.
    roles : mapping of str to tuple of str
        For each side the roles of the columns of its queries, and then that of its answers.
    names : mapping of str to Vocabulary
        What elements name, by role.
    protocol : Protocol
        The filter's splits, the candidates by name, whether they are sampled, and the split.
    facts : iterable of (ndarray of int64, names)
        The columns of the facts that are ranked, whatever the sides are, as `fingerprint_of` takes
        them.
    known : str
        The digest of all facts, by `digest_of_rows`.
    test_rows : ndarray of int64, shape (k,)
        The rows of the test that are ranked, which are its units; those of a part in its own order.
    height : int
        How many rows the test has, as it was given.
    findings : iterable of (str, int, str)
        What `audit` returns, as the parts of each `Finding`.
    """

    sides: dict[str, Side]
    roles: dict[str, tuple[str, ...]]
    names: dict[str, Vocabulary]
    protocol: Protocol
    test_rows: IntArray
    height: int
    # The labels of the rows that a user hands over, and what a row is for.
    _row_axis = NUMBERED
    _row_noun = "query of the test as given"
    _report_options: Mapping[str, Any] = MappingProxyType({})
    # It says whether labels of queries are their numbers in this task alone.
    _numbers_queries = False
    _chooses_sides = False  # Whether it has an argument `sides`.

    def __init__(
        self,
        sides: Mapping[str, Side],
        *,
        roles: Mapping[str, tuple[str, ...]],
        names: Mapping[str, Vocabulary],
        protocol: Protocol,
        facts: Iterable[tuple[IntArray, Any]],
        known: str,
        test_rows: IntArray,
        height: int,
        findings: Iterable[FindingParts],
    ) -> None:
        self.sides = dict(sides)
        self.roles = dict(roles)
        self.names = dict(names)
        self.protocol = protocol
        self.test_rows = test_rows
        self.height = height
        self._is_part = False
        self._facts = tuple(facts)
        self._known = f"known facts {known}"
        self._findings = tuple(findings)
        vars(self).update(self.sides)

    @cached_property
    def _origin(self) -> Origin:
        """What ranks say of this task, by which their units are told from others."""
        queries = 0
        if self._numbers_queries:
            for side in self.sides.values():
                queries = max(queries, 1 + int(side.labels["queries"].codes.max(initial=-1)))
        rows = 1 + int(self.test_rows.max(initial=-1))
        fingerprint = fingerprint_of([(self.test_rows, None), *self._facts])
        # What is called by name, and how many entities there are: numbers of others mean others.
        order = {id(names): names for role, names in self.names.items() if role != "query"}
        digests = digest_of_names(order.values()), self._known
        return Origin(fingerprint, rows, len(self.test_rows), queries, digests)

    def _vocabulary(self, side: str) -> Vocabulary:
        """Return what elements name in the columns of a side."""
        return self.names[self.roles[side][-1]]

    def _ids_of_keys(
        self, side: str, argument: str, columns: Sequence[Any], *, is_text: bool = False
    ) -> IntArray:
        """Return the ids of keys of a side, which name nothing where the task has no such label."""
        roles = self.roles[side][:-1]
        expected = f"labels or ids as keys ({', '.join(roles)})"
        ids = [
            self.names[role].find(argument, read_elements(argument, x, expected), is_text=is_text)
            for role, x in zip(roles, columns, strict=True)
        ]
        return np.stack(ids, axis=1)

    def _ids_of_listed(self, side: str, named: Lists, title: str, names: Any) -> IntArray:
        """Return the ids of some of the names that lists of a side have."""
        return self._vocabulary(side).ids_of(title, names, is_text=bool(named.path))

    def _findings_of_lists(
        self, ranks: Ranks, lists: CandidateLists, rows: IntArray
    ) -> list[reporting.Finding]:
        """Return what of lists does not count, or is short; `rows` are those of the ranks."""
        return []

    def _key_of(self, side: str, query: int) -> Any:
        """Return the key of a query of a side by its labels; one alone is no tuple."""
        ids = self.sides[side].query_ids[query].tolist()
        roles = self.roles[side][:-1]
        key = tuple(self.names[role].label_of(i) for role, i in zip(roles, ids, strict=True))
        return key if len(key) > 1 else key[0]

    def _rows_by_place(self, side: str) -> tuple[IntArray, int, str, Axis]:
        """Return the row of each task, the number of rows, what a row is for, and their labels."""
        rows = self.sides[side].units  # A user hands over a row for each unit.
        if self._is_part:
            rows = look_up(self.test_rows, rows)[1]
        return rows, self.height, self._row_noun, self._row_axis

    @property
    def audit(self) -> reporting.Findings:
        """What is worth knowing about the facts before numbers are believed, of the whole task."""
        return reporting.Findings(reporting.Finding(*parts) for parts in self._findings)

    # -- parts -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of units: test triples, pairs, or queries with right answers."""
        return len(self.test_rows)

    def __getitem__(self, index: Any) -> Self:
        """Return a part of the task: some of its units, each with the tasks of all its sides.

        What the parts give joins exactly to what the whole gives: ``task[p::n]`` is evaluated by
        process p of n, and `truerank.concatenate` joins the ranks in the order of the whole,
        whatever the order of the parts. An empty part asks nobody. Units, labels, protocol and
        sampled negatives are those of the whole; nothing is drawn or warned of again.

        Parameters
        ----------
        index : slice, or array_like of int, shape (k,)
            The units by position. The part has them in this order. None at all make an empty part.

        Returns
        -------
        Task
            Of the same class. Callables are asked for the queries of the part only. Matrices and
            vectors of queries have the rows of its units, in their order, as ``store[p::n]`` of
            `open_scores` has; or all rows of the whole, where it is longer; or those that
            ``row_queries`` names, which may be rows of other parts, too, as lists by name may.
            In alignment, matrices and vectors are those of both graphs as a whole. `audit` is that
            of the whole.

        Raises
        ------
        TypeError
            For another index, such as a mask of booleans or a single position.
        ValueError
            For a unit that comes twice.
        IndexError
            For a position out of range.

        Examples
        --------
        >>> import numpy as np, truerank
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
        >>> def model(queries):
        ...     return np.random.default_rng(0).random((3, 3))[queries[:, 0]]
        >>> ranks = [task[p::2].evaluate(model).ranks for p in (1, 0)]
        >>> truerank.concatenate(ranks) == task.evaluate(model).ranks
        True
        """
        positions = _chosen_positions(len(self), index)
        origin = self._origin
        part = copy.copy(self)  # It has no reference to the whole, so that a part is cheap to send.
        part._facts = ()
        part._origin = origin
        part._is_part = True
        part.test_rows = self.test_rows[positions]
        height = self._row_axis.height or self.height
        part._row_axis = Axis(self._row_axis.whole, "task.row_labels", part.test_rows, height)
        part._row_noun = "query of the part"
        part.height = len(positions)
        part.sides = {name: side.part(part.test_rows) for name, side in self.sides.items()}
        vars(part).update(part.sides)
        part._become_part(self, positions)
        return part

    @property
    def row_labels(self) -> tuple[str, ...] | tuple[int, ...] | None:
        """What the index of a frame with a row for each unit has: of a part, those of its units.

        None: the rows are numbered 0, 1, 2, ...

        Examples
        --------
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
        >>> task.row_labels, task[[2, 0]].row_labels
        (None, (2, 0))
        """
        return self._row_axis.labels

    def _become_part(self, source: Self, positions: IntArray) -> None:
        """Make what a protocol keeps beside its sides that of some units of the source.

        `self` is a copy of the source, whose sides are those of the part already.
        """


def _chosen_positions(number: int, index: Any) -> IntArray:
    """Return the positions of some of the units, in the order of an index, which names none twice.

    Examples
    --------
    >>> _chosen_positions(4, slice(1, None, 2))
    array([1, 3])
    >>> _chosen_positions(4, [2, -4])
    array([2, 0])
    """
    if isinstance(index, slice):
        return np.arange(number)[index]
    expected = "a slice or positions of triples, pairs or queries, as task[0::4] or task[[7, 3]]"
    is_one = isinstance(index, (str, bytes, int, np.integer)) or not is_iterable(index)
    if is_one or isinstance(index, Mapping) or np.asarray(index).dtype.kind == "b":
        raise InputTypeError("index", expected=expected, got=repr(index))
    indices = index_array("index", index)
    check_shape("index", indices.shape, 1, expected)
    is_outside = (indices < -number) | (indices >= number)
    if is_outside.any():
        first = indices[is_outside][0]
        raise IndexError(f"index: {first} is out of range for a task of length {number:,}")
    positions = np.where(indices < 0, indices + number, indices)
    counts = np.bincount(positions, minlength=number)
    if len(positions) and counts.max() > 1:
        again = int(np.flatnonzero(positions == counts.argmax())[1])
        got = f"{indices[again]} again at position {again}"
        raise InputValueError("index", expected="each position at most once", got=got)
    return positions


def fingerprint_of(columns: Iterable[tuple[IntArray, Any]]) -> str:
    """Return the first 16 hex digits of the SHA-256 of facts, by what their elements are called.

    Parameters
    ----------
    columns : iterable of (ndarray of int64, names)
        The ids of each column of the facts, and the names of the ids; None: ids are what they are.

    Examples
    --------
    >>> one = fingerprint_of([(np.array([0, 1, 0]), ("a", "b"))])
    >>> one == fingerprint_of([(np.array([1, 0, 1]), ("b", "a"))])
    True
    >>> one == fingerprint_of([(np.array([0, 1, 0]), None)])
    False
    """
    import hashlib

    sha = hashlib.sha256()
    for ids, names in columns:
        numbers = ids
        if names is not None:
            codes = codes_of(ids)
            first = codes.first()
            order = np.argsort(first)  # The names are in the order in which they come.
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            numbers = place[codes.codes]
            kind = {type(name).__name__ for name in names[:1]}
            words = [str(names[i]) for i in ids[first[order]].tolist()]
            lengths = " ".join(map(str, map(len, words)))  # Names may have any characters.
            text = f"{kind} {lengths}\n{''.join(words)}"
            sha.update(text.encode("utf-8", "surrogatepass"))
        sha.update(f"{len(numbers)}".encode())
        sha.update(np.ascontiguousarray(numbers, np.int64).data)
    return sha.hexdigest()[:16]


def digest_of_names(vocabularies: Iterable[Vocabulary]) -> str:
    """Return how many entities there are, and a digest of all names in their order.

    Examples
    --------
    >>> from truerank.records.vocabularies import Vocabulary
    >>> digest_of_names([Vocabulary(3, None), Vocabulary(2, None, "relations")])
    '3 entities'
    """
    named = [(np.arange(each.size), each.names) for each in vocabularies if each.names]
    of_entities = [each for each in vocabularies if each.of in ("entities", "left", "right")]
    text = ", ".join(f"{each.size:,} {each.of}" for each in of_entities)
    return f"{text} by name ({fingerprint_of(named)})" if named else text
