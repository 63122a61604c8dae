"""Published numbers, adjusted for chance without the models that they come from."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.checks import choice, flag, has_dimensions, integer
from ..inputs.checks import number as checked_number
from ..inputs.words import suggest
from ..naming import public
from .chance_model import Tasks, compress
from .keys import ADJUSTED, ALL_SIDES, Key, fail, parse, parse_alone
from .kinds import Sample
from .metric_table import METRICS
from .values import adjusted, compute, grouped_tasks, moments_of_tasks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..arrays.types import IntArray


SPLITS = ("train", "valid", "test")
ENTITY_SIDES = ("head", "tail")
SIDES = (ALL_SIDES, *ENTITY_SIDES, "relation")


@public("truerank.metrics")
class Bounds(NamedTuple):
    """The least and the greatest values of an adjusted number, where candidates are bounded.

    Attributes
    ----------
    expectation, ratio, index, z : tuple of float
        The least and the greatest value of what `Adjusted` has under this name.

    Notes
    -----
    Those of expectation, ratio and index are reached if all tasks have their least, or all their
    greatest, number of candidates. Those of z combine the ends of the expectation and of the
    standard deviation, and are not reached.

    Examples
    --------
    >>> low, high = adjust("mr", 200, dataset="fb15k", filtered=True).bounds.index
    >>> round(low, 3), round(high, 3)
    (0.971, 0.973)
    """

    expectation: tuple[float, float]
    ratio: tuple[float, float]
    index: tuple[float, float]  # type: ignore[assignment]  # in place of tuple.index
    z: tuple[float, float]


@public("truerank.metrics")
class Adjusted(NamedTuple):
    """A published number with its value under chance and its adjustments; `str` gives one line.

    Attributes
    ----------
    metric : str
        A key such as "mr", "mrr", "hits@10".
    value : float
        The number as published.
    expectation, variance : float
        The mean and the variance of the metric under chance: every rank uniform on 1..N, tasks
        independent.
    ratio : float
        value / expectation: 1 is chance.
    index : float
        (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.
    z : float
        (value - expectation) / standard deviation, with the sign of the formula: below 0 is better
        where less is better.
    probability_of_z : float
        The distribution function of the standard normal at z (Hoyt et al., 2022, section 4.1): near
        0 is better where less is better, else near 1. It is no p-value.
    tasks : int
        The number of ranks that the value is a mean of.
    notes : tuple of str
        What a reader must know about these values, one clause each.
    bounds : Bounds or None
        Bounds of the values, where only bounds of the numbers of candidates are known; else None.

    Notes
    -----
    Where tasks share queries they are not independent, as the model takes them to be.

    Examples
    --------
    >>> print(adjust("mr", 7000, candidates=40943, tasks=6268))
    mr 7000 over 6,268 tasks; chance 20472 +- 149.288: ratio 0.341930, index 0.658102, z -90.2418
    """

    metric: str
    value: float
    expectation: float
    variance: float
    ratio: float
    index: float  # type: ignore[assignment]  # in place of tuple.index
    z: float
    probability_of_z: float
    tasks: int
    notes: tuple[str, ...] = ()
    bounds: Bounds | None = None

    def __str__(self) -> str:
        line = (
            f"{self.metric} {self.value:g} over {self.tasks:,} tasks; chance "
            f"{self.expectation:g} +- {math.sqrt(self.variance):g}: ratio {self.ratio:#.6g}, "
            f"index {self.index:#.6g}, z {self.z:g}"
        )
        return "; ".join([line, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> adjust("mr", 2.0, candidates=4, tasks=1).to_dict()["expectation"]
        2.5
        """
        fields = self._asdict()
        fields["notes"] = list(self.notes)
        if self.bounds is not None:
            fields["bounds"] = self.bounds._asdict()
        return fields


@public("truerank")
def adjust(
    metric: str,
    value: float,
    *,
    candidates: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    tasks: int | None = None,
    weights: ArrayLike | None = None,
    dataset: str | None = None,
    split: str = "test",
    side: str = ALL_SIDES,
    filtered: bool = False,
) -> Adjusted:
    """Adjust a published number for chance, without the model or its ranks.

    Only the number of candidates of each task is needed. It comes from `candidates`, or from the
    package for a data set that it knows.

    Parameters
    ----------
    metric : str
        A key without side, kind and adjustment: "mr", "mrr", "hits@10", "gmr".
    value : float
        The published number, not as a percentage.
    candidates : int, array_like of int of shape (n,), or a tuple of two such arrays, optional
        One number for all tasks; or one for every task; or `(values, multiplicities)`: the distinct
        numbers of candidates and how many tasks have each.
    tasks : int, optional
        How many tasks there are, where `candidates` is one number. A test triple whose head and
        tail are both predicted makes two tasks.
    weights : array_like of float, shape (n,), optional
        The weight of every task in the published mean, or that of each task with a value.
    dataset : str, optional
        The name of a data set, in place of `candidates` and `tasks`: "wn18rr", "FB15k-237".
        Case, "-", "_", "." and blanks do not matter. "wn18rr-seen" and the like leave out the test
        triples whose entities are unseen in training, as PyKEEN and AmpliGraph do.
    split : {"test", "valid", "train"}
        The split of the data set.
    side : {"both", "head", "tail", "relation"}
        What was predicted: "both" is head and tail of every triple, "relation" the relation, among
        all relations.
    filtered : bool
        Whether the other answers known from train, valid and test are left out of the candidates,
        as mostly in papers. For some data sets their numbers are known exactly. For fb15k,
        yago3-10 and hetionet it is known how many a filter leaves out at most: the result has
        `bounds`, and the values that all entities as candidates give. For others it is an error.

    Returns
    -------
    Adjusted
        The index is nan where chance is perfect: all tasks have one candidate, or at most k for
        hits@k. z and `probability_of_z` are nan where the variance under chance is 0.

    Raises
    ------
    KeyError
        For an unknown metric (the message lists the most similar ones), and for one that has no
        chance model.
    TypeError
        If the value is not a number, or candidates or tasks are not integers.
    ValueError
        If the metric cannot have the value (an MRR of 31.6 is a percentage), if neither or both of
        candidates and dataset are given, if tasks are missing or too many, and for an unknown data
        set, split or side.

    Examples
    --------
    >>> round(adjust("mr", 7000, candidates=40943, tasks=6268).index, 4)
    0.6581
    >>> round(adjust("mr", 7000, dataset="WN18RR", filtered=True).index, 4)
    0.658
    >>> adjust("hits@10", 1.0, candidates=[8, 9, 10], weights=[1, 1, 2]).index
    nan
    """
    if parse(metric).adjustment in ADJUSTED:
        fail(metric, f"{metric} is adjusted already")
    key = parse_alone(metric)
    number = checked_number("value", value)
    # It is the fewest candidates that tasks can have, where their numbers are not exact.
    least = None
    _check_question(dataset, split, side, filtered)
    if dataset is None:
        counts = _candidates_of_tasks(candidates, tasks, weights)
    else:
        counts, least = _counts_of_data_set(dataset, split, side, filtered)
        for name, argument in (("candidates", candidates), ("tasks", tasks), ("weights", weights)):
            if argument is not None:
                problem = f'cannot be given beside dataset="{dataset}", which has them'
                raise InputValueError(name, problem)
    number_of_tasks = _count_tasks(counts, tasks)
    grouped = grouped_tasks(counts, weights)
    expectation, variance = moments_of_tasks(key, grouped)
    _check_range(key, number, grouped)
    ratio, index, z = _adjust_all(key, number, expectation, variance)
    bounds = None
    notes: tuple[str, ...] = ()
    if least is not None:
        fewest = compress(least)
        bounds = _bounds(key, number, fewest, grouped)
        notes = (_bounds_note(bounds, fewest, grouped),)
    return Adjusted(
        metric=str(key),
        value=number,
        expectation=expectation,
        variance=variance,
        ratio=ratio,
        index=index,
        z=z,
        probability_of_z=0.5 * math.erfc(-z / math.sqrt(2.0)),
        tasks=number_of_tasks,
        notes=notes,
        bounds=bounds,
    )


def _check_question(dataset: str | None, split: str, side: str, filtered: bool) -> None:
    """Check what is asked of a data set, which must be given for it."""
    choice("split", split, SPLITS)
    choice("side", side, SIDES)
    flag("filtered", filtered)
    if dataset is None and (split, side, filtered) != ("test", ALL_SIDES, False):
        raise InputValueError("split, side and filtered", "cannot be given without a dataset")


def _candidates_of_tasks(candidates: Any, tasks: int | None, weights: Any) -> Any:
    """Return what `chance` takes for candidates, also of one number for all tasks."""
    if candidates is None:
        problem = "expected them, or the name of a dataset, got neither"
        raise InputValueError("candidates", problem)
    if has_dimensions(candidates):
        return candidates
    if tasks is None:
        raise InputValueError(
            "tasks",
            expected="how many there are, as candidates is one number for all of them (a triple "
            "whose head and tail are both predicted makes two)",
        )
    count = integer("tasks", tasks, least=1, most=(1 << 63) - 1)
    if weights is None:
        return [candidates], [count]
    return np.full(count, candidates)


def _counts_of_data_set(dataset: str, split: str, side: str, filtered: bool) -> tuple[Any, Any]:
    """The candidates of tasks, and, where these are not exact, the fewest that they can be."""
    known = known_candidates(dataset, split, side, filtered)
    counts = known.values, known.multiplicities
    if known.exact:
        return counts, None
    every = known_candidates(dataset, split, side)
    return (every.values, every.multiplicities), counts


def _count_tasks(candidates: Any, tasks: int | None) -> int:
    """Return how many tasks there are; as many as were announced, and at least one."""
    count = compress(candidates).count
    if tasks is not None and integer("tasks", tasks) != count:
        expected = f"{count}, as candidates has so many tasks"
        raise InputValueError("tasks", expected=expected, got=tasks)
    if not count:
        raise InputValueError("candidates", expected="at least one task", got="none")
    return count


def _adjust_all(key: Key, number: float, mean: float, variance: float) -> list[float]:
    """The ratio, the index and z of a number."""
    return [adjusted(key._replace(adjustment=name), number, mean, variance) for name in ADJUSTED]


def _check_range(key: Key, number: float, tasks: Tasks) -> None:
    """Refuse a number that the metric cannot have: one beyond its best or its worst value."""
    metric = METRICS[key.metric]
    if not math.isfinite(number):
        raise InputValueError("value", expected="a finite number", got=number)
    # Equal weights become whole numbers.
    weights = tasks.multiplicities * (tasks.weights / tasks.weights[0])
    last = Sample(tasks.sizes.astype(np.float64), tasks.sizes, weights)
    low, high = sorted((metric.optimum, compute(key.alone, last)))
    slack = 1e-9 * high  # It leaves room for the rounding of sums.
    if not low - slack <= number <= high + slack:
        hint = ""
        if high == 1.0 < number <= 100.0 and metric.increasing:
            hint = f"; as a percentage it is {number / 100:g}"
        elif number < 1.0 == low and not metric.increasing:
            hint = "; ranks start at 1 here"
        bounds = f"from {low:g} to {high:g}"
        raise InputValueError("value", expected=f"{key} {bounds}", got=f"{number:g}{hint}")


def _bounds(key: Key, number: float, least: Tasks, most: Tasks) -> Bounds:
    """Bound adjusted values, given the least and the most candidates that tasks can have.

    With more candidates ranks are larger, so the expectation moves in one direction. So does the
    standard deviation: the only metric whose task varies most at some number of candidates that
    data sets can have is hits@k, at 2k.
    """
    most_varied = least.sizes
    if key.metric == "hits":
        most_varied = np.clip(int(2 * key.parameter), most_varied, most.sizes[-1])
    middle = compress((most_varied, least.multiplicities))
    mean_of_least, variance_of_least = moments_of_tasks(key, least)
    mean_of_most, variance_of_most = moments_of_tasks(key, most)
    _, variance_of_middle = moments_of_tasks(key, middle)
    rows = []
    for mean in (mean_of_least, mean_of_most):
        for variance in (variance_of_least, variance_of_middle, variance_of_most):
            ratio, index, z = _adjust_all(key, number, mean, variance)
            rows.append((mean, ratio, index, z))
    return Bounds(*((min(column), max(column)) for column in zip(*rows, strict=True)))


def _bounds_note(bounds: Bounds, least: Tasks, most: Tasks) -> str:
    mean = np.average(least.sizes, weights=least.multiplicities)
    return (
        "the exact numbers of filtered candidates are not known, but bounds of them "
        f"({least.sizes[0]:,} to {most.sizes[-1]:,}, at least {mean:,.0f} on average): index from "
        f"{bounds.index[0]:.6g} to {bounds.index[1]:.6g}, z from {bounds.z[0]:g} to "
        f"{bounds.z[1]:g}; the other values are those of all entities"
    )


# -- data sets -------------------------------------------------------------------------------------


class KnownCandidates(NamedTuple):
    """The numbers of candidates of a known data set, or the least that they can be.

    Attributes
    ----------
    values, multiplicities : ndarray of int64, shape (d,)
        Numbers of candidates, and how many tasks have each.
    exact : bool
    """

    values: IntArray
    multiplicities: IntArray
    exact: bool


def known_candidates(
    dataset: str, split: str = "test", side: str = ALL_SIDES, filtered: bool = False
) -> KnownCandidates:
    """Return the numbers of candidates of a known data set, or the least that they can be.

    Examples
    --------
    >>> known_candidates("FB15k-237")
    KnownCandidates(values=array([14541]), multiplicities=array([40932]), exact=True)
    >>> known_candidates("hetionet", "test", "tail", filtered=True)
    KnownCandidates(values=array([27065]), multiplicities=array([225020]), exact=False)
    """
    entry = data_set(dataset)
    sides: tuple[str, ...] = ENTITY_SIDES if side == ALL_SIDES else (side,)
    size = entry["relations"] if side == "relation" else entry["entities"]
    if not filtered:
        return KnownCandidates(np.array([size]), np.array([entry[split] * len(sides)]), exact=True)
    for facts in ("left_out", "most_left_out"):
        by_side = entry.get(facts, {}).get(split, {})
        if all(name in by_side for name in sides):
            tables = [np.array(by_side[name])[:, ::-1] for name in sides]
            left_out, tasks = np.concatenate(tables, axis=1)
            return KnownCandidates(size - left_out, tasks, exact=facts == "left_out")
    known = ", ".join(name for name, other in data_sets().items() if "left_out" in other)
    bounded = ", ".join(name for name, other in data_sets().items() if "most_left_out" in other)
    raise InputValueError(
        "filtered",
        f"the exact numbers of candidates are not known for {entry['name']}, only for {known}; "
        f"bounds of them are known for {bounded}; give them as candidates, or take the "
        "unfiltered ones, whose index is a little too good",
    )


def data_set(name: str) -> dict[str, Any]:
    """Return the sizes of a data set and their sources; case, "-", "_" and "." do not matter.

    It has `name`, `entities`, `relations`, `train`, `valid`, `test` (numbers of triples),
    `sources`, an optional `note`, and `left_out` where it is known how many candidates the filter
    leaves out: by split and side these numbers, and how many tasks have each. `most_left_out` has
    bounds of them in the same form.

    Examples
    --------
    >>> data_set("wn18-rr")["entities"]
    40943
    """
    if not isinstance(name, str):
        raise InputTypeError("dataset", expected="a name", got=type(name).__name__)
    for key, entry in data_sets().items():
        names = [key]
        names += entry.get("aliases", [])
        if _letters(name) in map(_letters, names):
            return entry
    raise InputValueError("dataset", f"no data set {name!r}; {suggest(name, data_sets())}")


@cache
def data_sets() -> dict[str, dict[str, Any]]:
    """Read the table of data sets, by name."""
    import json
    from importlib.resources import files

    path = files(__package__) / "datasets.json"
    table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return table


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
