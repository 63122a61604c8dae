"""Reports: every metric of some ranks by its key, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .metrics import ADJUSTMENTS, KINDS, Key, Sample, UnknownKeyError, compute, parse
from .metrics.keys import ALL_SIDES, OWN_SIDE, RESERVED, nearest
from .metrics.kinds import DEFAULT_KIND
from .ranks import Ranks
from .summary import Summary, summarise

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_METRICS = (
    *("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10"),
    *("hmr", "gmr", "median", "amr", "amri"),
)
DEFAULT_KINDS = ("optimistic", "realistic", "pessimistic")


class Report(Mapping[str, float]):
    """The metrics of ranks, computed when they are asked for.

    `report[key]` reads any key `[side.][kind.][adjustment.]metric[@k]`. As a mapping it runs over
    the default keys: the usual metrics of every side that has tasks and of the three kinds that do
    not depend on a seed.

    Without a side, and under "both", all tasks are pooled; those of the side "relation" are read
    only under its own name, for they rank few candidates. A metric of no tasks is nan.

    Parameters
    ----------
    ranks : Ranks
    seed : int
        For the kind "random". All tasks are drawn at once, so that the sides agree with the whole.

    Attributes
    ----------
    ranks : Ranks
    seed : int
    sides : tuple of str
        "both" and the named sides, as far as they have tasks ("both" alone where there are none).

    Raises
    ------
    TypeError
        If `ranks` is something else, or its sides are ids instead of names.
    ValueError
        If a side has a name that a key cannot tell from its other words.

    Examples
    --------
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]))
    >>> measured["mrr"], measured["tail.optimistic.hits@4"]
    (0.6111111111111112, 1.0)
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ranks: Ranks, *, seed: int = 0) -> None:
        if not isinstance(ranks, Ranks):
            raise TypeError(f"ranks: expected Ranks, got {type(ranks).__name__}")
        self._ranks = ranks
        self._seed = _checked_seed(seed)
        self._counts = _count_sides(ranks)
        self._values: dict[Key, float] = {}
        self._last: tuple[str, str, Sample] | None = None
        self._summary: Summary | None = None

    @property
    def ranks(self) -> Ranks:
        """The ranks that were measured."""
        return self._ranks

    @property
    def seed(self) -> int:
        """The seed of the kind "random"."""
        return self._seed

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks, "both" (all of them pooled) first.

        Examples
        --------
        >>> report(Ranks([0], [1], 10, side="tail")).sides
        ('both', 'tail')
        """
        return tuple(side for side, n in self._counts.items() if n) or (ALL_SIDES,)

    def tasks(self, side: str = ALL_SIDES) -> int:
        """How many tasks a side has.

        Examples
        --------
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._check_side(side, side)
        return self._counts[side]

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

    def __getitem__(self, key: str) -> float:
        """The value of a key, as a float; KeyError for an unknown one, with the nearest names."""
        parsed = parse(key)
        if parsed not in self._values:
            self._check_side(parsed.side, key)
            self._values[parsed] = compute(parsed, self._sample(parsed.side, parsed.kind))
        return self._values[parsed]

    def __iter__(self) -> Iterator[str]:
        return iter(_expand(self.sides, DEFAULT_KINDS, DEFAULT_METRICS))

    def __len__(self) -> int:
        return len(self.sides) * len(DEFAULT_KINDS) * len(DEFAULT_METRICS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self._seed == other._seed and self._ranks == other._ranks

    def __repr__(self) -> str:
        side = self.sides[0]
        prefix = "" if side == ALL_SIDES else f"{side}."
        shown = [f"{name} {self[prefix + name]:.4g}" for name in ("mrr", "hits@10", "amri")]
        tied = f"{self.summary.tied_tasks:,} tied"
        return f"Report({len(self._ranks):,} tasks, {tied}, {prefix}{', '.join(shown)})"

    def to_dict(self, metrics: Iterable[str] | None = None) -> dict[str, float]:
        """Give the values by key, flat, as loggers want them.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys, which stay as they are written; the default keys if not given.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> report(Ranks([0, 3], [1, 1], 10)).to_dict(["mrr", "optimistic.hits@1"])
        {'mrr': 0.625, 'optimistic.hits@1': 0.5}
        """
        return {key: self[key] for key in _keys(self if metrics is None else metrics)}

    def to_json(self, metrics: Iterable[str] | None = None, *, indent: int | None = 2) -> str:
        """Give values, summary and protocol as a JSON object; nan becomes null.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys; the default keys if not given.
        indent : int, optional
            Spaces for each level; None for one line.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import json
        >>> json.loads(report(Ranks([0], [1], 10)).to_json(["mrr"]))["metrics"]
        {'mrr': 1.0}
        """
        from .rendering import json_text

        return json_text(self, metrics, indent)

    def to_csv(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
    ) -> str:
        """Give a table with a header: side, tasks, metric, and one column for each kind of rank.

        Numbers have all their digits. The parameters are those of `to_markdown`.

        Examples
        --------
        >>> print(report(Ranks([0], [1], 10)).to_csv(["mrr"], kinds=["realistic"]), end="")
        side,tasks,metric,realistic
        both,1,mrr,1.0
        """
        from .rendering import csv_text

        return csv_text(self, *self._axes(metrics, sides, kinds))

    def to_markdown(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        digits: int = 6,
    ) -> str:
        """Give a Markdown table for each side, after lines that tell tasks, protocol and ties.

        Parameters
        ----------
        metrics : iterable of str, optional
            The rows: `[adjustment.]metric[@k]`, without side and kind.
        sides : iterable of str, optional
            The tables; all that have tasks if not given.
        kinds : iterable of str, optional
            The columns; optimistic, realistic and pessimistic if not given.
        digits : int
            Significant digits.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For a metric that names a side or kind of its own.

        Examples
        --------
        >>> print(report(Ranks([0, 3], [1, 2], 10)).to_markdown(["mr", "mrr"]))
        2 tasks, 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        1 of 2 tasks tie (50 %): 2 candidates at most, 2 on average. Optimistic minus pessimistic: mr -0.5, mrr 0.025, hits@1 0, hits@10 0.
        <BLANKLINE>
        | both (2 tasks) | optimistic | realistic | pessimistic |
        | :--- | ---: | ---: | ---: |
        | mr | 2.5 | 2.75 | 3 |
        | mrr | 0.625 | 0.611111 | 0.6 |
        <BLANKLINE>
        """  # noqa: E501
        from .rendering import markdown_text

        return markdown_text(self, *self._axes(metrics, sides, kinds), digits)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _axes(
        self,
        metrics: Iterable[str] | None,
        sides: Iterable[str] | None,
        kinds: Iterable[str] | None,
    ) -> tuple[list[str], list[str], list[str]]:
        """The sides, kinds and metrics of a table, checked."""
        rows = _keys(DEFAULT_METRICS if metrics is None else metrics)
        tables = _keys(self.sides if sides is None else sides, "sides")
        columns = _keys(DEFAULT_KINDS if kinds is None else kinds, "kinds")
        for row in rows:
            parsed = parse(row)
            if (parsed.side, parsed.kind) != (ALL_SIDES, DEFAULT_KIND):
                raise ValueError(
                    f"metrics: expected [adjustment.]metric[@k] as a row of a table, got {row!r}"
                )
        for side in tables:
            self._check_side(side, side)
        for kind in columns:
            if kind not in KINDS:
                raise UnknownKeyError(f"{kind!r}: no such kind of rank; {nearest(kind, KINDS)}")
        return tables, columns, rows

    def _check_side(self, side: str, key: str) -> None:
        if side in self._counts:
            return
        if side == ALL_SIDES:
            raise UnknownKeyError(
                f"{key!r}: all tasks are of the side {OWN_SIDE!r}, which is read only under "
                f"its own name, as in '{OWN_SIDE}.mrr'"
            )
        words = (*self._counts, *KINDS, *ADJUSTMENTS)
        raise UnknownKeyError(
            f"{key!r}: no side {side!r} in these ranks, which have {', '.join(self._counts)}; "
            f"{nearest(side, words)}"
        )

    def _sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last are kept, since keys come in that order."""
        last = self._last
        if last is None or last[:2] != (side, kind):
            ranks = self._ranks
            values = KINDS[kind](ranks, self._seed).astype(np.float64, copy=False)
            sample = Sample(values, ranks.candidates, ranks.weights)
            mask = self._mask(side)
            if mask is not None:
                weights = None if ranks.weights is None else ranks.weights[mask]
                sample = Sample(values[mask], ranks.candidates[mask], weights)
            last = self._last = side, kind, sample
        return last[2]

    def _mask(self, side: str) -> npt.NDArray[np.bool_] | None:
        """Which tasks belong to a side; None: all."""
        labels = self._ranks.side
        if labels is None or labels.vocabulary is None:
            return None
        words = labels.vocabulary
        if side != ALL_SIDES:
            return np.equal(labels.codes, words.index(side))
        return np.not_equal(labels.codes, words.index(OWN_SIDE)) if OWN_SIDE in words else None


def report(ranks: Ranks, *, seed: int = 0) -> Report:
    """Give the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks
    seed : int
        For the kind "random".

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is no int.
    ValueError
        If a side has a name that a key cannot tell from its other words, or the seed is negative.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    """
    return Report(ranks, seed=seed)


def _checked_seed(seed: object) -> int:
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
        raise TypeError(f"seed: expected an integer >= 0, got {type(seed).__name__}")
    if seed < 0:
        raise ValueError(f"seed: expected an integer >= 0, got {seed}")
    return int(seed)


def _count_sides(ranks: Ranks) -> dict[str, int]:
    """The number of tasks by side, "both" first; without it where no task may be pooled."""
    if ranks.side is None or (ranks.side.vocabulary is None and not len(ranks)):
        return {ALL_SIDES: len(ranks)}
    counts = {name: n for name, n in ranks.side.counts().items() if isinstance(name, str)}
    if len(counts) < len(ranks.side.vocabulary or " "):
        raise TypeError("ranks: expected names of sides, as 'head' and 'tail', got integer ids")
    for name in counts:
        if not name or "." in name or ":" in name or name == ALL_SIDES or name in RESERVED:
            raise ValueError(
                f"ranks: a key cannot tell the side {name!r} from its other words; name it "
                "otherwise with ranks.with_labels(side=...)"
            )
    pooled = len(ranks) - counts.get(OWN_SIDE, 0)
    return counts if len(ranks) and not pooled else {ALL_SIDES: pooled, **counts}


def _keys(keys: Iterable[str], name: str = "metrics") -> list[str]:
    if isinstance(keys, str):
        raise TypeError(f"{name}: expected several keys, got the str {keys!r}")
    return list(keys)


def _expand(sides: Sequence[str], kinds: Sequence[str], metrics: Sequence[str]) -> Iterator[str]:
    for side in sides:
        for kind in kinds:
            words = [w for w in (side, kind) if w not in (ALL_SIDES, DEFAULT_KIND)]
            yield from (".".join([*words, metric]) for metric in metrics)
