"""What the numbers of a report come from: ranks with weights and groups."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .. import metrics
from ..errors import UnknownKeyError
from ..metrics.averages import weighted_mean
from ..metrics.keys import MACRO, Key, Sides, parse, sides_of
from ..metrics.kinds import DEFAULT_KIND, KINDS, Sample, sample_of, take
from ..metrics.values import Grouping, compute, kept_moments
from ..naming import public
from ..ranks.counts import ties_of
from ..ranks.grouping import group_codes, task_weights_by
from ..ranks.labels import LABEL_WORDS
from ..ranks.protocol import Protocol
from .columns import (
    DEFAULT_KINDS,
    DEFAULT_METRICS,
    FEW_METRICS,
    TIE_KINDS,
    column_of,
    compose_key,
    key_of_row,
)

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..metrics.contributions import RankedTasks
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike

    Weights = str | Sequence[float] | FloatArray

NO_GROUPS = "this report has no groups; report(ranks, by=...) has"


@public("truerank.reporting")
class Summary(NamedTuple):
    """Numbers of tasks, candidates and ties, whatever the weights.

    Attributes
    ----------
    tasks : int
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one. Targets that their lists
        miss are not counted: they are bounded, not tied.
    largest_tie, mean_tie : int, float
        The number of candidates in a tie, the true one included: the largest, and the mean over
        the tied tasks; 1 and nan where no task ties.
    audit : dict of str to int, or None
        The results of a count with `audit=True`: the numbers of candidates that are `nan` and
        `inf` over all tasks, the largest number of candidates with the best score of a task,
        `at_best`, the number of true candidates with another score in their block, `differing`, and
        that of tasks whose row differs from the first row of their query, `mismatched`.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.report(tr.Ranks([0, 3], [1, 2], 10)).summary.tied_tasks
    1
    """

    tasks: int
    candidates_min: int
    candidates_max: int
    tied_tasks: int
    largest_tie: int
    mean_tie: float
    audit: dict[str, int] | None


class ReportForm(NamedTuple):
    """How the reports of one kind are written: their keys, their tables and their JSON.

    Attributes
    ----------
    read_key : callable
        What reads a key; an unknown one is a KeyError.
    column_of : callable
        Returns the key of the column of a table that a key is in.
    column_form : str
        What the key of a column looks like, in messages.
    key_of_row : callable
        Returns the key of a cell: that of its column with the side and the kind of its row.
    few, usual : tuple of str
        The metrics of tables by default, and those that are listed.
    kinds : tuple of str
        The words of keys that rows of tables may have, in their order.
    tie_kinds : tuple of str
        Those of them that say what is made of ties, without a draw.
    default_kind : str
        The kind of keys that do not say it.
    labels : tuple of str
        The columns that name the rows of a table: "side", "kind".
    tasks : str
        What is counted.
    json_kind : str
    """

    read_key: Callable[[str], Key]
    column_of: Callable[[Key], Key]
    column_form: str
    key_of_row: Callable[[Key, str, str], Key]
    few: tuple[str, ...]
    usual: tuple[str, ...]
    kinds: tuple[str, ...]
    tie_kinds: tuple[str, ...]
    default_kind: str
    labels: tuple[str, ...]
    tasks: str
    json_kind: str


RANK_REPORTS = ReportForm(
    read_key=parse,
    column_of=column_of,
    column_form="[adjustment.]metric[@k]",
    key_of_row=key_of_row,
    few=FEW_METRICS,
    usual=DEFAULT_METRICS,
    kinds=tuple(KINDS),
    tie_kinds=TIE_KINDS,
    default_kind=DEFAULT_KIND,
    labels=("side", "kind"),
    tasks="tasks",
    json_kind="truerank.report",
)


class Source(ABC):
    """What the numbers of a report come from: ranks, or the answers of queries.

    Attributes
    ----------
    form : ReportForm
    protocol : Protocol
    seed : int
    weighting : str
    by : str or None
        The name of the groups.
    group_names : list
        Their labels; empty without groups.
    sides : Sides
    summary : Summary
    keys : list of str
        The keys that the report lists.
    facts : dict of str to Any
        The further fields of the form's JSON.
    ranks, tasks : Ranks
        As they were given, and with the weights in force.
    group_codes : ndarray of int64, shape (n,), or None
        The group of each task.
    """

    form: ReportForm = RANK_REPORTS
    protocol: Protocol
    seed: int
    weighting: str
    by: str | None
    group_names: list[Hashable]
    sides: Sides
    ranks: Ranks
    tasks: Ranks
    group_codes: IntArray | None
    summary: Summary
    keys: list[str]
    facts: Mapping[str, Any] = {}

    @abstractmethod
    def value(self, key: Key) -> float:
        """Return the value of a key."""

    @abstractmethod
    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""

    @abstractmethod
    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""

    @abstractmethod
    def of_group(self, place: int) -> Self:
        """Return what the numbers of one group come from."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The tasks or queries, as inference takes them."""

    @property
    def kinds_differ(self) -> bool:
        """Whether kinds of rank may differ: where tasks tie, and where misses have bounds."""
        return bool((self.ranks.tied > 1).any())

    def number_of_tasks(self, side: str) -> int:
        """Return the number of tasks of a side; a KeyError for an unknown one."""
        self.sides.check(side, side)
        return self.sides.counts[side]

    def require_groups(self, key: object) -> None:
        """Raise the KeyError of a key that needs groups where there are none."""
        if self.by is None:
            raise UnknownKeyError(repr(str(key)), NO_GROUPS)


class Counted(Source):
    """Ranks with the weights in force and their groups; the parameters are those of `Report`.

    Attributes
    ----------
    grouping : Grouping or None
    draw : callable
        Returns the sample of all tasks for a kind of rank.
    """

    def __init__(
        self,
        ranks: Ranks,
        seed: int,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.ranks = ranks
        self.protocol = ranks.protocol
        self.weighting = ""
        tasks = ranks
        if isinstance(weights, str):
            self.weighting = f"each {LABEL_WORDS.get(weights, weights)} counts once"
            weights = task_weights_by(ranks, weights)
        if weights is not None:
            tasks = ranks.with_weights(weights)
        if tasks.weights is not None:
            self.weighting = self.weighting or "weighted"
        self.sides = sides_of(ranks)
        self.draw: Callable[[str], Sample] = partial(sample_of, tasks, seed=seed)
        self.by = None
        self.group_names = []
        self.grouping: Grouping | None = None
        self.group_codes = None
        if by is not None:
            self.by = by if isinstance(by, str) else "label"
            codes, self.group_names = group_codes(ranks, by)
            self.group_codes = codes
            self.grouping = Grouping(tasks, codes, self.group_names, self.sides, self.draw)
        self.tasks = tasks
        self.seed = seed
        self._last: tuple[str, str, Sample] | None = None
        self._values: dict[Key, float] = {}

    def value(self, key: Key) -> float:
        """Return the value of a key, which is computed once; a KeyError for an unknown side."""
        if key not in self._values:
            if key.side not in self.sides.counts:
                self.sides.check(key.side, str(key))
            if key.macro:
                values = self.groups(key).values(key)
                self._values[key] = weighted_mean(values[~np.isnan(values)])
            else:
                sample = self.sample(key.side, key.kind)
                self._values[key] = compute(key, sample, self.tasks._memo)
        return self._values[key]

    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""
        self.sides.check(key.side, str(key))
        values: list[float] = self.groups(key).values(key).tolist()
        return values

    @cached_property
    def keys(self) -> list[str]:  # type: ignore[override]
        """The usual keys: where all kinds of rank are alike, those of one alone."""
        kinds: tuple[str, ...] = DEFAULT_KINDS if self.kinds_differ else (DEFAULT_KIND,)
        found = [
            compose_key(side, kind, name)
            for side in self.sides.present
            for kind in kinds
            for name in DEFAULT_METRICS
        ]
        if self.by is not None:
            means = [name for name in DEFAULT_METRICS if parse(name).adjustment != "z"]
            for side in self.sides.present:
                found += [f"{MACRO}.{compose_key(side, DEFAULT_KIND, name)}" for name in means]
        return found

    @cached_property
    def summary(self) -> Summary:  # type: ignore[override]
        """The numbers of tasks, candidates and ties."""
        return summary_of(self.ranks)

    def moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance, computed once for all kinds and reports of the ranks."""
        return kept_moments(self.tasks._memo, key, self.sample(key.side, key.kind))

    def sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last ones are kept, since keys come in this order."""
        if self._last is None or self._last[:2] != (side, kind):
            chosen = take(self.draw(kind), self.sides.mask(side))
            self._last = side, kind, chosen
        return self._last[2]

    def groups(self, key: object) -> Grouping:
        """The groups; a KeyError where there are none."""
        self.require_groups(key)
        grouping: Grouping = self.grouping  # type: ignore[assignment]
        return grouping

    @property
    def model(self) -> RankedTasks:
        """The tasks, as inference takes them."""
        return metrics.contributions.RankedTasks(self.tasks, self.seed)

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""
        found: list[int] = self.groups("group_tasks").counts(side).tolist()
        return found

    def of_group(self, place: int) -> Counted:
        """The tasks of one group, drawn as those of all groups are."""
        grouping = self.groups("groups")
        group = Counted(grouping.ranks(place), self.seed)
        group.draw = partial(grouping.sample, group=place)
        group.weighting = self.weighting
        group.sides.counts.update(dict.fromkeys(self.sides.counts.keys() - group.sides.counts, 0))
        return group


def summary_of(ranks: Ranks) -> Summary:
    """Sum up tasks. What a list misses is in no tie.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.Ranks([0, 3, 1], [1, 2, 9], 10, listed=[True, True, False])
    >>> summary_of(ranks).mean_tie
    2.0
    """
    candidates = ranks.candidates
    tied = ties_of(ranks.tied, ranks.listed)
    ties = tied[tied > 1]
    counts = None
    if ranks.audit is not None:
        counts = {name: int(numbers.sum()) for name, numbers in ranks.audit._asdict().items()}
        counts["at_best"] = int(ranks.audit.at_best.max(initial=0))
    fewest = int(candidates.min()) if len(ranks) else 0
    mean_tie = float(ties.mean()) if len(ties) else math.nan
    return Summary(
        tasks=len(ranks),
        candidates_min=fewest,
        candidates_max=int(candidates.max(initial=0)),
        tied_tasks=len(ties),
        largest_tie=int(ties.max(initial=1)),
        mean_tie=mean_tie,
        audit=counts,
    )


def misses_differ(facts: Mapping[str, Any]) -> bool:
    """Whether right answers that lists miss have bounds, by the facts of a report of retrieval."""
    return facts["misses"] == "bounds" and bool(facts["missed"])
