"""Judgements of documents, as test collections have them: which are right answers of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import read_only
from ..inputs.checks import instance, is_integer, mapping, several
from ..inputs.naming import public
from .elements import checked_names
from .grades import read_grades
from .long_rows import LongRows, as_list, read_long_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from .elements import Name, Names


def without_ranx(value: Any) -> Any:
    """Return the dicts of a Qrels or Run of ranx; anything else stays as it is.

    Examples
    --------
    >>> without_ranx({"q1": {"d3": 0.5}})
    {'q1': {'d3': 0.5}}
    """
    if type(value).__module__.startswith("ranx."):
        return value.to_dict()
    return value


@public("truerank")
@dataclass(eq=False, repr=False)
class Qrels:
    """Judgements: the relevance of documents for queries, one document for one query each.

    Parameters
    ----------
    queries, documents : tuple of str, or of int
        The query and the document of each judgement. All queries are of one type, and all
        documents.
    relevance : ndarray of int64 or float64, shape (n,)
        Finite numbers, of which those above 0 say that a document is relevant. One below 0 says
        that it is not judged. They are float64 where one has a fraction.
    is_text : bool
        Whether the names are from a file, where 7 has no type: such names are also read by
        vocabularies of int, which take no str.
    source : str
        The file and its form, for reports; "": they are from Python.

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
    relevance: npt.NDArray[Any]
    is_text: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if not self.is_text:
            self.queries = checked_names("queries", self.queries)
            self.documents = checked_names("documents", self.documents)
        self.relevance = read_only(read_grades("relevance", self.relevance))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        judged = f"{len(self):,} judgements of {len(set(self.queries)):,} queries"
        return f"Qrels({judged}, {np.count_nonzero(self.relevance > 0):,} relevant)"

    @classmethod
    def of(cls, value: Any, argument: str = "qrels", *, columns: Any = None) -> Qrels:
        """Read judgements in any form that Python has; `read_qrels` reads files.

        Names stay what they are, str or int.

        Parameters
        ----------
        value : Qrels, mapping, frame, data set, rows, or tuple of columns
            ``{query: {name: relevance}}``, ``{query: [names]}``, ``{query: name}``; or a row for
            each judgement, in the forms that `NamedLists.of` takes. Rows without relevance are
            right answers. Relevance is a finite number.
        argument : str
            What messages call it.
        columns : sequence of str, optional
            The names of the columns of queries, documents and, perhaps, relevance, as in
            `NamedLists.of`.

        Raises
        ------
        TypeError, ValueError
            For another form, and for columns that are not found, or two of a kind.

        Examples
        --------
        >>> Qrels.of({"q1": {"d3": 1, "d9": 0}, "q2": ["d3"]})
        Qrels(3 judgements of 2 queries, 2 relevant)
        >>> Qrels.of([{"query-id": "q1", "corpus-id": "d3", "score": 1}])
        Qrels(1 judgements of 1 queries, 1 relevant)
        """
        instance("argument", argument, str)
        value = as_list(without_ranx(value))
        if isinstance(value, Qrels):
            return value
        rows = read_long_rows(argument, value, judged=True, columns=columns)
        if rows is not None:
            return cls._of_long_rows(argument, rows)
        expected = "Qrels, a mapping of queries to answers, or rows with columns such as query_id"
        answers = mapping(argument, value, f"{expected}, doc_id and relevance")
        queries: list[Any] = []
        documents: list[Any] = []
        relevance: list[Any] = []
        for query, judged in answers.items():
            grades = _grades_by_name(argument, judged)
            queries.extend([query] * len(grades))
            documents.extend(grades)
            relevance.extend(grades.values())
        return cls._trusted(
            checked_names(argument, queries),
            checked_names(argument, documents),
            read_grades(argument, relevance),
            is_text=False,
        )

    @classmethod
    def _of_long_rows(cls, argument: str, rows: LongRows) -> Qrels:
        """Make judgements of columns of queries, documents and relevance."""
        relevance: npt.NDArray[Any] = np.ones(len(rows.queries), np.int64)
        if rows.values is not None:
            relevance = read_grades(argument, rows.values)
        return cls._trusted(
            checked_names(argument, rows.queries),
            checked_names(argument, rows.documents),
            relevance,
            is_text=False,
        )

    @classmethod
    def _trusted(
        cls, queries: Names, documents: Names, relevance: npt.NDArray[Any], is_text: bool
    ) -> Qrels:
        """Take over names that were checked before."""
        qrels = cls.__new__(cls)
        qrels.queries = queries
        qrels.documents = documents
        qrels.relevance = read_only(relevance)
        qrels.is_text = is_text
        qrels.source = ""
        return qrels


def _grades_by_name(argument: str, judged: Any) -> Mapping[Name, Any]:
    """Return what a query is given of each document, by the document's name."""
    if isinstance(judged, str) or is_integer(judged):
        return {judged: 1}
    if isinstance(judged, Mapping):
        return judged
    names = several(argument, judged, "names for each query")
    return dict.fromkeys(checked_names(argument, names), 1)
