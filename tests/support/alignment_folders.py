"""Small data sets in folders, and slow readers of the layouts in plain Python."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
            if isinstance(content, str):
                content = content.encode()
            if name.endswith(".gz"):
                content = gzip.compress(content)
            path.write_bytes(content)
    return folder


def lines(text: str) -> list[list[str]]:
    """Return the fields of each line."""
    return [[field.strip(" ") for field in line.split("\t")] for line in text.split("\n") if line]


def plain(files: Mapping[str, str], fold: str = "") -> dict[str, Any]:
    """Read a data set slowly and plainly; the splits of OpenEA are in the folder of a fold.

    Triples and pairs of DBP15k have ids, the first column of the lists of entities and relations;
    those of OpenEA have names, the second one, and lists may be missing.
    """
    read = {name: lines(text) for name, text in files.items()}
    by_id = "triples_1" in read
    if by_id:
        name_of_triples = "triples"
        parts = {"train": "sup_ent_ids", "test": "ref_ent_ids"}
    else:
        name_of_triples = "rel_triples"
        parts = {split: f"{fold}/{split}_links" for split in ("train", "valid", "test")}
    splits = {split: read[name] for split, name in parts.items() if read.get(name)}
    pairs = read.get("ent_links", [pair for rows in splits.values() for pair in rows])
    found: dict[str, Any] = {}
    orders = []
    for k in (1, 2):
        triples = read[f"{name_of_triples}_{k}"]
        used = {pair[k - 1] for pair in pairs}
        for head, _, tail in triples:
            used |= {head, tail}
        entities = labels_of(read.get(f"ent_ids_{k}"), used, by_id)
        relations = labels_of(read.get(f"rel_ids_{k}"), {row[1] for row in triples}, by_id)
        found |= {f"names_{k}": entities.names, f"ids_{k}": entities.ids}
        found[f"relations_{k}"] = relations.names
        order = entities.order
        found[f"triples_{k}"] = positions(triples, order, relations.order, order)
        orders.append(order)
    distinct = dict.fromkeys(map(tuple, positions(pairs, *orders)))
    found["pairs"] = list(map(list, distinct))
    found["splits"] = {name: positions(rows, *orders) for name, rows in splits.items()}
    if by_id and len(splits) == 1:
        found["splits"] = {}
    return found


class Labels(NamedTuple):
    """What entities or relations are called in triples, in order; their names and their ids."""

    order: list[str]
    names: tuple[str, ...]
    ids: list[int] | None


def labels_of(rows: list[list[str]] | None, used: set[str], by_id: bool) -> Labels:
    """Return the labels of rows of an id and a name, or the ids or names that are used."""
    if rows:
        order = [row[not by_id] for row in rows]
        return Labels(order, tuple(row[1] for row in rows), [int(row[0]) for row in rows])
    order = sorted(used, key=int if by_id else str)
    return Labels(order, tuple(order), None)


def positions(rows: list[list[str]], *orders: list[str]) -> list[list[int]]:
    """Return where the labels of each row are in the order of their column."""
    return [[order.index(x) for x, order in zip(row, orders, strict=True)] for row in rows]


def plain_data(data: Any) -> dict[str, Any]:
    """Return what the package has read, in the form of the slow readers."""
    found: dict[str, Any] = {
        "pairs": data.pairs.tolist(),
        "splits": {name: pairs.tolist() for name, pairs in data.splits.items()},
    }
    for k, graph in ((1, "left"), (2, "right")):
        ids = getattr(data, f"{graph}_ids")
        found[f"ids_{k}"] = ids if ids is None else ids.tolist()
        found[f"names_{k}"] = getattr(data, graph)
        found[f"relations_{k}"] = getattr(data, f"{graph}_relations")
        found[f"triples_{k}"] = getattr(data, f"{graph}_triples").tolist()
    return found
