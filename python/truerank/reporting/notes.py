"""Notes on a table of several models: where their numbers cannot be compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np

from ..metrics import parse
from ..metrics.averages import rescale_weights
from ..metrics.keys import MACRO
from ..tables.cells import format_count, number
from .audit import DOUBTS, Finding
from .repeats import Repeats, describe_weights
from .reports import Report

FOLD_TOLERANCE = 0.05  # folds get no note if their mean numbers of candidates differ by less

Rows = Mapping[str, Repeats]


def unlike_protocols(rows: Rows) -> Iterator[str]:
    """Name the runs whose protocols differ from that of the first run of all."""
    first = next(iter(rows))
    protocol = rows[first].protocol
    for name, row in rows.items():
        found = [tuple(protocol.differences(report.protocol)) for report in row.reports]
        for differences in filter(None, dict.fromkeys(found)):
            runs = ", ".join(str(i + 1) for i, other in enumerate(found) if other == differences)
            who = name if len(set(found)) == 1 else f"{name} (run {runs})"
            yield f"{first} and {who} were ranked under unlike protocols: {', '.join(differences)}."


def _unlike_tasks(rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    counts = {
        name: sorted({r.tasks(r.sides[0]) for r in row.reports}) for name, row in rows.items()
    }
    if len({tuple(numbers) for numbers in counts.values()}) > 1:
        numbers = (f"{name} {' or '.join(f'{n:,}' for n in ns)}" for name, ns in counts.items())
        yield f"The numbers of tasks differ: {', '.join(numbers)}."


def _unlike_candidates(rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    """Note that models differ in their numbers of candidates, or runs of a model differ by much."""
    ranges = {
        name: [_candidate_range(report) for report in row.reports] for name, row in rows.items()
    }
    known = min(len(one) for runs in ranges.values() for one in runs)
    common = {name: [one[:known] for one in runs] for name, runs in ranges.items()}
    means = [[one[-1] for one in runs] for runs in common.values() if known]
    folds_differ = any(max(found) > (1 + FOLD_TOLERANCE) * min(found) for found in means)
    if not folds_differ and len({frozenset(runs) for runs in common.values()}) == 1:
        return
    numbers = ", ".join(f"{name} {_format_candidates(runs)}" for name, runs in common.items())
    raw = [key for key in keys if parse(key).adjustment not in ("index", "z")]
    advice = f" {', '.join(raw)} cannot be compared then: an index or z can." if raw else ""
    yield f"The numbers of candidates differ: {numbers}.{advice}"


def _candidate_range(report: Report) -> tuple[float, ...]:
    """The least, greatest and mean number of candidates, as far as they are known."""
    summary, ranks = report.held_summary(), getattr(report, "ranks", None)
    if summary is None:  # a group that was read from JSON
        return ()
    ends = summary.candidates_min, summary.candidates_max
    return (*ends, float(ranks.candidates.mean())) if ranks is not None and len(ranks) else ends


def _format_candidates(runs: list[tuple[float, ...]]) -> str:
    low, high, *mean = (
        min(column) if i == 0 else max(column) if i == 1 else sum(column) / len(column)
        for i, column in enumerate(zip(*runs, strict=True))
    )
    if low == high:
        return f"{low:,}"
    return f"{low:,} to {high:,}" + "".join(f" ({number(n, 4)} on average)" for n in mean)


def _describe_models(rows: Rows, describe: Callable[[Report], str]) -> str:
    """Describe every model by a text that is made from each of its runs."""
    words = {n: dict.fromkeys(map(describe, row.reports)) for n, row in rows.items()}
    return ", ".join(f"{name}: {' or '.join(found)}" for name, found in words.items())


def _words_differ(rows: Rows, describe: Callable[[Report], str]) -> bool:
    return len({describe(report) for row in rows.values() for report in row.reports}) > 1


def _models_differ(rows: Rows, unlike: Callable[[Report, Report], bool]) -> bool:
    """Whether a run of a model is unlike that of the first model; folds may differ."""
    first, *others = (row.reports for row in rows.values())
    pairs = (pair for runs in others for pair in zip(first, runs, strict=False))
    return any(unlike(a, b) for a, b in pairs)


def _unlike_weights(rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    if _words_differ(rows, describe_weights):
        yield f"The weights differ: {_describe_models(rows, describe_weights)}."
    elif _models_differ(rows, _weights_unlike):
        yield "The weights differ: every model has its own."


def _weights_unlike(a: Report, b: Report) -> bool:
    """Whether equal numbers of tasks have different weights, in any order; only ratios matter."""
    ours, theirs = (getattr(report, "weights", None) for report in (a, b))
    if ours is None or theirs is None or len(ours) != len(theirs):
        return False
    x, y = (np.sort(rescale_weights(weights)) for weights in (ours, theirs))
    return not np.allclose(x * y.sum(), y * x.sum(), rtol=1e-9, atol=0)


def _unlike_groups(rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    """Note that macro averages are over different groups, or weight groups differently."""
    if not any(parse(key).macro for key in keys):
        return
    if _words_differ(rows, _describe_groups) or _models_differ(rows, _groups_unlike):
        groups = _describe_models(
            rows,
            lambda report: (
                f"{_describe_groups(report)}, {format_count(len(_labels(report)), 'group')}"
            ),
        )
        yield f"The {MACRO} averages are of unlike groups or weights of groups: {groups}."


def _groups_unlike(a: Report, b: Report) -> bool:
    ours, theirs = a.macro_counts(), b.macro_counts()
    weighed = ours is not None and theirs is not None
    return _labels(a) != _labels(b) or (weighed and ours != theirs)


def _describe_groups(report: Report) -> str:
    return f"by {report.by}, {report.macro_weighting}"


def _labels(report: Report) -> set[Hashable]:
    return set(report.group_tasks(report.sides[0]))


def doubts(rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    """Say the worst that some checks of the audit find in the runs of each model, each once."""
    models: dict[str, list[str]] = {}
    for name, row in rows.items():
        worst: dict[str, Finding] = {}
        for finding in itertools.chain(*(report.audit(*DOUBTS) for report in row.reports)):
            worst[finding.name] = max(worst.get(finding.name, finding), finding)
        for finding in worst.values():
            models.setdefault(finding.message, []).append(name)
    return (f"{', '.join(names)}: {message}." for message, names in models.items())


NOTES = (_unlike_tasks, _unlike_candidates, _unlike_weights, _unlike_groups, doubts)
