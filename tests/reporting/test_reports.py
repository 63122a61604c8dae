"""Test reports: sides, weights, chance, summaries."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Mapping

import numpy as np
import pytest

import truerank as tr
from support.example_ranks import everything
from support.query_reports import query_report
from support.refusals import refusal
from truerank import Ranks, Report, concatenate, report
from truerank.metrics import chance, values
from truerank.metrics.keys import RANK_KEYS, Key

# -- values ----------------------------------------------------------------------------------------


def test_sides_are_their_tasks(sided: Ranks) -> None:
    measured = report(sided)
    for kind in ("optimistic", "realistic", "pessimistic"):
        for name in ("mr", "mrr", "hits@4", "median", "amri"):
            assert measured[f"both.{kind}.{name}"] == measured[f"{kind}.{name}"]
            for side, part in (("head", sided[:3]), ("tail", sided[3:])):
                assert measured[f"{side}.{kind}.{name}"] == report(part)[f"{kind}.{name}"]
    assert measured.sides == ("both", "head", "tail")
    assert [measured.tasks(side) for side in measured.sides] == [5, 3, 2]
    assert measured.ranks is sided


def test_what_a_report_has_not(sided: Ranks) -> None:
    measured = report(sided)
    words = "no side 'tial' in these ranks; did you mean tail"
    refusal(KeyError, words, measured.__getitem__, "tial.mrr")
    refusal(KeyError, "did you mean optimistic", measured.__getitem__, "optimstic.mrr")
    words = r"'macro\.mrr': this report has no groups; .*by="
    refusal(KeyError, words, measured.__getitem__, "macro.mrr")
    refusal(KeyError, "no side 'left'", measured.tasks, "left")
    refusal(KeyError, "no side 'left'", measured.interval, "left.mrr")
    refusal(KeyError, "no side 'left'", measured.chance, "left.mr")
    refusal(KeyError, r"macro\.mr.*no chance model of its own", measured.chance, "macro.mr")
    assert (measured.groups, measured.by) == ({}, None)


def test_a_side_without_tasks_is_nan(sided: Ranks) -> None:
    measured = report(sided[:3])
    assert math.isnan(measured["tail.mrr"])
    assert measured.tasks("tail") == 0
    assert measured.sides == ("both", "head")
    empty = report(sided[:0])
    assert empty.sides == ("both",)
    assert math.isnan(empty["head.mrr"])
    assert math.isnan(empty["mrr"])


def test_relation_is_never_pooled(sided: Ranks) -> None:
    relation = Ranks([1], [1], 3, side="relation", protocol=sided.protocol)
    measured = report(concatenate([sided.with_labels(relation=None), relation]))
    assert measured.sides == ("both", "head", "tail", "relation")
    assert measured.tasks() == 5
    assert measured["mrr"] == report(sided)["mrr"]
    assert measured["relation.mr"] == 2
    assert measured.summary.tasks == 6
    alone = report(relation)
    assert alone.sides == ("relation",)
    assert alone["relation.mr"] == 2
    refusal(KeyError, r"only under its own name, as in 'relation\.mrr'", alone.__getitem__, "mrr")
    assert "both" not in alone.to_markdown()
    assert set(alone.to_dict()) == set(alone)
    assert "relation.mrr 0.5" in repr(alone)
    assert math.isnan(report(relation[:0])["mrr"])


def test_random_sides_agree_with_the_whole() -> None:
    ranks = Ranks([0] * 40, [30] * 40, 50, side=["head", "tail"] * 20)
    measured = report(ranks, seed=3)
    assert measured.seed == 3
    halves = measured["head.random.mr"] + measured["tail.random.mr"]
    assert measured["random.mr"] == pytest.approx(halves / 2)
    assert measured["random.mr"] == ranks.random(3).mean()
    assert measured["random.mr"] == report(ranks, seed=3)["random.mr"]
    assert measured["random.mr"] != report(ranks, seed=4)["random.mr"]


def test_wrong_arguments() -> None:
    refusal(TypeError, "ranks: expected Ranks or a Report, got str", report, "ranks.npz")
    refusal(TypeError, "ranks: expected Ranks or a Report, got list", Report, [1, 2])
    refusal(TypeError, "seed: expected an integer >= 0", report, everything(), seed=None)
    refusal(ValueError, "seed: expected an integer >= 0, got -1", report, everything(), seed=-1)
    refusal(TypeError, "ranks: expected names of sides", report, Ranks([0], [1], 5, side=[3]))


def test_a_mapping(sided: Ranks) -> None:
    measured = report(sided)
    assert isinstance(measured, Mapping)
    assert len(measured) == len(list(measured)) == len(dict(measured))
    assert len(measured) == 3 * 3 * len(RANK_KEYS.listed)
    listed = list(measured)[: len(RANK_KEYS.listed)]
    assert listed == [f"optimistic.{name}" for name in RANK_KEYS.listed]
    # further metrics may stand between these
    names = ["mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10", "hmr", "gmr", "median"]
    names += ["amr", "amri", "amrr", "ah@10", "zmrr"]
    assert [name for name in RANK_KEYS.listed if name in names] == names
    assert "tail.optimistic.hits@77" in measured
    assert "nonsense" not in measured
    assert 3 not in measured
    assert measured == report(sided)
    assert measured != report(sided, seed=1)
    assert measured != report(sided[1:])
    assert measured != dict(measured)
    assert pickle.loads(pickle.dumps(measured)) == measured


def test_summary(sided: Ranks) -> None:
    summary = report(sided).summary
    assert (summary, summary.tasks, summary.audit) == (report(sided).summary, 5, None)
    assert (summary.candidates_min, summary.candidates_max) == (9, 12)
    assert (summary.tied_tasks, summary.largest_tie, summary.mean_tie) == (1, 4, 4.0)
    nothing = report(Ranks([], [], 5)).summary
    assert (nothing.tasks, nothing.tied_tasks, nothing.largest_tie) == (0, 0, 1)
    assert math.isnan(nothing.mean_tie)
    assert report(Ranks([3], [1], 5)).summary.largest_tie == 1
    counts = {"nan": 3, "inf": 3, "at_best": 4, "differing": 0, "mismatched": 0}
    assert report(everything()).summary.audit == counts


# -- weights, chance, intervals --------------------------------------------------------------------


def test_weights_of_the_report(sided: Ranks) -> None:
    weights = [1, 2, 3, 4, 5]
    measured = report(sided, weights=weights)
    assert measured.ranks is sided
    assert measured.weights.tolist() == weights
    assert measured.weighting == "weighted"
    assert measured["tail.optimistic.mr"] == (4 * 2 + 5 * 1) / 9
    assert dict(measured) == dict(report(sided.with_weights(weights)))
    assert report(sided.with_weights(weights)).weighting == "weighted"
    assert (report(sided).weights, report(sided).weighting) == (None, "")
    assert measured != report(sided)
    assert measured == report(sided, weights=np.array(weights))


def test_weights_by_name(sided: Ranks) -> None:
    ranks = sided.with_labels(queries=[7, 7, 8, 7, 9], relation=["a", "b", "b", "b", "b"])
    measured = report(ranks, weights="query")
    assert measured.weights.tolist() == [0.5, 0.5, 1, 1, 1]  # query 7 is another query on each side
    assert measured.weighting == "each query counts once"
    assert report(ranks, weights="relation").weighting == "each relation counts once"
    assert report(ranks[:0], weights="queries").weighting == "each query counts once"
    assert measured["optimistic.mr"] == (0.5 * 1 + 0.5 * 4 + 6 + 2 + 1) / 4
    assert report(ranks, weights="relation").weights.tolist() == [1, 0.5, 0.5, 0.5, 0.5]
    refusal(ValueError, "weights: expected 5 numbers, one for each", report, ranks, weights=[1, 2])
    refusal(ValueError, "weights: expected at least one above 0", report, ranks, weights=[0] * 5)


def test_chance_is_that_of_the_side_and_its_weights(sided: Ranks) -> None:
    weights = np.array([1.0, 2, 3, 4, 5])
    measured = report(sided, weights=weights)
    tail = sided.candidates[3:]
    tail_weights = weights[3:]
    for metric in ("mr", "mrr", "hits@4", "gmr", "imr"):
        mean, variance = measured.chance(f"tail.{metric}")
        assert (mean, variance) == chance(metric, tail, tail_weights)
        optimistic, value = (measured[f"tail.{kind}{metric}"] for kind in ("optimistic.", ""))
        assert measured[f"tail.optimistic.ratio.{metric}"] == pytest.approx(optimistic / mean)
        z = (value - mean) / math.sqrt(variance)
        assert measured[f"tail.z.{metric}"] == pytest.approx(z)


def test_chance_is_computed_once_for_all_kinds_and_reports(
    sided: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def moments(key: Key, *arguments: object) -> tuple[float, float]:
        asked.append(key.metric)
        return 1.0, 1.0

    monkeypatch.setattr(values, "moments", moments)
    for kind in ("optimistic", "realistic", "pessimistic", "expected", "random"):
        for adjustment in ("ratio", "index", "z"):
            report(sided, seed=3)[f"{kind}.{adjustment}.mr"]
    assert asked == ["mr"]
    report(sided)["tail.amri"], report(sided)["amrr"], report(sided)["tail.amr"]
    assert asked == ["mr", "mr", "mrr"]
    report(sided, weights=[1, 1, 1, 1, 2])["amr"]
    assert asked == ["mr", "mr", "mrr", "mr"]


def test_interval_is_that_of_the_ranks_in_force(sided: Ranks) -> None:
    intervals = pytest.importorskip("truerank.inference.intervals")
    weights = [1, 2, 3, 4, 5]
    measured = report(sided, weights=weights, seed=4)
    for key in ("mrr", "tail.random.hits@3"):
        given = measured.interval(key, level=0.9, seed=2)
        weighed = sided.with_weights(weights)
        assert given == intervals.interval(weighed, key, level=0.9, seed=4)
        assert given.value == measured[key]


def test_several_keys_at_once(sided: Ranks) -> None:
    measured = report(sided)
    for keys in (["MRR", "tail.hits@3"], ("MRR", "tail.hits@3")):
        assert measured[keys] == {key: measured[key] for key in keys}
        found = measured.interval(keys)
        assert found == {key: measured.interval(key) for key in keys}
        assert measured.to_dict(keys) == measured[keys]
    assert measured[[]] == {}
    assert (measured.to_dict(), measured.to_dict("mrr")) == (dict(measured), measured[["mrr"]])
    refusal(TypeError, "metrics: expected several keys, got int", measured.to_dict, 3)
    answers = query_report(Ranks([0, 1], [1, 1], 10, queries=[0, 1]))
    assert answers[["mrr", "NDCG@2"]] == {"mrr": answers["mrr"], "NDCG@2": answers["ndcg@2"]}
    refusal(KeyError, "no metric 'mmr'", measured.__getitem__, ["mrr", "mmr"])
    refusal(TypeError, "key: expected keys, got int among them", measured.__getitem__, ["mr", 3])


def test_groups_that_there_are_not(sided: Ranks) -> None:
    measured = report(sided, by="side")
    assert "z" not in measured.groups
    assert list(measured.groups) == ["head", "tail"]
    assert report(sided).groups == {}
    words = "'Head': no group of the report, which has 'head', 'tail'$"
    refusal(KeyError, words, measured.groups.__getitem__, "Head")
    refusal(
        KeyError, "no group of the report, which has none$", report(sided).groups.__getitem__, 3
    )
    many = report(Ranks(range(11), [1] * 11, 20), by=range(11))
    refusal(KeyError, r"which has 0, 1, .*, 9, \.\.\.$", many.groups.__getitem__, 11)


def test_messages_name_large_numbers_by_their_digits(sided: Ranks) -> None:
    words = "^value: .* got an integer of about 5,001 digits$"
    refusal(ValueError, words, tr.adjust, "mr", 10**5000, candidates=[3])
    words = "k must be a whole number >= 1, got one of"
    refusal(KeyError, words, tr.chance, "hits@" + "9" * 5000, [3])
    words = "^metrics: expected several keys, got ndarray$"
    refusal(TypeError, words, report(sided).to_markdown, np.array(3))


def test_sides_may_have_long_names() -> None:
    measured = report(Ranks([0, 1], [1, 1], [5, 5], side=["m" * 5000, "tail"]))
    assert measured["m" * 5000 + ".amri"] == measured["m" * 5000 + ".index.mr"] == 1
    refusal(KeyError, "no side", measured.__getitem__, "m" * 10**6 + ".mrr")


def test_reports_of_reports(sided: Ranks) -> None:
    """A report stands for its ranks and weights; several are a list, which `table` takes."""
    measured = report(sided, weights=range(1, 1 + len(sided)))
    again = report(measured, by="side")
    assert again["mrr"] == measured["mrr"] != report(sided)["mrr"]
    assert again.by == "side"
    words = "ranks: expected Ranks or a Report, got list"
    refusal(TypeError, words, report, [report(sided), report(sided[1:])])


# -- evaluate --------------------------------------------------------------------------------------


def test_evaluate_is_rank_then_report() -> None:
    scores = np.array([[0.1, 0.9, 0.9, 0.5], [3.0, 2.0, 1.0, 0.0]])
    measured = tr.evaluate(scores, [1, 2], filter=[[2], []], audit=True)
    assert measured.ranks == tr.rank(scores, [1, 2], filter=[[2], []], audit=True)
    assert measured["mr"] == 2
    assert tr.evaluate(scores, [1, 2], order="ascending")["optimistic.mr"] == 2.5
    labelled = tr.evaluate(scores, [1, 2], side="tail", by=["likes", "knows"])
    expected = tr.rank(scores, [1, 2]).with_labels(side="tail")
    assert labelled == report(expected, by=["likes", "knows"])
    assert tr.evaluate(scores, [1, 2], side=["head", "tail"], by="side")["macro.mr"] == 2.25
    refusal(ValueError, "side: expected 2 labels", tr.evaluate, scores, [1, 2], side=["head"])
    options = [
        {p.name: (p.kind, p.default) for p in inspect.signature(function).parameters.values()}
        for function in (tr.evaluate, tr.rank)
    ]
    assert set(options[0]) == set(options[1]) | {"side", "by"}
    assert options[0].items() >= options[1].items()
