"""Candidates of the test alone: what must be said of numbers that rise as a test shrinks.

Where the candidates are the entities of the test itself, fewer test pairs are an easier task: then
metrics compare between tests of one size alone, but for the adjusted mean rank index (Berrendorf,
Faerman, Vermue, Tresp: On the ambiguity of rank-based evaluation of entity alignment or link
prediction methods, 2020, section 3.2). The index of mrr and of hits@k do not help: they rise as
much as what they adjust, as a study beside the benchmarks shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..metrics import UnknownKeyError, parse
from ..metrics.kinds import DEFAULT_KIND
from .axes import written

if TYPE_CHECKING:
    from .assessed import Assessed
    from .printed import Printed
    from .repeats import Repeats

NAME = "test candidates"
CANDIDATES = "test"  # what a protocol calls them
BESIDE = "amri"  # the one that hardly moves with the size of a test


def of_test_alone(report: Assessed, threshold: float) -> Iterator[tuple[float, str]]:
    """Candidates that are the entities of the test: a check of `validity`."""
    if report.protocol.candidates == CANDIDATES and len(report.ranks):
        beside = _said(report, written(report.sides[0], DEFAULT_KIND, BESIDE))
        yield (
            1.0,
            "the candidates are the entities of the test alone: the fewer these are, the better "
            "are mr, mrr and hits@k, which do not compare across test sizes"
            + (f"; the adjusted mean rank index hardly moves: {beside}" if beside else ""),
        )


def told_of_test(report: Printed) -> list[str]:
    """The same as a line before the numbers of a report; none for other candidates.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ranks = Ranks([0, 3], [1, 1], 10)
    >>> told_of_test(report(ranks.with_protocol(candidates="test")))[0][:53]
    'The candidates are the entities of the test alone: th'
    >>> told_of_test(report(ranks))
    []
    """
    if report.protocol.candidates != CANDIDATES:
        return []
    found = (finding.message for finding in report.audit() if finding.name == NAME)
    return [f"{said[0].upper()}{said[1:]}." for said in found]


def note_of_test(rows: Mapping[str, Repeats], keys: Sequence[str]) -> Iterator[str]:
    """The same of the models of a table, where a column is not adjusted."""
    names = [
        name
        for name, row in rows.items()
        if any(report.protocol.candidates == CANDIDATES for report in row.reports)
    ]
    raw = [key for key in keys if not _is_index_of_mr(key)]
    if not names or not raw:
        return
    beside = [(name, _said(rows[name], BESIDE)) for name in names]
    adjusted = "; ".join(f"{name} {said}" for name, said in beside if said)
    yield (
        f"The candidates of {', '.join(names)} are the entities of the test alone: "
        f"{', '.join(raw)} do not compare across test sizes."
        + (f" Adjusted: {adjusted}." if adjusted else "")
    )


def _is_index_of_mr(key: str) -> bool:
    parsed = parse(key)
    return (parsed.adjustment, parsed.metric) == ("index", "mr")


def _said(values: Mapping[str, float], key: str) -> str:
    """A value with its key; nothing where there is none."""
    try:
        value = values[key]
    except UnknownKeyError:  # of a report that was read from JSON, or of another side
        return ""
    return "" if math.isnan(value) else f"{key} {value:.4g}"
