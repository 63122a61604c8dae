"""Tables and pictures of the page that alignment_protocols.py writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import markdown_table

import truerank as tr

Array = NDArray[Any]
Reports = dict[str, tr.Report]

NAME = "alignment_protocols"
SIDES = {"left_to_right": "zh to en", "right_to_left": "en to zh", "both": "both"}
KEYS = {"mr": "MR", "mrr": "MRR", "hits@1": "hits@1", "hits@10": "hits@10", "amri": "AMRI"}


# -- pictures --------------------------------------------------------------------------------------


def draw(output: Path, results: Mapping[str, Any]) -> None:
    """Draw all pictures as SVG; the same numbers give the same bytes."""
    import matplotlib as mpl

    mpl.rcParams |= {"svg.hashsalt": "truerank", "svg.fonttype": "none", "font.size": 9}
    for name, plot in PICTURES.items():
        figure = plot(results[name])
        figure.savefig(output / f"{NAME}_{name}.svg", metadata={"Date": None})


def _figure(columns: int, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10 if columns > 1 else 7, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def draw_hubs(hubs: dict[str, Any]) -> Any:
    figure, ax = _figure(1, 3)
    starts = np.zeros(len(hubs))
    for times in ("0", "1", "2-4", "5+"):
        shares = np.array([found.shares[times] for found in hubs.values()])
        ax.barh(list(hubs), shares, left=starts, label=times)
        starts += shares
    ax.invert_yaxis()
    ax.set_xlabel("share of candidates")
    ax.legend(title="times that it is the most similar", ncols=4, loc="lower right")
    return figure


def draw_profiles(profiles: dict[str, Any]) -> Any:
    figure, ax = _figure(1, 3.6)
    for name, found in profiles.items():
        nth = range(1, found.ids.shape[1] + 1)
        ax.plot(nth, found.similarities.mean(axis=0), "o-", label=name)
    ax.set_xlabel("the nth most similar entity")
    ax.set_ylabel("mean similarity")
    ax.legend()
    return figure


def draw_degrees(reports: Reports) -> Any:
    figure, ax = _figure(1, 3.6)
    for name, report in reports.items():
        hits = report.group_values("hits@1")
        ax.plot(list(map(str, hits)), list(hits.values()), "o-", label=name)
    ax.set_xlabel("sum of degrees")
    ax.set_ylabel("hits@1")
    ax.set_ylim(0, 1)
    ax.legend()
    return figure


def draw_curves(curves: dict[str, Any]) -> Any:
    figure, axes = _figure(2, 3.6)
    for ax, by in zip(axes, ("similarity", "margin"), strict=True):
        curve = curves[f"{by}, cosine"]
        # fewer thresholds, as many as a picture can show
        sample = np.unique(np.linspace(0, len(curve) - 1, 400).astype(int))
        for name in ("precision", "recall", "f1"):
            ax.step(curve.thresholds[sample], getattr(curve, name)[sample], "pre", label=name)
        ax.set_xlabel(f"threshold of the {by}")
        ax.set_xlim(*np.quantile(curve.values, (0.002, 0.998)))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles[:3], labels[:3], loc="outside upper center", ncols=3, frameon=False)
    return figure


PICTURES: dict[str, Callable[[Any], Any]] = {
    "hubness": draw_hubs,
    "similarities": draw_profiles,
    "degrees": draw_degrees,
    "dangling": draw_curves,
}


# -- tables ----------------------------------------------------------------------------------------


def metric_cells(report: tr.Report, side: str) -> list[str]:
    values = {key: float(report[f"{side}.{key}"]) for key in KEYS}
    return [f"{value:,.1f}" if key == "mr" else f"{value:.4f}" for key, value in values.items()]


def candidates_table(reports: Reports) -> str:
    rows = [
        [f"{way}, {name}", f"{int(_candidates(report, side).max()):,}", *metric_cells(report, side)]
        for way, report in reports.items()
        for side, name in SIDES.items()
    ]
    return markdown_table(["candidates, direction", "number", *KEYS.values()], rows)


def _candidates(report: tr.Report, side: str) -> Array:
    """Return the numbers of candidates of the tasks of a side."""
    ranks = report.ranks
    return ranks.candidates[slice(None) if side == "both" else ranks.side.values == side]


def reports_table(heading: str, reports: Reports) -> str:
    return markdown_table(
        [heading, *KEYS.values()],
        [[name, *metric_cells(report, "both")] for name, report in reports.items()],
    )


def inference_table(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for score, methods in results.items():
        for name, (alignment, agreement, seconds) in methods.items():
            shares = (agreement.precision, agreement.recall, agreement.f1, agreement.hits_at_1)
            solved = alignment.solved if alignment.method == "optimal" else ""
            rows.append(
                [
                    f"{name}, {score}{', ' * bool(solved)}{solved}",
                    f"{agreement.predicted:,}",
                    *(f"{value:.4f}" for value in shares),
                    f"{seconds:.1f}",
                ]
            )
    return markdown_table(["method, score", "pairs", "P", "R", "F1", "hits@1", "time, s"], rows)


def hubs_table(hubs: dict[str, Any]) -> str:
    heading = ["score, direction", "0", "1", "2-4", "5+", "skewness", "Robin Hood", "largest"]
    rows = []
    for name, hubness in hubs.items():
        numbers = [f"{hubness.shares[times]:.3f}" for times in heading[1:5]]
        numbers += [f"{hubness.skewness:.2f}", f"{hubness.robin_hood:.3f}", f"{hubness.largest:,}"]
        rows.append([name, *numbers])
    return markdown_table(heading, rows)


def degrees_table(reports: Reports) -> str:
    tasks = next(iter(reports.values())).group_tasks()
    values = {
        f"{key}, {score}": report.group_values(key)
        for key in ("hits@1", "mrr")
        for score, report in reports.items()
    }
    rows = [
        [str(bucket), f"{count:,}", *(f"{value[bucket]:.4f}" for value in values.values())]
        for bucket, count in tasks.items()
    ]
    return markdown_table(["sum of degrees", "tasks", *values], rows)


def curves_table(curves: dict[str, Any]) -> str:
    rows = []
    for name, curve in curves.items():
        at = int(np.argmax(curve.f1))
        numbers = (curve.best_threshold, curve.precision[at], curve.recall[at], curve.best_f1)
        rows.append([name, *(f"{x:.4f}" for x in (*numbers, curve.average_precision))])
    heading = ["threshold on", "best threshold", "P", "R", "F1", "average precision"]
    return markdown_table(heading, rows)


def profiles_table(profiles: dict[str, Any]) -> str:
    rows = []
    for name, profile in profiles.items():
        means = profile.similarities.mean(axis=0)
        numbers = (*means, means[0] - means[1])
        rows.append([name, f"{len(profile.queries):,}", *(f"{x:.4f}" for x in numbers)])
    nth = ["1st", "2nd", "3rd", "4th", "5th"]
    return markdown_table(["left entities", "number", *nth, "1st minus 2nd"], rows)
