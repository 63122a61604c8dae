"""How often 95 % intervals hold the true value, with the note on few units and without it.

    python bench/studies/calibration.py DATA_FOLDER [--samples N]

Units are drawn from four laws that are hard for t, from the ranks of published models of Kinships,
and from the sixty laws of drawn_laws.py; the true value of a metric is that of all of them, or of a
large sample. Tests are held against scipy, and asked how often they reject where models, and their
runs, are equal. DATA_FOLDER has kinships/. It makes the tables of calibration.md, in about ten
minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from data_sets import rank_model
from drawn_laws import KINDS, drawn_laws
from pages import arguments, fill_page, machine, markdown_table

import truerank as tr
from truerank.inference import interval
from truerank.inference.intervals import FEW, paired_test

CANDIDATES = 5000
UNITS = (20, 50, 100, 200, 500, 1000, 3000)
METRICS = ("mr", "mrr", "gmr", "hits@10")
MEANS = METRICS[:3]  # They have t intervals, hits@10 that of Wilson.

Array = np.ndarray[Any, Any]
Law = Callable[[np.random.Generator, int], Array]


def mixed(rng: np.random.Generator, share: float, one: Array, other: Array) -> Array:
    return np.where(rng.random(len(one)) < share, one, other)


def log_normal(rng: np.random.Generator, n: int) -> Array:
    return np.ceil(np.exp(rng.normal(3, 2, n))).clip(1, CANDIDATES)


LAWS: dict[str, Law] = {
    "weak": lambda rng, n: mixed(rng, 0.015, rng.integers(1, 11, n), rng.integers(1, 5001, n)),
    "strong": lambda rng, n: mixed(rng, 0.015, rng.integers(1, 5001, n), rng.integers(1, 11, n)),
    "log-normal": log_normal,
    "two kinds": lambda rng, n: mixed(rng, 0.7, rng.integers(1, 10, n), log_normal(rng, n)),
}


def ranks_of(ranks: Array, **labels: Any) -> tr.Ranks:
    above = np.asarray(ranks).astype(np.int64) - 1
    return tr.Ranks(above, np.ones(len(above), np.int64), CANDIDATES, **labels)


def covered(ranks: tr.Ranks, metric: str, truth: float) -> tuple[bool, bool]:
    """Whether an interval holds the true value, and whether it has a note."""
    found = interval(ranks, metric)
    return found.low <= truth <= found.high, bool(found.notes)


def percent(held: Array, digits: int = 1) -> str:
    return f"{100 * held.mean():.{digits}f} %" if len(held) else ""


def coverage_of_laws(samples: int) -> dict[tuple[str, str, int], Array]:
    """Whether each sample was covered, and had a note, by law, metric and number of units."""
    cells = {}
    for place, (name, draw) in enumerate(LAWS.items()):
        rng = np.random.default_rng(place)
        whole = tr.report(ranks_of(draw(rng, 2_000_000)))
        for metric in METRICS:
            for units in UNITS:
                drawn = (ranks_of(draw(rng, units)) for _ in range(samples))
                held = [covered(ranks, metric, whole[metric]) for ranks in drawn]
                cells[name, metric, units] = np.array(held)
    return cells


def tables_of_laws(cells: dict[tuple[str, str, int], Array], samples: int) -> tuple[str, str, str]:
    """Return two tables, and where the least is covered without a note."""
    rows = []
    for name, metrics in (("t: mr, mrr, gmr", MEANS), ("Wilson: hits@10", METRICS[3:])):
        every = [cell for key, cell in cells.items() if key[1] in metrics]
        held, has_note = np.concatenate(every).T
        shares = [percent(held[~has_note]), percent(held[has_note]), percent(has_note, 0)]
        rows.append([name, *shares])
    heading = "intervals | covered without a note | covered with one | samples with one"
    short = markdown_table(heading, rows)
    rows = []
    worst = (1.0, "")
    for law in LAWS:
        for metric in METRICS:
            of_units = [cells[law, metric, units] for units in UNITS]
            marks = ["*" if cell[:, 1].mean() > 0.5 else "" for cell in of_units]
            shares = [f"{100 * cell[:, 0].mean():.0f}" for cell in of_units]
            rows.append([law, metric, *map("".join, zip(shares, marks, strict=True))])
            for units, cell in zip(UNITS, of_units, strict=True):
                quiet = cell[~cell[:, 1], 0]
                if len(quiet) >= samples / 4 and metric in MEANS:
                    worst = min(worst, (float(quiet.mean()), f"{metric}, {law}, {units:,} units"))
    names = ["law", "metric", *(f"{units:,}" for units in UNITS)]
    return short, markdown_table(names, rows, 2), f"{100 * worst[0]:.1f} %, {worst[1]}"


def table_of_kinships(data: Path, samples: int) -> str:
    rows = []
    for model in ("transe", "complex"):
        ranks = rank_model(data / "kinships", model)
        triples = np.argsort(ranks.unit.codes, kind="stable").reshape(-1, 2)
        whole = tr.report(ranks)
        rng = np.random.default_rng(1)
        for metric in METRICS:
            row = [f"{model}, {whole[metric]:.3g}", metric]
            for units in (50, 200, 1000):
                drawn = []
                for _ in range(samples):
                    chosen = triples[rng.integers(len(triples), size=units)].ravel()
                    sample = ranks_of(ranks.realistic[chosen], unit=np.arange(2 * units) // 2)
                    drawn.append(covered(sample, metric, whole[metric]))
                cell = np.array(drawn)
                row.append(f"{percent(cell[:, 0])} ({percent(cell[:, 1], 0)})")
            rows.append(row)
    return markdown_table("model, value | metric | 50 triples | 200 | 1,000", rows, 2)


def tables_of_drawn_laws(samples: int) -> tuple[str, str]:
    """Return a table of the kinds of drawn laws, and one of all these laws."""
    rows = []
    by_kind: dict[str, list[Array]] = {kind: [] for kind in KINDS}
    for place, law in enumerate(drawn_laws()):
        rng = np.random.default_rng([place, 1])
        truth = law.true_value(rng)
        outcomes = []
        for _ in range(samples):
            found = law.find(rng)
            has_note = any(note.startswith(FEW) for note in found.notes) or math.isnan(found.low)
            is_covered = found.low <= truth <= found.high
            outcomes.append([is_covered, found.low > truth, found.high < truth, has_note])
        cell = np.array(outcomes)
        by_kind[law.kind].append(cell)
        quiet = cell[~cell[:, 3], 0]
        shares = [f"{100 * share:.1f}" for share in cell.mean(axis=0).tolist()]
        without = f"{100 * quiet.mean():.1f}" if len(quiet) >= samples / 4 else ""
        rows.append([law.kind, law.words, law.metric, f"{law.units:,}", *shares, without])
    heading = "law | of what | metric | units | covered | too high | too low | noted | without"
    return table_of_kinds(by_kind, samples), markdown_table(heading, rows, 3)


def table_of_kinds(by_kind: dict[str, list[Array]], samples: int) -> str:
    rows = []
    for kind, cells in by_kind.items():
        every = np.concatenate(cells)
        quiet = every[~every[:, 3], 0]
        large = [cell[~cell[:, 3], 0] for cell in cells if (~cell[:, 3]).sum() >= samples / 4]
        least = min((float(cell.mean()) for cell in large), default=math.nan)
        shares = [percent(column) for column in every.T]
        rows.append([kind, *shares, percent(quiet), f"{100 * least:.1f} %"])
    heading = "20 laws each | covered | too high | too low | noted | covered without | least"
    return markdown_table(heading, rows)


def all_samples(units: int, share: float, losing: float) -> Iterator[tuple[float, Array]]:
    """Give how likely each sample is of units of which a share differs by 1, and some lose."""
    of_differing = scipy.stats.binom(units, share)
    first, last = of_differing.ppf([1e-7, 1 - 1e-7]).astype(int).tolist()
    for differing in range(first, last + 1):
        chances = scipy.stats.binom.pmf(np.arange(differing + 1), differing, losing)
        chances *= of_differing.pmf(differing)
        for lost in np.flatnonzero(chances > 1e-6).tolist():
            apart = np.zeros(units)
            apart[:differing] = 1
            apart[:lost] = -1
            yield chances[lost], apart


def table_of_errors() -> str:
    """The most that equal models are rejected, and that a loss of the margin passes a gate."""
    rows = []
    for units in (30, 60, 120, 250, 500, 1000, 2000):
        rejected = passed = 0.0
        for share in (0.01, 0.03, 0.1, 0.2, 0.5):
            for losing in (0.5, 0.7, 0.95, 1.0):
                margin = share * (2 * losing - 1)
                wrong = 0.0
                for chance, apart in all_samples(units, share, losing):
                    p, low, _, _ = paired_test(apart, np.ones(units), 0.95, most=1.0)
                    is_no_worse = low >= -margin and apart.any()
                    wrong += chance * (is_no_worse if losing > 0.5 else p <= 0.05)
                if losing > 0.5:
                    passed = max(passed, wrong)
                else:
                    rejected = max(rejected, wrong)
        rows.append([f"{units:,}", f"{100 * rejected:.1f} %", f"{100 * passed:.1f} %"])
    return markdown_table("units | equal models rejected | loss of the margin passes", rows)


def beside_scipy(problems: int = 1000) -> str:
    """The largest relative difference between p-values of `compare` and of `ttest_rel`."""
    values = {
        "mr": lambda r: r,
        "mrr": lambda r: 1 / r,
        "gmr": np.log,
        "hits@10": lambda r: (r <= 10).astype(float),
    }
    rng = np.random.default_rng(2)
    tested = 0
    largest = 0.0
    for i in range(problems):
        metric = METRICS[i % 4]
        units = int(rng.integers(40, 1500))
        logs = rng.normal(2.5, 1.2, units) + 0.7 * rng.normal(size=(2, units))
        logs[1] += rng.normal(0, 0.2)
        one, two = np.ceil(np.exp(logs)).clip(1, CANDIDATES)
        found = tr.compare(ranks_of(one), ranks_of(two), metric)
        if not any(note.startswith("few units carry") for note in found.notes):
            tested += 1
            expected = scipy.stats.ttest_rel(values[metric](one), values[metric](two)).pvalue
            largest = max(largest, abs(found.p_value / expected - 1))
    return (
        f"of {problems:,} random problems of {', '.join(METRICS)}, {tested:,} had the plain t "
        f"test, whose p-value differed from that of `scipy.stats.ttest_rel` by at most "
        f"{largest:.1e} of it"
    )


def rejected(problems: int = 500) -> str:
    """The share of true null hypotheses that are rejected at 5 %, of single runs and several."""
    rows = []
    rng = np.random.default_rng(3)
    for runs, seeds in ((1, 0.0), (2, 0.1), (3, 0.1), (5, 0.1), (3, 0.4), (10, 0.1)):
        row = [f"{runs} of each", f"{seeds:g}"]
        for metric in MEANS:
            count = 0
            for _ in range(problems):
                unit = rng.normal(2.5, 1, 100)
                effects = rng.normal(0, 0.5, 100)
                models = []
                for sign in (0.5, -0.5):
                    logs = unit + sign * effects + seeds * rng.normal(size=(runs, 1))
                    logs = logs + 0.3 * rng.normal(size=(runs, 100))
                    models.append([ranks_of(np.ceil(np.exp(x)).clip(1, CANDIDATES)) for x in logs])
                count += tr.compare(*models, metric).p_value <= 0.05
            row.append(f"{100 * count / problems:.1f} %")
        rows.append(row)
    return markdown_table(["runs", "seeds, in logarithms of ranks", *MEANS], rows, 2)


def main(data_folder: Path, samples: int) -> None:
    short, long, least = tables_of_laws(coverage_of_laws(samples), samples)
    facts = f"{machine()}. {samples} samples of each size; the least coverage of t without a note: "
    facts += f"{least}. Tests: {beside_scipy()}."
    page = Path(__file__).with_suffix(".md")
    tables = [short, long, table_of_kinships(data_folder, samples)]
    tables += [*tables_of_drawn_laws(samples), table_of_errors(), rejected()]
    fill_page(page, page.parent, tables, facts)


if __name__ == "__main__":
    main(**arguments(__doc__, "data_folder", samples=400))
