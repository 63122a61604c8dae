"""The content of a report that is stored as JSON: gather, write, and read it with checks."""

from __future__ import annotations

import dataclasses
import json
import math
import reprlib
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from ..inputs.errors import InputTypeError, InputValueError
from ..metrics import Key, UnknownKeyError, parse
from ..metrics.keys import ALL_SIDES, RELATION_SIDE, Sides, is_side_name
from ..metrics.kinds import DEFAULT_KIND
from ..ranks.protocol import Protocol
from ..tables.forms import json_value, write_json
from .audit import Finding, Summary
from .axes import unique_keys

if TYPE_CHECKING:
    from .report_base import ReportBase

JSON_KIND = "truerank.report"
JSON_FORMAT = 1
_MOST = 2**63 - 1  # counts and ids are int64
_LONGEST_NAME = 100  # in messages

T = TypeVar("T")


class GroupContent(NamedTuple):
    """The groups of a report: labels, and lists by side and by key with an entry for each label."""

    by: str
    macro: str
    labels: list[Hashable]
    tasks: dict[str, list[int]]
    metrics: dict[str, list[float]]


class FilterContent(NamedTuple):
    """The filters of a report: the name of its own, and the content under the others by name."""

    own: str
    others: dict[str, Any]  # of ReportContent, which mypy cannot see as a recursive type


class ReportContent(NamedTuple):
    """The content of a report; the summary is None for a group that was read from JSON."""

    metrics: dict[str, float]
    summary: Summary | None
    protocol: Protocol
    seed: int
    weighting: str
    sides: dict[str, int]
    findings: list[Finding]
    groups: GroupContent | None
    filters: FilterContent | None = None


# -- writing ---------------------------------------------------------------------------------------


def json_text(report: ReportBase, metrics: Iterable[str] | None, indent: int | None) -> str:
    """Write values, summary, protocol, findings and groups as a JSON object; nan is null."""
    keys = unique_keys(report if metrics is None else metrics)
    of_groups = [key for key in keys if not parse(key).macro]
    if metrics is None:  # with thousands of groups one kind is enough
        of_groups = [key for key in of_groups if parse(key).kind == DEFAULT_KIND]
    return write_json(json_object(content_of(report, keys, of_groups)), indent)


def content_of(report: ReportBase, keys: Iterable[str], of_groups: Iterable[str]) -> ReportContent:
    """Gather the content of a report, with the values of the given keys.

    Raises
    ------
    KeyError
        For a key that the report does not have.

    Examples
    --------
    >>> import truerank as tr
    >>> content_of(tr.report(tr.Ranks([0], [1], 10)), ["mr"], []).metrics
    {'mr': 1.0}
    """
    groups = None
    if report.by is not None:
        tasks = {side: report.group_tasks(side) for side in report.side_counts()}
        groups = GroupContent(
            report.by,
            report.macro_weighting,
            list(next(iter(tasks.values()))),
            {side: list(counts.values()) for side, counts in tasks.items()},
            {key: list(report.group_values(key).values()) for key in of_groups},
        )
    return ReportContent(
        {key: report[key] for key in keys},
        report.held_summary(),
        report.protocol,
        report.seed,
        report.weighting,
        report.side_counts(),
        report.audit(),
        groups,
        _filters_of(report, keys),
    )


def _filters_of(report: ReportBase, keys: Iterable[str]) -> FilterContent | None:
    """Gather the values of the same keys under the other filters; groups are of the first alone."""
    if not report.filters:
        return None
    own, *others = report.filters
    alike = [key for key in keys if not parse(key).macro]
    return FilterContent(
        own, {name: content_of(report.filters[name], alike, ()) for name in others}
    )


def json_object(stored: ReportContent) -> dict[str, Any]:
    """Return the content as a JSON object: nan is null, infinity is "inf" or "-inf".

    Examples
    --------
    >>> import truerank as tr
    >>> json_object(content_of(tr.report(tr.Ranks([], [], 10)), ["mr"], []))["metrics"]
    {'mr': None}
    """
    summary, groups, filters = stored.summary, stored.groups, stored.filters
    content: dict[str, Any] = json_value(
        {
            "kind": JSON_KIND,
            "format": JSON_FORMAT,
            **stored._asdict(),
            "summary": None if summary is None else summary._asdict(),
            "protocol": dataclasses.asdict(stored.protocol),
            "fingerprint": stored.protocol.fingerprint,
            "findings": [finding._asdict() for finding in stored.findings],
            "groups": None if groups is None else groups._asdict(),
            "filters": filters
            and {
                "own": filters.own,
                "others": {k: json_object(v) for k, v in filters.others.items()},
            },
        }
    )
    return content


# -- reading ---------------------------------------------------------------------------------------


def read_content(text: str) -> ReportContent:
    """Read what `json_text` wrote.

    Raises
    ------
    ValueError
        If the text is damaged or something else.
    TypeError
        If it is not a str.

    Examples
    --------
    >>> import truerank as tr
    >>> read_content(tr.report(tr.Ranks([0], [1], 10)).to_json(["mr"])).metrics
    {'mr': 1.0}
    """
    if not isinstance(text, (str, bytes)):
        raise InputTypeError("text", expected="a str", got=type(text).__name__)
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputValueError("text", expected="the JSON of a report", got=error) from None
    return _read_object("text", content)


def _read_object(name: str, content: Any, nested: bool = False) -> ReportContent:
    """Read the JSON object of a report, or of one under another filter, which has no filters."""
    if not isinstance(content, dict) or content.get("kind") != JSON_KIND:
        raise InputValueError(name, expected=f"the JSON of a report, of the kind {JSON_KIND!r}")
    if content.get("format") != JSON_FORMAT:
        raise InputValueError(
            name,
            expected=f"format {JSON_FORMAT} of a report",
            got=f"{reprlib.repr(content.get('format'))}; a later version of truerank may read it",
        )
    if nested and content.get("filters") is not None:
        _raise_wrong("filters", "null under another filter", content["filters"])
    content = {"filters": None, **content}  # added after format 1 was fixed
    stored = ReportContent(
        *(_read_part(content, part, reader) for part, reader in _READERS.items())
    )
    if content.get("fingerprint") != stored.protocol.fingerprint:
        _raise_wrong("fingerprint", "that of the protocol", content.get("fingerprint"))
    _check_metrics(stored)
    _check_counts(stored)
    if stored.groups is not None:
        _check_groups(stored, stored.groups)
    return stored


def _check_metrics(stored: ReportContent) -> None:
    """Check that the report can have the keys, and that two names of one have one value."""
    values: dict[Key, float] = {}
    for key, value in stored.metrics.items():
        parsed = parse(key)
        if parsed.side not in stored.sides:
            _raise_wrong(f"metrics.{key}", f"one of the sides {', '.join(stored.sides)}", key)
        first = values.setdefault(parsed, value)
        if first != value and not (math.isnan(first) and math.isnan(value)):
            _raise_wrong(f"metrics.{key}", f"{first}, as under its other name", value)


def _check_groups(stored: ReportContent, groups: GroupContent) -> None:
    """Check that groups have the sides, the keys and the tasks of the report."""
    if groups.tasks.keys() != stored.sides.keys():
        _raise_wrong("groups.tasks", f"the sides {', '.join(stored.sides)}", list(groups.tasks))
    keys = [key for key in stored.metrics if not parse(key).macro]
    needed = {key for key in keys if parse(key).kind == DEFAULT_KIND}
    if not needed <= groups.metrics.keys() <= set(keys):
        got = sorted(groups.metrics.keys() ^ needed)
        _raise_wrong("groups.metrics", "the keys of the report", f"others: {', '.join(got)}")
    if len(set(groups.labels)) < len(groups.labels):
        _raise_wrong("groups.labels", "each group once", groups.labels)
    lengths = {name: len(column) for name, column in groups.tasks.items()}
    lengths |= {name: len(column) for name, column in groups.metrics.items()}
    for name, length in lengths.items():
        if length != len(groups.labels):
            _raise_wrong(name, f"{len(groups.labels)} entries, one for each group", length)
    for side, counts in groups.tasks.items():
        if sum(counts) != stored.sides[side]:
            _raise_wrong(f"groups.tasks.{side}", f"{stored.sides[side]} tasks", sum(counts))


def _check_counts(stored: ReportContent) -> None:
    """Check that the numbers of tasks in the summary are those of the sides."""
    summary, total = stored.summary, Sides(stored.sides).total
    if summary is None:
        return
    if summary.tasks != total:
        _raise_wrong("summary.tasks", f"{total}, as the sides say", summary.tasks)
    if summary.tied_tasks > total:
        _raise_wrong("summary.tied_tasks", f"at most {total}", summary.tied_tasks)


def _read_part(content: dict[str, Any], name: str, reader: Callable[[str, Any], T]) -> T:
    if name not in content:
        raise InputValueError("text", f"{name} is missing")
    return reader(name, content[name])


def _raise_wrong(name: str, expected: str, got: object) -> NoReturn:
    raise InputValueError(
        "text", f"{_cut(name)}: expected {_cut(expected)}, got {reprlib.repr(got)}"
    )


def _cut(text: str, most: int = _LONGEST_NAME) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"the number {word}, which JSON does not have")


def _number(name: str, value: Any) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _raise_wrong(name, "a number or null", value)
    try:
        return float(value)
    except OverflowError:
        _raise_wrong(name, "a number of float64", "a greater one")


def _seed(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _raise_wrong(name, "an integer >= 0", value)
    return value


def _count(name: str, value: Any) -> int:
    if _seed(name, value) > _MOST:
        _raise_wrong(name, "an integer below 2**63", value)
    return int(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        _raise_wrong(name, "a string", value)
    return value


def _label(name: str, value: Any) -> Hashable:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if type(item) is not str and not (type(item) is int and -_MOST - 1 <= item <= _MOST):
            _raise_wrong(name, "a name, an id below 2**63, or an array of them", value)
    return tuple(items) if isinstance(value, list) else items[0]


def _dict(reader: Callable[[str, Any], T]) -> Callable[[str, Any], dict[str, T]]:
    def read(name: str, value: Any) -> dict[str, T]:
        if not isinstance(value, dict):
            _raise_wrong(name, "an object", value)
        return {key: reader(f"{name}.{key}", item) for key, item in value.items()}

    return read


def _list(reader: Callable[[str, Any], T]) -> Callable[[str, Any], list[T]]:
    def read(name: str, value: Any) -> list[T]:
        if not isinstance(value, list):
            _raise_wrong(name, "an array", value)
        return [reader(name, item) for item in value]

    return read


def _optional(reader: Callable[[str, Any], T]) -> Callable[[str, Any], T | None]:
    return lambda name, value: None if value is None else reader(name, value)


def _fields(build: Callable[..., T], **readers: Callable[[str, Any], Any]) -> Callable[..., T]:
    """Make a reader of an object with these fields."""

    def read(name: str, value: Any) -> T:
        if not isinstance(value, dict) or value.keys() != readers.keys():
            _raise_wrong(name, f"an object of {', '.join(readers)}", value)
        return build(**{key: readers[key](f"{name}.{key}", item) for key, item in value.items()})

    return read


def _protocol(name: str, value: Any) -> Protocol:
    fields = [field.name for field in dataclasses.fields(Protocol)]
    if not isinstance(value, dict) or not value.keys() <= set(fields):
        _raise_wrong(name, f"an object of {', '.join(fields)}", value)
    try:
        return Protocol(**value)
    except (TypeError, ValueError) as error:
        raise InputValueError("text", f"{name}: {_cut(str(error))}") from None


def _keyed(reader: Callable[[str, Any], T]) -> Callable[[str, Any], dict[str, T]]:
    """Make a reader of an object whose names are keys of a report."""
    read_all = _dict(reader)

    def read(name: str, value: Any) -> dict[str, T]:
        values = read_all(name, value)
        for key in values:
            try:
                parse(key)
            except UnknownKeyError as error:
                raise InputValueError("text", f"{name}: {_cut(str(error), 250)}") from None
        return values

    return read


def _sides(name: str, value: Any) -> dict[str, int]:
    counts = _COUNTS(name, value) or _raise_wrong(name, "at least one side", value)
    named = {side: n for side, n in counts.items() if side != ALL_SIDES}
    for side in named:
        if not is_side_name(side):
            _raise_wrong(name, "names that a key can have", side)
    pooled = sum(named.values()) - named.get(RELATION_SIDE, 0)
    if named and counts.get(ALL_SIDES, 0) != pooled:
        _raise_wrong(f"{name}.{ALL_SIDES}", f"{pooled}, as the other sides say", counts)
    return counts


_NUMBERS, _COUNTS = _keyed(_number), _dict(_count)
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "metrics": _NUMBERS,
    "summary": _optional(
        _fields(
            Summary,
            tasks=_count,
            candidates_min=_count,
            candidates_max=_count,
            tied_tasks=_count,
            largest_tie=_count,
            mean_tie=_number,
            audit=_optional(
                _fields(
                    dict,
                    nan=_count,
                    inf=_count,
                    at_best=_count,
                    differing=_count,
                    mismatched=_count,
                )
            ),
        )
    ),
    "protocol": _protocol,
    "seed": _seed,
    "weighting": _text,
    "sides": _sides,
    "findings": _list(
        _fields(Finding, name=_text, value=_number, threshold=_number, message=_text)
    ),
    "groups": _optional(
        _fields(
            GroupContent,
            by=_text,
            macro=_text,
            labels=_list(_label),
            tasks=_dict(_list(_count)),
            metrics=_keyed(_list(_number)),
        )
    ),
    "filters": _optional(
        _fields(
            FilterContent,
            own=_text,
            others=_dict(lambda name, value: _read_object(f"text: {name}", value, nested=True)),
        )
    ),
}
