"""Test reports: keys, sides, weights, chance, what both units share, JSON; and what is refused."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import any_ranks, everything, query_report, sided_ranks
from support.refusals import refused
from truerank import Ranks, concatenate, report, table
from truerank.metrics import chance, chance_model
from truerank.metrics.keys import RANK_KEYS
from truerank.metrics.metric_table import MetricRow
from truerank.tables.forms import json_value

SIDED = report(sided_ranks())
MODELS = {"a": report(Ranks([0, 5], [1, 1], 20)), "b": report(Ranks([0, 2], [1, 1], 20))}
GROUPED = {name: report(model.ranks, by=["x", "y"]) for name, model in MODELS.items()}
OF_TEST = report(Ranks([0, 5], [1, 1], 20, protocol=tr.Protocol(split="test")))
OF_MANY = report(Ranks(range(11), [1] * 11, 20), by=range(11))
QUERIES = query_report(Ranks([0, 1], [1, 1], 10, queries=[0, 1]))

REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    # keys
    (lambda: SIDED["tial.mrr"], KeyError, "'tial.mrr'"),
    (lambda: SIDED["macro.mrr"], KeyError, "'macro.mrr'"),
    (lambda: QUERIES[["mrr", "mmr"]], KeyError, "'mmr'"),
    (lambda: SIDED.tasks("left"), KeyError, "'left'"),
    (lambda: SIDED.chance("macro.mr"), KeyError, "'macro.mr'"),
    (lambda: report(Ranks([1], [1], 3, side="relation"))["mrr"], KeyError, "'mrr'"),
    (lambda: report(Ranks([0], [1], 5, side=[3])), TypeError, "ranks"),
    # groups
    (lambda: GROUPED["a"].groups["X"], KeyError, "'X'"),
    (lambda: SIDED.group_values("mrr"), KeyError, "'mrr'"),
    (lambda: SIDED.group_tasks(), KeyError, "'group_tasks'"),
    (lambda: SIDED.macro_left_out("mrr"), KeyError, "'mrr'"),
    (lambda: GROUPED["a"]["macro.zmr"], KeyError, "'macro.zmr'"),
    (lambda: GROUPED["a"].group_tasks("left"), KeyError, "'left'"),
    (lambda: report(sided_ranks(), by="degree"), ValueError, "by"),
    (lambda: report(sided_ranks(), weights="target"), ValueError, "weights"),
    # weights
    (lambda: report(sided_ranks(), weights=[0] * 5), ValueError, "weights"),
    (lambda: tr.evaluate([[0.1, 0.9]] * 2, [1, 1], side=["head"]), ValueError, "side"),
    (lambda: tr.adjust("mr", 10**5000, candidates=[3]), ValueError, "value"),
    # columns and rows of a table
    (lambda: SIDED.table(["tail.mrr"], sides=["tail"]), ValueError, "sides"),
    (lambda: SIDED.table(["optimistic.mrr"], kinds="all"), ValueError, "kinds"),
    (lambda: SIDED.table(sides=["left"]), KeyError, "'left'"),
    (lambda: SIDED.to_csv(kinds=["optimist"]), KeyError, "'optimist'"),
    # tables of models
    (lambda: table([]), ValueError, "reports"),
    (lambda: table({}), ValueError, "reports"),
    (lambda: table({"a": [SIDED.ranks]}), TypeError, "reports['a']"),
    (lambda: table({"a": SIDED.ranks}), TypeError, "reports['a']"),
    (lambda: table({3: SIDED}), TypeError, "reports"),
    (lambda: table([MODELS["a"], OF_TEST]), ValueError, "reports"),
    (lambda: table({"a": [MODELS["a"], OF_TEST]}), ValueError, "reports['a']"),
    (lambda: table(MODELS, ["expected.mr"], kinds="all"), ValueError, "metrics"),
    (lambda: table(MODELS, ["mr"], kinds=["expect"]), KeyError, "'expect'"),
    (lambda: table(MODELS, ["expected.mad"]), KeyError, "'expected.mad'"),
    (lambda: table(MODELS, groups=True), ValueError, "groups"),
    (lambda: table(GROUPED, groups=True, unit=np.arange(2)), TypeError, "unit"),
    (lambda: table(GROUPED, ["macro.mr"], groups=True), ValueError, "metrics"),
    (lambda: table(MODELS, against="c"), ValueError, "against"),
    (lambda: table({"a": SIDED}, against="best"), ValueError, "against"),
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SIDED["tial.mrr"], "no side 'tial' in these ranks; did you mean tail"),
        (
            lambda: SIDED["macro.mrr"],
            r"no groups; report\(ranks, by=labels\).group_values\(key\) has the values",
        ),
        (lambda: OF_MANY.groups[11], r"which has 0, 1, .*, 9, \.\.\.$"),
        (lambda: table({"a": SIDED}, ["left.mr"]), r"no side 'left' .*\(of 'a'\)"),
    ],
)
def test_messages_name_what_there_is(call: Callable[[], object], words: str) -> None:
    with pytest.raises(KeyError, match=words):
        call()


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
    assert report(sided[:0]).sides == ("both",)
    heads = report(sided[:3])
    assert heads.sides == ("both", "head")
    assert (math.isnan(heads["tail.mrr"]), heads.tasks("tail")) == (True, 0)
    long = report(Ranks([0, 1], [1, 1], [5, 5], side=["m" * 5000, "tail"]))
    assert long["m" * 5000 + ".amri"] == long["m" * 5000 + ".index.mr"] == 1


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
    assert "both" not in alone.to_markdown()
    assert set(alone.to_dict()) == set(alone)
    assert "relation.mrr 0.5" in repr(alone)
    assert math.isnan(report(relation[:0])["mrr"])


def test_a_mapping(sided: Ranks) -> None:
    measured = report(sided)
    names = RANK_KEYS.listed
    assert len(measured) == 3 * 3 * len(names)
    assert list(measured)[: len(names)] == [f"optimistic.{name}" for name in names]
    assert "tail.optimistic.hits@77" in measured
    assert "nonsense" not in measured
    assert 3 not in measured
    assert measured == report(sided)
    for other in (report(sided, seed=1), report(sided[1:]), report(sided, by="side")):
        assert measured != other
    assert measured != dict(measured)
    assert report(everything(), unit="task") != query_report(everything().with_weights(None))


def test_several_keys_at_once(sided: Ranks) -> None:
    measured = report(sided)
    for keys in (["MRR", "tail.hits@3"], ("MRR", "tail.hits@3")):
        assert measured[keys] == {key: measured[key] for key in keys}
        assert measured.interval(keys) == {key: measured.interval(key) for key in keys}
        assert measured.to_dict(keys) == measured[keys]
    assert measured[[]] == {}
    many = [f"hits@{k}" for k in range(1, 30_000)]  # They are made unique in linear time.
    assert list(measured.to_dict(many + many)) == many


def test_summary(sided: Ranks) -> None:
    summary = report(sided).summary
    assert (summary.tasks, summary.audit) == (5, None)
    assert (summary.candidates_min, summary.candidates_max) == (9, 12)
    assert (summary.tied_tasks, summary.largest_tie, summary.mean_tie) == (1, 4, 4.0)
    nothing = report(Ranks([], [], 5)).summary
    assert (nothing.tasks, nothing.tied_tasks, nothing.largest_tie) == (0, 0, 1)
    assert math.isnan(nothing.mean_tie)
    assert report(Ranks([3], [1], 5)).summary.largest_tie == 1
    counts = {"nan": 3, "inf": 3, "at_best": 4, "differing": 0, "mismatched": 0}
    assert report(everything()).summary.audit == counts


# -- seeds, weights, chance ------------------------------------------------------------------------


def test_random_ranks_are_drawn_by_the_seed_for_all_sides_groups_and_intervals() -> None:
    sides = ["head", "tail"] * 20
    ranks = Ranks([0] * 40, [30] * 40, 50, side=sides)
    reports = [report(ranks, seed=seed, by=sides) for seed in (3, 4)]
    first = reports[0]
    assert first["random.mr"] == ranks.random(3).mean() != reports[1]["random.mr"]
    halves = [first["head.random.mr"], first["tail.random.mr"]]
    assert first["random.mr"] == pytest.approx(sum(halves) / 2)
    assert [group["random.mr"] for group in first.groups.values()] == halves
    assert list(first.group_values("random.mr").values()) == halves
    assert first.groups["head"].interval("random.mr").value == halves[0]
    drawn = [each["random.mr"] for each in reports]
    assert [each.interval("random.mr").value for each in reports] == drawn
    assert tr.inference.interval(reports, "random.mr").value == pytest.approx(np.mean(drawn))


def test_weights_of_the_report(sided: Ranks) -> None:
    weights = [1, 2, 3, 4, 5]
    measured = report(sided, weights=weights)
    assert measured.ranks is sided
    assert measured.weights.tolist() == weights
    assert measured.weighting == "weighted"
    assert measured["tail.optimistic.mr"] == (4 * 2 + 5 * 1) / 9
    assert measured.chance("tail.mr") == chance("mr", sided.candidates[3:], np.array([4.0, 5]))
    assert dict(measured) == dict(report(sided.with_weights(weights)))
    assert (report(sided).weights, report(sided).weighting) == (None, "")
    assert measured != report(sided)
    interval = measured.interval("tail.hits@3", level=0.9)
    assert interval == tr.inference.interval(sided.with_weights(weights), "tail.hits@3", level=0.9)
    again = report(measured, by="side")  # A report stands for its ranks and weights.
    assert again["mrr"] == measured["mrr"] != report(sided)["mrr"]


def test_chance_is_computed_once_for_all_kinds_and_reports(
    sided: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = []

    def moments(metric: MetricRow, *arguments: object) -> tuple[float, float]:
        metrics.append(metric.name)
        return 1.0, 1.0

    monkeypatch.setattr(chance_model, "task_moments", moments)
    for kind in ("optimistic", "realistic", "pessimistic", "expected", "random"):
        for adjustment in ("ratio", "index", "z"):
            report(sided, seed=3)[f"{kind}.{adjustment}.mr"]
    report(sided)["tail.amri"], report(sided)["amrr"], report(sided)["tail.amr"]
    report(sided, weights=[1, 1, 1, 1, 2])["amr"]
    assert metrics == ["mr", "mr", "mrr", "mr"]


RANKS = Ranks(
    [0, 3, 1, 9], [1] * 4, 10, queries=["a", "b", "c", "d"], relation=["x", "y", "x", "y"]
)


@pytest.mark.parametrize(
    "result",
    [
        report(RANKS, by="relation"),
        query_report(RANKS, by="relation"),
        tr.compat.report([[0.5, 0.5, 0.1]], [0], preset="openke"),
    ],
)
def test_all_are_mappings_from_keys_to_numbers(result: Any) -> None:
    keys = list(result)
    assert isinstance(result, Mapping)
    assert result._ipython_key_completions_() == keys
    assert str(result.to_dict()) == str(dict(result))
    assert str(result[keys[:2]]) == str(result.to_dict(keys[:2])) == str(result[tuple(keys[:2])])
    assert all(isinstance(value, float) for value in result.to_dict().values())
    for copied in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert str(dict(copied)) == str(dict(result))
        assert copied.to_text() == result.to_text()


# What other programs read in objects of the JSON; a later version may have more.
FORM = {
    "summary": ["tasks", "candidates_min", "candidates_max", "tied_tasks", "largest_tie", "audit"],
    "protocol": ["filter", "candidates", "sampled", "nan", "split", "order", "dtype", "files"],
    "groups": ["by", "labels", "tasks", "metrics"],
}


def test_json_keeps_its_form() -> None:
    made = report(sided_ranks().with_weights([1, 1, 1, 1, 2]), by="relation")
    content = json.loads(made.to_json(["mrr", "tail.hits@1", "tail.pessimistic.mr", "macro.mr"]))
    assert (content["kind"], content["format"]) == ("truerank.report", 1)
    for name, keys in FORM.items():
        assert content[name].keys() >= set(keys)
    assert content["metrics"] == {
        "mrr": pytest.approx((1 + 1 / 4 + 1 / 6 + 1 / 3.5 + 2) / 6, rel=1e-14),
        "tail.hits@1": 2 / 3,
        "tail.pessimistic.mr": (5 + 2) / 3,
        "macro.mr": made["macro.mr"],
    }
    assert content["sides"] == {"both": 5, "head": 3, "tail": 2}
    assert content["groups"]["tasks"]["tail"] == [1, 0, 1]
    assert list(content["groups"]["metrics"]) == ["mrr", "tail.hits@1", "tail.pessimistic.mr"]
    assert content["groups"]["metrics"]["tail.hits@1"] == [0, None, 1]
    assert [each["name"] for each in content["findings"]] == ["ties", "few candidates"]
    assert list(content["findings"][0]) == ["name", "count", "message"]


@given(any_ranks(), st.sampled_from([None, "mod", "side"]), st.integers(0, 3))
@example(everything(), None, 0)
@example(everything()[:0], "side", 0)
@example(sided_ranks(), "side", 3)
@example(Ranks([0, 1], [1, 1], 3, side="relation"), "mod", 0)
def test_json_holds_what_the_report_says(ranks: Ranks, by: Any, seed: int) -> None:
    if by == "mod" or ranks.side is None:
        by = np.arange(len(ranks)) % 3
    measured = report(ranks, by=by, seed=seed)
    assert pickle.loads(pickle.dumps(measured)) == copy.deepcopy(measured) == measured
    content = json.loads(measured.to_json())
    assert content["metrics"] == json_value(dict(measured))
    assert content["fingerprint"] == measured.protocol.fingerprint
    assert (content["seed"], content["weighting"]) == (seed, measured.weighting)
    assert content["sides"] == {side: measured.tasks(side) for side in content["sides"]}
    assert content["summary"]["tied_tasks"] == measured.summary.tied_tasks
    assert content["findings"] == json_value([*map(vars, measured.audit())])
    groups = content["groups"]
    if by is None:
        assert groups is None
        return
    assert (groups["by"], groups["labels"]) == (measured.by, json_value(list(measured.groups)))
    for side, tasks in groups["tasks"].items():
        assert tasks == list(measured.group_tasks(side).values())
    for key, column in groups["metrics"].items():
        assert measured.read_key(key).kind == "realistic"
        assert column == json_value(list(measured.group_values(key).values()))


def test_evaluate_is_rank_then_report() -> None:
    scores = np.array([[0.1, 0.9, 0.9, 0.5], [3.0, 2.0, 1.0, 0.0]])
    measured = tr.evaluate(scores, [1, 2], filter=[[2], []], audit=True)
    assert measured.ranks == tr.rank(scores, [1, 2], filter=[[2], []], audit=True)
    assert measured["mr"] == 2
    assert tr.evaluate(scores, [1, 2], order="ascending")["optimistic.mr"] == 2.5
    labelled = tr.evaluate(scores, [1, 2], side="tail", by=["likes", "knows"])
    ranks = tr.rank(scores, [1, 2]).with_labels(side="tail")
    assert labelled == report(ranks, by=["likes", "knows"])
    assert tr.evaluate(scores, [1, 2], side=["head", "tail"], by="side")["macro.mr"] == 2.25
    options = [
        {p.name: (p.kind, p.default) for p in inspect.signature(function).parameters.values()}
        for function in (tr.evaluate, tr.rank)
    ]
    assert set(options[0]) == set(options[1]) | {"side", "by"}
    assert options[0].items() >= options[1].items()
