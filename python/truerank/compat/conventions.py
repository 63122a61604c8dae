"""Conventions: the choices of a toolkit before and after counting, each as a word of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[Any]
    Flags = npt.NDArray[np.bool_]


class Transform(NamedTuple):
    """How all scores are changed before they are compared: the bounds of what they become."""

    bounds: Callable[[Values], tuple[Values, Values]]
    description: str


class FilterRule(NamedTuple):
    """The score of a filtered candidate, made from its own and the true score; None: left out."""

    score: Callable[[Values, Values], Values] | None
    description: str


class NanRule(NamedTuple):
    """Which candidates are above or tied, given flags of NaN candidates and of NaN true scores."""

    above: Callable[[Flags, Flags], Any]
    equal: Callable[[Flags, Flags], Any]
    description: str
    open: bool = False  # whether one NaN leaves the order of all candidates open


class TieRule(NamedTuple):
    """The first and the last place of the true candidate, made from `above` and `tied`.

    `before` says which tied candidates count as above, given flags of the columns that are lower
    than the true one; None: none of them, and all stay tied. Bare scores have no columns.
    """

    first: Callable[[Values, Values], Values]
    last: Callable[[Values, Values], Values]
    description: str
    before: Callable[[Flags], Flags] | None = None


LAST_UNITS = 8  # by so many units in the last place can a log-sigmoid be off


def logsigmoid_bounds(scores: Values) -> tuple[Values, Values]:
    """Bound log(1 / (1 + exp(-score))) as libraries compute it in floats of this dtype.

    The last bits of exp and log1p differ between libraries and processors: torch's are off by up to
    1.6 units in the last place, and differ between its code for AVX2 and for SSE. Far below 0 the
    result is the score itself, far above 0 it is 0, and both bounds are equal.

    Examples
    --------
    >>> low, high = logsigmoid_bounds(np.array([-800.0, 0.0, 800.0]))
    >>> low == high
    array([ True, False,  True])
    >>> bool(low[1] < -np.log(2) < high[1])
    True
    """
    with np.errstate(under="ignore", invalid="ignore"):
        wide = scores.astype(np.float64)
        softplus = np.log1p(np.exp(-np.abs(wide)))
        found = np.minimum(wide, 0) - softplus
        slack = LAST_UNITS * np.spacing(np.abs(found).astype(scores.dtype)).astype(np.float64)
        score_itself = (scores < 0) & ~(4 * softplus >= np.spacing(np.abs(scores)))
        saturated = scores > 2 - np.log(np.finfo(scores.dtype).smallest_subnormal)
        found = np.where(score_itself, wide, np.where(saturated, 0, found))
        slack = np.where(score_itself | saturated, 0, slack)
        low, high = found - slack, np.minimum(found + slack, 0)
        return low.astype(scores.dtype), high.astype(scores.dtype)


def _float32_bounds(scores: Values) -> tuple[Values, Values]:
    with np.errstate(over="ignore", under="ignore"):
        rounded = scores.astype(np.float32)
    return rounded, rounded


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
    with np.errstate(over="ignore", invalid="ignore"):
        cut = np.trunc(scores * scores.dtype.type(1000))
    fits = (cut >= least) & (cut < -least)  # False for NaN
    low = np.where(fits, cut, least)
    high = np.where(fits, cut, np.where(np.isnan(cut), 0, np.clip(cut, least, -least)))
    return low.astype(scores.dtype), high.astype(scores.dtype)


TRANSFORMS = {
    "none": Transform(lambda scores: (scores, scores), "scores are compared as they are"),
    "float32": Transform(
        _float32_bounds, "scores are rounded to float32: those that round to one value tie"
    ),
    "logsigmoid": Transform(
        logsigmoid_bounds,
        "log(sigmoid(score)) is compared: scores that round to one value tie, and the order of "
        "those within its rounding is open",
    ),
    "thousandths": Transform(
        thousandths_bounds,
        "the 32-bit integer of 1000 * score is compared: scores that share it tie, and past "
        "2.1e6 the order is open",
    ),
}


def _filler(score: str) -> FilterRule:
    effect = "they count if the true score is as low"
    if score == "-inf":
        effect = "they tie with a true score of -inf"
    says = f"filtered candidates score {score} and stay: {effect}"
    return FilterRule(lambda scores, _: np.full_like(scores, float(score)), says)


FILTERS = {
    "left out": FilterRule(None, "filtered candidates are left out"),
    **{score: _filler(score) for score in ("-inf", "-1", "-1e6", "-1e7", "-1e9")},
    "truth - 1": FilterRule(
        lambda scores, true_scores: np.broadcast_to(true_scores - 1, scores.shape),
        "filtered candidates get the true score minus 1 and stay: rounding may make a tie",
    ),
    "score - 1": FilterRule(
        lambda scores, _: scores - 1,
        "filtered candidates lose 1 and stay: those that were better by 1 or more still count",
    ),
}


def _never(nan: Flags, true_nan: Flags) -> Any:
    return False


def _both(nan: Flags, true_nan: Flags) -> Any:
    return nan & true_nan


NAN_HANDLING = {
    "worst": NanRule(
        lambda nan, true_nan: true_nan,
        _never,
        "NaN is never above and never ties; a true score of NaN is last",
    ),
    "compared": NanRule(
        _never,
        _never,
        "NaN is compared as it is, so it is never above: a true score of NaN comes first",
    ),
    "compared, itself too": NanRule(
        _never,
        _never,
        "NaN is compared as it is, also the true score with itself: a true score of NaN comes "
        "first, and does not even tie with itself",
    ),
    "-inf": NanRule(_never, _never, "NaN becomes -inf: it ties with scores of -inf"),
    "first": NanRule(
        lambda nan, true_nan: nan & ~true_nan, _both, "NaN is sorted first: above every number"
    ),
    "last": NanRule(
        lambda nan, true_nan: ~nan & true_nan, _both, "NaN is sorted last: below every number"
    ),
    "above": NanRule(
        lambda nan, true_nan: nan | true_nan,
        _never,
        "NaN of a negative is above; a true score of NaN is last",
    ),
    "a number": NanRule(
        _never,
        _both,
        "NaN becomes a number, the same for all: they tie",
    ),
    "any": NanRule(
        _never,
        _never,
        "NaN breaks the sort: with one of them, the order of all candidates is open",
        open=True,
    ),
}


def _best(above: Values, tied: Values) -> Any:
    return above + 1


def _middle(above: Values, tied: Values) -> Any:
    return above + (tied + 1) / 2


def _rounded(above: Values, tied: Values) -> Any:
    return above + 1 + tied // 2


def _worst(above: Values, tied: Values) -> Any:
    return above + tied


PLACES = {
    "realistic": TieRule(_middle, _middle, "the middle of the tie"),
    "optimistic": TieRule(_best, _best, "the best place of the tie"),
    "pessimistic": TieRule(_worst, _worst, "the worst place of the tie"),
    "rounded": TieRule(
        _rounded, _rounded, "the middle of the tie, rounded up: above + tied // 2 + 1"
    ),
    "any": TieRule(
        _best,
        _worst,
        "the place in a sort that leaves the order of ties open: anywhere in the tie",
    ),
    "lowest column": TieRule(
        _best,
        _worst,
        "the place by column: the lowest column of a tie is first",
        before=lambda lower: lower,
    ),
    "highest column": TieRule(
        _best,
        _worst,
        "the place by column: the highest column of a tie is first",
        before=lambda lower: ~lower,
    ),
}

CANDIDATES = {
    "all": "every candidate is counted",
    "finite": "only finite scores count as candidates, so that a rank can exceed their number",
}

ITSELF = {
    "no": "the true candidate is not among its own negatives",
    "always": "the true candidate is among its own negatives, scored as if it were filtered",
    "as filtered": (
        "the true candidate is among its own negatives, and ties with itself without a filter"
    ),
}

MEANS = {
    "float64": "float64",
    "float32": "ranks and means in float32",
    "float32 reciprocals": "reciprocal ranks in float32",
    "float32, from 0": "means in float32, the mean rank counted from 0",
    "float32 sums": "a float32 sum, task after task",
    "float32 histogram": "a float32 histogram of ranks",
}


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Convention:
    """How a toolkit ranks the true candidate; the default is the exact definition.

    Parameters
    ----------
    nan : str
        How NaN is treated: a word of `NAN_HANDLING`.
    candidates : {"all", "finite"}
        Which scores count as candidates in adjusted metrics.
    transform : str
        How all scores are changed first: a word of `TRANSFORMS`.
    rtol, atol : float
        A candidate is tied if its distance to the true score a is at most atol + rtol * abs(a), as
        in ``torch.isclose``.
    filter : str
        How filtered candidates are treated: a word of `FILTERS`.
    itself : {"no", "always", "as filtered"}
        Whether the true candidate is also among its own negatives.
    rank : str
        The place of the true candidate in its tie: a word of `PLACES`. By column it is exact for
        scores in columns, and anywhere in the tie for bare scores.
    mean : str
        The arithmetic of the average: a word of `MEANS`.

    Raises
    ------
    ValueError
        For a word that is not in its table, and for tolerances below 0.

    Examples
    --------
    >>> Convention(rank="optimistic") == EXACT
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
        for name, words in FIELD_WORDS.items():
            if getattr(self, name) not in words:
                known, got = ", ".join(map(repr, words)), repr(getattr(self, name))
                raise InputValueError(name, expected=f"one of {known}", got=got)
        if not (self.rtol >= 0 and self.atol >= 0):
            raise InputValueError(
                "rtol, atol", expected="numbers >= 0", got=f"{self.rtol}, {self.atol}"
            )

    @property
    def tolerant(self) -> bool:
        """Whether unequal scores can tie."""
        return self.rtol > 0 or self.atol > 0

    def says(self, name: str) -> str:
        """Describe the choice for a field, or for "tolerance", in words."""
        if name == "tolerance":
            return f"scores within {self.atol:g} + {self.rtol:g} * |true score| tie"
        entry = FIELD_WORDS[name][getattr(self, name)]
        return str(getattr(entry, "description", entry))


FIELD_WORDS: dict[str, Any] = {
    "nan": NAN_HANDLING,
    "candidates": CANDIDATES,
    "transform": TRANSFORMS,
    "filter": FILTERS,
    "itself": ITSELF,
    "rank": PLACES,
    "mean": MEANS,
}

EXACT = Convention()

# The steps from the exact definition to a toolkit's number, in order.
STEPS = ("nan", "candidates", "transform", "tolerance", "filter", "itself", "rank", "mean")


def steps_to(convention: Convention) -> Iterator[tuple[str, Convention]]:
    """Yield the steps from the exact definition to a convention, each with the convention reached.

    Examples
    --------
    >>> [name for name, _ in steps_to(Convention(nan="compared", rank="optimistic"))]
    ['nan', 'rank']
    """
    reached = EXACT
    for step in STEPS:
        names = ("rtol", "atol") if step == "tolerance" else (step,)
        changed = replace(reached, **{name: getattr(convention, name) for name in names})
        if changed != reached:
            reached = changed
            yield step, reached
