"""Figure 3 of "On the Ambiguity of Rank-Based Evaluation": metrics against the size of the test.

    python bench/studies/alignment_test_size.py DBP15K_FOLDER [--output FOLDER] [--seeds N]

The paper (Berrendorf et al., 2020) trains models with several amounts of aligned pairs, and ranks
each on test sets of several sizes, among the entities of the test pairs, on five random splits.
Here the models are those of alignment_vectors.py; further to the paper, MRR and hits@10 with their
adjusted indices, and the same against all entities of the other graph. Writes
alignment_test_size.svg and .md. Needs scipy and matplotlib.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from alignment_pages import page, pipes, points
from alignment_vectors import split, vectors
from numpy.typing import NDArray

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # of all pairs, for training
USUAL = 0.3
PARTS = tuple(k / 10 for k in range(1, 11))  # of the other pairs, for testing
KEYS = {
    "mr": "MR",
    "mrr": "MRR",
    "hits@1": "hits@1",
    "hits@10": "hits@10",
    "amri": "AMRI",
    "amrr": "AMRR",
    "ah@1": "adjusted hits@1",
    "ah@10": "adjusted hits@10",
}
COLOURS = dict(zip(SHARES, ("#b3cde3", "#8c96c6", "#8856a7", "#d55e00", "#333333"), strict=True))
# Metric, title, and what is shown of it.
PANELS = (
    ("mr", "MR", None),
    ("hits@1", "hits@1", (0, 1)),
    ("hits@10", "hits@10", (0, 1)),
    ("amri", "AMRI", (0, 1)),
    ("amri", "AMRI, enlarged", (0.93, 1)),
    ("ah@1", "adjusted hits@1", (0, 1)),
)


class Case(NamedTuple):
    """Trained with a share of the pairs, tested on a part of the others, among candidates."""

    share: float
    part: float
    candidates: str


class Found(NamedTuple):
    """Metrics of one case, a row for each split."""

    pairs: int
    values: Array

    def mean(self, key: str) -> float:
        return float(self.values[:, list(KEYS).index(key)].mean())

    def deviation(self, key: str) -> float:
        """Between the splits."""
        return float(self.values[:, list(KEYS).index(key)].std(ddof=1))


Results = Mapping[Case, Found]
FIXED = "the same pairs"  # that the largest share leaves for all, in place of candidates


def values_of(made: Any, test: Array, train: Array, candidates: str) -> list[float]:
    """All metrics, of both directions together."""
    known = {"train": train} if candidates == "all" else None
    report = tr.alignment.evaluate(*made, test, known=known, candidates=candidates)
    return [float(report[key]) for key in KEYS]


def measure(data: Any, seeds: int) -> Results:
    """Every case on every split."""
    rows: dict[Case, list[list[float]]] = {}
    sizes: dict[Case, int] = {}
    for seed in range(seeds):
        # Splits of one seed deal out one random order: what a larger share leaves for testing, all
        # smaller ones leave, too.
        common = split(data, max(SHARES), seed)["test"]
        for share in SHARES:
            start = time.perf_counter()
            parts = split(data, share, seed)
            made = vectors(data, parts["train"], seed=seed)
            cases = [(Case(share, 1.0, FIXED), common)]
            for part in PARTS:
                test = parts["test"]
                if part < 1:
                    shares = {"test": part, "left": 1 - part}
                    test = tr.alignment.split_pairs(test, shares, seed=seed)["test"]
                ways = ("test", "all") if share == USUAL else ("test",)
                cases += [(Case(share, part, way), test) for way in ways]
            for case, test in cases:
                way = "test" if case.candidates == FIXED else case.candidates
                rows.setdefault(case, []).append(values_of(made, test, parts["train"], way))
                sizes[case] = len(test)
            print(f"seed {seed}, {share:.0%} trained: {time.perf_counter() - start:.1f} s")
    return {case: Found(sizes[case], np.array(values)) for case, values in rows.items()}


# -- the picture -----------------------------------------------------------------------------------


def draw(results: Results, path: Path) -> None:
    """Metrics against the number of test pairs, a line for each model; the same bytes again."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "truerank", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex=True)
    for ax, (key, title, shown) in zip(axes.flat, PANELS, strict=True):
        for share in SHARES:
            _line(ax, results, key, share, "test", label=f"{share:.0%}", marker="o")
        _line(ax, results, key, USUAL, "all", label=f"{USUAL:.0%}, among all", linestyle="--")
        ax.set_title(title, fontsize=10)
        ax.grid(axis="y", linewidth=0.4, alpha=0.5)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlim(0, None)
        if shown is None:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        else:
            ax.set_ylim(*shown)
    for ax in axes[1]:
        ax.set_xlabel("test pairs")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        title="share of pairs known in training",
    )
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _line(ax: Any, results: Results, key: str, share: float, way: str, **style: Any) -> None:
    """A line of one model, with the deviation between splits as a band."""
    cases = [Case(share, part, way) for part in PARTS]
    found = [results[case] for case in cases]
    x = [one.pairs for one in found]
    means, spread = (
        np.array([getattr(one, what)(key) for one in found]) for what in ("mean", "deviation")
    )
    colour = COLOURS[share]
    ax.fill_between(x, means - spread, means + spread, color=colour, alpha=0.2, linewidth=0)
    ax.plot(x, means, color=colour, linewidth=1, markersize=2.5, **style)


# -- the tables ------------------------------------------------------------------------------------


def cell(found: Found, key: str) -> str:
    mean, spread = found.mean(key), found.deviation(key)
    return f"{mean:,.1f} ({spread:.1f})" if key == "mr" else f"{mean:.4f} ({spread:.4f})"


def table(heading: str, rows: Mapping[str, Found]) -> str:
    """All metrics, a line for each row."""
    return pipes(
        [heading, "pairs", *KEYS.values()],
        [
            [name, f"{found.pairs:,}", *(cell(found, key) for key in KEYS)]
            for name, found in rows.items()
        ],
    )


def drift_table(results: Results) -> str:
    """What a metric is on the smallest test sets beside what it is on the largest."""
    names = [f"{KEYS[key]}, times" if key == "mr" else f"{KEYS[key]}, plus" for key in KEYS]
    rows = []
    for share, way in [*((share, "test") for share in SHARES), (USUAL, "all")]:
        few, many = (results[Case(share, part, way)] for part in (PARTS[0], PARTS[-1]))
        cells = [
            f"{few.mean(key) / many.mean(key):.3f}"
            if key == "mr"
            else f"{few.mean(key) - many.mean(key):+.4f}"
            for key in KEYS
        ]
        rows.append([f"{share:.0%}, {way}", *cells])
    return pipes(["trained with, candidates", *names], rows)


def findings(results: Results) -> list[str]:
    """What the numbers say."""
    few, many = (results[Case(USUAL, part, "test")] for part in (PARTS[0], PARTS[-1]))
    line = [results[Case(USUAL, part, "test")] for part in PARTS]
    whole = [results[Case(USUAL, part, "all")] for part in PARTS]

    def span(found: list[Found], key: str) -> float:
        means = [one.mean(key) for one in found]
        return max(means) - min(means)

    lines = {share: [results[Case(share, part, "test")] for part in PARTS] for share in SHARES}
    least, most = min(SHARES), max(SHARES)
    rest = [results[Case(share, 1.0, "test")] for share in (least, most)]
    same = [results[Case(share, 1.0, FIXED)] for share in (least, most)]

    def gain(two: list[Found], key: str) -> float:
        return two[1].mean(key) - two[0].mean(key)

    widest = max(span(found, "amri") for found in lines.values())
    return [
        f"**One model, smaller test sets** ({USUAL:.0%} trained, among the test entities). From "
        f"{many.pairs:,} pairs to {few.pairs:,}, MR falls from {many.mean('mr'):.1f} to "
        f"{few.mean('mr'):.1f}, nearly in proportion; hits@1 rises from "
        f"{many.mean('hits@1'):.3f} to {few.mean('hits@1'):.3f}, hits@10 from "
        f"{many.mean('hits@10'):.3f} to {few.mean('hits@10'):.3f}, MRR from "
        f"{many.mean('mrr'):.3f} to {few.mean('mrr'):.3f}. The model is the same. The rise of "
        "hits@1 is "
        f"{abs(few.mean('hits@1') - many.mean('hits@1')) / many.deviation('hits@1'):.0f} "
        "deviations between splits.",
        f"**AMRI does not change.** Its means over the ten sizes span {span(line, 'amri'):.4f}, "
        f"the deviation between splits is {few.deviation('amri'):.4f} on the smallest tests and "
        f"{many.deviation('amri'):.4f} on the largest. Over all models the widest span is "
        f"{widest:.4f}.",
        "**The indices of other metrics do change.** AMRR moves by "
        f"{few.mean('amrr') - many.mean('amrr'):+.4f} where MRR moves by "
        f"{few.mean('mrr') - many.mean('mrr'):+.4f}; adjusted hits@1 by "
        f"{few.mean('ah@1') - many.mean('ah@1'):+.4f} where hits@1 does by "
        f"{few.mean('hits@1') - many.mean('hits@1'):+.4f}; adjusted hits@10 by "
        f"{few.mean('ah@10') - many.mean('ah@10'):+.4f}. They subtract what chance gives, which "
        "is little among thousands; they do not correct for having fewer competitors. Of these "
        "metrics only the mean rank grows in proportion to the candidates, so that its index "
        "has the same expectation among a random sample of them.",
        "**Among all entities** no metric depends on how many pairs are tested: the candidates "
        f"are always the same. hits@1 spans {span(whole, 'hits@1'):.4f} over the ten sizes, AMRI "
        f"{span(whole, 'amri'):.4f}, which is sampling noise.",
        f"**More training and less testing**, as papers report it: from {least:.0%} to "
        f"{most:.0%} for training, tested on all other pairs, hits@1 rises by "
        f"{gain(rest, 'hits@1'):.3f}. On the same {same[0].pairs:,} pairs, and among the same "
        f"candidates, it rises by {gain(same, 'hits@1'):.3f}: "
        f"{1 - gain(same, 'hits@1') / gain(rest, 'hits@1'):.0%} of the gain was the smaller "
        f"test. For MRR it is {1 - gain(same, 'mrr') / gain(rest, 'mrr'):.0%}. MR falls by a "
        f"factor of {rest[0].mean('mr') / rest[1].mean('mr'):.1f}, of which "
        f"{same[0].mean('mr') / same[1].mean('mr'):.1f} comes from training. AMRI rises by "
        f"{gain(rest, 'amri'):.4f} on all other pairs, and by {gain(same, 'amri'):.4f} on the "
        "same pairs.",
    ]


def markdown(results: Results, seeds: int, seconds: float) -> str:
    """The findings, the picture, the tables."""
    by_part = {
        way: {f"{part:.0%}": results[Case(USUAL, part, way)] for part in PARTS}
        for way in ("test", "all")
    }
    by_share = {
        way: {f"{share:.0%}": results[Case(share, 1.0, way)] for share in SHARES}
        for way in ("test", FIXED)
    }
    text = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        seconds=seconds,
        seeds=seeds,
        found=points(findings(results)),
        drift=drift_table(results),
        usual=USUAL,
        test=table("tested", by_part["test"]),
        all=table("tested", by_part["all"]),
        rest=table("trained", by_share["test"]),
        same=table("trained", by_share[FIXED]),
        fixed=by_share[FIXED][f"{USUAL:.0%}"].pairs,
    )
    return page(text)


TEXT = """# Figure 3 of "On the Ambiguity": metrics against the size of the test set

Made by `python bench/studies/alignment_test_size.py DBP15K_FOLDER`, with Python {python} and numpy
{numpy}, in {seconds:.0f} s. DBP15k zh-en, 15,000 pairs; the vectors of
[alignment_vectors.py](alignment_vectors.md), cosine, both directions together, realistic ranks.

A model is made from a share of the pairs, and tested on 10 % to 100 % of the others, drawn at
random. There are {seeds} random splits; bands, and brackets in the tables, are the standard
deviation between them. The paper uses GCN-Align and starts from no training pair at all, which is
impossible with these vectors.

![Metrics against the number of test pairs](alignment_test_size.svg)

## Results

{found}

## From the largest test set to the smallest

The mean on 10 % of the test pairs, divided by (times) or minus (plus) the mean on all of them.

{drift}

## {usual:.0%} trained, among the entities of the test pairs

{test}

## {usual:.0%} trained, among all entities of the other graph

{all}

## Tested on all other pairs, among the entities of these pairs

{rest}

## Tested on the same {fixed:,} pairs, among the entities of these

{same}
"""


def main(folder: Path, output: Path, seeds: int) -> None:
    """Write alignment_test_size.svg and alignment_test_size.md."""
    start = time.perf_counter()
    results = measure(tr.alignment.read_dbp15k(folder), seeds)
    draw(results, output / "alignment_test_size.svg")
    text = markdown(results, seeds, time.perf_counter() - start)
    (output / "alignment_test_size.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    main(given.folder, given.output, given.seeds)
