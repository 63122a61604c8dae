"""Reports: sides, summaries, and their text."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given

import truerank as tr
from example_ranks import any_ranks, everything
from truerank import Protocol, Ranks, Report, concatenate, report


@pytest.fixture
def sided() -> Ranks:
    """Three head tasks, two tail tasks, one of which ties."""
    return Ranks(
        [0, 3, 5, 1, 0],
        [1, 1, 1, 4, 1],
        [9, 9, 9, 12, 12],
        side=["head", "head", "head", "tail", "tail"],
        protocol=Protocol(filter=("train", "valid"), split="test"),
    )


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


def test_weights_of_a_side(sided: Ranks) -> None:
    measured = report(sided.with_weights([1, 2, 3, 4, 5]))
    assert measured["optimistic.mr"] == (1 + 8 + 18 + 8 + 5) / 15
    assert measured["tail.optimistic.mr"] == (8 + 5) / 9


def test_missing_side(sided: Ranks) -> None:
    with pytest.raises(
        KeyError, match="no side 'tial' in these ranks, which have both, head, tail"
    ):
        report(sided)["tial.mrr"]
    with pytest.raises(KeyError, match="did you mean tail"):
        report(sided)["tial.mrr"]
    with pytest.raises(KeyError, match="did you mean optimistic"):
        report(sided)["optimstic.mrr"]
    with pytest.raises(KeyError, match="no side 'tail' in these ranks, which have both;"):
        report(Ranks([0], [1], 5))["tail.mrr"]
    with pytest.raises(KeyError, match="no side 'tail'"):
        report(Ranks([0], [1], 5)).tasks("tail")


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
    measured = report(concatenate([sided, relation]))
    assert measured.sides == ("both", "head", "tail", "relation")
    assert measured.tasks() == 5
    assert measured["mrr"] == report(sided)["mrr"]
    assert measured["relation.mr"] == 2
    assert measured.summary.tasks == 6
    alone = report(relation)
    assert alone.sides == ("relation",)
    assert alone["relation.mr"] == 2
    with pytest.raises(KeyError, match=r"only under its own name, as in 'relation\.mrr'"):
        alone["mrr"]
    assert "both" not in alone.to_markdown()
    assert set(alone.to_dict()) == set(alone)
    assert "relation.mrr 0.5" in repr(alone)
    assert math.isnan(report(relation[:0])["mrr"])


@pytest.mark.parametrize(
    "name", ["both", "index", "optimistic", "expected", "macro", "mr", "a.b", ""]
)
def test_sides_that_no_key_can_tell(name: str) -> None:
    with pytest.raises(ValueError, match="a key cannot tell the side"):
        report(Ranks([0], [1], 5, side=[name]))


def test_sides_need_names() -> None:
    with pytest.raises(TypeError, match="ranks: expected names of sides"):
        report(Ranks([0], [1], 5, side=[3]))
    assert report(Ranks([], [], 5, side=[])).sides == ("both",)


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
    with pytest.raises(TypeError, match="ranks: expected Ranks, got list"):
        report([1, 2])
    with pytest.raises(TypeError, match="seed: expected an integer >= 0, got NoneType"):
        report(everything(), seed=None)
    with pytest.raises(ValueError, match="seed: expected an integer >= 0, got -1"):
        report(everything(), seed=-1)


def test_a_mapping(sided: Ranks) -> None:
    measured = report(sided)
    assert isinstance(measured, Mapping)
    assert len(measured) == len(list(measured)) == len(dict(measured)) == 3 * 3 * 11
    assert next(iter(measured)) == "optimistic.mr"
    assert "mrr" in list(measured)
    assert "tail.optimistic.hits@77" in measured
    assert "nonsense" not in measured
    assert 3 not in measured
    assert measured.get("nonsense") is None
    assert all(isinstance(value, float) for value in measured.values())
    assert measured == report(sided)
    assert measured != report(sided, seed=1)
    assert measured != report(sided[1:])
    assert measured != dict(measured)
    assert pickle.loads(pickle.dumps(measured)) == measured


def test_summary(sided: Ranks) -> None:
    summary = report(sided).summary
    assert summary == report(sided).summary
    assert summary.tasks == 5
    assert summary.sides == {"head": 3, "tail": 2}
    assert (summary.candidates_min, summary.candidates_max) == (9, 12)
    assert (summary.tied_tasks, summary.tied_share) == (1, 0.2)
    assert (summary.largest_tie, summary.mean_tie) == (4, 4.0)
    assert summary.spread["mr"] == pytest.approx(-3 / 5)
    assert summary.spread["mrr"] == pytest.approx((1 / 2 - 1 / 5) / 5)
    assert summary.spread["hits@10"] == 0
    assert summary.audit is None


def test_summary_of_nothing_and_of_no_ties() -> None:
    nothing = report(Ranks([], [], 5)).summary
    assert (nothing.tasks, nothing.tied_tasks, nothing.largest_tie) == (0, 0, 1)
    assert math.isnan(nothing.tied_share)
    assert math.isnan(nothing.mean_tie)
    assert math.isnan(nothing.spread["mrr"])
    plain = report(Ranks([3], [1], 5)).summary
    assert (plain.tied_share, plain.largest_tie, plain.spread["mrr"]) == (0, 1, 0)


def test_summary_of_an_audit() -> None:
    assert report(everything()).summary.audit == {"nan": 3, "inf": 3, "at_best": 4}
    assert "3 NaN, 3 infinite; 4 at the best score" in report(everything()).to_markdown()


# -- text ------------------------------------------------------------------------------------------


def test_repr(sided: Ranks) -> None:
    assert repr(report(sided)) == (
        f"Report(5 tasks, 1 tied, mrr {report(sided)['mrr']:.4g}, hits@10 1, "
        f"amri {report(sided)['amri']:.4g})"
    )


def test_dict(sided: Ranks) -> None:
    measured = report(sided)
    assert measured.to_dict(["tail.amri", "hits@2"]) == {
        "tail.amri": measured["tail.index.mr"],
        "hits@2": measured["hits@2"],
    }
    flat = measured.to_dict()
    assert list(flat) == list(measured)
    assert flat["tail.pessimistic.amri"] == measured["tail.pessimistic.index.mr"]
    with pytest.raises(KeyError, match="no metric 'mmr'"):
        measured.to_dict(["mmr"])
    with pytest.raises(TypeError, match="metrics: expected several keys, got the str 'mrr'"):
        measured.to_dict("mrr")


def test_json(sided: Ranks) -> None:
    measured = report(sided, seed=7)
    content = json.loads(measured.to_json())
    assert content["kind"] == "truerank.report"
    assert content["format"] == 1
    assert content["metrics"] == measured.to_dict()
    assert content["protocol"]["filter"] == ["train", "valid"]
    assert content["fingerprint"] == sided.protocol.fingerprint
    assert content["summary"]["sides"] == {"head": 3, "tail": 2}
    assert content["seed"] == 7
    assert "\n" not in measured.to_json(["mrr"], indent=None)


def test_nan_is_null_in_json() -> None:
    content = json.loads(report(Ranks([], [], 5)).to_json(), parse_constant=pytest.fail)
    assert content["metrics"]["mrr"] is None
    assert content["summary"]["spread"]["mrr"] is None


def test_csv(sided: Ranks) -> None:
    measured = report(sided)
    rows = list(csv.DictReader(io.StringIO(measured.to_csv())))
    assert len(rows) == 3 * 11
    for row in rows:
        assert int(row["tasks"]) == measured.tasks(row["side"])
        for kind in ("optimistic", "realistic", "pessimistic"):
            assert float(row[kind]) == measured[f"{row['side']}.{kind}.{row['metric']}"]
    text = measured.to_csv(["index.mr"], sides=["tail"], kinds=["random"])
    assert text == f"side,tasks,metric,random\ntail,2,index.mr,{measured['tail.random.amri']!r}\n"


def test_markdown(sided: Ranks) -> None:
    assert report(sided).to_markdown(["mr", "hits@2"], sides=["both", "tail"]) == (
        "5 tasks (head 3 + tail 2), 9 to 12 candidates; split test, filtered by train + valid, all "
        "candidates, nan raise (fingerprint 9ecc1e72cdf27f17).\n"
        "1 of 5 tasks tie (20 %): 4 candidates at most, 4 on average. Optimistic minus "
        "pessimistic: mr -0.6, mrr 0.06, hits@1 0, hits@10 0.\n"
        "\n"
        "| both (5 tasks) | optimistic | realistic | pessimistic |\n"
        "| :--- | ---: | ---: | ---: |\n"
        "| mr | 2.8 | 3.1 | 3.4 |\n"
        "| hits@2 | 0.6 | 0.4 | 0.4 |\n"
        "\n"
        "| tail (2 tasks) | optimistic | realistic | pessimistic |\n"
        "| :--- | ---: | ---: | ---: |\n"
        "| mr | 1.5 | 2.25 | 3 |\n"
        "| hits@2 | 1 | 0.5 | 0.5 |\n"
    )


def test_markdown_says_what_matters(sided: Ranks) -> None:
    plain = Ranks([3], [1], 5)
    assert "No task ties: all kinds of rank agree." in report(plain).to_markdown()
    assert "1 task, 5 candidates;" in report(plain).to_markdown()
    assert "weighted" in report(plain.with_weights([2])).to_markdown()
    assert report(sided)._repr_markdown_() == report(sided).to_markdown()
    assert "| mr | nan |" in report(plain[:0]).to_markdown(["mr"], kinds=["realistic"])
    assert "0 tasks;" in report(plain[:0]).to_markdown()
    odd = report(Ranks([3], [1], 5, side="a|b", protocol=Protocol(filter="x|y")))
    assert "| a\\|b (1 task) |" in odd.to_markdown()
    assert "| mr | 1.33 |" in report(Ranks([0, 0, 1], [1, 1, 1], 5)).to_markdown(
        ["mr"], kinds=["realistic"], digits=3
    )


@pytest.mark.parametrize("render", ["to_csv", "to_markdown"])
def test_wrong_axes(sided: Ranks, render: str) -> None:
    draw = getattr(report(sided), render)
    with pytest.raises(ValueError, match=r"metrics: expected \[adjustment.\]metric\[@k\]"):
        draw(["tail.mrr"])
    with pytest.raises(ValueError, match=r"metrics: expected \[adjustment.\]metric\[@k\]"):
        draw(["optimistic.mrr"])
    with pytest.raises(KeyError, match="no metric 'mmr'"):
        draw(["mmr"])
    with pytest.raises(KeyError, match="no side 'left'"):
        draw(sides=["left"])
    with pytest.raises(KeyError, match="no such kind of rank; did you mean optimistic"):
        draw(kinds=["optimist"])
    with pytest.raises(TypeError, match="sides: expected several keys"):
        draw(sides="tail")


@given(any_ranks())
def test_any_ranks_can_be_told(ranks: Ranks) -> None:
    measured = report(ranks)
    assert isinstance(repr(measured), str)
    assert len(measured.to_markdown().split("\n")) > 10
    json.loads(measured.to_json(), parse_constant=pytest.fail)
    rows = list(csv.reader(io.StringIO(measured.to_csv())))
    assert {len(row) for row in rows} == {6}
    assert len(rows) == 1 + 11 * len(measured.sides)


# -- evaluate --------------------------------------------------------------------------------------


def test_evaluate_is_rank_then_report() -> None:
    scores = np.array([[0.1, 0.9, 0.9, 0.5], [3.0, 2.0, 1.0, 0.0]])
    measured = tr.evaluate(scores, [1, 2], filter=[[2], []], audit=True)
    assert isinstance(measured, Report)
    assert measured.ranks == tr.rank(scores, [1, 2], filter=[[2], []], audit=True)
    assert measured["mr"] == 2
    assert tr.evaluate(scores, [1, 2], order="ascending")["optimistic.mr"] == 2.5


def test_evaluate_has_the_options_of_rank() -> None:
    options = [
        {p.name: (p.kind, p.default) for p in inspect.signature(function).parameters.values()}
        for function in (tr.evaluate, tr.rank)
    ]
    assert options[0] == options[1]
