"""How often 95 % intervals hold the true value, with the note on few units and without it.

    python bench/studies/calibration.py DATA_FOLDER [--samples N]

Units are drawn from four laws that are hard for t, from the ranks of published models of Kinships,
and from the sixty laws of drawn_laws.py; the true value of a metric is that of all of them, or of a
large sample. Tests are held against scipy, and asked how often they reject where models, and their
runs, are equal; gates, what they say of pairs of models. DATA_FOLDER has kinships/. It makes the
tables of calibration.md, in about twenty minutes.
"""

from __future__ import annotations

import math
from collections import Counter
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
from truerank.inference.gate import NO_WORSE, UNDECIDED, WORSE, gate
from truerank.inference.intervals import FEW, paired_test, wilson
from truerank.metrics.contributions import mean_and_influences

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


def pareto(exponent: float) -> Law:
    return lambda rng, n: np.ceil(1 + rng.pareto(exponent, n)).clip(1, CANDIDATES)


def rare(rng: np.random.Generator, n: int) -> Array:
    return mixed(rng, 0.01, rng.integers(1, 5001, n), rng.integers(1, 11, n))


# Their tails are so rare that a sample may have none of it, and no note.
QUIET_LAWS: dict[tuple[str, str], Law] = {
    ("Pareto 2", "mr"): pareto(2),
    ("Pareto 1.6", "ratio.mr"): pareto(1.6),
    ("1 % uniform to 5,000", "mr"): rare,
}


def pairs_alike(share: float) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    """Draw hits of pairs of tasks, and weights: both are hits or misses in a share of the pairs."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        first = rng.random(n) < 0.5
        are_alike = rng.random(n) < share
        return np.column_stack([first, first == are_alike]), np.ones(n)

    return draw


def weighed_hits(share: float) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    return lambda rng, n: (rng.random((n, 1)) < share, rng.lognormal(0, 1.5, n))


# The true share of hits, and how hits of units and their weights are drawn.
SHARES = {
    "pairs, one of two hit": (0.5, pairs_alike(0.0)),
    "pairs, one of two hit in 98 %": (0.5, pairs_alike(0.02)),
    "pairs, one of two hit in 60 %": (0.5, pairs_alike(0.4)),
    "1 % hit, weights": (0.01, weighed_hits(0.01)),
    "50 % hit, weights": (0.5, weighed_hits(0.5)),
    "99 % hit, weights": (0.99, weighed_hits(0.99)),
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


def table_of_quiet_laws(samples: int) -> str:
    """What samples without a note cover of laws whose tail they may lack."""
    rows = []
    for (name, metric), draw in QUIET_LAWS.items():
        rng = np.random.default_rng(4)
        truth = tr.report(ranks_of(draw(rng, 2_000_000)))[metric]
        for units in (200, 1000, 3000, 10_000):
            drawn = (ranks_of(draw(rng, units)) for _ in range(samples))
            held, has_note = np.array([covered(ranks, metric, truth) for ranks in drawn]).T
            shares = [percent(held), percent(~has_note), percent(held[~has_note])]
            rows.append([name, metric, f"{units:,}", *shares])
    heading = "law | metric | units | covered | samples without a note | covered of these"
    return markdown_table(heading, rows, 2)


def table_of_trials(samples: int = 2000) -> str:
    """Wilson's intervals with their cap of trials, and without it."""
    rows = []
    for words, (truth, draw) in SHARES.items():
        for units in (250, 1000):
            rng = np.random.default_rng(5)
            outcomes = []
            for _ in range(samples):
                hits, weights = draw(rng, units)
                share, influences = mean_and_influences(hits.mean(axis=1) * weights, weights)
                cap = hits.shape[1] * weights.sum() ** 2 / np.square(weights).sum()
                outcome = []
                for most in (cap, math.inf):
                    low, high = wilson(share, influences, 0.95, most)
                    outcome += [low <= truth <= high, high - low]
                outcomes.append(outcome)
            held, width, held_without, width_without = np.array(outcomes).T
            row = [words, f"{units:,}", percent(held), f"{width.mean():.3f}"]
            rows.append([*row, percent(held_without), f"{width_without.mean():.3f}"])
    return markdown_table("law | units | covered | width | without the cap | width", rows)


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
    """The most that equal models are rejected, and that a loss of the margin passes a gate.

    It passes in samples in which some units differ, and in those where none does.
    """
    rows = []
    for units in (30, 60, 100, 200, 500, 1000, 2000):
        rejected = passed = unseen = 0.0
        for share in (0.01, 0.03, 0.1, 0.2, 0.5):
            for losing in (0.5, 0.7, 0.95, 1.0):
                margin = share * (2 * losing - 1)
                wrong = nothing = 0.0
                for chance, apart in all_samples(units, share, losing):
                    p, low, _, _ = paired_test(apart, np.ones(units), 0.95, most=1.0)
                    is_wrong = p <= 0.05 if losing == 0.5 else low >= -margin
                    if not apart.any():
                        nothing += chance
                    elif is_wrong:
                        wrong += chance
                if losing == 0.5:
                    rejected = max(rejected, wrong)
                else:
                    passed = max(passed, wrong)
                    unseen = max(unseen, nothing)
        shares = [f"{100 * share:.1f} %" for share in (rejected, passed, unseen)]
        rows.append([f"{units:,}", *shares])
    heading = "units | equal models rejected | loss passes, some differ | nothing differs"
    return markdown_table(heading, rows)


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


def logs_of_runs(rng: np.random.Generator, logs: Array, runs: int, seeds: float) -> Array:
    """Add what seeds and units within them add to the logarithms of ranks; a row is a run."""
    return logs + seeds * rng.normal(size=(runs, 1)) + 0.3 * rng.normal(size=(runs, len(logs)))


def ranks_of_logs(logs: Array) -> Array:
    return np.ceil(np.exp(logs)).clip(1, CANDIDATES)


def coverage_of_runs(problems: int = 1000) -> str:
    """How often intervals of several runs hold the mean over all runs and units."""
    rows = []
    for seeds in (0.05, 0.1, 0.2, 0.4):
        rng = np.random.default_rng(6)
        every = rng.normal(2.5, math.sqrt(1 + seeds**2 + 0.3**2), 4_000_000)
        whole = tr.report(ranks_of(ranks_of_logs(every)))
        for runs in (2, 3, 5, 10):
            outcomes = []
            for _ in range(problems):
                logs = logs_of_runs(rng, rng.normal(2.5, 1, 400), runs, seeds)
                model = [ranks_of(ranks_of_logs(run)) for run in logs]
                found = [interval(model, metric) for metric in MEANS]
                outcomes.append([x.low <= whole[x.metric] <= x.high for x in found])
            shares = [percent(column) for column in np.array(outcomes).T]
            rows.append([str(runs), f"{seeds:g}", *shares])
    return markdown_table(["runs", "seeds, in logarithms of ranks", *MEANS], rows, 2)


def rejected(problems: int = 500) -> str:
    """The share of true null hypotheses that are rejected at 5 %, of single runs and several."""
    rows = []
    rng = np.random.default_rng(3)
    alike = [(1, 0.0), (2, 0.1), (3, 0.1), (5, 0.1), (3, 0.4), (10, 0.1)]
    cells = [(runs, runs, seeds) for runs, seeds in alike]
    cells += [(2, 10, seeds) for seeds in (0.05, 0.1, 0.2, 0.4, 1.0)]
    for *runs, seeds in cells:
        row = [f"{runs[0]} and {runs[1]}", f"{seeds:g}"]
        for metric in MEANS:
            count = 0
            for _ in range(problems):
                unit = rng.normal(2.5, 1, 100)
                effects = rng.normal(0, 0.5, 100)
                models = []
                for number, sign in zip(runs, (0.5, -0.5), strict=True):
                    logs = logs_of_runs(rng, unit + sign * effects, int(number), seeds)
                    models.append([ranks_of(ranks_of_logs(run)) for run in logs])
                count += tr.compare(*models, metric).p_value <= 0.05
            row.append(f"{100 * count / problems:.1f} %")
        rows.append(row)
    return markdown_table(["runs", "seeds, in logarithms of ranks", *MEANS], rows, 2)


def seen_by_gates(pairs: int = 2158) -> str:
    """Percent of pairs of models that a gate finds worse, undecided, no worse, by nDCG@10.

    A shift of the logarithms of the new model's ranks makes the true loss.
    """
    rows = []
    for loss, shift in {"0": 0.0, ".02": 0.09, ".05": 0.223, ".10": 0.443}.items():
        row = [loss]
        for queries in (50, 200, 1000):
            found: Counter[str] = Counter()
            for seed in range(10_000, 10_000 + pairs):
                rng = np.random.default_rng(seed)
                logs = rng.normal(1.0, 1.5, queries) + 0.5 * rng.normal(size=(2, queries))
                logs[0] += shift
                new, base = np.exp(logs).clip(1, 999).astype(int)
                _, verdicts, _ = gate(ranks_of(base), ranks_of(new), ["ndcg@10"], 0.02)
                for verdict in (WORSE, UNDECIDED, NO_WORSE):
                    found[verdict] += verdicts["ndcg@10"].startswith(verdict)
            row.append(", ".join(f"{100 * count / pairs:.1f}" for count in found.values()))
        rows.append(row)
    return markdown_table("true loss | 50 queries | 200 | 1,000", rows)


def main(data_folder: Path, samples: int) -> None:
    short, long, least = tables_of_laws(coverage_of_laws(samples), samples)
    facts = f"{machine()}. {samples} samples of each size; the least coverage of t without a note: "
    facts += f"{least}. Tests: {beside_scipy()}."
    page = Path(__file__).with_suffix(".md")
    tables = [short, long, table_of_quiet_laws(5 * samples), table_of_trials()]
    tables += [table_of_kinships(data_folder, samples), *tables_of_drawn_laws(samples)]
    tables += [table_of_errors(), coverage_of_runs(), rejected(), seen_by_gates()]
    fill_page(page, page.parent, tables, facts)


if __name__ == "__main__":
    main(**arguments(__doc__, "data_folder", samples=400))
