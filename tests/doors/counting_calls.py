"""Good calls of what counts, and of Ranks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from doors.calls import Call

SCORES = [[0.5, 0.25, 1.0], [0.125, 0.75, 0.5], [1.0, 0.0, 0.25]]
TARGETS = [0, 1, 2]
VECTORS = [[0.5, 0.25], [1.0, 0.5], [0.25, 1.0]]


def a_counter() -> tr.RankCounter:
    """Return a counter that misses the last of three candidates."""
    counter = tr.RankCounter([0.5, 0.75], targets=[0, 1], candidates=3)
    counter.update([[0.5, 0.25], [0.125, 0.75]], start=0)
    return counter


def of_a_fresh_counter(method: str) -> Callable[..., Any]:
    """Return a method as a function that calls it of a counter of its own."""
    of_class = getattr(tr.RankCounter, method)

    def call(**arguments: Any) -> Any:
        return getattr(a_counter(), method)(**arguments)

    signature = inspect.signature(of_class)
    without_self = list(signature.parameters.values())[1:]
    call.__signature__ = signature.replace(parameters=without_self)  # type: ignore[attr-defined]
    return call


def some_ranks() -> tr.Ranks:
    """Return ranks with all labels and weights."""
    return tr.Ranks(
        [0, 2, 1, 4],
        [1, 1, 2, 1],
        5,
        weights=[1.0, 1.0, 2.0, 1.0],
        side=["head", "tail", "head", "tail"],
        relation=["a", "a", "b", "b"],
        queries=[0, 1, 2, 3],
        targets=[4, 3, 2, 1],
    )


def counting_calls(folder: Path) -> list[Call]:
    """Return the calls of what counts scores, lists and negatives."""
    np.save(folder / "scores.npy", np.array(SCORES))
    counter = a_counter()
    other = tr.RankCounter([0.5, 0.75], targets=[0, 1], candidates=3)
    other.update([[1.0], [0.5]], start=2)
    counter.save(folder / "counter.npz")
    whole = tr.RankCounter([0.5], targets=[0], candidates=2)
    whole.update([[0.5, 0.25]])
    start = {"block": [[1.0], [0.5]], "start": 2}
    scores = {"scores": SCORES, "targets": TARGETS}
    lists = {"ids": [[0, 1], [2, 1], [2, 0]], "scores": None, "targets": TARGETS, "candidates": 3}
    counted = {"true_scores": [0.5, 0.75], "targets": [0, 1], "candidates": 3}
    return [
        Call("rank", tr.rank, scores),
        Call("evaluate", tr.evaluate, scores),
        Call("rank_against", tr.rank_against, {"true_scores": [0.5, 0.25], "others": [0.5, 0.75]}),
        Call("rank_lists", tr.rank_lists, lists),
        Call("RankCounter", tr.RankCounter, counted),
        Call("RankCounter.update", of_a_fresh_counter("update"), start),
        Call("RankCounter.merge", of_a_fresh_counter("merge"), {"other": other}),
        Call("RankCounter.load", tr.RankCounter.load, {"path": folder / "counter.npz"}),
        Call("RankCounter.save", counter.save, {"path": folder / "saved.npz"}),
        Call("RankCounter.ranks", whole.ranks, {}),
        Call("open_scores", tr.open_scores, {"source": folder / "scores.npy"}),
    ]


def vector_calls(folder: Path) -> list[Call]:
    """Return the calls of what compares vectors."""
    vectors = {"queries": VECTORS, "entities": VECTORS}
    return [
        Call("rank_embeddings", tr.rank_embeddings, vectors | {"targets": TARGETS}),
        Call("score_embeddings", tr.score_embeddings, vectors | {"targets": TARGETS}),
        Call("topk_embeddings", tr.topk_embeddings, vectors | {"k": 2}),
    ]


def ranks_calls(folder: Path) -> list[Call]:
    """Return the calls of Ranks and Protocol."""
    ranks = some_ranks()
    ranks.save(folder / "ranks.npz")
    protocol = tr.Protocol()
    counts = {"above": [0, 2, 1], "tied": [1, 1, 2], "candidates": 5}
    return [
        Call("Ranks", tr.Ranks, counts),
        Call("Ranks.from_ranks", tr.Ranks.from_ranks, {"ranks": [1, 3], "candidates": 5}),
        Call("Ranks.random", ranks.random, {"seed": 1}),
        Call("Ranks.save", ranks.save, {"path": folder / "more.npz"}),
        Call("Ranks.with_weights", ranks.with_weights, {"weights": [1.0, 2.0, 1.0, 0.5]}),
        Call(
            "Ranks.with_labels", lambda kind: ranks.with_labels(kind=kind), {"kind": list("aabb")}
        ),
        Call("Ranks.with_protocol", lambda split: ranks.with_protocol(split=split), {"split": "x"}),
        Call("Protocol", tr.Protocol, {}),
        Call("Protocol.differences", protocol.differences, {"other": tr.Protocol(split="valid")}),
        Call("Protocol.joined", protocol.joined, {"other": protocol}),
        Call("concatenate", tr.concatenate, {"parts": [ranks[:2], ranks[2:]]}),
        Call("load", tr.load, {"path": folder / "ranks.npz"}),
    ]
