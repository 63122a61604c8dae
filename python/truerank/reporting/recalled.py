"""Reports read back from JSON: the stored values, without the ranks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..comparison.paired import RanksNotKept
from ..comparison.table_writer import counted
from ..metrics import KINDS, Key, UnknownKeyError, parse
from ..metrics.keys import nearest
from ..metrics.sides import Sides
from .axes import Axes, metric_of
from .report_forms import AnyReport
from .stored import Stored, StoredGroups, as_json, read, stored_of

if TYPE_CHECKING:
    from .summary import Summary
    from .validity import Finding


# what Reports of ranks have beside this, and what JSON lacks for it
_LOST = {name: name for name in ("ranks", "weights", "interval", "summary")}
_LOST["chance"] = "chance model"


class RecalledReport(AnyReport):
    """A Report that knows what was stored of it: no ranks, and no other key.

    It equals a Report of ranks that says the same about all that was stored.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, stored: Stored) -> None:
        by = None if stored.groups is None else stored.groups.by
        sides = Sides(stored.sides)
        super().__init__(sides, stored.protocol, stored.seed, stored.weighting, by)
        self._stored = stored
        self._by_key = {parse(key): value for key, value in stored.metrics.items()}

    def __getattr__(self, name: str) -> NoReturn:
        if name not in _LOST:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise RanksNotKept(
            f"this report was read from JSON, which holds no {_LOST[name]}; ranks.save(path) keeps "
            "the ranks"
        )

    def __getitem__(self, key: str) -> float:
        """The value of a stored key; KeyError for any other."""
        value: float = _held(self._by_key, key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored.metrics)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnyReport):
            return NotImplemented
        groups = self._stored.groups
        try:
            same = stored_of(other, self, () if groups is None else groups.metrics)
        except (KeyError, AttributeError):  # it has no such value
            return False
        return as_json(self._stored) == as_json(same)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecalledReport, (self._stored,)

    def __repr__(self) -> str:
        shown = [f"{key} {value:.4g}" for key, value in list(self._stored.metrics.items())[:3]]
        more = ["..."] if len(self) > len(shown) else []
        tasks = counted(self._sides.total, "task")
        return f"Report({tasks}, read from JSON: {', '.join(shown + more)})"

    # -- what was stored ---------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        """How many tasks there are, how many of them tie, and how far that matters."""
        if self._stored.summary is None:
            self.__getattr__("summary")
        return self._stored.summary

    def held_summary(self) -> Summary | None:
        """The summary; None for a group."""
        return self._stored.summary

    def audit(self) -> list[Finding]:
        """What made the numbers suspect when they were stored."""
        return list(self._stored.findings)

    # -- groups ------------------------------------------------------------------------------------

    @property
    def macro_weighting(self) -> str:
        """What the groups count in macro averages, in words."""
        return self._given().macro

    @property
    def groups(self) -> Mapping[Hashable, RecalledReport]:
        """The Report of each group by its label, as far as it was stored."""
        groups = self._stored.groups
        if groups is None:
            return {}
        return {label: self._recalled(groups, i) for i, label in enumerate(groups.labels)}

    def group_tasks(self, side: str = "both") -> dict[Hashable, int]:
        """How many tasks of a side each group has."""
        groups = self._given()
        self._sides.check(side, side)
        return dict(zip(groups.labels, groups.tasks[side], strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """The stored values of a key by group; KeyError for a key that was not stored."""
        groups = self._given()
        columns = {parse(name): column for name, column in groups.metrics.items()}
        return dict(zip(groups.labels, _held(columns, key), strict=True))

    def _given(self) -> StoredGroups:
        if self._stored.groups is None:
            raise UnknownKeyError("this report has no groups; it was stored without")
        return self._stored.groups

    def _recalled(self, groups: StoredGroups, i: int) -> RecalledReport:
        return RecalledReport(
            self._stored._replace(
                metrics={key: column[i] for key, column in groups.metrics.items()},
                sides={side: counts[i] for side, counts in groups.tasks.items()},
                summary=None,
                findings=[],
                groups=None,
            )
        )

    # -- tables ------------------------------------------------------------------------------------

    def default_axes(self) -> Axes:
        """The sides, kinds and metrics among the stored keys."""
        keys = {key: parse(key) for key in self}
        sides = {key.side for key in keys.values()}
        kinds = {key.kind for key in keys.values() if not key.macro}
        return Axes(
            [side for side in self.sides if side in sides],
            [kind for kind in KINDS if kind in kinds],
            list(dict.fromkeys(map(metric_of, keys))),
        )

    def tie_kinds(self) -> tuple[str, ...]:
        """None but the stored ones."""
        return ()

    def holds(self, key: str) -> bool:
        """Whether a key was stored."""
        return parse(key) in self._by_key

    def group_cells(self, key: str) -> Mapping[Hashable, float | None]:
        """The stored values by group; None where there are none."""
        if parse(key) in map(parse, self._given().metrics):
            return self.group_values(key)
        return dict.fromkeys(self._given().labels)


def read_json(text: str) -> RecalledReport:
    """Read what `Report.to_json` wrote.

    Examples
    --------
    >>> import truerank as tr
    >>> read_json(tr.report(tr.Ranks([0], [1], 10)).to_json(["mr"]))
    Report(1 task, read from JSON: mr 1)
    """
    return RecalledReport(read(text))


def _held(values: Mapping[Key, Any], key: str) -> Any:
    parsed = parse(key)
    if parsed not in values:
        known = [str(other) for other in values]
        raise UnknownKeyError(
            f"{key!r}: not among the {len(known)} keys of this report, which was read from JSON; "
            f"{nearest(key, known)}"
        )
    return values[parsed]
