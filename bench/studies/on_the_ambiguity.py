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

import truerank as tr

HERE = Path(__file__).parent

NAMES = {"wn18rr": "WN18RR", "fb15k237": "FB15k-237"}
ENTITIES = {"wn18rr": 40943, "fb15k237": 14541}
TRIPLES = {"wn18rr": 3134, "fb15k237": 20466}


def read_printed() -> dict[str, dict[str, tuple[int, float]]]:
    """Return the mean rank and the AMRI in percent, as printed, by data set and model."""
    table: dict[str, dict[str, tuple[int, float]]] = {}
    with (HERE / "on_the_ambiguity.tsv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            table.setdefault(row["dataset"], {})[row["model"]] = int(row["mr"]), float(row["amri"])
    return table


def removed_by_filter() -> float:
    """Return how many candidates the filter removes from a task of FB15k-237 on average.

    Its triples are not available here. But a published run with both MR and AMRI gives the expected
    mean rank, E = 1 + (MR - 1) / (1 - AMRI), and with it the mean number of candidates, 2 E - 1.
    The runs of "A Unified Framework" had 14,505 entities.
    """
    with (HERE / "unified_framework.tsv").open(newline="", encoding="utf-8") as file:
        runs = [r for r in csv.DictReader(file, delimiter="\t") if r["dataset"] == "fb15k237-seen"]
    means = [2 * (1 + (float(r["mr"]) - 1) / (1 - float(r["amri"]))) - 1 for r in runs]
    if max(means) - min(means) > 1e-3:
        raise ValueError(f"the runs disagree on the mean number of candidates: {means}")
    return 14505 - means[0]


def window(table: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the bounds of the mean number of candidates from which all printed indices result."""
    bounds = [
        [1 + 2 * (rank - 1) / (1 - (percent + half) / 100) for half in (-0.05, 0.05)]
        for rank, percent in table
    ]
    return max(low for low, _ in bounds), min(high for _, high in bounds)


def percent_of(mean_rank: float, dataset: str, removed: float | None) -> float:
    """Return AMRI in percent: unfiltered, filtered by the exact counts, or by their mean."""
    if removed is None:
        adjusted = tr.adjust(
            "mr", mean_rank, candidates=ENTITIES[dataset], tasks=2 * TRIPLES[dataset]
        )
    elif dataset == "wn18rr":
        adjusted = tr.adjust("mr", mean_rank, dataset=dataset, filtered=True)
    else:
        candidates = round(ENTITIES[dataset] - removed)
        adjusted = tr.adjust("mr", mean_rank, candidates=candidates, tasks=2 * TRIPLES[dataset])
    return 100 * adjusted.index


def truncate(percent: float) -> float:
    """Cut off after one digit."""
    return math.floor(percent * 10) / 10


def markdown() -> str:
    """Return the page."""
    removed = removed_by_filter()
    lines = [
        "| data set | model | MR | printed | all entities | rounded | truncated | filtered "
        "| rounded |",
        "| --- | --- | ---: | ---: | ---: | --- | --- | ---: | --- |",
    ]
    counts = {"rounded": 0, "truncated": 0, "filtered": 0}
    tables = read_printed()
    for dataset, table in tables.items():
        for model, (mean_rank, printed) in table.items():
            unfiltered = percent_of(mean_rank, dataset, None)
            filtered = percent_of(mean_rank, dataset, removed)
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
    wordnet = 2 * tr.adjust("mr", 7000, dataset="wn18rr", filtered=True).expectation - 1
    freebase = 14541 - removed
    return f"""# Table 1 of "On the Ambiguity", from its mean ranks

Made by `python bench/studies/on_the_ambiguity.py`. AMRI in percent, of `tr.adjust("mr", MR, ...)`;
two tasks for each test triple (the index does not depend on their number).

{chr(10).join(lines)}

**Truncated, with all entities as candidates.** {counts["rounded"]} of 12 round to the printed
digit, {counts["truncated"]} agree when truncated to it; DistMult on FB15k-237 does neither (93.136,
printed 93.0).

**Rounded, with the filtered candidates.** The paper evaluates "in the filtered setting": the other
known answers of a query are no candidates, so that the expected mean rank is smaller. With those
counts {counts["filtered"]} of 12 round to the printed digit: nothing was truncated.

- WN18RR: the exact counts are in the package (`filtered=True`). {wordnet:.3f} candidates on
  average; all six printed indices result from rounding if the mean lies between
  {bounds["wn18rr"][0]:.1f} and {bounds["wn18rr"][1]:.1f}; 40,943 does not.
- FB15k-237: its triples are not available here. Published runs of "A Unified Framework" print MR
  and AMRI, which fix the mean: {14505 - removed:.2f} of 14,505 entities, {removed:.2f} fewer.
  Subtracted from 14,541 entities, that leaves {freebase:.1f}; all six result from rounding between
  {bounds["fb15k237"][0]:.1f} and {bounds["fb15k237"][1]:.1f}, and 14,541 does not lie there.

FB15k-237 has 20,466 test triples in its files; 28 of them have an entity that no training triple
has, and PyKEEN leaves those out (20,438; 14,505 of 14,541 entities). On WN18RR it is 3,134 and
2,924 (40,943 and 40,559 entities). The paper's numbers are those of the files.
"""


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (output / "on_the_ambiguity.md").write_text(markdown(), encoding="utf-8")
