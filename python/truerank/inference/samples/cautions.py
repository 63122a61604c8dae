"""The notes of intervals, comparisons and p-values: what limits the trust in a number.

A note is one plain clause with its figures. Each function returns a tuple of notes, which is empty
where there is nothing to say, so that results join them with `+`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...tables.table_writer import format_count, percent
from .units import TASK, plural

FEW_UNITS = 20  # below this number of units, asymptotic methods are not to be trusted
FEW_CARRIERS = 10  # fewer units that carry the variance are noted
FEW_RUNS = 5  # of a model; fewer are noted
LARGE_ERROR = 0.25  # of a value: beyond, differences of gmr and the like are far from normal
LARGE_SHARE = 0.05  # of the tasks in one unit

Notes = tuple[str, ...]

_COARSE = 1e-3  # a smallest p-value from which on a note states it


def few_units(units: int, by: str, consequence: str = "", *, fewer_than: int = FEW_UNITS) -> Notes:
    """Say that there are few units, and what follows from it.

    Examples
    --------
    >>> few_units(12, "query", "the interval is conservative")
    ('few units: 12 queries; the interval is conservative',)
    >>> few_units(400, "task")
    ()
    """
    if units >= fewer_than:
        return ()
    return (_joined(f"few units: {format_count(units, by, plural(by))}", consequence),)


def clusters(units: int, by: str, largest: int, tasks: int, consequence: str = "") -> Notes:
    """Say that one unit holds a large share of the tasks.

    Examples
    --------
    >>> clusters(50, "query", 31, 100)
    ('clusters: the largest of 50 queries holds 31 % of the tasks',)
    >>> clusters(50, "query", 4, 100)
    ()
    """
    if by == TASK or not tasks or largest <= LARGE_SHARE * tasks:
        return ()
    largest_of = f"the largest of {format_count(units, by, plural(by))}"
    held = f"holds {percent(largest / tasks)} of the tasks"
    return (_joined(f"clusters: {largest_of} {held}", consequence),)


def two_way(first: tuple[int, str], second: tuple[int, str]) -> Notes:
    """Say that tasks lie in units of two kinds at once.

    Examples
    --------
    >>> two_way((400, "query"), (120, "target"))
    ('two-way clusters: 400 queries and 120 targets; the error counts both',)
    """
    counts = " and ".join(format_count(n, by, plural(by)) for n, by in (first, second))
    return (f"two-way clusters: {counts}; the error counts both",)


def fixed_strata(strata: int, name: str, alone: int) -> Notes:
    """Say that units come from strata, and that some of these have a single unit.

    Examples
    --------
    >>> fixed_strata(11, "relation", 2)
    ('strata: 11 relations, each with its number of units; 2 with a single unit are pooled',)
    """
    counted = format_count(strata, name, plural(name))
    pooled = f"; {alone:,} with a single unit are pooled" if alone else ""
    return (f"strata: {counted}, each with its number of units{pooled}",)


def zero_width_avoided(reason: str) -> Notes:
    """Say that the sample does not vary, and how bounds were found nevertheless.

    Examples
    --------
    >>> zero_width_avoided("all 30 tasks have the same rank; the bounds are those of a share of 0")
    ('zero width avoided: all 30 tasks have the same rank; the bounds are those of a share of 0',)
    """
    return (f"zero width avoided: {reason}",)


def few_runs(runs: Mapping[str, int]) -> Notes:
    """Say that there are few runs of a model.

    Examples
    --------
    >>> few_runs({"a": 3, "b": 10}), few_runs({"a": 5, "b": 5})
    (('few runs: 3 of a, 10 of b; p and interval are approximate',), ())
    """
    if min(runs.values()) >= FEW_RUNS:
        return ()
    counted = ", ".join(f"{number} of {name}" for name, number in runs.items())
    return (f"few runs: {counted}; p and interval are approximate",)


def folds(number: int) -> Notes:
    """Say that folds are not independent of each other.

    Examples
    --------
    >>> folds(5)
    ('folds: what 5 folds share, such as training data, makes the interval too narrow',)
    """
    return (
        f"folds: what {number} folds share, such as training data, makes the interval too narrow",
    )


def zero_width(reason: str) -> Notes:
    """Say why an interval has the width 0.

    Examples
    --------
    >>> zero_width("both models have the same rank in every task")
    ('zero width: both models have the same rank in every task',)
    """
    return (f"zero width: {reason}",)


def no_agreement(method: str, basis: str) -> Notes:
    """Say that p-value and interval do not agree about 0.

    Examples
    --------
    >>> no_agreement("wilcoxon", "swaps")
    ('p and interval do not agree about 0: p comes from wilcoxon, the interval from swaps',)
    """
    return (
        f"p and interval do not agree about 0: p comes from {method}, the interval from {basis}",
    )


def percentiles(metric: str) -> Notes:
    """Say that an interval is of percentiles, which are discrete for ranks.

    Examples
    --------
    >>> percentiles("median")
    ('median has no standard error in each resample: the interval is of percentiles, approximate',)
    """
    reason = f"{metric} has no standard error in each resample"
    return (f"{reason}: the interval is of percentiles, approximate",)


def floor_reached(p_value: float, floor: float, ways: str) -> Notes:
    """Say that a p-value cannot be smaller, whatever the data.

    Examples
    --------
    >>> floor_reached(0.0625, 0.0625, "32 ways to swap 5 units")
    ('floor reached: p cannot be below 0.0625 with 32 ways to swap 5 units',)
    >>> floor_reached(0.5, 0.0625, "32 ways to swap 5 units")
    ()
    """
    if p_value > floor:
        return ()
    return (f"floor reached: p cannot be below {floor:.3g} with {ways}",)


def few_units_among(few: int, comparisons: int, units: int, least: float) -> Notes:
    """Say how many of several comparisons have too few units.

    Parameters
    ----------
    few : int
        How many of them have at most so many units.
    comparisons : int
    units : int
    least : float
        No p-value of so many units is smaller.

    Examples
    --------
    >>> few_units_among(12, 40, 5, 0.0625)
    ('few units: 12 of 40 comparisons have at most 5 units; their p cannot be below 0.0625',)
    >>> few_units_among(0, 40, 5, 0.0625)
    ()
    """
    if not few:
        return ()
    many = f"{few:,} of {format_count(comparisons, 'comparison')} have at most {units} units"
    return (f"few units: {many}; their p cannot be below {least:.3g}",)


def not_counted(lost: int, total: int, things: str) -> Notes:
    """Say how many of several questions have no answer, and are left out.

    Examples
    --------
    >>> not_counted(1, 5, "p-values are nan")
    ('not counted: 1 of 5 p-values are nan',)
    >>> not_counted(0, 5, "p-values are nan")
    ()
    """
    return (f"not counted: {lost:,} of {total:,} {things}",) if lost else ()


def heavy_tail(carriers: float, units: int, by: str, consequence: str = "") -> Notes:
    """Say that few units carry the variance.

    Parameters
    ----------
    carriers : float
        The number of units that carry the variance: (sum d^2)^2 / sum d^4 of their influences d.
    units : int
    by : str
        The name of a unit.
    consequence : str

    Examples
    --------
    >>> heavy_tail(4.6, 1000, "task")
    ('heavy tail: 5 of 1,000 tasks carry the variance',)
    """
    of_all = f"{carriers:,.0f} of {format_count(units, by, plural(by))}"
    return (_joined(f"heavy tail: {of_all} carry the variance", consequence),)


def large_error(share: float, metric: str) -> Notes:
    """Say that a metric is known too roughly for its differences to be straight in its units.

    Parameters
    ----------
    share : float
        Its standard error relative to its value.
    metric : str

    Examples
    --------
    >>> large_error(0.37, "gmr")
    ('large error: the standard error of gmr is 37 % of it; p and interval are approximate',)
    >>> large_error(0.1, "gmr")
    ()
    """
    if not share > LARGE_ERROR:
        return ()
    note = f"large error: the standard error of {metric} is {percent(share)} of it"
    return (_joined(note, "p and interval are approximate"),)


def gather(notes_of: Mapping[str, Notes]) -> list[str]:
    """List each note of several results once; a note on some of them names these.

    Parameters
    ----------
    notes_of : mapping of str to tuple of str
        The notes of each result by its name.

    Examples
    --------
    >>> gather({"mrr": ("few units: 5 queries",), "mr": ("few units: 5 queries", "heavy tail")})
    ['few units: 5 queries', 'mr: heavy tail']
    """
    names_of: dict[str, list[str]] = {}
    for name, notes in notes_of.items():
        for note in notes:
            names_of.setdefault(note, []).append(name)
    return [
        note if len(names) == len(notes_of) else f"{', '.join(names)}: {note}"
        for note, names in names_of.items()
    ]


def count_kinds(found: Sequence[Notes], thing: str) -> list[str]:
    """Say how many of many results have which kind of note, where there is no room for all.

    A kind is what stands before the colon.

    Examples
    --------
    >>> count_kinds([("few units: 5 queries",), ("few units: 9 queries",)], "group")
    ['few units in 2 of 2 groups']
    """
    kinds = Counter(kind for notes in found for kind in {x.partition(":")[0] for x in notes})
    of_all = f"of {format_count(len(found), thing)}"
    return [f"{kind} in {number:,} {of_all}" for kind, number in sorted(kinds.items())]


def dependent_tasks(tasks: int, units: int, largest: int, by: str) -> Notes:
    """Say that a model of independent tasks was used although units have several tasks.

    Examples
    --------
    >>> dependent_tasks(100, 60, 9, "query")
    ('clusters: 100 tasks in 60 queries, the largest with 9; the chance model takes tasks for independent',)
    """  # noqa: E501
    held = f"{format_count(tasks, TASK)} in {format_count(units, by, plural(by))}"
    model = "the chance model takes tasks for independent"
    return (f"clusters: {held}, the largest with {largest:,}; {model}",)


def few_outcomes(least: float, tasks: int) -> Notes:
    """Say that no value has a small p-value, as there are few outcomes.

    Examples
    --------
    >>> few_outcomes(0.04, 2)
    ('few outcomes: 2 tasks; no value has a p-value below 0.04',)
    >>> few_outcomes(1e-6, 6)
    ()
    """
    if not least > _COARSE:
        return ()
    return (
        f"few outcomes: {format_count(tasks, 'task')}; no value has a p-value below {least:.3g}",
    )


def normal_approximation(what: str) -> Notes:
    """Say that a p-value is that of a normal law.

    Examples
    --------
    >>> normal_approximation("no other method gave a number")
    ('normal approximation: no other method gave a number',)
    """
    return (f"normal approximation: {what}",)


def alike(units: int, by: str, low: float, high: float) -> Notes:
    """Say that all units are alike, so that the sample does not show how much they vary.

    Examples
    --------
    >>> alike(30, "task", 0.0, 0.1)
    ('zero width avoided: the 30 tasks are alike; the bounds allow for others',)
    >>> alike(30, "task", 7.0, 7.0)
    ('zero width: the 30 tasks are alike, and do not show how much others differ',)
    """
    those = f"the {format_count(units, by, plural(by))} are alike"
    if low == high:
        return zero_width(f"{those}, and do not show how much others differ")
    return zero_width_avoided(f"{those}; the bounds allow for others")


def no_bounds(method: str, units: int, by: str) -> Notes:
    """Say that a method gives no bounds, as where few units make resamples without a value.

    Examples
    --------
    >>> no_bounds("studentised", 2, "query")
    ('no bounds: studentised gives none for these 2 queries',)
    """
    return (f"no bounds: {method} gives none for these {format_count(units, by, plural(by))}",)


def not_calibrated(metric: str) -> Notes:
    """Say that no interval of a metric is known to cover as often as its level says.

    Examples
    --------
    >>> not_calibrated("mad")
    ('approximate: no interval of mad is known to cover as often as it says',)
    """
    return (f"approximate: no interval of {metric} is known to cover as often as it says",)


def few_hits(hits: int, tasks: int, consequence: str = "") -> Notes:
    """Say that there are few hits or few misses, whichever are fewer.

    Examples
    --------
    >>> few_hits(3, 1000), few_hits(999, 1000)
    (('few hits: 3 of 1,000 tasks',), ('few misses: 1 of 1,000 tasks',))
    """
    what, number = ("hits", hits) if 2 * hits <= tasks else ("misses", tasks - hits)
    return (_joined(f"few {what}: {number:,} of {format_count(tasks, TASK)}", consequence),)


def whole_ranks(share: float, coverage: float) -> Notes:
    """Say that bounds of a median are ranks that many tasks share.

    Examples
    --------
    >>> whole_ranks(0.12, 0.994)
    ('whole ranks: 12 % of the tasks have the median; the interval covers about 99.4 %',)
    """
    tasks = f"{percent(share)} of the tasks have the median"
    return (f"whole ranks: {tasks}; the interval covers about {percent(coverage)}",)


def _joined(note: str, consequence: str) -> str:
    return f"{note}; {consequence}" if consequence else note
