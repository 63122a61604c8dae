"""The audit of a split: its duplicates, its leaks from other splits, and what is done with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np

from ..arrays.row_keys import RowKeys, first_equals, first_rows, look_up
from ..errors import InputValueError
from ..inputs.checks import choice
from ..naming import printable, public

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

    Mask = npt.NDArray[np.bool_]

A = TypeVar("A", bound="SplitAudit")
# An audit returns the rows that stay, notes for the user, and the audit itself.
Audited: TypeAlias = "tuple[IntArray, list[str], A]"

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

    @classmethod
    def of(cls, values: Collection[Any], label_of: Callable[[Any], Any] = str) -> SplitFinding:
        """Count what was found, and show the first few.

        Examples
        --------
        >>> print(SplitFinding.of(["a", "b", "c", "d"]))
        4 (a, b, c, ...)
        """
        return cls(len(values), tuple(map(label_of, islice(values, MAX_EXAMPLES))))

    def __str__(self) -> str:
        if not self.count:
            return "none"
        shown = []
        for example in self.examples:
            words = example if isinstance(example, tuple) else (example,)
            shown.append(printable(" ".join(map(str, words))))
        if self.count > len(self.examples):
            shown.append("...")
        return f"{self.count:,} ({', '.join(shown)})"


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
    meeting: dict[str, int] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    rows: ClassVar[str] = "rows"

    def __str__(self) -> str:
        known = ", ".join(f"{name} {count:,}" for name, count in self.known.items()) or "none"
        of_split = f"{self.split}: {self.given:,} {self.rows}, {self.kept:,} ranked"
        in_splits = []
        for name, finding in self.leaks.items():
            if finding.count:
                in_splits.append(f"in {name} {finding}")
        leaks = "; ".join(in_splits) or "none"
        duplicates = f"{self.duplicates}{self._format_rule('duplicates', self.duplicates.count)}"
        lines = [
            f"{of_split}; known: {known}",
            f"duplicates: {duplicates}",
            f"leaks: {leaks}{self._format_rule('leaks', self.leaked)}",
        ]
        for name, count in self.meeting.items():
            if count < self.known[name]:
                share = f"{count:,} of {self.known[name]:,}"
                lines.append(f"{name}: {share} {self.rows} share a query with {self.split}")
        lines.extend(f"left out of {columns}" for columns in self.left_out)
        lines.extend(f"header: {note}" for note in self.headers)
        return "\n".join(map(printable, lines))

    def _format_rule(self, rule: str, count: int) -> str:
        """Say what was done with the rows of a case, if there are any."""
        if not count:
            return ""
        if self.rules[rule] == "drop":
            return ", dropped"
        return ", kept"

    def with_meeting(self, is_asked: Mask) -> Self:
        """Return it with the number of rows of each known split that share a query of the task.

        `is_asked` says which rows of all splits do.
        """
        ends = np.cumsum([self.given, *self.known.values()]).tolist()
        counts = [int(np.count_nonzero(is_asked[start:end])) for start, end in pairwise(ends)]
        return replace(self, meeting=dict(zip(self.known, counts, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and str."""
        # JSON makes lists of the tuples.
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def check_rules(**rules: str) -> dict[str, str]:
    """Check the rule for each case: what to do with its rows."""
    return {name: choice(name, rule, RULES) for name, rule in rules.items()}


def audit_split(
    audit_type: type[A],
    columns: Sequence[IntArray],
    sizes: Mapping[str, int],
    rules: Mapping[str, str],
    labels_of: Callable[[int], Any],
    more_cases: Mapping[str, tuple[Mask, str]] | None = None,
    **fields: Any,
) -> Audited[A]:
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
        Returns the labels of a row of all splits.
    more_cases : mapping of str to (ndarray of bool, str), optional
        Further cases, of which no note is made: by the name of the rule, which is also the name of
        a field of the audit, the rows and what these do, as in "repeat an earlier one".
    **fields
        More fields of the audit.

    Raises
    ------
    ValueError
        If a rule is "raise" and there are such rows, and if no row is left.
    """
    split = next(iter(sizes))
    known = dict(sizes)
    tested = known.pop(split)
    ends = np.cumsum(list(sizes.values())).tolist()
    keys = RowKeys(columns)
    tested_keys = keys.of(slice(0, tested))
    first = first_equals(tested_keys)
    leaks = {}
    for name, bounds in zip(known, pairwise(ends), strict=True):
        is_in_split = np.zeros(tested, dtype=bool)
        is_in_split[look_up(tested_keys, keys.of(slice(*bounds)))[1]] = True
        leaks[name] = is_in_split[first]
    is_leak = np.zeros(tested, dtype=bool)
    for is_in_split in leaks.values():
        is_leak |= is_in_split
    cases = {
        "duplicates": (first != np.arange(tested), "repeat an earlier one"),
        "leaks": (is_leak, _describe_leaks(leaks)),
    }
    cases.update(more_cases or {})

    def finding(mask: Mask) -> SplitFinding:
        rows = np.flatnonzero(mask)
        shown = np.sort(first_rows(first[rows]))[:MAX_EXAMPLES]
        return SplitFinding(len(rows), tuple(labels_of(i) for i in rows[shown].tolist()))

    findings: dict[str, Any] = {name: finding(mask) for name, (mask, _) in cases.items()}
    kept, notes = _apply_rules(split, audit_type.rows, rules, cases, findings)
    del findings["leaks"]  # The audit holds them split by split instead.
    audit = audit_type(
        split=split,
        given=tested,
        kept=len(kept),
        known=known,
        leaks={name: finding(mask) for name, mask in leaks.items()},
        leaked=int(np.count_nonzero(is_leak)),
        rules=dict(rules),
        **findings,
        **fields,
    )
    return kept, notes, audit


def _describe_leaks(leaks: Mapping[str, Mask]) -> str:
    """Say that rows are in known splits, and where all are in one, that it may be the same split.

    Examples
    --------
    >>> print(_describe_leaks({"train": np.array([False]), "valid": np.array([True])}))
    are in a known split, too (all are in valid; if that is the evaluated split, leave it out of \
the known ones and say split='valid')
    """
    description = "are in a known split, too"
    for name, mask in leaks.items():
        if mask.all():
            remedy = f"leave it out of the known ones and say split={name!r}"
            return f"{description} (all are in {name}; if that is the evaluated split, {remedy})"
    return description


def _apply_rules(
    split: str,
    rows: str,
    rules: Mapping[str, str],
    cases: Mapping[str, tuple[Mask, str]],
    findings: Mapping[str, SplitFinding],
) -> tuple[IntArray, list[str]]:
    """Return the rows that stay, and notes of rows that are ranked and perhaps should not be."""
    notes = []
    is_dropped = np.zeros(len(cases["leaks"][0]), dtype=bool)
    for name, (mask, description) in cases.items():
        text = f"{findings[name]} {rows} {description}"
        if findings[name].count and rules[name] == "raise":
            raise InputValueError(split, text)
        if rules[name] == "drop":
            is_dropped |= mask
        elif findings[name].count and name in ("duplicates", "leaks"):
            remedy = f'they are ranked like the others ({name}="drop" leaves them out)'
            notes.append(f"{split}: {text}; {remedy}")
    kept = np.flatnonzero(~is_dropped)
    if not len(kept):
        problem = f"nothing is left: {len(is_dropped)} {rows} were dropped"
        raise InputValueError(split, problem)
    return kept, notes
