"""The JSON of a report as the source of its numbers, checked for its version and types."""

from __future__ import annotations

import copy
import json
import math
import reprlib
from types import NoneType
from typing import Any

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..metrics import Key
from ..metrics.keys import Sides
from ..ranks.protocol import COMPARABLE, PROVENANCE, Protocol
from ..ranks.storage import checked_fields
from .summaries import RANK_REPORTS, Finding, ReportForm, Source, Summary, misses_differ

JSON_FORMAT = 1
TEXT = "the JSON of a report itself, as Path(...).read_text() has it (truerank.load reads ranks)"

# These are the fields of a report, a summary, a finding, groups and filters, with their types.
# Numbers that may be null or infinite are read by `_number`.
REPORT: dict[str, tuple[type, ...]] = {
    "metrics": (dict,),
    "summary": (dict, NoneType),
    "protocol": (dict,),
    "seed": (int,),
    "weighting": (str,),
    "sides": (dict,),
    "findings": (list,),
    "groups": (dict, NoneType),
}
SUMMARY = {**dict.fromkeys(Summary._fields[:-2], (int,)), "audit": (dict, NoneType)}
FINDING = {"name": (str,), "message": (str,)}
GROUPS = {"by": (str,), "labels": (list,), "tasks": (dict,), "metrics": (dict,)}
FILTERS = {"own": (str,), "others": (dict,)}


class Stored(Source):
    """What the numbers of a report are read from; it has no ranks.

    Attributes
    ----------
    findings : list of Finding
    filter_name : str
        Empty where there is one filter alone.
    other_filters : dict of str to Stored
        What is stored of the same tasks under other filters, by name.
    """

    has_ranks = False

    def __init__(self, content: dict[str, Any], form: ReportForm) -> None:
        checked_fields("report", content, {**REPORT, **form.facts})
        self.form = form
        unknown = content["protocol"].keys() - set(COMPARABLE) - set(PROVENANCE)
        if unknown:
            raise ValueError(f"protocol: expected no field {min(unknown)!r}")
        self.protocol = Protocol(**content["protocol"])
        self.seed = content["seed"]
        self.weighting = content["weighting"]
        self.sides = Sides(_counts("sides", content["sides"]))
        self.keys = list(content["metrics"])
        self._values = {
            form.read_key(key): _number(f"metrics.{key}", value)
            for key, value in content["metrics"].items()
        }
        self.summary = None if content["summary"] is None else _summary(content["summary"])
        self.findings = list(map(_finding, content["findings"]))
        self.facts = {name: content[name] for name in form.facts}
        self.by = None
        self.group_names = []
        if content["groups"] is not None:
            self._read_groups(**checked_fields("groups", content["groups"], GROUPS))
        filters = content.get("filters") or {"own": "", "others": {}}
        self.filter_name = checked_fields("filters", filters, FILTERS)["own"]
        self.other_filters = {
            name: Stored(other, form) for name, other in filters["others"].items()
        }

    def _read_groups(
        self, by: str, labels: list[Any], tasks: dict[str, Any], metrics: dict[str, Any]
    ) -> None:
        self.by = by
        self.columns = list(metrics)
        self.group_names = []
        for label in labels:
            if isinstance(label, list):  # JSON has lists for tuples.
                label = tuple(label)
            self.group_names.append(label)
        self._tasks = {}
        for side, column in tasks.items():
            counts = _counts(f"groups.tasks.{side}", dict(enumerate(column)))
            self._tasks[side] = list(counts.values())
        self._columns = {}
        for key, column in metrics.items():
            values = [_number(f"groups.metrics.{key}", value) for value in column]
            self._columns[self.form.read_key(key)] = values
        lengths = {len(set(self.group_names))}
        lengths.update(map(len, self._tasks.values()))
        lengths.update(map(len, self._columns.values()))
        if lengths != {len(labels)} or self._tasks.keys() != self.sides.counts.keys():
            raise ValueError("groups: expected each label once, with its numbers by side and key")

    @property
    def kinds_differ(self) -> bool:
        """Whether kinds of rank may differ, as far as is known."""
        if self.summary is None or self.summary.tied_tasks or "misses" not in self.facts:
            return True
        return misses_differ(self.facts)

    def value(self, key: Key) -> float | None:
        """Return the value of a key; None where it was not stored."""
        return self._values.get(key)

    def column(self, key: Key) -> list[float] | None:
        """Return the value of a key in each group; None where it was not stored."""
        self.require_groups(key)
        return self._columns.get(key)

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""
        self.require_groups("group_tasks")
        return self._tasks[side]

    def of_group(self, place: int) -> Stored:
        """What is stored of one group."""
        group = copy.copy(self)
        group.keys = list(self.columns)
        group.by = None
        group.group_names = []
        group.columns = ()
        group._values = {key: column[place] for key, column in self._columns.items()}
        group.sides = Sides({side: counts[place] for side, counts in self._tasks.items()})
        group.summary = None
        group.findings = []
        group.other_filters = {}
        # Facts that are numbers are those of all groups together, so a single group has none.
        facts: dict[str, Any] = dict.fromkeys(self.facts)
        facts |= {name: fact for name, fact in self.facts.items() if isinstance(fact, str)}
        group.facts = facts
        return group


def read_report(text: str, form: ReportForm = RANK_REPORTS) -> Stored:
    """Read what `to_json` of a report wrote.

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
        raise InputTypeError("text", expected=TEXT, got=type(text).__name__)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputValueError("text", expected=TEXT, got=error) from None
    if not isinstance(content, dict) or content.get("kind") != form.json_kind:
        expected = f"the JSON of a report, of the kind {form.json_kind!r}"
        raise InputValueError("text", expected=expected, got=reprlib.repr(content))
    if content.get("format") != JSON_FORMAT:
        expected = f"format {JSON_FORMAT} of a report; a later version of truerank may read others"
        raise InputValueError("text", expected=expected, got=reprlib.repr(content.get("format")))
    try:
        return Stored(content, form)
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
    if content["audit"] is not None:
        _counts("summary.audit", content["audit"])
    mean_tie = _number("summary.mean_tie", content.get("mean_tie"))
    return Summary(**{**content, "mean_tie": mean_tie})


def _finding(content: Any) -> Finding:
    checked_fields("findings", content, FINDING)
    value = _number("findings.value", content.get("value"))
    threshold = _number("findings.threshold", content.get("threshold"))
    return Finding(**{**content, "value": value, "threshold": threshold})
