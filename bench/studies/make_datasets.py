"""Make the table of data sets that `truerank.adjust` fills candidate counts from.

    python bench/studies/make_datasets.py DATA_FOLDER [OUTPUT_FOLDER [TRIPLES_FOLDER]]

Sizes come from the places named in SOURCES. Where triples are available (WN18RR and Kinships in the
data folder; Nations, UMLS and Kinships inside PyKEEN's package; those of PUBLISHED in a folder of
its own each in the triples folder), everything is counted from them, including how many candidates
a filter leaves out. The sizes must agree with what is counted, and with the statistics that PyKEEN
keeps with its data sets. Without a triples folder, the numbers left out of its data sets are those
of the table that the package has.

Of some data sets only bounds are known: OpenKE's folder of FB15k and YAGO3-10 lacks the training
triples, but lists the heads and tails of each relation (type_constrain.txt), and Hetionet's
repository counts them. No query of a relation has more answers than there are heads, or tails.

Filtered means: all answers known from train, valid and test are left out, except for the target.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PACKAGE = Path(__file__).parents[2] / "python" / "truerank" / "metrics"
SPLITS = ("train", "valid", "test")
SIDES = {"head": 0, "relation": 1, "tail": 2}  # the column of the target
PYKEEN_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}

SOURCES = {
    "counted": "counted from the triples",
    "openke": "counted from the triples of OpenKE (github.com/thunlp/OpenKE, benchmarks)",
    "openke-ranges": "heads and tails of each relation from OpenKE (github.com/thunlp/OpenKE)",
    "hetionet": "heads and tails of each relation from github.com/hetio/hetionet, describe/edges",
    "codex-triples": "counted from the triples of CoDEx (github.com/tsafavi/codex, data/triples)",
    "kgdatasets": "counted from the triples of github.com/ZhenfengLei/KGDatasets",
    "pykeen": "statistics of PyKEEN 1.11.1 (pykeen.datasets)",
    "ampligraph": "AmpliGraph's documentation, 'Datasets Summary'",
    "codex": "README of CoDEx (github.com/tsafavi/codex)",
    "pyg": "documentation of torch_geometric.datasets.Wikidata5M",
    "ambiguity": "Berrendorf et al., On the Ambiguity of Rank-Based Evaluation (2020)",
    "framework": "Hoyt et al., A Unified Framework for Rank-based Evaluation Metrics (2022)",
}

# the data sets whose triples are published elsewhere, and their folders: {split}.txt with labels,
# or {split}2id.txt with ids (head, tail, relation) below their number
PUBLISHED = {
    "countries": "Countries_S1",
    "wn18": "WN18",
    "fb15k237": "FB15K237",
    "fb15k237-seen": "FB15K237",
    "codex-s": "codex-s",
    "codex-m": "codex-m",
    "dbpedia50": "DBpedia50",
}

# those of which only the answers of each relation are published, for the splits whose triples are
RANGES = {
    "fb15k": ("FB15K", ("test",)),
    "yago3-10": ("YAGO3-10", ("valid", "test")),
    "yago3-10-seen": ("YAGO3-10", ("valid", "test")),
}

# Hetionet's split is random, so that any of its triples may be tested: the most heads and tails of
# a relation with as many edges as there are test triples (GpBP, AeG)
HETIONET_RANGES = {"head": 14772, "tail": 18094}

SEEN = (
    "As {name}, without the {valid} valid and {test} test triples that have an entity which no "
    "training triple has. PyKEEN and AmpliGraph leave them out; most papers do not."
)
UNSEEN = (
    "All triples of the files, as most papers use them. {valid} valid and {test} test triples have "
    "an entity that no training triple has; without them it is {seen}."
)


class DataSet(NamedTuple):
    """What is known about a data set without counting."""

    name: str
    sizes: tuple[int, int, int, int, int]  # entities, relations, train, valid, test
    sources: tuple[str, ...]
    note: str = ""
    pykeen: str = ""  # its name in PyKEEN, if the statistics must agree
    aliases: tuple[str, ...] = ()


DATA_SETS = {
    "nations": DataSet(
        "Nations", (14, 55, 1592, 199, 201), ("counted", "pykeen", "framework"), pykeen="nations"
    ),
    "kinships": DataSet(
        "Kinships",
        (104, 25, 8544, 1068, 1074),
        ("counted", "pykeen", "framework"),
        pykeen="kinships",
        aliases=("kinship",),
    ),
    "umls": DataSet("UMLS", (135, 46, 5216, 652, 661), ("counted", "pykeen"), pykeen="umls"),
    "countries": DataSet(
        "Countries (S1)",
        (271, 2, 1110, 24, 24),
        ("kgdatasets", "pykeen"),
        pykeen="countries",
        aliases=("countries-s1",),
    ),
    "wn18": DataSet(
        "WN18",
        (40943, 18, 141442, 5000, 5000),
        ("openke", "pykeen", "ampligraph"),
        pykeen="wn18",
    ),
    "wn18rr": DataSet(
        "WN18RR",
        (40943, 11, 86835, 3034, 3134),
        ("counted", "ampligraph", "ambiguity"),
        UNSEEN.format(valid=210, test=210, seen="wn18rr-seen"),
    ),
    "wn18rr-seen": DataSet(
        "WN18RR, seen entities",
        (40559, 11, 86835, 2824, 2924),
        ("counted", "pykeen", "framework"),
        SEEN.format(name="WN18RR", valid=210, test=210),
        pykeen="wn18rr",
        aliases=("wn18rr-pykeen",),
    ),
    "fb15k": DataSet(
        "FB15k",
        (14951, 1345, 483142, 50000, 59071),
        ("openke-ranges", "pykeen", "ampligraph"),
        pykeen="fb15k",
    ),
    "fb15k237": DataSet(
        "FB15k-237",
        (14541, 237, 272115, 17535, 20466),
        ("openke", "ampligraph", "ambiguity"),
        UNSEEN.format(valid=9, test=28, seen="fb15k237-seen"),
    ),
    "fb15k237-seen": DataSet(
        "FB15k-237, seen entities",
        (14505, 237, 272115, 17526, 20438),
        ("openke", "pykeen", "framework", "ampligraph"),
        SEEN.format(name="FB15k-237", valid=9, test=28),
        pykeen="fb15k237",
        aliases=("fb15k237-pykeen",),
    ),
    "yago3-10": DataSet(
        "YAGO3-10",
        (123182, 37, 1079040, 5000, 5000),
        ("openke-ranges", "ampligraph"),
        UNSEEN.format(valid=22, test=18, seen="yago3-10-seen"),
    ),
    "yago3-10-seen": DataSet(
        "YAGO3-10, seen entities",
        (123143, 37, 1079040, 4978, 4982),
        ("openke-ranges", "pykeen", "ampligraph"),
        SEEN.format(name="YAGO3-10", valid=22, test=18),
        pykeen="yago310",
        aliases=("yago3-10-pykeen",),
    ),
    "codex-s": DataSet(
        "CoDEx-S",
        (2034, 42, 32888, 1827, 1828),
        ("codex-triples", "codex", "pykeen"),
        pykeen="codexsmall",
        aliases=("codex-small",),
    ),
    "codex-m": DataSet(
        "CoDEx-M",
        (17050, 51, 185584, 10310, 10311),
        ("codex-triples", "codex", "pykeen", "ampligraph"),
        pykeen="codexmedium",
        aliases=("codex-medium",),
    ),
    "codex-l": DataSet(
        "CoDEx-L",
        (77951, 69, 551193, 30622, 30622),
        ("codex", "pykeen"),
        pykeen="codexlarge",
        aliases=("codex-large",),
    ),
    "dbpedia50": DataSet(
        "DBpedia50",
        (24624, 351, 32203, 123, 2095),
        ("kgdatasets", "pykeen"),
        "As PyKEEN loads it: repeats in a split, and triples with entities or relations that no "
        "training triple has, are left out. 39 test triples and 2 valid ones are in train, too.",
        pykeen="dbpedia50",
        aliases=("dbpedia50k",),
    ),
    "hetionet": DataSet(
        "Hetionet",
        (45158, 24, 1800157, 225020, 225020),
        ("hetionet", "pykeen"),
        "The random split that PyKEEN makes; Hetionet itself has none.",
        pykeen="hetionet",
    ),
    "wikidata5m": DataSet(
        "Wikidata5M (transductive)",
        (4594485, 822, 20614279, 5163, 5133),
        ("pyg",),
        UNSEEN.format(valid=180, test=156, seen="wikidata5m-seen"),
    ),
    "wikidata5m-seen": DataSet(
        "Wikidata5M (transductive), seen entities",
        (4594149, 822, 20614279, 4983, 4977),
        ("pykeen",),
        SEEN.format(name="Wikidata5M", valid=180, test=156),
        pykeen="wikidata5m",
        aliases=("wikidata5m-pykeen",),
    ),
}

Triple = tuple[Any, Any, Any]
Triples = dict[str, list[Triple]]  # by split


def read_files(folder: Path) -> Triples:
    """Read tab-separated labels, one file for each split."""
    return {
        split: [
            tuple(line.split("\t"))
            for line in (folder / f"{split}.txt").read_text(encoding="utf-8").splitlines()
        ]
        for split in SPLITS
    }


def read_arrays(path: Path) -> Triples:
    """Read ids, one array for each split."""
    with np.load(path) as arrays:
        return {split: list(map(tuple, arrays[split].tolist())) for split in SPLITS}


def read_published(folder: Path) -> Triples:
    """Read the files of a data set, of labels or of OpenKE's ids; a split has no triple twice."""
    labels = (folder / "train.txt").exists()
    if labels:
        triples = read_files(folder)
    else:
        paths = {split: folder / f"{split}2id.txt" for split in SPLITS}
        ids = {
            split: np.loadtxt(path, dtype=int, skiprows=1, ndmin=2) for split, path in paths.items()
        }
        triples = {split: list(map(tuple, rows.tolist())) for split, rows in ids.items()}
    if not labels or folder.name == "DBpedia50":  # the relation comes last
        triples = {split: [(h, r, t) for h, t, r in rows] for split, rows in triples.items()}
    return {split: list(dict.fromkeys(rows)) for split, rows in triples.items()}


def with_seen_ids(triples: Triples) -> Triples:
    """Leave out valid and test triples with an entity or a relation that no training triple has."""
    seen, relations = entities(triples["train"]), {triple[1] for triple in triples["train"]}
    return {
        split: [t for t in rows if {t[0], t[2]} <= seen and t[1] in relations]
        for split, rows in triples.items()
    }


def entities(triples: Iterable[Triple]) -> set[Any]:
    """Return all heads and tails."""
    return {entity for triple in triples for entity in (triple[0], triple[2])}


def sizes_of(triples: Triples) -> tuple[int, ...]:
    """Count entities, relations, and the triples of each split, where none may occur twice."""
    if any(len(set(rows)) < len(rows) for rows in triples.values()):
        raise ValueError("a triple occurs twice in a split")
    every = {triple for rows in triples.values() for triple in rows}
    numbers = (len(triples[split]) for split in SPLITS)
    return len(entities(every)), len({triple[1] for triple in every}), *numbers


def left_out(triples: Triples, split: str, column: int) -> list[list[int]]:
    """Return how many candidates the filter leaves out, ascending, and how many tasks have each."""

    def query(triple: Triple) -> tuple[Any, ...]:
        return triple[:column] + triple[column + 1 :]

    known = Counter(query(triple) for triple in set().union(*triples.values()))
    counts = Counter(known[query(triple)] - 1 for triple in triples[split])
    return [list(column) for column in zip(*sorted(counts.items()), strict=True)]


def most_left_out(key: str, published: Path) -> dict[str, Any]:
    """Return how many candidates a filter can leave out at most, and the tasks with each number.

    Of seen entities it is not known which test triples go: those whose bounds are the least.
    """
    if key == "hetionet":
        splits = zip(SPLITS, DATA_SETS[key].sizes[2:], strict=True)
        return {
            split: {side: [[most - 1], [tasks]] for side, most in HETIONET_RANGES.items()}
            for split, tasks in splits
        }
    folder, splits_at_hand = RANGES[key]
    answers: dict[str, dict[int, int]] = {"head": {}, "tail": {}}
    lines = (published / folder / "type_constrain.txt").read_text(encoding="utf-8").splitlines()
    for heads, tails in zip(lines[1::2], lines[2::2], strict=True):
        for side, line in (("head", heads), ("tail", tails)):
            relation, number = line.split("\t", 2)[:2]
            answers[side][int(relation)] = int(number)
    found: dict[str, Any] = {}
    for split in splits_at_hand:
        rows = np.loadtxt(published / folder / f"{split}2id.txt", dtype=int, skiprows=1, ndmin=2)
        unseen = len(rows) - DATA_SETS[key].sizes[2 + SPLITS.index(split)]
        found[split] = {}
        for side, numbers in answers.items():
            most = sorted(numbers[relation] - 1 for relation in rows[:, 2].tolist())
            counts = sorted(Counter(most[unseen:]).items())
            found[split][side] = [list(column) for column in zip(*counts, strict=True)]
    return found


def pykeen_sizes(name: str) -> tuple[int, ...]:
    """Return the statistics that PyKEEN keeps with a data set."""
    from docdata import get_docdata
    from pykeen.datasets import dataset_resolver

    statistics = get_docdata(dataset_resolver.lookup(name))["statistics"]
    splits = (statistics[PYKEEN_SPLITS[split]] for split in SPLITS)
    return statistics["entities"], statistics["relations"], *splits


def record(
    key: str, triples: Triples | None, kept: Any = None, bounds: Any = None
) -> dict[str, Any]:
    """Return one row of the table, checked against PyKEEN and the triples.

    `kept` are the numbers left out that the package has, where the triples are not at hand.
    """
    row = DATA_SETS[key]
    if row.pykeen and (sizes := pykeen_sizes(row.pykeen)) != row.sizes:
        raise ValueError(f"{key}: stated {row.sizes}, PyKEEN has {sizes}")
    counted = any(SOURCES[source].startswith("counted") for source in row.sources)
    if counted != (triples is not None or kept is not None):
        raise ValueError(f"{key}: its sources do not say whether it is counted")
    names = ("entities", "relations", *SPLITS)
    entry: dict[str, Any] = {"name": row.name, **dict(zip(names, row.sizes, strict=True))}
    entry["sources"] = [SOURCES[source] for source in row.sources]
    if row.note:
        entry["note"] = row.note
    if row.aliases:
        entry["aliases"] = row.aliases
    if triples is not None:
        if (sizes := sizes_of(triples)) != row.sizes:
            raise ValueError(f"{key}: stated {row.sizes}, counted {sizes}")
        kept = {
            split: {side: left_out(triples, split, column) for side, column in SIDES.items()}
            for split in SPLITS
        }
    if kept is not None:
        entry["left_out"] = kept
    if bounds is not None:
        entry["most_left_out"] = bounds
    return entry


def format_json(table: dict[str, Any]) -> str:
    """Return JSON with one line for each list of numbers."""
    lines: dict[str, str] = {}

    def replace_lists(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replace_lists(item) for key, item in value.items()}
        if isinstance(value, list) and value and isinstance(value[0], list):
            mark = f"<{len(lines)}>"
            lines[f'"{mark}"'] = json.dumps(value, separators=(",", ":"))
            return mark
        return value

    text = json.dumps(replace_lists(table), indent=1)
    for mark, line in lines.items():
        text = text.replace(mark, line)
    return text + "\n"


def main(data: Path, output: Path, published: Path | None = None) -> None:
    """Write datasets.json."""
    spec = find_spec("pykeen")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the sizes are checked against PyKEEN's: pip install pykeen")
    pykeen_data = Path(spec.submodule_search_locations[0]) / "datasets"
    wordnet = read_files(data / "wn18rr")
    counted = {
        "wn18rr": wordnet,
        "wn18rr-seen": with_seen_ids(wordnet),
        "kinships": read_arrays(data / "kinships" / "triples.npz"),
        "nations": read_files(pykeen_data / "nations"),
        "umls": read_files(pykeen_data / "umls"),
    }
    kept: dict[str, Any] = {}
    bounded = [*RANGES, "hetionet"]
    if published is None:
        facts = json.loads((PACKAGE / "datasets.json").read_text(encoding="utf-8"))
        kept = {key: facts[key]["left_out"] for key in PUBLISHED}
        bounds = {key: facts[key]["most_left_out"] for key in bounded}
    else:
        bounds = {key: most_left_out(key, published) for key in bounded}
        for key, folder in PUBLISHED.items():
            counted[key] = read_published(published / folder)
            if key.endswith("-seen") or key == "dbpedia50":
                counted[key] = with_seen_ids(counted[key])
    again = record("kinships", read_files(pykeen_data / "kinships"))
    table = {
        key: record(key, counted.get(key), kept.get(key), bounds.get(key)) for key in DATA_SETS
    }
    if table["kinships"] != again:
        raise ValueError("kinships: PyKEEN's triples give other counts than the data folder's")
    (output / "datasets.json").write_text(format_json(table), encoding="utf-8")


if __name__ == "__main__":
    places = [Path(argument) for argument in sys.argv[1:]]
    main(places[0], places[1] if len(places) > 1 else PACKAGE, *places[2:])
