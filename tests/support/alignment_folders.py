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
    return [[field.strip(" ") for field in line.split("\t")] for line in text.split("\n") if line]


def plain(files: Mapping[str, str], fold: str = "") -> dict[str, Any]:
    """Read a data set slowly and plainly; the splits of OpenEA are in the folder of a fold.

    Triples and pairs of DBP15k have ids, the first column of the lists of entities and relations;
    those of OpenEA have names, the second one, and lists may be missing.
    """
    read = {name: lines(text) for name, text in files.items()}
    by_id = "triples_1" in read
    key, number = (0, int) if by_id else (1, str)
    parts = {"train": "sup_ent_ids", "test": "ref_ent_ids"}
    if not by_id:
        parts = {split: f"{fold}/{split}_links" for split in ("train", "valid", "test")}
    splits = {split: read[name] for split, name in parts.items() if read.get(name)}
    pairs = read.get("ent_links", [pair for rows in splits.values() for pair in rows])
    found: dict[str, Any] = {}
    orders = []
    for k in (1, 2):
        triples = read[f"triples_{k}" if by_id else f"rel_triples_{k}"]
        heads, used, tails = (list(column) for column in zip(*triples, strict=True))
        keys = []
        for name, ids, labels in (
            ("names", "ids", [*heads, *tails, *(pair[k - 1] for pair in pairs)]),
            ("relations", "relation_ids", used),
        ):
            listed = read.get(f"{'ent' if name == 'names' else 'rel'}_ids_{k}")
            own = [row[key] for row in listed or []] or sorted(set(labels), key=number)
            names = [row[1] for row in listed] if listed else None if by_id else own
            found[f"{name}_{k}"] = None if names is None else tuple(names)
            numbers = (
                [int(row[0]) for row in listed] if listed else map(int, own) if by_id else None
            )
            found[f"{ids}_{k}"] = None if numbers is None else list(numbers)
            keys.append(own)
        found[f"triples_{k}"] = positions(triples, keys[0], keys[1], keys[0])
        orders.append(keys[0])
    found["pairs"] = without_repeats(positions(pairs, *orders))
    found["splits"] = {name: positions(rows, *orders) for name, rows in splits.items()}
    if by_id and len(splits) == 1:
        found["splits"] = {}
    return found


def positions(rows: list[list[str]], *orders: list[str]) -> list[list[int]]:
    """Return where the labels of each row are in the order of their column."""
    return [[order.index(x) for x, order in zip(row, orders, strict=True)] for row in rows]


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
        found[f"names_{k}"] = graph.names
        found[f"relations_{k}"] = graph.relations
        found[f"triples_{k}"] = graph.triples.tolist()
    return found
