"""The table of data sets: sizes, sources, and how many candidates a filter leaves out.

    python bench/studies/data_sets.py DATA_FOLDER [OUTPUT_FOLDER [TRIPLES_FOLDER]]

counts again what the table, `datasets.json`, says, and writes it. Where triples are at hand (WN18RR
and Kinships in the data folder; Nations and UMLS inside PyKEEN's package; those of PUBLISHED in a
folder of its own each in the triples folder), the sizes must be those that are counted, and how
many candidates a filter leaves out is counted: all answers known from train, valid and test, except
for the target. The triples are those of other studies, too, and so are the models of Kinships.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr

TABLE = Path(__file__).with_name("datasets.json")
SPLITS = ("train", "valid", "test")
SIDES = {"head": 0, "relation": 1, "tail": 2}  # the column of the target

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

Counts = tuple[Any, Any]  # numbers of candidates, and how many tasks have each


@cache
def data_sets() -> dict[str, dict[str, Any]]:
    """Read the table of data sets, by name.

    Each has `name`, `entities`, `relations`, `train`, `valid`, `test` (numbers of triples),
    `sources`, an optional `note`, and `left_out` where it is known how many candidates the filter
    leaves out: by split and side these numbers, and how many tasks have each.
    """
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def filtered_candidates(
    dataset: str, split: str = "test", sides: tuple[str, ...] = ("head", "tail")
) -> Counts:
    """Return the numbers of candidates that a filter leaves, and how many tasks have each."""
    entry = data_sets()[dataset]
    size = entry["relations"] if "relation" in sides else entry["entities"]
    by_side = entry["left_out"][split]
    tables = [np.array(by_side[name])[:, ::-1] for name in sides]
    left_out, tasks = np.concatenate(tables, axis=1)
    return size - left_out, tasks


KINSHIPS = ("complex", "rotate", "transe", "tucker")  # the published models


def rank_model(folder: Path, model: str) -> tr.Ranks:
    """Rank head and tail of every test triple, without all other known answers.

    Parameters
    ----------
    folder
        Has triples.npz and the arrays of each model.
    model
        One of KINSHIPS.
    """
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        known = {split: triples[split] for split in ("train", "valid")}
        entities = arrays["entities"]
        similarity = str(arrays["similarity"])
        task = tr.link_prediction.Task(triples["test"], known, entities=len(entities))
        queries = {side: arrays[f"queries_{side}"] for side in ("tail", "head")}
        layout = "interleaved" if similarity == "complex_l1" else None
        options = {"similarity": similarity, "layout": layout}
        return task.evaluate_embeddings(**queries, entities=entities, **options).ranks


# -- triples ---------------------------------------------------------------------------------------

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
        ids = {s: np.loadtxt(path, dtype=int, skiprows=1, ndmin=2) for s, path in paths.items()}
        triples = {split: list(map(tuple, rows.tolist())) for split, rows in ids.items()}
    if not labels or folder.name == "DBpedia50":  # the relation comes last
        triples = {split: [(h, r, t) for h, t, r in rows] for split, rows in triples.items()}
    return {split: list(dict.fromkeys(rows)) for split, rows in triples.items()}


def with_seen_ids(triples: Triples) -> Triples:
    """Leave out valid and test triples with an entity or a relation that no training triple has."""
    seen = entities(triples["train"])
    relations = {triple[1] for triple in triples["train"]}
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
    sizes = [len(entities(every)), len({triple[1] for triple in every})]
    sizes += [len(triples[split]) for split in SPLITS]
    return tuple(sizes)


def left_out(triples: Triples, split: str, column: int) -> list[list[int]]:
    """Return how many candidates the filter leaves out, ascending, and how many tasks have each."""

    def query(triple: Triple) -> tuple[Any, ...]:
        return triple[:column] + triple[column + 1 :]

    known = Counter(query(triple) for triple in set().union(*triples.values()))
    counts = Counter(known[query(triple)] - 1 for triple in triples[split])
    return [list(column) for column in zip(*sorted(counts.items()), strict=True)]


def format_json(table: dict[str, Any]) -> str:
    """Return JSON with one line for each list of numbers."""
    text = json.dumps(table, indent=1) + "\n"
    return re.sub(r"\[[\s\d,[\]]+\]", lambda numbers: re.sub(r"\s", "", numbers[0]), text)


def main(data: Path, output: Path = TABLE.parent, published: Path | None = None) -> None:
    """Write datasets.json."""
    spec = find_spec("pykeen")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("some triples are those of PyKEEN's package: pip install pykeen")
    pykeen_data = Path(spec.submodule_search_locations[0]) / "datasets"
    wordnet = read_files(data / "wn18rr")
    counted = {
        "wn18rr": wordnet,
        "wn18rr-seen": with_seen_ids(wordnet),
        "kinships": read_arrays(data / "kinships" / "triples.npz"),
        "nations": read_files(pykeen_data / "nations"),
        "umls": read_files(pykeen_data / "umls"),
    }
    folders = {}
    if published is not None:
        folders = {key: published / folder for key, folder in PUBLISHED.items()}
    for key, folder in folders.items():
        counted[key] = read_published(folder)
        if key.endswith("-seen") or key == "dbpedia50":
            counted[key] = with_seen_ids(counted[key])
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for key, triples in counted.items():
        entry = table[key]
        sizes = sizes_of(triples)
        stated = (entry["entities"], entry["relations"])
        stated += tuple(entry[split] for split in SPLITS)
        if sizes != stated:
            raise ValueError(f"{key}: stated {stated}, counted {sizes}")
        entry["left_out"] = {
            split: {side: left_out(triples, split, column) for side, column in SIDES.items()}
            for split in SPLITS
        }
    (output / TABLE.name).write_text(format_json(table), encoding="utf-8")


if __name__ == "__main__":
    places = [Path(argument) for argument in sys.argv[1:]]
    main(*places)
