"""What the numbers of a report come from: ranks, with weights and groups, or the JSON of a report.

The JSON is a plain dict, checked for its version and types when it is read.
"""

from __future__ import annotations

import copy
import json
import math
import reprlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inference.units import RankedTasks
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import printable, public
from ..metrics import Key, Sample, compute, parse, sample_of
from ..metrics.averages import weighted_mean
from ..metrics.keys import MACRO, Sides, sides_of
from ..metrics.kinds import DEFAULT_KIND, take
from ..metrics.values import Grouping, kept_moments
from ..ranks.grouping import group_codes, task_weights_by
from ..ranks.labels import LABEL_WORDS
from ..ranks.protocol import COMPARABLE, PROVENANCE, Protocol
from ..ranks.storage import checked_fields
from .keyed_values import DEFAULT_KINDS, DEFAULT_METRICS, compose_key

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike

    Weights = str | Sequence[float] | FloatArray

NO_GROUPS = "this report has no groups; report(ranks, by=...) has"
JSON_KIND = "truerank.report"
JSON_FORMAT = 1


@public("truerank.reporting")
class Summary(NamedTuple):
    """Numbers of tasks, candidates and ties, whatever the weights.

    Attributes
    ----------
    tasks : int
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one.
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


@public("truerank.reporting")
class Finding(NamedTuple):
    """Something that makes a number suspect.

    Attributes
    ----------
    name : str
        The check: "misses", "worse than chance", "ties", "constant", "nan", "inf", "rescored",
        "queries", "saturated", "few candidates", "unfiltered", "sampled", "test candidates",
        "unaudited".
    value : float
        The measured value.
    threshold : float
        The limit that the value exceeds.
    message : str
        One sentence.

    Notes
    -----
    Shares are of the tasks with a weight above 0.
    """

    name: str
    value: float
    threshold: float
    message: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.message}")


class Counted(RankedTasks):
    """Ranks with the weights in force and their groups; the parameters are those of `Report`.

    Attributes
    ----------
    ranks, tasks : Ranks
        As they were given, and with the weights in force.
    protocol, seed, weighting, by, sides
        What `Report` tells of them.
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
        self.by: str | None = None
        self.grouping: Grouping | None = None
        groups = None
        if by is not None:
            self.by = by if isinstance(by, str) else "label"
            groups, names = group_codes(ranks, by)
            self.grouping = Grouping(tasks, groups, names, self.sides, self.draw)
        super().__init__(tasks, groups, seed)
        self._last: tuple[str, str, Sample] | None = None
        self._values: dict[Key, float] = {}

    columns: Sequence[str] = ()  # none is stored

    @property
    def group_names(self) -> list[Hashable]:
        """The labels of the groups."""
        return [] if self.grouping is None else self.grouping.names

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

    @property
    def keys(self) -> list[str]:
        """The usual keys: where nothing ties, those of one kind of rank alone."""
        kinds = DEFAULT_KINDS if self.summary.tied_tasks else (DEFAULT_KIND,)
        sides, names = self.sides.present, DEFAULT_METRICS
        found = [compose_key(s, kind, name) for s in sides for kind in kinds for name in names]
        if self.grouping is not None:
            means = [name for name in names if parse(name).adjustment != "z"]
            keys = (compose_key(side, DEFAULT_KIND, name) for side in sides for name in means)
            found += [f"{MACRO}.{key}" for key in keys]
        return found

    @cached_property
    def summary(self) -> Summary:
        """The numbers of tasks, candidates and ties."""
        ranks, candidates, counts = self.ranks, self.ranks.candidates, None
        ties = ranks.tied[ranks.tied > 1]
        if ranks.audit is not None:
            counts = {name: int(numbers.sum()) for name, numbers in ranks.audit._asdict().items()}
            counts["at_best"] = int(ranks.audit.at_best.max(initial=0))
        return Summary(
            tasks=len(ranks),
            candidates_min=int(candidates.min()) if len(ranks) else 0,
            candidates_max=int(candidates.max(initial=0)),
            tied_tasks=len(ties),
            largest_tie=int(ties.max(initial=1)),
            mean_tie=float(ties.mean()) if len(ties) else math.nan,
            audit=counts,
        )

    def moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance, computed once for all kinds and reports of the ranks."""
        return kept_moments(self.tasks._memo, key, self.sample(key.side, key.kind))

    def sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last ones are kept, since keys come in this order."""
        if self._last is None or self._last[:2] != (side, kind):
            self._last = side, kind, take(self.draw(kind), self.sides.mask(side))
        return self._last[2]

    def groups(self, key: object) -> Grouping:
        """The groups; a KeyError where there are none."""
        if self.grouping is None:
            raise UnknownKeyError(repr(str(key)), NO_GROUPS)
        return self.grouping

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""
        return [*map(int, self.groups("group_tasks").counts(side))]

    def of_group(self, place: int) -> Counted:
        """The tasks of one group, drawn as those of all groups are."""
        grouping = self.groups("groups")
        group = Counted(grouping.ranks(place), self.seed)
        group.draw, group.weighting = partial(grouping.sample, group=place), self.weighting
        group.sides.counts.update(dict.fromkeys(self.sides.counts.keys() - group.sides.counts, 0))
        return group


# -- JSON ------------------------------------------------------------------------------------------

# The fields of a report, a summary, a finding, groups and filters, with their types. Numbers that
# may be null or infinite are read by `_number`.
REPORT: dict[str, tuple[type, ...]] = {
    "metrics": (dict,),
    "summary": (dict, NoneType),
    "protocol": (dict,),
    "seed": (int,),
}
REPORT |= {"weighting": (str,), "sides": (dict,), "findings": (list,), "groups": (dict, NoneType)}
SUMMARY = {**dict.fromkeys(Summary._fields[:-2], (int,)), "audit": (dict, NoneType)}
FINDING = {"name": (str,), "message": (str,)}
GROUPS = {"by": (str,), "labels": (list,), "tasks": (dict,), "metrics": (dict,)}
FILTERS = {"own": (str,), "others": (dict,)}


class Stored:
    """What the numbers of a report are read from, as `Counted` is what computes them.

    Attributes
    ----------
    keys, columns : list of str
        The keys of values, and those of lists with a value for each group.
    protocol, seed, weighting, by, sides, group_names, summary
        As those of `Counted`; groups have no summary.
    findings : list of Finding
    own, others : str, and dict of str to Stored
        The name of the filter, and what is stored under others.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        checked_fields("report", content, REPORT)
        if unknown := content["protocol"].keys() - {*COMPARABLE, *PROVENANCE}:
            raise ValueError(f"protocol: expected no field {min(unknown)!r}")
        self.protocol = Protocol(**content["protocol"])
        self.seed, self.weighting = content["seed"], content["weighting"]
        self.sides = Sides(_counts("sides", content["sides"]))
        self.keys = [*content["metrics"]]
        self._values = {parse(k): _number(f"metrics.{k}", x) for k, x in content["metrics"].items()}
        self.summary = None if content["summary"] is None else _summary(content["summary"])
        self.findings = list(map(_finding, content["findings"]))
        self.by: str | None = None
        self.group_names: list[Hashable] = []
        self.columns: list[str] = []
        if content["groups"] is not None:
            self._read_groups(**checked_fields("groups", content["groups"], GROUPS))
        filters = content.get("filters") or {"own": "", "others": {}}
        self.own = checked_fields("filters", filters, FILTERS)["own"]
        self.others = {name: Stored(other) for name, other in filters["others"].items()}

    def _read_groups(
        self, by: str, labels: list[Any], tasks: dict[str, Any], metrics: dict[str, Any]
    ) -> None:
        self.by, self.columns = by, [*metrics]
        self.group_names = [tuple(label) if isinstance(label, list) else label for label in labels]
        self._tasks = {
            side: [*_counts(f"groups.tasks.{side}", dict(enumerate(column))).values()]
            for side, column in tasks.items()
        }
        self._columns = {
            parse(key): [_number(f"groups.metrics.{key}", value) for value in column]
            for key, column in metrics.items()
        }
        lengths = {len({*self.group_names}), *map(len, self._tasks.values())}
        lengths |= {*map(len, self._columns.values())}
        if lengths != {len(labels)} or self._tasks.keys() != self.sides.counts.keys():
            raise ValueError("groups: expected each label once, with its numbers by side and key")

    def value(self, key: Key) -> float | None:
        """Return the value of a key; None where it was not stored."""
        return self._values.get(key)

    def column(self, key: Key) -> list[float] | None:
        """Return the value of a key in each group; None where it was not stored."""
        if self.by is None:
            raise UnknownKeyError(repr(str(key)), NO_GROUPS)
        return self._columns.get(key)

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""
        if self.by is None:
            raise UnknownKeyError("'group_tasks'", NO_GROUPS)
        return self._tasks[side]

    def of_group(self, place: int) -> Stored:
        """What is stored of one group."""
        group = copy.copy(self)
        group.keys, group.by, group.group_names, group.columns = self.columns, None, [], []
        group._values = {key: column[place] for key, column in self._columns.items()}
        group.sides = Sides({side: counts[place] for side, counts in self._tasks.items()})
        group.summary, group.findings, group.others = None, [], {}
        return group


def read_report(text: str) -> Stored:
    """Read what `Report.to_json` wrote.

    Raises
    ------
    ValueError
        If the text is damaged or something else; the message names the part.
    TypeError
        If it is not a str.

    Examples
    --------
    >>> import truerank as tr
    >>> read_report(tr.report(tr.Ranks([0], [1], 10)).to_json(["mr"])).keys
    ['mr']
    """
    if not isinstance(text, (str, bytes)):
        raise InputTypeError("text", expected="a str", got=type(text).__name__)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputValueError("text", expected="the JSON of a report", got=error) from None
    if not isinstance(content, dict) or content.get("kind") != JSON_KIND:
        expected = f"the JSON of a report, of the kind {JSON_KIND!r}"
        raise InputValueError("text", expected=expected, got=reprlib.repr(content))
    if content.get("format") != JSON_FORMAT:
        expected = f"format {JSON_FORMAT} of a report; a later version of truerank may read others"
        raise InputValueError("text", expected=expected, got=reprlib.repr(content.get("format")))
    try:
        return Stored(content)
    except (TypeError, ValueError, ArithmeticError, UnknownKeyError) as error:
        raise InputValueError("text", str(error)[:250]) from None


def _number(place: str, value: Any) -> float:
    """Read a number: null is nan, "inf" and "-inf" are infinite."""
    if value is None:
        return math.nan
    if type(value) not in (int, float) and value not in ("inf", "-inf"):
        raise TypeError(f"{place}: expected a number or null, got {reprlib.repr(value)}")
    return float(value)


def _counts(place: str, value: dict[Any, Any]) -> dict[Any, int]:
    counts: dict[Any, int] = checked_fields(place, value, dict.fromkeys(value, (int,)))
    return counts


def _summary(content: dict[str, Any]) -> Summary:
    checked_fields("summary", content, SUMMARY)
    audit = content["audit"] and _counts("summary.audit", content["audit"])
    mean = _number("summary.mean_tie", content.get("mean_tie"))
    return Summary(**{**content, "mean_tie": mean, "audit": audit})


def _finding(content: Any) -> Finding:
    checked_fields("findings", content, FINDING)
    numbers = {
        name: _number(f"findings.{name}", content.get(name)) for name in ("value", "threshold")
    }
    return Finding(**{**content, **numbers})
