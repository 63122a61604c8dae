"""The figures of the papers on metrics, sizes of data sets, and ours."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from data_sets import Counts, data_sets, filtered_candidates
from graphs import KINSHIPS, rank_model
from make_datasets import entities, read_arrays, read_files, sizes_of, with_seen_ids
from reproduce_figures import (
    DOUBLE,
    FOLLOWS,
    SINGLE,
    Figure,
    Range,
    Reason,
    read_printed,
    read_table,
)

import truerank as tr
from truerank.metrics.keys import PYKEEN_NAMES, parse

FRAMEWORK = "A Unified Framework"
AMBIGUITY = "On the Ambiguity"
HITS = (1, 3, 5, 10)

NAMES = ["mr", "mrr", "hmr", "imr", "gmr", "igmr", "median", "imedian", "std", "variance", "mad"]
NAMES += ["amr", "amri", "amrr", "index.gmr", "zmr", "zmrr", "z.gmr"]
NAMES += [f"{name}@{k}" for name in ("hits", "ah", "zh") for k in HITS]
KEYS = {name: parse(name) for name in NAMES}
LONG = {"tasks": "count"}  # PyKEEN's names
for long, pair in PYKEEN_NAMES.items():
    for name, key in KEYS.items():
        if pair == (key.adjustment, key.metric):
            LONG[name] = long.replace("_at_k", f"_at_{key.parameter}")
# the metric that is adjusted
BASE = {}
for name, key in KEYS.items():
    if key.adjustment != "none":
        BASE[name] = key.metric
        if key.metric == "hits":
            BASE[name] += f"@{key.parameter}"
INDICES, Z = ({name for name in BASE if KEYS[name].adjustment == x} for x in ("index", "z"))
# what follows from another printed figure alone
IDENTITIES: dict[str, tuple[str, Callable[[float], float]]] = {
    "hmr": ("mrr", lambda x: 1 / x),
    "imr": ("mr", lambda x: 1 / x),
    "igmr": ("gmr", lambda x: 1 / x),
    "imedian": ("median", lambda x: 1 / x),
    "variance": ("std", lambda x: x * x),
}

STAND_IN = "ln N / (N - 1) at the mean N, for the mean of H_N / N"
ONE_LESS = "chance among N - 1 candidates, without the true one"
SIGN = "chance among N - 1 candidates, and the opposite sign of (value - mean) / sd"


def adjusted(name: str, value: float, counts: Counts) -> float:
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
        return (Reason(STAND_IN, Range.at((value - chance) / (1 - chance)), SINGLE),)
    if name not in Z and name != "index.gmr":
        return ()
    again = adjusted(name, value, (np.asarray(sizes) - 1, tasks))
    if name == "z.gmr":
        return (Reason(SIGN, Range.at(-again)),)
    return (Reason(ONE_LESS, Range.at(again)),)


def counts_of(ranks: tr.Ranks) -> Counts:
    """Return the numbers of candidates, and how many tasks have each."""
    return np.unique(ranks.candidates, return_counts=True)


# -- A Unified Framework ---------------------------------------------------------------------------


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
        precision = DOUBLE
        if single or name in ("gmr", "igmr", "amr", "amri"):
            precision = SINGLE
        scale = 1.0 if name in INDICES else 0.0
        reasons: tuple[Reason, ...] = ()
        if name in BASE:
            reasons = arithmetic_of(name, float(printed[BASE[name]]), counts)
        yield Figure(
            *place,
            LONG[name],
            text,
            "vectors, triples",
            Range.at(ours[name]),
            precision=precision,
            scale=scale,
            reasons=reasons,
        )


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
                whole = round(float(row[name]) * tasks)
                yield figure._replace(
                    needs="counts", ours=Range.at(whole / tasks), precision=DOUBLE
                )
            elif name in IDENTITIES:
                other, function = IDENTITIES[name]
                yield figure._replace(needs="print", ours=Range.at(function(float(row[other]))))
            elif name in BASE:
                value = float(row[BASE[name]])
                scale = 1.0 if name in INDICES else 0.0
                yield figure._replace(
                    needs="counts",
                    ours=Range.at(adjusted(name, value, counts)),
                    scale=scale,
                    reasons=arithmetic_of(name, value, counts),
                )
            else:
                yield figure


SIMULATED = [(metric, "expectation") for metric in ("hmr", "imr", "igmr")]
SIMULATED += [(metric, "variance") for metric in ("hmr", "imr", "gmr", "igmr")]
DRAWS = 500
LOGARITHM = (
    "n times the logarithm of a sum in double precision, which loses n units of its last place"
)
UNITS = 10  # of the last place, that a sum and its logarithm may be off


def chance_constants(_: Path) -> Iterator[Figure]:
    """Expectation and variance of metrics of N tasks among N candidates each."""
    times: Counter[tuple[str, int]] = Counter()  # 1 and 2 are there twice
    for row in read_table("unified_framework_chance.tsv"):
        size = int(row["candidates"])
        times[row["metric"], size] += 1
        again = ", again" if times[row["metric"], size] > 1 else ""
        mean, variance = tr.chance(row["metric"], ([size], [size]))
        lost = UNITS * size * float(np.spacing(math.log(size))) * mean
        errors = (math.sqrt(variance / DRAWS), variance * math.sqrt(2 / (DRAWS - 1)))
        for column, ours, error in zip(
            ("expectation", "variance"), (mean, variance), errors, strict=True
        ):
            error_of_draws = error if (row["metric"], column) in SIMULATED else 0.0
            reasons: tuple[Reason, ...] = ()
            if (row["metric"], column) == ("gmr", "expectation"):
                reasons = (Reason(LOGARITHM, Range.at(mean).widened(lost)),)
            yield Figure(
                FRAMEWORK,
                "candidates.tsv",
                f"N = {size:,}{again}",
                f"{row['metric']}, {column}",
                row[column],
                "counts",
                Range.at(ours),
                error=error_of_draws,
                reasons=reasons,
            )


# -- On the Ambiguity ------------------------------------------------------------------------------


AMBIGUITY_NAMES = {"wn18rr": "WN18RR", "fb15k237": "FB15k-237"}


def table_1(_: Path) -> Iterator[Figure]:
    """The adjusted indices from the mean ranks, with the exact filtered candidates."""
    for row in read_table("on_the_ambiguity.tsv"):
        place = (AMBIGUITY, "Table 1", f"{row['model']}, {AMBIGUITY_NAMES[row['dataset']]}")
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
    read = tr.alignment.read_dbp15k(data / "dbp15k_zh_en")
    counted = {}
    graphs = {"zh": (read.left, read.left_triples), "en": (read.right, read.right_triples)}
    for (language, (labels, triples)), ids in zip(graphs.items(), read.pairs.T, strict=True):
        aligned = len(np.unique(ids))
        relations = len(np.unique(triples[:, 1]))
        size = len(labels)
        numbers = (size, relations, len(triples), aligned, size - aligned)
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
