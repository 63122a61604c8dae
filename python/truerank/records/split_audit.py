"""The audit of a split: its duplicates, its leaks from other splits, and what is done with them.

A finding is a name, a number and a sentence, of which a task makes a `Finding` when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..arrays.row_keys import RowKeys, codes_of, first_equals, look_up
from ..errors import InputValueError, warn_user
from ..inputs.checks import choice
from ..naming import printable

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

    Mask = npt.NDArray[np.bool_]

FindingParts: TypeAlias = tuple[str, int, str]

RULES = ("keep", "drop", "raise")
MAX_EXAMPLES = 3


def count_in_words(count: int, examples: Iterable[Any]) -> str:
    """Write a count, and the first few examples: labels, or tuples of them.

    Examples
    --------
    >>> count_in_words(4, [("a", "likes", 7), "b", "c", "d"])
    '4 (a likes 7, b, c, ...)'
    >>> count_in_words(0, [])
    'none'
    """
    if not count:
        return "none"
    shown = []
    for example in islice(examples, MAX_EXAMPLES):
        words = example if isinstance(example, tuple) else (example,)
        shown.append(printable(" ".join(map(str, words))))
    if count > len(shown):
        shown.append("...")
    return f"{count:,} ({', '.join(shown)})"


def check_rules(**rules: str) -> dict[str, str]:
    """Check the rule for each case: what to do with its rows."""
    return {name: choice(name, rule, RULES) for name, rule in rules.items()}


def what_was_done(count: int, rule: str) -> str:
    """Say what was done with the rows of a case, if there are any.

    Examples
    --------
    >>> what_was_done(2, "drop"), what_was_done(0, "keep")
    (', dropped', '')
    """
    if not count:
        return ""
    return ", dropped" if rule == "drop" else ", kept"


def audit_split(
    columns: Sequence[IntArray],
    sizes: Mapping[str, int],
    rules: Mapping[str, str],
    noun: str,
    labels_of: Callable[[int], Any],
    more_cases: Mapping[str, tuple[Mask, str]] | None = None,
) -> tuple[IntArray, list[FindingParts]]:
    """Find duplicates, leaks and the other cases of a protocol, and keep, drop or refuse them.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (rows of all splits,)
        The columns that make a row; two rows are equal if all of these are.
    sizes : mapping of str to int
        The number of rows of each split; the evaluated one comes first.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and the other cases.
    noun : str
        What rows are called.
    labels_of : callable
        Returns the labels of a row of all splits.
    more_cases : mapping of str to (ndarray of bool, str), optional
        Further cases, of which nobody is warned: by the name of the rule, the rows and what these
        do, as in "repeat an earlier one".

    Returns
    -------
    kept : ndarray of int64
        The rows of the evaluated split that stay.
    findings : list of (str, int, str)
        The rows, the duplicates, the leaks, and then the further cases.

    Raises
    ------
    ValueError
        If a rule is "raise" and there are such rows, and if no row is left.

    Warns
    -----
    UserWarning
        For duplicates and leaks that are kept.
    """
    split, *known = sizes
    tested = sizes[split]
    ends = np.cumsum(list(sizes.values())).tolist()
    keys = RowKeys(columns)
    tested_keys = keys.of(slice(0, tested))
    first = first_equals(tested_keys)
    leaks = {}
    is_leak = np.zeros(tested, dtype=bool)
    for name, bounds in zip(known, pairwise(ends), strict=True):
        is_in_split = np.zeros(tested, dtype=bool)
        is_in_split[look_up(tested_keys, keys.of(slice(*bounds)))[1]] = True
        leaks[name] = is_in_split[first]
        is_leak |= leaks[name]

    def in_words(mask: Mask) -> str:
        rows = np.flatnonzero(mask)
        shown = np.sort(codes_of(first[rows]).first())[:MAX_EXAMPLES]
        return count_in_words(len(rows), map(labels_of, rows[shown].tolist()))

    cases = {
        "duplicates": (first != np.arange(tested), "repeat an earlier one"),
        "leaks": (is_leak, _describe_leaks(leaks)),
        **(more_cases or {}),
    }
    kept, notes = _apply_rules(split, noun, rules, cases, in_words)
    sizes_in_words = ", ".join(f"{name} {sizes[name]:,}" for name in known) or "none"
    ranked = f"{tested:,} {noun}, {len(kept):,} ranked; known: {sizes_in_words}"
    findings = [(split, len(kept), ranked)]
    for name, (mask, _) in cases.items():
        count = int(np.count_nonzero(mask))
        text = in_words(mask)
        if name == "leaks" and count:
            in_splits = [
                f"in {name} {in_words(mask)}" for name, mask in leaks.items() if mask.any()
            ]
            text = "; ".join(in_splits)
        findings.append((name, count, text + what_was_done(count, rules[name])))
    for note in notes:
        warn_user(note)
    return kept, findings


def findings_of_reading(
    sizes: Mapping[str, int],
    noun: str,
    is_asked: Mask,
    left_out: Iterable[str] = (),
    headers: Iterable[str] = (),
) -> list[FindingParts]:
    """Say which known rows share no query with the task, and what was left out of its files.

    Parameters
    ----------
    sizes : mapping of str to int
        The number of rows of each split; the evaluated one comes first.
    noun : str
        What rows are called.
    is_asked : ndarray of bool
        Which rows of all splits share a query.
    left_out, headers : iterable of str
        The columns of each split, and the first lines of files, that are not read.
    """
    split, *known = sizes
    ends = np.cumsum(list(sizes.values())).tolist()
    findings = []
    for name, (start, end) in zip(known, pairwise(ends), strict=True):
        count = int(np.count_nonzero(is_asked[start:end]))
        if count < sizes[name]:
            share = f"{count:,} of {sizes[name]:,}"
            findings.append((name, count, f"{share} {noun} share a query with {split}"))
    for column in left_out:
        place, _, what = column.partition(": ")
        findings.append((f"left out of {place}", 1, what))
    findings.extend(("header", 1, note) for note in headers)
    return findings


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
    noun: str,
    rules: Mapping[str, str],
    cases: Mapping[str, tuple[Mask, str]],
    in_words: Callable[[Mask], str],
) -> tuple[IntArray, list[str]]:
    """Return the rows that stay, and notes of rows that are ranked and perhaps should not be."""
    notes = []
    is_dropped = np.zeros(len(cases["leaks"][0]), dtype=bool)
    for name, (mask, description) in cases.items():
        text = f"{in_words(mask)} {noun} {description}"
        if rules[name] == "raise" and mask.any():
            raise InputValueError(split, text)
        if rules[name] == "drop":
            is_dropped |= mask
        elif mask.any() and name in ("duplicates", "leaks"):
            remedy = f'they are ranked like the others ({name}="drop" leaves them out)'
            notes.append(f"{split}: {text}; {remedy}")
    kept = np.flatnonzero(~is_dropped)
    if not len(kept):
        problem = f"nothing is left: {len(is_dropped)} {noun} were dropped"
        raise InputValueError(split, problem)
    return kept, notes
