"""What others do with misses: targets that are not in the list of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import positive_integer, several
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import public
from ..metrics.keys import table_name
from ..ranks.container import Ranks
from ..tables import Column, Table
from .presets import read_rows
from .results import Numbers

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray


class MissRule(NamedTuple):
    """What a miss adds to the mean rank, and to the mean reciprocal rank (as the rank of a hit)."""

    rank: Callable[[Ranks], FloatArray]
    reciprocal_of: Callable[[Ranks], FloatArray]
    description: str


def _number(ranks: Ranks) -> FloatArray:
    return ranks.candidates.astype(np.float64)


def _infinite(ranks: Ranks) -> FloatArray:
    return np.full(len(ranks), np.inf)


def _unknown(ranks: Ranks) -> FloatArray:
    return np.full(len(ranks), np.nan)


def _next(ranks: Ranks) -> FloatArray:
    return ranks.optimistic.astype(np.float64)


def _middle(ranks: Ranks) -> FloatArray:
    return ranks.realistic


MISSES = {
    "zero": MissRule(
        _number,
        _infinite,
        "a miss adds 0 to mrr and hits@k, and the number of candidates to mr",
    ),
    "no rank": MissRule(_unknown, _infinite, "a miss adds 0 to mrr and hits@k; there is no mr"),
    "middle": MissRule(_middle, _middle, "a miss has the middle of the places that are not listed"),
    "next": MissRule(_next, _next, "a miss has the place after its list, k + 1"),
}


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class ListPreset:
    """How misses are counted.

    Attributes
    ----------
    name : str
        Its name here.
    toolkits : str
        Who counts so.
    source : tuple of str
        Repository, file and functions that do.
    misses : {"zero", "no rank", "middle", "next"}
        What a miss adds.
    cut : int, optional
        A target behind this place counts as a miss.
    notes : tuple of str
        Further facts that help to read its numbers.

    Examples
    --------
    >>> LIST_PRESETS["pyclause"].cut
    100
    """

    name: str
    toolkits: str
    source: tuple[str, ...] = ()
    misses: str = "zero"
    cut: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.misses not in MISSES:
            expected = f"one of {', '.join(map(repr, MISSES))}"
            raise InputValueError("misses", expected=expected, got=repr(self.misses))
        if self.cut is not None:
            positive_integer("cut", self.cut)

    def says(self) -> str:
        """Describe what is done with a miss, in words.

        Examples
        --------
        >>> LIST_PRESETS["k + 1"].says()
        'a miss has the place after its list, k + 1'
        """
        cut = "" if self.cut is None else f"; places behind {self.cut} are misses"
        return MISSES[self.misses].description + cut


LIST_PRESETS: Mapping[str, ListPreset] = MappingProxyType(
    {name: ListPreset(name=name, **row) for name, row in read_rows("lists").items()}
)


@public("truerank.compat")
def report_lists(
    ranks: Ranks, *, preset: str | ListPreset, ks: Sequence[int] = (1, 3, 10)
) -> dict[str, float]:
    """Average ranks from lists as others do, with one number for every miss.

    The exact bounds are the optimistic and pessimistic values of `report`. A tie among the listed
    has its middle, because the toolkits leave its order open; lists in order alone have none.

    Parameters
    ----------
    ranks : Ranks
        From lists, as `rank_lists` makes them.
    preset : str or ListPreset
        A row of `LIST_PRESETS`, or one of your own.
    ks : sequence of int
        The k of each hits@k.

    Returns
    -------
    dict of str to float
        "mr" (NaN where there is none), "mrr" and "hits@k"; NaN without tasks.

    Raises
    ------
    KeyError
        For an unknown preset.
    TypeError, ValueError
        For ranks that are not from lists, and a k below 1.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7], [4, 7]], None, [7, 2], candidates=10)
    >>> report_lists(ranks, preset="zero", ks=[3])
    {'mr': 6.0, 'mrr': 0.25, 'hits@3': 0.5}
    >>> report_lists(ranks, preset="k + 1", ks=[3])["mrr"]
    0.41666666666666663
    """
    row = _look_up(preset)
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
    if ranks.listed is None:
        raise InputValueError("ranks", expected="ranks from lists", got="others")
    rule, found = MISSES[row.misses], ranks.realistic
    is_hit = ranks.listed if row.cut is None else ranks.listed & (found <= row.cut)
    places = np.where(is_hit, found, rule.reciprocal_of(ranks))
    values = {
        "mr": np.where(is_hit, found, rule.rank(ranks)),
        "mrr": 1 / places,
        **{f"hits@{k}": places <= k for k in (positive_integer("ks", k) for k in ks)},
    }
    if not len(ranks):
        return dict.fromkeys(values, float("nan"))
    return {key: float(np.average(value, weights=ranks.weights)) for key, value in values.items()}


@public("truerank.compat")
class ListTable(Numbers[dict[str, float]]):
    """The numbers of lists by preset, as `table_lists` makes them: `table["zero"]["mrr"]`.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7], [4, 7]], None, [7, 2], candidates=10)
    >>> print(table_lists(ranks, presets=["zero", "k + 1"], ks=[3]).to_markdown(digits=2))
    | preset | MR ↓ | MRR ↑ | Hits@3 ↑ |
    | :--- | ---: | ---: | ---: |
    | zero | 6 | 0.25 | 0.5 |
    | k + 1 | 2.5 | 0.417 | 1 |
    """

    index = "preset"

    def __repr__(self) -> str:
        return f"ListTable({', '.join(self)})"

    def table(self, metrics: Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each preset."""
        rows = [[name, *values.values()] for name, values in self.items()]
        keys = dict.fromkeys(key for values in self.values() for key in values)
        table = Table([self.index, *(Column(key, table_name(key)) for key in keys)], rows)
        return table.table(metrics, **options)


@public("truerank.compat")
def table_lists(
    ranks: Ranks,
    *,
    presets: Iterable[str | ListPreset] | None = None,
    ks: Sequence[int] = (1, 3, 10),
) -> ListTable:
    """Show the numbers of several presets for the same ranks from lists.

    Parameters
    ----------
    ranks, ks
        As in `report_lists`.
    presets : iterable of str or ListPreset, optional
        Default: all of `LIST_PRESETS`.

    Returns
    -------
    ListTable
        By the name of the preset, what `report_lists` returns.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7]], None, [2], candidates=10)
    >>> {name: found["mr"] for name, found in table_lists(ranks).items()}
    {'zero': 10.0, 'pyclause': nan, 'middle': 6.5, 'k + 1': 3.0}
    """
    names = LIST_PRESETS if presets is None else several("presets", presets, "names or ListPresets")
    rows = [_look_up(name) for name in names]
    return ListTable({row.name: report_lists(ranks, preset=row, ks=ks) for row in rows})


def _look_up(name: object) -> ListPreset:
    if isinstance(name, ListPreset):
        return name
    if not isinstance(name, str):
        raise InputTypeError("preset", "", "a name or a ListPreset", type(name).__name__)
    if name not in LIST_PRESETS:
        raise UnknownKeyError("preset", "", f"one of {', '.join(LIST_PRESETS)}", repr(name))
    return LIST_PRESETS[name]
