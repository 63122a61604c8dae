"""The chance model's errors against exact values, and its times.

    python bench/studies/chance_errors.py REFERENCE_VALUES

REFERENCE_VALUES is a JSON list of records: `metric`, `k`, `candidates` (a list, or value to
multiplicity), `weights`, and `mean` and `variance` as decimal strings of 25 digits. Prints a
Markdown table, chance_errors.md.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from pages import markdown_table

import truerank as tr

METRICS = ("mr", "mrr", "hits", "imr", "hmr", "gmr", "igmr", "median", "imedian")
POWERS = ("power_mean:-4", "power_mean:-2", "power_mean:0.5", "power_mean:2", "power_mean:10")
TASKS, DISTINCT, LARGEST = 20_000, 5_000, 15_000
ROUNDS = 5


def error(value: float, text: str) -> float:
    """Return the relative error, or the absolute one where the exact value is 0."""
    exact = Fraction(text)
    return float(abs(Fraction(value) - exact) / (exact or 1))


def worst_errors(records: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the largest errors of mean and variance over all records."""
    worst = [0.0, 0.0]
    for record in records:
        metric = record["metric"] if record["k"] is None else f"{record['metric']}@{record['k']}"
        candidates = record["candidates"]
        if isinstance(candidates, dict):
            candidates = ([int(n) for n in candidates], list(candidates.values()))
        moments = tr.chance(metric, candidates, record["weights"])
        errors = map(error, moments, (record["mean"], record["variance"]))
        worst = [max(pair) for pair in zip(worst, errors, strict=True)]
    return worst[0], worst[1]


def best_time(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest run."""
    seconds = math.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


def timings(metric: str) -> str:
    """Return milliseconds with equal weights, and with a different weight for every task."""
    generator = np.random.default_rng(3)
    sizes = generator.choice(LARGEST, DISTINCT, replace=False) + 1
    candidates = np.concatenate([sizes, generator.choice(sizes, TASKS - DISTINCT)])
    weights = generator.random(TASKS) + 0.1
    name = "hits@10" if metric == "hits" else metric
    equal = f"{1e3 * best_time(lambda: tr.chance(name, candidates)):.3g} ms"
    if "median" in metric:
        return f"{equal} | "
    return f"{equal} | {1e3 * best_time(lambda: tr.chance(name, candidates, weights)):.3g} ms"


def main(path: str) -> None:
    """Print the table."""
    records = json.loads(Path(path).read_text(encoding="utf-8"))
    rows: list[list[object]] = []
    for metric in METRICS:
        selected = [record for record in records if record["metric"] == metric]
        mean, variance = worst_errors(selected)
        rows.append([metric, len(selected), f"{mean:.0e}", f"{variance:.0e}", timings(metric)])
    rows += [[metric, "", "", "", timings(metric)] for metric in POWERS]
    heading = "metric | records | worst error of mean | of variance | time | with 20,000 weights"
    print(markdown_table(heading, rows, text_columns=6), end="\n\n")
    print(
        f"Times: {TASKS:,} tasks with {DISTINCT:,} distinct numbers of candidates up to "
        f"{LARGEST:,}; the best of {ROUNDS} runs."
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
