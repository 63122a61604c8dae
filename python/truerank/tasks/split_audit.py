"""The audit of a split: its duplicates, its leaks from other splits, and what is done with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from .row_keys import look_up, row_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    Mask = npt.NDArray[np.bool_]

A = TypeVar("A", bound="SplitAudit")

RULES = ("keep", "drop", "raise")
MAX_EXAMPLES = 3


@public("truerank.link_prediction")
@dataclass(frozen=True)
class SplitFinding:
    """A count and the first few examples, as labels, or as ids if there are no labels.

    Attributes
    ----------
    count : int
    examples : tuple
        The first distinct ones: triples and pairs are tuples of labels, entities and relations are
        labels (ids if there are no labels).
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

    The audits of the protocols document each field.
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
                printable(f"{of_split}; known: {known or 'none'}"),
                f"duplicates: {self.duplicates}{duplicates_rule}",
                printable(f"leaks: {leaks or 'none'}{self._format_rule('leaks', self.leaked)}"),
            ]
        )

    def _format_rule(self, rule: str, count: int) -> str:
        return f", {'dropped' if self.rules[rule] == 'drop' else 'kept'}" if count else ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and str."""
        return plain_dict(self)


class DoubtfulRows(NamedTuple):
    """The rows of an evaluated split that are duplicates or leaks.

    Attributes
    ----------
    which : ndarray of int64, shape (n,)
        A number for each row; equal rows have equal numbers.
    duplicates, leaks : ndarray of bool, shape (n,)
        Whether a row repeats an earlier one, and whether a known split has it.
    in_split : dict of str to ndarray of bool
        The leaks by split.
    """

    row_numbers: IntArray
    duplicates: Mask
    leaks: Mask
    in_split: dict[str, Mask]

    def make_finding(self, mask: Mask, labels_of: Callable[[int], Any]) -> SplitFinding:
        """Count the rows of a mask, and show the first few distinct ones."""
        where = np.flatnonzero(mask)
        first = np.sort(np.unique(self.row_numbers[where], return_index=True)[1])[:MAX_EXAMPLES]
        return SplitFinding(
            int(np.count_nonzero(mask)), tuple(labels_of(i) for i in where[first].tolist())
        )


def find_doubtful_rows(columns: Sequence[IntArray], sizes: Mapping[str, int]) -> DoubtfulRows:
    """Find duplicates and leaks.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        The columns that make a row; two rows are equal if all of these are.
    sizes : mapping of str to int
        The number of rows of each split; the evaluated one comes first.

    Returns
    -------
    DoubtfulRows

    Examples
    --------
    >>> left, right = np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])
    >>> doubtful = find_doubtful_rows([left, right], {"test": 3, "train": 1})
    >>> doubtful.duplicates.tolist(), doubtful.leaks.tolist()
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
    """A case that a rule decides: some rows of the evaluated split, and how to describe them.

    Attributes
    ----------
    mask : ndarray of bool, shape (n,)
        The rows that the case applies to.
    said : str
        What these rows do: "repeat an earlier one".
    noted : bool
        Whether the rows make a note if they are kept.
    """

    mask: Mask
    description: str
    makes_note: bool = True


class AuditResult(NamedTuple, Generic[A]):
    """The result of an audit: the rows that stay, notes for the user, and the audit itself."""

    kept: IntArray
    notes: tuple[str, ...]
    audit: A


def check_rules(**rules: str) -> dict[str, str]:
    """Check the rule for each case: what to do with its rows."""
    return {name: choice(name, rule, RULES) for name, rule in rules.items()}


def audit_split(
    audit_type: type[A],
    columns: Sequence[IntArray],
    sizes: Mapping[str, int],
    rules: Mapping[str, str],
    labels_of: Callable[[int], Any],
    more_cases: Mapping[str, RowCase] | None = None,
    **fields: Any,
) -> AuditResult[A]:
    """Find duplicates, leaks and the other cases of a protocol, and keep, drop or refuse them.

    Parameters
    ----------
    audit_type : type
        The class of the audit to make.
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        The columns that make a row; two rows are equal if all of these are.
    sizes : mapping of str to int
        The number of rows of each split; the evaluated one comes first.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and the other cases.
    labels_of : callable
        Returns the labels of a row of the evaluated split.
    more_cases : mapping of str to RowCase, optional
        By the name of the rule, which is also the name of a field of the audit.
    **fields
        More fields of the audit.

    Raises
    ------
    ValueError
        If a rule is "raise" and there are such rows, and if no row is left.
    """
    (split, given), *known = sizes.items()
    doubtful = find_doubtful_rows(columns, sizes)
    more_cases = more_cases or {}
    cases = {
        "duplicates": RowCase(doubtful.duplicates, "repeat an earlier one"),
        "leaks": RowCase(doubtful.leaks, "are in a known split, too"),
        **more_cases,
    }
    dropped = np.zeros(given, dtype=bool)
    notes = []
    for name, case in cases.items():
        if not case.mask.any():
            continue
        text = f"{doubtful.make_finding(case.mask, labels_of)} {audit_type.rows} {case.description}"
        if rules[name] == "raise":
            raise InputValueError(split, text)
        if rules[name] == "drop":
            dropped |= case.mask
        elif case.makes_note:
            drop = f'{name}="drop"'
            notes.append(
                f"{split}: {text}; they are ranked like the others ({drop} leaves them out)"
            )
    kept = np.flatnonzero(~dropped)
    if not len(kept):
        raise InputValueError(split, f"nothing is left, all {given} {audit_type.rows} were dropped")
    audit = audit_type(
        split=split,
        given=given,
        kept=len(kept),
        known=dict(known),
        duplicates=doubtful.make_finding(doubtful.duplicates, labels_of),
        leaks={
            name: doubtful.make_finding(mask, labels_of) for name, mask in doubtful.in_split.items()
        },
        leaked=int(np.count_nonzero(doubtful.leaks)),
        rules=dict(rules),
        **{name: doubtful.make_finding(case.mask, labels_of) for name, case in more_cases.items()},
        **fields,
    )
    return AuditResult(kept, tuple(notes), audit)


def plain_dict(audit: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as plain dicts, lists, numbers and str."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(audit)))  # lists in place of tuples
    return plain


def _format_example(example: Any) -> str:
    return printable(" ".join(map(str, example)) if isinstance(example, tuple) else str(example))
