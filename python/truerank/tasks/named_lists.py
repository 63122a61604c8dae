"""Lists of scored candidates with names, their right answers, and the ranks of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.lists import rank_lists
from ..inputs.arrays import read_only
from ..inputs.checks import distinct_names, flag, integer, is_integer, is_number, several
from ..inputs.errors import (
    InputError,
    InputTypeError,
    InputValueError,
    UnknownKeyError,
    warn_user,
)
from ..inputs.naming import public
from ..inputs.rules import ListOptions, with_options
from ..inputs.selection import indptr_of
from ..ranks.container import Ranks
from .vocabularies import LabelIndex, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_LISTS = (Mapping, Sequence, np.ndarray)


def without_ranx(value: Any) -> Any:
    """Return the dicts of a Qrels or Run of ranx; anything else stays as it is.

    Examples
    --------
    >>> without_ranx({"q1": {"d3": 0.5}})
    {'q1': {'d3': 0.5}}
    """
    return value.to_dict() if type(value).__module__.startswith("ranx.") else value


@public("truerank")
@dataclass(eq=False, repr=False)
class Qrels:
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

    def __post_init__(self) -> None:
        self.relevance = read_only(np.array(self.relevance, np.int64))

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
        pairs: dict[tuple[str, str], int] = {}
        for query, judged in value.items():
            gains = {judged: 1} if isinstance(judged, str) else judged
            if not isinstance(gains, Mapping):
                gains = dict.fromkeys(several("answers", gains, "names for each query"), 1)
            for document, grade in gains.items():
                expected = "integers as relevance"
                pairs[str(query), str(document)] = integer("answers", grade, expected=expected)
        return cls.of_pairs(pairs)

    @classmethod
    def of_pairs(cls, pairs: Mapping[tuple[str, str], int]) -> Qrels:
        """Return the judgements of pairs of a query and a document."""
        queries, documents = zip(*pairs, strict=True) if pairs else ((), ())
        return cls(queries, documents, np.fromiter(pairs.values(), np.int64, len(pairs)))

    def right_answers(self) -> list[tuple[str, str]]:
        """Return the judgements from a relevance of 1 on as (query, document)."""
        rows = zip(self.queries, self.documents, (self.relevance >= 1).tolist(), strict=True)
        return [(query, document) for query, document, is_right in rows if is_right]


@public("truerank")
@dataclass(eq=False, repr=False)
class NamedLists:
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
    scores : ndarray, shape (entries,), or None
        Their scores; None: the order of each list says all.

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
    scores: npt.NDArray[Any] | None

    def __post_init__(self) -> None:
        self.indptr, self.ids = read_only(self.indptr), read_only(self.ids)
        self.scores = None if self.scores is None else read_only(self.scores)

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        entries = f"{len(self.ids):,} entries, {len(self.names):,} names"
        return f"NamedLists({len(self):,} lists, {entries})"

    def __getitem__(self, query: str) -> dict[str, Any]:
        """Return the scores of a query's list by name, in the order of the list."""
        if query not in self.queries:
            raise UnknownKeyError(repr(query), "no list of this query")
        i = self.queries.index(query)
        span = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        names = [self.names[code] for code in self.ids[span].tolist()]
        scores = [None] * len(names) if self.scores is None else self.scores[span].tolist()
        return dict(zip(names, scores, strict=True))

    @property
    def entries(self) -> tuple[Any, Any]:
        """The ids and the scores of all lists, as `rank_lists` takes them."""
        scores = None if self.scores is None else (self.scores, self.indptr)
        return (self.ids, self.indptr), scores

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
        known : Qrels, mapping, or list of these, optional
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
            For other forms, for fewer candidates than there are names, and for lists of other
            queries alone. As `rank_lists` does.

        Warns
        -----
        UserWarning
            If less than half of the queries with right answers have a list.

        Examples
        --------
        >>> lists = NamedLists(
        ...     ("q1",), ("d7", "d3"), np.array([0, 2]), np.array([0, 1]), np.array([2.5, 1.5])
        ... )
        >>> ranks = lists.rank({"q1": ["d3", "d9"]}, candidates=100)
        >>> ranks.optimistic, ranks.pessimistic
        (array([2, 3]), array([  2, 100]))
        """
        right = Qrels.of(answers).right_answers()
        asked, index = LabelIndex(), LabelIndex()
        unit = asked.encode([query for query, _ in right])
        places = Vocabulary(len(self), self.queries).codes_of(tuple(asked.codes))
        check_listed("answers", self.queries, tuple(asked.codes), int((places >= 0).sum()))
        rows = np.where(places < 0, len(self), places)[unit]  # after all lists, an empty one
        if is_integer(candidates):
            size = integer("candidates", candidates, least=0)
        else:
            names = distinct_names("candidates", candidates, "their number, or their names")
            size = len(index.encode(names))
        ids = index.encode(self.names)[self.ids]
        targets = index.encode([name for _, name in right])
        parts = known if isinstance(known, list) else [{} if known is None else known]
        more = chain.from_iterable(Qrels.of(part).right_answers() for part in parts)
        left_out = [pair for pair in more if pair[0] in asked.codes]
        left_out += right if flag("filtered", filtered) else []
        queries = asked.encode([query for query, _ in left_out])
        others = index.encode([name for _, name in left_out])
        if size < len(index.codes):
            expected = f"at least {len(index.codes)}, as many names occur"
            got = f"{size}, without {list(index.codes)[size]!r}"
            raise InputValueError("candidates", expected=expected, got=got)
        lengths = np.bincount(queries, minlength=len(asked.codes))
        without = indptr_of(lengths), others[np.argsort(queries, kind="stable")], unit
        indptr = np.append(self.indptr, self.indptr[-1])
        ranks = rank_lists(
            (ids, indptr),
            None if self.scores is None else (self.scores, indptr),
            targets,
            candidates=size,
            rows=rows,
            filter=without if filtered or known is not None else None,
            **options,
        )
        splits = [split or "test"] * filtered + ["known"] * (known is not None)
        asking, named = [query for query, _ in right], [name for _, name in right]
        labelled = ranks.with_labels(queries=asking, targets=named, unit=unit)
        return labelled.with_protocol(filter=splits, split=split)


def first_repeat(indptr: IntArray, ids: npt.NDArray[Any], size: int) -> int | None:
    """Return the first position of ids below `size` whose list has the id already, if any.

    Examples
    --------
    >>> first_repeat(np.array([0, 2]), np.array([0, 0]), 1)
    1
    """
    none = np.zeros(0, np.int64)
    fault, _ = _core.find_listed(_core.Selection(indptr, ids), size, none, none, None, 0)
    return None if fault is None else int(fault[0])


def lists_of_mapping(argument: str, lists: Mapping[Any, Any]) -> NamedLists:
    """Read ``{query: {name: score}}``, or ``{query: [names]}`` in order alone.

    Examples
    --------
    >>> lists_of_mapping("ids", {"q1": ["d7", "d3"]})["q1"]
    {'d7': None, 'd3': None}
    """

    return lists_of_rows(argument, (("", str(query), listed) for query, listed in lists.items()))


def lists_of_rows(
    argument: str, rows: Iterable[tuple[str, str | None, Any]], file: str = "", dtype: Any = None
) -> NamedLists:
    """Join the lists of queries, all with scores or all in order alone.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    rows : iterable of (str, str or None, mapping or sequence)
        For each list where it stands, its query (None: its number), and ``{name: score}`` or names.
    file : str, optional
        The file that has them.
    dtype : dtype, optional
        That of the scores. Default: as numpy has them.
    """
    queries: dict[str, None] = {}
    index, is_scored = LabelIndex(), True
    ids: list[IntArray] = []
    scores: list[npt.NDArray[Any]] = []

    def error(where: str, problem: str) -> InputError:
        is_wrong_type = problem.startswith("expected") and not file
        error_type = InputTypeError if is_wrong_type else InputValueError
        return error_type(argument, f"{where}: {problem}" if where else problem, place=file)

    for where, query, listed in rows:
        key = str(len(queries)) if query is None else query
        if key in queries:
            raise error(where, f"the query {key!r} has a list already")
        if isinstance(listed, (str, bytes, Set)) or not isinstance(listed, _LISTS):
            expected = "a mapping of names to scores, or a list of names, for each query"
            raise error(where, f"expected {expected}, got {type(listed).__name__} for {key!r}")
        values = list(listed.values()) if isinstance(listed, Mapping) else None
        if queries and is_scored != (values is not None):
            raise error(where, "expected scores for all queries, or for none")
        names, is_scored = list(map(str, listed)), values is not None
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise error(where, f"the list of {key!r} has {twice!r} twice")
        queries[key] = None
        ids.append(index.encode(names))
        if wrong := [value for value in values or () if not is_number(value)]:
            raise error(where, f"expected numbers as the scores of {key!r}, got {wrong[0]!r}")
        try:
            scores.append(np.array(values or [], dtype))
        except OverflowError:
            raise error(where, "an integer is too large for a score") from None
    indptr = indptr_of(list(map(len, ids)))
    filled = [part for part in scores if len(part)] or [np.zeros(0)]
    joined = np.concatenate(filled) if is_scored else None
    if joined is not None and joined.dtype == object:
        raise error("", "expected scores that fit into 64 bits")
    every = np.concatenate([*ids, np.zeros(0, np.int64)])
    return NamedLists(tuple(queries), tuple(index.codes), indptr, every, joined)


def check_listed(
    argument: str, listed: Sequence[str], asked: Sequence[object], common: int
) -> None:
    """Refuse lists of other queries than those with right answers; warn where these miss most."""
    if listed and asked and not common:
        some, others = (", ".join(map(repr, names[:3])) for names in (asked, listed))
        problem = f"no query in common: right answers are of {some}, ..., lists of {others}, ..."
        raise InputValueError(argument, problem)
    if 2 * common < len(asked):
        has = f"{common:,} of {len(asked):,} queries with right answers have a list"
        warn_user(f"{argument}: only {has}; the others count as if theirs were empty")
