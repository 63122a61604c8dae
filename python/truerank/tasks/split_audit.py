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
MAX_EXAMPLES = 3  # examples


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
        shown = ", ".join(map(_format_example, self.examples))
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
        duplicates_rule = self._format_rule("duplicates", self.duplicates.count)
        return "\n".join(
            [
                f"{of_split}; known: {known or 'none'}",
                f"duplicates: {self.duplicates}{duplicates_rule}",
                f"leaks: {leaks or 'none'}{self._format_rule('leaks', self.leaked)}",
            ]
        )

    def _format_rule(self, what: str, count: int) -> str:
        return f", {'dropped' if self.rules[what] == 'drop' else 'kept'}" if count else ""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dicts, lists, numbers and str."""
        return {
            **{name: getattr(self, name) for name in ("split", "given", "kept", "leaked")},
            "known": dict(self.known),
            "rules": dict(self.rules),
            "leaks": {name: finding_to_dict(found) for name, found in self.leaks.items()},
            "duplicates": finding_to_dict(self.duplicates),
        }


class DoubtfulRows(NamedTuple):
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

    row_numbers: IntArray
    duplicates: Mask
    leaks: Mask
    in_split: dict[str, Mask]

    def make_finding(self, mask: Mask, labels_of: Callable[[int], Any]) -> SplitFinding:
        """Count some rows, and show the first few, each once."""
        where = np.flatnonzero(mask)
        first = np.sort(np.unique(self.row_numbers[where], return_index=True)[1])[:MAX_EXAMPLES]
        return SplitFinding(
            int(np.count_nonzero(mask)), tuple(labels_of(i) for i in where[first].tolist())
        )


def find_doubtful_rows(columns: Sequence[IntArray], sizes: Mapping[str, int]) -> DoubtfulRows:
    """Look for repeats and leaks.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        What must be equal for two rows to be the same.
    sizes : mapping of str to int
        How many rows each split has; the evaluated one comes first.

    Returns
    -------
    DoubtfulRows

    Examples
    --------
    >>> left, right = np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])
    >>> doubts = find_doubtful_rows([left, right], {"test": 3, "train": 1})
    >>> doubts.duplicates.tolist(), doubts.leaks.tolist()
    ([False, False, True], [False, True, False])
    """
    given, *others = sizes.values()
    keys = row_keys(columns)
    ordered, first, row_numbers = np.unique(keys[:given], return_index=True, return_inverse=True)
    row_numbers = row_numbers.reshape(-1)
    in_split: dict[str, Mask] = {}
    start = given
    for name, size in zip(list(sizes)[1:], others, strict=True):
        _, hit = look_up(ordered, keys[start : start + size])
        there = np.zeros(len(ordered), dtype=bool)
        there[hit] = True
        in_split[name] = there[row_numbers]
        start += size
    leaks = np.logical_or.reduce([*in_split.values(), np.zeros(given, dtype=bool)])
    return DoubtfulRows(row_numbers, first[row_numbers] != np.arange(given), leaks, in_split)


class RowCase(NamedTuple):
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
    description: str
    makes_note: bool = True


class AuditResult(NamedTuple, Generic[A]):
    """What an examination found: which rows stay, what must be said of them, and the audit."""

    kept: IntArray
    notes: tuple[str, ...]
    audit: A


def check_rules(**rules: str) -> dict[str, str]:
    """Check what is to be done with the rows of each case."""
    return {name: choice(name, rule, RULES) for name, rule in rules.items()}


def audit_split(
    kind: type[A],
    columns: Sequence[IntArray],
    sizes: Mapping[str, int],
    rules: Mapping[str, str],
    labels_of: Callable[[int], Any],
    further: Mapping[str, RowCase] | None = None,
    **more: Any,
) -> AuditResult[A]:
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
    doubts = find_doubtful_rows(columns, sizes)
    further = further or {}
    cases = {
        "duplicates": RowCase(doubts.duplicates, "repeat an earlier one"),
        "leaks": RowCase(doubts.leaks, "are in a known split, too"),
        **further,
    }
    dropped = np.zeros(given, dtype=bool)
    notes = []
    for name, case in cases.items():
        if not case.mask.any():
            continue
        message = f"{doubts.make_finding(case.mask, labels_of)} {kind.rows} {case.description}"
        if rules[name] == "raise":
            raise InputValueError(split, message)
        if rules[name] == "drop":
            dropped |= case.mask
        elif case.makes_note:
            drop = spelled(name, "drop")
            notes.append(
                f"{split}: {message}; they are ranked like the others ({drop} leaves them out)"
            )
    kept = np.flatnonzero(~dropped)
    if not len(kept):
        raise InputValueError(split, f"nothing is left, all {given} {kind.rows} were dropped")
    audit = kind(
        split=split,
        given=given,
        kept=len(kept),
        known=dict(known),
        duplicates=doubts.make_finding(doubts.duplicates, labels_of),
        leaks={
            name: doubts.make_finding(mask, labels_of) for name, mask in doubts.in_split.items()
        },
        leaked=int(np.count_nonzero(doubts.leaks)),
        rules=dict(rules),
        **{name: doubts.make_finding(case.mask, labels_of) for name, case in further.items()},
        **more,
    )
    return AuditResult(kept, tuple(notes), audit)


def finding_to_dict(found: SplitFinding | None) -> dict[str, Any] | None:
    """Give a finding as plain dicts, lists, numbers and str."""
    if found is None:
        return None
    listed = [list(each) if isinstance(each, tuple) else each for each in found.examples]
    return {"count": found.count, "examples": listed}


def _format_example(example: Any) -> str:
    return " ".join(map(str, example)) if isinstance(example, tuple) else str(example)
