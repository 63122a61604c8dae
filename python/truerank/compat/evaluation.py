"""Evaluates scores under the conventions of toolkits: one report, or a table of several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..reporting import report as exact_report
from .conventions import steps_to
from .presets import PRESETS, Preset, preset
from .results import CompatReport, CompatTable
from .scored_tasks import FullTasks, SampledTasks, ScoredTasks

if TYPE_CHECKING:
    from ..inputs.words import ScoreOrder
    from ..ranks.labels import LabelsLike

_preset = preset


@public("truerank.compat")
def report(
    scores: Any,
    targets: Any,
    *,
    preset: str | Preset,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
) -> CompatReport:
    """Evaluate scores as a toolkit does, and show how its numbers depart from the exact ones.

    Exact counts come from `rank`. If a toolkit's convention changes the counts themselves (a
    tolerance, a transform, another score for filtered candidates), they are counted again in plain
    NumPy, block by block. The scores must be in memory or in a memory map.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,)
        A column for each candidate, as in `rank`. Paths are not accepted: open a ``.npy`` file with
        ``np.load(path, mmap_mode="r")``. Integers of 64 bits are not accepted either.
    targets, rows, filter, candidates, dtype
        As in `rank`. The filter holds what the toolkit filters; without it, the result has the
        toolkit's unfiltered numbers.
    preset : str or Preset
        A row of `PRESETS`, or a preset of your own.
    order : {"descending", "ascending"}
        "descending" if higher scores are better. It describes `scores`, not the toolkit.
    side : labels, shape (tasks,), optional
        "head" or "tail" for each task. OpenKE averages the numbers of both sides.

    Returns
    -------
    CompatReport

    Raises
    ------
    KeyError
        For an unknown preset.
    TypeError, ValueError
        As `rank` does, but NaN is not an error here.

    Examples
    --------
    >>> found = report([[-1000, -999.95, -999.93, -999.92]], [0], preset="libkge")
    >>> found["mean_rank"], found.corrected("mean_rank")  # all four tie within its tolerance
    (3.0, 4.0)
    """
    row = _preset(preset)
    options: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
    tasks = FullTasks(scores, targets, **options, order=order, dtype=dtype)
    return evaluate_presets(tasks, [row], side)[row.name]


@public("truerank.compat")
def report_against(
    true_scores: Any,
    others: Any,
    *,
    preset: str | Preset,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
) -> CompatReport:
    """Evaluate true scores among sampled negatives as a toolkit does.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k), or (values, indptr)
        The scores of each task's negatives, as in `rank_against`.
    preset, order, dtype, side
        As in `report`.

    Returns
    -------
    CompatReport

    Examples
    --------
    >>> report_against([0.5, 0.2], [[0.1, 0.5], [0.2, 0.3]], preset="ogb")["hits@3_list"]
    1.0
    """
    row = _preset(preset)
    tasks = SampledTasks(true_scores, others, order=order, dtype=dtype)
    return evaluate_presets(tasks, [row], side)[row.name]


@public("truerank.compat")
def table(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
    presets: Iterable[str | Preset] | None = None,
) -> CompatTable:
    """Compare the numbers of several toolkits for the same scores with the exact numbers.

    Parameters
    ----------
    scores, targets, rows, filter, candidates, order, dtype, side
        As in `report`.
    presets : iterable of str or Preset, optional
        Default: all of `PRESETS`.

    Returns
    -------
    CompatTable

    Examples
    --------
    >>> found = table([[0.5, 0.5, 0.1]], [0])
    >>> found["pytorch-biggraph"]["mrr"], found["openke"]["MRR"], found.exact["mr"]
    (0.5, 1.0, 1.5)
    """
    options: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
    tasks = FullTasks(scores, targets, **options, order=order, dtype=dtype)
    return evaluate_presets(tasks, look_up_presets(presets), side)


@public("truerank.compat")
def table_against(
    true_scores: Any,
    others: Any,
    *,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
    presets: Iterable[str | Preset] | None = None,
) -> CompatTable:
    """Do the same as `table` for true scores among sampled negatives.

    Parameters
    ----------
    true_scores, others, order, dtype, side
        As in `report_against`.
    presets : iterable of str or Preset, optional
        Default: all of `PRESETS`.

    Returns
    -------
    CompatTable

    Examples
    --------
    >>> table_against([0.5], [[0.5, 0.1]], presets=["ogb"]).to_dict()["ogb"]["mr"]
    1.5
    """
    tasks = SampledTasks(true_scores, others, order=order, dtype=dtype)
    return evaluate_presets(tasks, look_up_presets(presets), side)


def look_up_presets(presets: Iterable[str | Preset] | None) -> list[Preset]:
    """Look up several presets; None means all of them.

    Examples
    --------
    >>> [row.name for row in look_up_presets(["ogb", "rotate"])]
    ['ogb', 'rotate']
    """
    if isinstance(presets, (str, Preset)) or not isinstance(presets, (Iterable, type(None))):
        raise InputTypeError("presets", expected="several names or Presets", got=repr(presets))
    return [_preset(name) for name in (PRESETS if presets is None else presets)]


def evaluate_presets(
    tasks: ScoredTasks, rows: list[Preset], side: LabelsLike | None
) -> CompatTable:
    """Evaluate under several conventions, in one pass over the scores.

    Parameters
    ----------
    tasks : ScoredTasks
    rows : list of Preset
    side : labels, optional
    """
    names = [row.name for row in rows]
    if len(set(names)) < len(names):
        raise InputValueError("presets", expected="each name once", got=", ".join(names))
    ranks = tasks.exact if side is None else tasks.exact.with_labels(side=side)
    exact = exact_report(ranks)
    steps = {row.name: [convention for _, convention in steps_to(row.convention)] for row in rows}
    conventions = list(dict.fromkeys(convention for each in steps.values() for convention in each))
    counted = dict(zip(conventions, tasks.counts(conventions), strict=True))
    found = {
        row.name: CompatReport(
            row, exact, [counted[convention] for convention in steps[row.name]], tasks.filtered
        )
        for row in rows
    }
    return CompatTable(exact, found)
