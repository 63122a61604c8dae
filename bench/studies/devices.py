"""Counting on a device of CUDA: Triton's kernel, a copy that the host counts, and lines of torch.

    python bench/studies/devices.py

Prints two Markdown tables, one of scores that are on the device and one of vectors. Each contestant
is warmed up, then they run in turn, seven times; a figure is that of the fastest run. All that
count the same scores give the same counts, or the study stops.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
import torch
from pages import markdown_table

import truerank as tr
from harness.timing import time_in_turn

DEVICE = "cuda"
ROUNDS = 7
BACKENDS = ("triton", "host")
# Rows, columns, type, and how many are filtered in each row: batches of FB15k-237, of WN18RR, of
# ogbl-wikikg2 and of 100 sampled candidates.
SCORES = (
    (64, 14_541, "float32", 0),
    (256, 14_541, "float32", 0),
    (256, 14_541, "float32", 50),
    (1024, 40_943, "float32", 0),
    (1024, 2_500_604, "float32", 0),
    (1024, 2_500_604, "bfloat16", 0),
    (1_000_000, 100, "float32", 0),
)
# Queries, entities, length and similarity.
VECTORS = (
    (1024, 14_541, 256, "dot"),
    (4096, 500_000, 64, "dot"),
    (4096, 500_000, 256, "dot"),
    (4096, 500_000, 256, "l1"),
)
BLOCK = 1 << 28  # bytes of scores that torch makes at a time


def chosen(backend: str, call: Callable[[], tr.Ranks]) -> Callable[[], tr.Ranks]:
    """Return a call that a backend counts, which its result must name."""

    def run() -> tr.Ranks:
        os.environ["TRUERANK_DEVICE"] = backend
        return call()

    return run


def three_lines(scores: Any, targets: Any, filtered: Any = None) -> tuple[Any, Any]:
    """Count as toolkits do: two comparisons, each of which makes a matrix of bools."""
    true_scores = scores.gather(1, targets[:, None])
    if filtered is not None:
        scores = scores.scatter(1, filtered, float("-inf")).scatter(
            1, targets[:, None], true_scores
        )
    above = (scores > true_scores).sum(1)
    tied = (scores == true_scores).sum(1)
    return above.cpu().numpy(), tied.cpu().numpy()


def check_counts(times: dict[str, Any]) -> None:
    """Stop unless everyone has counted the same."""
    expected = next(iter(times.values())).result
    for name, measured in times.items():
        found = measured.result
        if isinstance(found, tr.Ranks):
            found = (found.above, found.tied)
        if found is None or name == "read once":
            continue
        for ours, theirs in zip((expected.above, expected.tied), found, strict=True):
            if not np.array_equal(ours, theirs):
                raise SystemExit(f"{name} counts otherwise")


def measure(contestants: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the seconds of the fastest run of each, once their counts are known to be equal."""
    for run in contestants.values():
        run()
    times = time_in_turn(contestants, ROUNDS, memory=False)
    check_counts(times)
    return {name: measured.best for name, measured in times.items()}


def waited(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that waits until the device is done."""

    def run() -> Any:
        result = call()
        torch.cuda.synchronize()
        return result

    return run


def made_scores(rows: int, columns: int, kind: str, seed: int = 0) -> Any:
    """Return normal scores that are on the device."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    scores = torch.empty(rows, columns, dtype=getattr(torch, kind), device=DEVICE)
    for some in scores.split(64):
        some.copy_(torch.randn(some.shape, generator=generator, device=DEVICE))
    return scores


def drawn_filter(rows: int, columns: int, filtered: int) -> tuple[Any, Any]:
    """Return a filter as `rank` takes it, and its columns as a tensor on the device; or None."""
    if not filtered:
        return None, None
    lists = np.random.default_rng(1).integers(0, columns, (rows, filtered))
    sets = [np.unique(some) for some in lists]
    indptr = np.append(0, np.cumsum([len(some) for some in sets]))
    return (indptr, np.concatenate(sets)), torch.from_numpy(lists).to(DEVICE)


def scores_row(rows: int, columns: int, kind: str, filtered: int) -> list[object]:
    """Measure one matrix of scores that is on the device."""
    scores = made_scores(rows, columns, kind)
    targets = np.random.default_rng(0).integers(0, columns, rows)
    targets_there = torch.from_numpy(targets).to(DEVICE)
    filter, filter_there = drawn_filter(rows, columns, filtered)
    contestants: dict[str, Callable[[], Any]] = {
        name: chosen(name, lambda: tr.rank(scores, targets, filter=filter)) for name in BACKENDS
    }
    contestants["three lines"] = waited(lambda: three_lines(scores, targets_there, filter_there))
    contestants["read once"] = waited(lambda: scores.amax(1))
    seconds = measure(contestants)
    size = scores.numel() * scores.element_size()
    return [f"{rows:,} x {columns:,} {kind}, {filtered} filtered", *rates(seconds, size)]


def rates(seconds: dict[str, float], size: int) -> list[str]:
    """Return how long each contestant took, and how many bytes a second that is."""
    return [f"{time * 1e3:,.2f} ms, {size / time / 1e9:,.0f} GB/s" for time in seconds.values()]


def scored_in_blocks(queries: Any, entities: Any, similarity: str, targets: Any) -> Any:
    """Score by torch, in blocks of queries, and count each block by the three lines."""
    above = []
    tied = []
    most = max(1, BLOCK // (4 * len(entities)))
    for some, wanted in zip(queries.split(most), targets.split(most), strict=True):
        if similarity == "dot":
            scores = some @ entities.T
        else:
            scores = -torch.cdist(some, entities, p=1)
        for result, one in zip((above, tied), three_lines(scores, wanted), strict=True):
            result.append(one)
    return None  # torch rounds otherwise: the counts are not the same


def vectors_row(queries: int, entities: int, length: int, similarity: Any) -> list[object]:
    """Measure vectors that are on the device."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((queries, length), np.float32)
    right = rng.standard_normal((entities, length), np.float32)
    targets = rng.integers(0, entities, queries)
    tensors = torch.from_numpy(left).to(DEVICE), torch.from_numpy(right).to(DEVICE)
    targets_there = torch.from_numpy(targets).to(DEVICE)

    def ranked() -> tr.Ranks:
        return tr.rank_embeddings(*tensors, targets, similarity=similarity)

    contestants: dict[str, Callable[[], Any]] = {
        "host": ranked,
        "three lines": waited(
            lambda: scored_in_blocks(*tensors, similarity=similarity, targets=targets_there)
        ),
    }
    seconds = measure(contestants)
    pairs = queries * entities
    row: list[object] = [f"{queries:,} x {entities:,}, d = {length}, {similarity}"]
    for name in contestants:
        row.append(f"{seconds[name] * 1e3:,.1f} ms, {pairs / seconds[name] / 1e9:,.1f} G/s")
    return row


def main() -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}, {os.cpu_count()} processors")
    header = ["scores", *BACKENDS, "three lines of torch", "read once (amax)"]
    rows = [scores_row(*case) for case in SCORES]
    print(markdown_table(header, rows), flush=True)
    header = ["vectors", "copied to the host", "torch: scores and three lines"]
    print(markdown_table(header, [vectors_row(*case) for case in VECTORS]), flush=True)


if __name__ == "__main__":
    main()
