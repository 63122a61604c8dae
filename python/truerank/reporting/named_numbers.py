"""Numbers by key, and reports by group: the mappings that results are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..errors import UnknownKeyError
from ..inputs.checks import unique_keys
from ..tables import AsTable

if TYPE_CHECKING:
    from .columns import Names

R = TypeVar("R")


class Numbers(Mapping[str, float], AsTable):
    """A mapping from keys to numbers that takes a list of keys as well, and prints as a table."""

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

    def to_dict(self, metrics: Names = None) -> dict[str, float]:
        """Return the values by key, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys, which are returned as they are written here; by default those that the report
            lists.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10)).to_dict(["mrr", "optimistic.hits@1"])
        {'mrr': 0.625, 'optimistic.hits@1': 0.5}
        """
        keys = list(self) if metrics is None else unique_keys(metrics)
        return {key: self[key] for key in keys}


class Groups(Mapping[Any, R]):
    """Reports by label, as those of groups, each made by its place when it is first read."""

    def __init__(self, labels: Iterable[Hashable], make: Callable[[int], R]) -> None:
        self._labels = tuple(labels)
        self._make = make
        self._reports: dict[Hashable, R] = {}

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {label: place for place, label in enumerate(self._labels)}

    def __getitem__(self, label: Hashable) -> R:
        if label not in self._reports:
            if label not in self._places:
                known = ", ".join(map(repr, self._labels[:10])) or "none"
                more = ", ..." if len(self) > 10 else ""
                problem = f"no group of the report, which has {known}{more}"
                raise UnknownKeyError(repr(label), problem)
            self._reports[label] = self._make(self._places[label])
        return self._reports[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        return f"<groups: {', '.join(map(repr, self))}>"
