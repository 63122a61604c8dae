"""The evaluator in PyKEEN's pipeline, stoppers and loops, and its errors."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pykeen", reason="PyKEEN is not installed")

import torch
from pykeen.evaluation import LCWAEvaluationLoop, RankBasedEvaluator
from pykeen.metrics.ranking import ArithmeticMeanRank, rank_based_metric_resolver
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

import truerank as tr
from support.environment import ROOT
from support.pykeen_models import data_set, evaluated, known, trained
from support.refusals import refusal
from truerank.adapters.pykeen import RankEvaluator, RankResults, evaluate_model, find_key
from truerank.metrics.keys import parse

pytestmark = [
    # torch warns in PyKEEN's training that there is no accelerator
    pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning"),
    # PyKEEN warns about itself
    pytest.mark.filterwarnings("ignore:Training instances are always shuffled:DeprecationWarning"),
]

QUIET = {"use_tqdm": False}


def run(evaluator: Any, **options: Any) -> Any:
    """Run a pipeline, which differs from PyKEEN's in one argument."""
    return pipeline(
        dataset="nations",
        model="distmult",
        model_kwargs={"embedding_dim": 8},
        training_kwargs={"num_epochs": 4, **QUIET},
        evaluation_kwargs=QUIET,
        evaluator=evaluator,
        random_seed=1,
        **options,
    )


def test_one_line_of_a_pipeline(tmp_path: Path) -> None:
    ours = run("rank")
    theirs = run(None)
    assert isinstance(ours.metric_results, RankResults)
    mine = ours.metric_results.to_flat_dict()
    other = theirs.metric_results.to_flat_dict()
    assert list(mine) == list(other)
    for name in ("hits@10", "both.realistic.inverse_harmonic_mean_rank", "tail.optimistic.mr"):
        assert ours.get_metric(name) == pytest.approx(theirs.get_metric(name), rel=1e-6)
    assert ours.metric_results.report["mrr"] == ours.get_metric("mrr")
    assert len(ours.metric_results.ranks) == 402
    ours.save_to_directory(tmp_path)
    saved = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["metrics"]
    assert saved["both"]["realistic"]["inverse_harmonic_mean_rank"] == ours.get_metric("mrr")
    again = pickle.loads(pickle.dumps(ours.metric_results))
    assert again.report["mrr"] == ours.get_metric("mrr")


def test_the_pipeline_and_evaluate_model_name_their_filters_alike() -> None:
    """So that they can be compared: the protocols are those of one task."""
    ran = run(RankEvaluator())
    data = data_set("nations")
    known = {"train": data.training, "valid": data.validation}
    by_pipeline = ran.metric_results.report
    alone = evaluate_model(ran.model, data.testing, known=known)
    assert by_pipeline.protocol.filter == ("train", "valid", "test") == alone.protocol.filter
    assert by_pipeline.protocol.fingerprint == alone.protocol.fingerprint
    one, two = (factory.mapped_triples for factory in known.values())
    for given, filter in (
        (None, ("test",)),
        (one, ("known_0", "test")),
        ([one, two], ("train", "valid", "test")),
    ):
        result = evaluated(RankEvaluator(), ran.model, data, additional_filter_triples=given)
        assert result.report.protocol.filter == filter
    compared = tr.compare(by_pipeline, alone, metric="mrr")
    assert compared.estimate == by_pipeline["mrr"] - alone["mrr"] == 0


def test_any_key_of_a_report_is_a_metric() -> None:
    """PyKEEN's names come first."""
    stopper = {"frequency": 1, "patience": 9, "metric": "expected.mrr"}
    ran = run("truerank", stopper="early", stopper_kwargs=stopper)
    assert len(ran.stopper.results) == 4
    result = ran.metric_results
    report = ran.metric_results.report
    assert len(result.ranks) == 402  # of the test alone, after those of the stopper
    for key in ("expected.mrr", "tail.optimistic.hits@7", "index.hits@3", "power_mean:2", "z.mr"):
        assert result.get_metric(key) == report[key]
    assert result.key_to_string("tail.expected.ah@3") == "tail.expected.index.hits@3"
    assert result.get_metric("zmr") == -report["zmr"]  # PyKEEN's
    refusal(KeyError, "no metric 'mmr'", result.get_metric, "mmr")


def test_restrictions_equal_those_of_pykeen() -> None:
    data = data_set("nations")
    model = trained("distmult")
    options = {"restrict_entities_to": (0, 2, 3, 5, 7, 8, 11), "pre_filtered_triples": False}
    options["restrict_relations_to"] = tuple(range(30))
    both = RankEvaluator(), RankBasedEvaluator()
    ours, theirs = (evaluated(evaluator, model, data, **options) for evaluator in both)
    assert both[0].num_entities == both[1].num_entities > 0
    assert 0 < len(ours.ranks) < 402
    # all of seven candidates are in the top ten: adjusted hits are nan here, but a number in PyKEEN
    mine = dict(ours.to_flat_dict())
    other_values = theirs.to_flat_dict()
    undefined = {name for name, value in mine.items() if np.isnan(value)}
    assert {name.rpartition(".")[2] for name in undefined} == {"z_hits_at_k", "adjusted_hits_at_k"}
    for key, value in mine.items():
        assert key in undefined or value == pytest.approx(other_values[key], rel=1e-5, abs=1e-5)
    for name in ("entities", "relations"):
        words = r"^mapped_triples: expected only triples of the restr"
        other = {f"restrict_{name}_to": {0}}
        refusal(ValueError, words, evaluated, RankEvaluator(), model, data, **other)


@pytest.mark.filterwarnings("ignore:Passed additional filter triples")
@pytest.mark.parametrize("target", ["both", "relation"])
def test_evaluation_loops_pass_scores_to_it(target: str) -> None:
    data = data_set("nations")
    model = trained("distmult")
    targets = {"targets": ("relation",)} if target == "relation" else {}
    found = []
    for evaluator in (RankEvaluator(), RankBasedEvaluator()):
        options = {"evaluator": evaluator, "additional_filter_triples": known(data), **targets}
        loop = LCWAEvaluationLoop(triples_factory=data.testing, model=model, **options)
        found.append(loop.evaluate(batch_size=64, use_tqdm=False, pin_memory=False))
        assert getattr(evaluator, "_batches", []) == []
    ours, theirs = (result.to_flat_dict() for result in found)
    assert list(ours) == list(theirs)
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5)
    sides = {"both": ("tail", "head"), "relation": ("relation",)}[target]
    assert set(found[0].ranks.side.vocabulary) == set(sides)
    assert found[0].report.protocol.filter == ("known",)


def test_batches_of_scores_are_kept_until_it_is_cleared() -> None:
    evaluator = RankEvaluator(clear_on_finalize=False)
    assert evaluator.num_entities is None
    scores = torch.arange(30.0).reshape(5, 6) % 7
    batch = torch.stack([torch.arange(5), torch.arange(5) % 2, torch.arange(5)], dim=1)
    for _ in range(3):
        evaluator.process_scores_(batch, "tail", scores)
    assert evaluator.num_entities == 6
    found = evaluator.finalize()
    expected = tr.rank(scores.numpy(), batch[:, 2].numpy(), nan="omit")
    assert np.array_equal(found.ranks.above, np.tile(expected.above, 3))
    assert np.array_equal(found.ranks.relation.values, np.tile(batch[:, 1], 3))
    evaluator.clear()
    assert repr(evaluator) == "RankEvaluator(0 tasks)"


def test_confidence_intervals_of_pykeen_find_the_ranks() -> None:
    found = []
    for made in (RankEvaluator, RankBasedEvaluator):
        evaluator = made(clear_on_finalize=False)
        evaluator.metrics = evaluator.metrics[:1]
        evaluated(evaluator, trained("distmult"), data_set("nations"))
        assert evaluator.num_entities == 14
        found.append(evaluator.finalize_with_confidence(n_boot=5))
    assert found[0].keys() == found[1].keys()
    for name, (middle, _) in found[0].items():
        assert middle == pytest.approx(found[1][name][0], rel=1e-5, abs=1e-5)


class Third(ArithmeticMeanRank):  # type: ignore[misc]
    """A third of the mean rank, which PyKEEN and truerank do not have."""

    key = "third"

    def __call__(self, ranks: Any, num_candidates: Any = None, weights: Any = None) -> float:
        return float(np.mean(ranks)) / 3


def test_foreign_metrics_are_called_with_the_ranks() -> None:
    evaluator = RankEvaluator(metrics=[Third()], add_defaults=False)
    result = evaluated(evaluator, trained("distmult"), data_set("nations"))
    for (side, kind, name), value in result.data.items():
        assert name == "third"
        assert value == pytest.approx(result.report[f"{side}.{kind}.mr"] / 3)


def test_refusals() -> None:
    """A factory made only from labels numbers its own entities in its own order."""
    data = data_set("nations")
    model = trained("distmult")
    turned = {label: 13 - i for label, i in data.training.entity_to_id.items()}
    made = TriplesFactory.from_labeled_triples
    ids = {"relation_to_id": data.training.relation_to_id}
    other = made(data.training.triples, entity_to_id=turned, **ids)
    for wrong, words in (
        ({"model": "distmult"}, "model: "),
        ({"triples": data}, "test: "),
        ({"triples": made(data.testing.triples[:30])}, "triples: "),
        ({"sides": ("relation",)}, "sides: "),
        ({"progress": 1}, "progress: "),
        ({"known": {"train": other}}, "known: train: .* whose entity 13 is 'ussr'"),
    ):
        right = {"model": model, "triples": data.testing}
        refusal((TypeError, ValueError), f"^{words}", evaluate_model, **right | wrong)
    refusal(TypeError, "at least one Ranks", RankEvaluator().finalize)
    call = RankEvaluator(fused=False), model, data
    for targets in (("relation",), "tail", ()):
        refusal((TypeError, ValueError), "^targets: ", evaluated, *call, targets=targets)
    refusal(ValueError, "^batch_size: ", evaluated, *call, batch_size=0)


def test_the_page_has_the_short_names_of_pykeen() -> None:
    page = ROOT / "docs" / "reference" / "metrics.md"
    rows = re.findall(r"^\| (`.*) \| (.*`.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 5
    for names, keys in rows:
        for some, key in zip(names.split(";"), keys.split(";"), strict=True):
            for name in re.findall("`(.+?)`", some):
                made = rank_based_metric_resolver.lookup(name)
                pykeens, sign = find_key(made(k=10) if "Hits" in made.__name__ else made())
                (word,) = re.findall("`(.+?)`", key)
                assert str(parse(pykeens)) == str(parse(word.replace("@k", "@10"))), name
                assert sign == (-1 if "minus" in key else 1)
