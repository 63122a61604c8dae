"""Reports read back from JSON: the stored values without the ranks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..inference.pairing import RanksMissingError
from ..inputs.naming import printable
from ..inputs.words import suggest
from ..metrics import KINDS, Key, UnknownKeyError, parse
from ..metrics.keys import Sides
from ..tables.cells import format_count
from .any_report import AnyReport
from .audit import Findings
from .axes import Axes, metric_of
from .report_content import GroupContent, ReportContent, content_of, json_object, read_content

if TYPE_CHECKING:
    from .audit import Summary


# Attributes that only Reports of ranks have, and what JSON lacks for them.
_MISSING = {name: name for name in ("ranks", "weights", "interval", "summary")}
_MISSING["chance"] = "chance model"


class JsonReport(AnyReport):
    """A Report that knows its stored values only: it has no ranks and no other keys.

    It equals a Report of ranks in which everything that was stored has the same value.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, content: ReportContent) -> None:
        by = None if content.groups is None else content.groups.by
        sides = Sides(content.sides)
        super().__init__(sides, content.protocol, content.seed, content.weighting, by)
        self._content = content
        self._values = {parse(key): value for key, value in content.metrics.items()}
        columns = {} if content.groups is None else content.groups.metrics
        self._columns = {parse(key): column for key, column in columns.items()}

    def __getattr__(self, name: str) -> NoReturn:
        if name not in _MISSING:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise RanksMissingError(
            f"this report was read from JSON, which holds no {_MISSING[name]}; "
            "ranks.save(path) keeps the ranks"
        )

    def _value(self, key: str) -> float:
        """Return the value of a stored key; any other key is a KeyError."""
        value: float = _look_up(self._values, key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._content.metrics)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnyReport):
            return NotImplemented
        groups = self._content.groups
        try:
            same = content_of(other, self, () if groups is None else groups.metrics)
        except (KeyError, AttributeError):  # a value is missing
            return False
        return json_object(self._content) == json_object(same)

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonReport, (self._content,)

    def __repr__(self) -> str:
        shown = [f"{key} {value:.4g}" for key, value in list(self._content.metrics.items())[:3]]
        more = ["..."] if len(self) > len(shown) else []
        tasks = format_count(self._sides.total, "task")
        return printable(f"Report({tasks}, read from JSON: {', '.join(shown + more)})")

    # -- what was stored ---------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        """The numbers of tasks and ties, and how much the ties matter."""
        if self._content.summary is None:
            self.__getattr__("summary")
        return self._content.summary

    def held_summary(self) -> Summary | None:
        """Return the summary, or None for a group."""
        return self._content.summary

    def audit(self, *names: str) -> Findings:
        """The findings that were stored."""
        stored = self._content.findings
        some = [finding for finding in stored if not names or finding.name in names]
        return Findings(some, self.protocol, self._content.summary)

    @property
    def filters(self) -> Mapping[str, JsonReport]:
        """The report under each filter by name, this one first; empty if there was only one."""
        filters = self._content.filters
        if filters is None:
            return {}
        others = {name: JsonReport(content) for name, content in filters.others.items()}
        return {filters.own: self, **others}

    # -- groups ------------------------------------------------------------------------------------

    @property
    def macro_weighting(self) -> str:
        """How the groups count in macro averages, in words."""
        return self._stored_groups().macro

    @property
    def groups(self) -> Mapping[Hashable, JsonReport]:
        """The Report of each group by its label, with its stored values."""
        groups = self._content.groups
        if groups is None:
            return {}
        return {label: self._group_report(groups, i) for i, label in enumerate(groups.labels)}

    def group_tasks(self, side: str = "both") -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group."""
        groups = self._stored_groups()
        self._sides.check(side, side)
        return dict(zip(groups.labels, groups.tasks[side], strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the stored values of a key by group; any other key is a KeyError."""
        labels = self._stored_groups().labels
        return dict(zip(labels, _look_up(self._columns, key), strict=True))

    def _stored_groups(self) -> GroupContent:
        if self._content.groups is None:
            raise UnknownKeyError("groups", "this report has no groups; it was stored without")
        return self._content.groups

    def _group_report(self, groups: GroupContent, i: int) -> JsonReport:
        return JsonReport(
            self._content._replace(
                metrics={key: column[i] for key, column in groups.metrics.items()},
                sides={side: counts[i] for side, counts in groups.tasks.items()},
                summary=None,
                findings=[],
                groups=None,
                filters=None,
            )
        )

    # -- tables ------------------------------------------------------------------------------------

    def default_axes(self) -> Axes:
        """Return the sides, kinds and metrics of the stored keys."""
        # a group may have no tasks of a side whose keys were stored
        keys = {key: parsed for key in self if (parsed := parse(key)).side in self.sides}
        sides = {key.side for key in keys.values()}
        kinds = {key.kind for key in keys.values() if not key.macro}
        return Axes(
            [side for side in self.sides if side in sides],
            [kind for kind in KINDS if kind in kinds],
            list(dict.fromkeys(map(metric_of, keys))),
        )

    def tie_kinds(self) -> tuple[str, ...]:
        """Return no kinds beside the stored ones."""
        return ()

    def holds(self, key: str) -> bool:
        """Whether a key was stored."""
        return parse(key) in self._values

    def group_cells(self, key: str) -> Mapping[Hashable, float | None]:
        """The stored values of a key by group; None for each group if the key was not stored."""
        labels = self._stored_groups().labels
        return self.group_values(key) if parse(key) in self._columns else dict.fromkeys(labels)


def read_json(text: str) -> JsonReport:
    """Read what `Report.to_json` wrote.

    Examples
    --------
    >>> import truerank as tr
    >>> read_json(tr.report(tr.Ranks([0], [1], 10)).to_json(["mr"]))
    Report(1 task, read from JSON: mr 1)
    """
    return JsonReport(read_content(text))


def _look_up(values: Mapping[Key, Any], key: str) -> Any:
    parsed = parse(key)
    if parsed not in values:
        known = [str(other) for other in values]
        read = f"not among the {len(known)} keys of this report, which was read from JSON"
        raise UnknownKeyError(repr(key), f"{read}; {suggest(key, known)}")
    return values[parsed]
