"""The page of `calibration.py`: its cells, and what they tell together."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from pages import format_page, markdown_table

REPEATS = 400  # of intervals
RARE_REPEATS = 1500  # of intervals of rare kinds, so that 93.1 % is told from 92 %
LARGEST = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 1.0)  # the samples are told apart at these shares
COMPARED = ("mrr", "hits@10", "mr", "gmr")
OF_DESIGNS = (*COMPARED, "median")
GOOD = (0.93, 0.975)
DESIGNS = ("few units", "large unit", "relations")
RARE = "rare kinds"
BY_T = "rare kinds, t alone"
SHARES = "shares"
BY_WINS = "shares, Clopper and Pearson"
APART = (*DESIGNS, RARE, BY_T, SHARES, BY_WINS)  # whose cells have tables of their own


class Cell(NamedTuple):
    """A metric in samples of so many units of one population.

    Attributes
    ----------
    question : str
        "interval" of one model, "difference" of two, "equal" models (which change places at random
        in each unit), "runs" of one model by two sets of seeds; "few units", "large unit",
        "relations" and "rare kinds", of intervals; "rare kinds, t alone", of those by t.
    units : int
        0 where samples of several numbers are taken together.
    largest : float
        The share that weights give to one unit, 0 where there are no weights; of "relations", the
        least share of the largest.
    covered, rejected : float
        The share of the intervals that hold the true value, and of the p-values below 0.05.
    width : float
        The median width of the intervals, by that of the central 95 % of the estimates.
    apart : float
        The share of results whose p-value and interval contradict each other.
    """

    question: str
    population: str
    drawn: str
    units: int
    largest: float
    metric: str
    covered: float
    rejected: float
    width: float
    apart: float
    samples: int

    @property
    def name(self) -> tuple[object, ...]:
        return (
            self.question,
            self.population,
            self.drawn,
            self.units,
            self.largest,
            self.metric,
        )

    @property
    def good(self) -> bool:
        return GOOD[0] <= self.covered <= GOOD[1]


def told(cells: list[Cell]) -> list[str]:
    """The number of cells, of good ones, the range of coverage, the mean width, the rejections."""
    if not cells:
        return ["0", "", "", "", ""]
    widths = [cell.width for cell in cells if not np.isnan(cell.width)]
    width = f"{np.mean(widths):.2f}" if widths else ""
    covered = percentages([cell.covered for cell in cells])
    rejected = percentages([cell.rejected for cell in cells if not np.isnan(cell.rejected)])
    good = sum(cell.good for cell in cells)
    return [str(len(cells)), str(good), covered, width, rejected]


def percentages(shares: list[float]) -> str:
    """The least and the greatest of some shares, in percent."""
    if not shares:
        return ""
    return f"{100 * min(shares):.1f} to {100 * max(shares):.1f}"


def table_of_questions(cells: list[Cell]) -> str:
    """Tell the cells of each question, way of drawing and metric."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.question not in APART:
            groups[cell.question, cell.drawn, cell.metric].append(cell)
    heading = "question | drawn | metric | cells | good | covered | width | rejected"
    rows = [list(name) + told(group) for name, group in groups.items()]
    return markdown_table(heading, rows, text_columns=3)


def table_of_designs(cells: list[Cell]) -> str:
    """The mean coverage over the populations for each design and metric, and the least of them."""
    groups: dict[tuple[str, int, float], dict[str, list[float]]] = {}
    for cell in cells:
        if cell.question in DESIGNS:
            columns = groups.setdefault((cell.question, cell.units, cell.largest), {})
            columns.setdefault(cell.metric, []).append(100 * cell.covered)
    rows = []
    for (question, units, largest), columns in sorted(groups.items()):
        coverage = []
        for metric in OF_DESIGNS:
            covered = columns[metric]
            coverage.append(f"{np.mean(covered):.1f} ({min(covered):.0f})")
        row = [question, "", share_of_design(question, largest)]
        if units:
            row[1] = str(units)
        rows.append(row + coverage)
    heading = ["design", "units", "largest"]
    heading += OF_DESIGNS
    return markdown_table(heading, rows)


def table_of_rare_kinds(cells: list[Cell]) -> str:
    """The coverage of intervals and of t alone, and how much wider they are than those of t."""
    named = {cell.name: cell for cell in cells}
    rows = []
    for name, cell in named.items():
        if cell.question != RARE:
            continue
        by_t = named[BY_T, *name[1:]]
        width = ""
        if by_t.width > 0:  # not nan, where no sample varies
            width = f"{cell.width / by_t.width:.2f}"
        covered = [f"{100 * found.covered:.1f}" for found in (cell, by_t)]
        rows.append([cell.population, cell.metric, str(cell.units), *covered, width])
    heading = "population | metric | units | covered | covered by t | width by that of t"
    return markdown_table(heading, rows, text_columns=2)


def table_of_shares(cells: list[Cell]) -> str:
    """The coverage of `compare` and of Clopper and Pearson's bounds for shares of hits."""
    named = {cell.name: cell for cell in cells}
    rows = []
    for name, cell in named.items():
        if cell.question == SHARES:
            shares = [cell.covered, named[BY_WINS, *name[1:]].covered, cell.rejected]
            rows.append([cell.population, str(cell.units)] + [f"{100 * x:.1f}" for x in shares])
    heading = "one alone hits | units | covered | covered by wins | rejected"
    return markdown_table(heading, rows, text_columns=1)


def rare_numbers(cells: list[Cell]) -> dict[str, object]:
    """How many cells of rare kinds there are, and the range of their coverage in percent."""
    covered = {question: [] for question in (RARE, BY_T)}
    for cell in cells:
        if cell.question in covered:
            covered[cell.question].append(cell.covered)
    return {
        "number_rare": len(covered[RARE]),
        "covered_rare": percentages(covered[RARE]),
        "covered_by_t": percentages(covered[BY_T]),
    }


def share_of_design(question: str, largest: float) -> str:
    """Write the share of the largest unit, or between which shares it was."""
    if question == "relations":
        end = LARGEST[LARGEST.index(largest) + 1]
        return f"{100 * largest:.0f} to {100 * end:.0f} %"
    if not largest:
        return ""
    return f"{100 * largest:.0f} %"


def page(cells: list[Cell], new: set[str]) -> str:
    """Write the page: the good cells of old populations and of new ones, designs, all cells."""
    old_cells = [cell for cell in cells if cell.population not in new]
    new_cells = [cell for cell in cells if cell.population in new]
    judged = [cell for cell in cells if cell.question not in APART]
    good_old, all_old = count_good(old_cells)
    good_new, all_new = count_good(new_cells)
    heading = "question | population | drawn | units | metric | covered | rejected | width | good"
    text = PAGE.format(
        good_old=good_old,
        all_old=all_old,
        good_new=good_new,
        all_new=all_new,
        apart=sum(cell.apart > 0 for cell in judged),
        old=table_of_questions(old_cells),
        new=table_of_questions(new_cells),
        names=", ".join(dict.fromkeys(cell.population for cell in new_cells)),
        designs=table_of_designs(cells),
        **rare_numbers(cells),
        rare=table_of_rare_kinds(cells),
        repeats_rare=RARE_REPEATS,
        repeats_shares=REPEATS,
        shares=table_of_shares(cells),
        apart_shares=sum(cell.apart > 0 for cell in cells if cell.question == SHARES),
        cells=markdown_table(heading, map(row_of, judged), text_columns=3),
    )
    return format_page(text)


def row_of(cell: Cell) -> list[str]:
    """Write a cell of the last table."""
    rejected = good = ""
    if not np.isnan(cell.rejected):
        rejected = f"{100 * cell.rejected:.1f}"
    if not cell.good:
        good = "no"
    row = [cell.question, cell.population, cell.drawn, str(cell.units), cell.metric]
    row += [f"{100 * cell.covered:.1f}", rejected, f"{cell.width:.2f}", good]
    return row


def count_good(cells: list[Cell]) -> tuple[int, int]:
    """The number of good cells, and of all that are judged: not those of single designs."""
    judged = [cell for cell in cells if cell.question not in APART]
    return sum(cell.good for cell in judged), len(judged)


PAGE = """# How often intervals hold the true value, and how often tests reject

Made by `python bench/studies/calibration.py DATA_FOLDER VECTORS_FOLDER`, whose text says what is
drawn.

A cell is good if its intervals hold the true value in 93 to 97.5 % of *all* samples, whether a
result carries a note or not. {good_old} of {all_old} cells are good of the populations by which the
formulas were chosen, and {good_new} of {all_new} of those by which nothing was. With the 400
samples of intervals a cell that covers 95 % is found between 92.8 and 97.2 % in 95 of 100 cases,
with the 100 of comparisons between 90 and 99 %, so that many of the others are chance. `width` is
the median width by that of the central 95 % of the estimates: 1 is ideal. `covered` and `rejected`
are the least and the greatest share in percent; `rejected` is the size of the test where models are
equal, else its power. In {apart} cells a p-value and its interval contradict each other.

- *interval*: of one model. *difference*: of two models, of which the true difference is known.
- *equal*: the two models change places at random in each unit, so that the test should reject 5 %.
- *runs*: two sets of runs of one model, by the two-level t.

Bounds of medians are ranks, which are whole numbers: where few ranks are possible, they cover more
than 95 %. All cells but those of rare kinds and of shares were measured before intervals reached as
far as unseen units allow, which makes none of them narrower, and those of *difference* and *equal*
while sign flips were made of any number of units, and for mr the larger p of those and t.

## Populations by which the formulas were chosen

{old}

## Populations by which nothing was chosen

{names}: made by the script from data that everyone can get. The rule of a good cell is the same.

{new}

## Where a note is due

Coverage in percent by the design alone: the mean over all populations, in brackets the least. *few
units*: triples of equal weight. *large unit*: triples of which one has this share of the weight,
which hangs on nothing. *relations*: 5 to 36 relations with all of their triples, by the share of
the largest. A note is due where the mean is below 93 %.

{designs}

## Rare kinds

Where a few units are of a kind that a sample may lack, t does not know of them: it holds the true
value in {covered_by_t} % of the samples of these {number_rare} cells, of {repeats_rare:,} samples
each. A mean of f with a range reaches at least as far as units that were not drawn may move it, s
of the way to either end, s = 1 - (alpha / 2)^(1 / units), and covers {covered_rare} %. The
populations have 5,000 candidates and a task in each unit: *weak* has 1.5 % of its ranks in the
first ten, the rest anywhere beyond; *nearly perfect* 1.5 % beyond ten, the rest 1 or 2; *mixed* a
fifth of first places and 2 % beyond ten, the rest log-normal, as in *usual*; *chance* all ranks
equally often. Widths are medians; those of t are 0 where most samples do not vary. Bounds of hits
are those of Wilson, and of Clopper and Pearson.

{rare}

## Shares near 0 and 1

Of how many samples `compare` holds the true difference of hits where one model alone hits the first
share of the tasks and the other alone the second, and how many it rejects, of {repeats_shares}
samples. Beside it Clopper and Pearson's bounds of the wins among the unlike hits, *m* / *units*
(2 *share* - 1), which take *m* for known. In {apart_shares} cells a p-value and its interval
contradict each other.

{shares}

## All cells

Shares in percent. Those of the designs are in calibration.tsv.

{cells}
"""
