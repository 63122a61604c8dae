"""Figure 1 of "A Unified Framework for Rank-based Evaluation Metrics", with exact adjustments.

    python bench/studies/figure1.py DATA_FOLDER [OUTPUT_FOLDER]

The paper (Hoyt et al., 2022) draws the MRR of four models on four data sets beside its adjusted
index (AMRR) and z (ZMRR). The Kinships models are available and ranked again; for the others the
published MRR is adjusted by `truerank.adjust`, with the exact numbers of filtered candidates. Needs
matplotlib.
"""

from __future__ import annotations

import csv
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
from kinships import MODELS, rank_model

import truerank as tr
from truerank.metrics.published import known_candidates

HERE = Path(__file__).parent

NAMES = {
    "nations": "Nations",
    "kinships": "Kinships",
    "wn18rr-seen": "WN18RR",
    "fb15k237-seen": "FB15k-237",
}
MODEL_NAMES = {"complex": "ComplEx", "rotate": "RotatE", "transe": "TransE", "tucker": "TuckER"}
COLOURS = {"complex": "#0072b2", "rotate": "#d55e00", "transe": "#009e73", "tucker": "#333333"}
MARKERS = {"complex": "o", "rotate": "s", "transe": "^", "tucker": "D"}
PANELS = (("mrr", "MRR"), ("amrr", "AMRR: 0 is chance, 1 perfect"), ("zmrr", "ZMRR (symlog)"))


class Point(NamedTuple):
    """One model on one data set: our values and the published ones."""

    mrr: float
    amrr: float
    zmrr: float
    published: dict[str, float]


def read_published() -> dict[tuple[str, str], dict[str, float]]:
    """Return the published values by data set and model, smallest data set first."""
    with (HERE / "unified_framework.tsv").open(newline="", encoding="utf-8") as file:
        return {
            (row.pop("dataset"), row.pop("model")): {name: float(row[name]) for name in row}
            for row in csv.DictReader(file, delimiter="\t")
        }


def measure(data: Path) -> dict[tuple[str, str], Point]:
    """Return all sixteen points."""
    reports = {model: tr.report(rank_model(data / "kinships", model)) for model in MODELS}
    points = {}
    for (dataset, model), published in read_published().items():
        if dataset == "kinships":
            report = reports[model]
            values = (report["mrr"], report["amrr"], report["zmrr"])
            if abs(values[0] - published["mrr"]) > 1e-6:
                raise ValueError(f"{model}: mrr {values[0]}, published {published['mrr']}")
        else:
            adjusted = tr.adjust("mrr", published["mrr"], dataset=dataset, filtered=True)
            values = (adjusted.value, adjusted.index, adjusted.z)
        points[dataset, model] = Point(*values, published)
    return points


def draw(points: dict[tuple[str, str], Point], path: Path) -> None:
    """Draw the three panels as SVG; the same numbers give the same bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "truerank", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    for ax, (name, title) in zip(axes, PANELS, strict=True):
        for model, label in MODEL_NAMES.items():
            heights = [getattr(points[dataset, model], name) for dataset in NAMES]
            ax.plot(
                range(len(NAMES)),
                heights,
                color=COLOURS[model],
                marker=MARKERS[model],
                markersize=5,
                linewidth=1,
                label=label,
            )
            if name != "mrr":
                theirs = [points[dataset, model].published[name] for dataset in NAMES]
                ax.scatter(range(len(NAMES)), theirs, color=COLOURS[model], marker="x", s=14)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(range(len(NAMES)), list(NAMES.values()))
        ax.grid(axis="y", linewidth=0.4, alpha=0.5)
        ax.spines[["top", "right"]].set_visible(False)
        if name == "zmrr":
            ax.set_yscale("symlog", linthresh=10)
            ax.set_ylim(-10, 2e4)
            ax.axhline(0, color="grey", linewidth=0.6)
        else:
            ax.set_ylim(0, 1)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def markdown(points: dict[tuple[str, str], Point]) -> str:
    """Return the page: the points as a table, and what they show."""
    lines = [
        "| data set | model | MRR | AMRR | published | ZMRR | published |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (dataset, model), point in points.items():
        lines.append(
            f"| {NAMES[dataset]} | {MODEL_NAMES[model]} | {point.mrr:.4f} | {point.amrr:.4f} | "
            f"{point.published['amrr']:.4f} | {point.zmrr:.1f} | {point.published['zmrr']:.1f} |"
        )

    def largest_difference(name: str, dataset: str) -> str:
        pairs = [
            (getattr(point, name), point.published[name])
            for (name_of_set, _), point in points.items()
            if name_of_set == dataset
        ]
        if name == "amrr":
            return f"{max(abs(ours - theirs) for ours, theirs in pairs):.2g}"
        share = max(abs(ours / theirs - 1) for ours, theirs in pairs)
        return f"{100 * share:.3g} %"

    differences = "; ".join(
        f"{label} {largest_difference('amrr', dataset)} and {largest_difference('zmrr', dataset)}"
        for dataset, label in NAMES.items()
    )
    freebase = points["fb15k237-seen", "complex"].published
    values, tasks, _ = known_candidates("fb15k237-seen", filtered=True)
    mean = float(np.average(values, weights=tasks))
    exact = points["fb15k237-seen", "complex"]
    with_all = tr.adjust("mrr", freebase["mrr"], dataset="fb15k237-seen")
    with_mean = tr.adjust("mrr", freebase["mrr"], candidates=round(mean), tasks=int(tasks.sum()))
    complex_ = [points["wn18rr-seen", "complex"], points["nations", "complex"]]
    tucker = [points["wn18rr-seen", "tucker"], points["nations", "tucker"]]
    remarks = [
        "**Kinships**: the published models, ranked and evaluated again. **Nations, WN18RR, "
        'FB15k-237**: the published MRR through `tr.adjust("mrr", MRR, dataset=..., '
        "filtered=True)`, with exact filtered counts.",
        f"On **FB15k-237** a task has {values.min():,} to {values.max():,} candidates, {mean:,.2f} "
        f"on average. ComplEx has AMRR {exact.amrr:.6f} and ZMRR {exact.zmrr:.1f}. If all tasks "
        f"had the mean it would be {with_mean.index:.6f} and {with_mean.z:.1f}, with all 14,505 "
        f"entities {with_all.index:.6f} and {with_all.z:.1f}.",
        "**Published** columns are the authors' own "
        "(github.com/pykeen/ranking-metrics-manuscript, `collated/collated.tsv`). Their AMRR "
        "uses ln N / (N - 1) at the mean N instead of the mean of H_N / N; their ZMRR is exact, "
        "but for N - 1 candidates instead of N. Both matter where N is small. Largest "
        f"differences of AMRR, and of ZMRR relative to ours: {differences}.",
        "On Nations (2 to 14 candidates) the sign of z depends on this: as published, ComplEx "
        "and TransE are worse than chance; with the target among its candidates they are "
        "better.",
        "ComplEx has nearly the same MRR on WN18RR and Nations "
        f"({complex_[0].mrr:.3f}, {complex_[1].mrr:.3f}), but AMRR {complex_[0].amrr:.3f} and "
        f"{complex_[1].amrr:.3f}: the paper's first reading, more so than in its own figures.",
        "The paper says that TuckER is better on WN18RR than on Nations. AMRR does not say so, "
        f"neither ours ({tucker[0].amrr:.3f}, {tucker[1].amrr:.3f}) nor theirs "
        f"({tucker[0].published['amrr']:.3f}, {tucker[1].published['amrr']:.3f}); only z does "
        f"({tucker[0].zmrr:,.0f}, {tucker[1].zmrr:.0f}), which grows with the number of tasks "
        "and of candidates.",
    ]
    bullets = [
        textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ") for text in remarks
    ]
    return f"""# Figure 1 of "A Unified Framework", with exact adjustments

Made by `python bench/studies/figure1.py DATA_FOLDER`. Both sides, realistic ranks, filtered;
triples with entities unseen in training are left out, as by the authors.

![MRR, AMRR and ZMRR of four models on four data sets](figure1.svg)

Crosses are the published values.

{chr(10).join(lines)}

{chr(10).join(bullets)}
"""


def main(data: Path, output: Path) -> None:
    """Write figure1.svg and figure1.md."""
    points = measure(data)
    draw(points, output / "figure1.svg")
    (output / "figure1.md").write_text(markdown(points), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else HERE)
