"""One call that evaluates embeddings, or a matrix of similarities, by pairs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Unpack

from ..embeddings.device_embeddings import open_in_place
from ..inputs.errors import InputValueError, renamed, warn_user
from ..inputs.naming import public
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..stores import scores_or_store
from .pair_task import Task
from .two_graphs import FORWARD

if TYPE_CHECKING:
    from ..embeddings.vectors import CSLS
    from ..inputs.words import IoMode, Similarity
    from ..reporting.reports import Report

_DEFAULTS = {"similarity": "cosine", "order": "descending"}  # other options default to None


@public("truerank.alignment")
@with_options(RuleOptions)
def evaluate(
    left: Any,
    right: Any,
    pairs: Any,
    *,
    similarity: Similarity = "cosine",
    candidates: Any = "all",
    known: Any = None,
    csls: int | CSLS | None = None,
    split: str = "test",
    duplicates: str = "keep",
    leaks: str = "keep",
    block: int | None = None,
    io: IoMode | None = None,
    **options: Unpack[RuleOptions],
) -> Report:
    """Evaluate an alignment in one call: rank counterparts in both directions.

    Parameters
    ----------
    left, right : array_like, shape (n1, d) and (n2, d), or paths
        A vector for each entity of the two graphs, also for those without a counterpart. Or `left`
        is a matrix of similarities (n1, n2), in memory or in files, and `right` is None.
    pairs : array of int, shape (m, 2), list of tuples, or path
        The pairs to rank, as ids: rows of `left` and `right`.
    candidates, known, split, duplicates, leaks : optional
        As in `Task`.
    similarity, block : optional
        As in `Task.evaluate_embeddings`; only for embeddings.
    order, io : optional
        As in `Task.evaluate_scores`; only for a matrix.
    csls, nan, dtype, threads, audit, progress : optional
        As in both.

    Returns
    -------
    Report
        With the sides "left_to_right" and "right_to_left".

    Raises
    ------
    TypeError, ValueError, OSError
        As `Task` and its methods do, and for an option that belongs to the other kind of input.

    Warns
    -----
    UserWarning
        For duplicates and leaks that are kept, and if `left` and `right` are the same array.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.alignment import evaluate
    >>> left = np.array([[1, 0], [0, 1]], np.float32)
    >>> right = np.array([[0, 1], [1, 1], [1, 0]], np.float32)
    >>> evaluate(left, right, [(0, 2), (1, 1)])["mr"]
    1.375
    >>> evaluate([[0.9, 0.2, 0.3], [0.8, 0.5, 0.6]], None, [(0, 0), (1, 1)])["mr"]
    1.5
    """
    rules = read_rules(options)
    of_vectors: dict[str, Any] = {"similarity": similarity, "block": block}
    of_matrix: dict[str, Any] = {"order": rules.order, "io": io}
    unsuitable, kind = (of_matrix, "vectors") if right is not None else (of_vectors, "a matrix")
    for name, value in unsuitable.items():
        if value != _DEFAULTS.get(name):
            raise InputValueError(name, expected=f"none beside {kind}", got=repr(value))
    task_options: dict[str, Any] = {"candidates": candidates, "known": known, "split": split}
    task_options |= {"duplicates": duplicates, "leaks": leaks}
    with ExitStack() as stack:
        if right is not None:
            vectors = open_in_place(left, right, similarity, None, rules.dtype, roles=FORWARD)
            sizes = vectors.shape
        else:
            store: Any = stack.enter_context(
                scores_or_store(left, rules.dtype, "left", io=io, tiled=True)
            )
            if store.single_row:
                got = f"shape {store.shape[1:]}"
                raise InputValueError("left", expected="a matrix of scores", got=got)
            sizes = store.shape
        if right is left:
            warn_user(
                "left and right are the same vectors: pairs are rows of each, and every entity is "
                "most similar to itself; if one matrix has both graphs, pass each graph's rows"
            )
        task = Task(pairs, left=sizes[0], right=sizes[1], **task_options)
        if right is not None:
            return task._evaluate_pairs(vectors, csls, rules, block)
        with renamed(scores="left"):
            return task.evaluate_scores(store, csls=csls, io=io, **options)
