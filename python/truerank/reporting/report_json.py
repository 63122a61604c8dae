"""What a report is as JSON: its content, which is checked for its version and types when read."""

from __future__ import annotations

import json
import math
import reprlib
import sys
from collections.abc import Callable, Hashable
from types import NoneType
from typing import Any, NamedTuple, NewType, NoReturn, get_args, get_origin, get_type_hints

from ..inputs.errors import InputTypeError, InputValueError
from ..ranks.protocol import Protocol
from ..tables.forms import json_value
from .audit import Finding
from .counted import Summary

JSON_KIND = "truerank.report"
JSON_FORMAT = 1
_MOST = 2**63 - 1  # counts and ids are int64

Seed = NewType("Seed", int)  # of any size, unlike counts


class GroupContent(NamedTuple):
    """The groups of a report: labels, and lists by side and by key with an entry for each label."""

    by: str | None
    labels: list[Hashable]
    tasks: dict[str, list[int]]
    metrics: dict[str, list[float]]


NO_GROUPS = GroupContent(None, [], {}, {})


class FilterContent(NamedTuple):
    """The filters of a report: the name of its own, and the content under the others by name."""

    own: str
    others: dict[str, ReportContent]


class ReportContent(NamedTuple):
    """The content of a report; the summary is None for a group that was read from JSON."""

    metrics: dict[str, float]
    summary: Summary | None
    protocol: Protocol
    seed: Seed
    weighting: str
    sides: dict[str, int]
    findings: list[Finding]
    groups: GroupContent | None
    filters: FilterContent | None = None


def json_object(content: ReportContent) -> dict[str, Any]:
    """Return the content as a JSON object: nan is null, infinity is "inf" or "-inf".

    Examples
    --------
    >>> import math
    >>> from truerank import Protocol
    >>> content = ReportContent({"mr": math.nan}, None, Protocol(), 0, "", {"both": 0}, [], None)
    >>> json_object(content)["metrics"]
    {'mr': None}
    """
    plain = {"kind": JSON_KIND, "format": JSON_FORMAT, **content._asdict()}
    written: dict[str, Any] = json_value({**plain, "fingerprint": content.protocol.fingerprint})
    return written


def read_content(text: str) -> ReportContent:
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
    >>> read_content(tr.report(tr.Ranks([0], [1], 10)).to_json(["mr"])).metrics
    {'mr': 1.0}
    """
    if not isinstance(text, (str, bytes)):
        raise InputTypeError("text", expected="a str", got=type(text).__name__)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputValueError("text", expected="the JSON of a report", got=error) from None
    if not isinstance(content, dict) or content.get("kind") != JSON_KIND:
        _refuse("", f"the JSON of a report, of the kind {JSON_KIND!r}", content)
    if content.get("format") != JSON_FORMAT:
        expected = f"format {JSON_FORMAT} of a report; a later version of truerank may read others"
        _refuse("", expected, content.get("format"))
    known = {field: content[field] for field in ReportContent._fields if field in content}
    read: ReportContent = _read_fields("", known, ReportContent)
    return read


def _read(name: str, value: Any, kind: Any) -> Any:
    """Read a value as an annotation says."""
    origin, parts = get_origin(kind), get_args(kind)
    if NoneType in parts:
        return None if value is None else _read(name, value, parts[0])
    if origin is dict and isinstance(value, dict):
        return {key: _read(_join(name, key), item, parts[1]) for key, item in value.items()}
    if origin is list and isinstance(value, list):
        return [_read(name, item, parts[0]) for item in value]
    if origin is not None:
        _refuse(name, "an object" if origin is dict else "an array", value)
    if kind in _READERS:
        return _READERS[kind](name, value)
    if kind in _PLAIN:
        expected, fits = _PLAIN[kind]
        return value if fits(value) else _refuse(name, expected, value)
    return _read_fields(name, value, kind)


def _read_fields(name: str, value: Any, kind: Any) -> Any:
    """Read an object as a NamedTuple; fields with a default may be absent."""
    types = get_type_hints(kind)
    if not isinstance(value, dict):
        _refuse(name, f"an object of {', '.join(types)}", value)
    wrong = (types.keys() ^ value.keys()) - (kind._field_defaults.keys() - value.keys())
    if wrong:
        _refuse(_join(name, min(wrong)), f"all of {', '.join(types)} and nothing else", [*value])
    read = kind(**{key: _read(_join(name, key), item, types[key]) for key, item in value.items()})
    if isinstance(read, ReportContent) and read.groups is not None:
        _, labels, tasks, metrics = read.groups
        lengths = {*map(len, (labels, {*labels}, *tasks.values(), *metrics.values()))}
        if len(lengths) > 1 or tasks.keys() != read.sides.keys():
            expected = "each label once, and numbers for each of them by side and by key"
            _refuse(_join(name, "groups"), expected, value["groups"])
    return read


def _number(name: str, value: Any) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or abs(value) > sys.float_info.max:
        _refuse(name, "a number of float64 or null", value)
    return float(value)


def _label(name: str, value: Any) -> Hashable:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if type(item) is not str and not (type(item) is int and -_MOST - 1 <= item <= _MOST):
            _refuse(name, "a name, an id below 2**63, or an array of them", value)
    return tuple(items) if isinstance(value, list) else items[0]


def _protocol(name: str, value: Any) -> Protocol:
    fields = get_type_hints(Protocol)
    if not isinstance(value, dict) or not value.keys() <= {*fields}:
        _refuse(name, f"an object of {', '.join(fields)}", value)
    try:
        return Protocol(**value)
    except (TypeError, ValueError) as error:
        raise InputValueError("text", f"{name}: {_cut(str(error))}") from None


_READERS: dict[Any, Callable[[str, Any], Any]] = {
    float: _number,
    Hashable: _label,
    Protocol: _protocol,
}
_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a string", lambda value: type(value) is str),
    int: ("an integer >= 0 below 2**63", lambda value: type(value) is int and 0 <= value <= _MOST),
    Seed: ("an integer >= 0", lambda value: type(value) is int and value >= 0),
}


def _join(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _cut(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _refuse(name: str, expected: str, got: object) -> NoReturn:
    where = f"{_cut(name)}: " if name else ""
    raise InputValueError("text", f"{where}expected {expected}, got {reprlib.repr(got)}")
