"""Published numbers next to ours: four papers, their data and results, and tables of toolkits.

    python bench/studies/reproduce.py DATA_FOLDER [--output FOLDER] [--figures FILE]

Prints the summary and writes reproduce.md; --figures writes a table of all figures, one in each
line. DATA_FOLDER holds kinships, wn18rr and dbp15k_zh_en. Tables are taken whole: what does not
agree stands in them, with the reason. Needs scipy; takes about half a minute.

What is published lies in tables beside this file (.tsv), as it is printed. `reproduce_figures.py`
has the rule by which figures agree, `reproduce_papers.py`, `reproduce_formulas.py` and
`reproduce_tables.py` make ours.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pages import bullet_list, format_page, markdown_table
from reproduce_alignment import graphs, labels, results, splits
from reproduce_figures import (
    AGREES,
    BOUNDED,
    CHECKS,
    COLUMNS,
    COMPUTED,
    EXPLAINED,
    FOLLOWS,
    GIVEN,
    HERE,
    IMPOSSIBLE,
    OPEN,
    SIMULATED,
    VERDICTS,
    Figure,
    records,
)
from reproduce_formulas import formulas
from reproduce_papers import (
    chance_constants,
    kinships,
    other_runs,
    sizes_of_graphs,
    statements,
    table_1,
    unseen,
)
from reproduce_tables import toolkits

PARTS: tuple[Callable[[Path], Iterator[Figure]], ...] = (
    kinships,
    other_runs,
    chance_constants,
    table_1,
    statements,
    formulas,
    graphs,
    labels,
    results,
    splits,
    sizes_of_graphs,
    unseen,
    toolkits,
)

SOURCES = {
    "A Unified Framework": "Hoyt et al., 2022; its results are those of "
    "github.com/pykeen/ranking-metrics-manuscript (0269797): the results of each run, "
    "collated.tsv and candidates.tsv",
    "On the Ambiguity": "Berrendorf et al., 2020",
    "A Critical Assessment": "Berrendorf, Wacker and Faerman, 2021",
    "OpenEA": "Sun et al., 2020",
    "PyKEEN": "github.com/pykeen/pykeen (05c7bbb), README",
    "LibKGE": "github.com/uma-pi1/kge (9bca31f), README; the tables of CoDEx are those of CoDEx's "
    "README, too",
    "CoDEx": "github.com/tsafavi/codex (3132e42), README",
    "RotatE": "github.com/DeepGraphLearning/KnowledgeGraphEmbedding (2e440e0), README",
    "DGL-KE": "github.com/awslabs/dgl-ke (e00bccf), examples/README",
    "PyTorch-BigGraph": "github.com/facebookresearch/PyTorch-BigGraph (6fccd3f), README",
    "GraphVite": "github.com/DeepGraphLearning/graphvite (5aad6dc), doc/source/benchmark.rst",
    "AmpliGraph": "github.com/Accenture/AmpliGraph (260a732), docs",
    "TorchDrug": "github.com/DeepGraphLearning/torchdrug (6066fbd), "
    "doc/source/benchmark/reasoning.rst",
    "NBFNet": "github.com/DeepGraphLearning/NBFNet (eb49ff2), README",
    "ConvE": "github.com/TimDettmers/ConvE (f3c0eb2), README",
    "TuckER": "github.com/ibalazevic/TuckER (23aff59), README",
    "kbc": "github.com/facebookresearch/kbc (248e931), README",
}

LISTED = 64  # figures of a table that are shown one by one
GOOD = (AGREES, SIMULATED)
BAD = (EXPLAINED, IMPOSSIBLE, OPEN)

Judged = list[tuple[Figure, str, str]]  # with the verdict, and why


def judge(figures: Iterable[Figure]) -> Judged:
    """Return figures with what came of them."""
    return [(figure, *figure.judge()) for figure in figures]


def summary(judged: Judged) -> str:
    """Return how many figures agree, and how many do not."""
    verdicts = Counter(verdict for _, verdict, _ in judged)
    checks = Counter(figure.check for figure, verdict, _ in judged if verdict in GOOD)
    good, bad = (sum(verdicts[name] for name in names) for names in (GOOD, BAD))
    return (
        f"{good + bad:,} figures: {good:,} agree ({checks[COMPUTED]:,} computed, of which "
        f"{verdicts[SIMULATED]:,} to the error of the authors' simulation; {checks[FOLLOWS]:,} "
        f"that follow from other printed figures; {checks[BOUNDED]:,} within bounds), {bad:,} do "
        f"not, of which {verdicts[EXPLAINED]:,} are explained, {verdicts[IMPOSSIBLE]:,} impossible "
        f"and {verdicts[OPEN]:,} open. {verdicts[GIVEN]:,} more figures of the same tables are "
        "given: nothing here determines them."
    )


# -- page ------------------------------------------------------------------------------------------


def overview(judged: Judged) -> str:
    """Return one line for each table."""
    groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    needs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for figure, verdict, _ in judged:
        place = figure.source, figure.table
        groups[place][verdict] += 1
        if verdict in GOOD:
            groups[place][figure.check] += 1
        if verdict != GIVEN:
            needs[place].update(figure.needs.split(", "))
    names = (COMPUTED, FOLLOWS, BOUNDED, EXPLAINED, IMPOSSIBLE, OPEN, GIVEN)
    heading = (
        "source",
        "table",
        "needs",
        "agree: computed",
        "follow",
        "within bounds",
        "do not: explained",
        "impossible",
        "open",
        "given",
    )
    rows = [
        (*place, ", ".join(sorted(needs[place])), *(f"{counts[name]:,}" for name in names))
        for place, counts in groups.items()
    ]
    return markdown_table(heading, rows, text_columns=3)


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
    heading = ("source", "verdict", "why", "figures", "largest difference")
    return markdown_table(heading, rows, text_columns=3)


def listing(judged: Judged) -> str:
    """Return the figures of small tables one by one."""
    rows = []
    for figure, verdict, why in judged:
        found = f"{verdict}: {why}" if why else verdict
        rows.append((*figure[:4], found, figure.printed, figure.ours))
    heading = ("source", "table", "row", "column", "verdict", "printed", "ours")
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
    heading = ("source", "table", "column", "check", "verdicts", "figures", "largest difference")
    return markdown_table(heading, rows, text_columns=5)


def page(judged: Judged) -> str:
    """Return the page."""
    compared = [row for row in judged if row[1] != GIVEN]
    sizes = Counter((figure.source, figure.table) for figure, _, _ in compared)
    small = [row for row in compared if sizes[row[0].source, row[0].table] <= LISTED]
    large = [row for row in compared if sizes[row[0].source, row[0].table] > LISTED]
    widths = sorted(
        figure.ours.high - figure.ours.low
        for figure, verdict, _ in compared
        if figure.check == BOUNDED and figure.ours is not None and verdict in GOOD
    )
    text = f"""# Published numbers, made again

Made by `python bench/studies/reproduce.py DATA_FOLDER`. Tables are taken whole: what does not agree
stands in them, with the reason. Of the running text, numbers are taken that name a data set, or the
cells of a table that they are about.

**{summary(judged)}**

One rule holds for all. A figure as printed stands for all numbers within half a unit of its last
place. Ours is a number, or the numbers that other printed figures allow, as these are rounded, too.
They agree if they meet. Sums in another order differ in their last bits, so that nothing is told
apart below 1e-12 of a value, or 1e-6 where the authors computed in single precision (realistic
ranks of Kinships and of the other runs).

{bullet_list([f"**{name}**: {meaning}." for name, meaning in {**CHECKS, **VERDICTS}.items()])}

Bounds are weak evidence: half of them are wider than {widths[len(widths) // 2]:.3f}, and a wrong
figure within them is not found. The validation hits@1 of Table 5 must be multiples of 1 / 1,800,
which one number of four digits in five is by accident.

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

`--figures FILE` writes all of these.

{by_column(large)}

## Sources

{bullet_list([f"**{name}**: {place}." for name, place in SOURCES.items()])}
"""
    return format_page(text)


def write_figures(figures: Iterable[Figure], path: Path) -> None:
    """Write all figures, one in each line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(records(figures))


def main(data: Path, output: Path, figures: Path | None) -> None:
    """Make all figures again, print the summary and write the page."""
    every = [figure for part in PARTS for figure in part(data)]
    if figures is not None:
        write_figures(every, figures)
    judged = judge(every)
    print(summary(judged))
    (output / "reproduce.md").write_text(page(judged), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--figures", type=Path)
    main(**vars(parser.parse_args()))
