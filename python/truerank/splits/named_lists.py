"""Lists of scored candidates with names, their right answers, the ranks of these; their files.

The files are TREC runs, qrels and JSON.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import _core
from ..counting.lists import rank_lists
from ..inputs.arrays import read_only
from ..inputs.checks import flag, instance, integer, is_integer, is_number, mapping, several
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError, warn_user
from ..inputs.input_files import path_name
from ..inputs.naming import public
from ..inputs.rules import ListOptions, with_options
from ..inputs.scores import exact_array, exact_number, first_rounded
from ..inputs.selection import indptr_of
from ..ranks.container import Ranks
from ..ranks.labels import GAIN, WITHOUT_ANSWERS, Labels
from .elements import is_integer_type, read_elements
from .grades import first_task_counts, gain_labels, with_judged
from .text import line_of, text_blocks, text_lines
from .vocabularies import LabelIndex, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..inputs.progress_listeners import Listener, Progress

    Name = Any  # a str or an int
    Names = tuple[Any, ...]  # all str, or all int


_MARK = "\ufeff"  # the byte order mark


def without_ranx(value: Any) -> Any:
    """Return the dicts of a Qrels or Run of ranx; anything else stays as it is.

    Examples
    --------
    >>> without_ranx({"q1": {"d3": 0.5}})
    {'q1': {'d3': 0.5}}
    """
    return value.to_dict() if type(value).__module__.startswith("ranx.") else value


def checked_names(argument: str, values: Any) -> Names:
    """Return names, which are all str or all int, as they came.

    Examples
    --------
    >>> checked_names("queries", np.array([3, 1])), checked_names("queries", ["3", "1"])
    ((3, 1), ('3', '1'))
    """
    elements = read_elements(argument, values, "names that are str or int")
    if isinstance(elements, np.ndarray):
        return tuple(elements.tolist())
    return tuple(map(str, elements))


def refuse_repeated(argument: str, names: Names) -> None:
    """Refuse a name that occurs twice."""
    if len(set(names)) < len(names):
        repeated = next(name for name, number in Counter(names).items() if number > 1)
        raise InputValueError(argument, f"{repeated!r} occurs twice")


def same_kind(argument: str, names: Sequence[Name], others: Sequence[Name]) -> None:
    """Refuse names that are int beside names that are str.

    Examples
    --------
    >>> same_kind("answers", [1, 2], ["1", "2"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.inputs.errors.InputTypeError: answers: expected names that are str, as '1' ...
    """
    if not names or not others or isinstance(names[0], str) == isinstance(others[0], str):
        return
    kind, way = "str", "str(...)"
    if isinstance(names[0], str):
        kind, way = "int", "int(...)"
    expected = f"names that are {kind}, as {others[0]!r} of the lists ({way} makes them)"
    raise InputTypeError(argument, expected=expected, got=repr(names[0]))


@public("truerank")
@dataclass(eq=False, repr=False)
class Qrels:
    """Judgements: the relevance of documents for queries, one document for one query each.

    Parameters
    ----------
    queries, documents : tuple of str, or of int
        The query and the document of each judgement. All queries are of one type, and all
        documents.
    relevance : ndarray of int64, shape (n,)
        A document is relevant from 1 on.
    is_text : bool
        Whether the names are from a file, where 7 has no type: such names are also read by
        vocabularies of int, which take no str.

    Raises
    ------
    TypeError
        For names that are neither str nor int, or some of them str and others int.

    Examples
    --------
    >>> Qrels(("q1", "q1"), ("d3", "d9"), np.array([1, 0]))
    Qrels(2 judgements of 1 queries, 1 relevant)
    """

    queries: Names
    documents: Names
    relevance: IntArray
    is_text: bool = False

    def __post_init__(self) -> None:
        if not self.is_text:
            self.queries = checked_names("queries", self.queries)
            self.documents = checked_names("documents", self.documents)
        self.relevance = read_only(np.array(self.relevance, np.int64))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        judged = f"{len(self):,} judgements of {len(set(self.queries)):,} queries"
        return f"Qrels({judged}, {np.count_nonzero(self.relevance >= 1):,} relevant)"

    @classmethod
    def of(cls, value: Any, argument: str = "answers") -> Qrels:
        """Read judgements in any of the forms that `NamedLists.rank` takes.

        Names stay what they are, str or int.

        Examples
        --------
        >>> Qrels.of({"q1": {"d3": 1, "d9": 0}, "q2": ["d3"]})
        Qrels(3 judgements of 2 queries, 2 relevant)
        """
        instance("argument", argument, str)
        value = without_ranx(value)
        if isinstance(value, Qrels):
            return value
        answers = mapping(argument, value, "Qrels, or a mapping of queries to answers")
        queries: list[Any] = []
        documents: list[Any] = []
        relevance: list[int] = []
        for query, judged in answers.items():
            gains = {judged: 1} if isinstance(judged, str) or is_integer(judged) else judged
            if not isinstance(gains, Mapping):
                names = several(argument, gains, "names for each query")
                gains = dict.fromkeys(checked_names(argument, names), 1)
            queries += [query] * len(gains)
            documents += gains
            expected = "integers as relevance"
            relevance += [integer(argument, each, expected=expected) for each in gains.values()]
        both = checked_names(argument, queries), checked_names(argument, documents)
        return cls(*both, np.array(relevance, np.int64))

    def of_pairs(self, pairs: Mapping[tuple[Name, Name], int]) -> Qrels:
        """Return judgements of pairs of a query and a document, whose names are of this kind."""
        queries, documents = zip(*pairs, strict=True) if pairs else ((), ())
        relevance = np.fromiter(pairs.values(), np.int64, len(pairs))
        return Qrels._trusted(queries, documents, relevance, self.is_text)

    @classmethod
    def _trusted(
        cls, queries: Names, documents: Names, relevance: IntArray, is_text: bool
    ) -> Qrels:
        """Take over names that were checked before."""
        qrels = cls.__new__(cls)
        columns = {"queries": queries, "documents": documents, "relevance": read_only(relevance)}
        vars(qrels).update(columns, is_text=is_text)
        return qrels

    def pairs(self) -> dict[tuple[Name, Name], int]:
        """Return the relevance of each pair of a query and a document.

        Raises
        ------
        ValueError
            For a pair of two relevances.
        """
        grades = self.relevance.tolist()
        pairs: dict[tuple[Name, Name], int] = dict(
            zip(zip(self.queries, self.documents, strict=True), grades, strict=True)
        )
        if len(pairs) < len(self):
            for query, name, grade in zip(self.queries, self.documents, grades, strict=True):
                other = pairs[query, name]
                if grade != other:
                    got = f"{grade} and {other} for {name!r} of query {query!r}"
                    raise InputValueError("answers", expected="one relevance for a pair", got=got)
        return pairs

    def right_answers(self) -> Qrels:
        """Return the judgements from a relevance of 1 on, each pair once."""
        return self.of_pairs({pair: grade for pair, grade in self.pairs().items() if grade >= 1})

    def not_right(self, queries: Iterable[Name], left_out: Qrels) -> Qrels:
        """Return the judgements below 1 of some queries, without pairs that are left out."""
        asked, others = {*queries}, left_out.pairs()
        judged = {
            pair: grade
            for pair, grade in self.pairs().items()
            if grade < 1 and pair[0] in asked and pair not in others
        }
        return self.of_pairs(judged)


class ListUse(NamedTuple):
    """Which lists belong to the queries that have right answers.

    Attributes
    ----------
    rows : ndarray of int64, shape (q,)
        The list of each query; the number of lists, for an empty one, where it has none.
    missing : tuple of str or int
        The queries without a list.
    unused : tuple of str or int
        The queries of lists that belong to none.
    """

    rows: IntArray
    missing: Names
    unused: Names

    def warn(self, argument: str) -> None:
        """Warn of queries without a list, and of unused lists whose names look like theirs."""
        if not self.missing:
            return
        text = (
            f"{len(self.missing):,} of {len(self.rows):,} queries with right answers have no list "
            f"({first_names(self.missing)}), and count as if theirs were empty"
        )
        alike = _pairs_alike(self.missing, self.unused)
        if alike:
            pairs = ", ".join(f"{other!r} for {name!r}" for name, other in alike[:3])
            text += f"; there are lists of names that differ only in blanks or case: {pairs}"
        warn_user(f"{argument}: {text}")


def lists_in_use(
    argument: str,
    listed: Names,
    places: IntArray,
    asked: Sequence[Name],
    *,
    are_known: npt.NDArray[np.bool_] | None = None,
    elsewhere: npt.NDArray[np.bool_] | None = None,
) -> ListUse:
    """Give each query that has right answers its list, and say what is left over.

    Parameters
    ----------
    argument : str
    listed : tuple of str or int, length m
        The queries of the lists.
    places : ndarray of int64, shape (m,)
        Their positions among those with right answers; -1: it has none, or is another query.
    asked : sequence of str or int, length q
        The queries with right answers.
    are_known : ndarray of bool, shape (m,), optional
        Whether their query belongs to the task, with right answers or without. Default: where
        `places` says so.
    elsewhere : ndarray of bool, shape (m,), optional
        Which lists another part of a task uses. Default: none.

    Raises
    ------
    ValueError
        For lists of other queries alone.

    Examples
    --------
    >>> lists_in_use("ids", ("q9", "q2"), np.array([-1, 0]), ["q2"])
    ListUse(rows=array([1]), missing=(), unused=('q9',))
    """
    is_used = places >= 0
    rows = np.full(len(asked), len(listed))
    rows[places[is_used]] = np.flatnonzero(is_used)
    missing = tuple(asked[i] for i in np.flatnonzero(rows == len(listed)).tolist())
    is_left_over = ~is_used
    if elsewhere is not None:
        is_left_over &= ~elsewhere
    unused = tuple(listed[i] for i in np.flatnonzero(is_left_over).tolist())
    if are_known is None:
        are_known = is_used
    if listed and asked and not are_known.any():
        some, others = (", ".join(map(repr, names[:3])) for names in (asked, listed))
        problem = f"no query in common: right answers are of {some}, ..., lists of {others}"
        raise InputValueError(argument, f"{problem}, ...")
    return ListUse(rows, missing, unused)


def first_names(names: Sequence[Name]) -> str:
    """Return the first three names, for messages.

    Examples
    --------
    >>> first_names(["q1", "q2", "q3", "q4"]), first_names([7])
    ("'q1', 'q2', 'q3', ...", '7')
    """
    shown = list(map(repr, names[:3]))
    if len(names) > len(shown):
        shown.append("...")
    return ", ".join(shown)


def _pairs_alike(missing: Names, unused: Names) -> list[tuple[Name, Name]]:
    """Return names without a list, each with one of an unused list that looks like it."""
    bare = {str(name).strip().casefold(): name for name in unused}
    pairs = []
    for name in missing:
        other = bare.get(str(name).strip().casefold())
        if other is not None:
            pairs.append((name, other))
    return pairs


@public("truerank")
@dataclass(eq=False, repr=False)
class NamedLists(Mapping[Any, dict[Any, Any]]):
    """Lists of scored candidates by name: a mapping of each query to ``{name: score}``.

    Parameters
    ----------
    queries : tuple of str or int, shape (lists,)
        The name of each list's query, each once and all of one type.
    names : tuple of str or int
        The names of the candidates that occur, all of one type; a candidate's id is its position.
    indptr : ndarray of int64, shape (lists + 1,)
        List i has the entries ``indptr[i]:indptr[i + 1]``.
    ids : ndarray of int, shape (entries,)
        The candidates, as ids.
    scores : ndarray, shape (entries,), or None
        Their scores; None: the order of each list says all.
    is_text : bool
        Whether the names are from a file, as in `Qrels`.

    Raises
    ------
    TypeError
        For names that are neither str nor int, or some of them str and others int.
    ValueError
        For a query that has two lists, and a name that occurs twice.

    Examples
    --------
    >>> lists = NamedLists(
    ...     ("q1", "q2"), ("d7", "d3"), np.array([0, 2, 3]), np.array([0, 1, 1]), np.ones(3)
    ... )
    >>> lists["q2"]
    {'d3': 1.0}
    """

    queries: Names
    names: Names
    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any] | None
    is_text: bool = False

    def __post_init__(self) -> None:
        if not self.is_text:
            self.queries = checked_names("queries", self.queries)
            self.names = checked_names("names", self.names)
            refuse_repeated("names", self.names)
        self.indptr, self.ids = read_only(self.indptr), read_only(self.ids)
        self.scores = None if self.scores is None else read_only(self.scores)
        self._rows = dict(zip(self.queries, range(len(self)), strict=True))
        if len(self._rows) < len(self):
            refuse_repeated("queries", self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.queries)

    def __repr__(self) -> str:
        entries = f"{len(self.ids):,} entries, {len(self.names):,} names"
        return f"NamedLists({len(self):,} lists, {entries})"

    def __getitem__(self, query: Name) -> dict[Any, Any]:
        """Return the scores of a query's list by name, in the order of the list."""
        i = self._rows.get(query, -1)
        if i < 0:
            raise UnknownKeyError(repr(query), "no list of this query")
        span = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        names = [self.names[code] for code in self.ids[span].tolist()]
        scores = [None] * len(names) if self.scores is None else self.scores[span].tolist()
        return dict(zip(names, scores, strict=True))

    @property
    def entries(self) -> tuple[Any, Any]:
        """The ids and the scores of all lists, as `rank_lists` takes them."""
        scores = None if self.scores is None else (self.indptr, self.scores)
        return (self.indptr, self.ids), scores

    @with_options(ListOptions)
    def rank(
        self,
        answers: Any,
        *,
        candidates: int | Sequence[Name],
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
            Names are str or int, as in the lists: none is converted.
        candidates : int or sequence of str or int
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
            With the labels `queries` and `targets`, by name, and `unit`, the number of the query;
            "gain", the relevance, where it is not 1 for all; and, unless `filtered`, where the
            other judged documents of a query are: what `truerank.retrieval.report` needs for ndcg
            and bpref. The number of queries without a right answer is in the labels, too.

        Raises
        ------
        TypeError, ValueError
            For other forms, names that are str where those of the lists are int or the reverse,
            fewer candidates than there are names, and lists of other queries alone. As `rank_lists`
            does.

        Warns
        -----
        UserWarning
            If queries with right answers have no list; it names the first three.

        Examples
        --------
        >>> lists = NamedLists(
        ...     ("q1",), ("d7", "d3"), np.array([0, 2]), np.array([0, 1]), np.array([2.5, 1.5])
        ... )
        >>> ranks = lists.rank({"q1": ["d3", "d9"]}, candidates=100)
        >>> ranks.optimistic, ranks.pessimistic
        (array([2, 3]), array([  2, 100]))
        """
        judgements = Qrels.of(answers)
        same_kind("answers", judgements.queries, self.queries)
        same_kind("answers", judgements.documents, self.names)
        right = judgements.right_answers()
        queries = LabelIndex()
        unit = queries.encode(right.queries)
        asked = tuple(queries.codes)
        is_filtered = flag("filtered", filtered)
        left_out = self._left_out(known, right, is_filtered)
        judged = right.of_pairs({})
        if not is_filtered:  # counts of other candidates would say nothing about these
            judged = judgements.not_right(asked, left_out)
        size, index = self._candidates(candidates)
        ids = index.encode(self.names)[self.ids]
        targets = index.encode([*right.documents, *judged.documents])
        others = index.encode(left_out.documents)
        if size < len(index.codes):
            expected = f"at least {len(index.codes)}, as many names occur"
            got = f"{size}, without {list(index.codes)[size]!r}"
            raise InputValueError("candidates", expected=expected, got=got)
        splits = []
        if is_filtered:
            splits.append(split or "test")
        if known is not None:
            splits.append("known")
        query = np.append(unit, queries.encode(judged.queries))
        place_of = dict(zip(asked, range(len(asked)), strict=True))
        selection = None
        if splits:
            of_others = _places(left_out.queries, place_of)
            selection = (*lists_by_query(of_others, others, len(asked)), query)
        use = lists_in_use("answers", self.queries, _places(self.queries, place_of), asked)
        indptr = np.append(self.indptr, self.indptr[-1])
        ranks = rank_lists(
            (indptr, ids),
            None if self.scores is None else (indptr, self.scores),
            targets,
            candidates=size,
            rows=use.rows[query],
            filter=selection,
            **options,
        )
        use.warn("answers")
        ranks = ranks.with_labels(queries=_labels_of_names(asked, query))
        if len(judged):
            ranks = with_judged(ranks, np.arange(len(ranks)) < len(right))
        given = answers if isinstance(answers, Mapping) else judgements.queries
        without = len({*given}) - len(asked)
        ranks = ranks.with_labels(unit=unit, **_labels_of_answers(right, without))
        return ranks.with_protocol(filter=splits, split=split)

    def _candidates(self, candidates: Any) -> tuple[int, LabelIndex]:
        """Return the number of candidates, and an index of their names."""
        index = LabelIndex()
        given = Vocabulary.read("candidates", candidates)
        names: Names = given.names or ()
        same_kind("candidates", names, self.names)
        index.encode(names)
        return given.size, index

    def _left_out(self, known: Any, right: Qrels, is_filtered: bool) -> Qrels:
        """Return the right answers that are left out: known ones, and perhaps those ranked."""
        parts = [] if known is None else [known]
        if isinstance(known, list):
            parts = known
        pairs: dict[tuple[Name, Name], int] = {}
        for part in parts:
            judgements = Qrels.of(part, "known")
            same_kind("known", judgements.queries, self.queries)
            same_kind("known", judgements.documents, self.names)
            pairs |= judgements.right_answers().pairs()
        if is_filtered:
            pairs |= right.pairs()
        return right.of_pairs(pairs)


def _places(names: Sequence[Name], place_of: Mapping[Name, int]) -> IntArray:
    """Return the place of each name, -1 for those without one."""
    return np.fromiter((place_of.get(name, -1) for name in names), np.int64, len(names))


def _labels_of_names(names: Names, codes: IntArray) -> Labels:
    """Return names of tasks as labels: ints are labels themselves."""
    return Vocabulary(len(names), names).labels(codes)


def _labels_of_answers(right: Qrels, without_answers: int) -> dict[str, Any]:
    """Return the targets and gains of right answers, and how many queries have none."""
    labels: dict[str, Any] = {"targets": right.documents}
    if (right.relevance != 1).any():
        labels[GAIN] = gain_labels(right.relevance)
    labels[WITHOUT_ANSWERS] = first_task_counts(without_answers, len(right))
    return labels


def lists_by_query(queries: IntArray, ids: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the ids of each query as (indptr, indices); a query of -1 is none.

    Examples
    --------
    >>> lists_by_query(np.array([1, -1, 0]), np.array([7, 8, 9]), 2)
    (array([0, 1, 2]), array([9, 7]))
    """
    order = np.argsort(queries, kind="stable")[np.count_nonzero(queries < 0) :]
    return indptr_of(np.bincount(queries[order], minlength=number)), ids[order]


def lists_of_rows(
    argument: str, rows: Iterable[tuple[Any, Any]], place: str = "", dtype: Any = None
) -> NamedLists:
    """Join the lists of queries, all with scores or all in order alone.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    rows : iterable of (query, mapping or sequence)
        For each list its query (None: its number), and ``{name: score}`` or names in their order.
    place : str, optional
        The file that has them.
    dtype : dtype, optional
        That of the scores. Default: as numpy has them.

    Examples
    --------
    >>> lists_of_rows("ids", {"q1": ["d7", "d3"]}.items())["q1"]
    {'d7': None, 'd3': None}
    """
    index, queries = LabelIndex(), LabelIndex()
    ids: list[IntArray] = []
    scores: list[npt.NDArray[Any]] = []
    expected = "{query: {name: number}}, or {query: [name]} for all queries, each of them once"
    is_type_of_name = _is_type_of_text if place else _is_type_of_name
    for query, listed in rows:
        key = str(len(ids)) if query is None else query
        is_list = isinstance(listed, (Mapping, Sequence, np.ndarray))
        names = listed if is_list and not isinstance(listed, (str, bytes)) else [[]]
        if isinstance(names, np.ndarray):
            names = names.tolist()
        values = list(listed.values()) if isinstance(listed, Mapping) else []
        array = exact_array(values) if all(map(is_number, values)) else np.array(None)
        has_scores = isinstance(listed, Mapping)
        types_of_names = {*map(type, names)}
        is_right = all(map(is_type_of_name, types_of_names)) and is_type_of_name(type(key))
        is_right = is_right and array.dtype != object and key not in queries.codes
        if not is_right or (ids and has_scores != bool(scores)):
            got = f"{key!r}: {listed!r}"  # the query first, for a long list is cut
            raise InputValueError(argument, expected=expected, got=got, place=place)
        queries.encode([key])
        ids.append(index.encode(list(names)))
        if has_scores:
            scores.append(array)
    every = np.concatenate([*ids, np.zeros(0, np.int64)])
    indptr = indptr_of(list(map(len, ids)))
    columns = indptr, every, _joined_scores(argument, scores, dtype)
    queries_of_lists: Names = tuple(queries.codes)
    names_of_lists: Names = tuple(index.codes)
    if not place:
        queries_of_lists = checked_names(argument, queries_of_lists)
        names_of_lists = checked_names(argument, names_of_lists)
    lists = NamedLists(queries_of_lists, names_of_lists, *columns, is_text=bool(place))
    refuse_repeats(argument, lists.queries.__getitem__, lists.names, indptr, every, place)
    return lists


def _is_type_of_text(kind: type) -> bool:
    return issubclass(kind, str)


def _is_type_of_name(kind: type) -> bool:
    return issubclass(kind, str) or is_integer_type(kind)


def _joined_scores(
    argument: str, scores: Sequence[npt.NDArray[Any]], dtype: Any
) -> npt.NDArray[Any] | None:
    """Join the scores of lists, none of which is rounded; None where there are none."""
    if not scores:
        return None
    filled = [part for part in scores if len(part)] or [np.zeros(0)]
    joined = np.concatenate(filled, dtype=dtype)
    whole = [part for part in filled if part.dtype.kind != joined.dtype.kind]
    if any(part.tolist() != part.astype(np.float64).tolist() for part in whole):
        raise InputValueError(argument, "integers beyond 2**53 beside floats would be rounded")
    return joined


def refuse_repeats(
    argument: str,
    query_of: Callable[[int], Name],
    names: Sequence[Name],
    indptr: IntArray,
    ids: npt.NDArray[Any],
    place: str,
) -> None:
    """Refuse lists that have a name twice."""
    none = np.zeros(0, np.int64)
    selection = _core.Selection(indptr, ids)
    fault, _ = _core.find_listed(selection, len(names), none, none, None, 0)
    if fault is not None:
        query = query_of(int(np.searchsorted(indptr, fault[0], side="right")) - 1)
        problem = f"the list of {query!r} has {names[ids[fault[0]]]!r} twice"
        raise InputValueError(argument, problem, place=place)


# -- files -----------------------------------------------------------------------------------------


@public("truerank")
def read_run(
    path: str | os.PathLike[str],
    *,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read a TREC run: a line for each document of each query, ``qid Q0 docid rank score tag``.

    The scores say how documents are ranked, and equal ones tie; the ranks in the file and the order
    of its lines say nothing, as in trec_eval (which breaks ties by the names of documents). The
    lines of a query need not follow each other.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields; empty
        lines are skipped.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress`, in bytes of the file, after every block of lines.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For a line that is not of this form, or begins with a byte order mark although it is not the
        first; for a document that a query has twice; and for a score that a float64 does not hold
        (see Notes). The error names the line, or the query.
    OSError
        For a file that is missing or damaged.

    Notes
    -----
    A score is the float64 that is nearest to the decimal in the file, as Python's float is. Nearly
    all decimals are rounded so, and that is no error. These scores are errors, since others could
    become equal to them: one that is not 0 and would become 0 or infinite (1e-400, 1e400), and one
    from 2**53 on, in absolute value, whose digits go down to the units, however it is written, and
    would be changed (9007199254740993, 9007199254740993.0, 9.007199254740993e15). The digits of
    1.2345678901234567e+19 end at the thousands, as floats of that size are printed: it is read.

    It takes 16 bytes for each line while it reads, and each name once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 d7 1 2.5 tag\\nq1 Q0 d3 2 1.5 tag\\nq2 Q0 d3 1 0.5 tag\\n")
    ...     run = read_run(file)
    >>> run
    NamedLists(2 lists, 3 entries, 2 names)
    >>> run["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    return _lists_of_run("path", path_name("path", path), progress)


@public("truerank")
def read_json_lists(
    path: str | os.PathLike[str],
    *,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read lists in JSON: ``{"q1": {"d7": 2.5, "d3": 1.5}, "q2": {...}}``.

    The file has one such object, as pytrec_eval and ranx take them, or lines that are each such an
    object, with one query or several. Objects ``{"d7": 2.5, "d3": 1.5}`` alone, in lines or in an
    array, are lists of queries that are numbered from "0". Arrays of names in place of objects,
    ``{"q1": ["d7", "d3"]}``, are lists in order alone.

    Parameters
    ----------
    path : str or path-like
        In UTF-8, gzipped if its name ends in .gz. Lines are read one by one; a single object is
        read as a whole, into Python's dicts.
    progress : callable or bool, optional
        As in `read_run`.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For anything but such objects, for a query or a candidate that occurs twice, and for scores
        that `read_run` refuses; the error names the line of what is no JSON, or the query.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "lists.jsonl")
    ...     _ = file.write_text('{"q1": {"d7": 2.5, "d3": 1.5}}\\n{"q2": {"d3": 0.5}}\\n')
    ...     read_json_lists(file)["q2"]
    {'d3': 0.5}
    """
    return _lists_of_json("path", path_name("path", path), progress)


@public("truerank")
def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read the judgements of a TREC test collection: lines ``qid iteration docid relevance``.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields; empty
        lines are skipped.

    Returns
    -------
    Qrels

    Raises
    ------
    ValueError
        For a line that is not of this form, or begins with a byte order mark although it is not the
        first, and a document that is judged twice for a query; the error names the line.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 d3 1\\nq1 0 d9 0\\nq2 0 d3 2\\n")
    ...     read_qrels(file)
    Qrels(3 judgements of 2 queries, 2 relevant)
    """
    return qrels_of_file("path", path_name("path", path))


def qrels_of_file(argument: str, path: str) -> Qrels:
    """Read judgements as `read_qrels` does; messages name the argument."""
    reader = _core.ListReader()
    queries, documents, relevance = read_blocks(argument, path, None, reader.judged_rows)
    groups, names = reader.groups(), reader.names()
    asked, judged = np.array(groups, object)[queries], np.array(names, object)[documents]
    keys = queries * np.int64(len(names)) + documents
    if not np.diff(np.sort(keys)).all():  # np.unique is far slower
        row = np.setdiff1d(np.arange(len(keys)), np.unique(keys, return_index=True)[1])[0]
        problem = f"line {line_of(path, row)}: {judged[row]!r} is judged twice for {asked[row]!r}"
        raise InputValueError(argument, problem, place=path)
    return Qrels(tuple(asked.tolist()), tuple(judged.tolist()), relevance, is_text=True)


def lists_of_file(argument: str, path: str) -> NamedLists:
    """Read a run or a JSON file, which its name tells; messages name the argument."""
    return (_lists_of_json if is_json(path) else _lists_of_run)(argument, path)


def is_json(path: str) -> bool:
    """Return whether a file has JSON, by its name."""
    return path.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz"))


def _lists_of_run(argument: str, path: str, progress: bool | Listener | None = None) -> NamedLists:
    reader = _core.ListReader()

    def read_rows(text: str) -> tuple[Any, ...]:
        fault, *ids, scores = reader.run_rows(text)
        return fault or first_rounded(text, 4, scores), *ids, scores

    queries, documents, scores = read_blocks(argument, path, progress, read_rows)
    if (queries[1:] < queries[:-1]).any():
        order = np.argsort(queries, kind="stable")
        queries, documents, scores = queries[order], documents[order], scores[order]
    groups, names = reader.groups(), reader.names()
    indptr = np.searchsorted(queries, np.arange(len(groups) + 1)).astype(np.int64)
    refuse_repeats(argument, groups.__getitem__, names, indptr, documents, path)
    return NamedLists(groups, names, indptr, documents, scores, is_text=True)


def read_blocks(
    argument: str,
    path: str,
    progress: bool | Listener | None,
    read_rows: Callable[[str], tuple[Any, ...]],
) -> list[npt.NDArray[Any]]:
    """Read a file block by block with the core, and join the columns of all blocks.

    A byte order mark at the beginning of the file belongs to no name, and `text_blocks` drops it.
    At the beginning of another line, where files were joined, it would make another name of the
    first field, so it is refused there.
    """
    blocks = [read_rows("")[1:]]  # a file without lines has columns, too
    for number, text in enumerate(text_blocks(argument, path, progress)):
        fault, *columns = _marked_line(text) or read_rows(text)
        if fault is not None:  # lines are counted for messages alone
            earlier = islice(text_blocks(argument, path), number)
            line = 1 + sum(block.count("\n") for block in earlier) + fault[0]
            raise InputValueError(argument, f"line {line}: {fault[1]}", place=path)
        blocks.append(tuple(columns))
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def _marked_line(text: str) -> tuple[tuple[int, str]] | None:
    """Return the fault of the first line that begins with a byte order mark; or None."""
    if _MARK not in text or f"\n{_MARK}" not in f"\n{text}":
        return None
    earlier = f"\n{text}".partition(f"\n{_MARK}")[0]
    problem = "it begins with a byte order mark, as where files were joined: leave the mark out"
    return ((earlier.count("\n"), problem),)


def json_lines(argument: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of a file that is not empty, and its JSON."""
    for number, line in text_lines(argument, path):
        yield number, _parse_json(argument, f"{path}: line {number}", line)


def _lists_of_json(argument: str, path: str, progress: bool | Listener | None = None) -> NamedLists:
    return lists_of_rows(argument, _json_lists(argument, path, progress), path, np.float64)


def _json_lists(
    argument: str, path: str, progress: bool | Listener | None
) -> Iterator[tuple[str | None, Any]]:
    """Yield the query of each list (None: it has no name), and its scores by candidate."""
    lines = text_lines(argument, path, progress)
    first = next(lines, (1, "{}"))
    try:
        has_lines = isinstance(json.loads(first[1]), dict)  # one object, with which others follow
    except (ValueError, RecursionError):
        has_lines = False
    rows: Iterable[tuple[int, str]] = chain([first], lines)
    if not has_lines:  # a file that is one object, or an array
        rows = [(1, "\n".join(line for _, line in rows))]
    for number, text in rows:
        value = _parse_json(argument, f"{path}: line {number}", text, exact_number)
        if isinstance(value, dict) and not is_number(next(iter(value.values()), None)):
            yield from value.items()
        else:
            rows = value if isinstance(value, list) else [value]
            yield from (row if isinstance(row, tuple) else (None, row) for row in rows)


def _distinct(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object, or the pairs of one that has a name twice, which nobody takes."""
    return found if len(found := dict(pairs)) == len(pairs) else pairs


def _parse_json(argument: str, place: str, text: str, read: Any = None) -> Any:
    """Read JSON, its numbers by a function of their text; an error names the place."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_int=read, parse_float=read)
    except (ValueError, RecursionError) as error:
        raise InputValueError(argument, f"no JSON ({error})", place=place) from None
