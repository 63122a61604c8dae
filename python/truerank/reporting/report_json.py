"""Reports that were written as JSON: a plain dict, checked for its version and types when read."""

from __future__ import annotations

import copy
import json
import math
import reprlib
from collections.abc import Hashable
from types import NoneType
from typing import Any

from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..metrics import Key, parse
from ..metrics.keys import Sides
from ..ranks.protocol import COMPARABLE, PROVENANCE, Protocol
from ..ranks.storage import checked_fields
from .audit import Finding
from .counted import NO_GROUPS, Summary

JSON_KIND = "truerank.report"
JSON_FORMAT = 1
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
    protocol, seed, weighting, by, sides, labels, summary
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
        self.labels: list[Hashable] = []
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
        self.labels = [tuple(label) if isinstance(label, list) else label for label in labels]
        self._tasks = {
            side: [*_counts(f"groups.tasks.{side}", dict(enumerate(column))).values()]
            for side, column in tasks.items()
        }
        self._columns = {
            parse(key): [_number(f"groups.metrics.{key}", value) for value in column]
            for key, column in metrics.items()
        }
        lengths = {len({*self.labels}), *map(len, self._tasks.values())}
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
        group.keys, group.by, group.labels, group.columns = self.columns, None, [], []
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
