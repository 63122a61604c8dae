"""Lists of scored candidates with names, their right answers, the ranks of these; their files.

The files are TREC runs, qrels and JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.lists import rank_lists
from ..inputs.arrays import read_only
from ..inputs.checks import distinct_names, flag, integer, is_integer, is_number, several
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError, warn_user
from ..inputs.naming import public
from ..inputs.rules import ListOptions, with_options
from ..inputs.scores import exact_array, exact_number, first_rounded
from ..inputs.selection import indptr_of
from ..ranks.container import Ranks
from .text import line_of, text_blocks, text_lines
from .vocabularies import LabelIndex, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..inputs.progress_listeners import Listener, Progress


_MARK = "\ufeff"  # the byte order mark


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
        judged = f"{len(self):,} judgements of {len(set(self.queries)):,} queries"
        return f"Qrels({judged}, {np.count_nonzero(self.relevance >= 1):,} relevant)"

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

    def right_answers(self) -> Qrels:
        """Return the judgements from a relevance of 1 on."""
        rows = zip(self.queries, self.documents, self.relevance.tolist(), strict=True)
        return self.of_pairs({(query, name): grade for query, name, grade in rows if grade >= 1})


@public("truerank")
@dataclass(eq=False, repr=False)
class NamedLists(Mapping[str, dict[str, Any]]):
    """Lists of scored candidates by name: a mapping of each query to ``{name: score}``.

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
        self._rows = dict(zip(self.queries, range(len(self)), strict=True))

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __repr__(self) -> str:
        entries = f"{len(self.ids):,} entries, {len(self.names):,} names"
        return f"NamedLists({len(self):,} lists, {entries})"

    def __getitem__(self, query: str) -> dict[str, Any]:
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
        parts = known if isinstance(known, list) else [known] * (known is not None)
        left_out = [Qrels.of(part).right_answers() for part in parts]
        left_out += [right] if flag("filtered", filtered) else []
        asked, index = LabelIndex(), LabelIndex()
        unit = asked.encode(right.queries)
        queries = Vocabulary(len(asked.codes), tuple(asked.codes))
        rows = self.rows_of("answers", list(asked.codes))[unit]
        if is_integer(candidates):
            size = integer("candidates", candidates, least=0)
        else:
            names = distinct_names("candidates", candidates, "their number, or their names")
            size = len(index.encode(names))
        ids, targets = index.encode(self.names)[self.ids], index.encode(right.documents)
        others = index.encode([name for part in left_out for name in part.documents])
        of_others = queries.codes_of([name for part in left_out for name in part.queries])
        if size < len(index.codes):
            expected = f"at least {len(index.codes)}, as many names occur"
            got = f"{size}, without {list(index.codes)[size]!r}"
            raise InputValueError("candidates", expected=expected, got=got)
        splits = [split or "test"] * filtered + ["known"] * (known is not None)
        order = np.argsort(of_others, kind="stable")[np.count_nonzero(of_others < 0) :]
        lengths = np.bincount(of_others[order], minlength=queries.size)
        indptr = np.append(self.indptr, self.indptr[-1])
        ranks = rank_lists(
            (indptr, ids),
            None if self.scores is None else (indptr, self.scores),
            targets,
            candidates=size,
            rows=rows,
            filter=(indptr_of(lengths), others[order], unit) if splits else None,
            **options,
        )
        labelled = ranks.with_labels(queries=right.queries, targets=right.documents, unit=unit)
        return labelled.with_protocol(filter=splits, split=split)

    def rows_of(self, argument: str, asked: Sequence[str]) -> IntArray:
        """Return the list of each query that has right answers; an empty one follows all lists.

        Raises
        ------
        ValueError
            For lists of other queries alone. It warns if less than half of the queries have one.
        """
        rows = Vocabulary(len(self), self.queries).codes_of(asked)
        common = np.count_nonzero(rows >= 0)
        if len(self) and asked and not common:
            some, others = (", ".join(map(repr, names[:3])) for names in (asked, self.queries))
            problem = f"no query in common: right answers are of {some}, ..., lists of {others}"
            raise InputValueError(argument, f"{problem}, ...")
        if 2 * common < len(asked):
            has = f"{common:,} of {len(asked):,} queries with right answers have a list"
            warn_user(f"{argument}: only {has}; the others count as if theirs were empty")
        return np.where(rows < 0, len(self), rows)


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
    kinds = str if place else (str, int, np.integer)  # files of ids have other forms
    for query, listed in rows:
        key = str(len(ids) if query is None else query)
        is_list = isinstance(listed, (Mapping, Sequence, np.ndarray))
        names = listed if is_list and not isinstance(listed, (str, bytes)) else [[]]
        values = list(listed.values()) if isinstance(listed, Mapping) else []
        array = exact_array(values) if all(map(is_number, values)) else np.array(None)
        has_scores = isinstance(listed, Mapping)
        is_right = all(issubclass(kind, kinds) for kind in {*map(type, names)})
        is_right &= array.dtype != object and key not in queries.codes
        if not is_right or (ids and has_scores != bool(scores)):
            got = f"{key!r}: {listed!r}"  # the query first, for a long list is cut
            raise InputValueError(argument, expected=expected, got=got, place=place)
        queries.encode([key])
        ids.append(index.encode(list(map(str, names))))
        scores += [array] if has_scores else []
    filled = [part for part in scores if len(part)] or [np.zeros(0)]
    joined = np.concatenate(filled, dtype=dtype) if scores else None
    whole = [part for part in filled if joined is not None and part.dtype.kind != joined.dtype.kind]
    if any(part.tolist() != part.astype(np.float64).tolist() for part in whole):
        raise InputValueError(argument, "integers beyond 2**53 beside floats would be rounded")
    every = np.concatenate([*ids, np.zeros(0, np.int64)])
    indptr = indptr_of(list(map(len, ids)))
    lists = NamedLists(tuple(queries.codes), tuple(index.codes), indptr, every, joined)
    refuse_repeats(argument, lists.queries.__getitem__, lists.names, indptr, every, place)
    return lists


def refuse_repeats(
    argument: str,
    query_of: Callable[[int], str],
    names: Sequence[str],
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
    return _lists_of_run("path", os.fsdecode(path), progress)


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
    return _lists_of_json("path", os.fsdecode(path), progress)


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
    return qrels_of_file("path", os.fsdecode(path))


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
    return Qrels(tuple(asked.tolist()), tuple(judged.tolist()), relevance)


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
    return NamedLists(groups, names, indptr, documents, scores)


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
