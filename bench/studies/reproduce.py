"""Published numbers next to ours: the papers on metrics, and the sizes of their data sets.

    python bench/studies/reproduce.py DATA_FOLDER [--output FOLDER]

Prints the summary and writes reproduce.md. DATA_FOLDER holds kinships, wn18rr and dbp15k_zh_en.
Tables are taken whole: what does not agree stands in them, with the reason. Takes half a minute.

What is published lies in tables beside this file (.tsv), as it is printed. `reproduce_figures.py`
reads them and has the rule by which figures agree; `reproduce_papers.py` and
`reproduce_formulas.py` make ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import reproduce_figures as f
import reproduce_papers as papers
from pages import arguments, bullet_list, format_page, markdown_table
from reproduce_figures import Figure
from reproduce_formulas import formulas

PARTS: tuple[Callable[[Path], Iterator[Figure]], ...] = (
    papers.kinships,
    papers.other_runs,
    papers.chance_constants,
    papers.table_1,
    papers.toy_graph,
    formulas,
    papers.sizes_of_graphs,
    papers.unseen,
    papers.sizes_of_alignments,
)

SOURCES = {
    "A Unified Framework": "Hoyt et al., 2022; its results are those of "
    "github.com/pykeen/ranking-metrics-manuscript (0269797): the results of each run, "
    "collated.tsv and candidates.tsv",
    "On the Ambiguity": "Berrendorf et al., 2020",
    "A Critical Assessment": "Berrendorf, Wacker and Faerman, 2021",
    "PyKEEN": "github.com/pykeen/pykeen (05c7bbb), README",
    "CoDEx": "github.com/tsafavi/codex (3132e42), README",
    "DGL-KE": "github.com/awslabs/dgl-ke (e00bccf), examples/README",
    "AmpliGraph": "github.com/Accenture/AmpliGraph (260a732), docs",
}

LISTED = 64  # figures of a table that are shown one by one
GOOD = (f.AGREES, f.SIMULATED)
BAD = (f.EXPLAINED, f.IMPOSSIBLE, f.OPEN)

Judged = list[tuple[Figure, str, str]]  # with the verdict, and why


def summary(judged: Judged) -> str:
    """Return how many figures agree, and how many do not."""
    verdicts = Counter(verdict for _, verdict, _ in judged)
    checks = Counter(figure.check for figure, verdict, _ in judged if verdict in GOOD)
    good, bad = (sum(verdicts[name] for name in names) for names in (GOOD, BAD))
    return (
        f"{good + bad:,} figures: {good:,} agree ({checks[f.COMPUTED]:,} computed, of which "
        f"{verdicts[f.SIMULATED]:,} to the error of the authors' simulation; "
        f"{checks[f.FOLLOWS]:,} that follow from other printed figures), {bad:,} do not, of which "
        f"{verdicts[f.EXPLAINED]:,} are explained, {verdicts[f.IMPOSSIBLE]:,} impossible and "
        f"{verdicts[f.OPEN]:,} open. {verdicts[f.GIVEN]:,} more figures of the same tables are "
        "given: nothing here determines them."
    )


def overview(judged: Judged) -> str:
    """Return one line for each table."""
    groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    needs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for figure, verdict, _ in judged:
        place = figure.source, figure.table
        groups[place][verdict] += 1
        if verdict in GOOD:
            groups[place][figure.check] += 1
        if verdict != f.GIVEN:
            needs[place].add(figure.needs)
    names = (f.COMPUTED, f.FOLLOWS, f.EXPLAINED, f.IMPOSSIBLE, f.OPEN, f.GIVEN)
    heading = "source | table | needs | agree: computed | follow | do not: explained | impossible"
    rows = []
    for place, counts in groups.items():
        row = list(place)
        row.append(", ".join(sorted(needs[place])))
        row += [f"{counts[name]:,}" for name in names]
        rows.append(row)
    return markdown_table(f"{heading} | open | given", rows, text_columns=3)


def reasons(judged: Judged) -> str:
    """Return one line for each reason why figures of a source do not agree."""
    groups: dict[tuple[str, str, str], list[Figure]] = defaultdict(list)
    for figure, verdict, why in judged:
        if verdict in BAD:
            groups[figure.source, verdict, why].append(figure)
    rows = [
        (*place, f"{len(figures):,}", f"{max(figure.difference for figure in figures):.2g}")
        for place, figures in groups.items()
    ]
    heading = "source | verdict | why | figures | largest difference"
    return markdown_table(heading, rows, text_columns=3)


def listing(judged: Judged) -> str:
    """Return the figures of small tables one by one."""
    rows = []
    for figure, verdict, why in judged:
        if why:
            verdict = f"{verdict}: {why}"
        rows.append((*figure[:4], verdict, figure.printed, figure.ours))
    heading = "source | table | row | column | verdict | printed | ours"
    return markdown_table(heading, rows, text_columns=5)


def by_column(judged: Judged) -> str:
    """Return one line for each column of a large table."""
    groups: dict[tuple[str, str, str], Judged] = defaultdict(list)
    for row in judged:
        groups[row[0].source, row[0].table, row[0].column].append(row)
    rows = []
    for place, group in groups.items():
        verdicts = Counter(verdict for _, verdict, _ in group)
        worst = max(figure.difference for figure, _, _ in group)
        found = "; ".join(f"{count:,} {verdict}" for verdict, count in verdicts.items())
        rows.append((*place, group[0][0].check, found, f"{len(group):,}", f"{worst:.2g}"))
    heading = "source | table | column | check | verdicts | figures | largest difference"
    return markdown_table(heading, rows, text_columns=5)


def page(judged: Judged) -> str:
    """Return the page."""
    compared = [row for row in judged if row[1] != f.GIVEN]
    sizes = Counter(figure[:2] for figure, _, _ in compared)
    small = [row for row in compared if sizes[row[0][:2]] <= LISTED]
    large = [row for row in compared if sizes[row[0][:2]] > LISTED]
    meanings = {**f.CHECKS, **f.VERDICTS}.items()
    text = f"""# Published numbers, made again

Made by `python bench/studies/reproduce.py DATA_FOLDER`. Tables are taken whole: what does not agree
stands in them, with the reason.

**{summary(judged)}**

One rule holds for all. A figure as printed stands for all numbers within half a unit of its last
place. Ours is a number, or the numbers that other printed figures allow, as these are rounded, too.
They agree if they meet. Sums in another order differ in their last bits, so that nothing is told
apart below 1e-12 of a value, or 1e-6 where the authors computed in single precision (realistic
ranks of Kinships and of the other runs).

{bullet_list([f"**{name}**: {meaning}." for name, meaning in meanings])}

## By table

{overview(judged)}

## What does not agree

The difference is relative to the figure.

{reasons(judged)}

Where a reason is named as explained, the study computes the figure in that way, and gets what is
printed.

## Small tables, every figure

{listing(small)}

## Large tables, by column

{by_column(large)}

## Sources

{bullet_list([f"**{name}**: {place}." for name, place in SOURCES.items()])}
"""
    return format_page(text)


def judge(figures: Iterable[Figure]) -> Judged:
    """Return figures with what came of them."""
    return [(figure, *figure.judge()) for figure in figures]


def main(data: Path, output: Path) -> Judged:
    """Make all figures again, print the summary and write the page."""
    judged = judge(figure for part in PARTS for figure in part(data))
    print(summary(judged))
    (output / "reproduce.md").write_text(page(judged), encoding="utf-8")
    return judged


if __name__ == "__main__":
    main(**arguments(__doc__, "data", output=f.HERE))
