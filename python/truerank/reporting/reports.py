"""Reports: every metric of some ranks by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..metrics import Key, Sample, compute, kept_moments, parse, sample_of
from ..metrics.keys import ALL_SIDES
from ..metrics.kinds import DEFAULT_KIND, take
from ..metrics.sides import sides_of
from ..metrics.within_groups import Grouping
from ..ranks.container import Ranks
from ..ranks.grouping import WEIGHTS, group_codes, task_weights_by
from .assessed import Assessed
from .axes import DEFAULT_KINDS, DEFAULT_METRICS, written
from .macro import average_of
from .summary import Summary, summarise

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .macro import MacroWeights
    from .repeats import Repeats

    Weights = str | Sequence[float] | FloatArray

__all__ = ["DEFAULT_KINDS", "DEFAULT_METRICS", "Report", "report"]

_IDENTITY = ("_seed", "_ranks", "_tasks", "_grouping", "_average")  # what makes reports equal
_SHOWN = ("mrr", "hits@10", "amri")


class Report(Assessed):
    """The metrics of ranks, computed when they are asked for.

    `report[key]` reads any key `[macro.][side.][kind.][adjustment.]metric[@k][:p]`. As a mapping it
    runs over the default keys: the usual metrics of every side that has tasks and of the three
    kinds that do not depend on a seed; with `by`, their means over groups, too.

    Without a side, and under "both", all tasks are pooled; those of the side "relation" are read
    only under its own name, for they rank few candidates. A metric of no tasks is nan.

    With `by`, `report.groups[label]` is the Report of the tasks of a group, adjusted within its own
    candidate counts, and "macro.X" is the mean of X over the groups. A group without tasks of the
    side, or whose X is nan, is left out of it; `macro_left_out` counts those.

    Parameters
    ----------
    ranks : Ranks
    seed : int
        For the kind "random". All tasks are drawn at once, so that sides and groups agree with the
        whole.
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Instead of the weights of the ranks; finite, >= 0, not all 0, only their ratios matter. By
        name: every query, relation or answer of a side counts once, or every value of a label that
        `ranks.labels` has.
    macro_weights : "count", mapping of label to float, or array_like of float, optional
        What each group counts in "macro.X": once if not given, its number of tasks of the side, or
        so much (an array in the order of `groups`).

    Attributes
    ----------
    ranks : Ranks
    seed : int
    sides : tuple of str
        "both" and the named sides, as far as they have tasks ("both" alone where there are none).
    groups : mapping of label to Report
        Empty without `by`.

    Raises
    ------
    TypeError
        If `ranks` is something else, or its sides are ids instead of names.
    ValueError
        If a side has a name that a key cannot tell from its other words, and for labels or weights
        that do not fit the tasks.

    Examples
    --------
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        ranks: Ranks,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
        macro_weights: MacroWeights | None = None,
    ) -> None:
        if not isinstance(ranks, Ranks):
            raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
        self._ranks, self._seed = ranks, _checked_seed(seed)
        self._tasks = _weighed(ranks, weights)
        self._weights_name = weights if isinstance(weights, str) else None
        self._sides = sides_of(ranks)
        self._values: dict[Key, float] = {}
        self._last: tuple[str, str, Sample] | None = None
        self._summary: Summary | None = None
        self._draw: Callable[[str], Sample] = partial(sample_of, self._tasks, seed=self._seed)
        grouping = None
        if by is not None:
            codes, labels = group_codes(ranks, by)
            grouping = Grouping(self._tasks, codes, labels, self._sides, self._draw)
        names = None if grouping is None else grouping.names
        word = by if isinstance(by, str) else "label"
        self._set_groups(grouping, word, average_of(macro_weights, names))

    @property
    def ranks(self) -> Ranks:
        """The ranks that were measured."""
        return self._ranks

    @property
    def seed(self) -> int:
        """The seed of the kind "random"."""
        return self._seed

    @property
    def protocol(self) -> Protocol:
        """How the ranks were counted."""
        return self._ranks.protocol

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self._tasks.weights

    @property
    def weighting(self) -> str:
        """What the tasks count, in words; empty where all of them count once."""
        if self._weights_name is not None:
            name = self._weights_name
            thing = next((word for word, label in WEIGHTS.items() if label == name), name)
            return f"each {thing} counts once"
        return "" if self.weights is None else "weighted"

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks, "both" (all of them pooled) first.

        Examples
        --------
        >>> report(Ranks([0], [1], 10, side="tail")).sides
        ('both', 'tail')
        """
        return self._sides.present

    def tasks(self, side: str = ALL_SIDES) -> int:
        """How many tasks a side has.

        Examples
        --------
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._sides.check(side, side)
        return self._sides.counts[side]

    def side_counts(self) -> dict[str, int]:
        """How many tasks each side has that a key may name, those without any included.

        Examples
        --------
        >>> report(Ranks([0], [1], 10, side="tail")).side_counts()
        {'both': 1, 'tail': 1}
        """
        return dict(self._sides.counts)

    @property
    def summary(self) -> Summary:
        """How many tasks there are, how many of them tie, and how far that matters.

        Examples
        --------
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        if self._summary is None:
            self._summary = summarise(self)
        return self._summary

    @staticmethod
    def from_json(text: str) -> Report:
        """Read what `to_json` wrote: a Report without `.ranks`, which knows the stored keys alone.

        Parameters
        ----------
        text : str

        Returns
        -------
        Report
            Equal to the one that was written, as far as it is stored.

        Raises
        ------
        ValueError
            If the text is damaged or something else.

        Examples
        --------
        >>> Report.from_json(report(Ranks([0, 3], [1, 1], 10)).to_json())["mrr"]
        0.625
        """
        from .recalled import read_json

        return read_json(text)

    # -- a mapping ---------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> float:
        """The value of a key, as a float; KeyError for an unknown one, with the nearest names."""
        parsed = parse(key)
        if parsed not in self._values:
            if parsed.macro:
                self._given_groups(key)
            self._sides.check(parsed.side, key)
            self._values[parsed] = self._macro(parsed) if parsed.macro else self._micro(parsed)
        return self._values[parsed]

    def __iter__(self) -> Iterator[str]:
        axes = self.default_axes()
        yield from axes.names()
        if self._grouping is not None:
            yield from axes._replace(kinds=[DEFAULT_KIND]).macro_names()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _IDENTITY)

    def __repr__(self) -> str:
        side = self.sides[0]
        values = (f"{name} {self[written(side, DEFAULT_KIND, name)]:.4g}" for name in _SHOWN)
        prefix = "" if side == ALL_SIDES else f"{side}."
        facts = [f"{len(self._ranks):,} tasks", f"{self.summary.tied_tasks:,} tied"]
        facts += [] if self._grouping is None else [f"{len(self._groups):,} groups"]
        return f"Report({', '.join(facts)}, {prefix}{', '.join(values)})"

    def _micro(self, key: Key) -> float:
        return compute(key, self._sample(key.side, key.kind), partial(self._moments, key))

    def _of_group(self, place: int) -> Report:
        grouping = self._given_groups("groups")
        made = Report(grouping.ranks(place), seed=self._seed)
        made._draw = partial(grouping.sample, place)  # of ranks that were drawn as a whole
        # the same keys for every group, whichever sides it has tasks of
        counts = {side: int(grouping.counts(side)[place]) for side in self._sides.counts}
        made._sides = made._sides._replace(counts=counts)
        return made

    def _moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance: once for all kinds and all reports of these ranks."""
        return kept_moments(self._tasks._memo, key, self._sample(key.side, key.kind))

    def _sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last are kept, since keys come in that order."""
        last = self._last
        if last is None or last[:2] != (side, kind):
            sample = take(self._draw(kind), self._sides.mask(side))
            last = self._last = side, kind, sample
        return last[2]


@overload
def report(
    ranks: Ranks,
    *,
    seed: int = ...,
    by: LabelsLike | None = ...,
    weights: Weights | None = ...,
    macro_weights: MacroWeights | None = ...,
) -> Report: ...
@overload
def report(ranks: Sequence[Report]) -> Repeats: ...
def report(
    ranks: Ranks | Sequence[Report],
    *,
    seed: int = 0,
    by: LabelsLike | None = None,
    weights: Weights | None = None,
    macro_weights: MacroWeights | None = None,
) -> Report | Repeats:
    """Give the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks, or sequence of Reports
        Reports of repeats (folds, seeds) give their means and standard deviations; the other
        parameters are those of each of them then.
    seed : int
        For the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.
    macro_weights : "count", mapping of label to float, or array_like of float, optional
        What each group counts in "macro.X"; once if not given.

    Returns
    -------
    Report or Repeats

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is no int.
    ValueError
        If a side has a name that a key cannot tell from its other words, the seed is negative, and
        for labels or weights that do not fit the tasks; for Reports of unlike protocols or weights.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> report([report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))])["mr"]
    2.5
    """
    if isinstance(ranks, Ranks):
        return Report(ranks, seed=seed, by=by, weights=weights, macro_weights=macro_weights)
    if not isinstance(ranks, (list, tuple)) or not all(isinstance(r, Report) for r in ranks):
        raise InputTypeError(
            "ranks", expected="Ranks, or a list of Reports", got=type(ranks).__name__
        )
    if seed or any(option is not None for option in (by, weights, macro_weights)):
        raise InputTypeError("ranks", "Reports have their seed, groups and weights already")
    from .repeats import Repeats

    return Repeats(ranks)


def _checked_seed(seed: object) -> int:
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
        raise InputTypeError("seed", expected="an integer >= 0", got=type(seed).__name__)
    if seed < 0:
        raise InputValueError("seed", expected="an integer >= 0", got=seed)
    return int(seed)


def _weighed(ranks: Ranks, weights: Weights | None) -> Ranks:
    """The ranks with the weights in force; ready ones are made once."""
    if weights is None:
        return ranks
    if not isinstance(weights, str):
        return ranks.with_weights(weights)
    place = "weighed", weights
    if place not in ranks._memo:
        ranks._memo.setdefault(place, ranks.with_weights(task_weights_by(ranks, weights)))
    found: Ranks = ranks._memo[place]
    return found
