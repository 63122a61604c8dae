"""Lists of scored candidates with names, their right answers, and the ranks of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.lists import rank_lists
from ..inputs.arrays import ReadOnlyArrays, read_only
from ..inputs.checks import flag, integer, is_integer
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import public
from ..inputs.rules import ListOptions, with_options
from ..inputs.selection import indptr_of
from ..ranks.container import Ranks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray


def without_ranx(value: Any) -> Any:
    """Return the dicts of a Qrels or Run of ranx; anything else stays as it is.

    Examples
    --------
    >>> without_ranx({"q1": {"d3": 0.5}})
    {'q1': {'d3': 0.5}}
    """
    return value.to_dict() if type(value).__module__.startswith("ranx.") else value


@public("truerank")
class Qrels(ReadOnlyArrays):
    """Judgements: the relevance of documents for queries, one document for one query each.

    Parameters
    ----------
    queries, documents : tuple of str
        The query and the document of each judgement.
    relevance : ndarray of int64, shape (n,)
        A document is relevant from 1 on.

    Examples
    --------
    >>> Qrels(("q1", "q1"), ("d3", "d9"), np.array([1, 0]))
    Qrels(2 judgements of 1 queries, 1 relevant)
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevance: IntArray

    def __init__(
        self, queries: tuple[str, ...], documents: tuple[str, ...], relevance: IntArray
    ) -> None:
        self.queries = queries
        self.documents = documents
        self.relevance = read_only(np.array(relevance, np.int64))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        relevant = int(np.count_nonzero(self.relevance >= 1))
        return (
            f"Qrels({len(self):,} judgements of {len(set(self.queries)):,} queries, "
            f"{relevant:,} relevant)"
        )

    @classmethod
    def of(cls, value: Any) -> Qrels:
        """Read judgements in any of the forms that `NamedLists.rank` takes.

        Examples
        --------
        >>> Qrels.of({"q1": {"d3": 1, "d9": 0}, "q2": ["d3"]})
        Qrels(3 judgements of 2 queries, 2 relevant)
        """
        if isinstance(value, Qrels):
            return value
        if not isinstance(value, Mapping):
            expected = "Qrels, or a mapping of queries to answers"
            raise InputTypeError("answers", expected=expected, got=type(value).__name__)
        queries: list[str] = []
        documents: list[str] = []
        relevance: list[int] = []
        for query, judged in value.items():
            found = {judged: 1} if isinstance(judged, str) else judged
            if not isinstance(found, Mapping):
                found = dict.fromkeys(found, 1)
            for document, grade in found.items():
                queries.append(str(query))
                documents.append(str(document))
                relevance.append(integer("answers", grade, expected="integers as relevance"))
        return cls(tuple(queries), tuple(documents), np.array(relevance, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Qrels]) -> Qrels:
        """Join judgements of several files.

        Examples
        --------
        >>> Qrels.joined([Qrels.of({"q1": ["d3"]}), Qrels.of({"q2": ["d3"]})])
        Qrels(2 judgements of 2 queries, 2 relevant)
        """
        queries = tuple(query for part in parts for query in part.queries)
        documents = tuple(document for part in parts for document in part.documents)
        relevance = np.concatenate([np.zeros(0, np.int64), *(part.relevance for part in parts)])
        return cls(queries, documents, relevance)


@public("truerank")
class NamedLists(ReadOnlyArrays):
    """Lists of scored candidates by name, one for each query.

    Parameters
    ----------
    queries : tuple of str, shape (lists,)
        The name of each list's query.
    names : tuple of str
        The names of the candidates that occur; a candidate's id is its position.
    indptr : ndarray of int64, shape (lists + 1,)
        List i has the entries ``indptr[i]:indptr[i + 1]``.
    ids : ndarray of int, shape (entries,)
        The candidates, as ids.
    scores : ndarray of float64, shape (entries,)
        Their scores.

    Examples
    --------
    >>> lists = NamedLists(
    ...     ("q1", "q2"), ("d7", "d3"), np.array([0, 2, 3]), np.array([0, 1, 1]), np.ones(3)
    ... )
    >>> lists["q2"]
    {'d3': 1.0}
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: FloatArray

    def __init__(
        self,
        queries: tuple[str, ...],
        names: tuple[str, ...],
        indptr: IntArray,
        ids: npt.NDArray[Any],
        scores: FloatArray,
    ) -> None:
        self.queries, self.names = queries, names
        self.indptr, self.ids, self.scores = map(read_only, (indptr, ids, scores))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        entries = f"{len(self.ids):,} entries, {len(self.names):,} names"
        return f"NamedLists({len(self):,} lists, {entries})"

    def __getitem__(self, query: str) -> dict[str, float]:
        """Return the scores of a query's list by name, in the order of the list."""
        if query not in self.queries:
            raise UnknownKeyError(repr(query), "no list of this query")
        i = self.queries.index(query)
        span = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        found = (self.names[code] for code in self.ids[span].tolist())
        return dict(zip(found, self.scores[span].tolist(), strict=True))

    def first_repeat(self) -> int | None:
        """Return the first position of the ids whose list has the id already; None: there is none.

        Examples
        --------
        >>> twice = np.array([0, 0])
        >>> NamedLists(("q",), ("d",), np.array([0, 2]), twice, np.ones(2)).first_repeat()
        1
        """
        none = np.zeros(0, np.int64)
        lists = _core.Selection(self.indptr, self.ids)
        fault, _ = _core.find_listed(lists, len(self.names), none, none, None, 0)
        return None if fault is None else fault[0]

    @with_options(ListOptions)
    def rank(
        self,
        answers: Any,
        *,
        candidates: int | Sequence[str],
        filtered: bool = False,
        known: Any = None,
        split: str | None = None,
        **options: Unpack[ListOptions],
    ) -> Ranks:
        """Rank every right answer of every query among all candidates, as `rank_lists` does.

        Parameters
        ----------
        answers : Qrels, or mapping
            Judgements, of which those of a relevance from 1 on are right answers; or a mapping of
            queries to ``{name: relevance}``, to several names or to a name. Each right answer is a
            task. A query without a list has an empty one; lists of other queries are not used.
        candidates : int or sequence of str
            The number of candidates in all, or their names, among which all others must be.
        filtered : bool
            Whether the other right answers of a query are left out.
        known : Qrels or mapping, optional
            More right answers, such as those of training, that are left out of each query.
        split : str, optional
            The evaluated split, for the protocol.
        order, nan, dtype, threads, progress
            As in `rank_lists`.

        Returns
        -------
        Ranks
            With the labels `queries` and `targets`, by name, and `unit`, the number of the query.

        Raises
        ------
        TypeError, ValueError
            For other forms, and for fewer candidates than there are names. As `rank_lists` does.

        Examples
        --------
        >>> lists = NamedLists(
        ...     ("q1",), ("d7", "d3"), np.array([0, 2]), np.array([0, 1]), np.array([2.5, 1.5])
        ... )
        >>> ranks = lists.rank({"q1": ["d3", "d9"]}, candidates=100)
        >>> ranks.optimistic, ranks.pessimistic
        (array([2, 3]), array([  2, 100]))
        """
        judged = Qrels.of(answers)
        codes = _Codes(self.names, candidates)
        places = {query: i for i, query in enumerate(self.queries)}
        tasks = np.flatnonzero(judged.relevance >= 1).tolist()
        absent = len(self)  # the number of an empty list
        rows = [places.get(judged.queries[i], absent) for i in tasks]
        targets = [codes[judged.documents[i]] for i in tasks]
        queries = [judged.queries[i] for i in tasks]
        left_out: dict[str, list[int]] = {query: [] for query in queries}
        if flag("filtered", filtered):
            for query, target in zip(queries, targets, strict=True):
                left_out[query].append(target)
        more = Qrels.of({} if known is None else known)
        grades = more.relevance.tolist()
        for query, name, grade in zip(more.queries, more.documents, grades, strict=True):
            if grade >= 1 and query in left_out:
                left_out[query].append(codes[name])
        indptr = np.append(self.indptr, self.indptr[-1])
        numbers = {query: i for i, query in enumerate(left_out)}
        unit = np.array([numbers[query] for query in queries], np.int64)
        codes_left_out = np.array(list(chain.from_iterable(left_out.values())), np.int64)
        selection = indptr_of(list(map(len, left_out.values()))), codes_left_out, unit
        is_filtered = filtered or known is not None
        ranks = rank_lists(
            (codes.of_lists(self.ids), indptr),
            (self.scores, indptr),
            np.array(targets, np.int64),
            candidates=codes.count(),
            rows=np.array(rows, np.int64),
            filter=selection if is_filtered else None,
            **options,
        )
        names = [split or "test"] * filtered + ["known"] * (known is not None)
        documents = [judged.documents[i] for i in tasks]
        labelled = ranks.with_labels(queries=queries, targets=documents, unit=unit)
        return labelled.with_protocol(filter=names, split=split)


class _Codes:
    """The ids of names: those of lists, then others as they come; or those of all candidates."""

    def __init__(self, names: Sequence[str], candidates: int | Sequence[str]) -> None:
        self._given: int | None = None
        if is_integer(candidates):
            self._given = integer("candidates", candidates, least=0)
            self._codes = {name: i for i, name in enumerate(names)}
        elif isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes):
            listed = list(candidates)
            self._codes = {str(name): i for i, name in enumerate(listed)}
            if len(self._codes) < len(listed):
                raise InputValueError("candidates", expected="distinct names", got="repeats")
        else:
            expected = "the number of candidates, or their names"
            raise InputTypeError("candidates", expected=expected, got=type(candidates).__name__)
        self._table: IntArray | None = None
        if self._given is None:
            self._table = np.array([self[name] for name in names], np.int64)

    def of_lists(self, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the ids of what lists have: their own, or those among all candidates."""
        return ids if self._table is None else self._table[ids]

    def __getitem__(self, name: str) -> int:
        code = self._codes.get(name)
        if code is None:
            if self._given is None:
                raise InputValueError("candidates", f"{name!r} is not among them")
            code = self._codes[name] = len(self._codes)
        return code

    def count(self) -> int:
        """Return the number of candidates, which must not be below that of names."""
        if self._given is None or self._given >= len(self._codes):
            return len(self._codes) if self._given is None else self._given
        expected = f"at least {len(self._codes)}, as many names occur"
        raise InputValueError("candidates", expected=expected, got=self._given)
