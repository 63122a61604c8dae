"""The tables of docs/ties.md and docs/other-tools.md; run it to write them again.

PYTHONPATH=python:tests python tests/support/constant_scorer.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

import truerank as tr
from truerank import compat
from truerank.tables.forms import markdown_cell

CANDIDATES = 1000
KEYS = ("mr", "mrr", "hits@1", "hits@10")
KINDS = ("optimistic", "realistic", "expected", "pessimistic")
DOCS = Path(__file__).parents[2] / "docs"
OWN = "the true candidate is among its own negatives"
# These terms, which the page explains, stand for words that many rows have.
SHORT = {
    r"filtered candidates score (\S+) and stay: they (tie with|count if)[^;]*": r"filler \1",
    f"{OWN}, and ties with itself without a filter": "own negative",
    f"{OWN}, scored as if it were filtered": "own negative, filled",
}
FIRST = [0]
LAST = [CANDIDATES - 1]
EACH = np.arange(CANDIDATES)


def table(score: float, targets: Sequence[int] | np.ndarray) -> compat.CompatTable:
    """Evaluate tasks whose candidates all have the same score, under all presets."""
    scores = np.full((1, CANDIDATES), score, np.float32)
    return compat.table(scores, targets, rows=np.zeros(len(targets), np.int64))


def tables_by_page() -> dict[str, dict[str, str]]:
    """Return the tables of each page, as Markdown, by name."""
    exact = _markdown("kind | mr | mrr | hits@1 | hits@10 | mrr, adjusted", _exact_rows())
    heading = "preset | all equal | all NaN | ties | toolkit: version | what else differs"
    toolkits = _markdown(heading, _toolkit_rows(), text_columns=6)
    return {"ties.md": {"exact": exact}, "other-tools.md": {"toolkits": toolkits}}


def _toolkit_rows() -> Iterator[list[str]]:
    """Yield a row for each preset, with the mrr of scores that are all equal, or all NaN."""
    zeros = [table(0.0, targets) for targets in (FIRST, EACH, LAST)]
    nans = [table(float("nan"), targets) for targets in (FIRST, EACH, LAST)]
    for name, row in compat.PRESETS.items():
        steps = [(step, reached.says(step)) for step, reached in row.convention.steps()]
        others = "; ".join(words for step, words in steps if step not in ("rank", "nan"))
        for words, term in SHORT.items():
            others = re.sub(words, term, others)
        cells = [f"`{name}`", _range(zeros, name, "mrr"), _range(nans, name, "mrr")]
        for text in (row.convention.rank, f"{row.toolkit}: {row.version}", others):
            cells.append(markdown_cell(text))
        yield cells


def write_pages() -> None:
    """Replace the tables of the pages, each of which stands behind a comment with its name."""
    for page, tables in tables_by_page().items():
        text = (DOCS / page).read_text(encoding="utf-8")
        for name, found in tables.items():
            marked = re.compile(rf"(<!-- table: {name} -->\n\n)(?:\|[^\n]*\n)*\n*")
            before, mark, after = marked.split(text)
            text = f"{before}{mark}{found}\n{after}"
        (DOCS / page).write_text(text, encoding="utf-8")


def _exact_rows() -> list[list[str]]:
    report = tr.evaluate(np.zeros((1, CANDIDATES), np.float32), [0])
    rows = []
    for kind in KINDS:
        numbers = [report[f"{kind}.{key}"] for key in KEYS]
        numbers.append(report[f"{kind}.index.mrr"])
        rows.append([kind, *map(_number, numbers)])
    return rows


def _range(tables: Sequence[compat.CompatTable], name: str, key: str) -> str:
    """Return the least and the greatest number, wherever the true candidates stand."""
    ends_of_tables = [found[name].ends[key] for found in tables]
    ends = min(map(min, ends_of_tables)), max(map(max, ends_of_tables))
    return " to ".join(dict.fromkeys(map(_number, ends)))


def _number(value: float) -> str:
    value = round(value, 12)  # What is 0 but for rounding is 0.
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _markdown(heading: str, rows: Iterable[list[str]], text_columns: int = 1) -> str:
    names = heading.split(" | ")
    rule = [":---"] * text_columns + ["---:"] * (len(names) - text_columns)
    lines = [names, rule]
    lines += rows
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    write_pages()
