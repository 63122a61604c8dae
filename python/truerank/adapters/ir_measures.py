"""RankProvider: measures of ir_measures from the ranks of relevant documents, exact for ties.

It needs ir_measures: ``pip install '.[ir-measures]'`` in the checkout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar

from .. import InputError, InputTypeError, InputValueError, Report
from ..retrieval import Task
from . import import_extra

ir_measures: Any = import_extra("ir_measures", "truerank.adapters.ir_measures", "ir-measures")
measures: Any = ir_measures.measures
base: Any = ir_measures.providers.base
free: Any = base.Any

__all__ = ["RankProvider", "provider"]

# These are the keys of a report, by the names of measures.
KEYS = {"P": "precision", "R": "recall", "RR": "mrr", "AP": "map", "nDCG": "ndcg"}
KEYS |= {"Rprec": "r_precision", "Success": "success"}
GAINS = {"log2": "linear", "exp-log2": "exponential"}
KINDS = ("expected", "optimistic", "pessimistic")
PARAMETERS_READ = ("rel", "gains", "dcg", "judged_only")


class RankProvider(base.Provider):
    """A provider of P, R, RR, AP, nDCG, Rprec and Success, with their cutoffs and `rel=`.

    `provider` is the one that is registered as ``ir_measures.providers.registry["truerank"]`` when
    this module is imported.

    Parameters
    ----------
    kind : {"expected", "optimistic", "pessimistic"}
        What becomes of ties: the mean over all orders of a tie, the best order, or the worst.

    Raises
    ------
    ValueError
        For an unknown kind; and by its methods, for a measure or a parameter that it does not have.

    Notes
    -----
    The formulas are those of trec_eval, as in the provider pytrec_eval: a document is relevant from
    the relevance `rel` on, a query without a relevant document or without a list has the value 0,
    lists of other queries are not used, and relevant documents that a list does not have add
    nothing. nDCG takes relevances above 0 as gains, after its mapping `gains`; with
    ``dcg="exp-log2"``, 2^g - 1. With ``judged_only``, documents that are not judged leave the
    lists; one whose relevance is negative, after that mapping, is not judged. NaN scores are a
    ValueError, and so are two relevances of one document for a query, as of its subtopics.

    Examples
    --------
    >>> from ir_measures import AP, RR, nDCG
    >>> qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> run = {"q1": {"d1": 0.5, "d2": 0.5, "d3": 0.25}}
    >>> RankProvider().calc_aggregate([RR, AP(rel=2), nDCG @ 10], qrels, run)[RR]
    0.75
    >>> RankProvider("pessimistic").calc_aggregate([RR], qrels, run)[RR]
    0.5
    """

    NAME = "truerank"
    SUPPORTED_MEASURES: ClassVar[list[Any]] = [
        measures._P(cutoff=free(), rel=free(), judged_only=free()),
        measures._R(cutoff=free(), rel=free(), judged_only=free()),
        measures._RR(cutoff=free(), rel=free(), judged_only=free()),
        measures._AP(cutoff=free(), rel=free(), judged_only=free()),
        measures._nDCG(cutoff=free(), dcg=base.Choices(*GAINS), gains=free(), judged_only=free()),
        measures._Rprec(rel=free(), judged_only=free()),
        measures._Success(cutoff=free(), rel=free(), judged_only=free()),
    ]

    def __init__(self, kind: str = "expected") -> None:
        super().__init__()
        if kind not in KINDS:
            raise InputValueError("kind", expected=f"one of {', '.join(KINDS)}", got=repr(kind))
        self.kind = kind

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> RankedRuns:
        checked = list(measures)
        for measure in checked:
            self._check(measure)
        given, again = ir_measures.util.QrelsConverter(qrels).tee(2)
        judgements = given.as_dict_of_dict()
        for row in again.as_namedtuple_iter():
            grade = judgements[row.query_id][row.doc_id]
            if row.relevance != grade:  # as in judgements of subtopics
                got = f"{row.relevance} and {grade} for {row.doc_id!r} of query {row.query_id!r}"
                raise InputValueError("qrels", expected="one relevance for each pair", got=got)
        return RankedRuns(checked, judgements, self.kind)

    def _check(self, measure: Any) -> None:
        if not isinstance(measure, ir_measures.Measure):
            expected = "measures of ir_measures"
            raise InputTypeError("measures", expected=expected, got=type(measure).__name__)
        try:
            is_supported = self.supports(measure)
        except AssertionError as error:
            # ir_measures asserts that a measure has the parameters that it needs, and no others.
            raise InputValueError("measures", f"{measure.NAME}: {error}") from None
        if not is_supported:
            expected = f"{', '.join(KEYS)}, with the parameters that they have here"
            raise InputValueError("measures", expected=expected, got=repr(measure))


class RankedRuns(base.Evaluator):
    """What a `RankProvider` makes of some measures and qrels: it evaluates runs.

    Attributes
    ----------
    reports : dict of measure to Report
        Those of the last run, for the queries that have a list and a relevant document. Measures
        that read qrels alike share theirs.
    """

    def __init__(self, measures: list[Any], qrels: dict[str, dict[str, int]], kind: str) -> None:
        super().__init__(measures, set(qrels))
        self.qrels = qrels
        self.kind = kind
        self.reports: dict[Any, Report] = {}

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        """Yield the value of each query that a report has; ir_measures gives others 0."""
        run = ir_measures.util.RunConverter(run).as_dict_of_dict()
        documents = list(dict.fromkeys(chain(*self.qrels.values(), *run.values())))
        reports: dict[tuple[str, ...], Report | None] = {}
        self.reports = {}
        for measure in self.measures:
            # Measures with the same values of these parameters share a report.
            names = [name for name in PARAMETERS_READ if name in measure.SUPPORTED_PARAMS]
            values_read = tuple(repr(measure[name]) for name in names)
            if values_read not in reports:
                reports[values_read] = self._report(measure, run, documents)
            report = reports[values_read]
            if report is None:
                continue
            self.reports[measure] = report
            key = f"{self.kind}.{KEYS[measure.NAME]}"
            cutoff = measure.params.get("cutoff")
            if cutoff is not None:
                key += f"@{cutoff}"
            for query, value in zip(report.queries, report.per_query(key).tolist(), strict=True):
                yield ir_measures.Metric(query, measure, value)

    def _report(self, measure: Any, run: Any, documents: list[str]) -> Report | None:
        """Report the queries that have a list and relevant documents, as a measure reads them."""
        mapping = measure.params.get("gains", {})
        answers: dict[str, dict[str, float]] = {}
        lists: dict[str, dict[str, float]] = {}
        for query, judged in self.qrels.items():
            right = read_gains(measure, judged)
            if not right or query not in run:
                continue
            answers[query] = right
            lists[query] = run[query]
            if measure["judged_only"]:  # A negative grade says that a document is not judged.
                grades = {name: mapping.get(grade, grade) for name, grade in judged.items()}
                lists[query] = {
                    name: x for name, x in run[query].items() if grades.get(name, -1) >= 0
                }
        if not answers:
            return None
        gain = GAINS[measure["dcg"]] if measure.NAME == "nDCG" else "binary"
        task = Task(answers, entities=documents, gain=gain)
        try:
            return task.evaluate_lists(lists, order="descending")
        except InputError as error:
            error.argument = error.argument.replace("ids", "run", 1)
            raise


def read_gains(measure: Any, judged: dict[str, int]) -> dict[str, float]:
    """Return the relevant documents of a query, as a measure reads judgements, and their gains."""
    if measure.NAME != "nDCG":
        return {name: 1 for name, grade in judged.items() if grade >= measure["rel"]}
    mapping = measure.params.get("gains", {})
    gains = {name: mapping.get(grade, grade) for name, grade in judged.items()}
    return {name: gain for name, gain in gains.items() if gain > 0}


provider = base.register(RankProvider())
