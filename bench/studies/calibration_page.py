"""The tables of the calibration study."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from calibration_cells import FEW_UNITS, GOOD, GOOD_REJECTION, NOTED_SHARE, Cell
from calibration_laws import CLUSTERS, LAWS
from pages import bullet_list, format_page, markdown_table

VERDICTS = ("ok", "wide", "noted", "silent")

TEXT = """\
# How often intervals contain the true value, and how often tests reject

Made by `python bench/studies/calibration.py DATA_FOLDER CACHE_FOLDER --save FILE`, run with this
version and with the one before, and `--page BEFORE AFTER`, with Python 3.11.7 and numpy 2.4.6. A
run takes about a quarter of an hour of one core. The cells are in calibration.tsv and
calibration_before.tsv. The methods by name, most comparisons, and 20,000 units were run earlier in
the development of this version than the default intervals.

## Results

- **Silent cells of the defaults**, of all of theirs: <SILENT_COUNTS>.
- **Those that are left:** <SILENT_NOW>.
- **Not silent, but near it**, from 20 units on and without notes in half of the samples: outside
  the goal, within two standard errors: <NEAR>.
- **Clusters.** Units are queries, or aligned pairs, where these repeat. Before, they were single
  tasks: mrr in 200 clusters of Pareto sizes {interval; log-uniform; Pareto; mrr; 200}, in 200
  clusters of 4 tasks {interval; log-uniform; even; mrr; 200}, and in 200 queries of WN18RR
  {interval; WN18RR, 15 epochs; queries; mrr; 200}. Two equal models of 200 Pareto clusters were
  told apart by mrr in {compare; queries that suit one model; Pareto; mrr; 200; p}.
- **Clusters of very unlike sizes** are still covered too seldom: hits@10 in 1,000 Pareto clusters
  {interval; log-uniform; Pareto; hits@10; 1000}. All of these carry notes: one of the clusters may
  hold a tenth of the tasks, and the next sample may have a larger one.
- **hits@k near 0 or 1** has Wilson's or exact bounds: a share of 2 % in 50 tasks
  {interval; near 0; none; hits@10; 50}, one of 98 % {interval; near 1; none; hits@10; 50}.
- **Few units.** mrr of log-uniform ranks: 5 tasks {interval; log-uniform; none; mrr; 5}; 10 tasks
  {interval; log-uniform; none; mrr; 10}; 20 tasks {interval; log-uniform; none; mrr; 20}. The
  intervals below 20 units are conservative and noted.
- **Rare ranks that carry a metric**, and that a sample may lack. The mean rank near 1, of 50 tasks
  {interval; near 1; none; mr; 50}, has wide bounds, up to the last rank. mrr near 0, of 200 tasks
  {interval; near 0; none; mrr; 200}, is noted. For differences no bounds are known: that of mr near
  1, of 50 tasks {compare; shifted: near 1; none; mr; 50}, is noted.
- **Interval and p-value** of a comparison agree about 0 in all samples for mrr, mr and hits@10; for
  gmr and medians they may not, and a note says so in each case.
- **Notes are frequent**: <NOTED_COUNTS>. A note says that an interval is conservative or
  approximate, not only that it fails.
- **p-values of random ranks** are uniform, or conservative for counts.

## Verdicts

A cell is one metric and one method in samples of so many units of one population. Each has 200
samples where its verdict is clear then, else 300, or, where intervals contain the true value in
less than 94 %, or a test rejects in more than 6 %, without notes, up to 1,000, until it no longer
does (which favours it a little; not for the version before). With 20,000 units it has 200.
Intervals have a level of 95 %, and tests one of 5 %; both
with their defaults, but 599 resamples instead of 10,000.

- **ok**: intervals contain the true value in 93 to 97 % of the samples, and, where the models do
  not differ, the test rejects in 3.5 to 6.5 %, both within two standard errors (of 300 samples:
  90.1 to 99.0 %, 1.4 to 9.3 %; of 1,000: 91.4 to 98.1 %, 2.3 to 8.1 %). Below 20 units wider
  intervals and fewer rejections are ok too.
- **wide**: intervals contain it more often, or the test rejects less often, without a note, from
  20 units on. It does not mislead; where a metric takes few values there may be nothing narrower.
- **noted**: at least half of the results carry a note that limits the trust in them.
- **silent**: the intervals contain it less often or the test rejects more often, and fewer than
  half of the results carry a note. This is a fault of a default.

Contradictions are comparisons whose interval excludes 0 while p is above 0.05, or the reverse, in
percent.

### Now

<AFTER>

### Before

<BEFORE>

### Silent cells of the defaults by population

<CHANGES>

## Populations

Tasks are drawn from one of these laws of ranks (N = 10,000 where nothing else is said), whose
metrics are known exactly:

<LAWS>

Units are clusters of tasks, which are labelled as queries. Half of the tasks of a cluster share
its rank:

<CLUSTERS>

Kinships (TransE; in pairs with RotatE) and WN18RR (ComplEx after 15 epochs; in pairs with 4
epochs) are filtered ranks of real models, drawn with replacement: single tasks ("none"), or whole
queries. The true values are those of all of their ranks.

Pairs of models: **exchangeable**, both of one law, and equal in half of the tasks; **queries that
suit one model**, log-normal ranks with an effect of the query on each model; **unlike laws**,
log-uniform ranks up to 100 against ranks of 1 or 100 with the same mean of the metric;
**shifted**, equal in half of the tasks, while the other half has another law, so that there is a
difference; real models, as they are, and **swapped at random** within each query, so that there
is none.

## Intervals, by default

Each line is one population and metric, with a column for each number of units. A number is the
percentage of the intervals that contain the true value; bold where it is silent, with a plus
where it is wide, and n with the percentage of the samples that carry a note. Width is that of the
median interval over that of the normal one that has the true standard error, from least to most.
The worst lines come first.

<INTERVAL_DEFAULTS>

## Comparisons, by default

After the bar comes the percentage of p-values of at most 0.05, where the models do not differ.

<COMPARE_DEFAULTS>

## Methods by name

<INTERVAL_NAMED>

<COMPARE_NAMED>

## p-values of random ranks

200 samples of 100 and of 1,000 tasks; the distance is that of Kolmogorov and Smirnov.

<PVALUE>
"""


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def cell_text(cell: Cell) -> str:
    """Coverage, and after a bar the rejections under the null, in percent, with marks."""
    parts = [mark(cell.verdict_on_coverage(), percent(cell.covered), cell.noted)]
    if cell.null:
        parts.append(mark(cell.verdict_on_p(), percent(cell.rejected), cell.noted_p))
    return " / ".join(parts)


def mark(verdict: str, text: str, noted: float) -> str:
    share = f" n{100 * noted:.0f}" if noted >= 0.005 else ""
    if verdict == "silent":
        return f"**{text}**{share}"
    return f"{text}{' +' if verdict == 'wide' else ''}{share}"


def rank_of(cells: Iterable[Cell]) -> tuple[float, ...]:
    """Worst lines first: by silent cells, by how far they are off, then by noted and wide ones."""
    counts = Counter(cell.verdict() for cell in cells)
    off = sum(0.95 - cell.covered for cell in cells if cell.verdict() == "silent")
    return -counts["silent"], -off, -counts["noted"], -counts["wide"]


def cell_table(cells: Sequence[Cell]) -> str:
    """One line for each population, metric and method, with a column for each number of units."""
    lines: dict[tuple[str, ...], dict[int, Cell]] = defaultdict(dict)
    for cell in cells:
        lines[cell.population, cell.clusters, cell.metric, cell.method][cell.units] = cell
    units = sorted({cell.units for cell in cells})
    rows = []
    for names, line in sorted(lines.items(), key=lambda item: rank_of(item[1].values())):
        kinds: Counter[str] = Counter()
        for cell in line.values():
            for note in filter(None, cell.notes.split(", ")):
                kinds[note.rsplit(" ", 1)[0]] += 1
        shown = [cell_text(line[n]) if n in line else "" for n in units]
        widths = [cell.width for cell in line.values() if not math.isnan(cell.width)]
        width = f"{min(widths):.2f}-{max(widths):.2f}" if widths else "-"
        rows.append([*names, *shown, width, ", ".join(kinds)])
    heading = ["population", "clusters", "metric", "method", *map(str, units), "width", "notes"]
    return markdown_table(heading, rows, 4)


def summary_rows(cells: Iterable[Cell]) -> list[list[str]]:
    """Verdicts by part and method, from 20 units on and below."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.part, cell.method].append(cell)
    rows = []
    for (part, method), members in sorted(
        groups.items(), key=lambda item: (item[0][0] != "interval", item[0][1] != "default", item)
    ):
        for few in (False, True):
            chosen = [cell for cell in members if cell.few == few]
            if not chosen:
                continue
            counts = Counter(cell.verdict() for cell in chosen)
            silent = [cell for cell in chosen if cell.verdict() == "silent"]
            covered = [c.covered for c in silent if c.verdict_on_coverage() == "silent"]
            rejected = [c.rejected for c in silent if c.verdict_on_p() == "silent"]
            off = [cell.contradicted for cell in chosen if not math.isnan(cell.contradicted)]
            rows.append(
                [
                    part,
                    method,
                    f"below {FEW_UNITS}" if few else f"{FEW_UNITS} and more",
                    str(len(chosen)),
                    *(str(counts[verdict]) for verdict in VERDICTS),
                    str(sum(c.verdict() == "ok" and c.noted_p >= NOTED_SHARE for c in chosen)),
                    percent(min(covered, default=math.nan)),
                    percent(max(rejected, default=math.nan)),
                    percent(sum(off) / len(off)) if off else "-",
                ]
            )
    return rows


SUMMARY_HEADING = (
    "of | method | units | cells | ok | wide | noted | silent | ok with notes | "
    "lowest silent coverage | "
    "highest silent rejection | contradictions"
)


def summary_lines(cells: Sequence[Cell]) -> list[str]:
    """The summary, and all silent cells, as text."""
    lines = [markdown_table(SUMMARY_HEADING, summary_rows(cells), 3), ""]
    for cell in sorted(cells, key=lambda x: (x.method != "default", x.part, x.covered)):
        if cell.verdict() == "silent":
            p = f" rejects {percent(cell.rejected)} (noted {percent(cell.noted_p)})"
            sides = f"misses below {percent(cell.below)}, above {percent(cell.above)}"
            lines.append(
                f"SILENT {cell.part} {cell.method}: {cell.population}, clusters {cell.clusters}, "
                f"{cell.units} units, {cell.metric}: covers {percent(cell.covered)} "
                f"({sides}; noted {percent(cell.noted)}){p if cell.null else ''}; width "
                f"{cell.width:.2f}; by {cell.methods}; notes {cell.notes or '-'}; "
                f"{cell.repeats} repeats"
            )
    return lines


def pvalue_table(cells: Sequence[Cell]) -> str:
    """The p-values of random ranks."""
    heading = "metric | tasks | p <= 0.05, % | distance from uniform | its p-value | noted, %"
    rows = [
        [
            cell.metric,
            f"{cell.units:,}",
            mark(cell.verdict_on_p(), percent(cell.rejected), 0),
            f"{cell.distance:.3f}",
            f"{cell.distance_p:.2g}",
            f"{100 * cell.noted_p:.0f}",
        ]
        for cell in cells
    ]
    return markdown_table(heading, rows, 1)


def change_rows(before: Sequence[Cell], after: Sequence[Cell]) -> list[list[str]]:
    """Silent cells of the defaults, before and after, by population and kind of cluster."""
    counts: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for column, cells in ((0, before), (1, after)):
        for cell in cells:
            if cell.method == "default":
                line = counts[cell.part, cell.population, cell.clusters]
                line[column] += cell.verdict() == "silent"
                line[2 + column] += 1
    rows = sorted(counts.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
    return [[*names, f"{old} of {m}", f"{new} of {n}"] for names, (old, new, m, n) in rows]


def key_of(cell: Cell) -> tuple[str, ...]:
    return cell.part, cell.population, cell.clusters, cell.metric, str(cell.units)


def compared(
    words: str, before: Mapping[tuple[str, ...], Cell], after: Mapping[tuple[str, ...], Cell]
) -> str:
    """The coverage of one cell before and after, or with a last word "p" its rejections."""
    part, population, clusters, metric, units, *last = " ".join(words.split()).split("; ")
    cells = [cells[part, population, clusters, metric, units] for cells in (before, after)]
    if last:
        old, new = (percent(cell.rejected) for cell in cells)
        return f"{old} % of the samples before, and in {new} % now"
    old, new = (percent(cell.covered) for cell in cells)
    noted = round(100 * cells[1].noted)
    return f"({old} % before, {new} % now{f', noted in {noted} %' if noted else ''})"


def silent_counts(before: Sequence[Cell], after: Sequence[Cell]) -> str:
    """How many cells of the defaults are silent, by part and units."""
    told = []
    for part, what in (("interval", "intervals"), ("compare", "comparisons")):
        for few in (False, True):
            chosen = [
                [x for x in cells if (x.part, x.method, x.few) == (part, "default", few)]
                for cells in (before, after)
            ]
            old, new = (sum(x.verdict() == "silent" for x in cells) for cells in chosen)
            units = f"below {FEW_UNITS}" if few else f"from {FEW_UNITS}"
            told.append(f"{what} {units} units {old} of {len(chosen[0]):,} before, {new} now")
    return "; ".join(told)


def noted_counts(cells: Sequence[Cell]) -> str:
    """How many good cells carry notes."""
    told = []
    for part, what in (("interval", "intervals"), ("compare", "comparisons")):
        good = [
            x
            for x in cells
            if (x.part, x.method, x.few, x.verdict()) == (part, "default", False, "ok")
        ]
        noted = sum(x.noted_p >= NOTED_SHARE for x in good)
        told.append(f"{noted} of the {len(good)} good cells of {what}")
    return (
        f"from {FEW_UNITS} units on {' and '.join(told)} carry one in at least half of the samples"
    )


def is_near(cell: Cell) -> bool:
    """Whether a good cell without notes is outside the goal, within the error of its samples."""
    low = cell.covered < GOOD[0] and cell.noted < NOTED_SHARE
    high = cell.null and cell.rejected > GOOD_REJECTION[1] and cell.noted_p < NOTED_SHARE
    return cell.verdict() == "ok" and not cell.few and (low or high)


def describe(cell: Cell) -> str:
    """The coverage and the rejections of a cell, in words."""
    clusters = "" if cell.clusters == "none" else f", clusters: {cell.clusters}"
    rejected = f", rejects in {percent(cell.rejected)} %" if cell.null else ""
    covered = "" if math.isnan(cell.covered) else f" {percent(cell.covered)} %"
    return (
        f"{cell.metric} of {cell.population}{clusters}, {cell.units:,} units:{covered}{rejected} "
        f"({cell.repeats} samples)"
    )


def make_page(before: Sequence[Cell], after: Sequence[Cell]) -> str:
    """The page: what was found, before and after, and all cells."""
    tables = {
        "BEFORE": markdown_table(SUMMARY_HEADING, summary_rows(before), 3),
        "AFTER": markdown_table(SUMMARY_HEADING, summary_rows(after), 3),
        "CHANGES": markdown_table(
            "of | population | clusters | silent before | silent now",
            change_rows(before, after),
            3,
        ),
        "PVALUE": pvalue_table([cell for cell in after if cell.part == "pvalue"]),
        "LAWS": bullet_list([f"**{law.name}**: {law.description}." for law in LAWS.values()]),
        "CLUSTERS": bullet_list([f"**{name}**: {told}." for name, told in CLUSTERS.items()]),
    }
    for part in ("interval", "compare"):
        for name, is_default in (("DEFAULTS", True), ("NAMED", False)):
            chosen = [x for x in after if x.part == part and (x.method == "default") == is_default]
            tables[f"{part.upper()}_{name}"] = cell_table(chosen)
    named = {key_of(x): x for x in before if x.method == "default"}
    renamed = {key_of(x): x for x in after if x.method == "default"}
    tables["SILENT_COUNTS"] = silent_counts(before, after)
    tables["NOTED_COUNTS"] = noted_counts(after)
    silent = [x for x in renamed.values() if x.verdict() == "silent"]
    tables["SILENT_NOW"] = "; ".join(map(describe, silent)) or "none"
    tables["NEAR"] = "; ".join(describe(x) for x in renamed.values() if is_near(x)) or "none"
    text = re.sub(r"\{([^}]*)\}", lambda found: compared(found[1], named, renamed), TEXT)
    for name, table in tables.items():
        text = text.replace(f"<{name}>", table)
    return format_page(text)
