"""The figures of the two papers on alignment, and ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reproduce_figures import FOLLOWS, Figure, Range, Reason, read_printed, read_table

from truerank import alignment

ASSESSMENT, OPENEA = "A Critical Assessment", "OpenEA"

SIZES = (
    "entities",
    "relations",
    "attributes",
    "triples",
    "attribute triples",
    "aligned",
    "exclusive",
)
# the names of the same graphs in OpenEA's Table 2
PAIRS = {f"openea {pair}": f"{pair.upper()} 15K (V2)" for pair in ("en-de", "en-fr", "d-y", "d-w")}
GRAPHS = {"d": "DB", "w": "WD", "y": "YG", "en": "EN", "de": "DE", "fr": "FR"}


def whole(text: str) -> int:
    """Read a whole number."""
    return int(text.replace(",", ""))


def sizes(graph: alignment.Graph, aligned: Any) -> dict[str, int]:
    """Count what a table of data sets has of a graph; `aligned` are its entities in a pair."""
    return {
        "entities": graph.size,
        "relations": len(np.unique(graph.triples[:, 1])),
        "triples": len(graph.triples),
        "aligned": len(aligned),
        "exclusive": graph.size - len(aligned),
    }


def graphs(data: Path) -> Iterator[Figure]:
    """Sizes of graphs: counted, as another paper has them, or as a difference."""
    read = alignment.read_dbp15k(data / "dbp15k_zh_en")
    counted = {
        language: sizes(graph, np.unique(ids))
        for language, graph, ids in zip(
            ("zh", "en"), (read.left, read.right), read.pairs.T, strict=True
        )
    }
    rows = list(read_table("reproduce_alignment.tsv"))
    twins = {(row["pair"], row["graph"]): row for row in rows if row["source"] == OPENEA}
    for row in rows:
        twin = twins.get((PAIRS.get(row["pair"], ""), GRAPHS.get(row["graph"], "")), {})
        for name in SIZES:
            if not row[name]:
                continue
            place = row["source"], row["table"], f"{row['pair']}, {row['graph']}"
            figure = Figure(*place, name, row[name])
            other = figure._replace(needs="print", check=FOLLOWS)
            if row["pair"] == "dbp15k zh-en":
                yield figure._replace(needs="triples", ours=Range.at(counted[row["graph"]][name]))
            elif name == "exclusive":
                yield other._replace(ours=Range.at(whole(row["entities"]) - whole(row["aligned"])))
            elif twin.get(name):
                yield other._replace(ours=Range.at(whole(twin[name])))
            else:
                yield figure


# Table 2 of "A Critical Assessment": by attribute, by id, and the share of the latter
LABELS = {
    "d-w, d": ("0", "15,000", "100.00"),
    "d-w, w": ("8,391", "7,301", "48.67"),
    "d-y, d": ("2,883", "12,122", "80.81"),
    "d-y, y": ("15,000", "0", "0.00"),
}
ENTITIES = 15_000


def labels(_: Path) -> Iterator[Figure]:
    """Table 2: entities whose label is an attribute, or the id."""
    for row, (attribute, by_id, percent) in LABELS.items():
        place = (ASSESSMENT, "Table 2", row)
        both = whole(attribute) + whole(by_id)
        why = f"with those via attribute they are {both:,} of {ENTITIES:,} entities"
        given = Figure(*place, "via attribute", attribute)
        other = given._replace(needs="print", check=FOLLOWS)
        rest = Range.at(ENTITIES - whole(attribute))
        share = Range.at(100 * whole(by_id) / ENTITIES)
        yield given
        yield other._replace(column="via id", printed=by_id, ours=rest, reasons=(Reason(why),))
        yield other._replace(column="via id (%)", printed=percent, ours=share)


VALIDATION = 2 * 900  # both ways, of a fifth of the 30 percent of pairs that are not for testing
AWAY = Reason("the table has another number")


def results(_: Path) -> Iterator[Figure]:
    """Tables 4 and 5, hits@1 in percent, and what the text says of them."""
    rows = list(read_table("reproduce_assessment.tsv"))
    final: dict[str, dict[str, str]] = defaultdict(dict)  # of Table 4, by column and model
    runs: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)  # of Table 5
    for row in rows:
        place = (ASSESSMENT, row["table"], f"{row['row']}; {row['column']}")
        test = Figure(*place, "test", row["test"])
        if row["table"] == "Table 4":
            final[row["column"]][row["row"]] = row["test"]
            yield test
            continue
        parameter = row["row"].partition(":")[0]
        runs[parameter, row["column"]].append(row)
        tasks = round(float(row["valid"]) * VALIDATION / 100)
        yield test._replace(
            column="valid",
            printed=row["valid"],
            needs="print",
            ours=Range.at(100 * tasks / VALIDATION),
            check=FOLLOWS,
        )
        yield test
    for (parameter, column), group in runs.items():
        best = max(group, key=lambda row: float(row["valid"]))
        yield Figure(
            ASSESSMENT,
            "Table 5 as Table 4",
            f"{parameter}; {column}",
            "test of the best in validation",
            best["test"],
            "print",
            read_printed(final[column]["RDGCN"]),
            check=FOLLOWS,
            reasons=(AWAY,),
        )
    yield from claims(final, runs["normalization", "openea en-de, Sun"])


def claims(final: dict[str, dict[str, str]], runs: list[dict[str, str]]) -> Iterator[Figure]:
    """Numbers of sections 4.1 and 4.2 that name the cells of Tables 4 and 5 they are about."""
    cell = {
        (column, model): float(text)
        for column, models in final.items()
        for model, text in models.items()
    }
    zero = [text["Zero Shot"] for text in final.values()]
    dbp15k = ("fr-en", "ja-en", "zh-en")
    gains = [
        cell[f"dbp15k {subset}, Wu", "Zero Shot"] - cell[f"dbp15k {subset}, Xu", "Zero Shot"]
        for subset in dbp15k
    ]
    leads = [
        models["RDGCN"] - max(value for name, value in models.items() if name != "RDGCN")
        for models in (
            {name: cell[f"openea {subset}, Sun", name] for name in final["openea d-w, Sun"]}
            for subset in ("d-w", "d-y")
        )
    ]
    improved = [
        cell[column, model] - cell[column, "Zero Shot"]
        for column in ("wk3l15k en-de, BERT", "wk3l15k en-fr, BERT")
        for model in ("RDGCN", "GCN-Align*")
    ]
    best = max(runs, key=lambda row: float(row["test"]))
    chosen = max(runs, key=lambda row: float(row["valid"]))
    by_test, by_validation = read_printed(best["test"]), read_printed(chosen["test"])
    gap = Range(by_test.low - by_validation.high, by_test.high - by_validation.low)
    zero_shot = "zero shot"
    stated = (
        ("section 4.1", zero_shot, "least", "39.15", read_printed(min(zero, key=float))),
        ("section 4.1", zero_shot, "greatest", "83.85", read_printed(max(zero, key=float))),
        ("section 4.1", zero_shot, "openea d-w", "39.15", read_printed(
            final["openea d-w, Sun"]["Zero Shot"])),
        *ends("section 4.1", "Wu's initialisation over Xu's, dbp15k", ("7", "9"), gains),
        *ends("section 4.1", "RDGCN over the next, openea d-w and d-y", ("10", "13"), leads),
        *ends("section 4.1", "over zero shot, wk3l15k", ("1", "2"), improved),
        ("section 4.2", "RDGCN, en-de", "best by test", "93.53", by_test),
        ("section 4.2", "RDGCN, en-de", "best by validation", "80.03", by_validation),
        ("section 4.2", "RDGCN, en-de", "difference", "13.5", gap),
    )  # fmt: skip
    for table, row, column, printed, ours in stated:
        place = (ASSESSMENT, table, row, column, printed)
        yield Figure(*place, "print", ours, check=FOLLOWS, reasons=(AWAY,))


def ends(
    table: str, row: str, printed: tuple[str, str], values: Iterable[float]
) -> Iterator[tuple[str, str, str, str, Range]]:
    """Yield the least and the greatest of some differences of cells with two decimals each."""
    found = sorted(values)
    for column, text, value in zip(
        ("least", "greatest"), printed, (found[0], found[-1]), strict=True
    ):
        yield table, row, column, text, Range.at(value).widened(0.01)


SPLITS = {"15K": ("3,000", "1,500", "10,500"), "100K": ("20,000", "10,000", "70,000")}
SHARES = {"training": 20, "validation": 10, "test": 70}  # percent, of section 5.1


def splits(_: Path) -> Iterator[Figure]:
    """Table 3 of OpenEA's study."""
    for name, printed in SPLITS.items():
        total = int(name.removesuffix("K")) * 1000
        for (column, share), text in zip(SHARES.items(), printed, strict=True):
            ours = Range.at(total * share / 100)
            yield Figure(OPENEA, "Table 3", name, column, text, "print", ours, check=FOLLOWS)
