"""A table of the p-values of several questions, each with its corrections."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...inputs.checks import is_number, several
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tables.table_writer import Records, format_count
from ...tables.tabular import PlainTable
from ..paired_models.comparisons import Comparisons
from ..samples.cautions import gather, not_counted
from ..significance import PValue
from .corrections import CORRECTIONS, check_corrections

Path = tuple[str, ...]  # the names of a question, from the outermost to its own


@public("truerank.inference")
class CorrectedPValues(Mapping[Any, dict[str, float]], PlainTable):
    """The p-values of several questions and their corrections; made by `correct_pvalues`.

    As a mapping it leads from the name of a question (a tuple of names, where names are nested) to
    its p-values: `table["mrr"]["holm"]`.

    Attributes
    ----------
    methods : tuple of str
        The corrections.
    names : tuple of str
        The headings of the columns with names.
    notes : tuple of str
        What limits the p-values.

    Examples
    --------
    >>> found = correct_pvalues({"mrr": 0.01, "hits@1": 0.04, "hits@10": 0.03}, names=["metric"])
    >>> found["mrr"]
    {'p': 0.01, 'holm': 0.03, 'bh': 0.03}
    >>> print(found)
    metric      p  p (Holm)  p (Benjamini-Hochberg)
    mrr      0.01      0.03                    0.03
    hits@1   0.04      0.06                    0.04
    hits@10  0.03      0.06                    0.04
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        p_values: Mapping[Path, float],
        methods: Sequence[str],
        names: Sequence[str],
        notes: Sequence[str] = (),
    ) -> None:
        self.methods, self.names, self.notes = tuple(methods), tuple(names), tuple(notes)
        self._NAMES = len(self.names)
        given = list(p_values.values())
        columns = [given, *(CORRECTIONS[method].of(given) for method in self.methods)]
        rows = zip(*columns, strict=True)
        headings = ("p", *self.methods)
        self._rows = {
            path: dict(zip(headings, row, strict=True))
            for path, row in zip(p_values, rows, strict=True)
        }

    def __getitem__(self, name: Any) -> dict[str, float]:
        """The p-values of a question: "p", and one for each correction."""
        return dict(self._rows[name if isinstance(name, tuple) else (name,)])

    def __iter__(self) -> Iterator[Any]:
        return (path if len(self.names) > 1 else path[0] for path in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"CorrectedPValues({len(self)} p-values, {', '.join(self.methods)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the p-values of all questions, nested by their names."""
        nested: dict[str, Any] = {}
        for path, row in self._rows.items():
            inner = nested
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = dict(row)
        return nested

    def records(self) -> Records:
        """Return the heading and a row for each question."""
        titles = ["p", *(CORRECTIONS[method].title for method in self.methods)]
        rows = [[*path, *row.values()] for path, row in self._rows.items()]
        return Records([*self.names, *titles], rows, titles)


@public("truerank.inference")
def correct_pvalues(
    p_values: Any,
    *,
    methods: Iterable[str] = ("holm", "bh"),
    names: Iterable[str] | None = None,
) -> CorrectedPValues:
    """Correct the p-values of several questions: over metrics, data sets, groups or models.

    Of twenty true null hypotheses, one is rejected at 5 % on average. All questions that were asked
    belong into one family, those without a finding, too.

    Parameters
    ----------
    p_values : sequence, or mapping, also of mappings and sequences
        p-values from 0 to 1 (nan is left out and stays nan), and results that have one, such as
        `Comparison`, `PValue` and `Friedman`; the pairs of `Comparisons` are named "a against b".
        All of them, however deep, are one family. The members of a sequence are named "1", "2", and
        so on.
    methods : iterable of str
        The corrections, by the names that R's `p.adjust` gives them; m is the number of p-values.

        - "bonferroni", "holm" and "hochberg" hold the probability of one or more false rejections.
          Bonferroni multiplies each by m. Holm's rule (1979) multiplies the i-th smallest by
          m - i + 1; it holds as generally and rejects more. Hochberg's (1988) is the step-up rule
          with the same factors, for independent or positively dependent p-values.
        - "bh" (Benjamini and Hochberg 1995, factor m / i) and "by" (Benjamini and Yekutieli 2001,
          m / i times 1 + 1/2 + ... + 1/m) hold the expected share of false ones among the
          rejections: "bh" for independent or positively dependent p-values, "by" for all.
    names : iterable of str, optional
        The headings of the columns with names, one for each level: ["data set", "metric"].

    Returns
    -------
    CorrectedPValues
        With `to_dict`, `to_markdown`, `to_latex`, `to_csv`, `to_pandas`. Its notes are those of the
        comparisons, and how many p-values are nan.

    Raises
    ------
    ValueError
        For a p-value below 0 or above 1, an unknown correction, no p-values at all, mappings of
        unlike depth, and the wrong number of `names`.
    TypeError
        For anything that is no p-value and has none.

    Examples
    --------
    >>> found = correct_pvalues({"FB15k-237": {"mrr": 0.001, "mr": 0.2}, "WN18RR": {"mrr": 0.02}})
    >>> found["WN18RR", "mrr"]
    {'p': 0.02, 'holm': 0.04, 'bh': 0.03}
    >>> list(correct_pvalues([0.5, 0.01], methods=["by"]))
    ['1', '2']
    """
    chosen = check_corrections("methods", methods)
    found: dict[Path, tuple[float, tuple[str, ...]]] = {}
    for path, p, notes in _leaves(p_values, ()):
        if path in found:
            raise InputValueError(
                "p_values", expected="each name once", got=f"{_named(path)} twice"
            )
        found[path] = p, notes
    if not found or () in found:
        raise InputValueError(
            "p_values", expected="several p-values", got="one" if found else "none"
        )
    depth = max(map(len, found))
    for path in found:
        if len(path) < depth:
            problem = f"{_named(path)} is not nested as deeply as others"
            raise InputValueError("p_values", problem)
    default = ["question"] if depth == 1 else [f"level {i}" for i in range(1, depth + 1)]
    headings = default if names is None else [str(name) for name in several("names", names, "str")]
    if len(headings) != depth:
        expected = f"{format_count(depth, 'heading')}, one for each level of names"
        raise InputValueError("names", expected=expected, got=len(headings))
    said = gather({_named(path): notes for path, (_, notes) in found.items()})
    values = {path: p for path, (p, _) in found.items()}
    said += not_counted(sum(map(math.isnan, values.values())), len(values), "p-values are nan")
    return CorrectedPValues(values, chosen, headings, said)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, float, tuple[str, ...]]]:
    """The names, the p-value and the notes of each question."""
    if isinstance(value, PValue) or hasattr(value, "p_value"):
        found = value.p if isinstance(value, PValue) else value.p_value
        notes = tuple(getattr(value, "notes", ()))
        yield from ((path, p, notes) for _, p, _ in _leaves(found, path))
    elif isinstance(value, Comparisons):
        for pair in value:
            yield (*path, f"{pair.name_a} against {pair.name_b}"), pair.p_value, pair.notes
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif is_number(value):
        p = float(value)
        if not (0 <= p <= 1 or math.isnan(p)):
            raise InputValueError("p_values", expected="0 to 1", got=p, place=_named(path))
        yield path, p, ()
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for i, inner in enumerate(value, 1):
            yield from _leaves(inner, (*path, str(i)))
    elif getattr(value, "ndim", 0) > 0 and hasattr(value, "tolist"):
        yield from _leaves(value.tolist(), path)
    else:
        expected = "p-values, or what has one, in sequences or mappings"
        got = type(value).__name__
        raise InputTypeError("p_values", expected=expected, got=got, place=_named(path))


def _named(path: Path) -> str:
    return " / ".join(path)
