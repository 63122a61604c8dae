"""RankProvider beside the provider of ir_measures that calls pytrec_eval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

ir_measures = pytest.importorskip("ir_measures", reason="a provider of ir_measures")

from ir_measures import (  # noqa: E402
    AP,
    RR,
    Bpref,
    IPrec,
    P,
    R,
    Rprec,
    SetP,
    Success,
    nDCG,
)

from support.refusals import refusal, refused  # noqa: E402
from truerank.adapters.ir_measures import RankProvider, provider  # noqa: E402

MEASURES = [P @ 5, P(rel=2) @ 10, R @ 10, R(rel=3) @ 3, RR, RR(rel=2), AP, AP @ 7, AP(rel=2) @ 100]
MEASURES += [nDCG, nDCG @ 5, nDCG(gains={1: 3, 2: 5}) @ 10, Rprec, Rprec(rel=2), Success @ 1]
MEASURES += [Success(rel=3) @ 5, nDCG(judged_only=True) @ 10, AP(judged_only=True)]


def values(using: Any, qrels: Any, run: Any, measures: Any = MEASURES) -> dict[Any, float]:
    metrics = using.iter_calc(measures, qrels, run)
    return {(metric.query_id, metric.measure): metric.value for metric in metrics}


def drawn(documents: int, listed: int, levels: int) -> tuple[Any, Any]:
    """Qrels of q0 to q19, grades 0 to 3, the last without any; lists of q1 to q20."""
    rng = np.random.default_rng(documents)
    qrels = {}
    run = {}
    for i in range(20):
        names = [f"d{j}" for j in rng.permutation(documents)]
        grades = rng.integers(0, 4, 15) * (i < 19)
        qrels[f"q{i}"] = dict(zip(names, grades.tolist(), strict=False))
        scores = rng.permutation(np.arange(listed) % levels) / 4
        rng.shuffle(names)
        run[f"q{i + 1}"] = dict(zip(names, scores.tolist(), strict=False))
    return qrels, run


@pytest.mark.parametrize(("documents", "listed"), [(30, 30), (60, 20), (40, 1)])
def test_values_are_those_of_ir_measures(documents: int, listed: int) -> None:
    qrels, run = drawn(documents, listed, levels=10**6)
    expected = values(ir_measures.pytrec_eval, qrels, run)
    assert values(provider, qrels, run) == pytest.approx(expected, abs=1e-12)
    expected = values(ir_measures.msmarco, qrels, run, [RR @ 3])
    assert values(provider, qrels, run, [RR @ 3]) == pytest.approx(expected, abs=1e-12)
    same = nDCG(dcg="exp-log2") @ 5, nDCG(gains={1: 1, 2: 3, 3: 7}) @ 5
    mean = provider.calc_aggregate(same, qrels, run)
    assert mean[same[0]] == pytest.approx(mean[same[1]], abs=1e-12)


def test_negative_relevance_is_unjudged_as_for_trec_eval() -> None:
    """With `judged_only` such documents leave the lists; without it they are not relevant."""
    rng = np.random.default_rng(1)
    named = [f"d{j}" for j in range(10)]
    qrels = {}
    run = {}
    for i in range(40):
        grades = rng.integers(-2, 3, 6).tolist()
        qrels[f"q{i}"] = dict(zip(named, grades, strict=False))
        run[f"q{i}"] = dict(zip(named, rng.permutation(10).tolist(), strict=True))
    plain = [P @ 3, R @ 3, RR, AP, AP @ 3, nDCG, nDCG @ 3, Rprec, Success @ 1]
    plain += [nDCG(gains={1: 3, 2: -1, -1: 0}) @ 5]
    plain += [measure(rel=2) for measure in plain if measure.NAME != "nDCG"]
    every = plain + [measure(judged_only=True) for measure in plain]
    expected = values(ir_measures.pytrec_eval, qrels, run, every)
    assert values(provider, qrels, run, every) == pytest.approx(expected, abs=1e-12)


def test_unsupported_measures_are_refused_as_by_peers() -> None:
    """A measure, or a parameter of one; before any run is read."""
    for measure in (SetP, Bpref, IPrec @ 0.5, P, P(depth=3) @ 5, nDCG(dcg="ln")):
        refusal(ValueError, measure.NAME, provider.evaluator, [RR, measure], {"q": {"d": 1}})
    refused(TypeError, "measures", provider.evaluator, ["RR"], {"q": {"d": 1}})


def test_ties_are_between_the_best_and_the_worst_order() -> None:
    qrels, run = drawn(60, 50, levels=7)
    kinds = ("pessimistic", "expected", "optimistic")
    low, mean, high = (values(RankProvider(kind), qrels, run) for kind in kinds)
    for key, value in values(ir_measures.pytrec_eval, qrels, run).items():
        assert low[key] - 1e-12 <= min(value, mean[key])
        assert max(value, mean[key]) <= high[key] + 1e-12


def test_reports_and_errors() -> None:
    evaluator = provider.evaluator([RR, AP], {"q": {"d": 0}, "r": {"d": 1}})
    run = {"q": {"d": 1.0}, "r": {"d": 0.5}}
    assert evaluator.calc_aggregate(run) == {RR: 0.5, AP: 0.5}
    assert (evaluator.reports[RR].queries, evaluator.reports[AP]["map"]) == (["r"], 1)
    assert evaluator.calc_aggregate({}) == {RR: 0, AP: 0}
    refused(ValueError, "run", evaluator.calc_aggregate, {"r": {"d": float("nan")}})
    refused(TypeError, "run", evaluator.calc_aggregate, {"r": {"d": "high"}})
    refused(ValueError, "kind", RankProvider, "mean")


def test_two_relevances_of_one_document_are_refused() -> None:
    """As in judgements of subtopics, of which the last line counted; `Task` refuses them, too."""
    Qrel = ir_measures.Qrel
    lines = [Qrel("q", "a", 1), Qrel("q", "b", 0), Qrel("q", "a", 0)]
    words = "^qrels: expected one relevance for each pair, got "
    for qrels in (lines, iter(lines[::-1])):
        refusal(ValueError, words, provider.evaluator, [AP], qrels)
    provider.evaluator([AP], [*lines[:2], lines[0]])
