"""Statistics of alignment data: known numbers, and the slow way."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.alignment_folders import OPENEA, fill_folder
from truerank.alignment.datasets.data_statistics import DataStatistics, describe
from truerank.alignment.datasets.graphs import AlignmentData, Graph
from truerank.alignment.datasets.readers import read_dbp15k, read_openea

pytestmark = pytest.mark.python_only

Rows = list[tuple[int, ...]]


def slow_quantile(values: list[int], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def slow_graph(triples: Rows, size: int, counterparts: list[int]) -> dict[str, Any]:
    facts = set(triples)
    degree = [sum(e in (h, t) for h, _, t in facts) for e in range(size)]
    shares = {"lowest": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "highest": 1.0}
    buckets = {"0": (0, 0), "1-5": (1, 5), "6-10": (6, 10), "11-15": (11, 15), "16+": (16, 99)}
    return {
        "entities": size,
        "relations": len({r for _, r, _ in facts}),
        "triples": len(triples),
        "repeated": len(triples) - len(facts),
        "loops": sum(h == t for h, _, t in facts),
        "aligned": sum(n > 0 for n in counterparts),
        "exclusive": sum(n == 0 for n in counterparts),
        "isolated": degree.count(0),
        "one": counterparts.count(1),
        "several": sum(n > 1 for n in counterparts),
        "degree": {
            "mean": pytest.approx(mean(degree)),
            **{name: pytest.approx(slow_quantile(degree, q)) for name, q in shares.items()},
        },
        "buckets": {
            name: sum(low <= d <= high for d in degree) for name, (low, high) in buckets.items()
        },
    }


def slow(data: AlignmentData) -> dict[str, Any]:
    pairs = {tuple(pair) for pair in data.pairs.tolist()}
    found: dict[str, Any] = {"pairs": len(pairs), "kinds": dict.fromkeys(KINDS, 0)}
    counts = [
        [sum(pair[j] == e for pair in pairs) for e in range(graph.size)]
        for j, graph in enumerate((data.left, data.right))
    ]
    for name, graph, counterparts in zip(
        ("left", "right"), (data.left, data.right), counts, strict=True
    ):
        triples = [tuple(row) for row in graph.triples.tolist()]
        found[name] = slow_graph(triples, graph.size, counterparts)
    for left, right in pairs:
        found["kinds"][KINDS[(counts[0][left] > 1) + 2 * (counts[1][right] > 1)]] += 1
    found["splits"] = {name: len(some) for name, some in data.splits.items()}
    found["one_to_one"] = found["kinds"]["1:1"] == len(pairs)
    return found


KINDS = ("1:1", "1:n", "n:1", "m:n")


@given(st.data())
def test_as_the_slow_way(data: st.DataObject) -> None:
    sizes = data.draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    graphs = []
    for size in sizes:
        entity = st.integers(0, size - 1)
        triples = data.draw(st.lists(st.tuples(entity, st.integers(0, 4), entity), max_size=60))
        graphs.append(Graph(triples, size))
    pairs = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes))))
    made = AlignmentData(graphs[0], graphs[1], pairs, {"test": pairs[:1]})
    assert describe(made).to_dict() == slow(made)


def test_kinds_of_pairs() -> None:
    pairs = [(0, 0), (1, 1), (1, 2), (2, 3), (3, 3), (4, 4), (4, 5), (5, 5), (5, 4), (0, 0)]
    found = describe(AlignmentData(Graph(size=7), Graph(size=9), cast(Any, pairs)))
    assert found.kinds == {"1:1": 1, "1:n": 2, "n:1": 2, "m:n": 4}
    assert found.pairs == 9  # one was given twice
    assert not found.one_to_one
    assert (found.left.one, found.left.several, found.left.exclusive) == (3, 3, 1)
    assert (found.right.one, found.right.several, found.right.exclusive) == (3, 3, 3)
    assert found.left.isolated == 7


def test_without_entities() -> None:
    found = describe(AlignmentData(Graph(), Graph(), cast(Any, [])))
    assert found.left.entities == found.pairs == 0
    assert all(np.isnan(value) for value in found.left.degree.values())
    assert found.one_to_one
    assert str(found).startswith("0 pairs\n")


def test_other_edges() -> None:
    left = Graph([(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 0, 2)], 4)
    found = describe(AlignmentData(left, left, cast(Any, [])), edges=[2, 4])
    assert found.left.buckets == {"0": 1, "1": 1, "2-3": 1, "4+": 1}
    with pytest.raises(ValueError, match=r"^edges: expected ascending integers from 1 on"):
        describe(AlignmentData(left, left, cast(Any, [])), edges=[0, 4])


def test_only_data_is_described() -> None:
    with pytest.raises(TypeError, match=r"^data: expected AlignmentData, got list"):
        describe(cast(Any, []))


@pytest.fixture(scope="module")
def dbp15k(data: Path) -> DataStatistics:
    return describe(read_dbp15k(data / "dbp15k_zh_en"))


def test_known_numbers_of_dbp15k(dbp15k: DataStatistics) -> None:
    """Table 1 of "A Critical Assessment of State-of-the-Art in Entity Alignment"."""
    names = ("entities", "relations", "triples", "aligned", "exclusive")
    known = {
        "left": (19_388, 1_701, 70_414, 15_000, 4_388),
        "right": (19_572, 1_323, 95_142, 15_000, 4_572),
    }
    for side, numbers in known.items():
        graph = getattr(dbp15k, side)
        assert tuple(getattr(graph, name) for name in names) == numbers
        assert graph.isolated == graph.repeated == graph.several == 0
        assert sum(graph.buckets.values()) == graph.entities
    assert dbp15k.kinds == {"1:1": 15_000, "1:n": 0, "n:1": 0, "m:n": 0}
    assert dbp15k.one_to_one


def test_degrees_of_dbp15k(dbp15k: DataStatistics, data: Path) -> None:
    """A second count, line by line, agrees."""
    for k, graph in ((1, dbp15k.left), (2, dbp15k.right)):
        folder = data / "dbp15k_zh_en"
        degree = dict.fromkeys((line.split("\t")[0] for line in _lines(folder, f"ent_ids_{k}")), 0)
        for line in set(_lines(folder, f"triples_{k}")):
            head, _, tail = line.split("\t")
            for entity in {head, tail}:
                degree[entity] += 1
        assert graph.degree["mean"] == pytest.approx(sum(degree.values()) / len(degree))
        assert graph.degree["median"] == np.median(list(degree.values()))
        assert graph.degree["highest"] == max(degree.values())
        assert graph.buckets["1-5"] == sum(1 <= d <= 5 for d in degree.values())
        assert graph.buckets["16+"] == sum(d >= 16 for d in degree.values())


def _lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")


def test_forms(tmp_path: Path) -> None:
    found = describe(read_openea(fill_folder(tmp_path, OPENEA), 1))
    assert repr(found) == "DataStatistics(4 and 5 entities, 4 pairs)"
    first, heading, *rows = str(found).split("\n")
    assert first == "4 pairs (4 1:1); train 1, valid 1, test 2"
    assert heading.split() == ["left", "right"]
    assert ["exclusive", "entities", "0", "1"] in [row.split() for row in rows]
    assert json.loads(json.dumps(found.to_dict()))["left"]["buckets"]["1-5"] == 4
    assert "| exclusive entities | 0 | 1 |" in found.to_markdown()
    assert "exclusive entities & 0 & 1" in found.to_latex()
    assert "exclusive entities,0,1" in found.to_csv()
    assert found.to_pandas().shape[1] == 3
