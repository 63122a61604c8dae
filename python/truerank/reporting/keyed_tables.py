"""Values by key, and reports that are one table of chosen keys, in every form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

from ..tables import AsTable
from .axes import unique_keys

if TYPE_CHECKING:
    Names = str | Iterable[str] | None


class KeyedValues(Mapping[str, float]):
    """A mapping from keys to numbers, which takes a list of keys as well."""

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

    def _ipython_key_completions_(self) -> list[str]:
        """List the keys that IPython and notebooks complete within brackets."""
        return list(self)


class KeyedTables(KeyedValues, AsTable):
    """Values by key that are printed and saved as a table."""
