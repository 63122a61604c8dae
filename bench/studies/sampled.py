"""Sampled negatives against full ranking: which metrics they change.

    python bench/studies/sampled.py KINSHIPS_FOLDER WN18RR_FOLDER [--output FOLDER] [--seeds N]

KINSHIPS_FOLDER holds triples.npz and the arrays of four published models; WN18RR_FOLDER is the
output of `wn18rr.py` (--vectors-only is enough). Each model is ranked against all entities, and
against samples of them: uniform, or of the types of the relation (entities seen in that position of
it), and against all of those. Writes sampled.svg and sampled.md. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import platform
import textwrap
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import markdown_table

import truerank as tr

HERE = Path(__file__).parent

SPLITS = ("train", "valid")
UNIFORM, TYPED = "uniform", "typed"
KEYS = {
    "mrr": "MRR",
    "hits@10": "hits@10",
    "index.mr": "AMRI",
    "index.mrr": "index of MRR",
    "index.hits@10": "index of hits@10",
    "z.mr": "z of MR",
    "z.mrr": "z of MRR",
    "z.hits@10": "z of hits@10",
}
NAMES = {
    "wn18rr": "WN18RR, ComplEx",
    "complex": "Kinships, ComplEx",
    "rotate": "Kinships, RotatE",
    "transe": "Kinships, TransE",
    "tucker": "Kinships, TuckER",
}
KINSHIPS = ("complex", "rotate", "transe", "tucker")
NEGATIVES = {"wn18rr": (100, 500, 1000), **dict.fromkeys(KINSHIPS, (10, 25, 50))}
COLOURS = {
    "wn18rr": "#8d6a9f",
    "complex": "#0072b2",
    "rotate": "#d55e00",
    "transe": "#009e73",
    "tucker": "#333333",
}
MARKERS = {"wn18rr": "o", "complex": "o", "rotate": "s", "transe": "^", "tucker": "D"}
PANELS = (("mrr", "MRR"), ("hits@10", "hits@10"), ("index.mr", "AMRI"), ("z.mrr", "z of MRR"))


class Candidates(NamedTuple):
    """What targets are ranked against: some negatives of a kind, or all of them."""

    kind: str
    negatives: int | None = None

    def __str__(self) -> str:
        if self.negatives is None:
            return "all entities" if self.kind == UNIFORM else "all typed"
        return f"{self.kind}, {self.negatives:,}"


FULL, FULL_TYPED = Candidates(UNIFORM), Candidates(TYPED)


class Metrics(NamedTuple):
    """The metrics of one model and one kind of candidates, by seed."""

    values: dict[str, list[float]]
    candidates: float  # mean number
    fewest: int
    mean_index: float  # the mean of the tasks' own indices, with equal weights

    def mean(self, key: str) -> float:
        return float(np.mean(self.values[key]))

    def deviation(self, key: str) -> float:
        values = self.values[key]
        if np.ptp(values) < 1e-9:  # also for full ranking, which has no seeds
            return 0.0
        return float(np.std(values, ddof=1))


Results = Mapping[str, Mapping[Candidates, Metrics]]


def candidates_of(model: str) -> list[Candidates]:
    """Return full ranking first, then samples from few to many."""
    samples = [Candidates(kind, size) for kind in (UNIFORM, TYPED) for size in NEGATIVES[model]]
    return [FULL, FULL_TYPED, *samples]


def evaluate(folder: Path, file: str, candidates: Candidates, seed: int) -> tr.Report:
    """Return the filtered report of one model, of both sides."""
    typed = candidates.kind == TYPED
    chosen: Any = "typed" if typed else "all"
    if candidates.negatives is not None:
        chosen = tr.link_prediction.Sampled(candidates.negatives, typed=typed, seed=seed)
    with np.load(folder / "triples.npz") as triples, np.load(folder / file) as model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # duplicates and leaks of the data sets are known
            task = tr.link_prediction.Task(
                triples["test"],
                {split: triples[split] for split in SPLITS},
                entities=len(model["entities"]),
                candidates=chosen,
            )
        return task.evaluate_embeddings(
            model["queries_tail"],
            model["queries_head"],
            model["entities"],
            similarity=str(model["similarity"]),
        )


def measure(folder: Path, file: str, candidates: Candidates, seeds: int) -> Metrics:
    """Evaluate every seed; full ranking has none."""
    chosen = range(1 if candidates.negatives is None else seeds)
    reports = [evaluate(folder, file, candidates, seed) for seed in chosen]
    sizes, ranks = (
        np.concatenate([getattr(report.ranks, name) for report in reports])
        for name in ("candidates", "realistic")
    )
    several = sizes > 1
    indices = 1 - 2 * (ranks[several] - 1) / (sizes[several] - 1)
    values = {key: [float(report[key]) for report in reports] for key in KEYS}
    return Metrics(values, float(sizes.mean()), int(sizes.min()), float(indices.mean()))


def measure_all(kinships: Path, wn18rr: Path, seeds: int) -> dict[str, dict[Candidates, Metrics]]:
    """Evaluate all models against all kinds of candidates."""
    results = {}
    for model in NAMES:
        folder, file = (wn18rr, "complex.npz") if model == "wn18rr" else (kinships, f"{model}.npz")
        results[model] = {c: measure(folder, file, c, seeds) for c in candidates_of(model)}
    return results


# -- picture and page ------------------------------------------------------------------------------


def draw(results: Results, path: Path) -> None:
    """Draw a row for each data set; solid lines are uniform samples, dotted ones typed."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "truerank", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, 4, figsize=(11, 5.6), layout="constrained")
    for axes, models in zip(grid, (("wn18rr",), KINSHIPS), strict=True):
        for ax, (key, title) in zip(axes, PANELS, strict=True):
            for model in models:
                _lines(ax, model, results[model], key)
            ax.set_title(title, fontsize=10)
            ax.grid(axis="y", linewidth=0.4, alpha=0.5)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_ylim(0, None if key.startswith("z") else 1.03)
            sizes = NEGATIVES[models[0]]
            ax.set_xticks(range(len(sizes) + 1), [*(f"{size:,}" for size in sizes), "all"])
        axes[0].legend(frameon=False, fontsize=8, loc="lower left")
    figure.supxlabel("negatives of each task", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _lines(ax: Any, model: str, metrics: Mapping[Candidates, Metrics], key: str) -> None:
    for kind, style in ((UNIFORM, "-"), (TYPED, ":")):
        points = [metrics[Candidates(kind, size)] for size in NEGATIVES[model]]
        points.append(metrics[Candidates(kind)])
        ax.errorbar(
            range(len(points)),
            [point.mean(key) for point in points],
            [point.deviation(key) for point in points],
            color=COLOURS[model],
            marker=MARKERS[model],
            markersize=4,
            linewidth=1,
            linestyle=style,
            label=NAMES[model] if kind == UNIFORM else None,
        )


def number(value: float) -> str:
    """Format a number: four digits after the point if it is about 1, else one."""
    return f"{value:.4f}" if abs(value) < 2 else f"{value:,.1f}"


def table(metrics: Mapping[Candidates, Metrics]) -> str:
    """Return a row for each kind of candidates: means over seeds and, in brackets, deviations."""
    heading = ["ranked against", "candidates", *KEYS.values()]
    rows = []
    for candidates, values in metrics.items():
        cells = [
            number(values.mean(key))
            + (f" ({values.deviation(key):.2g})" if len(values.values[key]) > 1 else "")
            for key in KEYS
        ]
        rows.append([str(candidates), f"{values.candidates:,.1f}", *cells])
    return markdown_table(heading, rows)


def orders(results: Results, key: str) -> str:
    """Say how often the four models have the order of full ranking, over all samples and seeds."""
    full, same, total = _order(results, key, FULL, 0), 0, 0
    for candidates in candidates_of(KINSHIPS[0])[2:]:
        for seed in range(len(results[KINSHIPS[0]][candidates].values[key])):
            same += _order(results, key, candidates, seed) == full
            total += 1
    return f"in {same} of {total} samples by {KEYS[key]}"


def _order(results: Results, key: str, candidates: Candidates, seed: int) -> list[str]:
    return sorted(KINSHIPS, key=lambda model: -results[model][candidates].values[key][seed])


def summarise(results: Results) -> list[str]:
    """Return the results in sentences."""
    wordnet, kinships = results["wn18rr"], {model: results[model] for model in KINSHIPS}
    full, hundred, thousand = (
        wordnet[FULL],
        wordnet[Candidates(UNIFORM, 100)],
        wordnet[Candidates(UNIFORM, 1000)],
    )
    typed, every = wordnet[Candidates(TYPED, 100)], wordnet[FULL_TYPED]
    ten = {m: metrics[Candidates(UNIFORM, 10)] for m, metrics in kinships.items()}
    against_all = {m: metrics[FULL] for m, metrics in kinships.items()}

    def spread(key: str, by: Mapping[str, Metrics]) -> float:
        values = [metrics.mean(key) for metrics in by.values()]
        return max(values) - min(values)

    def largest_change(key: str, kind: str) -> float:
        return max(
            abs(metrics[candidates].mean(key) - metrics[Candidates(kind)].mean(key))
            for metrics in results.values()
            for candidates in metrics
            if candidates.kind == kind
        )

    transe, complex_ = (against_all[model].mean("hits@10") for model in ("transe", "complex"))
    same_order = ", ".join(orders(results, key) for key in ("mrr", "index.mr", "hits@10"))
    return [
        f"**MRR and hits@10 are too high.** On WN18RR the MRR is {full.mean('mrr'):.3f} against "
        f"all entities, {thousand.mean('mrr'):.3f} against a thousand and "
        f"{hundred.mean('mrr'):.3f} against a hundred of them; hits@10 "
        f"{full.mean('hits@10'):.3f}, {thousand.mean('hits@10'):.3f} and "
        f"{hundred.mean('hits@10'):.3f}. Their adjusted indices are no better "
        f"({hundred.mean('index.mrr'):.3f} and {hundred.mean('index.hits@10'):.3f} against a "
        "hundred): the index subtracts what chance gives, and a sample is easier by more than "
        "that. A rank of 400 among 40,000 becomes about 2 among 101; in the MRR the former "
        "counts as 0.0025, the latter as 0.5.",
        "**AMRI is not, where all tasks have equally many candidates.** A uniform sample "
        "divides the ranks of all tasks and their expectation by the same factor: the index of "
        f"the mean rank is the same, to within {largest_change('index.mr', UNIFORM):.4f} for all "
        "models and sizes. No other metric or index here estimates its full value from a "
        "sample.",
        "**With typed negatives it is another mean.** Relations have different numbers of typed "
        "entities, and AMRI weights a task by its candidates; a sample gives all tasks equally "
        f"many. On WN18RR AMRI is {every.mean('index.mr'):.3f} against all typed entities and "
        f"{typed.mean('index.mr'):.3f} against a hundred, which is about the plain mean of the "
        f"tasks' own indices against all typed entities, {every.mean_index:.3f}.",
        "**Typed negatives are harder.** On WN18RR the MRR against a hundred is "
        f"{typed.mean('mrr'):.3f} typed and {hundred.mean('mrr'):.3f} uniform. Against all typed "
        f"entities it is {every.mean('mrr'):.3f}, hardly above the {full.mean('mrr'):.3f} of all "
        "entities. A relation with few typed entities has fewer than requested, as few as "
        f"{typed.fewest} candidates.",
        "**z of the mean rank hardly changes; those of MRR and hits@10 do.** z of MR is "
        f"{full.mean('z.mr'):.1f} in full and {hundred.mean('z.mr'):.1f} against a hundred: rank "
        f"and deviation shrink by the same factor. z of MRR falls from {full.mean('z.mrr'):,.0f} "
        f"to {hundred.mean('z.mrr'):.0f}, that of hits@10 from {full.mean('z.hits@10'):,.0f} to "
        f"{hundred.mean('z.hits@10'):.0f}, although both metrics rose: reaching the top of 101 "
        "is much likelier by chance than reaching the top of 40,943. z orders models of one "
        "protocol, and says nothing across protocols.",
        f"**Models come closer.** The four of Kinships span {spread('mrr', against_all):.3f} of "
        f"MRR in full and {spread('mrr', ten):.3f} against ten; of hits@10 "
        f"{spread('hits@10', against_all):.3f} and {spread('hits@10', ten):.3f}. They have the "
        f"order of full ranking {same_order}. hits@10 of TransE and ComplEx, {transe:.4f} and "
        f"{complex_:.4f} in full, depend on the first ten ranks, which among few candidates are "
        "no longer the same ten.",
        "**Seeds matter least.** Between seeds the MRR on WN18RR has a deviation of "
        f"{hundred.deviation('mrr'):.2g} against a hundred uniform negatives; what sampling does "
        f"to its mean is {hundred.mean('mrr') - full.mean('mrr'):.2g}.",
    ]


def main(kinships: Path, wn18rr: Path, output: Path, seeds: int) -> None:
    """Measure, draw, and write the page."""
    start = time.perf_counter()
    results = measure_all(kinships, wn18rr, seeds)
    seconds = time.perf_counter() - start
    draw(results, output / "sampled.svg")
    bullets = [
        textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ")
        for text in summarise(results)
    ]
    page = TEXT.format(
        seeds=seeds,
        python=platform.python_version(),
        numpy=np.__version__,
        seconds=seconds,
        summary="\n".join(bullets),
        tables="\n\n".join(
            f"### {name}\n\n{table(results[model])}" for model, name in NAMES.items()
        ),
    )
    (output / "sampled.md").write_text(page, encoding="utf-8")
    print(page)


TEXT = """# Sampled negatives against full ranking

Made by `python bench/studies/sampled.py KINSHIPS_FOLDER WN18RR_FOLDER`, with Python {python} and
numpy {numpy}, in {seconds:.0f} s. Filtered, both sides, realistic ranks.

WN18RR: the ComplEx embeddings that `wn18rr.py` trains, 40,943 entities, 6,268 tasks. Kinships: four
published models, 104 entities, 2,148 tasks; it has fewer than a hundred negatives to draw. Each
task's negatives are distinct and never a known answer: uniform over all entities, or over those
seen in that position of the relation ("typed"). {seeds} seeds of each.

![Metrics against the number of negatives](sampled.svg)

Solid: uniform, dotted: typed; the last point of a line is against all of that kind. Bars, where
they are visible, are the deviation between seeds.

## Results

{summary}

## The numbers

Means over the seeds; in brackets the standard deviation between them. "Candidates" is their mean
number, including the target.

{tables}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinships", type=Path)
    parser.add_argument("wn18rr", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--seeds", type=int, default=10)
    main(**vars(parser.parse_args()))
