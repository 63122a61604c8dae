"""Small data sets in folders, and slow readers of the layouts in plain Python."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DBP15K = {
    "ent_ids_1": "7\tWien\n9\tGraz\n3\tLinz\n",
    "ent_ids_2": "8\tVienna\n5\tGraz\n6\tSalzburg\n11\tLinz\n",
    "triples_1": "7\t30\t9\n9\t2\t9\n7\t30\t3\n",
    "triples_2": "8\t30\t5\n8\t4\t6\n",
    "ref_ent_ids": "9\t5\n7\t8\n",
}
OPENEA = {
    "rel_triples_1": "Wien\tnear\tLinz\nGraz\tin\tSteiermark\n",
    "rel_triples_2": "Vienna\tnear\tLinz\nGraz\tin\tStyria\nStyria\tin\tAustria\n",
    "ent_links": "Wien\tVienna\nGraz\tGraz\nSteiermark\tStyria\nLinz\tLinz\n",
    "721_5fold/1/train_links": "Graz\tGraz\n",
    "721_5fold/1/valid_links": "Linz\tLinz\n",
    "721_5fold/1/test_links": "Steiermark\tStyria\nWien\tVienna\n",
    "721_5fold/2/train_links": "Wien\tVienna\n",
    "721_5fold/2/valid_links": "",
    "721_5fold/2/test_links": "Graz\tGraz\nLinz\tLinz\n",
}


def fill_folder(folder: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Write files, gzipped if the name ends in .gz; None stands for a missing file."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            raw = content if isinstance(content, bytes) else content.encode()
            path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder


def lines(text: str) -> list[list[str]]:
    """Return the fields of each line."""
    return [line.split("\t") for line in text.split("\n") if line]


def plain_dbp15k(files: Mapping[str, str]) -> dict[str, Any]:
    """Read a data set in the layout of DBP15k, slowly and plainly."""
    found: dict[str, Any] = {}
    places = []
    for k in (1, 2):
        entities = lines(files[f"ent_ids_{k}"])
        ids = [int(row[0]) for row in entities]
        triples = [list(map(int, row)) for row in lines(files[f"triples_{k}"])]
        relations = sorted({row[1] for row in triples})
        names = None
        if f"rel_ids_{k}" in files:
            relations = [int(row[0]) for row in lines(files[f"rel_ids_{k}"])]
            names = tuple(row[1] for row in lines(files[f"rel_ids_{k}"]))
        found[f"names_{k}"] = tuple(row[1] for row in entities)
        found[f"ids_{k}"] = ids
        found[f"relation_ids_{k}"] = relations
        found[f"relations_{k}"] = names
        found[f"triples_{k}"] = [
            [ids.index(h), relations.index(r), ids.index(t)] for h, r, t in triples
        ]
        places.append(ids)

    def pairs(name: str) -> list[list[int]]:
        rows = [list(map(int, row)) for row in lines(files[name])]
        return [[places[0].index(a), places[1].index(b)] for a, b in rows]

    found["splits"] = {}
    found["pairs"] = without_repeats(pairs("ref_ent_ids"))
    if "sup_ent_ids" in files:
        found["splits"] = {"train": pairs("sup_ent_ids"), "test": pairs("ref_ent_ids")}
        found["pairs"] = without_repeats([*found["splits"]["train"], *found["splits"]["test"]])
    return found


def plain_openea(files: Mapping[str, str], fold: int | None) -> dict[str, Any]:
    """Read a data set in the layout of OpenEA, slowly and plainly, without lists of ids."""
    read = {name: lines(text) for name, text in files.items()}
    found: dict[str, Any] = {}
    orders = []
    for k in (1, 2):
        rows = read[f"rel_triples_{k}"]
        names = sorted(
            {row[0] for row in rows}
            | {row[2] for row in rows}
            | {pair[k - 1] for pair in read["ent_links"]}
        )
        relations = sorted({row[1] for row in rows})
        found[f"names_{k}"], found[f"relations_{k}"] = tuple(names), tuple(relations)
        found[f"ids_{k}"] = found[f"relation_ids_{k}"] = None
        found[f"triples_{k}"] = [
            [names.index(h), relations.index(r), names.index(t)] for h, r, t in rows
        ]
        orders.append(names)

    def pairs(name: str) -> list[list[int]]:
        return [[orders[0].index(a), orders[1].index(b)] for a, b in read[name]]

    found["pairs"] = without_repeats(pairs("ent_links"))
    parts = {split: f"721_5fold/{fold}/{split}_links" for split in ("train", "valid", "test")}
    found["splits"] = {k: pairs(name) for k, name in parts.items() if fold and read.get(name)}
    return found


def without_repeats(rows: Sequence[list[int]]) -> list[list[int]]:
    """Return the rows without repeats, in order of first use."""
    kept: list[list[int]] = []
    for row in rows:
        if row not in kept:
            kept.append(row)
    return kept


def plain_data(data: Any) -> dict[str, Any]:
    """Return what the package has read, in the form of the slow readers."""
    found: dict[str, Any] = {
        "pairs": data.pairs.tolist(),
        "splits": {name: pairs.tolist() for name, pairs in data.splits.items()},
    }
    for k, graph in ((1, data.left), (2, data.right)):
        ids = {"ids": graph.ids, "relation_ids": graph.relation_ids}
        found |= {f"{k_}_{k}": None if v is None else v.tolist() for k_, v in ids.items()}
        found[f"names_{k}"], found[f"relations_{k}"] = graph.names, graph.relations
        found[f"triples_{k}"] = graph.triples.tolist()
    return found
