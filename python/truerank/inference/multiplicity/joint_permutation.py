"""Many comparisons of the same tasks, corrected by max-T: one resampling of swaps serves them all.

A swap exchanges the ranks of two models in a unit. The same swaps are applied to every metric,
group and pair of models, so that the statistics of a resample depend on each other as those of the
models do. What several metrics of the same ranks share is therefore not paid for twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from ...inputs.checks import integer_at_least, resample_count, several
from ...inputs.errors import InputTypeError, InputValueError, renamed, spelled
from ...inputs.naming import public
from ...metrics.keys import Key, parse, table_name
from ...metrics.kinds import take
from ...ranks.grouping import group_codes
from ...tables.table_writer import Records, TextTables, format_count, format_p
from ...tables.tabular import PlainTable
from ..paired_models.paired_units import PairedUnits
from ..paired_models.pairing import HasRanks, has_protocol, pair_ranks, weighted_ranks
from ..samples import cautions
from ..samples.functionals import of_swaps
from ..samples.resampling import draw_swaps, is_exhaustible, watched_resamples
from ..samples.units import AUTO, TASK, Units, describe_units, unit_codes, units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray
    from ...inputs.progress_listeners import Progress
    from ...ranks.container import Ranks
    from ...ranks.labels import LabelsLike

CELLS = 1 << 22  # swaps in memory at once, one byte each
STATISTICS = 1 << 20  # statistics of resamples that are sorted at once
MOST_STATISTICS = 1 << 29  # of all resamples; they take 4 GiB
FEW_UNITS = 5  # they have 32 ways to swap, and no p-value below 2 / 32
COUNT_MESSAGE = "count is the same for two models over the same tasks; take metrics of their ranks"


@public("truerank.inference")
class JointComparison(NamedTuple):
    """One of several comparisons that were permuted jointly.

    Attributes
    ----------
    metric : str
        The key.
    group : str or None
        The group of tasks; None for all tasks.
    name_a, name_b : str
    value_a, value_b, difference : float
    statistic : float
        The difference divided by its standard deviation over the swaps.
    p_value : float
        The two-sided p-value of this comparison alone.
    p_max_t : float
        The p-value corrected for all comparisons by the step-down max-T procedure.
    units : int
        The number of its units.
    """

    metric: str
    group: str | None
    name_a: str
    name_b: str
    value_a: float
    value_b: float
    difference: float
    statistic: float
    p_value: float
    p_max_t: float
    units: int

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return self._asdict()


class _About(NamedTuple):
    """What was swapped, and how."""

    units: int
    by: str
    largest: int
    resamples: int
    seed: int

    @property
    def floor(self) -> float:
        """The smallest p-value that so many resamples can give; 0 where all swaps are tried."""
        return 0.0 if is_exhaustible(self.units, self.resamples) else 1 / (1 + self.resamples)


@public("truerank.inference")
class JointComparisons(Sequence[JointComparison], PlainTable):
    """Comparisons over metrics, groups and models with jointly corrected p-values; by `max_t`.

    Attributes
    ----------
    units, largest : int
        The number of units that were swapped, and the number of tasks in the largest.
    by : str
        The name of a unit, as in `Interval`.
    resamples, seed : int
    p_floor : float
        The smallest p-value that so many resamples can give; 0 where p is exact. A p-value that has
        reached it is written "<= ...".
    notes : tuple of str
        What limits the p-values.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        rows: Iterable[JointComparison],
        about: _About,
        notes: Sequence[str] = (),
    ) -> None:
        self._rows, self.notes = tuple(rows), tuple(notes)
        self.units, self.largest, self.by = about.units, about.largest, about.by
        self.resamples, self.seed, self.p_floor = about.resamples, about.seed, about.floor
        self._grouped = any(row.group is not None for row in self._rows)
        self._several = len({(row.name_a, row.name_b) for row in self._rows}) > 1
        self._NAMES = 1 + self._grouped + 2 * self._several

    @overload
    def __getitem__(self, index: int) -> JointComparison: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[JointComparison]: ...

    def __getitem__(self, index: int | slice) -> JointComparison | Sequence[JointComparison]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"JointComparisons({format_count(len(self), 'comparison')}, max-T)"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparisons as dicts in a list, how they were resampled, and the notes."""
        rows = [row.to_dict() for row in self._rows]
        how = {
            name: getattr(self, name)
            for name in ("by", "units", "largest", "resamples", "seed", "p_floor")
        }
        return {"comparisons": rows, **how, "notes": list(self.notes)}

    def text_tables(self, digits: int = 4) -> TextTables:
        """Return the table as text for people, with a line on what was swapped."""
        made = super().text_tables(digits)
        swapped = describe_units(self.units, self.by, self.largest)
        how = f"max-T, {format_count(self.resamples, 'resample')} of {swapped}"
        (grid,) = made.grids
        rows = [
            [
                table_name(found.metric),
                *cells[1:-2],
                *(format_p(p, self.p_floor) for p in (found.p_value, found.p_max_t)),
            ]
            for cells, found in zip(grid.rows, self._rows, strict=True)
        ]
        return made._replace(grids=[grid._replace(rows=rows)], after=[how])

    def records(self) -> Records:
        """Return the heading and a row for each comparison."""
        first = self._rows[0]
        names = ["metric", *(["group"] * self._grouped), *(["a", "b"] * self._several)]
        values = ["of a", "of b"] if self._several else [first.name_a, first.name_b]
        values += ["difference", "statistic", "p", "p (max-T)"]
        rows = [
            [
                row.metric,
                *([row.group] * self._grouped),
                *([row.name_a, row.name_b] * self._several),
                *(row.value_a, row.value_b, row.difference, row.statistic),
                *(row.p_value, row.p_max_t),
            ]
            for row in self._rows
        ]
        return Records([*names, *values], rows, values)


@public("truerank.inference")
def max_t(
    a: Ranks
    | HasRanks
    | Mapping[str, Ranks | HasRanks]
    | Mapping[str, Ranks]
    | Mapping[str, HasRanks],
    b: Ranks | HasRanks | None = None,
    *,
    metrics: Iterable[str | Key] = ("mrr",),
    groups: LabelsLike | None = None,
    by: LabelsLike | None = AUTO,
    resamples: int = 10_000,
    seed: int = 0,
    draw_seed: int = 0,
    allow_unlike: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
) -> JointComparisons:
    """Compare models in several metrics, groups of tasks or pairs at once, corrected by max-T.

    This is Westfall and Young's step-down procedure (1993). Like Holm's rule it holds the
    probability of one or more false findings among all comparisons. It knows how the comparisons
    depend on each other, because all of them see the same swaps, and rejects more where they do.

    Parameters
    ----------
    a, b : Ranks or Report
        As in `truerank.compare`. With a mapping of names to them in place of both, all pairs of
        its members are compared.
    metrics : iterable of str or Key
        Keys of a report; `macro.X` needs `by`, and is not for `groups`.
    groups : str or labels, optional
        Ask one question for each group of tasks: "relation", "side", another name of labels that
        a has, or labels.
    by : str, labels or None
        The units, which are swapped as a whole, as in `interval`: "auto" (pairs or queries where
        they repeat, else tasks), "task", "query", another label, or labels.
    resamples, seed : int
        As in `truerank.compare`; all 2**units ways to swap are tried where there are no more.
        8 bytes are kept for each resample of each comparison.
    draw_seed : int
        The seed of the kind "random".
    allow_unlike : bool
        As in `truerank.compare`.
    progress : callable or bool, optional
        Called with a `Progress`, in resamples, as they are drawn. True: a bar of tqdm or rich.

    Returns
    -------
    JointComparisons
        A row for each metric, group and pair of models, in this order. The p-values of a single
        comparison are those of `truerank.compare`. A comparison whose difference is nan has the
        p-values nan and counts for nothing.

    Raises
    ------
    ValueError, KeyError, TypeError
        As in `truerank.compare`; for no metrics, one that comes twice, `macro.X` with `groups`, and
        more resamples than fit into 4 GiB.

    Notes
    -----
    The statistic is abs(difference) / s, where s^2 is the mean of the squared differences over the
    swaps, those without a swap included: metrics of unlike scale and groups of unlike size can be
    compared. With the comparisons in descending order, the corrected p-value of the i-th is the
    share of swaps in which the largest statistic of the i-th and all later comparisons reaches that
    of the i-th, and at least that of the comparison before it.

    For two models the correction is exact for any number of units, if the null hypothesis of a
    comparison is that the pairs of ranks behind it are exchangeable in each unit. Where it is only
    that the metrics are equal, few units must not carry the variance; a note says so. For several
    models each p-value alone is exact, and the correction is an approximation: a swap exchanges the
    ranks of each pair, and no order of three models is the swap of all their pairs. In simulations
    with 6 to 400 tasks (log-uniform ranks, groups of Zipf's sizes, one winner in each task; also
    where some of the hypotheses are false) 0 to 6 % of the families of true hypotheses were
    rejected at 5 %, and 0 to 5 % by Holm's rule.

    P. H. Westfall, S. S. Young: Resampling-Based Multiple Testing (1993).

    Examples
    --------
    >>> from truerank import Ranks
    >>> a = Ranks([0, 1, 0, 2, 0, 0], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> b = Ranks([3, 1, 2, 4, 1, 2], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> found = max_t(a, b, metrics=["mrr", "mr", "hits@1"])
    >>> [(row.metric, row.p_value, row.p_max_t) for row in found]
    [('mrr', 0.0625, 0.0625), ('mr', 0.0625, 0.0625), ('hits@1', 0.125, 0.125)]
    """
    keys = _check_keys(metrics, groups is not None)
    resamples, seed = resample_count(resamples), integer_at_least("seed", seed)
    draw_seed = integer_at_least("draw_seed", draw_seed)
    models = _check_models(a, b)
    labelled = next(iter(models.values()))
    codes, unit = unit_codes(labelled, by)
    named = not (by is None or (isinstance(by, str) and by in (AUTO, TASK)))
    shared = None if unit == TASK else codes
    with renamed(by="groups"):
        parts = None if groups is None else group_codes(labelled, groups)
    if parts is not None and not len(labelled):
        raise InputValueError("groups", expected="tasks to group", got="none")
    questions: list[_Question] = []
    said: dict[str, tuple[str, ...]] = {}
    for name_a, name_b in itertools.combinations(models, 2):
        pair = models[name_a], models[name_b]
        one, two, _, notes = pair_ranks(*pair, (name_a, name_b), allow_unlike=allow_unlike)
        said[f"{name_a} - {name_b}"] = notes
        for key in keys:
            first, second = (
                units_of(
                    x, key, by=AUTO if key.macro and not named else shared, draw_seed=draw_seed
                )
                for x in (one, two)
            )
            questions += _questions(first, second, (name_a, name_b), codes, parts)
    questions.sort(key=lambda question: (keys.index(question.key), question.place))
    sizes = np.bincount(codes)
    largest = int(sizes.max(initial=0))
    about = _About(len(sizes), unit, largest, resamples, seed)
    _check_size(resamples, len(questions))
    with watched_resamples(progress):
        tested = _test(questions, about)
    notes = (*cautions.gather(said), *_notes(questions, tested, about))
    rows = [question.row(*found) for question, found in zip(questions, tested, strict=True)]
    return JointComparisons(rows, about, notes)


class _Question(NamedTuple):
    """One comparison: its tasks, and its units among those of all tasks."""

    pair: PairedUnits
    names: tuple[str, str]
    group: str | None
    place: int  # of the group among the groups
    columns: IntArray

    @property
    def key(self) -> Key:
        return self.pair.one.key

    @property
    def lost(self) -> bool:
        """Whether there is no difference to test."""
        return not len(self.columns) or math.isnan(self.pair.difference)

    def row(self, statistic: float, p: float, p_max_t: float) -> JointComparison:
        a, b, apart = self.pair.value_a, self.pair.value_b, self.pair.difference
        about = str(self.key), self.group, *self.names
        return JointComparison(*about, a, b, apart, statistic, p, p_max_t, len(self.columns))

    def differences(self, swaps: npt.NDArray[np.int8]) -> FloatArray:
        """The difference between both models after each swap of the units of all tasks."""
        whole = len(self.columns) == swaps.shape[1]
        first, second = of_swaps(self.pair.both, swaps if whole else swaps[:, self.columns])
        return first - second


def _check_keys(metrics: Iterable[str | Key], grouped: bool) -> list[Key]:
    given = several("metrics", metrics, "keys")
    keys = [key if isinstance(key, Key) else parse(key) for key in given]
    if not keys:
        raise InputValueError("metrics", expected="at least one key", got="none")
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise InputValueError("metrics", expected="each key once", got=f"{str(key)!r} twice")
        if key.metric == "count":
            raise InputValueError("metrics", COUNT_MESSAGE)
        if key.macro and grouped:
            problem = f"{str(key)!r} is an average over groups; ask for it without"
            raise InputValueError("metrics", f"{problem} {spelled('groups=...')}")
    return keys


def _check_models(a: Any, b: Any) -> dict[str, Ranks]:
    if has_protocol(a) or not isinstance(a, Mapping):
        return {"a": weighted_ranks("a", a), "b": weighted_ranks("b", b)}
    if b is not None:
        raise InputTypeError("b", expected="nothing beside a mapping of Ranks or Reports")
    if len(a) < 2:
        raise InputValueError("a", expected="at least two Ranks or Reports to compare", got=len(a))
    return {str(name): weighted_ranks(str(name), model) for name, model in a.items()}


def _check_size(resamples: int, questions: int) -> None:
    if resamples * questions > MOST_STATISTICS:
        most = MOST_STATISTICS // questions
        expected = f"at most {most:,} for {format_count(questions, 'comparison')}"
        raise InputValueError("resamples", expected=expected, got=f"{resamples:,}")


def _questions(
    one: Units,
    two: Units,
    names: tuple[str, str],
    codes: IntArray,
    parts: tuple[IntArray, list[Any]] | None,
) -> Iterator[_Question]:
    """The question of a metric and a pair of models, or one for each group of tasks."""
    if parts is None:
        yield _question(one, two, names, None, 0, codes)
        return
    of_task, labels = parts
    part = of_task[one.tasks]
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], np.arange(len(labels) + 1))
    for place, label in enumerate(labels):
        chosen = order[starts[place] : starts[place + 1]]
        said = " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        yield _question(_only(one, chosen), _only(two, chosen), names, said, place, codes)


def _only(units: Units, chosen: IntArray) -> Units:
    """Some of the tasks, with those of the units that have any of them."""
    present, unit = np.unique(units.unit[chosen], return_inverse=True)
    return units._replace(
        sample=take(units.sample, chosen),
        unit=unit.reshape(-1).astype(np.int64),
        number=len(present),
        tasks=units.tasks[chosen],
    )


def _question(
    one: Units,
    two: Units,
    names: tuple[str, str],
    group: str | None,
    place: int,
    codes: IntArray,
) -> _Question:
    pair = PairedUnits(one, two)
    return _Question(pair, names, group, place, np.unique(codes[one.tasks])[pair.kept])


def _test(questions: Sequence[_Question], about: _About) -> list[tuple[float, float, float]]:
    """The statistic, the p-value and the corrected p-value of each question."""
    found = [(math.nan, math.nan, math.nan)] * len(questions)
    known = [i for i, question in enumerate(questions) if not question.lost]
    if not known:
        return found
    asked = [questions[i] for i in known]
    unswapped = np.zeros((1, about.units), dtype=np.int8)
    observed = np.array([question.differences(unswapped)[0] for question in asked])
    slack = np.array([question.pair.slack for question in asked])
    exact = is_exhaustible(about.units, about.resamples)  # the unswapped models are among these
    resampled = np.empty((2**about.units if exact else 1 + about.resamples, len(asked)))
    resampled[0] = observed
    row = 0 if exact else 1
    for swaps in _batches(draw_swaps(about.units, about.resamples, about.seed)):
        for column, question in enumerate(asked):
            resampled[row : row + len(swaps), column] = question.differences(swaps)
        row += len(swaps)
    scale = np.sqrt([np.nanmean(np.square(column)) for column in resampled.T])
    scale[scale == 0] = 1.0  # no swap makes a difference
    resampled /= scale
    p, p_max_t = step_down(observed / scale, resampled, slack / scale)
    for i, *values in zip(known, observed / scale, p, p_max_t, strict=True):
        found[i] = float(values[0]), float(values[1]), float(values[2])
    return found


def step_down(
    observed: FloatArray, resampled: FloatArray, slack: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """The p-values of several statistics, and those corrected by the step-down max-T procedure.

    Parameters
    ----------
    observed : ndarray of float64, shape (questions,)
        Statistics whose distance from 0 speaks against the null hypothesis.
    resampled : ndarray of float64, shape (resamples, questions)
        Those of all resamples, the observed ones among them. nan counts as the largest distance.
    slack : float or ndarray of float64, shape (questions,)
        By how much equal statistics may differ by rounding.

    Examples
    --------
    >>> step_down(np.array([2.0, -1.0]), np.array([[2.0, 1.0], [0.5, -1.5], [1.0, 0.0]]))
    (array([0.33333333, 0.66666667]), array([0.33333333, 0.66666667]))
    """
    order = np.argsort(-np.abs(observed), kind="stable")
    slack = np.broadcast_to(slack, observed.shape)[order]
    least = np.abs(observed)[order]
    alone, largest = np.zeros((2, len(observed)), dtype=np.int64)
    rows = max(STATISTICS // len(observed), 1)
    for start in range(0, len(resampled), rows):
        sizes = np.abs(resampled[start : start + rows, order])
        sizes[np.isnan(sizes)] = np.inf
        alone += (sizes >= least - slack).sum(axis=0)
        later = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
        largest += (later >= least - slack.max()).sum(axis=0)
    p, p_max_t = np.empty((2, len(observed)))
    p[order] = alone / len(resampled)
    p_max_t[order] = np.maximum.accumulate(largest) / len(resampled)
    return p, p_max_t


def _batches(chunks: Iterable[IntArray]) -> Iterator[npt.NDArray[np.int8]]:
    """Join small chunks of swaps, so that many questions do not take many small steps."""
    held: list[Any] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(map(np.size, held)) >= CELLS:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


def _notes(
    questions: Sequence[_Question], tested: Sequence[tuple[float, float, float]], about: _About
) -> tuple[str, ...]:
    """What limits the p-values: few units, the floor, differences that are nan."""
    units, resamples = about.units, about.resamples
    if len(questions) > 1:
        few = sum(len(question.columns) <= FEW_UNITS for question in questions)
        least = 2.0 ** (1 - FEW_UNITS)
        notes = cautions.few_units_among(few, len(questions), FEW_UNITS, least)
    else:
        least = 2.0 ** (1 - units) if units else 1.0
        said = f"p cannot be below {least:.3g}"
        notes = cautions.few_units(units, about.by, said, fewer_than=FEW_UNITS + 1)
    heavy = [_heavy_tail(question, about.by) for question in questions]
    notes += heavy[0] if len(heavy) == 1 else tuple(cautions.count_kinds(heavy, "comparison"))
    smallest = min((p for _, _, p in tested if not math.isnan(p)), default=1.0)
    notes += cautions.floor_reached(smallest, about.floor, format_count(resamples, "resample"))
    lost = sum(question.lost for question in questions)
    return notes + cautions.not_counted(lost, len(questions), "differences are nan")


def _heavy_tail(question: _Question, by: str) -> cautions.Notes:
    """Say that few units carry the variance of a difference, where there are not few at all."""
    units = len(question.columns)
    if question.lost or units < cautions.FEW_UNITS:
        return ()
    carriers = question.pair.carriers()
    few = carriers < cautions.FEW_CARRIERS
    return cautions.heavy_tail(carriers, units, by) if few else ()
