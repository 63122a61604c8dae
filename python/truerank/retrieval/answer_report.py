"""Reports on queries with several right answers: metrics of each query, means, groups, tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import checked_weights, read_only
from ..inputs.checks import choice
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import printable, public
from ..metrics.keys import MACRO, NO_ADJUSTMENT, quote
from ..metrics.kinds import EXPECTED_KIND
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
from ..ranks.labels import RIGHT_ANSWERS
from ..reporting.axes import KeyedValues, choose_metrics, unique_keys
from ..reporting.rendering import GROUPS_SHOWN, label_text, metric_column
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.cells import percent as percentage
from ..tables.forms import write_json
from .answer_metrics import ANSWER_METRICS, LEVELS, ORDER_KINDS, AnswerKey, read_key
from .answer_ties import BEYOND, RankedAnswers, Ties

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..reporting.axes import Names

JSON_KIND = "truerank.retrieval"
JSON_FORMAT = 1

GAINS = ("linear", "exponential", "binary")
DEFAULT_METRICS = (
    *("mrr", "mrr@10", "map", "r_precision", "ndcg", "ndcg@10"),
    *("recall@10", "recall@100", "precision@10", "success@10"),
)
_FEW_METRICS = ("mrr", "map", "ndcg@10", "recall@10")
_COLUMNS = (*ORDER_KINDS, "chance", "index")  # of a table
# What becomes of right answers that their lists miss, in the words of a table.
MISSES = {
    "zero": "count as 0",
    "bounds": "have bounds",
    "expected": "count by their mean",
}
_MOST_EXPONENT = 1000  # of exponential gains, so that the sum of many is finite, too
_CHUNK = 1 << 15  # queries whose ties are in a cache at a time


@public("truerank.retrieval")
class RetrievalReport(KeyedValues):
    """The metrics of queries with several right answers, by key; made by `report` or a `Task`.

    A key is ``[macro.][kind.][adjustment.]metric[@k][:p]``.

    - metric: ``mrr`` (of the first right answer), ``map``, ``ndcg``, ``dcg``, each also with a
      cutoff, as ``map@10``; ``recall@k``, ``precision@k``, ``success@k``, ``f1@k``, ``map_min@k``,
      ``weighted_recall@k``; ``r_precision``, ``map_at_r``; ``bpref``; ``rbp:p``; ``auc``,
      ``gauc``.
    - kind: the expectation over all orders of the ties, exactly (no word, or ``expected``);
      ``optimistic``: within a tie right answers come first, those of the highest gains before
      others; ``pessimistic``: they come last, those of the lowest gains before others.
    - adjustment: ``chance``, the expectation under a random order of all candidates; ``optimum``,
      the value of the best order; ``ratio``, value / chance; ``index``, (value - chance) /
      (optimum - chance), which is 0 at chance and 1 at best.
    - ``macro``: the mean over groups of queries.

    A value is the mean over queries; that of ``gauc`` weights each with its number of right
    answers, as RecBole does. ``ratio`` and ``index`` are made of such means. As a mapping,
    a report lists its default keys, but it has every key.

    Attributes
    ----------
    ranks : Ranks
        A task for each right answer, with the label "retrieval_answers": how many its query has.
        Where one has several, `truerank.report` and `truerank.compare` refuse them.
    gains : ndarray of float64, shape (n,), or None
        What a right answer counts for in dcg and ndcg; None: 1 for all.
    queries : list
        The label of each query, in the order of `per_query`.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    without_answers : int
        The number of queries that were left out, as they have no right answer.
    misses : str
        What right answers count for that their lists miss, as `report` takes it.

    Notes
    -----
    For a query with R right answers: recall@k = hits among the first k / R; precision@k = hits / k,
    even if there are fewer than k candidates; r_precision = precision@R; success@k = 1 if there is
    a hit; mrr = 1 / place of the first hit; map = the mean over right answers of the precision at
    their places (those beyond k add 0 to map@k, and R divides all the same); dcg = the sum of
    gain / log2(place + 1); ndcg = dcg / that of the best order (Järvelin, Kekäläinen: Cumulated
    gain-based evaluation of IR techniques, 2002). These are the definitions of trec_eval.

    Those of others: map_min@k divides by min(k, R) (RecBole, sentence-transformers, PyTorch
    Geometric); map_at_r = map@R (Musgrave, Belongie, Lim: A metric learning reality check, 2020);
    bpref = the mean over right answers of 1 - min(n, c) / c, where n of N documents that are judged
    with a gain of 0 are above the answer, and c = min(R, N) (Buckley, Voorhees: Retrieval
    evaluation with incomplete information, 2004; of a `Task` with ``judged=True`` alone); rbp:p =
    (1 - p) times the sum of p^(place - 1) over right answers (Moffat, Zobel: Rank-biased precision,
    2008); f1@k = 2 hits / (k + R) and weighted_recall@k = the sum of the gains among the first k /
    that of all (PyTorch Geometric); auc = the share of pairs of a right answer and a candidate that
    is none whose order is right, half of those that tie, 1 without such pairs (Hanley, McNeil: The
    meaning and use of the area under a ROC curve, 1982).

    Ties: every order of a tie is equally likely, and all values of the kind "expected" are means
    over these orders, in closed form (McSherry, Najork: Computing information retrieval performance
    measures efficiently in the presence of tied scores, 2008). The mean of ndcg is that of dcg over
    the best dcg, which ties do not change. Right answers whose NaN is ranked last
    (``nan="worst"``) share the last places.

    There is no ``z``: metrics of one query depend on its right answers together, and their variance
    under chance is not computed.

    Examples
    --------
    >>> import truerank as tr
    >>> found = tr.retrieval.report(tr.Ranks([0, 3, 1], [1, 1, 2], 10, queries=["a", "a", "b"]))
    >>> found["recall@2"], found.per_query("recall@2").tolist()
    (0.5, [0.5, 0.5])
    >>> found["optimistic.mrr"], found["pessimistic.mrr"]
    (0.75, 0.6666666666666666)
    """

    ranks: Ranks
    gains: FloatArray | None
    queries: list[Hashable]
    answers: IntArray
    candidates: IntArray
    without_answers: int
    misses: str

    def __init__(
        self,
        ranks: Ranks,
        gains: FloatArray | None = None,
        *,
        by: LabelsLike | None = None,
        without_answers: int = 0,
        misses: str = "zero",
    ) -> None:
        self.gains, self.without_answers, self.misses = gains, without_answers, misses
        self._ranked = RankedAnswers(ranks, gains, misses)
        placed = True if ranks.listed is None or misses == "bounds" else ranks.listed
        self._tied = int(np.count_nonzero((ranks.tied > 1) & placed))
        self.queries = self._ranked.queries
        self.answers = read_only(self._ranked.answers)
        self.ranks = ranks.with_labels(**{RIGHT_ANSWERS: self.answers[self._ranked.codes]})
        self.candidates = read_only(self._ranked.candidates)
        self.by = by if by is None or isinstance(by, str) else "group"
        self._group_of_query = np.zeros(0, dtype=np.int64)
        self._groups: list[Hashable] = []
        if by is not None:
            codes, self._groups = group_codes(ranks, by)
            self._group_of_query = codes[self._ranked.first]
            unlike = codes != self._group_of_query[self._ranked.codes]
            if unlike.any():
                query = self.queries[self._ranked.codes[int(unlike.argmax())]]
                got = f"several for query {query!r}"
                raise InputValueError("by", expected="one group for each query", got=got)
        self._group_sizes = np.bincount(self._group_of_query).tolist()
        self._ties: dict[str, Ties] = {}
        self._values: dict[tuple[AnswerKey, str], FloatArray] = {}

    @property
    def protocol(self) -> Protocol:
        """The protocol by which the ranks were counted."""
        return self.ranks.protocol

    # -- values ------------------------------------------------------------------------------------

    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""
        parsed = read_key(key)
        if parsed.macro and self.by is None:
            raise UnknownKeyError(quote(key), "there are no groups; give by=...")
        means = self._means(parsed)
        if not parsed.macro:
            return float(means[0])
        of_groups = means[1:][~np.isnan(means[1:])]
        return float(of_groups.mean()) if len(of_groups) else float("nan")

    def _means(self, key: AnswerKey) -> FloatArray:
        """The value over all queries, and then that of each group."""
        weights = self.answers if key.row.by_answers else np.ones(len(self.answers))

        def means(order: str) -> FloatArray:
            values = weights * self._of_queries(key, order)
            sums = np.bincount(self._group_of_query, values) if self._groups else np.zeros(0)
            sizes = np.bincount(self._group_of_query, weights) if self._groups else sums
            return np.append(values.sum() / weights.sum(), sums / sizes)

        return _adjusted(key, means)

    def __iter__(self) -> Iterator[str]:
        keys = (f"{column}.{metric}" for column in _COLUMNS for metric in DEFAULT_METRICS)
        return (key.removeprefix(f"{EXPECTED_KIND}.") for key in keys)

    def __len__(self) -> int:
        return len(_COLUMNS) * len(DEFAULT_METRICS)

    def per_query(self, key: str) -> FloatArray:
        """Return the value of each query, in the order of `queries`: float64, shape (q,).

        Parameters
        ----------
        key : str
            Any key without "macro.". The mean of these values is ``report[key]``, but for
            ``index`` and ``ratio``, which divide means there and the values of each query here: nan
            where a query has no other value than that of chance.

        Raises
        ------
        KeyError
            For an unknown key, and a macro average.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> tr.retrieval.report(ranks).per_query("map").tolist()
        [0.75, 0.5]
        """
        parsed = read_key(key)
        if parsed.macro:
            raise UnknownKeyError(quote(key), "an average over groups has no value per query")
        return _adjusted(parsed, lambda order: self._of_queries(parsed, order)).copy()

    def by_query(self, metrics: Names = None) -> dict[Hashable, dict[str, float]]:
        """Return the values of each query by key, as pytrec_eval and ranx have them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            Keys without "macro."; "mrr", "map", "ndcg@10" and "recall@10" if not given.

        Returns
        -------
        dict of query to dict of str to float
            In the order of `queries`; the values are those of `per_query`.

        Raises
        ------
        KeyError
            For an unknown key, and a macro average.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=["q1", "q1", "q2"])
        >>> tr.retrieval.report(ranks).by_query(["map", "success@1"])
        {'q1': {'map': 0.75, 'success@1': 1.0}, 'q2': {'map': 0.5, 'success@1': 0.0}}
        """
        keys = unique_keys(_FEW_METRICS if metrics is None else metrics)
        values = np.array([self.per_query(key) for key in keys])
        rows = values.reshape(len(keys), len(self.queries)).T.tolist()
        named = zip(self.queries, rows, strict=True)
        return {query: dict(zip(keys, row, strict=True)) for query, row in named}

    def _of_queries(self, key: AnswerKey, order: str) -> FloatArray:
        """The values of a metric for each query, under an order."""
        place = key.alone, order
        if place not in self._values:
            metric, k = ANSWER_METRICS[key.metric], key.parameter
            if metric.mark != ":":
                k = int(min(k or BEYOND, BEYOND))
            if order not in self._ties:
                self._ties[order] = self._ranked.ties(order)
            ties = self._ties[order]
            values = np.empty(len(self.queries))
            for start in range(0, len(values), _CHUNK):
                chunk = slice(start, min(start + _CHUNK, len(values)))
                values[chunk] = metric.of_queries(ties.of_queries(chunk.start, chunk.stop), k)
            if key.metric == "ndcg":
                values /= self._of_queries(key._replace(metric="dcg"), "optimum")
            self._values[place] = read_only(values)
        return self._values[place]

    # -- groups ------------------------------------------------------------------------------------

    def group_queries(self) -> dict[Hashable, int]:
        """Return the number of queries of each group; empty without groups.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8], relation=["x", "x", "y"])
        >>> tr.retrieval.report(ranks, by="relation").group_queries()
        {'x': 1, 'y': 1}
        """
        return dict(zip(self._groups, self._group_sizes, strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the value of a key for every group of queries; empty without groups.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8], relation=["x", "x", "y"])
        >>> tr.retrieval.report(ranks, by="relation").group_values("map")
        {'x': 0.75, 'y': 0.5}
        """
        return dict(zip(self._groups, self._means(read_key(key))[1:].tolist(), strict=True))

    # -- tables ------------------------------------------------------------------------------------

    def to_dict(self, metrics: Names = None) -> dict[str, float]:
        """Return the values by key, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys. Default: those that the report lists.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> tr.retrieval.report(ranks).to_dict(["map", "success@1"])
        {'map': 0.625, 'success@1': 0.5}
        """
        return {key: self[key] for key in unique_keys(self if metrics is None else metrics)}

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return values, sizes, protocol and groups as a JSON object; nan becomes null.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys. Default: those that the report lists.
        indent : int or None
            The blanks of each level; None writes one line.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import json, truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> json.loads(tr.retrieval.report(ranks).to_json(["map"]))["metrics"]
        {'map': 0.625}
        """
        values = self.to_dict(metrics)
        groups = None
        if self.by is not None:
            keys = [key for key in values if not read_key(key).macro]
            groups = {
                "by": self.by,
                "labels": list(map(label_text, self._groups)),
                "queries": list(self.group_queries().values()),
                "metrics": {key: list(self.group_values(key).values()) for key in keys},
            }
        content = {
            "kind": JSON_KIND,
            "format": JSON_FORMAT,
            "metrics": values,
            "queries": len(self.queries),
            "without_answers": self.without_answers,
            "misses": self.misses,
            "answers": len(self.ranks),
            "protocol": dataclasses.asdict(self.protocol),
            "fingerprint": self.protocol.fingerprint,
            "groups": groups,
        }
        return write_json(content, indent)

    def table(
        self, metrics: Names = None, *, kinds: Names = None, percent: bool = False, **options: Any
    ) -> Table:
        """Return a row for each kind of order; with groups, the macro average and the groups.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns, `metric[@k]` each, or "all". Default: mrr, map, ndcg@10 and recall@10.
        kinds : str or iterable of str, optional
            The rows: "expected", "optimistic", "pessimistic", "chance" and "index". Default:
            expected; without groups, where right answers tie, optimistic and pessimistic, too.
        digits, percent, notes
            As of `Report.table`.
        """
        chosen = _rows_of(choose_metrics(metrics, _FEW_METRICS, DEFAULT_METRICS))
        if kinds is None:
            kinds = ORDER_KINDS if not self.by and self._tied else EXPECTED_KIND
        rows_of_kind = unique_keys(kinds, "kinds")
        labels = ["micro", *([MACRO] if self.by else []), *map(label_text, self._groups)]
        sizes = [len(self.queries), *([len(self.queries)] if self.by else []), *self._group_sizes]
        rows: list[list[Any]] = []
        for kind in rows_of_kind:
            means = np.stack([self._means(read_key(f"{kind}.{metric}")) for metric in chosen], 1)
            if self.by:
                macro = [self[f"{MACRO}.{kind}.{metric}"] for metric in chosen]
                means = np.insert(means, 1, macro, axis=0)
            rows += [
                [label, kind, size, *values]
                for label, size, values in zip(labels, sizes, means.tolist(), strict=True)
            ]
        columns = [
            Column("group", self.by or "", only=None if self.by else "data"),
            Column("kind", only=None if len(rows_of_kind) > 1 else "data"),
            Column("queries"),
            *(metric_column(metric, read_key(metric), percent=percent) for metric in chosen),
        ]
        table = Table(columns, rows, names=2, before=self._lines(), most=GROUPS_SHOWN)
        return table.table(**options)

    def _lines(self) -> list[str]:
        low, high = int(self.candidates.min()), int(self.candidates.max())
        among = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        lines = [f"{self._sizes()}, {self._tied:,} of them tied, among {among} candidates"]
        if self.ranks.listed is not None:
            missed = f"{percentage(float(1 - self.ranks.listed.mean()))} of the right answers"
            lines.append(f"{missed} are missed by their lists and {MISSES[self.misses]}")
        if self.without_answers:
            left_out = format_count(self.without_answers, "query", "queries")
            lines.append(f"{left_out} without a right answer left out")
        return lines

    def _sizes(self) -> str:
        queries = format_count(len(self.queries), "query", "queries")
        return f"{queries} with {format_count(len(self.ranks), 'right answer')}"

    def __repr__(self) -> str:
        values = (f"{metric} {self[metric]:.4g}" for metric in _FEW_METRICS)
        return printable(f"RetrievalReport({self._sizes()}, {', '.join(values)})")


def _rows_of(metrics: Iterable[str]) -> list[str]:
    """Check the rows of a table; None stands for the default ones."""
    rows = unique_keys(metrics)
    for row in rows:
        parsed = read_key(row)
        if parsed != parsed.alone:
            expected = "metric[@k] as a row of a table"
            raise InputValueError("metrics", expected=expected, got=repr(row))
    return rows


def _adjusted(key: AnswerKey, value_under: Callable[[str], FloatArray]) -> FloatArray:
    """Adjust what a function of the order gives."""
    if key.adjustment in LEVELS:
        return value_under(key.adjustment)
    value = value_under(key.kind)
    if key.adjustment == NO_ADJUSTMENT:
        return value
    chance = value_under("chance")
    with np.errstate(divide="ignore", invalid="ignore"):
        if key.adjustment == "ratio":
            return value / chance
        room = value_under("optimum") - chance
        # where no order is better than another, what is left is rounding
        return (value - chance) / np.where(np.abs(room) <= 1e-14, np.nan, room)


@public("truerank.retrieval")
def report(
    ranks: Ranks,
    gains: npt.ArrayLike | None = None,
    *,
    queries: LabelsLike | None = None,
    gain: str = "linear",
    by: LabelsLike | None = None,
    misses: str = "zero",
) -> RetrievalReport:
    """Report the metrics of queries with several right answers, from the ranks of the answers.

    Parameters
    ----------
    ranks : Ranks
        A task for each right answer of each query: its place among all candidates of the query, of
        which the other right answers are not left out. Only answers that are wrong for certain, as
        items of the training data, may be filtered.
    gains : array_like of float, shape (n,), optional
        What each right answer counts for in dcg and ndcg: above 0, with a finite sum. Default: 1.
    queries : labels, optional
        The query of each task. Default: those of the ranks.
    gain : {"linear", "exponential", "binary"}
        What becomes of gains g: g (as in trec_eval), 2^g - 1 (Burges et al.: Learning to rank using
        gradient descent, 2005; g is at most 1000), 1.
    by : str or labels, optional
        Groups of queries: the name of a label of the ranks, or labels of the tasks.
    misses : {"zero", "bounds", "expected"}
        What a right answer counts for that its list misses, in ranks of lists. "zero": it adds
        nothing to any metric, as in trec_eval and ranx. Else all places that the list leaves are
        equally likely; the kinds optimistic and pessimistic have the first and the last of them
        ("bounds": what all scores would give lies between), or concern what is listed alone
        ("expected").

    Returns
    -------
    RetrievalReport

    Raises
    ------
    TypeError
        For anything but Ranks, and gains that are not numbers.
    ValueError
        For no tasks, ranks without labels of queries or with weights, gains that are NaN, infinite,
        0 or less, have no finite sum or are exponential and above 1000, and counts that cannot come
        from one ranking of a query's candidates: unlike numbers of candidates, ties that overlap or
        hold more right answers than places. Those come from right answers that are filtered or
        given twice, and of ranks of several models.

    Examples
    --------
    >>> import truerank as tr
    >>> scores = [[0.9, 0.1, 0.8, 0.8]]
    >>> ranks = tr.rank(scores, [0, 2], rows=[0, 0])
    >>> found = report(ranks, [1, 3], queries=["q", "q"])
    >>> found["map"], found["optimistic.map"], found["pessimistic.map"]
    (0.9166666666666666, 1.0, 0.8333333333333333)
    """
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
    choice("gain", gain, GAINS)
    choice("misses", misses, tuple(MISSES))
    if not len(ranks):
        raise InputValueError("ranks", expected="at least one right answer", got="none")
    if ranks.weights is not None:
        raise InputValueError("ranks", expected="no weights, as every query counts once")
    if queries is not None:
        ranks = ranks.with_labels(queries=queries)
    if ranks.queries is None:
        raise InputValueError("ranks", expected="labels of queries; give queries=...")
    protocol = ranks.protocol
    if protocol.split is not None and protocol.split in protocol.filter:
        expected = "ranks among which no right answer is filtered"
        raise InputValueError("ranks", expected=expected, got=f"ones filtered by {protocol.split}")
    return RetrievalReport(ranks, read_gains(gains, len(ranks), gain), by=by, misses=misses)


def read_gains(gains: object, length: int, gain: str) -> FloatArray | None:
    """Check the gains of right answers, and return what they count for; None: all the same."""
    if gains is None:
        return None
    array = checked_weights(gains, length=length, name="gains", each="right answer")
    most = _MOST_EXPONENT if gain == "exponential" else np.inf
    wrong = (array <= 0) | (array > most)
    if wrong.any():
        i = int(wrong.argmax())
        expected = f"numbers above 0{'' if most == np.inf else f', at most {most} as 2^g counts'}"
        raise InputValueError("gains", expected=expected, got=f"{array[i]} at position {i}")
    if gain == "binary":
        return None
    with np.errstate(over="ignore"):
        counted: FloatArray = 2.0**array - 1 if gain == "exponential" else array
        total = counted.sum()
    if not np.isfinite(total):
        got = f"up to {array.max()}"
        raise InputValueError("gains", expected="numbers whose sum is finite", got=got)
    return counted
