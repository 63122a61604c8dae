"""What protocols share: the Task, its sides, candidates and parts; and scores evaluated at once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ..counting.ranking import rank
from ..inputs.rules import RuleOptions, with_options
from ..naming import names_when_used, public
from ..reporting import Report

if TYPE_CHECKING:
    import os

    from ..inputs.rules import IoMode
    from ..ranks.labels import LabelsLike
    from . import list_evaluation as list_evaluation
else:  # A type checker that read this would accept any name.
    _, __getattr__, __dir__ = names_when_used(__name__, {".list_evaluation": ()})

F = TypeVar("F", bound=Callable[..., Any])


@public("truerank")
@with_options(RuleOptions)
def evaluate(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    io: IoMode | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    side: LabelsLike | None = None,
    by: LabelsLike | None = None,
    **options: Unpack[RuleOptions],
) -> Report:
    """Rank the true candidates and report the metrics: `report(rank(...))`.

    The parameters and errors are those of `rank`. The report keeps the ranks as `.ranks`;
    `report(result.ranks, seed=...)` draws the kind "random" with another seed.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,), or files
        The scores of the candidates, in memory or in files.
    targets : array_like of int, shape (n,), or int
        The column of the true candidate, per task.
    rows : array_like of int, shape (n,), optional
        The row of each task. Default: row i for task i.
    filter : selection, optional
        The candidates to leave out, per task; the true one always stays.
    candidates : selection or array_like of int, optional
        The only candidates to let in, per task or for all tasks.
    order : {"descending", "ascending"}
        Whether higher or lower scores are better.
    nan : {"raise", "worst", "omit"}
        The rule for NaN.
    dtype : optional
        The dtype of raw bytes, as "bfloat16".
    threads : int, optional
        The number of threads.
    audit : bool
        Whether to count NaN, infinities and ties with the best score as well.
    io : {"map", "read"}, optional
        How to read files.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress` after every block of scores.
    checkpoint : path-like, optional
        A file that stores the counts so far, from which a stopped call resumes.
    side : str or labels, optional
        The side of all tasks, as "tail", or of each; a report has the metrics of every side.
    by : str or labels, optional
        The group of each task, or "side"; see `report`.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank` and `report` do.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate(np.array([[0.1, 0.9, 0.5]]), [2])["mrr"]
    0.5
    >>> scores = np.array([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]])
    >>> evaluate(scores, [2, 0], side=["head", "tail"], by=["likes", "knows"])["tail.mrr"]
    1.0
    """
    tasks: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
    ranks = rank(scores, targets, **tasks, io=io, checkpoint=checkpoint, **options)
    if side is not None:
        ranks = ranks.with_labels(side=side)
    return Report(ranks, by=by)


def described_by(way: Callable[..., Any], kind: type[Any]) -> Callable[[F], F]:
    """Return a decorator of a protocol's method, by which it evaluates in some way.

    The method takes the options of a kind, by `with_options`. Its docstring gets what that of the
    way says of all protocols: further parameters, what is returned, and errors.
    """
    _, _, shared_sections = (inspect.getdoc(way) or "").partition("\n\n")
    shared_sections = shared_sections.removeprefix("Parameters\n----------\n")

    def describe(method: F) -> F:
        sections = re.split(r"\n\n(?=\w+\n---)", inspect.cleandoc(method.__doc__ or ""))
        summary_and_parameters, other_sections = sections[:2], sections[2:]
        method.__doc__ = "\n\n".join([*summary_and_parameters, shared_sections, *other_sections])
        return with_options(kind)(method)

    return describe
