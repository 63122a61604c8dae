"""The audit of a split: what it repeats, what other splits have already, and what is done then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ..inputs.checks import choice
from ..inputs.errors import InputValueError, spelled
from ..inputs.naming import public
from .row_keys import look_up, row_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    Mask = npt.NDArray[np.bool_]

A = TypeVar("A", bound="SplitAudit")

RULES = ("keep", "drop", "raise")
SHOWN = 3  # examples


@public("truerank.link_prediction")
@dataclass(frozen=True)
class SplitFinding:
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

    The audits of the protocols say what each field is of theirs.
    """

    split: str
    given: int
    kept: int
    known: dict[str, int]
    duplicates: SplitFinding
    leaks: dict[str, SplitFinding]
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

    def find(self, mask: Mask, show: Callable[[int], Any]) -> SplitFinding:
        """Count some rows, and show the first few, each once."""
        where = np.flatnonzero(mask)
        first = np.sort(np.unique(self.which[where], return_index=True)[1])[:SHOWN]
        return SplitFinding(
            int(np.count_nonzero(mask)), tuple(show(i) for i in where[first].tolist())
        )


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


class Examined(NamedTuple, Generic[A]):
    """What an examination found: which rows stay, what must be said of them, and the audit."""

    kept: IntArray
    notes: tuple[str, ...]
    audit: A


def check_rules(**rules: str) -> dict[str, str]:
    """Check what is to be done with the rows of each case."""
    return {name: choice(name, rule, RULES) for name, rule in rules.items()}


def examine(
    kind: type[A],
    columns: Sequence[IntArray],
    sizes: Mapping[str, int],
    rules: Mapping[str, str],
    show: Callable[[int], Any],
    further: Mapping[str, Case] | None = None,
    **more: Any,
) -> Examined[A]:
    """Look for repeats, leaks and whatever else a protocol has, and keep, drop or refuse them.

    Parameters
    ----------
    kind : type
        The audit that is made.
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        What must be equal for two rows to be the same.
    sizes : mapping of str to int
        How many rows each split has; the evaluated one comes first.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and the further cases.
    show : callable
        Gives a row of the evaluated split by its labels.
    further : mapping of str to Case, optional
        By the name of the rule, which is that of a field of the audit, too.
    **more
        Further fields of the audit.

    Raises
    ------
    ValueError
        Where a rule says so, and where nothing is left.
    """
    (split, given), *known = sizes.items()
    doubts = doubts_of(columns, sizes)
    further = further or {}
    cases = {
        "duplicates": Case(doubts.duplicates, "repeat an earlier one"),
        "leaks": Case(doubts.leaks, "are in a known split, too"),
        **further,
    }
    dropped = np.zeros(given, dtype=bool)
    notes = []
    for name, case in cases.items():
        if not case.mask.any():
            continue
        said = f"{doubts.find(case.mask, show)} {kind.rows} {case.said}"
        if rules[name] == "raise":
            raise InputValueError(split, said)
        if rules[name] == "drop":
            dropped |= case.mask
        elif case.noted:
            drop = spelled(name, "drop")
            notes.append(
                f"{split}: {said}; they are ranked like the others ({drop} leaves them out)"
            )
    kept = np.flatnonzero(~dropped)
    if not len(kept):
        raise InputValueError(split, f"nothing is left, all {given} {kind.rows} were dropped")
    audit = kind(
        split=split,
        given=given,
        kept=len(kept),
        known=dict(known),
        duplicates=doubts.find(doubts.duplicates, show),
        leaks={name: doubts.find(mask, show) for name, mask in doubts.in_split.items()},
        leaked=int(np.count_nonzero(doubts.leaks)),
        rules=dict(rules),
        **{name: doubts.find(case.mask, show) for name, case in further.items()},
        **more,
    )
    return Examined(kept, tuple(notes), audit)


def found_as_dict(found: SplitFinding | None) -> dict[str, Any] | None:
    """Give a finding as plain dicts, lists, numbers and str."""
    if found is None:
        return None
    listed = [list(each) if isinstance(each, tuple) else each for each in found.examples]
    return {"count": found.count, "examples": listed}


def _said(example: Any) -> str:
    return " ".join(map(str, example)) if isinstance(example, tuple) else str(example)
