"""Published numbers next to ours: the papers on metrics, and the sizes of their data sets.

    python bench/studies/reproduce.py DATA_FOLDER [--output FOLDER]

Prints the summary and puts it and the tables into reproduce.md, which says by what rule figures
agree. DATA_FOLDER holds kinships, wn18rr and dbp15k_zh_en. What is published lies in tables beside
this file (.tsv), as it is printed. Takes half a minute.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data_sets import (
    KINSHIPS,
    Counts,
    data_sets,
    entities,
    filtered_candidates,
    rank_model,
    read_arrays,
    read_files,
    sizes_of,
    with_seen_ids,
)
from pages import arguments, fill_page, markdown_table

import truerank as tr
from truerank.metrics.keys import PYKEEN_NAMES, parse

HERE = Path(__file__).parent

DOUBLE, SINGLE = 1e-12, 1e-6  # relative
STANDARD_ERRORS = 4.0

COMPUTED, FOLLOWS = "computed", "follows"
AGREES, SIMULATED, EXPLAINED = "agrees", "simulated", "explained"
IMPOSSIBLE, OPEN, GIVEN = "impossible", "open", "given"
VERDICTS = (AGREES, SIMULATED, EXPLAINED, IMPOSSIBLE, OPEN, GIVEN)


class Range(NamedTuple):
    """All numbers from one to another."""

    low: float
    high: float

    @classmethod
    def at(cls, value: float) -> Range:
        """Return one number."""
        return cls(value, value)

    def meets(self, other: Range) -> bool:
        """Return whether a number is in both."""
        return self.low <= other.high and other.low <= self.high

    def widened(self, by: float) -> Range:
        """Move both ends outwards."""
        return Range(self.low - by, self.high + by)

    def __str__(self) -> str:
        low = f"{self.low:.7g}"
        high = f"{self.high:.7g}"
        if low == high:
            return low
        return f"{low} to {high}"


class Reason(NamedTuple):
    """Why a figure may differ, and what it is then; without a value it cannot be right.

    `precision` is that of the arithmetic which is named.
    """

    text: str
    value: Range | None = None
    precision: float = DOUBLE


class Figure(NamedTuple):
    """A published figure, and ours.

    `scale` is the size of the numbers whose difference it is; `error` the standard error of a
    simulation that the authors made, or of theirs and ours. `stands_for` is the meaning of a figure
    that is no plain number.
    """

    source: str
    table: str
    row: str
    column: str
    printed: str
    needs: str = "-"
    ours: Range | None = None
    check: str = COMPUTED
    precision: float = DOUBLE
    scale: float = 0.0
    error: float = 0.0
    reasons: tuple[Reason, ...] = ()
    stands_for: Range | None = None

    @property
    def published(self) -> Range:
        """Return the numbers that the figure stands for."""
        if self.stands_for is None:
            return read_printed(self.printed)
        return self.stands_for

    def fits(self, ours: Range, precision: float = 0.0) -> bool:
        """Return whether the figure meets these numbers, to its precision or a lower one."""
        size = max(abs(self.published.low), abs(self.published.high), self.scale)
        slack = max(self.precision, precision) * size if math.isfinite(size) else 0.0
        return self.published.meets(ours.widened(slack))

    def judge(self) -> tuple[str, str]:
        """Return the verdict, and why the figure does not agree."""
        if self.ours is None:
            return GIVEN, ""
        if self.fits(self.ours):
            return AGREES, ""
        if self.error and self.published.meets(self.ours.widened(STANDARD_ERRORS * self.error)):
            return SIMULATED, f"simulated, with a standard error of {self.error:.2g}"
        for reason in self.reasons:
            if reason.value is None:
                return IMPOSSIBLE, reason.text
            if self.fits(reason.value, reason.precision):
                return EXPLAINED, reason.text
        return OPEN, "not known"

    @property
    def difference(self) -> float:
        """Return how far ours is from the figure, as a part of it unless it stands for 0, too."""
        if self.ours is None:
            return 0.0
        gap = max(self.ours.low - self.published.high, self.published.low - self.ours.high, 0.0)
        size = min(abs(self.published.low), abs(self.published.high))
        if self.published.low * self.published.high > 0:
            gap /= size
        if gap <= DOUBLE:
            return 0.0
        return gap


def read_printed(text: str) -> Range:
    """Return the numbers that round to a printed one.

    Examples
    --------
    >>> read_printed("7,000"), read_printed("8.5e-03")
    (Range(low=6999.5, high=7000.5), Range(low=0.00845, high=0.00855))
    """
    number, _, exponent = text.replace(",", "").lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(number.partition(".")[2]))
    value = float(text.replace(",", ""))
    return Range(value - unit / 2, value + unit / 2)


def read_table(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of published figures that lies beside the studies."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t")


# -- A Unified Framework ---------------------------------------------------------------------------

FRAMEWORK, AMBIGUITY = "A Unified Framework", "On the Ambiguity"
NAMES = ["mr", "mrr", "hmr", "imr", "gmr", "igmr", "median", "imedian", "std", "variance", "mad"]
NAMES += ["amr", "amri", "amrr", "index.gmr", "zmr", "zmrr", "z.gmr"]
NAMES += [f"{name}@{k}" for name in ("hits", "ah", "zh") for k in (1, 3, 5, 10)]
KEYS = {name: parse(name) for name in NAMES}
LONG = {"tasks": "count"}  # PyKEEN's names
for long, pair in PYKEEN_NAMES.items():
    for name, key in KEYS.items():
        if pair == (key.adjustment, key.metric):
            LONG[name] = long.replace("_at_k", f"_at_{key.parameter}")
BASE = {  # the metric that is adjusted
    name: f"hits@{key.parameter}" if key.metric == "hits" else key.metric
    for name, key in KEYS.items()
    if key.adjustment != "none"
}
INDICES, Z = ({name for name in BASE if KEYS[name].adjustment == x} for x in ("index", "z"))
# what follows from another printed figure alone
IDENTITIES: dict[str, tuple[str, Callable[[float], float]]] = {
    "hmr": ("mrr", lambda x: 1 / x),
    "imr": ("mr", lambda x: 1 / x),
    "igmr": ("gmr", lambda x: 1 / x),
    "imedian": ("median", lambda x: 1 / x),
    "variance": ("std", lambda x: x * x),
}

AT_MEAN = "ln N / (N - 1) at the mean N, for the mean of H_N / N"
ONE_LESS = "chance among N - 1 candidates, without the true one"
SIGN = "chance among N - 1 candidates, and the opposite sign of (value - mean) / sd"


def adjusted_by_chance(name: str, value: float, counts: Counts) -> float:
    """Return an adjusted metric by its exact chance."""
    mean, variance = tr.chance(BASE[name], counts)
    if KEYS[name].adjustment == "ratio":
        return value / mean
    if name in INDICES:
        return (value - mean) / (1 - mean)
    return (value - mean) / math.sqrt(variance)


def arithmetic_of(name: str, value: float, counts: Counts) -> tuple[Reason, ...]:
    """Return how the authors adjusted a metric where it was not by its exact chance."""
    sizes, tasks = counts
    if name == "amrr":
        mean = float(np.average(sizes, weights=tasks))
        chance = math.log(mean) / (mean - 1)
        return (Reason(AT_MEAN, Range.at((value - chance) / (1 - chance)), SINGLE),)
    if name not in Z and name != "index.gmr":
        return ()
    again = adjusted_by_chance(name, value, (np.asarray(sizes) - 1, tasks))
    if name == "z.gmr":
        return (Reason(SIGN, Range.at(-again)),)
    return (Reason(ONE_LESS, Range.at(again)),)


def counts_of(ranks: tr.Ranks) -> Counts:
    """Return the numbers of candidates, and how many tasks have each."""
    return np.unique(ranks.candidates, return_counts=True)


def kinships(data: Path) -> Iterator[Figure]:
    """Every figure of the four published models: side, kind and metric; and the adjusted ones."""
    folder = data / "kinships"
    published = json.loads(
        (folder / "published.json").read_text(encoding="utf-8"), parse_float=str, parse_int=str
    )
    with (folder / "published_adjusted.tsv").open(newline="", encoding="utf-8") as file:
        table = {row["model"]: row for row in csv.DictReader(file, delimiter="\t")}
    for model in KINSHIPS:
        ranks = rank_model(folder, model)
        ours = tr.report(ranks)
        for place, cell in published[model].items():
            side, kind = place.split(".")
            chosen = ranks
            if side != "both" and ranks.side is not None:
                chosen = ranks[ranks.side.values == side]
            counts = counts_of(chosen)
            yield from run(
                (FRAMEWORK, "published.json, Kinships", f"{model}, {place}"),
                {name: cell[theirs] for name, theirs in LONG.items() if theirs in cell},
                {name: ours[f"{place}.{name.replace('tasks', 'count')}"] for name in LONG},
                counts,
                single=kind == "realistic",
            )
        yield from run(
            (FRAMEWORK, "collated.tsv, Kinships", model),
            {name: table[model][theirs] for name, theirs in LONG.items()},
            {name: ours[name.replace("tasks", "count")] for name in LONG},
            counts_of(ranks),
            single=True,
        )


def run(
    place: tuple[str, str, str],
    printed: dict[str, str],
    ours: dict[str, float],
    counts: Counts,
    *,
    single: bool,
) -> Iterator[Figure]:
    """Compare one row of metrics of published ranks that are counted here."""
    for name, text in printed.items():
        is_single = single or name in ("gmr", "igmr", "amr", "amri")
        reasons: tuple[Reason, ...] = ()
        if name in BASE:
            reasons = arithmetic_of(name, float(printed[BASE[name]]), counts)
        figure = Figure(*place, LONG[name], text, "vectors, triples", Range.at(ours[name]))
        precision = SINGLE if is_single else DOUBLE
        yield figure._replace(precision=precision, scale=scale_of(name), reasons=reasons)


def scale_of(name: str) -> float:
    return 1.0 if name in INDICES else 0.0


def other_runs(_: Path) -> Iterator[Figure]:
    """The twelve runs whose models are not here: what follows from their plain metrics."""
    for row in read_table("unified_framework.tsv"):
        if row["dataset"] == "kinships":
            continue
        counts = filtered_candidates(row["dataset"])
        tasks = int(counts[1].sum())
        for name, long in LONG.items():
            model = f"{row['dataset']}, {row['model']}"
            place = (FRAMEWORK, "collated.tsv, other data sets", model)
            figure = Figure(*place, long, row[name], check=FOLLOWS, precision=SINGLE)
            if name == "tasks":
                yield figure._replace(needs="counts", ours=Range.at(tasks))
            elif name.startswith("hits@"):
                ours = Range.at(round(float(row[name]) * tasks) / tasks)
                yield figure._replace(needs="counts", ours=ours, precision=DOUBLE)
            elif name in IDENTITIES:
                other, function = IDENTITIES[name]
                yield figure._replace(needs="print", ours=Range.at(function(float(row[other]))))
            elif name in BASE:
                value = float(row[BASE[name]])
                ours = Range.at(adjusted_by_chance(name, value, counts))
                reasons = arithmetic_of(name, value, counts)
                figure = figure._replace(needs="counts", ours=ours, scale=scale_of(name))
                yield figure._replace(reasons=reasons)
            else:
                yield figure


DRAWN = [(metric, "expectation") for metric in ("hmr", "imr", "igmr")]
DRAWN += [(metric, "variance") for metric in ("hmr", "imr", "gmr", "igmr")]
DRAWS = 500
OUR_DRAWS = 200
MEANS = {"hmr": lambda ranks: 1 / (1 / ranks).mean(), "imr": lambda ranks: 1 / ranks.mean()}
LOGARITHM = (
    "n times the logarithm of a sum in double precision, which loses n units of its last place"
)
UNITS = 10  # of the last place, that a sum and its logarithm may be off


@cache
def drawn_moments(size: int) -> dict[str, tuple[float, float]]:
    """Return the mean and the variance over draws of metrics whose chance the package has not."""
    generator = np.random.default_rng(size)
    draws = (generator.integers(1, size + 1, size) for _ in range(OUR_DRAWS))
    drawn = np.array([[mean_of(ranks) for mean_of in MEANS.values()] for ranks in draws])
    moments = zip(drawn.mean(axis=0).tolist(), drawn.var(axis=0).tolist(), strict=True)
    return dict(zip(MEANS, moments, strict=True))


def chance_constants(_: Path) -> Iterator[Figure]:
    """Expectation and variance of metrics of N tasks among N candidates each."""
    times: Counter[tuple[str, int]] = Counter()  # 1 and 2 are there twice
    for row in read_table("unified_framework_chance.tsv"):
        size = int(row["candidates"])
        times[row["metric"], size] += 1
        again = ", again" if times[row["metric"], size] > 1 else ""
        noise = 1 / DRAWS  # of a mean of draws, as a share of the variance
        if row["metric"] in MEANS:  # The package has no chance of these, and ranks are drawn.
            mean, variance = drawn_moments(size)[row["metric"]]
            noise += 1 / OUR_DRAWS
        else:
            mean, variance = tr.chance(row["metric"], ([size], [size]))
        lost = UNITS * size * float(np.spacing(math.log(size))) * mean
        errors = (math.sqrt(variance * noise), variance * math.sqrt(2 * noise))
        for column, ours, error in zip(
            ("expectation", "variance"), (mean, variance), errors, strict=True
        ):
            error_of_draws = error if (row["metric"], column) in DRAWN else 0.0
            reasons: tuple[Reason, ...] = ()
            if (row["metric"], column) == ("gmr", "expectation"):
                reasons = (Reason(LOGARITHM, Range.at(mean).widened(lost)),)
            place = (
                FRAMEWORK,
                "candidates.tsv",
                f"N = {size:,}{again}",
                f"{row['metric']}, {column}",
            )
            figure = Figure(*place, row[column], "counts", Range.at(ours))
            yield figure._replace(error=error_of_draws, reasons=reasons)


# -- On the Ambiguity ------------------------------------------------------------------------------


def table_1(_: Path) -> Iterator[Figure]:
    """The adjusted indices from the mean ranks, with the exact filtered candidates."""
    for row in read_table("on_the_ambiguity.tsv"):
        name = {"wn18rr": "WN18RR", "fb15k237": "FB15k-237"}[row["dataset"]]
        place = (AMBIGUITY, "Table 1", f"{row['model']}, {name}")
        counts = filtered_candidates(row["dataset"])
        low, high = (
            100 * tr.adjust("mr", mean, candidates=counts).index
            for mean in read_printed(row["mr"])[::-1]
        )
        yield Figure(*place, "MR", row["mr"])
        yield Figure(*place, "AMRI", row["amri"], "counts", Range(low, high), check=FOLLOWS)


def toy_graph(_: Path) -> Iterator[Figure]:
    """Candidates and answers of the task (a, s, b); a to d are 0 to 3."""
    triples = [(1, 0, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3)]
    known = {"train": triples[:1] + triples[2:]}
    task = tr.link_prediction.Task(triples[1:2], known=known, entities=4)
    left = task.evaluate_scores(np.zeros((1, 4)), head=np.zeros((1, 4))).ranks[1:].candidates[0]
    place = (AMBIGUITY, "Figure 1", "(a, s, b) of the toy graph")
    yield Figure(*place, "candidates", "2", "triples", Range.at(int(left)))
    of_query = sum(triple[:2] == (0, 1) for triple in triples)
    yield Figure(*place, "triples of (a, s)", "3", "triples", Range.at(of_query))


# -- sizes of data sets ----------------------------------------------------------------------------

SIZES = ("entities", "relations", "train", "valid", "test", "triples")


def counted_here(data: Path) -> dict[str, dict[str, int]]:
    """Count what is in the data folder; with the triples that the table was counted from.

    Data sets of the table whose sizes were only read elsewhere are left out.
    """
    wordnet = read_files(data / "wn18rr")
    counted = {
        "wn18rr": wordnet,
        "wn18rr-seen": with_seen_ids(wordnet),
        "kinships": read_arrays(data / "kinships" / "triples.npz"),
    }
    sizes = {
        key: {name: entry[name] for name in SIZES[:-1]}
        for key, entry in data_sets().items()
        if "left_out" in entry
    }
    for key, triples in counted.items():
        sizes[key] = dict(zip(SIZES[:-1], sizes_of(triples), strict=True))
    for size in sizes.values():
        size["triples"] = size["train"] + size["valid"] + size["test"]
    return sizes


def sizes_of_graphs(data: Path) -> Iterator[Figure]:
    """Entities, relations and triples of data sets of link prediction."""
    sizes = counted_here(data)
    here = ("wn18rr", "wn18rr-seen", "kinships")
    for row in read_table("reproduce_sizes.tsv"):
        key = row["dataset"]
        for name in SIZES:
            if row[name]:
                figure = Figure(row["source"], row["table"], key, name, row[name])
                if key in sizes:
                    needs = "triples" if key in here else "counts"
                    figure = figure._replace(needs=needs, ours=Range.at(sizes[key][name]))
                yield figure


GRAPH_SIZES = ("entities", "relations", "triples", "aligned", "exclusive")


def sizes_of_alignments(data: Path) -> Iterator[Figure]:
    """Sizes of the graphs of alignments; those of DBP15k's zh-en are counted."""
    folder = data / "dbp15k_zh_en"
    text: Any = {"delimiter": "\t", "comments": None, "encoding": "utf-8"}
    ids = [np.loadtxt(folder / f"ent_ids_{i}", int, usecols=0, **text) for i in (1, 2)]
    task = tr.alignment.Task(folder / "ref_ent_ids", left=ids[0], right=ids[1])
    counted = {}
    for i, language in enumerate(("zh", "en")):
        triples = np.loadtxt(folder / f"triples_{i + 1}", int, **text)
        aligned = len(np.unique(task.pairs[:, i]))
        relations = len(np.unique(triples[:, 1]))
        numbers = (len(ids[i]), relations, len(triples), aligned, len(ids[i]) - aligned)
        counted[language] = dict(zip(GRAPH_SIZES, numbers, strict=True))
    for row in read_table("reproduce_alignment.tsv"):
        for name in filter(row.get, GRAPH_SIZES):
            place = (row["source"], row["table"], f"{row['pair']}, {row['graph']}")
            figure = Figure(*place, name, row[name])
            if row["pair"] == "dbp15k zh-en":
                ours = Range.at(counted[row["graph"]][name])
                figure = figure._replace(needs="triples", ours=ours)
            yield figure


# by split of a data set: entities that no training triple has, and the triples with them
UNSEEN = {
    ("fb15k237", "valid"): ("8", "9"),
    ("fb15k237", "test"): ("29", "28"),
    ("wn18rr", "valid"): ("198", "210"),
    ("wn18rr", "test"): ("209", "210"),
    ("yago3-10", "valid"): ("22", "22"),
    ("yago3-10", "test"): ("18", "18"),
}


def unseen(data: Path) -> Iterator[Figure]:
    """What AmpliGraph's documentation says of entities that are not in training."""
    wordnet = read_files(data / "wn18rr")
    seen = entities(wordnet["train"])
    for (key, split), (new, triples) in UNSEEN.items():
        place = ("AmpliGraph", "Performance, notes", f"{key}, {split}")
        names = ("unseen entities", "triples with them")
        if key == "wn18rr":
            strange = entities(wordnet[split]) - seen
            with_them = sum(not {h, t} <= seen for h, _, t in wordnet[split])
            yield Figure(*place, names[0], new, "triples", Range.at(len(strange)))
            yield Figure(*place, names[1], triples, "triples", Range.at(with_them))
        else:
            table = data_sets()
            fewer = table[key][split] - table[f"{key}-seen"][split]
            yield Figure(*place, names[0], new)
            yield Figure(*place, names[1], triples, "counts", Range.at(fewer))


# -- formulas as they are printed ------------------------------------------------------------------

N, K = 104, 10
CONTINUOUS = "the law of a continuous rank on [1, N]; ranks are whole numbers"
STAND_IN = f"ln N / (N - 1), for H_N / N: {CONTINUOUS}"
NEGATIVE = f"lacks a square, and is below 0; with it, it is {CONTINUOUS}"
# The model is TuckER on Kinships: 104 candidates, unfiltered, since the formulas suppose one number
# of candidates, and the metrics that the authors publish.
RUNS = {(row["dataset"], row["model"]): row for row in read_table("unified_framework.tsv")}
TUCKER = RUNS["kinships", "tucker"]
MR, MRR, HITS = (float(TUCKER[name]) for name in ("mr", "mrr", "hits@10"))
TASKS = int(TUCKER["tasks"])
ONE, EVERY = (  # expectation and variance of the metrics, of one task and of all
    [tr.chance(name, ([N], [tasks])) for name in ("mr", "mrr", "hits@10")] for tasks in (1, TASKS)
)
(MEAN, VAR), (MEAN_INVERSE, VAR_INVERSE), (SHARE, VAR_SHARE) = ONE
LOG = math.log(N) / (N - 1)
AMRI = tr.adjust("mr", MR, candidates=N, tasks=TASKS).index
NO_N = "lacks 1 / n, as the variance of a mean of n has"
NO_SQUARE = "has N for N²; k/N (1 - k/N), before it, is right"
NO_TASKS = "has N (N - 1) for n (N + 1)"
NO_MEAN = "has N for n in the mean, besides ln N / (N - 1)"
# where, of what, as printed, its value, the exact value; what is amiss, the value once it is mended
Formula = tuple[Any, ...]


def formulas(_: Path) -> Iterator[Figure]:
    """Every numbered formula for an expectation, a variance or an adjusted metric."""
    for source, rows in ((AMBIGUITY, of_ambiguity()), (FRAMEWORK, of_framework())):
        for place, of, printed, value, exact, *rest in rows:
            amiss, mended = (*rest, "", None)[:2]
            if len(rest) == 2 and not math.isclose(mended, exact, rel_tol=1e-12):
                raise ValueError(f"{source}, {place}: mended {mended}, exact {exact}")
            reasons = ()
            if amiss:
                reasons = (Reason(amiss, Range.at(value) if amiss == STAND_IN else None),)
            text = f"{printed} = {value:.6g}"
            figure = Figure(source, "formulas", place, of, text, "counts", Range.at(exact))
            yield figure._replace(stands_for=Range.at(value), reasons=reasons)


def of_ambiguity() -> list[Formula]:
    """Formulas of "On the Ambiguity"."""
    equal = float(tr.rank([[0.0] * N], [0]).realistic[0])
    mean = "(N + 1) / 2, the mean of 1 and N, which is also its expected rank"
    no_one = 'lacks "1 -", and has N for N - 1'
    mended = 1 - 2 * (MR - 1) / (N - 1)
    index = 1 - (MR - 1) / (MEAN - 1)
    return [
        ("eq. 7", "E[rank]", "(N + 1) / 2", (N + 1) / 2, MEAN),
        ("section 3.1", "realistic rank of equal scores", "N / 2", N / 2, equal, mean, MEAN),
        ("section 3.2", "AMR", "2 Σ r / Σ (N + 1)", 2 * MR / (N + 1), MR / MEAN),
        ("eq. 8, first", "AMRI", "1 - (MR - 1) / E[MR - 1]", index, AMRI),
        ("eq. 8, second", "AMRI", "2 Σ (r - 1) / Σ N", 2 * (MR - 1) / N, AMRI, no_one, mended),
    ]


def of_framework() -> list[Formula]:
    """Expectations, variances and adjusted metrics of "A Unified Framework"."""
    n, squared, hit = TASKS, (N * N - 1) / 12, K * (N - K) / N
    log, variance, k_n = "ln N / (N - 1)", "1/N - ln N / (N - 1)", "k (N - k) / N"
    (mean, var), (_, var_inverse), (share, var_share) = EVERY
    of_amr, of_mrr, of_hits = 2 * n * MR / (N * (N - 1)), n * MRR / (N * LOG), n * HITS / K
    index, index_of_hits = 1 - (MR - 1) / (MEAN - 1), (HITS - SHARE) / (1 - SHARE)
    ah = tr.adjust(f"hits@{K}", HITS, candidates=N, tasks=n).index
    mrr = ("eq. 14", "MRR / E[MRR]", "(N - 1) / (N ln N) Σ 1/r", of_mrr, MRR / MEAN_INVERSE)
    hits = ("eq. 19", "hits@k / E[hits@k]", "Σ [r <= k] / k", of_hits, HITS / SHARE)
    return [
        ("eq. 4", "E[r]", "(N + 1) / 2", (N + 1) / 2, MEAN),
        ("eq. 5", "Var[r]", "(N² - 1) / 12", squared, VAR),
        ("eq. 6", "E[MR]", "(N + 1) / 2", (N + 1) / 2, mean),
        ("eq. 7", "Var[MR]", "(N² - 1) / 12", squared, var, NO_N, squared / n),
        ("eq. 10", "E[1/r]", log, LOG, MEAN_INVERSE, STAND_IN),
        ("eq. 12", "E[MRR]", log, LOG, MEAN_INVERSE, STAND_IN),
        ("eq. 11", "Var[1/r]", variance, 1 / N - LOG, VAR_INVERSE, NEGATIVE),
        ("eq. 13", "Var[MRR]", variance, 1 / N - LOG, var_inverse, NEGATIVE),
        ("eq. 15", "E[r <= k]", "k / N", K / N, SHARE),
        ("eq. 16", "Var[r <= k]", k_n, hit, VAR_SHARE, NO_SQUARE, hit / N),
        ("eq. 17", "E[hits@k]", "k / N", K / N, share),
        ("eq. 18", "Var[hits@k]", k_n, hit, var_share, "has N for n N²", hit / (n * N)),
        ("eq. 8", "AMR", "2 Σ r / (N (N - 1))", of_amr, MR / MEAN, NO_TASKS, 2 * MR / (N + 1)),
        ("eq. 9", "AMRI", "1 - (MR - 1) / E[MR - 1]", index, AMRI),
        (*mrr, NO_MEAN),
        (*hits, "lacks N / n", of_hits * N / n),
        ("eq. 20", "AH@k", "(H - E[H]) / (1 - E[H])", index_of_hits, ah),
    ]


# -- the page --------------------------------------------------------------------------------------

LISTED = 64  # figures of a table that are shown one by one
GOOD = (AGREES, SIMULATED)
BAD = (EXPLAINED, IMPOSSIBLE, OPEN)

Judged = list[tuple[Figure, str, str]]  # with the verdict, and why


def summary(judged: Judged) -> str:
    """Return how many figures agree, and how many do not."""
    verdicts = Counter(verdict for _, verdict, _ in judged)
    checks = Counter(figure.check for figure, verdict, _ in judged if verdict in GOOD)
    good, bad = (sum(verdicts[name] for name in names) for names in (GOOD, BAD))
    return (
        f"{good + bad:,} figures: {good:,} agree ({checks[COMPUTED]:,} computed, of which "
        f"{verdicts[SIMULATED]:,} to the error of the authors' simulation; "
        f"{checks[FOLLOWS]:,} that follow from other printed figures), {bad:,} do not, of which "
        f"{verdicts[EXPLAINED]:,} are explained, {verdicts[IMPOSSIBLE]:,} impossible and "
        f"{verdicts[OPEN]:,} open. {verdicts[GIVEN]:,} more figures of the same tables are "
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
        if verdict != GIVEN:
            needs[place].add(figure.needs)
    names = (COMPUTED, FOLLOWS, EXPLAINED, IMPOSSIBLE, OPEN, GIVEN)
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


PARTS: tuple[Callable[[Path], Iterable[Figure]], ...] = (
    *(kinships, other_runs, chance_constants, table_1, toy_graph, formulas),
    *(sizes_of_graphs, unseen, sizes_of_alignments),
)


def main(data: Path, output: Path) -> Judged:
    """Make all figures again, print the summary, and put it and the tables into the page."""
    judged: Judged = [(one, *one.judge()) for part in PARTS for one in part(data)]
    compared = [row for row in judged if row[1] != GIVEN]
    sizes = Counter(figure[:2] for figure, _, _ in compared)
    small = [row for row in compared if sizes[row[0][:2]] <= LISTED]
    large = [row for row in compared if sizes[row[0][:2]] > LISTED]
    print(summary(judged))
    tables = [overview(judged), reasons(judged), listing(small), by_column(large)]
    fill_page(HERE / "reproduce.md", output, tables, summary(judged))
    return judged


if __name__ == "__main__":
    main(**arguments(__doc__, "data", output=HERE))
