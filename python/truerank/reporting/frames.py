"""Tables as pandas DataFrames; pandas is imported only here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..inputs.errors import InputValueError
from ..inputs.naming import needed

LAYOUTS = ("long", "wide")


def frame(
    columns: Sequence[str],
    records: Iterable[Sequence[object]],
    kinds: Sequence[str],
    layout: str = "wide",
    variable: str = "kind",
) -> Any:
    """Make a DataFrame of records.

    Parameters
    ----------
    columns : sequence of str
        Their names, the last ones those of `kinds`.
    records : iterable of sequences
        A cell for each column.
    kinds : sequence of str
        The columns of values.
    layout : {"long", "wide"}
        "long" puts the values into one column, "value", and their column's name into another.
    variable : str
        The name of that.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        For another layout.

    Examples
    --------
    >>> frame(["metric", "realistic"], [["mr", 4.5]], ["realistic"], "long")
      metric       kind  value
    0     mr  realistic    4.5
    """
    if layout not in LAYOUTS:
        raise InputValueError("layout", expected=f"one of {', '.join(LAYOUTS)}", got=repr(layout))
    pandas = needed("pandas", "to_pandas")
    wide = pandas.DataFrame(list(records), columns=list(columns))
    wide = wide.astype(dict.fromkeys(kinds, float))
    if layout == "wide":
        return wide
    names = list(columns[: len(columns) - len(kinds)])
    # by row, so that a row's values stay together
    long = wide.melt(names, list(kinds), variable, "value", ignore_index=False)
    return long.sort_index(kind="stable").reset_index(drop=True)
