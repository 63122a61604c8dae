"""The axes of a report's tables: sides, kinds of rank and metrics, and the keys made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, overload

from ..inputs.checks import several
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.words import suggest
from ..metrics import KINDS, Key, UnknownKeyError, parse
from ..metrics.keys import ADJUSTED, ALL_SIDES, RELATION_SIDE, Sides
from ..metrics.kinds import DEFAULT_KIND
from ..tables import AsTable

DEFAULT_METRICS = (
    *("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10"),
    *("hmr", "gmr", "median", "amr", "amri", "amrr", "ah@10", "zmrr"),
)
DEFAULT_KINDS = ("optimistic", "realistic", "pessimistic")

SHORT_METRICS = ("mrr", "hits@10", "amri")  # what a repr shows
FEW_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")  # what tables show by default
ALL_METRICS = "all"

Names = str | Iterable[str] | None


class Axes(NamedTuple):
    """The sides, kinds and metrics of a table.

    Attributes
    ----------
    sides, kinds : sequence of str
    metrics : sequence of str
        `[adjustment.]metric[@k][:p]` each.
    """

    sides: Sequence[str]
    kinds: Sequence[str]
    metrics: Sequence[str]


def compose_key(side: str, kind: str, metric: str) -> str:
    """Join side, kind and metric to a key, without defaults.

    Examples
    --------
    >>> compose_key("tail", "realistic", "amri")
    'tail.amri'
    """
    words = [word for word in (side, kind) if word not in (ALL_SIDES, DEFAULT_KIND)]
    return ".".join([*words, metric])


def metric_of(key: str) -> str:
    """Return the [adjustment.]metric[@k][:p] of a key, as it is written there.

    Examples
    --------
    >>> metric_of("tail.expected.index.power_mean:0.5")
    'index.power_mean:0.5'
    """
    before, colon, power = key.partition(":")
    words = before.split(".")
    adjusted = len(words) > 1 and words[-2] in ADJUSTED
    return ".".join(words[-2:] if adjusted else words[-1:]) + colon + power


def column_of(key: Key) -> Key:
    """Return the key of the column that a key is in: without its side, kind and average.

    Examples
    --------
    >>> str(column_of(parse("macro.tail.expected.amri")))
    'index.mr'
    """
    return key._replace(side=ALL_SIDES, kind=DEFAULT_KIND, macro=False)


def unique_keys(keys: Iterable[str], name: str = "metrics") -> list[str]:
    """List keys, each of them once; a single str is one of them, what is no str a TypeError.

    Examples
    --------
    >>> unique_keys(("mr", "mrr", "mr")), unique_keys("mr")
    (['mr', 'mrr'], ['mr'])
    """
    listed = [keys] if isinstance(keys, str) else several(name, keys, "keys")
    for key in listed:
        if not isinstance(key, str):
            raise InputTypeError(name, expected="keys", got=f"{type(key).__name__} among them")
    return list(dict.fromkeys(listed))


def choose_metrics(metrics: Names, few: Iterable[str], every: Sequence[str]) -> list[str]:
    """List the metrics of a table: those that were asked for, "all", or a few if they are there.

    Examples
    --------
    >>> choose_metrics(None, ["mr"], ["mr", "mrr"]), choose_metrics("mrr", ["mr"], ["mr", "mrr"])
    (['mr'], ['mrr'])
    """
    if metrics is None:
        return list(few if set(few) <= set(every) else every)
    is_all = isinstance(metrics, str) and metrics == ALL_METRICS
    return list(every) if is_all else unique_keys(metrics)


def choose_axes(default: Axes, present: Sides, metrics: Names, sides: Names, kinds: Names) -> Axes:
    """Check the axes of a table, or choose them from those that are there by default.

    Raises
    ------
    KeyError
        For an unknown metric, side or kind.
    ValueError
        For a metric that names a side or kind, or is a macro average.

    Examples
    --------
    >>> default = Axes(["both", "tail"], ["realistic"], ["mr", "mrr"])
    >>> choose_axes(default, Sides({"both": 3, "tail": 3}), "mr", None, None)
    Axes(sides=['tail'], kinds=['realistic'], metrics=['mr'])
    """
    if sides is None:
        named = [side for side in default.sides if side not in (ALL_SIDES, RELATION_SIDE)]
        alone = len(named) == 1 and present.counts[named[0]] == present.counts[default.sides[0]]
        sides = [side for side in default.sides if not (alone and side == ALL_SIDES)]
    axes = Axes(
        unique_keys(sides, "sides"),
        unique_keys(default.kinds if kinds is None else kinds, "kinds"),
        choose_metrics(metrics, FEW_METRICS, default.metrics),
    )
    for name in axes.metrics:
        if parse(name) != column_of(parse(name)):
            expected = "[adjustment.]metric[@k] as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
    for side in axes.sides:
        present.check(side, side)
    for kind in axes.kinds:
        if kind not in KINDS:
            raise UnknownKeyError(repr(kind), f"no such kind of rank; {suggest(kind, KINDS)}")
    return axes


class KeyedValues(Mapping[str, float], AsTable):
    """A mapping from keys to numbers that takes a list of keys as well, and prints as a table.

    Attributes
    ----------
    few, usual : sequence of str
        The metrics of tables by default, and those that are listed.
    read_key : callable
        What reads a key of this kind of report; an unknown one is a KeyError.
    """

    few: Sequence[str] = FEW_METRICS
    usual: Sequence[str] = DEFAULT_METRICS
    read_key: Callable[[str], Key] = staticmethod(parse)

    @overload
    def __getitem__(self, key: str, /) -> float: ...

    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...], /) -> dict[str, float]: ...

    def __getitem__(self, key: str | list[str] | tuple[str, ...], /) -> float | dict[str, float]:
        """Return the value of a key, or of several as a dictionary; an unknown one is a KeyError.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10))[["mrr", "hits@1"]]
        {'mrr': 0.625, 'hits@1': 0.5}
        """
        if isinstance(key, (list, tuple)):
            return {name: self._value(name) for name in unique_keys(key, "key")}
        return self._value(key)

    @abstractmethod
    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _ipython_key_completions_(self) -> list[str]:
        """List the keys that IPython and notebooks complete within brackets."""
        return list(self)
