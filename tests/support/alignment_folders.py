"""Small data sets in folders, and slow readers of the layouts in plain Python."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
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
    order = int if by_id else str
    prefix = "" if by_id else "rel_"
    parts = {split: f"{fold}/{split}_links" for split in ("train", "valid", "test")}
    if by_id:
        parts = {"train": "sup_ent_ids", "test": "ref_ent_ids"}
    splits = {split: read[name] for split, name in parts.items() if read.get(name)}
    pairs = read.get("ent_links", [pair for rows in splits.values() for pair in rows])
    data: dict[str, Any] = {"pairs": list(map(list, dict.fromkeys(map(tuple, pairs))))}
    data["splits"] = {} if by_id and len(splits) == 1 else splits
    for k in (1, 2):
        triples = read[f"{prefix}triples_{k}"]
        used = {pair[k - 1] for pair in pairs}
        for head, _, tail in triples:
            used |= {head, tail}
        listed = read.get(f"ent_ids_{k}")
        data[f"names_{k}"] = sorted(used, key=order)
        data[f"ids_{k}"] = None
        if listed:
            data[f"names_{k}"] = [name for _, name in listed]
            data[f"ids_{k}"] = [int(number) for number, _ in listed]
        words = {row[1]: row[1] for row in sorted(triples, key=lambda row: order(row[1]))}
        relations = read.get(f"rel_ids_{k}")
        if relations:
            words = {row[not by_id]: row[1] for row in relations}
        data[f"relations_{k}"] = list(words.values())
        data[f"triples_{k}"] = [[head, words[relation], tail] for head, relation, tail in triples]
    return data


def plain_data(data: Any, *, by_id: bool = False) -> dict[str, Any]:
    """Return what the package has read, in the form of the slow readers."""
    plainly: dict[str, Any] = {}
    labels = []
    for k, graph in ((1, "left"), (2, "right")):
        ids = getattr(data, f"{graph}_ids")
        names = list(getattr(data, graph))
        relations = getattr(data, f"{graph}_relations")
        labels.append(list(map(str, ids)) if by_id else names)
        of = labels[-1]
        plainly[f"ids_{k}"] = ids if ids is None else ids.tolist()
        plainly[f"names_{k}"] = names
        plainly[f"relations_{k}"] = list(relations)
        triples = getattr(data, f"{graph}_triples").tolist()
        plainly[f"triples_{k}"] = [[of[head], relations[i], of[tail]] for head, i, tail in triples]
    left, right = labels
    splits = {"": data.pairs, **data.splits}
    words = {name: [[left[a], right[b]] for a, b in x.tolist()] for name, x in splits.items()}
    return {"pairs": words.pop(""), "splits": words, **plainly}
