"""The evaluator: a `RankBasedEvaluator` of PyKEEN that takes ranks and metrics from truerank."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults, evaluator_resolver
from pykeen.evaluation.rank_based_evaluator import RankBasedMetricKey
from pykeen.metrics import ranking
from pykeen.triples.triples_factory import restrict_triples
from pykeen.typing import RANK_TYPES
from pykeen.utils import camel_to_snake

from ...counting.ranking import rank
from ...inputs.checks import several
from ...inputs.errors import InputError, InputValueError
from ...inputs.naming import import_extra, public
from ...metrics.keys import NEGATED, NO_ADJUSTMENT, PYKEEN_NAMES, Key
from ...ranks.container import Ranks, concatenate
from ...reporting import Report, report
from ...tables.cells import format_count
from .factories import triple_ids
from .model_tasks import ModelTask, number_of_entities

if TYPE_CHECKING:
    import torch

    from ...inputs.words import NanRule


OWN_METRICS: Mapping[type[Any], tuple[str, str, str]] = {
    made: (name, *PYKEEN_NAMES[name])
    for made in vars(ranking).values()
    if isinstance(made, type) and (name := camel_to_snake(made.__name__)) in PYKEEN_NAMES
}


def key_of(metric: Any) -> tuple[str, float] | None:
    """Return the key of a metric of PyKEEN and its sign there, or None for a foreign metric.

    PyKEEN negates z if less is better, so that more is always better.

    Examples
    --------
    >>> key_of(ranking.HitsAtK(k=3)), key_of(ranking.ZArithmeticMeanRank())
    (('hits@3', 1.0), ('z.mr', -1.0))
    """
    if type(metric) not in OWN_METRICS:
        return None
    name, adjustment, word = OWN_METRICS[type(metric)]
    of_ranks = metric if adjustment == NO_ADJUSTMENT else metric.base
    parameter = getattr(of_ranks, "k", 0)
    return str(Key(word, parameter, adjustment)), -1.0 if name in NEGATED else 1.0


def values_of(measured: Report, metrics: Iterable[Any]) -> dict[Any, float]:
    """Return the values of metrics under PyKEEN's keys, in its order.

    Parameters
    ----------
    given : Report
        The report of heads, tails, both, or relations.
    metrics : iterable of pykeen.metrics.RankBasedMetric
        Metrics that are not PyKEEN's own are called with the ranks.

    Returns
    -------
    dict of RankBasedMetricKey to float
        If PyKEEN has one name for several metrics (adjusted_hits_at_k for every k), the last one
        counts.
    """
    last = {metric.key: metric for metric in metrics}
    reports = {side: measured for side in measured.sides if side != "both"} | {
        "both": _pooled(measured)
    }
    values = {}
    for name, metric in last.items():
        known = key_of(metric)
        for kind in RANK_TYPES:
            for side, of_side in reports.items():
                if known is None:
                    value = _call_metric(metric, of_side, kind, side)
                else:
                    value = known[1] * of_side[f"{side}.{kind}.{known[0]}"]
                values[RankBasedMetricKey(side=side, rank_type=kind, metric=name)] = value
    return values


def _pooled(measured: Report) -> Report:
    """Return a report whose "both" has all tasks, as in PyKEEN; ours leaves out relations."""
    ranks = measured.ranks
    if "relation" not in measured.sides:
        return measured
    return report(Ranks(ranks.above, ranks.tied, ranks.candidates))


def by_side(ranks: Ranks) -> dict[str, Ranks]:
    """Split ranks by their side.

    Examples
    --------
    >>> from truerank import Ranks
    >>> by_side(Ranks([0, 3], [1, 1], 10, side=["tail", "tail"]))["tail"].optimistic
    array([1, 4])
    """
    sides = np.asarray([] if ranks.side is None else ranks.side.values)
    return {str(side): ranks[sides == side] for side in np.unique(sides)}


def _call_metric(metric: Any, measured: Report, kind: str, side: str) -> float:
    """Compute a metric that is not PyKEEN's own from the ranks."""
    ranks = measured.ranks if side == "both" else by_side(measured.ranks)[side]
    value = metric(ranks=getattr(ranks, kind), num_candidates=ranks.candidates, weights=None)
    return float(value)


__all__ = ["RankEvaluator", "RankResults"]

logger = logging.getLogger(__name__)

_COLUMNS = {"head": 0, "relation": 1, "tail": 2}  # of the predicted id in a triple


@public("truerank.adapters.pykeen")
class RankResults(RankBasedMetricResults):
    """Results under PyKEEN's names, as in `RankBasedMetricResults`, with values of truerank.

    Parameters
    ----------
    report : Report
    metrics : iterable of pykeen.metrics.RankBasedMetric

    Attributes
    ----------
    report : Report
        All metrics under truerank's keys, also by group and with intervals, and the protocol.
    ranks : Ranks
        The counts of every task, with its side, relation, query and target.
    """

    def __init__(self, report: Report, metrics: Iterable[Any]) -> None:
        super().__init__(data=values_of(report, metrics))
        self.report = report

    @property
    def ranks(self) -> Ranks:
        """The ranks of the report."""
        return self.report.ranks

    def __repr__(self) -> str:
        return repr(self.report).replace("Report", type(self).__name__, 1)

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@public("truerank.adapters.pykeen")
class RankEvaluator(RankBasedEvaluator):
    """An evaluator for PyKEEN's pipeline: ``pipeline(..., evaluator=RankEvaluator)``.

    It accepts the arguments of `pykeen.evaluation.RankBasedEvaluator`, and gives results under the
    same names. Importing this module also registers it in PyKEEN as "rank" and "truerank".

    Parameters
    ----------
    filtered : bool
        Whether known answers are left out: those in the evaluated triples and in
        `additional_filter_triples`.
    fused : bool, optional
        As in `evaluate_model`. True: the model's vectors are scored and counted without storing
        scores. False: its own scores are ranked. None: vectors, for each side that allows it.
    nan : {"raise", "worst", "omit"}
        What to do with scores that are NaN, as in `truerank.rank`.
    candidates : optional
        As in `truerank.link_prediction.Task`, such as ``Sampled(50)``.
    threads : int, optional
        As in `truerank.rank`.
    audit : bool
        As in `truerank.rank`.
    known_names : sequence of str
        The names in the protocol of the tensors that a list in `additional_filter_triples` has, in
        their order. Default: those of the training and the validation triples, which is the order
        of PyKEEN's pipeline. A list of more tensors than names, and a tensor alone, which may join
        several splits, have the names known_0, known_1, ...
    **kwargs
        Arguments of `RankBasedEvaluator`: `metrics`, `metrics_kwargs`, `add_defaults`,
        `clear_on_finalize`, `batch_size`, `slice_size`, `mode`.

    Notes
    -----
    Unlike PyKEEN's evaluator, it can also evaluate unfiltered. Realistic ranks and means are
    float64, and infinite scores count as scores.

    Examples
    --------
    >>> import logging
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> logging.getLogger("pykeen").setLevel(logging.ERROR)
    >>> nations = Nations()
    >>> model = DistMult(triples_factory=nations.training, embedding_dim=8, random_seed=0)
    >>> result = RankEvaluator().evaluate(
    ...     model,
    ...     nations.testing.mapped_triples,
    ...     additional_filter_triples=[nations.training.mapped_triples],
    ...     use_tqdm=False,
    ... )
    >>> result.get_metric("mrr") == result.report["mrr"]
    True
    >>> result.get_metric("tail.optimistic.hits@10") == result.report["tail.optimistic.hits@10"]
    True
    >>> RankEvaluator(nan="worst")
    RankEvaluator(filtered, nan worst: 0 tasks)
    """

    metric_result_cls = RankResults

    def __init__(
        self,
        filtered: bool = True,
        *,
        fused: bool | None = None,
        nan: NanRule = "raise",
        candidates: Any = None,
        threads: int | None = None,
        audit: bool = False,
        known_names: Sequence[str] = ("train", "valid"),
        **kwargs: Any,
    ) -> None:
        super().__init__(filtered=filtered, **kwargs)
        self.known_names = tuple(several("known_names", known_names, "names"))
        self.fused = fused
        self.candidates = candidates
        self.rules: dict[str, Any] = {"nan": nan, "threads": threads, "audit": audit}
        self._batches: list[Ranks] = []

    def __repr__(self) -> str:
        rules = "filtered" if self.filtered else "unfiltered", f"nan {self.rules['nan']}"
        tasks = format_count(sum(map(len, self._batches)), "task")
        return f"{type(self).__name__}({', '.join(rules)}: {tasks})"

    def evaluate(
        self,
        model: Any,
        mapped_triples: Any,
        batch_size: int | None = None,
        slice_size: int | None = None,
        device: torch.device | None = None,
        use_tqdm: bool = True,
        tqdm_kwargs: Mapping[str, Any] | None = None,
        restrict_entities_to: Collection[int] | None = None,
        restrict_relations_to: Collection[int] | None = None,
        do_time_consuming_checks: bool = True,
        additional_filter_triples: Any = None,
        pre_filtered_triples: bool = True,
        targets: Collection[str] = ("head", "tail"),
    ) -> RankResults:
        """Evaluate a model on triples, with the arguments of PyKEEN's evaluators.

        Raises
        ------
        TypeError, ValueError
            As `evaluate_model` does, and for triples that `restrict_entities_to` and
            `restrict_relations_to` do not allow.
        """
        start = time.perf_counter()
        restrictions = {"entities": restrict_entities_to, "relations": restrict_relations_to}
        if not pre_filtered_triples:
            mapped_triples = restrict_triples(mapped_triples, **restrictions)
        triples = triple_ids(mapped_triples)
        if pre_filtered_triples and do_time_consuming_checks:
            _check_restricted(triples, **restrictions)
        try:
            task = ModelTask(
                triples,
                _known_triples(additional_filter_triples, self.known_names)
                if self.filtered
                else None,
                entities=number_of_entities(model, self.mode),
                relations=int(model.num_real_relations),
                sides=targets,
                candidates=self._candidates_among(restrict_entities_to),
            )
        except InputError as error:
            raise error.of("targets" if error.argument == "sides" else error.argument) from error
        model = model if device is None else model.to(device)
        queries = sum(len(side.queries) for side in task.sides.values())
        with _progress_bar(model.device, queries, use_tqdm, tqdm_kwargs) as bar:
            measured = task.evaluate_model(
                model,
                fused=self.fused,
                batch_size=batch_size,
                slice_size=slice_size,
                mode=self.mode,
                progress=bar.update,
                **self.rules,
            )
        self.clear()
        # PyKEEN scores only the entities that a restriction leaves
        self.num_entities = (
            number_of_entities(model, self.mode)
            if restrict_entities_to is None
            else len(restrict_entities_to)
        )
        self._add(measured.ranks)
        result = self.finalize()
        logger.info("Evaluation took %.2fs seconds", time.perf_counter() - start)
        return result

    def process_scores_(
        self,
        hrt_batch: Any,
        target: str,
        scores: Any,
        true_scores: Any = None,
        dense_positive_mask: Any = None,
    ) -> None:
        """Rank a batch of scores (b, candidates) that the caller filtered by writing NaN.

        PyKEEN's evaluation loops call it, such as `LCWAEvaluationLoop`.

        Raises
        ------
        ValueError
            For a true score that is NaN. For other scores, it cannot be known whether NaN comes
            from the filter or from the model.
        """
        triples = triple_ids(hrt_batch)
        answers = triples[:, _COLUMNS[target]]
        rules = {**self.rules, "nan": "omit"}
        ranks = rank(scores, answers, **rules)
        self.num_entities = scores.shape[1]
        ranks = ranks.with_protocol(filter=() if true_scores is None else ("known",))
        self._add(ranks.with_labels(side=target, relation=triples[:, 1], targets=answers))

    def clear(self) -> None:
        """Delete the ranks."""
        super().clear()
        self._batches.clear()

    def finalize(self) -> RankResults:
        """Return the results of all ranks.

        Raises
        ------
        ValueError
            If there are no ranks.
        """
        if not self._batches:
            raise ValueError("expected scores to have been processed, got none")
        result = RankResults(report(concatenate(self._batches)), self.metrics)
        if self.clear_on_finalize:
            self.clear()
        return result

    def _add(self, ranks: Ranks) -> None:
        """Store ranks, also in the attributes from which PyKEEN computes confidence intervals."""
        self._batches.append(ranks)
        for side, part in by_side(ranks).items():
            self.num_candidates[side].append(part.candidates)
            for kind in RANK_TYPES:
                self.ranks[side, kind].append(getattr(part, kind))

    def _candidates_among(self, entities: Collection[int] | None) -> Any:
        if entities is None:
            return self.candidates
        if self.candidates is not None:
            raise InputValueError(
                "restrict_entities_to", expected="None beside candidates of the evaluator"
            )
        return np.asarray(list(entities), dtype=np.int64)


def _known_triples(given: Any, names: Sequence[str]) -> Any:
    """Convert additional triples, one tensor or several, to the form that a task takes."""
    if given is None:
        return {}
    if not isinstance(given, (list, tuple)):
        return [triple_ids(given)]
    parts = [triple_ids(part) for part in given]
    return dict(zip(names, parts, strict=False)) if len(parts) <= len(names) else parts


def _check_restricted(triples: Any, **restrictions: Collection[int] | None) -> None:
    for (name, allowed), columns in zip(restrictions.items(), ([0, 2], [1]), strict=True):
        if allowed is not None and not np.isin(triples[:, columns], list(allowed)).all():
            raise InputValueError(
                f"restrict_{name}_to",
                expected=f"triples of these {name} only; "
                "pre_filtered_triples=False leaves out the others",
            )


def _progress_bar(device: Any, total: int, shown: bool, options: Mapping[str, Any] | None) -> Any:
    bar = {"desc": f"Evaluating on {device}", "total": total, "unit": "query", "unit_scale": True}
    tqdm = import_extra("tqdm.auto", "truerank.adapters.pykeen", "pykeen").tqdm
    return tqdm(**{**bar, "disable": not shown, **(options or {})})


# Makes it available by name, like PyKEEN's own evaluators: evaluator="rank".
evaluator_resolver.register(RankEvaluator, synonyms={"truerank"}, raise_on_conflict=False)
