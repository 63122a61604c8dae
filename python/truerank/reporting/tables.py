"""Several models in one table, with the best of each column and notes on the comparison."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inference.comparing import compare, corrected
from ..inference.comparisons import Comparisons, count_notes, format_notes
from ..inference.sign_flips import error_rate
from ..inference.units import COUNT, UNIT
from ..inputs.checks import choice, confidence
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import printable, public
from ..metrics import UnknownKeyError, parse
from ..metrics.keys import increasing, table_name
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count
from ..tables.forms import write_json
from .axes import FEW_METRICS, unique_keys
from .notes import NOTES, fingerprints, unlike_protocols
from .repeats import Repeats, check_reports, common_keys
from .reports import Report

if TYPE_CHECKING:
    from ..inference.comparisons import Comparison
    from ..ranks.labels import LabelsLike
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


Runs = Report | Repeats | Sequence[Report]  # of one model

JSON_KIND = "truerank.table"
JSON_FORMAT = 1


@public("truerank.reporting")
class Models(Mapping[str, Repeats], AsTable):
    """Models by name, each with one Report or several: `table[name][key]` is the mean.

    `table` makes it. The printed table sets the best of a column in bold, or has an asterisk behind
    it in plain text: all models whose printed mean equals that of the best one. For an index higher
    is better; for ratio and z the direction is that of their metric. Where differences were tested,
    a dagger follows the values that differ significantly.

    Attributes
    ----------
    metrics : tuple of str
        The columns, keys of reports.
    notes : tuple of str
        What limits the comparison: protocols that differ, numbers of a test split that are
        compared, a protocol without a split, differences in tasks, numbers of candidates, weights
        or groups of macro averages, candidates of the test alone, and ties that move a number. All
        runs of a model are checked. Then what a dagger says, and what limits the tests.
    comparisons : Comparisons or None
        The tests, if there were any.

    Examples
    --------
    >>> import truerank as tr
    >>> models = {"A": tr.report(tr.Ranks([0], [1], 10)), "B": tr.report(tr.Ranks([3], [1], 10))}
    >>> made = table(models, ["mr", "amri"])
    >>> made.best("mr")
    ['A']
    >>> print(made.to_csv(), end="")
    model,mr,amri
    A,1.0,1.0
    B,4.0,0.3333333333333333
    >>> print(made.to_markdown(notes=False))
    | model | MR ↓ | AMRI ↑ |
    | :--- | ---: | ---: |
    | A | **1** | **1** |
    | B | 4 | 0.3333 |
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        rows: Mapping[str, Repeats],
        metrics: Sequence[str],
        notes: Sequence[str],
        marks: DifferenceMarks | None = None,
    ) -> None:
        self._rows = dict(rows)
        self.metrics = tuple(metrics)
        self.notes = (*notes, *(() if marks is None else marks.notes))
        self.comparisons = None if marks is None else marks.comparisons
        self._differing = frozenset() if marks is None else marks.cells

    def __getitem__(self, name: str) -> Repeats:
        """The runs of a model."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        models = format_count(len(self), "model")
        return printable(f"Models({models}: {', '.join(self)}; {', '.join(self.metrics)})")

    @property
    def repeated(self) -> bool:
        """Whether any model has several runs, so that there are standard deviations."""
        return any(row.runs > 1 for row in self._rows.values())

    def best(self, key: str) -> list[str]:
        """Return the models with the best mean of a key; several if they are equal.

        Parameters
        ----------
        key : str
            Any key that the reports have.

        Returns
        -------
        list of str
            Empty for a metric of which neither more nor less is better (std, variance, mad, count),
            and where all means are nan.

        Raises
        ------
        KeyError
            For an unknown key.
        """
        values = {name: row[key] for name, row in self._rows.items() if row[key] == row[key]}
        upward = increasing(key)
        if upward is None or not values:
            return []
        top = (max if upward else min)(values.values())
        return [name for name, value in values.items() if value == top]

    # -- forms -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the values by model and key, with "key std" and "runs" if one has several runs.

        Examples
        --------
        >>> import truerank as tr
        >>> table({"A": tr.report(tr.Ranks([0], [1], 10))}, ["mr"]).to_dict()
        {'A': {'mr': 1.0}}
        """
        found = self.table().to_dict()
        del found["model"]
        return {
            name: {column: values[i] for column, values in found.items()}
            for i, name in enumerate(self)
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return models, protocols and notes as a JSON object; nan becomes null."""
        content = {
            "kind": JSON_KIND,
            "format": JSON_FORMAT,
            "metrics": self.metrics,
            "models": self.to_dict(),
            "fingerprints": {name: fingerprints(row) for name, row in self.items()},
            "notes": self.notes,
        }
        if self.comparisons is not None:
            content["comparisons"] = self.comparisons.to_dict()
        return write_json(content, indent)

    def to_pandas(self) -> Any:
        """Return `to_dict` as a DataFrame with a row for each model."""
        return super().to_pandas().set_index("model")

    def table(self) -> Table:
        """Return a row for each model, with means and, if one has several runs, deviations."""
        columns = [Column("model")]
        cells: list[list[object]] = [list(self)]
        runs = self.values()
        if self.repeated:
            columns.append(Column("runs", only="data"))
            cells.append([row.runs for row in runs])
        for key in self.metrics:
            better: Any = {True: "higher", False: "lower", None: None}[increasing(key)]
            spread = f"{key} std" if self.repeated else None
            columns.append(Column(key, table_name(key), better=better, spread=spread))
            cells.append([row[key] for row in runs])
            if spread is not None:
                columns.append(Column(spread))
                cells.append([row.std(key) for row in runs])
        significant = [(list(self).index(name), key) for name, key in self._differing]
        return Table(columns, zip(*cells, strict=True), significant=significant, notes=self.notes)


@public("truerank")
def table(
    reports: Mapping[str, Runs] | Runs,
    metrics: str | Iterable[str] | None = None,
    *,
    allow_unlike: bool = False,
    against: str | None = None,
    level: float = 0.95,
    by: LabelsLike | None = UNIT,
) -> Models:
    """Put several models into one table: `table({"TransE": r1, "RotatE": [fold1, fold2]})`.

    Parameters
    ----------
    reports : mapping of name to Report or to several Reports
        Several Reports of one model (folds, seeds) give their mean and sample standard deviation.
        Reports without a name are of one model.
    metrics : str or iterable of str, optional
        The columns: keys of reports, with side and kind if needed. A few usual ones if not given.
    allow_unlike : bool
        Whether protocols may differ in their comparable fields, and runs of one model in their
        weights; a note then says how.
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
    Models

    Raises
    ------
    ValueError
        If there are no reports, if protocols differ between models or between runs of one model
        (the message lists how), and if runs of one model have different weights. For an unknown
        name of a model, and where `compare` raises one.
    TypeError
        For anything but Reports, and for a name that is not a str.
    KeyError
        For a key that a report does not have; the message names the model.

    Examples
    --------
    >>> import truerank as tr
    >>> folds = [tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]
    >>> table({"A": folds}, ["mr"]).to_dict()
    {'A': {'runs': 2, 'mr': 2.0, 'mr std': 1.4142135623730951}}
    >>> models = {"A": tr.report(tr.Ranks([0] * 9, [1] * 9, 9))}
    >>> models["B"] = tr.report(tr.Ranks([3] * 9, [1] * 9, 9))
    >>> print(table(models, ["mrr"], against="best").to_text(notes=False))
    model  MRR ↑
    A      1*
    B      0.25†
    """
    if isinstance(reports, (Report, Repeats)) or not isinstance(reports, Mapping):
        runs = _read_runs("", reports, allow_unlike)
        rows = {format_count(runs.runs, "run"): runs}
    else:
        rows = {name: _read_runs(name, value, allow_unlike) for name, value in reports.items()}
    if not rows:
        raise InputValueError("reports", expected="names and Reports, at least one", got="none")
    unlike = list(unlike_protocols(rows))
    if unlike and not allow_unlike:
        raise InputValueError(
            "reports",
            f"{' '.join(unlike)} Numbers of unlike protocols say nothing about the "
            f"models; allow_unlike=True puts them side by side all the same",
        )
    keys = common_keys(FEW_METRICS, rows.values()) if metrics is None else unique_keys(metrics)
    for name, row in rows.items():
        try:
            row.to_dict(keys)
        except UnknownKeyError as error:
            raise UnknownKeyError(error.argument, f"{error.problem} (of {name!r})") from None
    marks = None
    if against is not None:
        best = Models(rows, keys, ()).best
        options = {"level": confidence(level), "by": by, "allow_unlike": allow_unlike}
        marks = mark_differences(rows, keys, against, best, **options)
    notes = [*unlike, *(note for find in NOTES for note in find(rows, keys))]
    return Models(rows, keys, notes, marks)


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
