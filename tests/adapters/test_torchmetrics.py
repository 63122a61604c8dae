"""TrueRankMetric compared with `rank`, for any batches, processes and devices."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr

torch = pytest.importorskip("torch", reason="a metric of torch")
torchmetrics = pytest.importorskip("torchmetrics", reason="a metric of torchmetrics")

from support.examples import examples  # noqa: E402
from support.refusals import refusal, refused  # noqa: E402
from truerank.adapters.torchmetrics import TrueRankMetric  # noqa: E402

RNG = np.random.default_rng(11)
SCORES = RNG.integers(0, 40, (60, 50)).astype(np.float32)
TARGETS = RNG.integers(0, 50, 60)
FILTER = [RNG.integers(0, 50, 4).tolist() for _ in range(60)]
KEYS = ("mrr", "pessimistic.hits@10", "amri", "median")


def updated(metric: Any, start: int, stop: int, **keywords: Any) -> Any:
    """Update the metric with a batch of the scores, and return it."""
    scores = torch.from_numpy(SCORES[start:stop])
    targets = torch.from_numpy(TARGETS[start:stop])
    metric.update(scores, targets, filter=FILTER[start:stop], **keywords)
    return metric


def values(ranks: tr.Ranks, keys: Any = KEYS, **options: Any) -> dict[str, float]:
    report = tr.report(ranks, **options)
    return {key: report[key] for key in keys}


@given(st.lists(st.integers(0, 60), max_size=5), st.sampled_from(["descending", "ascending"]))
@examples(30)
def test_batches_give_the_ranks_of_the_whole(cuts: list[int], order: str) -> None:
    metric = TrueRankMetric(KEYS, order=order)
    bounds = [0, 60]
    bounds.extend(cuts)
    for start, stop in itertools.pairwise(sorted(bounds)):
        updated(metric, start, stop)
    expected = tr.rank(SCORES, TARGETS, filter=FILTER, order=order)
    assert metric.ranks == expected
    assert metric.compute() == values(expected)
    assert all(type(value) is float for value in metric.compute().values())
    assert all(part.dtype == torch.int64 for part in metric.counts)


def test_sides_groups_and_queries() -> None:
    keys = ("mrr", "tail.mrr", "head.hits@10", "macro.mrr")
    metric = TrueRankMetric(keys, sides=("head", "tail"), by="relation")
    ids = np.arange(60) // 7
    updated(metric, 0, 25, side="tail", relation=ids[:25], queries=torch.from_numpy(ids[:25] * 2))
    updated(metric, 25, 60, side="head", relation=ids[25:], queries=ids[25:] * 2)
    side = ["tail"] * 25 + ["head"] * 35
    expected = tr.rank(SCORES, TARGETS, filter=FILTER)
    expected = expected.with_labels(side=side, relation=ids, queries=ids * 2)
    assert metric.compute() == values(expected, keys, by="relation")
    assert metric.report(by="side")["macro.mrr"] == tr.report(expected, by="side")["macro.mrr"]
    assert metric.ranks.queries.same_as(expected.queries)
    assert metric.report(weights="query")["mrr"] == tr.report(expected, weights="query")["mrr"]


def test_ids_count_once() -> None:
    metric = TrueRankMetric(KEYS, sides=("head", "tail"))
    updated(metric, 30, 60, side="tail", tasks=np.arange(30, 60))
    updated(metric, 0, 35, side="tail", tasks=np.arange(35))  # as a sampler that pads
    updated(metric, 0, 5, side="head", tasks=np.arange(5))
    tail, head = (tr.rank(SCORES[:n], TARGETS[:n], filter=FILTER[:n]) for n in (60, 5))
    assert metric.ranks == tr.concatenate(
        [head.with_labels(side="head"), tail.with_labels(side="tail")]
    )


def test_bootstrapped_repeats_count() -> None:
    """With ids and without, where no row of a resample is left out."""
    batch = torch.from_numpy(SCORES), torch.from_numpy(TARGETS)
    results = []
    for ids in ({}, {"tasks": torch.arange(len(SCORES))}):
        torch.manual_seed(0)
        metric = torchmetrics.wrappers.BootStrapper(TrueRankMetric("mrr"), 50)
        metric.update(*batch, **ids)
        results.append({name: float(value) for name, value in metric.compute().items()})
    plain, with_ids = results
    assert with_ids == pytest.approx(plain, rel=1e-12)
    assert plain["std"] > 0


def test_a_wrapper_that_loses_the_state() -> None:
    lost = torchmetrics.wrappers.Running(TrueRankMetric("mrr"), 3)
    lost.update(torch.from_numpy(SCORES), torch.from_numpy(TARGETS))
    refusal(ValueError, "^counts: expected the state of all updates, got no state", lost.compute)


def test_refusals() -> None:
    """A refused update changes nothing."""
    refusal(KeyError, "mrrr", TrueRankMetric, ["mrrr"])
    refused(ValueError, "order", TrueRankMetric, order="up")
    refused(ValueError, "by", TrueRankMetric, by="groups")
    refused(ValueError, "side", TrueRankMetric, sides=("tail", "tail"))
    metric = updated(TrueRankMetric(KEYS, sides=("tail",)), 0, 10)
    wrong = SCORES[10:20].copy()
    wrong[1, 2] = np.nan
    batch = (SCORES[10:20], TARGETS[10:20])
    refused(ValueError, "side", metric.update, *batch, side="head")
    refused(ValueError, "tasks", metric.update, *batch, tasks=[1])
    refusal(ValueError, "^scores: a score at row 1, column 2 is", metric.update, wrong, batch[1])
    assert len(metric.ranks) == 10
    metric.update(*batch)  # without the filter of the others
    refusal(ValueError, "^update: expected the same rules, and a filter", metric.compute)


# --- one key: a scalar


def test_one_key_gives_a_scalar_tensor() -> None:
    metric = updated(TrueRankMetric("mrr"), 0, 60)
    expected = values(tr.rank(SCORES, TARGETS, filter=FILTER))["mrr"]
    found = metric.compute()
    assert isinstance(found, torch.Tensor)
    assert (found.shape, found.dtype, found.item()) == ((), torch.float64, expected)
    assert metric(SCORES[:5], TARGETS[:5]).item() == tr.evaluate(SCORES[:5], TARGETS[:5])["mrr"]
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        assert math.isnan(TrueRankMetric("mrr").compute().item())


def test_which_values_are_better() -> None:
    """So that trackers and the monitors of Lightning know the best epoch."""
    assert TrueRankMetric("mrr").higher_is_better is True
    assert TrueRankMetric("mr").higher_is_better is False
    assert TrueRankMetric("std").higher_is_better is None
    assert TrueRankMetric().higher_is_better is None
    tracker = torchmetrics.MetricTracker(TrueRankMetric("mr"))
    means = []
    for start in (0, 30):
        batch = SCORES[start : start + 30], TARGETS[start : start + 30]
        tracker.increment()
        tracker.update(*batch)
        means.append(tr.evaluate(*batch)["mr"])
    assert tracker.best_metric() == min(means)


def test_plots() -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="drawings of matplotlib")
    plt.switch_backend("agg")
    metric = TrueRankMetric("mrr")
    steps = [metric(SCORES[i : i + 20], TARGETS[i : i + 20]) for i in (0, 20, 40)]
    _, axes = metric.plot(steps)
    assert list(axes.get_lines()[0].get_ydata()) == list(map(float, steps))
    assert axes.get_ylabel() == "mrr"
    assert metric.plot(None, ax=axes) == (None, axes)
    plt.close("all")


# --- what torchmetrics requires of a metric


def test_state_dict_forward_and_merge() -> None:
    metric = updated(updated(TrueRankMetric(KEYS), 0, 10), 10, 60)
    metric.persistent(True)
    other = TrueRankMetric(KEYS)
    other.persistent(True)
    other.load_state_dict(metric.state_dict())
    for copy in (other, metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert copy.ranks == metric.ranks
    other.reset()
    for start in (0, 30):  # forward gives the values of the batch, and keeps the sum
        batch = SCORES[start : start + 30], TARGETS[start : start + 30]
        assert other(*batch) == values(tr.rank(*batch))
    with torch.device("meta"):  # a default device changes nothing
        assert other.compute() == values(tr.rank(SCORES, TARGETS))
    metric.merge_state(updated(TrueRankMetric(KEYS), 0, 60))
    assert len(metric.ranks) == 120
    metric.merge_state(updated(TrueRankMetric(KEYS, nan="omit"), 0, 10))
    refusal(ValueError, "the same rules", metric.report)


def test_collections() -> None:
    metrics = {"all": TrueRankMetric(["mrr"]), "same": TrueRankMetric(["mr"])}
    metrics["omit"] = TrueRankMetric(["mr"], nan="omit")  # the same counts if no score is NaN
    collection = torchmetrics.MetricCollection(metrics)
    collection.update(torch.from_numpy(SCORES), torch.from_numpy(TARGETS))
    assert sorted(map(sorted, collection.compute_groups.values())) == [["all", "same"], ["omit"]]
    expected = tr.evaluate(SCORES, TARGETS)
    values = collection.compute()
    assert (values["all_mrr"], values["same_mr"]) == (expected["mrr"], expected["mr"])


# --- processes


def test_a_failed_report_leaves_the_metric_unsynced() -> None:
    twice = {"distributed_available_fn": lambda: True, "dist_sync_fn": lambda x, group: [x, x]}
    metric = updated(TrueRankMetric(KEYS, **twice), 0, 30)
    refusal(ValueError, "groups", metric.report, by="groups")
    updated(metric, 30, 60)
    assert len(metric.ranks) == 60
    assert len(metric.report().ranks) == 120


def test_without_sync_a_process_waits_for_no_other() -> None:
    def never(*args: Any, **keywords: Any) -> Any:
        raise AssertionError("asked the others")

    alone = {"distributed_available_fn": lambda: True, "dist_sync_fn": never}
    metric = updated(TrueRankMetric(KEYS, sync_on_compute=False, **alone), 0, 60)
    assert values(metric.report().ranks) == metric.compute()


SHARES: dict[str, list[tuple[int, int]]] = {
    "uneven": [(0, 45), (45, 60)],
    "one has none": [(0, 60), (0, 0)],
}


def of_process(rank: int, folder: str) -> None:
    """Run one of two processes, which writes its results to a file."""
    meeting = {"init_method": f"file://{folder}/meeting", "timeout": timedelta(minutes=2)}
    torch.distributed.init_process_group("gloo", **meeting, rank=rank, world_size=2)
    found: dict[str, Any] = {}
    for name, shares in SHARES.items():
        start, stop = shares[rank]
        metric = TrueRankMetric(KEYS, sides=("head", "tail"))
        for first in range(start, stop, 10):
            last = min(first + 10, stop)
            updated(metric, first, last, side="tail", tasks=np.arange(first, last))
        if stop and rank:
            updated(metric, 0, 5, side="tail", tasks=np.arange(5))  # padding
        whole = metric.report()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a process may have had no update
            found[name] = metric.compute(), whole.ranks, len(metric.ranks)
    Path(folder, f"found-{rank}").write_bytes(pickle.dumps(found))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    other = torch.multiprocessing.get_context("spawn").Process(
        target=of_process, args=(1, str(tmp_path))
    )
    other.start()
    of_process(0, str(tmp_path))
    other.join()
    assert other.exitcode == 0
    expected = tr.rank(SCORES, TARGETS, filter=FILTER).with_labels(side="tail")
    for rank in range(2):
        found = pickle.loads((tmp_path / f"found-{rank}").read_bytes())
        for name, (computed, ranks, count) in found.items():
            start, stop = SHARES[name][rank]
            padding = 5 if rank and start else 0
            assert count == stop - start + padding, name
            assert computed == values(expected), name
            assert ranks == expected, name


def test_a_batch_without_tasks() -> None:
    both = ("mrr", "macro.mrr")
    for keys, by in ((("mrr",), None), (both, "relation"), (both, "query")):
        metric = TrueRankMetric(keys, by=by)
        found = metric(SCORES[:0], TARGETS[:0], relation=[], queries=[])
        assert all(map(math.isnan, found.values()))
        metric.update(SCORES, TARGETS, relation=[1] * 60, queries=range(60))
        assert metric.compute()["mrr"] == tr.evaluate(SCORES, TARGETS)["mrr"]
