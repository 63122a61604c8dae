"""Conventions, and their interpreter: scores to counts, counts to places, places to numbers.

The interpreter is plain NumPy over blocks of tasks, slow and easy to check. If a convention differs
from the exact definition only in ties, arithmetic or unused rules for NaN, its numbers are derived
from the counts of `rank`. A tolerance, a transform, or another score for filtered candidates
changes the counts themselves, so that the scores are needed again.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import InputTypeError, InputValueError, Ranks, report
from ..inputs.array_likes import as_floats, default_arithmetic
from ..inputs.checks import choice
from ..inputs.selection import list_numbers
from ..naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]
    Values = npt.NDArray[np.floating[Any]]
    Flags = npt.NDArray[np.bool_]
    # The scores of some tasks, as `count` takes them.
    Block = tuple[Values, Values, Flags, Flags, Flags]

# Counts are the rows of an array of int64, shape (4, tasks): the candidates above the true one,
# those tied with it (itself included), all of them, and the unsettled ones: their order with it is
# open by the rounding of a transform or a NaN. These are neither above nor tied.
Single = np.float32
BLOCK_ENTRIES = 1 << 20  # The temporary arrays of so many scores take some megabytes.
# The values of tasks whose means toolkits show, without a cutoff; amri's are mr's.
VALUES: dict[str, Callable[[Values], Values]] = {
    "mr": lambda ranks: ranks,
    "amri": lambda ranks: ranks,
    "mrr": lambda ranks: 1.0 / ranks,
    "hits": lambda ranks: np.ones(len(ranks)),
    "ndcg": lambda ranks: 1.0 / np.log2(1.0 + ranks),
}
KEYS = re.compile(r"mr|amri|mrr|(mrr|hits|ndcg)@[1-9]\d{0,17}", re.ASCII)
LAST_UNITS = 8  # A log-sigmoid can be off by so many units in the last place.


# The tables of words and of toolkits.
CONTENT = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
# For each field of a `Convention`, these are its words and what each says to people.
WORDS: dict[str, dict[str, str]] = CONTENT["words"]
# These steps lead from the exact definition to a toolkit's number, in this order.
STEPS = ("nan", "candidates", "transform", "tolerance", "filter", "itself", "rank", "mean")


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Convention:
    """How a toolkit ranks the true candidate; the default is the exact definition.

    The words of each field, and what they mean, are in `presets.toml`.

    Parameters
    ----------
    nan : str
        How NaN is treated.
    candidates : {"all", "finite"}
        Which scores count as candidates in adjusted metrics.
    transform : {"none", "float32", "logsigmoid", "thousandths"}
        How all scores are changed first.
    rtol, atol : float
        A candidate is tied if its distance to the true score a is at most atol + rtol * abs(a), as
        in ``torch.isclose``.
    filter : str
        How filtered candidates are treated.
    itself : {"no", "always", "as filtered"}
        Whether the true candidate is also among its own negatives.
    rank : str
        The place of the true candidate in its tie. A place by column is exact for scores in
        columns; for bare scores it is anywhere in the tie.
    mean : str
        The arithmetic of the average.

    Raises
    ------
    ValueError
        For an unknown word.

    Examples
    --------
    >>> Convention(rank="optimistic") == Convention()
    False
    """

    nan: str = "worst"
    candidates: str = "all"
    transform: str = "none"
    rtol: float = 0.0
    atol: float = 0.0
    filter: str = "left out"
    itself: str = "no"
    rank: str = "realistic"
    mean: str = "float64"

    def __post_init__(self) -> None:
        for name in WORDS.keys() & vars(self).keys():
            choice(name, getattr(self, name), tuple(WORDS[name]))

    def says(self, name: str) -> str:
        """Describe the choice for a field, or for "tolerance", in words."""
        choice("name", name, STEPS)
        if name == "tolerance":
            return f"scores within {self.atol:g} + {self.rtol:g} * |true score| tie"
        return WORDS[name][getattr(self, name)]

    def steps(self) -> Iterator[tuple[str, Convention]]:
        """Yield the steps from the exact definition to this one, and the convention after each.

        Examples
        --------
        >>> [name for name, _ in Convention(nan="compared", rank="optimistic").steps()]
        ['nan', 'rank']
        """
        reached = EXACT
        for step in STEPS:
            if step == "tolerance":
                changed = replace(reached, rtol=self.rtol, atol=self.atol)
            else:
                changed = replace(reached, **{step: getattr(self, step)})
            if changed != reached:
                reached = changed
                yield step, reached


EXACT = Convention()


# -- scores ----------------------------------------------------------------------------------------


@default_arithmetic()
def ordered_floats(scores: Any, order: str) -> Values:
    """Convert scores to floats that compare in the same way, negated if lower ones are better.

    Integers of 64 bits are refused, which floats cannot represent.
    """
    if scores.dtype in ("int64", "uint64"):
        expected = "floats, or integers of up to 32 bits"
        raise InputTypeError("scores", expected=expected, got=scores.array.dtype)
    floats: Values = as_floats(scores)
    if order == "ascending":
        return -floats
    return floats


def task_slices(tasks: int, columns: int) -> Iterator[slice]:
    """Split tasks into slices with at most `BLOCK_ENTRIES` scores each."""
    step = max(1, BLOCK_ENTRIES // max(columns, 1))
    for start in range(0, tasks, step):
        yield slice(start, min(start + step, tasks))


def full_blocks(scores: Any, job: Any, order: str) -> Iterator[Block]:
    """Yield the scores of tasks with a column for every candidate, in the order of the tasks.

    A block is (values, true scores, others, filtered, is_true), as `count` takes them.
    """
    array = np.atleast_2d(scores.array)
    columns = array.shape[1]
    for tasks in task_slices(len(job.targets), columns):
        values = ordered_floats(scores.with_array(array[job.all_rows[tasks]]), order)
        is_true = np.arange(columns) == job.targets[tasks, None]
        true_scores = values[is_true][:, None]
        others = ~is_true
        if job.candidates is not None:
            others &= _selected(job.candidates, tasks, columns)
        filtered = np.zeros_like(is_true)
        if job.filter is not None:  # The true candidate is a known answer, too.
            filtered = is_true | _selected(job.filter, tasks, columns)
        yield values, true_scores, others, filtered, is_true


def _selected(selection: Any, tasks: slice, columns: int) -> Flags:
    """Convert the selection of some tasks to flags, shape (tasks, columns)."""
    lists = list_numbers(selection, np.arange(tasks.start, tasks.stop))
    flags = np.zeros((len(lists), columns), bool)
    for i, number in enumerate(lists):
        begin = selection.indptr[number]
        end = selection.indptr[number + 1]
        flags[i, selection.indices[begin:end]] = True
    return flags


def sampled_blocks(
    true_scores: Any, negatives: Any, lengths: IntArray, order: str
) -> Iterator[Block]:
    """Yield the scores of tasks without columns, whose negatives have so many bare scores.

    These follow each other, task by task, unless one list serves all tasks. Blocks are those of
    `full_blocks`, padded, with nothing filtered and no column that is true.
    """
    indptr = np.append(0, np.cumsum(lengths))
    widest = int(lengths.max(initial=0))
    is_one_list_for_all = len(lengths) > 1 and len(negatives.array) != indptr[-1]
    true_column = ordered_floats(true_scores, order)[:, None]
    for tasks in task_slices(len(lengths), widest):
        others = np.arange(widest) < lengths[tasks, None]
        values = np.zeros(others.shape, true_column.dtype)
        if is_one_list_for_all:
            values[:] = ordered_floats(negatives, order)
        else:
            scores = negatives.array[indptr[tasks.start] : indptr[tasks.stop]]
            values[others] = ordered_floats(negatives.with_array(scores), order)
        filtered = is_true = np.zeros_like(others)
        yield values, true_column[tasks], others, filtered, is_true


# -- transforms ------------------------------------------------------------------------------------


@np.errstate(under="ignore", invalid="ignore")
def logsigmoid_bounds(scores: Values) -> tuple[Values, Values]:
    """Bound log(1 / (1 + exp(-score))) as libraries compute it in floats of this dtype.

    The last bits of exp and log1p differ between libraries and processors: torch's are off by up to
    1.6 units in the last place, and differ between its code for AVX2 and for SSE. Far below 0 the
    result is the score itself (less than a quarter of its last place is taken off), far above 0 it
    is 0 (it is closer to 0 than exp(-2) times the least float), and both bounds are equal.
    """
    wide = scores.astype(np.float64)
    softplus = np.log1p(np.exp(-np.abs(wide)))
    computed = np.minimum(wide, 0) - softplus
    slack = LAST_UNITS * np.spacing(np.abs(computed).astype(scores.dtype)).astype(np.float64)
    softplus_changes_score = 4 * softplus >= np.spacing(np.abs(scores))
    is_score_itself = (scores < 0) & ~softplus_changes_score
    is_zero = scores > 2 - np.log(np.finfo(scores.dtype).smallest_subnormal)
    exact = np.where(is_score_itself, wide, 0)
    is_exact = is_score_itself | is_zero
    low = np.where(is_exact, exact, computed - slack)
    high = np.where(is_exact, exact, np.minimum(computed + slack, 0))
    return low.astype(scores.dtype), high.astype(scores.dtype)


@np.errstate(over="ignore", invalid="ignore")
def thousandths_bounds(scores: Values) -> tuple[Values, Values]:
    """Bound 1000 * score, cut to a 32-bit integer.

    Past 2**31 and for NaN the integer depends on the code: TensorFlow on a processor gives -2**31;
    code compiled by XLA the nearest integer there is, and 0 for NaN. The bounds are the least and
    the greatest of these.

    Examples
    --------
    >>> low, high = thousandths_bounds(np.array([0.0019, 0.5, 3e6]))
    >>> low.tolist(), high.tolist()
    ([1.0, 500.0, -2147483648.0], [1.0, 500.0, 2147483648.0])
    """
    least = scores.dtype.type(-(2.0**31))
    cut = np.trunc(scores * scores.dtype.type(1000))
    fits = (cut >= least) & (cut < -least)  # A NaN does not fit.
    low = np.where(fits, cut, least)
    high = np.where(fits, cut, np.where(np.isnan(cut), 0, np.clip(cut, least, -least)))
    return low.astype(scores.dtype), high.astype(scores.dtype)


TRANSFORMS: dict[str, Callable[[Values], tuple[Values, Values]]] = {
    "none": lambda scores: (scores, scores),
    "float32": lambda scores: (scores.astype(Single), scores.astype(Single)),
    "logsigmoid": logsigmoid_bounds,
    "thousandths": thousandths_bounds,
}


# -- counts ----------------------------------------------------------------------------------------

# The levels of a NaN of another candidate and of the true one; numbers have level 0. A higher level
# is above. At the same level numbers are compared, and two NaN tie.
NAN_LEVELS = {
    "worst": (-1, -2),
    "compared": (-1, 2),
    "compared, itself too": (-1, 2),
    "first": (1, 1),
    "last": (-1, -1),
    "above": (1, -2),
}


@default_arithmetic()
@np.errstate(over="ignore", under="ignore", invalid="ignore")
def count(
    values: Values,
    true_scores: Values,
    others: Flags,
    filtered: Flags,
    is_true: Flags,
    convention: Convention,
) -> IntArray:
    """Count some tasks under one convention; higher scores are better.

    Arrays have the shape (tasks, columns), but for the true scores, (tasks, 1). `others` are the
    candidates other than the true one, including filtered ones; `filtered` is what a filter leaves
    out, the true candidate included, which `is_true` nowhere marks for sampled scores.
    """
    if convention.nan == "-inf":
        values = np.where(np.isnan(values), -np.inf, values)
        true_scores = np.where(np.isnan(true_scores), -np.inf, true_scores)
    if convention.itself != "no":
        others = others | is_true
    if convention.itself == "always":
        filtered = filtered | is_true
    if convention.filter == "left out":
        others = others & ~filtered
    bounds = low, _, true_low, _ = _score_bounds(values, true_scores, filtered, convention)
    true_is_nan = np.isnan(true_scores)
    # A score is also NaN where a transform or a filter made a number of it.
    is_nan = np.isnan(low) | (np.isnan(values) & ~filtered)
    # Equal scores have equal transforms, even where rounding leaves these open.
    is_same = (values == true_scores) & ~filtered
    above, tied, unsettled = _compare(bounds, is_same, is_nan, true_is_nan, convention)
    if convention.rank.endswith("column") and is_true.any():
        is_before = ~np.logical_or.accumulate(is_true, axis=1)
        wins_tie = is_before if convention.rank == "lowest column" else ~is_before
        above |= tied & wins_tie
        tied = np.zeros_like(tied)
    if convention.nan == "any":  # A task that has a NaN may be at any place.
        has_nan = true_is_nan | (is_nan & others).any(axis=1, keepdims=True)
        above &= ~has_nan
        tied &= ~has_nan
        unsettled |= has_nan

    number_tied = (tied & others).sum(axis=1) + 1
    if convention.nan == "compared, itself too":
        number_tied -= true_is_nan[:, 0]
    candidates = others.sum(axis=1) + 1
    if convention.candidates == "finite":
        candidates = (np.isfinite(low) & others).sum(axis=1)
        candidates += np.isfinite(true_low)[:, 0]
    number_above = (above & others).sum(axis=1)
    return np.stack([number_above, number_tied, candidates, (unsettled & others).sum(axis=1)])


def _score_bounds(
    values: Values, true_scores: Values, filtered: Flags, convention: Convention
) -> tuple[Values, Values, Values, Values]:
    """Return the bounds of transformed scores, low and high, and those of the true ones."""
    bound = TRANSFORMS[convention.transform]
    low, high = bound(values)
    true_low, true_high = bound(true_scores)
    if convention.filter != "left out":  # Filtered candidates that stay have other scores.
        low = np.where(filtered, _filler(convention.filter, low, true_low), low)
        high = np.where(filtered, _filler(convention.filter, high, true_high), high)
    return low, high, true_low, true_high


def _compare(
    bounds: tuple[Values, Values, Values, Values],
    is_same: Flags,
    is_nan: Flags,
    true_is_nan: Flags,
    convention: Convention,
) -> tuple[Flags, Flags, Flags]:
    """Return which scores are above the true one, which equal it, and which are unsettled."""
    low, high, true_low, true_high = bounds
    nan_level, true_nan_level = NAN_LEVELS.get(convention.nan, (0, 0))
    levels = is_nan * np.int8(nan_level)
    true_levels = true_is_nan * np.int8(true_nan_level)
    is_compared = levels == true_levels
    # As low <= high, the bounds of two scores are crosswise equal only if all four are one number.
    equal = is_same | ((low == true_high) & (high == true_low)) | (is_nan & true_is_nan)
    if convention.rtol or convention.atol:
        distance = np.abs(low - true_low)
        allowed = convention.atol + np.abs(convention.rtol * true_low)
        equal |= np.isfinite(distance) & (distance <= allowed)
    equal &= is_compared
    above = (levels > true_levels) | (is_compared & (low > true_high) & ~equal)
    unsettled = is_compared & (high >= true_low) & ~above & ~equal
    return above, equal, unsettled


def _filler(word: str, scores: Values, true_scores: Values) -> Any:
    """Return the scores of filtered candidates that stay."""
    if word == "truth - 1":
        return true_scores - 1
    if word == "score - 1":
        return scores - 1
    return scores.dtype.type(word)


def counts_by_convention(
    exact: Ranks, blocks: Callable[[], Iterator[Block]], conventions: Iterable[Convention]
) -> dict[Convention, IntArray]:
    """Count under several conventions, in one pass over the scores if the scores are needed.

    They are not needed where a convention differs only in what makes no difference to these ranks.

    The exact ranks have an audit, and NaN as the worst scores; blocks are in the order of tasks.
    """
    irrelevant_fields: dict[str, Any] = {}  # as the exact definition has them
    audit = exact.audit
    if audit is None or not (audit.nan.any() or audit.inf.any()):
        irrelevant_fields |= {"nan": EXACT.nan, "candidates": EXACT.candidates}
    if not (exact.tied > 1).any():
        irrelevant_fields["rank"] = EXACT.rank
    unsettled = np.zeros_like(exact.above)
    exact_counts = np.stack([exact.above, exact.tied, exact.candidates, unsettled])  # as of `count`
    counts = {}
    counted_as = {}  # conventions that have the same counts
    block_counts: dict[Convention, list[IntArray]] = {}
    for convention in conventions:
        # Only counts by column tell candidates before the true one from those after it.
        rank = convention.rank if convention.rank.endswith("column") else EXACT.rank
        counted = replace(convention, rank=rank, mean=EXACT.mean)
        if replace(counted, **irrelevant_fields) == EXACT:
            counts[convention] = exact_counts
        else:
            counted_as[convention] = counted
            block_counts[counted] = []
    if block_counts:
        for block in blocks():
            for counted in block_counts:
                block_counts[counted].append(count(*block, counted))
    # Without tasks there are no blocks.
    joined = {
        counted: np.concatenate([exact_counts[:, :0], *parts], axis=1)
        for counted, parts in block_counts.items()
    }
    return counts | {convention: joined[counted] for convention, counted in counted_as.items()}


# -- numbers ---------------------------------------------------------------------------------------


def places(counts: IntArray, convention: Convention) -> tuple[FloatArray, FloatArray]:
    """Compute the first and the last place that the true candidate of each task can take."""
    above, tied, _, unsettled = counts
    middle = (tied + 1) / 2
    rounded = 1 + tied // 2
    in_tie = {
        "realistic": (middle, middle),
        "optimistic": (1, 1),
        "pessimistic": (tied, tied),
        "rounded": (rounded, rounded),
    }
    anywhere = (1, tied)  # "any", and those by the column
    first, last = in_tie.get(convention.rank, anywhere)
    return (above + first).astype(np.float64), (above + unsettled + last).astype(np.float64)


def per_task(key: str, ranks: Any) -> Values:
    """Compute the value of a metric for each task, in the precision of the ranks.

    Examples
    --------
    >>> per_task("hits@3", np.array([1.0, 3.5])), per_task("mrr@3", np.array([2.0, 4.0]))
    (array([1., 0.]), array([0.5, 0. ]))
    """
    if not KEYS.fullmatch(key):
        raise InputValueError("key", "", "mr, mrr, hits@k, mrr@k, ndcg@k or amri", repr(key))
    metric, _, cutoff = key.partition("@")
    with np.errstate(divide="ignore"):  # A toolkit may give rank 0 to a true score that is NaN.
        values = VALUES[metric](ranks)
    return values * (ranks <= int(cutoff)) if cutoff else values


def mean(key: str, ranks: FloatArray, arithmetic: str) -> float:
    """Average a metric in the arithmetic of a toolkit: a word for the mean of a `Convention`.

    Examples
    --------
    >>> mean("mrr", np.array([1.0, 3.0, 3.0]), "float32")
    0.5555555820465088
    """
    match arithmetic:
        case "float32 sums":  # C adds a double to a float in this way.
            total = Single(0)
            for value in per_task(key, ranks).tolist():
                total = Single(float(total) + value)
            return float(total / Single(len(ranks)))
        case "float32 histogram" if not key.startswith("hits@"):
            distinct, tasks = np.unique(ranks, return_counts=True)  # by numpy: floats
            terms = tasks.astype(Single) * per_task(key, distinct.astype(Single))
            return float(terms.sum(dtype=Single)) / int(tasks.sum())
        case "float32, from 0" if key == "mr":
            return float(per_task(key, (ranks - 1).astype(Single)).mean(dtype=Single))
        case "float32" | "float32, from 0":
            return float(per_task(key, ranks.astype(Single)).mean(dtype=Single))
        case "float32 reciprocals" if key == "mrr":
            return float(per_task(key, ranks.astype(Single)).mean(dtype=np.float64))
        case _:
            return float(per_task(key, ranks).mean(dtype=np.float64))


def metric_under(
    key: str, counts: IntArray, convention: Convention, groups: Sequence[IntArray] = ()
) -> tuple[float, float, float]:
    """Compute a metric under a convention: its value, and the least and the greatest there may be.

    If the order of ties is open, the value is the mean over all orders; if the rounding of a
    transform leaves an order open, it is the middle of the bounds. Groups of tasks have their
    means averaged; without groups, all tasks are one.

    Examples
    --------
    >>> metric_under("mrr", np.array([[0], [2], [9], [0]]), Convention(rank="any"))
    (0.75, 0.5, 1.0)
    """
    above, tied, candidates, unsettled = counts
    if groups and len(candidates):
        values = np.array([metric_under(key, counts[:, group], convention) for group in groups])
        if convention.mean == "float32 sums":
            values = values.astype(Single)  # OpenKE also adds and halves floats.
        value, least, most = values.mean(axis=0).tolist()
        return value, least, most
    # The variance of ranks, (n**2 - 1) / 12, is below 0 for tasks of no candidates: PyKEEN raises.
    has_variance = convention.candidates != "finite" or (candidates**2).sum() >= len(candidates)
    if not len(candidates) or not has_variance:
        return math.nan, math.nan, math.nan
    if key == "amri":
        value = _adjusted_mean_rank_index(counts, convention)
        return value, value, value
    first, last = places(counts, convention)
    least, most = sorted(mean(key, ranks, convention.mean) for ranks in (first, last))
    value = (least + most) / 2
    ties_are_open = least != most and not unsettled.any()
    # The mean rank is linear, so that its mean over all orders is the middle.
    if ties_are_open and key != "mr":
        value = report(Ranks(above, tied, np.maximum(candidates, above + tied)))[f"expected.{key}"]
    return value, least, most


def _adjusted_mean_rank_index(counts: IntArray, convention: Convention) -> float:
    """Compute amri, of toolkits that leave no order of ties open."""
    _, _, candidates, _ = counts
    first, _ = places(counts, convention)
    beyond_first = mean("mr", first, convention.mean) - 1
    by_chance = float((candidates + 1).mean()) / 2 - 1
    if by_chance:
        return 1 - beyond_first / by_chance
    if convention.candidates == "finite":  # PyKEEN divides by 1e-12.
        return beyond_first * 1e12
    return math.nan
