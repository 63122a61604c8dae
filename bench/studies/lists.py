"""Lists of the best k in place of all scores: how the bounds of the metrics shrink with k.

    python bench/studies/lists.py WN18RR_FOLDER [--output FOLDER]

WN18RR_FOLDER is the output of `wn18rr.py` (--vectors-only is enough). Of each query only the k most
similar entities are kept, with their scores, and ranked by `rank_lists`; the bounds of every task
and of every metric are held against the full ranking. Writes lists.svg and lists.md. Needs
matplotlib.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import format_page, markdown_table

import truerank as tr
from truerank import compat

HERE = Path(__file__).parent
KS = (1, 3, 10, 100, 1000)
KEYS = {"mrr": "MRR", "hits@10": "hits@10", "mr": "MR"}
KINDS = ("pessimistic", "realistic", "optimistic")


class Measured(NamedTuple):
    """The reports of full ranking and of lists by their length, and the seconds of the latter."""

    full: tr.Report
    lists: dict[int, tr.Report]
    seconds: dict[int, float]

    def misses(self, k: int) -> float:
        listed = self.lists[k].ranks.listed
        assert listed is not None
        return 1 - float(listed.mean())


def measure(folder: Path, ks: Sequence[int]) -> Measured:
    """Rank all scores, and lists of them; raise an error if a bound does not hold."""
    with np.load(folder / "triples.npz") as triples, np.load(folder / "complex.npz") as model:
        entities, similarity = model["entities"], str(model["similarity"])
        queries = {"tail": model["queries_tail"], "head": model["queries_head"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # duplicates and leaks of the data set are known
            task = tr.link_prediction.Task(
                triples["test"],
                {split: triples[split] for split in ("train", "valid")},
                entities=len(entities),
            )
    full = task.evaluate_embeddings(
        queries["tail"], queries["head"], entities, similarity=similarity
    )
    best = {
        side: tr.topk_embeddings(vectors, entities, k=max(ks), similarity=similarity)
        for side, vectors in queries.items()
    }
    reports, seconds = {}, {}
    for k in ks:
        start = time.perf_counter()
        ranks = tr.concatenate(
            [
                tr.rank_lists(
                    best[name].ids[:, :k],
                    best[name].scores[:, :k],
                    side.targets,
                    candidates=len(entities),
                    rows=side.test_rows,
                    filter=side.selections()[0],
                )
                for name, side in task.sides.items()
            ]
        )
        seconds[k] = time.perf_counter() - start
        reports[k] = tr.report(ranks)
        check_bounds(full, reports[k], k)
    return Measured(full, reports, seconds)


def check_bounds(full: tr.Report, lists: tr.Report, k: int) -> None:
    """Raise an error if a task or a metric of full ranking is outside of its bounds."""
    a, b = lists.ranks, full.ranks
    holds = (a.optimistic <= b.optimistic) & (b.pessimistic <= a.pessimistic)
    if not holds.all():
        raise SystemExit(f"k = {k}: the bounds of task {int((~holds).argmax())} do not hold")
    for key in KEYS:
        low, high = sorted(lists[f"{kind}.{key}"] for kind in ("pessimistic", "optimistic"))
        if not low - 1e-12 <= full[key] <= high + 1e-12:
            raise SystemExit(f"k = {k}: {key} of full ranking is outside of its bounds")


# -- picture and page ------------------------------------------------------------------------------


def draw(measured: Measured, path: Path) -> None:
    """Draw the bounds of mrr and hits@10 over k, with the values of full ranking."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "lists"
    from matplotlib import pyplot as plt

    ks = list(measured.lists)
    fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for ax, key in zip(axes, ("mrr", "hits@10"), strict=True):
        low, middle, high = (
            [r[f"{kind}.{key}"] for r in measured.lists.values()] for kind in KINDS
        )
        ax.fill_between(ks, low, high, color="#0072b2", alpha=0.25, label="bounds of lists")
        ax.plot(ks, middle, color="#0072b2", marker="o", markersize=4, label="realistic")
        ax.axhline(measured.full[key], color="#333333", linestyle="--", label="all candidates")
        ax.set_xscale("log")
        ax.set_xlabel("k")
        ax.set_title(KEYS[key])
        ax.set_ylim(0, 1)
    axes[0].legend(frameon=False)
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def table(measured: Measured) -> str:
    """Return the bounds by k, and full ranking in the last row."""
    heading = ["k", "misses"]
    for name in KEYS.values():
        heading += [f"{name}, pessimistic", "realistic", "optimistic"]
    rows: list[list[Any]] = []
    for k, report in measured.lists.items():
        cells = [f"{k:,}", f"{measured.misses(k):.1%}"]
        cells += [number(report[f"{kind}.{key}"]) for key in KEYS for kind in KINDS]
        rows.append(cells)
    full = [cell for key in KEYS for cell in ("", number(measured.full[key]), "")]
    return markdown_table(heading, [*rows, ["all", "", *full]])


def convention_table(measured: Measured) -> str:
    """Return MRR and MR as others count misses, by k."""
    rows = []
    for name, row in compat.LIST_PRESETS.items():
        for key in ("mrr", "mr"):
            values = [
                compat.report_lists(r.ranks, preset=row)[key] for r in measured.lists.values()
            ]
            if not np.isnan(values).all():
                rows.append([name, KEYS[key], *map(number, values)])
    heading = ["preset", "metric", *(f"k = {k:,}" for k in measured.lists)]
    return markdown_table(heading, rows, text_columns=2)


def number(value: float) -> str:
    """Write a number with three or four digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def gap(report: tr.Report, key: str) -> float:
    """Return how far the bounds of a metric are apart."""
    return abs(report[f"optimistic.{key}"] - report[f"pessimistic.{key}"])


def main(folder: Path, output: Path, ks: Sequence[int]) -> None:
    """Measure, draw, and write the page."""
    measured = measure(folder, ks)
    draw(measured, output / "lists.svg")
    last = measured.lists[max(ks)]
    page = format_page(
        TEXT.format(
            python=platform.python_version(),
            numpy=np.__version__,
            tasks=len(measured.full.ranks),
            entities=int(last.ranks.candidates.max()),
            table=table(measured),
            conventions=convention_table(measured),
            seconds=max(measured.seconds.values()),
            k=f"{max(ks):,}",
            mrr_gap=gap(measured.lists[100], "mrr"),
            hits_gap=gap(measured.lists[100], "hits@10"),
            mrr_last=gap(last, "mrr"),
            hits_last=gap(last, "hits@10"),
            hits_ten=gap(measured.lists[10], "hits@10"),
            mr_last=last["mr"],
            mr_full=measured.full["mr"],
        )
    )
    (output / "lists.md").write_text(page, encoding="utf-8")
    print(page)


TEXT = """# Lists of the best k in place of all scores

Made by `python bench/studies/lists.py WN18RR_FOLDER`, with Python {python} and numpy {numpy}. The
ComplEx embeddings that `wn18rr.py` trains, {tasks:,} tasks of both sides, up to {entities:,}
candidates, filtered. Of each query the k most similar entities are kept; a target that is not among
them is a miss, tied with all that are neither listed nor filtered.

![Bounds of MRR and hits@10 over k](lists.svg)

{table}

The optimistic and pessimistic values of lists hold those of all candidates, in every task and for
every k (the study ends with an error otherwise).

- **Shares of the first places are known from lists of a hundred.** The bounds of MRR are
{mrr_gap:.3f} apart then, those of hits@10 {hits_gap:.3f}, and with a thousand {mrr_last:.4f} and
{hits_last:.4f}. Lists of ten do not suffice for hits@10 ({hits_ten:.2f} apart): they were cut
before the filter, which leaves fewer than ten in many of them, so that a miss may yet be among
the first ten.

- **The mean rank is hardly known.** It depends on the misses nearly alone. The realistic value
puts every miss into the middle of what is not listed: {mr_last:,.0f} with a thousand, where all
scores give {mr_full:,.0f}.

What others do with misses, from the same counts. Where a miss adds nothing, MRR falls short of the
lower bound by the little that last places would add; k + 1 is the upper bound:

{conventions}

Ranking the lists took at most {seconds:.2f} s (k = {k}).
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    main(options.folder, options.output, KS)
