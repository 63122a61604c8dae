"""Several models as a table: a row for each, the best of each column, and what differs from it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..inference.comparing import compare, corrected
from ..inference.comparisons import count_notes, format_notes
from ..inference.pairing import pair_ranks
from ..inference.sign_flips import error_rate
from ..inference.units import COUNT, UNIT
from ..inputs.checks import choice, confidence
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics import UnknownKeyError, parse
from ..metrics.keys import increasing
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.forms import DAGGER
from .audit import DOUBTS, Finding
from .axes import DEFAULT_METRICS, FEW_METRICS, choose_metrics
from .rendering import metric_column
from .repeats import Repeats, check_reports, common_keys, describe_weights
from .reports import Report

if TYPE_CHECKING:
    from ..inference.comparisons import Comparison
    from ..ranks.labels import LabelsLike

Runs = Report | Repeats | Sequence[Report]  # of one model
Rows = Mapping[str, Repeats]

BEST = "best"
COUNTED = "comparison"


@public("truerank")
def table(
    reports: Mapping[str, Runs] | Runs,
    metrics: str | Iterable[str] | None = None,
    *,
    digits: int = 3,
    percent: bool = False,
    notes: bool | None = None,
    allow_unlike: bool = False,
    against: str | None = None,
    level: float = 0.95,
    by: LabelsLike | None = UNIT,
) -> Table:
    """Put several models into one table: `table({"TransE": r1, "RotatE": [fold1, fold2]})`.

    Parameters
    ----------
    reports : mapping of name to Report or to several Reports
        Several Reports of one model (folds, seeds) give their mean and sample standard deviation.
        Reports without a name are of one model.
    metrics : str or iterable of str, optional
        The columns: keys of reports, with side and kind if needed, or "all". Default: mr, mrr,
        hits@1, hits@3, hits@10 and amri.
    digits : int
        The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
    percent : bool
        Whether hits@k is printed as a percentage.
    notes : bool, optional
        Whether the notes are written. Default: not in LaTeX and CSV.
    allow_unlike : bool
        Whether protocols, tasks, numbers of candidates, weights and groups may differ, which
        `compare` refuses, too; a note then says how, and no value is marked as the best.
    against : str, optional
        The name of a model, or "best", the best of each column. A dagger marks the values that
        differ significantly from its value, by the tests of `compare` and Holm's rule over all of
        them; a note says so in words. The best is chosen by the same ranks, so that all pairs of
        models are tested then.
    level : float
        Values with a corrected p-value of at most 1 - level are marked.
    by : str, labels or None
        The units of the tests, as in `compare`.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If there are no reports, and if models or runs of one model cannot be compared (the message
        says why). For an unknown name of a model, and where `compare` raises one.
    TypeError
        For anything but Reports, and for a name that is not a str.
    KeyError
        For a key that a report does not have; the message names the model.

    Examples
    --------
    >>> import truerank as tr
    >>> folds = [tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]
    >>> table({"A": folds}, ["mr"]).to_dict()
    {'model': ['A'], 'runs': [2], 'mr': [2.0], 'mr std': [1.4142135623730951]}
    >>> models = {"A": tr.report(tr.Ranks([0] * 9, [1] * 9, 9))}
    >>> models["B"] = tr.report(tr.Ranks([3] * 9, [1] * 9, 9))
    >>> print(table(models, ["mr", "mrr"], against="best").to_text(notes=False))
    model  MR ↓   MRR ↑
    A      1.0*  1.000*
    B      4.0†  0.250†
    """
    if isinstance(reports, (Report, Repeats)) or not isinstance(reports, Mapping):
        runs = _read_runs("", reports, allow_unlike)
        rows = {format_count(runs.runs, "run"): runs}
    else:
        rows = {name: _read_runs(name, value, allow_unlike) for name, value in reports.items()}
    if not rows:
        raise InputValueError("reports", expected="names and Reports, at least one", got="none")
    keys = choose_metrics(metrics, FEW_METRICS, common_keys(DEFAULT_METRICS, rows.values()))
    for name, row in rows.items():
        try:
            row.to_dict(keys)
        except UnknownKeyError as error:
            raise UnknownKeyError(error.argument, f"{error.problem} (of {name!r})") from None
    unlike = _unlike(rows, any(parse(key).macro for key in keys))
    if unlike and not allow_unlike:
        advice = "allow_unlike=True puts them side by side, without a best"
        raise InputValueError("reports", f"{unlike[0]}; {advice}")
    repeated = any(row.runs > 1 for row in rows.values())
    columns: list[Column | str] = ["model", *[Column("runs", only="data")] * repeated]
    for key in keys:
        better: Any = {True: "higher", False: "lower", None: None}[increasing(key)]
        better = None if unlike else better
        spread = f"{key} std" if repeated else None
        column = metric_column(key, percent=percent, spread=spread, better=better)
        columns += [column, *[column._replace(name=f"{key} std", spread=None)] * repeated]
    cells: list[list[object]] = [
        [name, *[row.runs] * repeated, *_values(row, keys, repeated)] for name, row in rows.items()
    ]
    lines = [*(f"{reason}." for reason in unlike), *_doubts(rows)]
    marks: set[tuple[int, str]] = set()
    if against is not None:
        options = {"level": confidence(level), "by": by, "allow_unlike": allow_unlike}
        marks, of_marks = _differences(rows, keys, against, options)
        lines += of_marks
    found = Table(columns, cells, significant=marks, notes=lines, digits=digits)
    return found.table(notes=notes)


def _values(row: Repeats, keys: Iterable[str], repeated: bool) -> list[float]:
    """Return the means, each with its standard deviation if any model has several runs."""
    pairs = ([row[key], row.std(key)] if repeated else [row[key]] for key in keys)
    return list(itertools.chain.from_iterable(pairs))


def _read_runs(name: object, value: object, allow_unlike: bool) -> Repeats:
    if not isinstance(name, str):
        raise InputTypeError("reports", expected="names", got=f"{type(name).__name__} {name!r}")
    whose = f" (of {name!r})" if name else ""
    given: Any = [value] if isinstance(value, Report) else value
    if isinstance(value, Repeats):  # its runs may differ, which is checked again here
        given = value.reports
    runs = Repeats(check_reports(given, whose), allow_unlike=True)
    if runs.notes and not allow_unlike:
        raise InputValueError("reports", runs.notes[0] + whose)
    return runs


# -- notes -----------------------------------------------------------------------------------------


def _unlike(rows: Rows, macro: bool) -> list[str]:
    """Say which models cannot be compared with the first, by the rule of `compare`."""
    reasons = [f"{name}: {note}" for name, row in rows.items() for note in row.notes]
    (first, row), *others = rows.items()
    for name, other in others:
        # runs are over the same tasks, or folds in the same order
        most = range(max(row.runs, other.runs))
        pairs = ((row.reports[i % row.runs], other.reports[i % other.runs]) for i in most)
        different = (_reports_differ(a, b, (first, name), macro) for a, b in pairs)
        if reason := next(filter(None, different), ""):
            reasons.append(f"{name} {reason}")
    return reasons


def _reports_differ(a: Report, b: Report, names: tuple[str, str], macro: bool) -> str:
    """Say why two reports cannot be compared; those from JSON, as far as is known."""
    if macro:
        counts = [a.macro_counts(), b.macro_counts()]  # None where they are not known
        if _groups(a) != _groups(b) or (None not in counts and counts[0] != counts[1]):
            return f"cannot be compared with {names[0]}: unlike groups, or weights of groups"
    if hasattr(a, "ranks") and hasattr(b, "ranks"):
        try:
            pair_ranks(a, b, names)
        except InputValueError as error:
            return str(error.problem).partition("; allow_unlike")[0]
        return ""
    differences = [f"protocol: {difference}" for difference in a.protocol.differences(b.protocol)]
    for name, x, y in zip(("tasks", "weights", "candidates"), _sizes(a), _sizes(b), strict=True):
        differences += [f"{name}: {x} against {y}"] * (x != y and None not in (x, y))
    return f"cannot be compared with {names[0]}: {'; '.join(differences)}" if differences else ""


def _groups(report: Report) -> tuple[Any, ...]:
    return report.group_tasks(report.sides[0]), report.macro_weighting


def _sizes(report: Report) -> tuple[Any, ...]:
    summary = report.held_summary()
    ends = None if summary is None else (summary.candidates_min, summary.candidates_max)
    return report.tasks(report.sides[0]), describe_weights(report), ends


def _doubts(rows: Rows) -> Iterator[str]:
    """Say the worst that some checks of the audit find in the runs of each model, each once."""
    models: dict[str, list[str]] = {}
    for name, row in rows.items():
        worst: dict[str, Finding] = {}
        for finding in itertools.chain(*(report.audit(*DOUBTS) for report in row.reports)):
            worst[finding.name] = max(worst.get(finding.name, finding), finding)
        for finding in worst.values():
            models.setdefault(finding.message, []).append(name)
    return (f"{', '.join(names)}: {message}." for message, names in models.items())


# -- differences -----------------------------------------------------------------------------------


def _differences(
    rows: Rows, keys: Sequence[str], against: str, options: Mapping[str, Any]
) -> tuple[set[tuple[int, str]], list[str]]:
    """Return the cells that differ significantly from the best model or a given one, and notes.

    The best is chosen by the same ranks, so Holm's rule is over all pairs of models then, whichever
    is the best; for a given model it is over the pairs with this one.
    """
    reference = choice("against", against, (*rows, BEST))
    if len(rows) < 2:
        raise InputValueError("against", expected="at least two models", got=len(rows))
    is_named = reference in rows
    asked = {key: reference if is_named else _best(rows, key) for key in keys}
    asked = {k: model for k, model in asked.items() if model and parse(k).metric != COUNT}
    if not asked:
        return set(), ["No column has values that can be tested."]
    names = [(reference, name) for name in rows if name != reference]
    pairs = _compared(rows, names if is_named else itertools.combinations(rows, 2), asked, options)
    alpha = error_rate(options["level"])
    unlike = {
        (pair.metric, name)
        for pair in pairs
        if pair.p_holm is not None and pair.p_holm <= alpha
        for name in ((pair.name_a, pair.name_b), (pair.name_b, pair.name_a))
    }
    marks = {
        (i, key)
        for key, model in asked.items()
        for i, name in enumerate(rows)
        if (str(parse(key)), (name, model)) in unlike
    }
    who = reference if is_named else "the best of its column"
    said = f"{DAGGER} differs from {who}" if marks else f"Nothing differs from {who}"
    tests = " and ".join(dict.fromkeys(pair.method for pair in pairs))
    how = f"{tests}, p <= {alpha:g} by Holm's rule over {format_count(len(pairs), COUNTED)}."
    of_all = [note for note in format_notes(pairs) if all(note in pair.notes for pair in pairs)]
    of_some = [tuple(note for note in pair.notes if note not in of_all) for pair in pairs]
    notes = (f"{note[:1].upper()}{note[1:]}." for note in (*of_all, *count_notes(of_some, COUNTED)))
    return marks, [f"{said}: {how}", *notes]


def _best(rows: Rows, key: str) -> str:
    """Return the name of the first model with the best value, or "" if there is none."""
    values = {name: row[key] for name, row in rows.items() if row[key] == row[key]}
    upward = increasing(key)
    if upward is None or not values:
        return ""
    return (max if upward else min)(values, key=values.__getitem__)


def _compared(
    rows: Rows, names: Iterable[tuple[str, str]], keys: Iterable[str], options: Mapping[str, Any]
) -> list[Comparison]:
    """Compare pairs of models by every key, and correct the p-values of all of them together."""
    models = {name: row if row.runs > 1 else row.reports[0] for name, row in rows.items()}
    pairs = (compare({a: models[a], b: models[b]}, metric=list(keys), **options) for a, b in names)
    return corrected(list(itertools.chain.from_iterable(pairs)))
