"""The audit of a split: what it repeats, and what other splits have already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError, spelled
from .row_keys import look_up, row_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    Mask = npt.NDArray[np.bool_]

RULES = ("keep", "drop", "raise")
SHOWN = 3  # examples


@dataclass(frozen=True)
class Finding:
    """How many there are of something, and the first few: labels, or ids where there are none.

    Attributes
    ----------
    count : int
    examples : tuple
        The first ones, each once: triples and pairs as tuples of labels (ids where there are none),
        of entities and relations the labels.
    """

    count: int
    examples: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if not self.count:
            return "none"
        shown = ", ".join(map(_said, self.examples))
        return f"{self.count:,} ({shown}{', ...' if self.count > len(self.examples) else ''})"


@dataclass(frozen=True)
class SplitAudit:
    """What is worth knowing about a split before its numbers are believed.

    Attributes
    ----------
    split : str
        The name of the evaluated split.
    given, kept : int
        How many of its rows were given, and are ranked.
    known : dict of str to int
        How many rows each known split has.
    duplicates : Finding
        Rows of the evaluated split that repeat an earlier one.
    leaks : dict of str to Finding
        Rows of the evaluated split that a known split has too, by split.
    leaked : int
        How many rows leak at all; one may be in several splits.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates" and "leaks".
    """

    split: str
    given: int
    kept: int
    known: dict[str, int]
    duplicates: Finding
    leaks: dict[str, Finding]
    leaked: int
    rules: dict[str, str]

    rows: ClassVar[str] = "rows"

    def __str__(self) -> str:
        known = ", ".join(f"{name} {count:,}" for name, count in self.known.items())
        of_split = f"{self.split}: {self.given:,} {self.rows}, {self.kept:,} ranked"
        leaks = "; ".join(f"in {name} {found}" for name, found in self.leaks.items() if found.count)
        return "\n".join(
            [
                f"{of_split}; known: {known or 'none'}",
                f"duplicates: {self.duplicates}{self._done('duplicates', self.duplicates.count)}",
                f"leaks: {leaks or 'none'}{self._done('leaks', self.leaked)}",
            ]
        )

    def _done(self, what: str, count: int) -> str:
        return f", {'dropped' if self.rules[what] == 'drop' else 'kept'}" if count else ""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dicts, lists, numbers and str."""
        return {
            **{name: getattr(self, name) for name in ("split", "given", "kept", "leaked")},
            "known": dict(self.known),
            "rules": dict(self.rules),
            "leaks": {name: found_as_dict(found) for name, found in self.leaks.items()},
            "duplicates": found_as_dict(self.duplicates),
        }


class Doubts(NamedTuple):
    """Which rows of an evaluated split are doubtful.

    Attributes
    ----------
    which : ndarray of int64, shape (n,)
        A number for each row, the same for rows that are the same.
    duplicates, leaks : ndarray of bool, shape (n,)
        Rows that repeat an earlier one, and those that a known split has.
    in_split : dict of str to ndarray of bool
        The leaks by split.
    """

    which: IntArray
    duplicates: Mask
    leaks: Mask
    in_split: dict[str, Mask]

    def find(self, mask: Mask, show: Callable[[int], Any]) -> Finding:
        """Count some rows, and show the first few, each once."""
        where = np.flatnonzero(mask)
        first = np.sort(np.unique(self.which[where], return_index=True)[1])[:SHOWN]
        return Finding(int(np.count_nonzero(mask)), tuple(show(i) for i in where[first].tolist()))

    def findings(self, show: Callable[[int], Any]) -> dict[str, Any]:
        """Give what an audit says of repeats and leaks, by field."""
        return {
            "duplicates": self.find(self.duplicates, show),
            "leaks": {name: self.find(mask, show) for name, mask in self.in_split.items()},
            "leaked": int(np.count_nonzero(self.leaks)),
        }


def doubts_of(columns: Sequence[IntArray], sizes: Mapping[str, int]) -> Doubts:
    """Look for repeats and leaks.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        What must be equal for two rows to be the same.
    sizes : mapping of str to int
        How many rows each split has; the evaluated one comes first.

    Returns
    -------
    Doubts

    Examples
    --------
    >>> left, right = np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])
    >>> doubts = doubts_of([left, right], {"test": 3, "train": 1})
    >>> doubts.duplicates.tolist(), doubts.leaks.tolist()
    ([False, False, True], [False, True, False])
    """
    given, *others = sizes.values()
    every = row_keys(columns)
    ordered, first, which = np.unique(every[:given], return_index=True, return_inverse=True)
    which = which.reshape(-1)
    in_split: dict[str, Mask] = {}
    start = given
    for name, size in zip(list(sizes)[1:], others, strict=True):
        _, hit = look_up(ordered, every[start : start + size])
        there = np.zeros(len(ordered), dtype=bool)
        there[hit] = True
        in_split[name] = there[which]
        start += size
    leaks = np.logical_or.reduce([*in_split.values(), np.zeros(given, dtype=bool)])
    return Doubts(which, first[which] != np.arange(given), leaks, in_split)


class Case(NamedTuple):
    """Something that rows of an evaluated split may be.

    Attributes
    ----------
    mask : ndarray of bool, shape (n,)
        Which of them are.
    said : str
        What is said of them: "repeat an earlier one".
    noted : bool
        Whether those that are kept make a note.
    """

    mask: Mask
    said: str
    noted: bool = True


def usual_cases(doubts: Doubts) -> dict[str, Case]:
    """Give the cases that every protocol has."""
    return {
        "duplicates": Case(doubts.duplicates, "repeat an earlier one"),
        "leaks": Case(doubts.leaks, "are in a known split, too"),
    }


class Sifted(NamedTuple):
    """Which rows of an evaluated split stay, and what must be said of them."""

    kept: IntArray
    notes: tuple[str, ...]


def sift(
    split: str,
    what: str,
    cases: Mapping[str, Case],
    rules: Mapping[str, str],
    find: Callable[[Mask], Finding],
) -> Sifted:
    """Keep, drop or refuse the rows of each case.

    Parameters
    ----------
    split : str
        The name of the evaluated split.
    what : str
        Its rows, in a word: "triples".
    cases : mapping of str to Case
        By the name of the rule.
    rules : mapping of str to {"keep", "drop", "raise"}
    find : callable
        Counts the rows of a mask, with examples.

    Returns
    -------
    Sifted

    Raises
    ------
    ValueError
        Where a rule says so, and where nothing is left.
    """
    dropped: Mask | None = None
    notes = []
    for name, case in cases.items():
        dropped = np.zeros(len(case.mask), dtype=bool) if dropped is None else dropped
        if not case.mask.any():
            continue
        said = f"{find(case.mask)} {what} {case.said}"
        if rules[name] == "raise":
            raise InputValueError(split, said)
        if rules[name] == "drop":
            dropped |= case.mask
        elif case.noted:
            drop = spelled(name, "drop")
            notes.append(
                f"{split}: {said}; they are ranked like the others ({drop} leaves them out)"
            )
    given = 0 if dropped is None else len(dropped)
    kept = np.flatnonzero(~dropped) if dropped is not None else np.zeros(0, dtype=np.int64)
    if not len(kept):
        raise InputValueError(split, f"nothing is left, all {given} {what} were dropped")
    return Sifted(kept, tuple(notes))


def found_as_dict(found: Finding | None) -> dict[str, Any] | None:
    """Give a finding as plain dicts, lists, numbers and str."""
    if found is None:
        return None
    listed = [list(each) if isinstance(each, tuple) else each for each in found.examples]
    return {"count": found.count, "examples": listed}


def _said(example: Any) -> str:
    return " ".join(map(str, example)) if isinstance(example, tuple) else str(example)
