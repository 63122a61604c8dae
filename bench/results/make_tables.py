"""The tables of recorded runs, scores.md, vectors.md and avx2.md, made of figures.tsv and runs.tsv.

    python bench/results/make_tables.py [--table NAME --add FOLDER]

`--add` takes the run that `pytest bench --bench-out FOLDER` wrote as one more run of a table.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))  # for what they share
from pages import arguments, bullet_list, markdown_table, read_rows, write_rows

from harness.table import Row, format_row

HERE = Path(__file__).parent
FIGURES = HERE / "figures.tsv"
FACTS = HERE / "runs.tsv"
TABLES = {
    "scores": "Recorded runs: scores",
    "vectors": "Recorded runs: vectors",
    "avx2": "Recorded runs: a processor with AVX2 alone",
}
HEADING = "run | case | contestant | time | GB/s | MB | ratio | of / times | goal | met"
REMARK = "remark"


class Figure(NamedTuple):
    """A line of a table, as printed: a contestant, and what it is compared with."""

    table: str
    run: int
    case: str
    contestant: str
    time: str
    rate: str
    memory: str
    ratio: str
    against: str
    goal: str
    met: str


class Fact(NamedTuple):
    """What is known of a run: of its machine and its programs, or a remark."""

    table: str
    run: int
    fact: str
    text: str


def make_page(table: str, figures: list[Figure], facts: list[Fact]) -> str:
    """Return the page of a table: the facts of each run, all figures, the remarks."""
    parts = [f"# {TABLES[table]}"]
    for run in sorted({figure.run for figure in figures if figure.table == table}):
        known = [f for f in facts if (f.table, f.run) == (table, run) and f.fact != REMARK]
        parts.append(f"Run {run}:")
        parts.append(bullet_list([f"{fact.fact}: {fact.text}" for fact in known]))
    parts.append(markdown_table(HEADING, [f[1:] for f in figures if f.table == table], 3))
    remarks = [f for f in facts if f.table == table and f.fact == REMARK]
    if remarks:
        parts.append(bullet_list([f"run {fact.run}, {fact.text}" for fact in remarks]))
    return "\n\n".join(parts) + "\n"


def read_run(path: Path, table: str, run: int) -> tuple[list[Figure], list[Fact]]:
    """Return the figures and the facts that the benchmark wrote."""
    written = json.loads(path.read_text(encoding="utf-8"))
    figures = [Figure(table, run, *format_row(Row(**row))) for row in written["rows"]]
    facts = [Fact(table, run, name, text) for name, text in written["facts"].items()]
    facts += [Fact(table, run, REMARK, text) for text in written["remarks"]]
    return figures, facts


def main(table: str, add: str) -> None:
    """Add a run, if any, and write the tables."""
    figures: list[Figure] = read_rows(FIGURES, Figure)
    facts: list[Fact] = read_rows(FACTS, Fact)
    if add:
        run = 1 + max((f.run for f in figures if f.table == table), default=0)
        more, known = read_run(Path(add, "bench-results.json"), table, run)
        figures += more
        facts += known
        write_rows(FIGURES, figures)
        write_rows(FACTS, facts)
    for name in TABLES:
        (HERE / f"{name}.md").write_text(make_page(name, figures, facts), encoding="utf-8")


if __name__ == "__main__":
    main(**arguments(__doc__, table="scores", add=""))
