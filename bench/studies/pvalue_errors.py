"""The errors of `pvalue` against simulations of chance, for few and many tasks.

    python bench/studies/pvalue_errors.py [--cases N] [--draws N]

Draws problems (tasks, candidates, metric, and how good ranks are) and prints a Markdown table of
the differences of p from the share of simulated rankings that are as good, in standard errors of
the simulation, and relatively where p is above 0.001.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import truerank as tr

METRICS = ("mr", "mrr", "gmr", "power_mean:2", "power_mean:-0.5", "median")
TASKS = (2, 4, 8, 16, 40, 100, 200)
CANDIDATES = (10, 100, 1000, 15_000, 1_000_000)


def simulated(metric: str, tasks: int, size: int, value: float, draws: int) -> float:
    """Return the share of draws that are at least as good as a value."""
    generator = np.random.default_rng(1)
    good = 0
    for _ in range(max(1, draws * tasks // 2_000_000)):
        ranks = generator.integers(1, size + 1, (min(draws, 2_000_000 // tasks), tasks)).astype(
            float
        )
        if metric == "median":
            found = np.median(ranks, axis=1)
        else:
            powers = {"mr": 1.0, "mrr": -1.0, "gmr": 0.0}
            p = powers[metric] if metric in powers else float(metric.partition(":")[2])
            found = (ranks**p).mean(axis=1) ** (1 / p) if p else np.exp(np.log(ranks).mean(axis=1))
        rank = 1 / value if metric == "mrr" else value
        good += int((found <= rank * (1 + 1e-12)).sum())
    return good / (max(1, draws * tasks // 2_000_000) * min(draws, 2_000_000 // tasks))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--draws", type=int, default=1_000_000)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    rows: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.cases):
        metric, tasks = str(generator.choice(METRICS)), int(generator.choice(TASKS))
        size = int(generator.choice(CANDIDATES))
        most = max(1, size * generator.choice([1.0, 0.8, 0.6]))
        ranks = 1 + np.floor(generator.random(tasks) * most).astype(int)
        measured = tr.Ranks(ranks - 1, [1] * tasks, size)
        found = tr.pvalue(measured, metric)
        share = simulated(metric, tasks, size, tr.report(measured)[metric], options.draws)
        if 0.001 < share < 1:
            error = math.sqrt(share * (1 - share) / options.draws)
            rows.setdefault(found.method, []).append(
                (abs(found.p - share) / error, abs(found.p / share - 1))
            )
    print("| method | p-values | median in standard errors | largest | largest relative error |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for method, errors in sorted(rows.items()):
        off = np.array(errors)
        print(
            f"| {method} | {len(off)} | {np.median(off[:, 0]):.1f} | {off[:, 0].max():.1f} "
            f"| {off[:, 1].max():.1g} |"
        )


if __name__ == "__main__":
    main()
