"""Figure 3 of "On the Ambiguity of Rank-Based Evaluation": metrics against the size of the test.

    python bench/studies/alignment_test_size.py DBP15K_FOLDER [--output FOLDER] [--seeds N]

The paper (Berrendorf et al., 2020) trains models with several amounts of aligned pairs, and ranks
each on test sets of several sizes, among the entities of the test pairs, on five random splits.
Here the models are those of alignment_vectors.py. Beyond the paper, there are MRR and hits@10 with
their adjusted indices, and all of it against all entities of the other graph too. Writes
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
from alignment_vectors import make_embeddings, split
from numpy.typing import NDArray
from pages import bullet_list, format_page, markdown_table

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # of all pairs, for training
USUAL = 0.3
FRACTIONS = tuple(k / 10 for k in range(1, 11))  # of the other pairs, for testing
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
# Metric, title and limits of the axis.
PANELS = (
    ("mr", "MR", None),
    ("hits@1", "hits@1", (0, 1)),
    ("hits@10", "hits@10", (0, 1)),
    ("amri", "AMRI", (0, 1)),
    ("amri", "AMRI, enlarged", (0.93, 1)),
    ("ah@1", "adjusted hits@1", (0, 1)),
)


class Case(NamedTuple):
    """Trained on a share of the pairs, tested on a fraction of the others, among candidates."""

    share: float
    fraction: float
    candidates: str


class Metrics(NamedTuple):
    """The metrics of one case, a row for each split."""

    pairs: int
    values: Array

    def mean(self, key: str) -> float:
        return float(self.values[:, list(KEYS).index(key)].mean())

    def deviation(self, key: str) -> float:
        """The standard deviation between the splits."""
        return float(self.values[:, list(KEYS).index(key)].std(ddof=1))


Results = Mapping[Case, Metrics]
FIXED = "the same pairs"  # in place of candidates: the pairs that no share uses for training


def values_of(embeddings: Any, test: Array, train: Array, candidates: str) -> list[float]:
    """Return all metrics, of both directions together."""
    known = {"train": train} if candidates == "all" else None
    report = tr.alignment.evaluate(*embeddings, test, known=known, candidates=candidates)
    return [float(report[key]) for key in KEYS]


def measure(data: Any, seeds: int) -> Results:
    """Evaluate every case on every split."""
    rows: dict[Case, list[list[float]]] = {}
    sizes: dict[Case, int] = {}
    for seed in range(seeds):
        # Splits of one seed use one random order: pairs that are left for testing by a larger share
        # are left by all smaller ones too.
        common = split(data, max(SHARES), seed)["test"]
        for share in SHARES:
            start = time.perf_counter()
            parts = split(data, share, seed)
            embeddings = make_embeddings(data, parts["train"], seed=seed)
            cases = [(Case(share, 1.0, FIXED), common)]
            for fraction in FRACTIONS:
                test = parts["test"]
                if fraction < 1:
                    shares = {"test": fraction, "left": 1 - fraction}
                    test = tr.alignment.split_pairs(test, shares, seed=seed)["test"]
                selections = ("test", "all") if share == USUAL else ("test",)
                cases += [(Case(share, fraction, name), test) for name in selections]
            for case, test in cases:
                candidates = "test" if case.candidates == FIXED else case.candidates
                rows.setdefault(case, []).append(
                    values_of(embeddings, test, parts["train"], candidates)
                )
                sizes[case] = len(test)
            print(f"seed {seed}, {share:.0%} trained: {time.perf_counter() - start:.1f} s")
    return {case: Metrics(sizes[case], np.array(values)) for case, values in rows.items()}


# -- the picture -----------------------------------------------------------------------------------


def draw(results: Results, path: Path) -> None:
    """Draw metrics against the number of test pairs, a line for each model, as reproducible SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "truerank", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex=True)
    for ax, (key, title, limits) in zip(axes.flat, PANELS, strict=True):
        for share in SHARES:
            _line(ax, results, key, share, "test", label=f"{share:.0%}", marker="o")
        _line(ax, results, key, USUAL, "all", label=f"{USUAL:.0%}, among all", linestyle="--")
        ax.set_title(title, fontsize=10)
        ax.grid(axis="y", linewidth=0.4, alpha=0.5)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlim(0, None)
        if limits is None:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        else:
            ax.set_ylim(*limits)
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


def _line(ax: Any, results: Results, key: str, share: float, candidates: str, **style: Any) -> None:
    """Draw the line of one model, with the deviation between splits as a band."""
    points = [results[Case(share, fraction, candidates)] for fraction in FRACTIONS]
    x = [point.pairs for point in points]
    means = np.array([point.mean(key) for point in points])
    spread = np.array([point.deviation(key) for point in points])
    colour = COLOURS[share]
    ax.fill_between(x, means - spread, means + spread, color=colour, alpha=0.2, linewidth=0)
    ax.plot(x, means, color=colour, linewidth=1, markersize=2.5, **style)


# -- the tables ------------------------------------------------------------------------------------


def cell(metrics: Metrics, key: str) -> str:
    mean, spread = metrics.mean(key), metrics.deviation(key)
    return f"{mean:,.1f} ({spread:.1f})" if key == "mr" else f"{mean:.4f} ({spread:.4f})"


def table(heading: str, rows: Mapping[str, Metrics]) -> str:
    """Return a table of all metrics."""
    return markdown_table(
        [heading, "pairs", *KEYS.values()],
        [
            [name, f"{metrics.pairs:,}", *(cell(metrics, key) for key in KEYS)]
            for name, metrics in rows.items()
        ],
    )


def drift_table(results: Results) -> str:
    """Return a table that compares the smallest test sets with the largest."""
    names = [f"{KEYS[key]}, times" if key == "mr" else f"{KEYS[key]}, plus" for key in KEYS]
    rows = []
    for share, candidates in [*((share, "test") for share in SHARES), (USUAL, "all")]:
        few, many = (
            results[Case(share, fraction, candidates)] for fraction in (FRACTIONS[0], FRACTIONS[-1])
        )
        cells = [
            f"{few.mean(key) / many.mean(key):.3f}"
            if key == "mr"
            else f"{few.mean(key) - many.mean(key):+.4f}"
            for key in KEYS
        ]
        rows.append([f"{share:.0%}, {candidates}", *cells])
    return markdown_table(["trained with, candidates", *names], rows)


def summarise(results: Results) -> list[str]:
    """Return the results in sentences."""
    few, many = (
        results[Case(USUAL, fraction, "test")] for fraction in (FRACTIONS[0], FRACTIONS[-1])
    )
    line = [results[Case(USUAL, fraction, "test")] for fraction in FRACTIONS]
    whole = [results[Case(USUAL, fraction, "all")] for fraction in FRACTIONS]

    def span(cases: list[Metrics], key: str) -> float:
        means = [case.mean(key) for case in cases]
        return max(means) - min(means)

    lines = {
        share: [results[Case(share, fraction, "test")] for fraction in FRACTIONS]
        for share in SHARES
    }
    least, most = min(SHARES), max(SHARES)
    rest = [results[Case(share, 1.0, "test")] for share in (least, most)]
    same = [results[Case(share, 1.0, FIXED)] for share in (least, most)]

    def gain(cases: list[Metrics], key: str) -> float:
        return cases[1].mean(key) - cases[0].mean(key)

    widest = max(span(line, "amri") for line in lines.values())
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
    """Return the page: results, picture, tables."""
    by_fraction = {
        way: {f"{fraction:.0%}": results[Case(USUAL, fraction, way)] for fraction in FRACTIONS}
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
        results=bullet_list(summarise(results)),
        drift=drift_table(results),
        usual=USUAL,
        test=table("tested", by_fraction["test"]),
        all=table("tested", by_fraction["all"]),
        rest=table("trained", by_share["test"]),
        same=table("trained", by_share[FIXED]),
        fixed=by_share[FIXED][f"{USUAL:.0%}"].pairs,
    )
    return format_page(text)


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

{results}

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
