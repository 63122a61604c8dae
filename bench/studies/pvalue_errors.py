"""How often the true error of `pvalue` exceeds the stated one, for few and many tasks.

    python bench/studies/pvalue_errors.py [--cases N] [--write FILE | --read FILE]

Draws problems (tasks, candidates, weights, metric, and how good the ranks are), bounds each p-value
on a grid twice as fine as that of the package (or counts its outcomes), and prints a Markdown
table of where the stated error is too small. With --write the problems and their bounds go into a
file; with --read they come from one, so that two versions of the package answer the same questions.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr

METRICS = ("mrr", "gmr", "power_mean:2", "power_mean:0.5", "power_mean:-0.5", "power_mean:-3", "mr")
TASKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 64, 100, 200)
CANDIDATES = (10, 30, 100, 1000, 4000, 15_000, 100_000, 1_000_000)
SHARES = (1.0, 1.0, 0.3, 0.1, 0.03, 0.003)  # ranks are drawn from so large a share of 1..N
CELLS = (1 << 17) - 1
GROUPS = ((1, 4), (5, 16), (17, 64), (65, 200))


def draw(generator: np.random.Generator) -> dict[str, Any]:
    """Draw a problem."""
    tasks = int(generator.choice(TASKS))
    sizes = np.full(tasks, generator.choice(CANDIDATES))
    if generator.random() < 0.3:
        sizes[tasks // 2 :] = generator.choice(CANDIDATES)
    metric = str(generator.choice(METRICS))
    weighted = metric == "mr" or generator.random() < 0.2
    weights = np.where(np.arange(tasks) % 2, 1.0, math.pi) if weighted else np.ones(tasks)
    most = np.maximum(sizes * generator.choice(SHARES), 1)
    ranks = 1 + np.floor(generator.random(tasks) * most)
    return {
        "metric": metric,
        "ranks": ranks.astype(int).tolist(),
        "sizes": sizes.tolist(),
        "weights": weights.tolist() if weighted else None,
    }


def bounds(problem: dict[str, Any]) -> tuple[float, float] | None:
    """Return logs of a lower and an upper bound of p, or None if they are far apart."""
    from truerank.metrics.chance_model import bracketed_sums, compress, few_outcomes, tails
    from truerank.metrics.keys import parse
    from truerank.metrics.kinds import Sample
    from truerank.metrics.metric_table import METRICS as TABLE
    from truerank.metrics.metric_table import metric_value

    tasks = compress(problem["sizes"], problem["weights"])
    key = parse(problem["metric"])
    sample = Sample(
        np.array(problem["ranks"], dtype=float),
        np.array(problem["sizes"]),
        None if problem["weights"] is None else np.array(problem["weights"]),
    )
    name, power = tails.law_of(key.metric, key.parameter)
    value = metric_value(TABLE[key.metric], sample, key.parameter)
    observed = tails.mean_of(key.metric, value, tasks, key.parameter)
    kept = bracketed_sums._CELLS, few_outcomes._LISTED, tails._NARROW
    try:
        bracketed_sums._CELLS = {8: CELLS}
        few_outcomes._LISTED = math.log(1 << 22)
        tails._NARROW = math.inf
        found = tails.chance_tail(name, tasks, power, observed)
    finally:
        bracketed_sums._CELLS, few_outcomes._LISTED, tails._NARROW = kept
    if found is None or found.method not in ("exact", "bounds") or not found.error < 0.3:
        return None
    return found.log + math.log1p(-found.error), found.log + math.log1p(found.error)


def true_error(found: Any, low: float, high: float) -> float:
    """Return the least relative error of a p-value that the bounds allow."""
    log = found.log10_p * math.log(10)
    off = max(low - log, log - high, 0.0)
    return math.expm1(min(off, 700.0)) if low > log else -math.expm1(-off)


def table(cases: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the table."""
    rows: dict[str, list[tuple[float, float, str]]] = {}
    for case in cases:
        count = len(case["ranks"])
        low, high = next(group for group in GROUPS if count <= group[1])
        ranks = tr.Ranks(
            np.array(case["ranks"]) - 1, [1] * count, case["sizes"], weights=case["weights"]
        )
        found = tr.pvalue(ranks, case["metric"])
        true = true_error(found, *case["bounds"])
        for name in (f"{low} to {high} tasks | all", f"{low} to {high} tasks | {found.method}"):
            rows.setdefault(name, []).append((true, found.error, f"{case['metric']}"))
    lines = [
        "| tasks | method | p-values | stated error: median | largest "
        "| true error larger than stated | largest ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, found in sorted(rows.items(), key=lambda row: (int(row[0].split()[0]), row[0])):
        stated = np.array([max(error, 1e-9) for _, error, _ in found])
        true = np.array([max(error - 1e-9, 0.0) for error, _, _ in found])
        over = true > stated
        worst = f"{(true / stated).max():.3g}" if over.any() else ""
        lines.append(
            f"| {name} | {len(found)} | {np.nanmedian(stated):.0e} | {np.nanmax(stated):.1g} "
            f"| {over.sum()} | {worst} |"
        )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    options = parser.parse_args()
    if options.read:
        cases = json.loads(options.read.read_text())
    else:
        generator = np.random.default_rng(0)
        drawn = [draw(generator) for _ in range(options.cases)]
        cases = [{**each, "bounds": found} for each in drawn if (found := bounds(each))]
    if options.write:
        options.write.write_text(json.dumps(cases))
    print("\n".join(table(cases)))


if __name__ == "__main__":
    main()
