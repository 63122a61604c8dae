"""Hubness side by side: of both directions, before and after CSLS, of several models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...embeddings.vectors import CSLS
from ...inputs.checks import choice
from ...inputs.errors import InputTypeError, InputValueError
from ..ids import DIRECTIONS
from .hubs import TIMES, Hubness, hubness
from .neighbours import two_of
from .tabulated import Records, Tabulated


class HubnessTable(Mapping[str, Hubness], Tabulated):
    """Several `Hubness` by name, side by side: directions, similarities or models.

    Parameters
    ----------
    rows : mapping of str to Hubness
        All of the same k.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For none, and for unlike k.

    Examples
    --------
    >>> import numpy as np
    >>> two, three = (hubness(np.eye(3), np.eye(3)[:m], k=1) for m in (2, 3))
    >>> print(HubnessTable({"two": two, "three": three}))
           0    1  2-4  5+  isolated@1  skewness@1  robin_hood@1
    two    0  0.5  0.5   0           0           0        0.1667
    three  0    1    0   0           0         nan             0
    """

    def __init__(self, rows: Mapping[str, Hubness]) -> None:
        if not isinstance(rows, Mapping):
            raise InputTypeError("rows", expected="a mapping of names", got=type(rows).__name__)
        for name, row in rows.items():
            if not isinstance(row, Hubness):
                raise InputTypeError(
                    "rows", expected="Hubness", got=f"{type(row).__name__} for {name!r}"
                )
        if not rows:
            raise InputValueError("rows", expected="at least one Hubness", got="none")
        asked = {tuple(row.occurrences) for row in rows.values()}
        if len(asked) > 1:
            raise InputValueError(
                "rows", expected="one k for all", got=" and ".join(map(str, asked))
            )
        self._rows = dict(rows)
        (self.k,) = asked

    def __getitem__(self, name: str) -> Hubness:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"HubnessTable({', '.join(self)})"

    def records(self) -> Records:
        """Give the table: shares of how often candidates are nearest, then for each k the rest."""
        told = ("isolated", "skewness", "robin_hood")
        columns = ["", *TIMES, *(f"{name}@{k}" for k in self.k for name in told)]
        rows: list[list[object]] = []
        for name, row in self._rows.items():
            more = (getattr(row[k], word) for k in self.k for word in told)
            rows.append([name, *row.shares.values(), *more])
        return Records(columns, rows)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Give all numbers by name."""
        return {name: row.to_dict() for name, row in self._rows.items()}


def compare_hubness(
    left: Any,
    right: Any,
    *,
    csls: int | CSLS = 10,
    k: int | Sequence[int] = (1, 10),
    directions: str | Sequence[str] = DIRECTIONS,
    queries: Any = None,
    candidates: Any = None,
    similarity: str = "cosine",
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
) -> HubnessTable:
    """Give hubness before and after CSLS, in both directions, side by side.

    Parameters
    ----------
    left, right, k, candidates, similarity, nan, dtype, threads
        As in `hubness`.
    csls : int or CSLS
        How many nearest the means are of, or means made before.
    directions : str or sequence of str
        "left_to_right", "right_to_left", or both.
    queries : (left_ids, right_ids), optional
        The entities of either side that ask.

    Returns
    -------
    HubnessTable
        With a row for each direction and similarity, as "left_to_right, cosine, csls 10".

    Raises
    ------
    TypeError, ValueError, OSError
        As `hubness` does.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> vectors = 0.3 + rng.standard_normal((2, 200, 40))
    >>> table = compare_hubness(*vectors)
    >>> list(table)[:2]
    ['left_to_right, cosine', 'left_to_right, cosine, csls 10']
    >>> [round(row[1].isolated, 2) for row in table.values()]
    [0.4, 0.3, 0.4, 0.34]
    """
    if isinstance(directions, str):
        directions = (directions,)
    asked = [choice("directions", direction, DIRECTIONS) for direction in directions]
    if not asked:
        raise InputValueError("directions", expected="at least one", got="none")
    asking = dict(zip(DIRECTIONS, two_of("queries", queries), strict=True))
    given: dict[str, Any] = {"candidates": candidates, "similarity": similarity, "nan": nan}
    given |= {"dtype": dtype, "threads": threads, "k": k}
    rows = {}
    for direction in asked:
        for scaled in (None, csls):
            row = hubness(
                *(left, right),
                direction=direction,
                queries=asking[direction],
                csls=scaled,
                **given,
            )
            rows[f"{direction}, {row.measure}"] = row
    return HubnessTable(rows)
