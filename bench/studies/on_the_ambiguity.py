"""Table 1 of "On the Ambiguity of Rank-Based Evaluation" from its mean ranks alone.

    python bench/studies/on_the_ambiguity.py [OUTPUT_FOLDER]

The paper (Berrendorf et al., 2020) prints the mean rank and the adjusted index, in percent, of six
models on two data sets. This study adjusts the mean ranks again and asks which numbers of
candidates the printed indices result from: all entities, or those that a filter leaves.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pages import format_page

import truerank as tr
from truerank.metrics.published import data_set, known_candidates

HERE = Path(__file__).parent

NAMES = {"wn18rr": "WN18RR", "fb15k237": "FB15k-237"}


def read_printed() -> dict[str, dict[str, tuple[int, float]]]:
    """Return the mean rank and the AMRI in percent, as printed, by data set and model."""
    table: dict[str, dict[str, tuple[int, float]]] = {}
    with (HERE / "on_the_ambiguity.tsv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            table.setdefault(row["dataset"], {})[row["model"]] = int(row["mr"]), float(row["amri"])
    return table


def mean_candidates(dataset: str) -> float:
    """Return the mean number of filtered candidates over the test tasks of both sides."""
    values, multiplicities, _ = known_candidates(dataset, filtered=True)
    return float(np.average(values, weights=multiplicities))


def published_mean() -> float:
    """Return the mean number of candidates in the runs of "A Unified Framework" on FB15k-237.

    A run with both MR and AMRI gives the expected mean rank, E = 1 + (MR - 1) / (1 - AMRI), and
    with it the mean number of candidates, 2 E - 1. The runs had 14,505 entities.
    """
    with (HERE / "unified_framework.tsv").open(newline="", encoding="utf-8") as file:
        runs = [r for r in csv.DictReader(file, delimiter="\t") if r["dataset"] == "fb15k237-seen"]
    means = [2 * (1 + (float(r["mr"]) - 1) / (1 - float(r["amri"]))) - 1 for r in runs]
    if max(means) - min(means) > 1e-3:
        raise ValueError(f"the runs disagree on the mean number of candidates: {means}")
    return means[0]


def window(table: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the bounds of the mean number of candidates from which all printed indices result."""
    bounds = [
        [1 + 2 * (rank - 1) / (1 - (percent + half) / 100) for half in (-0.05, 0.05)]
        for rank, percent in table
    ]
    return max(low for low, _ in bounds), min(high for _, high in bounds)


def percent_of(mean_rank: float, dataset: str, *, filtered: bool) -> float:
    """Return AMRI in percent."""
    return 100 * tr.adjust("mr", mean_rank, dataset=dataset, filtered=filtered).index


def truncate(percent: float) -> float:
    """Cut off after one digit."""
    return math.floor(percent * 10) / 10


def markdown() -> str:
    """Return the page."""
    lines = [
        "| data set | model | MR | printed | all entities | rounded | truncated | filtered "
        "| rounded |",
        "| --- | --- | ---: | ---: | ---: | --- | --- | ---: | --- |",
    ]
    counts = {"rounded": 0, "truncated": 0, "filtered": 0}
    tables = read_printed()
    for dataset, table in tables.items():
        for model, (mean_rank, printed) in table.items():
            unfiltered = percent_of(mean_rank, dataset, filtered=False)
            filtered = percent_of(mean_rank, dataset, filtered=True)
            agree = {
                "rounded": round(unfiltered, 1) == printed,
                "truncated": truncate(unfiltered) == printed,
                "filtered": round(filtered, 1) == printed,
            }
            for name, yes in agree.items():
                counts[name] += yes
            rounds, cuts, fits = ("yes" if yes else "no" for yes in agree.values())
            lines.append(
                f"| {NAMES[dataset]} | {model} | {mean_rank:,} | {printed} | {unfiltered:.3f} | "
                f"{rounds} | {cuts} | {filtered:.3f} | {fits} |"
            )
    bounds = {name: window(table.values()) for name, table in tables.items()}
    means = {name: mean_candidates(name) for name in (*tables, "fb15k237-seen")}
    between = {
        name: f"if the mean lies between {low:.1f} and {high:.1f}; {data_set(name)['entities']:,} "
        "does not."
        for name, (low, high) in bounds.items()
    }
    page = f"""# Table 1 of "On the Ambiguity", from its mean ranks

Made by `python bench/studies/on_the_ambiguity.py`. AMRI in percent, of `tr.adjust("mr", MR, ...)`;
two tasks for each test triple (the index does not depend on their number).

{chr(10).join(lines)}

**Truncated, with all entities as candidates.** {counts["rounded"]} of 12 round to the printed
digit, {counts["truncated"]} agree when truncated to it; DistMult on FB15k-237 does neither (93.136,
printed 93.0).

**Rounded, with the filtered candidates.** The paper evaluates "in the filtered setting": the other
known answers of a query are no candidates, so that the expected mean rank is smaller. With the
exact counts, which are in the package (`filtered=True`), {counts["filtered"]} of 12 round to the
printed digit: nothing was truncated.

- WN18RR: {means["wn18rr"]:.3f} candidates on average; all six printed indices result from rounding
  {between["wn18rr"]}
- FB15k-237: {means["fb15k237"]:.3f} candidates on average; all six result from rounding
  {between["fb15k237"]}
  Published runs of "A Unified Framework", on the seen entities alone, print MR and AMRI, which fix
  the mean: {published_mean():.3f}. The exact counts of the package have
  {means["fb15k237-seen"]:.3f}.

FB15k-237 has 20,466 test triples in its files; 28 of them have an entity that no training triple
has, and PyKEEN leaves those out (20,438; 14,505 of 14,541 entities). On WN18RR it is 3,134 and
2,924 (40,943 and 40,559 entities). The paper's numbers are those of the files.
"""
    return format_page(page)


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (output / "on_the_ambiguity.md").write_text(markdown(), encoding="utf-8")
