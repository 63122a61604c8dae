"""The presets of `truerank.compat`, held against the evaluation code of the toolkits themselves.

    python bench/studies/toolkits.py FOLDER [--only REGEX] [--seeds 3] [--output FOLDER]

FOLDER holds clones of the toolkits' repositories, each under its own name (`git clone`; bare ones
do as well); packages are imported. The code of the stated commit is run on random float32 scores
with ties, near ties, NaN, infinities, saturated values and the toolkits' own sentinels; each rank
and each number must be that of the preset, or within its bounds. Toolkits that were run replace
their rows in toolkits.tsv, from which toolkits.md is written: so environments with different
packages make one page.
"""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pages import arguments, format_page, markdown_table, read_rows, write_rows
from toolkit_code import Array, Case, Code, NotFoundError, Outcome, Toolkit
from toolkit_rows import TOOLKITS

from truerank import compat

HERE = Path(__file__).parent
EARLIER = "137fa8fa"  # the commit with the form of this study that ran further toolkits
TASKS, COLUMNS = 40, 40
PRECISION = 2e-6  # of means in float32, whose order of summation differs


# -- scores ----------------------------------------------------------------------------------------

NAN = np.nan
INF = np.inf
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1.0, 1.00005, 1.0002, -1000, -999.95)
SENTINELS = (-1.0, 0.0, -1e6, -1e7, -1e9, -INF, 0.5, 0.25, -0.75)


def rounded(rng: np.random.Generator) -> Array:
    """Ties, and nothing else."""
    return rng.normal(0, 1, (TASKS, COLUMNS)).round(1)


def special(rng: np.random.Generator) -> Array:
    """NaN, infinities and near ties among ties."""
    return np.where(rng.random((TASKS, COLUMNS)) < 0.15, rng.choice(SPECIAL, (TASKS, COLUMNS)),
                    rounded(rng))  # fmt: skip


def neighbours(rng: np.random.Generator) -> Array:
    """Neighbouring floats."""
    start = rng.choice(np.array([1.3, 0.001, 60.0, -2.0, 1e-7], np.float32), (TASKS, 1))
    return (start.view(np.int32) + rng.integers(-6, 6, (TASKS, COLUMNS), np.int32)).view(np.float32)


def thousandths(rng: np.random.Generator) -> Array:
    """Scores around 0, some thousandths apart."""
    return rng.normal(0, 0.005, (TASKS, COLUMNS))


def saturated(rng: np.random.Generator) -> Array:
    """Values around 1e7 and 1e9 of either sign, a few units in the last place apart."""
    start = rng.choice(np.array([1e7, -1e7, 1e9, -1e9, 2.1e6, -2.1e6], np.float32), (TASKS, 1))
    return start + np.spacing(start) * rng.integers(-4, 4, (TASKS, COLUMNS))


def sentinels(rng: np.random.Generator) -> Array:
    """Scores that toolkits give filtered candidates, for candidates and true ones alike."""
    return rng.choice(SENTINELS, (TASKS, COLUMNS))


def constant(rng: np.random.Generator) -> Array:
    """One score for all candidates of a task."""
    return np.broadcast_to(rng.choice([0.0, 1.0, -3.5], (TASKS, 1)), (TASKS, COLUMNS))


def distinct(rng: np.random.Generator) -> Array:
    """No ties: here all toolkits agree."""
    return rng.permuted(np.tile(np.arange(COLUMNS) / 8, (TASKS, 1)), axis=1)


SCORES = (rounded, special, neighbours, thousandths, saturated, sentinels, constant, distinct)


def cases(seeds: int) -> Iterator[Case]:
    """Yield every kind of scores, with a filter and without."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for make in SCORES:
            scores = make(rng).astype(np.float32)
            targets = rng.integers(0, COLUMNS, TASKS)
            if make is special:
                worst = rng.random(TASKS) < 0.3
                scores[worst, targets[worst]] = rng.choice([NAN, INF, -INF], worst.sum())
            known = rng.random(scores.shape) < 0.2
            known[np.arange(TASKS), targets] = True
            sides = np.repeat(["tail", "head"], TASKS // 2)
            for filter in (None, known):
                yield Case(make.__name__, scores, targets, filter, sides)


# -- comparison ------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of the table: what was compared, and how much of it differed."""

    toolkit: str
    preset: str
    code: str
    ranks: int
    open: int
    unlike: int
    wrong_ranks: int
    numbers: int
    wrong_numbers: int


def compare(toolkit: Toolkit, folder: Path, seeds: int) -> tuple[Row, list[str]]:
    """Run a toolkit on all cases; also return a line for each case in which something differs."""
    code = Code(folder)
    counts = np.zeros(6, np.int64)
    lines = []
    for case in cases(seeds):
        if toolkit.filters == "never" and case.known is not None:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of old code, about the torch of today
            outcome = toolkit.run(code, case)
        found = np.array(compare_case(toolkit, case, outcome))
        counts += found
        if found[3] or found[5]:
            with_filter = "no filter" if case.known is None else "filter"
            lines.append(
                f"{toolkit.name}, {case.name}, {with_filter}: {found[3]} ranks and {found[5]} "
                "numbers differ"
            )
    used = ", ".join(code.used)
    return Row(toolkit.name, toolkit.preset, used, *counts.tolist()), lines


def compare_case(toolkit: Toolkit, case: Case, outcome: Outcome) -> tuple[int, ...]:
    """Return the six counts of a row."""
    filter = None
    if case.known is not None:
        filter = case.lists()
    ours = compat.report(
        case.scores,
        case.targets,
        preset=toolkit.preset,
        filter=filter,
        side=case.sides,
    )
    compared = is_open = unlike = wrong = 0
    if outcome.ranks is not None:
        ranks = np.asarray(outcome.ranks, np.float64)
        assert ranks.shape == ours.first.shape, (ranks.shape, ours.first.shape)
        compared = len(ranks)
        is_open = int((ours.first < ours.last).sum())
        unlike = int((ranks != ours.exact.ranks.realistic).sum())
        wrong = int((~((ours.first <= ranks) & (ranks <= ours.last))).sum())
    wrong_numbers = sum(not agrees(value, *ours.bounds(name)) for name, value in
                        outcome.numbers.items())  # fmt: skip
    return compared, is_open, unlike, wrong, len(outcome.numbers), wrong_numbers


def agrees(value: float, least: float, most: float) -> bool:
    """Whether a number is within bounds, up to the last digits of float32."""
    if np.isnan(value) or np.isinf(value):
        return least == value == most or bool(np.isnan(value) and np.isnan(least))
    slack = PRECISION * max(1, abs(value))
    return bool(least - slack <= value <= most + slack)


# -- page ------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """Return a line for each toolkit."""
    lines = []
    for row in rows:
        line = [row.toolkit, f"`{row.preset}`", row.code]
        line += [f"{number:,}" for number in row[3:]]
        lines.append(line)
    heading = (
        "code | preset | version | ranks | open | not the exact rank | wrong | numbers | wrong"
    )
    return markdown_table(heading, lines, text_columns=3)


def main(folder: Path, only: str, seeds: int, output: Path) -> None:
    """Compare, merge with earlier rows, and write the page."""
    path = output / "toolkits.tsv"
    rows = {row.toolkit: row for row in read_rows(path, Row)}
    for toolkit in TOOLKITS:
        if not re.search(only, toolkit.name):
            continue
        try:
            rows[toolkit.name], lines = compare(toolkit, folder, seeds)
        except NotFoundError as error:
            print(f"{toolkit.name}: not found ({error})")
            continue
        print(rows[toolkit.name], *lines, sep="\n  ")
    every = list(rows.values())
    own = {toolkit.name for toolkit in TOOLKITS}
    write_rows(path, every)
    unchecked = set(compat.PRESETS) - {row.preset for row in every}
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        earlier=EARLIER,
        table=table([row for row in every if row.toolkit in own]),
        others=table([row for row in every if row.toolkit not in own]),
        ranks=sum(row.ranks for row in every),
        numbers=sum(row.numbers for row in every),
        wrong=sum(row.wrong_ranks + row.wrong_numbers for row in every),
        unlike=sum(row.unlike for row in every),
        open=sum(row.open for row in every),
        precision=PRECISION,
        unchecked=", ".join(f"`{name}`" for name in sorted(unchecked)) or "none",
    )
    (output / "toolkits.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# The presets and the toolkits' own code

Made by `python bench/studies/toolkits.py FOLDER`, with Python {python} and numpy {numpy}. FOLDER
holds clones of the repositories; packages are imported. The evaluation code of each toolkit, at the
version below, ranks the same random float32 scores as its preset in `truerank.compat`: ties,
neighbouring floats, NaN and infinities of candidates and of true scores, values around 1e7 and 1e9
of either sign, the toolkits' own sentinels, constants; with a filter and without, where it has one.

{table}

These are of the form that this study had at {earlier}, which held them against the same presets:

{others}

In all, {ranks:,} ranks and {numbers:,} numbers were compared, and {wrong:,} differ from their
preset. {unlike:,} ranks of the toolkits are not the exact realistic rank. {open:,} ranks are open:
the code sorts without promising an order of equal scores (or rounds what it compares), the preset
gives the first and the last place, and the rank must be within. Numbers are compared to
{precision:g}, because sums in float32 depend on their order.

Presets that no code was run for were read from its text: {unchecked}.
"""


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", only="", seeds=3, output=HERE))
