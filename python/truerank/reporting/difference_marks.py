"""Marks in a table of several models: whose values differ significantly, and how it was tested."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inference.comparing import compare, corrected
from ..inference.comparisons import Comparisons, count_notes, format_notes
from ..inference.sign_flips import error_rate
from ..inference.units import COUNT
from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..metrics import parse
from ..tables.cells import format_count

if TYPE_CHECKING:
    from ..inference.comparisons import Comparison
    from .repeats import Repeats

BEST = "best"
DAGGER = "\u2020"
COUNTED = "comparison"


class DifferenceMarks(NamedTuple):
    """Which cells of a table have a mark.

    Attributes
    ----------
    cells : frozenset of (str, str)
        The names of models, and keys.
    comparisons : Comparisons or None
        All that were made, if any, with the p-values of Holm's rule over them.
    notes : tuple of str
        What the mark says, and what limits the tests.
    """

    cells: frozenset[tuple[str, str]]
    comparisons: Comparisons | None
    notes: tuple[str, ...]


def mark_differences(
    rows: Mapping[str, Repeats],
    keys: Sequence[str],
    against: str,
    best: Callable[[str], Sequence[str]],
    **options: Any,
) -> DifferenceMarks:
    """Mark the values that differ significantly from those of the best model, or of a given one.

    The best is chosen by the same ranks, so Holm's rule is over all pairs of models then, whichever
    is the best; for a given model it is over the pairs with this one.

    Parameters
    ----------
    rows : mapping of str to Repeats
    keys : sequence of str
        Those without a best are left out where it is meant, and the number of tasks always is.
    against : str
        The name of a model, or "best".
    best : callable
        Returns the best models for a key.
    **options
        Keywords of `compare`, with the level.

    Raises
    ------
    ValueError
        For an unknown name, a single model, and where models cannot be compared.

    Examples
    --------
    >>> import truerank as tr
    >>> rows = {"A": tr.report([tr.report(tr.Ranks([0] * 8, [1] * 8, 9))])}
    >>> rows["B"] = tr.report([tr.report(tr.Ranks([3] * 8, [1] * 8, 9))])
    >>> sorted(mark_differences(rows, ["mr"], "best", lambda key: ["A"], level=0.95).cells)
    [('B', 'mr')]
    """
    reference = choice("against", against, (*rows, BEST))
    if len(rows) < 2:
        raise InputValueError("against", expected="at least two models", got=len(rows))
    given = reference in rows
    of_key = {key: reference if given else next(iter(best(key)), "") for key in keys}
    asked = [key for key, model in of_key.items() if model and parse(key).metric != COUNT]
    if not asked:
        return DifferenceMarks(frozenset(), None, ("No column has values that can be tested.",))
    names = [(reference, name) for name in rows if name != reference] if given else None
    pairs = _compared(rows, names or itertools.combinations(rows, 2), asked, options)
    found = {(pair.metric, pair.name_a, pair.name_b): pair.p_holm for pair in pairs}
    alpha = error_rate(options["level"])
    cells = {
        (name, key)
        for key in asked
        for name in rows
        for pair in ((name, of_key[key]), (of_key[key], name))
        if (p := found.get((str(parse(key)), *pair))) is not None and p <= alpha
    }
    who = reference if given else "the best of its column"
    said = f"{DAGGER} differs from {who}" if cells else f"Nothing differs from {who}"
    tests = " and ".join(dict.fromkeys(pair.method for pair in pairs))
    number = format_count(len(pairs), COUNTED)
    how = f"{tests}, p <= {alpha:g} by Holm's rule over {number}."
    of_all = [note for note in format_notes(pairs) if all(note in pair.notes for pair in pairs)]
    of_some = [tuple(note for note in pair.notes if note not in of_all) for pair in pairs]
    notes = (f"{note[:1].upper()}{note[1:]}." for note in (*of_all, *count_notes(of_some, COUNTED)))
    return DifferenceMarks(frozenset(cells), Comparisons(pairs), (f"{said}: {how}", *notes))


def _compared(
    rows: Mapping[str, Repeats],
    names: Iterable[tuple[str, str]],
    keys: list[str],
    options: Mapping[str, Any],
) -> list[Comparison]:
    """Compare pairs of models by every key, and correct the p-values of all of them together."""
    models = {name: row if row.runs > 1 else row.reports[0] for name, row in rows.items()}
    pairs = [
        pair
        for one, two in names
        for pair in compare({one: models[one], two: models[two]}, metric=keys, **options)
    ]
    return corrected(pairs)
