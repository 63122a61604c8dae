"""The overlap of several models: the tasks that all of them, some, or none get right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inference.paired_models.pairing import check_same_tasks
from ...inputs.arrays import ReadOnlyArrays, index_array, read_only
from ...inputs.checks import choice, positive_integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import printable, public
from ...ranks.container import Ranks
from ...reporting.reports import Report
from ...tables.table_writer import Records
from ...tables.tabular import PlainTable
from ...tasks.arguments import ranks_of
from ..two_graphs import DIRECTIONS
from .buckets import pair_entities

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

    Flags = npt.NDArray[np.bool_]
    Subset = tuple[str, ...]

KINDS = ("realistic", "optimistic", "pessimistic")


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, repr=False)
class Overlap(ReadOnlyArrays, PlainTable):
    """Which tasks each of several models gets right; made by `overlap`.

    Attributes
    ----------
    names : tuple of str
        The models.
    right : ndarray of bool, shape (tasks, models), read-only
        Whether a model gets a task right.

    Examples
    --------
    >>> found = overlap({"A": [True, True, False, False], "B": [True, False, False, False]})
    >>> print(found)
    subset  tasks  share
    none        2   0.5
    A only      1   0.25
    A & B       1   0.25
    >>> found.all, found.some, found.none
    (0.25, 0.25, 0.5)
    """

    names: tuple[str, ...]
    right: Flags

    def __post_init__(self) -> None:
        read_only(self.right)

    def __repr__(self) -> str:
        return printable(
            f"Overlap({self.tasks:,} tasks, {', '.join(self.names)}: all find {self.all:.4g}, "
            f"none finds {self.none:.4g})"
        )

    @property
    def tasks(self) -> int:
        """The number of tasks; each counts once, whatever its weight."""
        return len(self.right)

    @property
    def found(self) -> dict[str, float]:
        """The share of tasks that each model gets right.

        Examples
        --------
        >>> overlap({"A": [True, True, False], "B": [True, False, False]}).found
        {'A': 0.6666666666666666, 'B': 0.3333333333333333}
        """
        shares = self.right.sum(axis=0) / self.tasks
        return dict(zip(self.names, shares.tolist(), strict=True))

    @property
    def all(self) -> float:
        """The share of tasks that all models get right."""
        return float(np.count_nonzero(self.right.all(axis=1)) / self.tasks)

    @property
    def none(self) -> float:
        """The share of tasks that no model gets right."""
        return float(np.count_nonzero(~self.right.any(axis=1)) / self.tasks)

    @property
    def some(self) -> float:
        """The share of tasks that a model gets right, but not every one."""
        rest = self.right.any(axis=1) & ~self.right.all(axis=1)
        return float(np.count_nonzero(rest) / self.tasks)

    @property
    def subsets(self) -> dict[Subset, int]:
        """For each subset of models, the number of tasks that exactly these models get right.

        The largest number comes first; equal numbers go by fewer models, then by the order of the
        models. Only subsets that occur are listed; ``()`` stands for tasks that no model gets
        right.

        Examples
        --------
        >>> overlap({"A": [True, True, False], "B": [True, True, True]}).subsets
        {('A', 'B'): 2, ('B',): 1}
        """
        rows, counts = np.unique(self.right, axis=0, return_counts=True)
        places = [tuple(np.flatnonzero(row).tolist()) for row in rows]
        counted = zip(places, counts.tolist(), strict=True)
        ordered = sorted(counted, key=lambda item: (-item[1], len(item[0]), item[0]))
        return {tuple(self.names[i] for i in subset): count for subset, count in ordered}

    @property
    def jaccard(self) -> FloatArray:
        """The Jaccard similarity of each two models: float64, shape (models, models).

        |A and B| / |A or B| for the sets of tasks that they get right; nan if both are empty.

        Examples
        --------
        >>> overlap({"A": [True, True, False], "B": [True, False, True]}).jaccard
        array([[1.        , 0.33333333],
               [0.33333333, 1.        ]])
        """
        # sums of 0 and 1 in float64 are exact and fast
        flags = self.right.astype(np.float64)
        both = flags.T @ flags
        own = np.diag(both)
        either = own[:, None] + own[None, :] - both
        return np.where(either > 0, both / np.maximum(either, 1), np.nan)

    def records(self) -> Records:
        """Return the table: a row for each subset that occurs."""
        rows = [
            [self.subset_name(subset), count, count / self.tasks]
            for subset, count in self.subsets.items()
        ]
        return Records(["subset", "tasks", "share"], rows)

    def subset_name(self, subset: Subset) -> str:
        """Return the name of a subset: "none", "A only" or "A & B"."""
        if not subset:
            return "none"
        if len(subset) == 1 < len(self.names):
            return f"{subset[0]} only"
        return " & ".join(subset)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, in the form that loggers take.

        Examples
        --------
        >>> overlap({"A": [True, False], "B": [True, False]}).to_dict()["subsets"][1]
        {'models': ['A', 'B'], 'tasks': 1, 'share': 0.5}
        """
        matrix = self.jaccard.tolist()
        return {
            "tasks": self.tasks,
            "all": self.all,
            "some": self.some,
            "none": self.none,
            "found": self.found,
            "subsets": [
                {"models": list(subset), "tasks": count, "share": count / self.tasks}
                for subset, count in self.subsets.items()
            ],
            "jaccard": {
                name: dict(zip(self.names, row, strict=True))
                for name, row in zip(self.names, matrix, strict=True)
            },
        }


@public("truerank.alignment")
def overlap(
    models: Mapping[str, Any],
    *,
    pairs: Any = None,
    side: str | None = None,
    k: int = 1,
    kind: str = "realistic",
    allow_unlike: bool = False,
) -> Overlap:
    """Compute the shares of tasks that all models get right, that some do, and that none does.

    Parameters
    ----------
    models : mapping of str to models
        By name: Ranks or a Report; flags, shape (tasks,), which are True for right tasks; or
        inferred pairs, as an `Alignment` or an array of shape (n, 2).
    pairs : array_like of int, shape (m, 2), optional
        The reference pairs, left and right ids, for models that are pairs: each is a task. Ranks
        must then belong to the same pairs, in that order.
    side : {"left_to_right", "right_to_left"}, optional
        Take only the tasks of one direction from all Ranks. Default: the tasks of both directions.
    k : int
        A task is right if its rank is at most k.
    kind : {"realistic", "optimistic", "pessimistic"}
        The kind of rank. A right answer that ties with others at the top has realistic rank 1.5 or
        more, which is not right at k = 1; with "optimistic" it is.
    allow_unlike : bool
        Whether to allow models with unlike protocols, candidates or labels of tasks.

    Returns
    -------
    Overlap

    Raises
    ------
    TypeError
        For a model of another type, names that are no str, and pairs that are no integers.
    ValueError
        For no model, no task, models of unlike tasks, and pairs without a reference.

    Examples
    --------
    >>> one = Ranks([0, 0, 3], [1, 2, 1], 10, queries=[4, 5, 6])
    >>> two = Ranks([0, 0, 0], [1, 1, 1], 10, queries=[4, 5, 6])
    >>> overlap({"one": one, "two": two}).subsets
    {('two',): 2, ('one', 'two'): 1}
    >>> overlap({"found": [[0, 1], [1, 1]]}, pairs=[[0, 1], [1, 0]]).found
    {'found': 0.5}
    """
    if not isinstance(models, Mapping):
        raise InputTypeError("models", expected="a mapping of names", got=type(models).__name__)
    if not models:
        raise InputValueError("models", expected="at least one", got="none")
    positive_integer("k", k)
    choice("kind", kind, KINDS)
    if side is not None:
        choice("side", side, DIRECTIONS)
    reference = None if pairs is None else _check_pairs("pairs", pairs)
    columns: dict[str, Flags] = {}
    first: tuple[str, Ranks] | None = None
    for name, model in models.items():
        if not isinstance(name, str):
            raise InputTypeError("models", expected="names that are str", got=type(name).__name__)
        if isinstance(model, (Ranks, Report)):
            ranks = _select_side(name, ranks_of(f"models: {name!r}", model), side)
            first = first or (name, ranks)
            _check_alike(first, (name, ranks), allow_unlike)
            if reference is not None:
                _check_reference(name, ranks, reference)
            columns[name] = np.asarray(getattr(ranks, kind) <= k)
        else:
            columns[name] = _right_flags(name, model, reference)
    sizes = {name: len(column) for name, column in columns.items()}
    if len({*sizes.values()} | ({len(reference)} if reference is not None else set())) > 1:
        sizes_text = ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
        pairs_text = "" if reference is None else f" and {len(reference)} pairs"
        raise InputValueError(
            "models", expected="one number of tasks for all", got=f"{sizes_text}{pairs_text}"
        )
    if not any(sizes.values()):
        raise InputValueError("models", expected="at least one task", got="none")
    return Overlap(tuple(columns), np.stack(list(columns.values()), axis=1))


def _select_side(name: str, ranks: Ranks, side: str | None) -> Ranks:
    if side is None:
        return ranks
    if ranks.side is None:
        raise InputValueError(
            "models", expected=f"tasks with sides, of which to take {side}: {name!r}"
        )
    return ranks[ranks.side.values == side]


def _check_alike(one: tuple[str, Ranks], two: tuple[str, Ranks], allow_unlike: bool) -> None:
    """Refuse what `compare` refuses, except for weights, which do not count here."""
    (a, first), (b, second) = one, two
    try:
        check_same_tasks(first.with_weights(None), second.with_weights(None), allow_unlike)
    except ValueError as error:
        raise InputValueError("models", f"{a!r} and {b!r}: {error}") from None


def _check_reference(name: str, ranks: Ranks, reference: IntArray) -> None:
    """Refuse ranks of other pairs, as far as their labels tell."""
    if ranks.queries is None or ranks.targets is None or len(ranks) != len(reference):
        return  # the caller refuses different numbers of tasks
    left, right = pair_entities(ranks)
    if left.vocabulary is not None:
        raise InputTypeError(
            "models", expected="tasks with ids, as pairs have", got=f"names for {name!r}"
        )
    wrong = (np.stack([left.codes, right.codes], axis=1) != reference).any(axis=1)
    if wrong.any():
        i = int(wrong.argmax())
        raise InputValueError(
            "models",
            expected=f"the tasks of {name!r} to be pairs, in their order",
            got=(
                f"({left.codes[i]}, {right.codes[i]}) for {tuple(reference[i].tolist())} "
                f"at position {i}; side=... takes one direction"
            ),
        )


def _right_flags(name: str, model: Any, reference: IntArray | None) -> Flags:
    """Return which tasks are right: flags as they are, or the reference pairs that a model has."""
    value = np.asarray(getattr(model, "pairs", model))
    if value.dtype == bool and value.ndim == 1:
        return value.copy()
    if value.dtype == bool or not (value.dtype.kind in "iu" or value.size == 0):
        raise InputTypeError(
            "models",
            expected="Ranks, a Report, flags of shape (tasks,), or pairs of ids of shape (n, 2)",
            got=f"dtype {value.dtype} and shape {value.shape} for {name!r}",
        )
    found = _check_pairs(f"models: {name!r}", value)
    if reference is None:
        raise InputValueError("pairs", expected=f"a reference, for {name!r} is pairs of ids")
    _, codes = np.unique(np.concatenate([reference, found]), axis=0, return_inverse=True)
    codes = codes.reshape(-1)  # numpy 2.0 gave it another shape
    return np.isin(codes[: len(reference)], codes[len(reference) :])


def _check_pairs(name: str, value: Any) -> IntArray:
    array = np.asarray(value)
    array = array.astype(np.int64).reshape(0, 2) if array.size == 0 else index_array(name, array)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputValueError(name, expected="shape (n, 2), left and right ids", got=array.shape)
    return array
