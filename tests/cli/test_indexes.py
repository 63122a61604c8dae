"""`truerank topk` and `recall`, and `merge` of lists, beside loops of numpy over all pairs."""

from __future__ import annotations

import io
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array, save_npz

import truerank as tr
from oracles.index_recall import exact_list, recall_of_query
from support.cli_files import Run
from truerank.embeddings.vectors import Embeddings
from truerank.recall import truth as truths
from truerank.stores import index_files

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
RNG = np.random.default_rng(5)
ENTITIES = RNG.integers(0, 6, (300, 5)).astype(np.uint8)  # Many pairs tie.
QUERIES = RNG.integers(0, 6, (23, 5)).astype(np.uint8)
FILES = "queries.u8bin base.u8bin"
TOP = f"topk {FILES} --top 7 --similarity sql2"
RECALL = f"recall {FILES}"


def squares(queries: Array = QUERIES, entities: Array = ENTITIES) -> Array:
    differences = queries[:, None].astype(np.int64) - entities
    return (differences**2).sum(axis=2)


def nearest(distances: Array, k: int) -> Array:
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def recalled(ids: Array, distances: Array, k: int) -> float:
    """Return the share of the first k ids to which fewer than k are nearer."""
    right = [
        sum((distances[q] < distances[q, each]).sum() < k for each in row[:k] if each >= 0)
        for q, row in enumerate(ids)
    ]
    return float(sum(right) / (k * len(ids)))


def write_bin(path: str, *matrices: Array) -> None:
    with open(path, "wb") as file:
        file.write(struct.pack("<II", *matrices[0].shape))
        for matrix in matrices:
            matrix.tofile(file)


@pytest.fixture(autouse=True)
def world() -> None:
    write_bin("queries.u8bin", QUERIES)
    write_bin("base.u8bin", ENTITIES)
    np.save("Q.npy", QUERIES)
    np.save("E.npy", ENTITIES)


# -- topk ------------------------------------------------------------------------------------------


def test_the_truth_is_that_of_numpy_in_every_form(run: Run) -> None:
    distances = squares()
    ids = nearest(distances, 7)
    of_ids = np.take_along_axis(distances, ids, axis=1)
    ordered = np.sort(distances, axis=1)
    ties = int((ordered[:, 6] == ordered[:, 7]).sum())
    assert 0 < ties < len(QUERIES)
    said = f"{ties} of 23 queries have a tie at place 7.\n"
    assert run(*TOP.split(), "--output", "t.bin", "--save", "t.npz") == (0, "", said)
    assert run(*TOP.split(), "--output", "t.ibin", "--save", "t.fbin") == (0, "", said)
    assert run(*TOP.split(), "--output", "t.ivecs", "--save", "t.run", "--io", "read").code == 0
    header, floats = struct.pack("<II", 23, 7), of_ids.astype("<f4").tobytes()
    numbers = ids.astype("<i4")
    assert Path("t.bin").read_bytes() == header + numbers.tobytes() + floats
    assert Path("t.ibin").read_bytes() == header + numbers.tobytes()
    assert Path("t.fbin").read_bytes() == header + floats
    assert Path("t.ivecs").read_bytes() == np.insert(numbers, 0, 7, axis=1).tobytes()
    with np.load("t.npz") as saved:
        assert saved["ids"].tolist() == ids.tolist()
        assert saved["scores"].tolist() == (-of_ids).tolist()
    text = run(*TOP.split())
    assert text.err == said
    lines = ["query\tdocument\tscore"]
    lines += [f"{q}\t{e}\t-{float(distances[q, e])}" for q, row in enumerate(ids) for e in row]
    assert text.out.splitlines() == [
        line.replace("--", "-").replace("-0.0", "-0.0") for line in lines
    ]
    run_file = tr.read_run("t.run")
    by_query = {str(q): list(map(str, row)) for q, row in enumerate(ids)}
    assert {q: list(run_file[q]) for q in by_query} == by_query


def test_its_text_is_read_by_retrieval(run: Run) -> None:
    Path("lists.tsv").write_text(run(*TOP.split()).out)
    Path("qrels.txt").write_text("".join(f"{q} 0 {q} 1\n" for q in range(23)))
    line = "retrieval --qrels qrels.txt --lists lists.tsv --candidates 300 --json"
    found = json.loads(run(*line.split(), "--metrics", "recall@7").out)
    expected = np.mean([q in row for q, row in enumerate(nearest(squares(), 7))])
    assert found["metrics"]["recall@7"] == pytest.approx(expected)


def test_parts_are_joined_to_the_bytes_of_the_whole(run: Run) -> None:
    run(*TOP.split(), "--output", "t.bin", "--save", "t.npz")
    for i in range(3):
        assert run(*TOP.split(), "--part", f"{i}::3", "--save", f"p{i}.npz").code == 0
    parts = "p2.npz", "p0.npz", "p1.npz"
    joined = run("merge", *parts, "--output", "m.bin", "--save", "m.npz")
    assert (joined.code, joined.out) == (0, "")
    assert "queries have a tie at place 7" in joined.err
    assert Path("m.bin").read_bytes() == Path("t.bin").read_bytes()
    assert Path("m.npz").read_bytes() == Path("t.npz").read_bytes()
    assert run("merge", *parts).out == run(*TOP.split()).out


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l1", "inverse_l2"])
def test_similarities_and_the_signs_of_files(run: Run, similarity: str) -> None:
    vectors = QUERIES.astype(np.float32) + 1, ENTITIES.astype(np.float32) + 1
    write_bin("q.fbin", vectors[0])
    write_bin("e.fbin", vectors[1])
    line = f"topk q.fbin e.fbin --top 4 --similarity {similarity} --output t.bin"
    assert run(*line.split()).code == 0
    wide = vectors[0].astype(np.float64)  # The search is in double precision.
    top = tr.topk_embeddings(wide, vectors[1], 4, similarity=similarity)  # type: ignore[arg-type]
    values = np.fromfile("t.bin", "<f4", offset=8 + 4 * 23 * 4).reshape(23, 4)
    scores = -top.scores if similarity == "l1" else top.scores
    assert values.tolist() == scores.astype(np.float32).tolist()
    assert (values >= 0).all()


def test_candidates_and_the_query_itself(run: Run) -> None:
    """Lists that lack entities end with -1, and an infinite distance ... is none."""
    write_bin("own.u8bin", ENTITIES[:23])
    distances = squares(ENTITIES[:23]).astype(float)
    itself = np.arange(23), np.arange(23)
    line = "topk own.u8bin base.u8bin --top 7 --similarity sql2 --exclude-self --output"
    distances[itself] = np.inf
    assert run(*line.split(), "a.npz").code == 0
    assert np.load("a.npz")["ids"].tolist() == nearest(distances, 7).tolist()
    some = np.array([5, 2, 9, 250, 2])
    np.save("some.npy", some)
    assert run(*line.split(), "b.npz", "--candidates", "some.npy").code == 0
    left_out = np.setdiff1d(np.arange(300), some)
    of_some = distances.copy()
    of_some[:, left_out] = np.inf
    expected = nearest(of_some, 7)
    expected[np.take_along_axis(of_some, expected, axis=1) == np.inf] = -1
    assert np.load("b.npz")["ids"].tolist() == expected.tolist()
    allowed = np.random.default_rng(1).random((23, 300)) < 0.1
    save_npz("lists.npz", csr_array(allowed))
    assert run(*line.split(), "c.npz", "--candidates", "lists.npz", "--part", "3::2").code == 0
    expected = nearest(np.where(allowed, distances, np.inf), 7)[3::2]
    assert np.load("c.npz")["ids"].tolist() == expected.tolist()
    assert np.load("c.npz")["rows"].tolist() == list(range(23))[3::2]
    run(*line.split(), "b.run", "--candidates", "some.npy")
    assert len(Path("b.run").read_text().splitlines()) == int((~np.isinf(of_some)).sum())


def test_late_interaction(run: Run) -> None:
    tokens = RNG.standard_normal((40, 5)).astype(np.float32)
    indptr = np.arange(0, 41, 4)
    np.savez("lists.npz", vectors=tokens, indptr=indptr)
    line = "topk lists.npz lists.npz --top 3 --similarity maxsim --output t.npz"
    assert run(*line.split()).code == 0
    expected = tr.topk_embeddings((tokens, indptr), (tokens, indptr), 3, similarity="maxsim")
    assert np.load("t.npz")["ids"].tolist() == expected.ids.tolist()


def test_nan_ties_with_nan_alone(run: Run) -> None:
    vectors = np.array([[1.0], [3.0], [np.nan], [np.nan], [2.0]], np.float32)
    np.save("E.npy", vectors)
    np.save("Q.npy", vectors[:1])
    line = "topk Q.npy E.npy --similarity dot --nan worst --output t.npz --force --top"
    assert run(*line.split(), 3).err == ""
    assert run(*line.split(), 4).err == "1 of 1 queries have a tie at place 4.\n"
    assert run(*line.split(), 6).err == ""
    assert np.load("t.npz")["ids"].tolist() == [[1, 4, 0, 2, 3, -1]]


# -- recall ----------------------------------------------------------------------------------------


def index(lost: int, k: int = 10) -> Array:
    """Return the lists of an index that lost some entities."""
    return nearest(squares()[:, : 300 - lost], k).astype(np.int32)


def rows_of(text: str) -> list[dict[str, Any]]:
    return json.loads(text)["rows"]  # type: ignore[no-any-return]


def test_recall_is_that_of_numpy(run: Run) -> None:
    """Of all forms and several files in one call; ids of a tie at the border are right."""
    lists = {"a.ibin": index(0), "b.npy": index(80), "c.ivecs": index(200), "d.npz": index(299, 10)}
    lists["d.npz"] = np.where(np.arange(10) < 1, lists["d.npz"], -1)  # It has one entity.
    write_bin("a.ibin", lists["a.ibin"])
    np.save("b.npy", lists["b.npy"].astype(np.uint16))
    np.insert(lists["c.ivecs"], 0, 10, axis=1).tofile("c.ivecs")
    np.savez("d.npz", ids=lists["d.npz"])
    words = *RECALL.split(), *lists, "--top", 10, "--similarity", "sql2"
    distances = squares()
    rows = rows_of(run(*words, "--json").out)
    assert [(row["file"], row["k"]) for row in rows] == [
        (name, k) for name in lists for k in (1, 10)
    ]
    for row in rows:
        value = recalled(lists[row["file"]], distances, row["k"])
        assert row["recall"] == pytest.approx(value, abs=1e-12)
        low, high = row["low"], row["high"]
        assert low <= value <= high
        assert low < high
    assert 0 < rows[3]["recall"] < 1
    lines = run(*words).out.splitlines()
    assert "23 queries, 300 entities, sql2." in lines
    tied = [set(row) - set(nearest(distances, 10)[q]) for q, row in enumerate(lists["b.npy"])]
    right = sum(
        any((distances[q] < distances[q, e]).sum() < 10 for e in others)
        for q, others in enumerate(tied)
    )
    assert (
        f"b.npy: lists with right ids that only tie with the last of the exact ones: {right}"
        in lines
    )
    assert "d.npz: ids that are missing, or come again: 207" in lines
    assert json.loads(run(*words, "--json").out)["notes"] == lines[len(rows) + 2 :]


def test_an_exact_list_is_right_whatever_ties_it_has(run: Run) -> None:
    """Another order of what ties at the border: the last of a tie in place of the first."""
    reversed_ids = 299 - nearest(squares()[:, ::-1], 10)
    assert (np.sort(reversed_ids) != np.sort(nearest(squares(), 10))).any()
    np.save("f.npy", reversed_ids)
    rows = rows_of(
        run(*RECALL.split(), *["f.npy", "--top", "10", "--similarity", "sql2", "--json"]).out
    )
    assert [row["recall"] for row in rows] == [1, 1]


def test_saved_ranks_are_evaluated_and_compared(run: Run) -> None:
    np.save("a.npy", index(80))
    np.save("b.npy", index(200))
    recalls = []
    for name in "ab":
        line = f"{RECALL} {name}.npy --top 10 --similarity sql2 --json --save {name}.npz"
        recalls.append(rows_of(run(*line.split()).out)[1])
    key = "recall@10"
    shown = run("evaluate", "a.npz", "--metrics", key, "--interval", "--json").out
    assert json.loads(shown)["metrics"][key] == recalls[0]["recall"]
    interval = json.loads(shown)["intervals"][key]
    assert [interval["low"], interval["high"]] == [recalls[0]["low"], recalls[0]["high"]]
    reports = [tr.report(tr.load(f"{name}.npz")) for name in "ab"]
    compared = tr.compare(*reports, metric=key)
    assert compared.estimate == pytest.approx(recalls[0]["recall"] - recalls[1]["recall"])
    assert compared.units == 23
    assert run("compare", "a.npz", "b.npz", "--metrics", key).code == 0
    assert tr.load("a.npz").protocol.files == ("queries.u8bin", "base.u8bin", "a.npy")
    assert list(reports[0]) == [key]


def test_candidates_and_few_of_them(run: Run) -> None:
    """Where a query has fewer candidates than places, as many can be found."""
    allowed = np.random.default_rng(2).random((23, 300)) < 0.05
    allowed[4] = False
    allowed[4, [7, 70, 170]] = True
    allowed[5] = False
    save_npz("lists.npz", csr_array(allowed))
    distances = np.where(allowed, squares(), 10**6)
    ids = nearest(distances, 10)
    ids[np.take_along_axis(distances, ids, axis=1) == 10**6] = -1
    ids[3, 2:] = -1
    np.save("f.npy", ids)
    line = f"{RECALL} f.npy --top 10 --similarity sql2 --candidates lists.npz --json"
    sizes = np.minimum(allowed.sum(axis=1), 10)
    row = rows_of(run(*line.split()).out)[1]
    expected = (ids >= 0).sum(axis=1)[sizes > 0] / sizes[sizes > 0]
    assert row["recall"] == pytest.approx(expected.mean())
    ids[4, 0] = 8
    np.save("g.npy", ids)
    outcome = json.loads(run(*line.replace("f.npy", "g.npy").split()).out)
    assert outcome["rows"][1]["recall"] == pytest.approx(expected.mean() - 1 / 3 / len(expected))
    assert "g.npy: ids that are not candidates of their query: 1" in outcome["notes"]
    assert (
        "g.npy: queries without candidates or exact ids, which are left out: 1" in outcome["notes"]
    )


def test_lists_of_misses_alone(run: Run) -> None:
    write_bin("own.u8bin", ENTITIES[:23])
    save_npz("lists.npz", csr_array(np.random.default_rng(2).random((23, 300)) < 0.2))
    np.save("f.npy", np.full((23, 3), -1))
    line = "recall own.u8bin base.u8bin f.npy --top 3 --similarity sql2 --exclude-self --json"
    rows = rows_of(run(*line.split(), "--candidates", "lists.npz").out)
    assert [row["recall"] for row in rows] == [0, 0]


def test_the_query_itself(run: Run) -> None:
    write_bin("own.u8bin", ENTITIES[:23])
    distances = squares(ENTITIES[:23])
    distances[np.arange(23), np.arange(23)] = 10**6
    np.save("f.npy", nearest(distances, 4))
    line = "recall own.u8bin base.u8bin f.npy --top 4 --similarity sql2 --exclude-self --json"
    assert [row["recall"] for row in rows_of(run(*line.split()).out)] == [1, 1]
    np.save("f.npy", nearest(squares(ENTITIES[:23]), 4))
    own = json.loads(run(*line.split()).out)
    assert own["rows"][1]["recall"] == pytest.approx(0.75)  # The query itself is a miss.
    assert "f.npy: ids that are not candidates of their query: 23" in own["notes"]
    np.save("some.npy", np.arange(3))
    np.save("f.npy", np.array([[1, 2, -1], [0, 2, -1], [1, 0, -1], *[[0, 1, 2]] * 20]))
    line = line.replace("--top 4", "--top 3")
    shown = rows_of(run(*line.split(), "--candidates", "some.npy").out)
    assert shown[1]["recall"] == 1


def test_repeated_ids(run: Run) -> None:
    ids = index(0)
    ids[:, 9] = ids[:, 0]
    np.save("f.npy", ids)
    words = *RECALL.split(), *["f.npy", "--top", "10", "--similarity", "sql2"]
    message = f"f.npy: row 0: expected each id once, got {ids[0, 0]} (so in 23 of 23 lists)"
    run(*words).refuses(1, message)
    rows = rows_of(run(*words, "--duplicates", "first", "--json").out)
    assert rows[1]["recall"] == pytest.approx(0.9)


def test_the_similarity_must_be_said(run: Run) -> None:
    np.save("f.npy", index(0))
    run(*RECALL.split(), "f.npy", "--top", 3).refuses(2, "Missing option '--similarity'")


def test_a_truth_that_is_there(run: Run) -> None:
    """As topk saved it, or as another tool did, with more ids than are asked for."""
    np.save("f.npy", index(80))
    line = f"{RECALL} f.npy --top 10 --similarity sql2 --json"
    expected = run(*line.split())
    assert expected.code == 0
    top = f"topk {FILES} --top 12 --similarity sql2 --output"
    for name in ("t.npz", "t.bin", "t.ibin", "t.ivecs"):
        assert run(*top.split(), name).code == 0
        assert run(*line.split(), "--truth", name) == expected
    np.savez("other.npz", ids=nearest(squares(), 10))
    assert run(*line.split(), "--truth", "other.npz") == expected
    np.save("g.npy", index(0))
    worse = run(*line.replace("f.npy", "g.npy").split(), "--truth", "f.npy")
    worse.refuses(1, "is missing, but more similar than the last id")
    run(*line.replace("sql2", "l1").split(), "--truth", "t.npz").refuses(
        1, "--truth: t.npz: expected similarity l1, got sql2"
    )


def test_a_saved_truth_of_something_else(run: Run) -> None:
    """Digests tell it, also where the lists that are measured show nothing."""
    np.save("f.npy", np.full((23, 7), -1))
    np.save("some.npy", np.arange(250))
    np.savez("own.npz", indptr=np.arange(24), indices=np.arange(23))
    np.save("E2.npy", np.where(np.arange(300)[:, None] == 299, 5 - ENTITIES, ENTITIES))
    write_bin("few.u8bin", QUERIES[:22])
    line = "--top 7 --similarity sql2"
    unlike = {
        "digest of candidates": f"{FILES} --candidates some.npy",
        "digest of candidates 0": f"{FILES} --filter own.npz",
        "digest of entities": "queries.u8bin E2.npy",
        "digest of queries": "own.u8bin base.u8bin",
        "queries 23, got 22": "few.u8bin base.u8bin",
    }
    write_bin("own.u8bin", ENTITIES[:23])
    for message, vectors in unlike.items():
        assert run("topk", *f"{vectors} {line} --save t.npz --force".split()).code == 0
        found = run(*RECALL.split(), "f.npy", *line.split(), "--truth", "t.npz")
        found.refuses(1, f"--truth: t.npz: expected {message}")
    assert run("topk", *f"{FILES} {line} --part ::3 --save t.npz --force".split()).code == 0
    run(*RECALL.split(), "f.npy", *line.split(), "--truth", "t.npz").refuses(
        1, "--truth: expected each of 23 queries once, got 8 lists; missing: rows 1, 2, 4, 5, ..."
    )


def test_filters_and_deletions(run: Run) -> None:
    """Queries that are drawn from the base, at some places; rows of scipy in any order; a mask."""
    places = RNG.permutation(300)[:23]
    np.save("drawn.npy", ENTITIES[places])
    np.savez("own.npz", indptr=np.arange(24), indices=places)
    distances = squares(ENTITIES[places]).astype(float)
    distances[np.arange(23), places] = np.inf
    np.save("f.npy", nearest(distances, 10))
    line = "recall drawn.npy E.npy f.npy --top 10 --similarity sql2 --json"
    filtered = rows_of(run(*line.split(), "--filter", "own.npz").out)
    assert [row["recall"] for row in filtered] == [1, 1]
    line_of_topk = "topk drawn.npy E.npy --top 10 --similarity sql2 --filter own.npz"
    top = run(*line_of_topk.split())
    assert [row.split()[1] for row in top.out.splitlines()[1:]] == [
        str(each) for each in nearest(distances, 10).ravel()
    ]
    is_there = np.arange(300) % 7 > 0
    csr = csr_array(np.tile(is_there, (23, 1)))
    csr.indices = np.concatenate([row[::-1] for row in np.split(csr.indices, 23)])
    csr.has_sorted_indices = False
    save_npz("csr.npz", csr)
    np.save("mask.npy", is_there)
    np.save("rows.npy", np.flatnonzero(is_there))
    shown = {
        run(*line.split(), "--candidates", name).out for name in ("csr.npz", "mask.npy", "rows.npy")
    }
    assert len(shown) == 1
    assert "ids that are not candidates of their query" in shown.pop()
    both = run(*line.split(), "--filter", "own.npz", "--exclude-self")
    both.refuses(2, "--exclude-self, or --filter, whose lists may have the query's own row")


def test_floats_beside_bytes_have_two_ways(run: Run) -> None:
    """Floats in both are compared as they are, and so are both where one scale made bytes."""
    scale = 8.0
    queries = np.random.default_rng(3).integers(-50, 50, (23, 5)) / scale
    entities = np.random.default_rng(4).integers(-50, 50, (300, 5))
    np.save("Q.npy", queries.astype(np.float32))
    np.save("E.npy", entities.astype(np.int8))
    line = "topk Q.npy E.npy --top 7 --similarity sql2 --force --output t.npz"
    message = (
        "entities: expected float32, as queries: floats in both, or both quantised by one scale"
    )
    run(*line.split()).refuses(1, message)
    np.save("E.npy", (entities / scale).astype(np.float32))
    assert run(*line.split()).code == 0
    exact = nearest((8 * (squares(8 * queries, entities))).astype(np.int64), 7)
    assert np.load("t.npz")["ids"].tolist() == exact.tolist()
    np.save("Q.npy", np.rint(scale * queries).astype(np.int8))
    np.save("E.npy", entities.astype(np.int8))
    assert run(*line.split()).code == 0
    assert np.load("t.npz")["ids"].tolist() == exact.tolist()


def test_as_few_columns_as_entities(run: Run) -> None:
    np.save("E.npy", ENTITIES[:10])
    np.save("f.npy", nearest(squares()[:, :10], 10))
    line = "recall Q.npy E.npy f.npy --top 20 --similarity sql2 --json"
    assert [(row["k"], row["recall"]) for row in rows_of(run(*line.split()).out)] == [
        (1, 1),
        (10, 1),
        (20, 1),
    ]
    few = run(*line.replace("E.npy", "base.u8bin").split())
    few.refuses(1, "found: f.npy: expected a list of 20 ids or more for each of 23 queries")


def test_a_tolerance(run: Run) -> None:
    np.save("f.npy", index(150))
    line = f"{RECALL} f.npy --top 10 --similarity sql2 --json --save"
    recalls = [
        rows_of(run(*line.split(), f"{i}.npz", "--tolerance", tolerance).out)[1]["recall"]
        for i, tolerance in enumerate(["0", "3", "1e9"])
    ]
    last = np.sort(squares(), axis=1)[:, 9:10]
    found = np.take_along_axis(squares(), index(150).astype(np.int64), axis=1)
    assert recalls[1] == pytest.approx((found <= last + 3).mean())
    assert recalls[0] < recalls[1] < recalls[2] == 1
    refused = run("compare", "0.npz", "1.npz", "--metrics", "recall@10")
    assert "top 10 by sql2 in float64 against top 10 by sql2 in float64, tolerance 3.0" in (
        refused.err
    )
    run(*line.split(), "n.npz", "--tolerance", "-1").refuses(2, "-1.0 is not in the range x>=0")


def test_a_curve_of_many_files(run: Run) -> None:
    """Each file beside the first, query by query; a table for a plot."""
    names = [f"ef{i}.npy" for i in range(5)]
    lists = [index(lost) for lost in (150, 100, 50, 10, 0)]
    for name, ids in zip(names, lists, strict=True):
        np.save(name, ids)
    words = *RECALL.split(), *names, "--top", 10, "--similarity", "sql2"
    last = np.sort(squares(), axis=1)[:, 9:10]
    by_query = [
        (np.take_along_axis(squares(), ids.astype(np.int64), axis=1) <= last).mean(axis=1)
        for ids in lists
    ]
    rows = [row for row in rows_of(run(*words, "--json").out) if row["k"] == 10]
    for row, values in zip(rows[1:], by_query[1:], strict=True):
        difference = values - by_query[0]
        test = stats.ttest_1samp(difference, 0)
        assert row["to the first"] == pytest.approx(difference.mean())
        assert row["difference low"] < difference.mean() < row["difference high"]
        assert (row["difference low"] > 0) == (test.pvalue < 0.05)
    assert rows[0]["to the first"] is None
    table = run(*words, "--format", "csv").out.splitlines()
    assert table[0] == "file,k,recall,low,high,to the first,difference low,difference high"
    assert len(table) == 11
    assert table[10].startswith("ef4.npy,10,1.0,")


def write_vectors(name: str, vectors: Array) -> str:
    """Write vectors in the form that the ending of a name says."""
    rows, columns = vectors.shape
    path, _, dataset = name.partition(":")
    if name.endswith(".npy"):
        np.save(name, vectors)
    elif name.endswith("vecs"):
        file = np.zeros(rows, [("size", "<i4"), ("numbers", vectors.dtype, columns)])
        file["size"], file["numbers"] = columns, vectors
        file.tofile(name)
    elif dataset:
        h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
        with h5py.File(path, "a") as hdf5:
            hdf5[dataset] = vectors
    else:
        write_bin(name, vectors)
    return name


FORMATS = {
    "q.npy e.npy": "<f4",
    "q.fvecs e.fvecs": "<f4",
    "q.bvecs e.bvecs": "u1",
    "q.fbin e.fbin": "<f4",
    "q.f16bin e.f16bin": "<f2",
    "q.u8bin e.u8bin": "u1",
    "q.i8bin e.i8bin": "i1",
    "q.bin e.bin": "<f4",
    "glove.hdf5:test glove.hdf5:train": "<f4",
}


@pytest.mark.parametrize("files", FORMATS)
def test_ids_and_recall_of_each_format(run: Run, files: str) -> None:
    """Beside float64: three indexes at three k, whole, with a filter, and with what is deleted."""
    rng = np.random.default_rng(7)
    vectors = [rng.integers(0, 5, (n, 4)).astype(FORMATS[files]) for n in (9, 150)]
    for name, each in zip(files.split(), vectors, strict=True):
        write_vectors(name, each)
    similarities = -squares(*vectors).astype(np.float64)
    allowed = np.ones((9, 150), bool)
    filtered = rng.random((9, 150)) < 0.2
    there = rng.random(150) < 0.6
    np.savez(
        "filter.npz",
        indptr=np.append(0, filtered.sum(axis=1).cumsum()),
        indices=filtered.nonzero()[1],
    )
    np.save("there.npy", there)
    cases = {
        "": allowed,
        "--filter filter.npz": ~filtered,
        "--candidates there.npy": allowed & there,
    }
    for words, candidates in cases.items():
        line = f"{files} --top 100 --similarity sql2 {words}"
        assert run(*f"topk {line} --output t.npz --force".split()).code == 0
        exact = [
            exact_list(row.tolist(), np.flatnonzero(some).tolist(), 100)
            for row, some in zip(similarities, candidates, strict=True)
        ]
        assert [row[row >= 0].tolist() for row in np.load("t.npz")["ids"]] == exact
        lists = {}
        for lost in (0, 40, 100):
            shown = np.where(rng.permutation(150) < lost, -np.inf, similarities)
            lists[f"lost{lost}.npy"] = np.argsort(-shown, axis=1, kind="stable")[:, :100]
            np.save(f"lost{lost}.npy", lists[f"lost{lost}.npy"])
        for truth in ("", "--truth t.npz"):
            rows = rows_of(
                run(
                    *f"recall {files} {' '.join(lists)} {line[len(files) :]} {truth} --json".split()
                ).out
            )
            assert [row["recall"] for row in rows] == [
                pytest.approx(
                    np.mean(
                        [
                            recall_of_query(
                                similarities[q].tolist(),
                                np.flatnonzero(candidates[q]).tolist(),
                                ids[q].tolist(),
                                k,
                            )
                            for q in range(9)
                        ]
                    )
                )
                for ids in lists.values()
                for k in (1, 10, 100)
            ]


def test_late_interaction_of_an_index(run: Run) -> None:
    tokens = RNG.standard_normal((40, 5)).astype(np.float32)
    np.savez("lists.npz", vectors=tokens, indptr=np.arange(0, 41, 4))
    line = "topk lists.npz lists.npz --top 3 --similarity maxsim --output t.npz"
    assert run(*line.split()).code == 0
    line = "recall lists.npz lists.npz t.npz --top 3 --similarity maxsim --json"
    assert [row["recall"] for row in rows_of(run(*line.split()).out)] == [1, 1]


# -- lists and a truth alone -----------------------------------------------------------------------


def test_recall_without_vectors_is_that_with_them(run: Run) -> None:
    """A truth with distances is deep enough for all ties; one without does not see them."""
    np.save("a.npy", index(0))
    np.insert(index(80), 0, 10, axis=1).tofile("b.ivecs")
    top = f"topk {FILES} --top 300 --similarity sql2 --output"
    for outputs in ("t.bin", "t.npz", "t.ibin --save t.fbin"):
        assert run(*f"{top} {outputs}".split()).code == 0
    words = ["a.npy", "b.ivecs", "--top", "10", "--below", ".9", "--json"]
    by_vectors = json.loads(run(*RECALL.split(), *words, "--similarity", "sql2").out)
    for truth in ("t.bin", "t.npz", "t.ibin,t.fbin"):
        by_ids = json.loads(run("recall", *words, "--truth", truth).out)
        assert by_ids["rows"] == by_vectors["rows"]
        assert by_ids["notes"][0] == "23 queries, 300 exact ids of each, with distances."
    without = json.loads(run("recall", *words, "--truth", "t.ibin").out)
    assert without["notes"][0] == "23 queries, 300 exact ids of each, without distances."
    assert any("may tie, as the truth has no" in note for note in without["notes"])
    unlike = [i for i in range(4) if without["rows"][i] != by_vectors["rows"][i]]
    assert unlike
    for i in unlike:
        assert without["rows"][i]["recall"] < by_vectors["rows"][i]["recall"]


def test_lists_without_vectors_are_saved_and_compared(run: Run) -> None:
    """Their ids may be text, and with a tolerance what is not much farther is right."""
    truth = nearest(squares(), 20)
    for name, lost in (("a", 0), ("b", 200)):
        np.save(f"{name}.npy", np.char.add("d", index(lost).astype(str)))
        np.save("t.npy", np.char.add("d", truth.astype(str)))
        line = f"recall {name}.npy --truth t.npy --top 10 --save {name}.npz"
        assert run(*line.split()).code == 0
    assert run("compare", "a.npz", "b.npz", "--metrics", "recall@10").code == 0
    assert tr.load("a.npz").protocol.files == ("t.npy", "a.npy")
    write_bin("t.bin", truth.astype("i4"), np.take_along_axis(squares(), truth, 1).astype("f4"))
    np.save("f.npy", truth[:, 10:])
    line = "recall f.npy --truth t.bin --top 10 --json"
    recalls = [rows_of(run(*line.split(), "--tolerance", x).out)[1]["recall"] for x in (0, 1, 99)]
    assert recalls == sorted(recalls)
    assert recalls[2] == 1


def test_columns_of_queries_are_observed_values(run: Run) -> None:
    """The share below a recall, the least, and those of the 1st, 5th and 50th of 100 queries."""
    n_found = np.array([0, *[1] * 3, *[5] * 96, *[9] * 50, *[10] * 50])
    truth = np.tile(np.arange(10), (200, 1))
    np.save("t.npy", truth)
    np.save("f.npy", np.where(truth < n_found[:, None], truth, truth + 10))
    line = "recall f.npy --truth t.npy --top 10 --below"
    names = ("below", "least", "percentile 1", "percentile 5", "percentile 50")
    expected = {"0.9": 0.5, "0.91": 0.75, "0.5": 0.02, "1": 0.75, "0": 0}
    for below, share in expected.items():
        row = rows_of(run(*line.split(), below, "--json").out)[1]
        assert [row[name] for name in names] == [share, 0, 0.1, 0.5, 0.5]
    assert "below 0.9   least     1 %     5 %    50 %" in run(*line.split(), "0.9").out
    np.save("t.npy", np.full((200, 10), -1))
    row = rows_of(run(*line.split(), "0.9", "--json").out)[1]
    assert [row[name] for name in names] == [None] * 5


# -- wrong lines -----------------------------------------------------------------------------------

# Each ends with this code and message, and writes nothing.
REFUSED = {
    f"topk {FILES} --top 7": (2, "Missing option '--similarity': give the index's. sql2 has"),
    f"topk {FILES} --similarity sql2": (2, "Missing option '--top'"),
    f"{TOP} --output t.txt": (
        1,
        "--output: expected a name that ends in one of .npy, .npz, .ivecs",
    ),
    f"{TOP} --output base.u8bin": (1, "base.u8bin is one of the other files of this line"),
    f"{TOP} --output E.npz --save E.npz": (1, "E.npz is one of the other files of this line"),
    f"{TOP} --output there.npz": (1, "there.npz is there already; --force replaces it"),
    f"{TOP} --exclude-self": (1, "--exclude-self: query 0 is not the entity of this number"),
    f"topk {FILES} --top {2**62} --similarity l2": (1, "--top: expected at most 2**40 entries"),
    f"{TOP} --part 23:": (2, "--part selects none of 23 queries"),
    f"{TOP} --candidates there.npz": (1, "expected members indptr and indices"),
    f"{TOP} --candidates 300.npy": (1, "--candidates: expected indices from 0 to 299"),
    f"{TOP} --candidates few.npz": (1, "--candidates: expected an indptr of length 24"),
    f"{TOP} --candidates matrix.npz": (1, "--candidates: expected a sparse matrix of"),
    "topk queries.u8bin absent.fbin --top 1 --similarity l2": (1, "absent.fbin: No such file"),
    "topk queries.u8bin torn.fbin --top 1 --similarity l2": (1, "torn.fbin: expected 8 bytes"),
    "topk Q.npy lists.npz --top 1 --similarity l2": (1, "expected only vectors with l2"),
    "topk Q.npy E.npy --top 1 --similarity l3": (2, "'l3' is not one of"),
    "topk E.npy Q.npy --top 1 --similarity l2 --exclude-self": (
        1,
        "--exclude-self: expected entities that",
    ),
    "merge p0.npz p0-again.npz": (1, "parts: expected each of 23 queries once, got 24 lists"),
    "merge p0.npz p1-some.npz": (1, "p1-some.npz: expected digest of candidates "),
    "merge p0.npz p1-other.npz": (1, "p1-other.npz: expected digest of entities "),
    "merge p0.npz p3.npz": (
        1,
        "got 17 lists; missing: rows 1, 5, 9, 13, ... (part 1::4)",
    ),
    "merge p0.npz p1-dot.npz": (1, "p1-dot.npz: expected similarity sql2, as p0.npz, got dot"),
    "merge p0.npz p1-6.npz": (1, "p1-6.npz: expected k 7, as p0.npz, got 6"),
    "merge p0.npz ranks.npz": (1, "ranks.npz: expected saved lists, as p0.npz, got saved ranks"),
    "merge p0.npz p1.npz --metrics mrr": (2, "--metrics cannot apply to lists of the most similar"),
    "merge p0.npz p1.npz --output m.txt": (1, "--output: expected a name that ends in"),
    f"{RECALL} --similarity sql2 f.npy --top 11": (
        1,
        "found: f.npy: expected a list of 11 ids or more for each of 23 queries",
    ),
    f"{RECALL} --similarity sql2 few.npy --top 3": (
        1,
        "found: few.npy: expected a list of 3 ids or more for each of 23 queries",
    ),
    f"{RECALL} --similarity sql2 high.npy --top 3": (
        1,
        "high.npy: row 2: expected ids from 0 to 299, or -1 for none, got 300",
    ),
    f"{RECALL} --similarity sql2 low.npy --top 3": (
        1,
        "low.npy: row 0: expected ids from 0 to 299, or -1 for none, got -2",
    ),
    f"{RECALL} --similarity sql2 qrels.txt --top 3": (
        2,
        "truerank retrieval QRELS RUN",
    ),
    f"{RECALL} --similarity sql2 f.npy --top 3 --duplicates keep": (
        1,
        "--duplicates: expected one of raise, first, got 'keep'",
    ),
    f"{RECALL} --similarity sql2 f.npy few.npy --top 3 --save s.npz": (
        2,
        "--save keeps what one index found, got 2 files",
    ),
    f"{RECALL} --similarity sql2 f.npy --top 3 --save f.npy": (
        1,
        "f.npy is one of the other files of this line",
    ),
    f"{RECALL} --similarity sql2 --top 3": (2, "Missing argument 'FOUND...'"),
    f"{RECALL} --similarity sql2 f.npy --top 3 --truth f.npy,E.npy": (
        2,
        "--truth has ids alone where there are vectors, got two files",
    ),
    f"{RECALL} f.npy --top 3": (2, "dot and cosine. Lists without vectors need '--truth'"),
    "recall f.npy --truth f.npy --top 11": (
        1,
        "found: f.npy: expected a list of 11 ids or more for each q",
    ),
    "recall f.npy --truth few.npy --top 3": (
        1,
        "--truth: expected 1 id or more for each of 23 queries, got shape (5, 10)",
    ),
    "recall few.npy --truth high.npy --top 3": (1, "each of 5 queries, got shape (23, 3)"),
    "recall low.npy --truth f.npy --top 3": (
        1,
        "found: low.npy: row 0: expected ids from 0 on, or -1 for none, got -2 (so in 23 of 23 lis",
    ),
    "recall f.npy --truth low.npy --top 3": (1, "--truth: low.npy: row 0: expected ids from 0 on"),
    f"{RECALL} f.npy --truth f.npy --top 3": (
        1,
        "got queries.u8bin; --similarity is what vectors need",
    ),
    "recall Q.npy E.npy f.npy --truth f.npy --top 3": (
        1,
        "found: Q.npy: expected ids, integers of 2 bytes or more, or text, got dtype uint8; "
        "--similarity is what vectors need",
    ),
    "recall f.npy --truth f.npy --top 3 --filter few.npz --dtype int8 --exclude-self": (
        2,
        "--exclude-self, --filter, --dtype cannot apply to lists without --similarity",
    ),
    "recall f.npy --truth f.npy --top 3 --tolerance 1": (
        1,
        "--tolerance: expected 0, as the truth has no distances, got 1.0",
    ),
    "recall f.npy few.npy --truth f.npy --top 3 --save s.npz": (
        2,
        "--save keeps what one index found, got 2 files",
    ),
}
PARTS = {
    "p0": "--top 7 --similarity sql2 --part 0::2",
    "p0-again": "--top 7 --similarity sql2 --part 0::2",
    "p1": "--top 7 --similarity sql2 --part 1::2",
    "p1-dot": "--top 7 --similarity dot --part 1::2",
    "p1-6": "--top 6 --similarity sql2 --part 1::2",
    "p3": "--top 7 --similarity sql2 --part 3::4",
    "p1-some": "--top 7 --similarity sql2 --part 1::2 --candidates some.npy",
}


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_lines(run: Run, line: str) -> None:
    np.save("some.npy", np.arange(250))
    np.save("E2.npy", ENTITIES[::-1])
    if line.startswith("merge"):
        for name, words in PARTS.items():
            run("topk", *FILES.split(), *words.split(), "--save", f"{name}.npz")
        other = "topk queries.u8bin E2.npy --top 7 --similarity sql2 --part 1::2 --save"
        assert run(*other.split(), "p1-other.npz").code == 0
        tr.Ranks([0], [1], 2).save("ranks.npz")
    np.savez("there.npz", ids=QUERIES)
    np.savez("few.npz", indptr=np.array([0, 1]), indices=np.array([0]))
    np.savez("lists.npz", vectors=QUERIES, indptr=np.arange(24))
    np.save("300.npy", np.array([300]))
    save_npz("matrix.npz", csr_array(np.ones((3, 300), bool)))
    Path("torn.fbin").write_bytes(b"1234")
    np.save("f.npy", index(0))
    np.save("few.npy", index(0)[:5])
    np.save("high.npy", np.full((23, 3), [1, 2, 3]) + 297 * (np.arange(23) == 2)[:, None])
    np.save("low.npy", np.full((23, 3), [-2, 2, 3]))
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    run(*line.split()).refuses(*REFUSED[line])
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


# -- vectors of the other commands -----------------------------------------------------------------


@pytest.mark.parametrize("io", ["map", "read"])
def test_other_commands_take_files_of_vectors(run: Run, io: str) -> None:
    Path("qrels.txt").write_text("".join(f"{q} 0 {q} 1\n" for q in range(23)))
    Path("names.txt").write_text("".join(f"{q}\n" for q in range(23)))
    line = "retrieval --qrels qrels.txt --similarity l2 --json --metrics mrr "
    line += "--labels queries=names.txt --io"
    of_files = run(*line.split(), io, "--queries", "queries.u8bin", "--entities", "base.u8bin")
    of_arrays = run(*line.split(), io, "--queries", "Q.npy", "--entities", "E.npy")
    assert of_files.code == 0
    assert json.loads(of_files.out)["metrics"] == json.loads(of_arrays.out)["metrics"]
    np.save("pairs.npy", np.arange(23).repeat(2).reshape(23, 2))
    aligned = run("alignment", "queries.u8bin", "base.u8bin", "pairs.npy", "--io", io)
    assert aligned.code == 0


def test_vectors_in_hdf5_and_in_bin_of_diskann(run: Run) -> None:
    """The same lists as of files whose names say the dtype; what is wrong is refused by name."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    with h5py.File("glove.hdf5", "w") as file:
        file["test"], file["train"] = QUERIES, ENTITIES
    write_bin("q.bin", QUERIES)
    write_bin("e.bin", ENTITIES)
    write_bin("qf.bin", QUERIES.astype("<f4"))
    write_bin("ef.bin", ENTITIES.astype("<f4"))
    for name, numbers in (("q2", QUERIES), ("e2", ENTITIES)):
        write_bin(f"{name}.bin", numbers.astype(ml_dtypes.bfloat16).view("<u2"))
        shutil.copy(f"{name}.bin", f"{name}.f16bin")
    how = "--top 7 --similarity sql2"
    expected = run(*TOP.split())
    for line in (
        "glove.hdf5:test glove.hdf5:train --io read",
        "q.bin e.bin --dtype uint8",
        "--dtype int8 q.bin e.bin",
        "q.bin base.u8bin --dtype uint8",
        "qf.bin ef.bin",
        "q2.bin e2.bin --dtype bfloat16",
        "q2.f16bin e2.bin --dtype bfloat16",
        "qf.bin e2.f16bin --dtype bfloat16",
    ):
        assert run(*f"topk {line} {how}".split()) == expected
    refusals = {
        "glove.hdf5:test glove.hdf5": "glove.hdf5: expected the name of a dataset: test, train, ",
        "q.bin e.bin": "q.bin: expected 468 bytes for 23 rows of 5 float32, or by dtype 238 for "
        "float16 or bfloat16, 123 for int8 or uint8, got 123; --dtype says which numbers "
        "these are",
        "qf.bin ef.bin --dtype uint8": "qf.bin: expected 123 bytes for 23 rows of 5 uint8, got 468",
        "qf.bin ef.bin --dtype bfloat16": "--dtype: expected the dtype of some vectors, got "
        "bfloat16 beside float32, float32",
        "q2.bin e2.bin": "or by dtype 238 for float16 or bfloat16, 123 for int8 or uint8, got 238",
        "qf.bin ef.bin --dtype octets": "--dtype: expected one of float16, ",
        "train.parquet E.npy": ".hdf5:NAME, this is parquet",
        "Q.npy named": "named: expected a name that ends in .npy, .npz, .fvecs, ",
    }
    Path("named").write_text("entities")
    Path("train.parquet").write_bytes(b"PAR1....PAR1")
    for line, message in refusals.items():
        run(*f"topk {line} {how}".split()).refuses(1, message)
    Path("Q.npy").rename("queries")  # The first bytes say that it is an array.
    assert run(*f"topk queries E.npy {how}".split()) == expected


def test_lists_of_keys_in_hdf5_and_of_unsigned_misses(run: Run) -> None:
    """An index's own ids name entities by --labels; -1 of any dtype is a miss."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    ids = index(80)
    ids[:, 9] = -1
    keys = np.random.default_rng(3).permutation(300) + 10**10
    np.save("keys.npy", keys)
    Path("keys.txt").write_text("".join(f"{key}\n" for key in keys))
    np.save("signed.npy", ids)
    words = "--top 10 --similarity sql2 --json"
    expected = [row["recall"] for row in rows_of(run(*f"{RECALL} signed.npy {words}".split()).out)]
    assert expected[1] < 0.9
    for dtype in (np.uint16, np.uint32, np.uint64):
        np.save("unsigned.npy", ids.astype(dtype))
        rows = rows_of(run(*f"{RECALL} unsigned.npy {words}".split()).out)
        assert [row["recall"] for row in rows] == expected
    listed = np.append(keys, -1)[ids]
    with h5py.File("found.hdf5", "w") as file:
        file["neighbors"], file["unsigned"] = listed, listed.astype(np.uint64)
    for found in ("neighbors", "unsigned"):
        for labels in ("keys.npy", "keys.txt"):
            line = f"{RECALL} found.hdf5:{found} --labels entities={labels} {words}"
            assert [row["recall"] for row in rows_of(run(*line.split()).out)] == expected
    refusals = {
        "found.hdf5:neighbors": "row 0: expected ids from 0 to 299, or -1 for none, got 1000",
        "signed.npy --labels entities=keys.npy": "expected labels of --labels entities",
        "signed.npy --labels entities=words.txt": "words.txt, as 'doc0', got",
        "found.hdf5:neighbors --labels entities=few.npy": "few.npy: expected a label for each of",
        "found.hdf5": "found.hdf5: expected the name of a dataset: neighbors, unsigned, got",
        "named": "ends in .npy, .npz, .ivecs, .ibin, .bin, .hdf5:NAME, .parquet:NAME, got",
    }
    np.save("few.npy", keys[:9])
    Path("named").write_text("entities")
    Path("words.txt").write_text("".join(f"doc{i}\n" for i in range(300)))
    for line, message in refusals.items():
        run(*f"{RECALL} {line} {words}".split()).refuses(1, message)


def test_lists_of_keys_that_are_text(run: Run) -> None:
    """Ints beside labels of text were positions, and text was refused; a strange key is a miss."""
    ids = index(80)
    words = np.array([*(f"doc{i}" if i % 2 else str(i + 1000) for i in range(300)), ""])
    Path("keys.txt").write_text("".join(f"{word}\n" for word in words[:300]))
    line = f"{RECALL} f.npy --top 10 --similarity sql2 --json"
    np.save("f.npy", ids)
    expected = [row["recall"] for row in rows_of(run(*line.split()).out)]
    np.save("f.npy", words[ids])
    np.savez("f.npz", ids=words[ids])
    line += " --labels entities=keys.txt"
    for name in ("f.npy", "f.npz"):
        rows = rows_of(run(*line.replace("f.npy", name).split()).out)
        assert [row["recall"] for row in rows] == expected
    strange = words[ids]
    strange[:, 3] = "doc300"
    np.save("f.npy", strange)
    found = json.loads(run(*line.split()).out)
    assert found["rows"][1]["recall"] < expected[1]
    assert "f.npy: ids that are missing, or come again: 23" in found["notes"]
    np.save("f.npy", np.where(ids % 2, -1, ids + 1000))  # Of ints only those in digits are known.
    rows = rows_of(run(*line.split()).out)
    np.save("f.npy", np.where(ids % 2, -1, ids))
    without_odd = rows_of(run(*line.replace(" --labels entities=keys.txt", "").split()).out)
    assert rows == without_odd


# -- how a truth is looked at ----------------------------------------------------------------------


def test_a_truth_is_scored_once_for_all_files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was scored for each file and k; the search of some queries is done once, too."""
    truth = nearest(squares(), 100)
    np.savez("t.npz", ids=truth)
    names = [f"f{i}.npy" for i in range(10)]
    for name in names:
        np.save(name, truth)
    pairs, searches = [], []
    score, search = Embeddings.score, truths.search_topk

    def count_pairs(self: Any, rows: Any, ids: Any, threads: int) -> Any:
        pairs.append(len(ids))
        return score(self, rows, ids, threads)

    def count_searches(embeddings: Any, job: Any, *arguments: Any) -> Any:
        searches.append(len(job.targets))
        return search(embeddings, job, *arguments)

    monkeypatch.setattr(Embeddings, "score", count_pairs)
    monkeypatch.setattr(truths, "search_topk", count_searches)
    line = f"{RECALL} {' '.join(names)} --top 100 --similarity sql2 --json"
    rows = rows_of(run(*line.split(), "--truth", "t.npz").out)
    assert len(rows) == 30
    assert {row["recall"] for row in rows} == {1.0}
    assert (sum(pairs), searches) == (23 * 100, [16])
    searches.clear()
    assert run(*line.split()).code == 0
    top = f"topk {FILES} --top 100 --similarity sql2 --output s.npz"
    assert run(*top.split()).code == 0
    assert run(*line.split(), "--truth", "s.npz").code == 0
    assert searches == [
        23,
        23,
    ]  # What this call searched, or whose digests agree, is not looked at.


def test_a_truth_by_another_similarity(run: Run) -> None:
    """An index that was built as L2 by mistake, and its truth likewise, had a recall of 1."""
    for form in ("t.ibin", "t.bin", "t.ivecs", "d.npz"):
        found = run(*f"topk {FILES} --top 10 --similarity sql2 --output {form}".split())
        assert found.code == 0
    np.savez("t.npz", ids=np.load("d.npz")["ids"])
    for form in ("t.ibin", "t.bin", "t.ivecs", "t.npz"):
        line = f"{RECALL} t.ivecs --truth {form} --top 10 --similarity dot"
        run(*line.split()).refuses(1, "truth has another similarity, other vectors or other candid")


def test_a_truth_without_the_query_itself(run: Run) -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 6))
    np.save("E.npy", vectors)
    line = "E.npy E.npy --top 5 --similarity l2 --output t.ivecs --exclude-self"
    assert run("topk", *line.split()).code == 0
    line = "recall E.npy E.npy t.ivecs --truth t.ivecs --top 5 --similarity l2"
    refused = run(*line.split())
    refused.refuses(1, "less than single precision; --exclude-self leaves out each query itself")
    assert rows_of(run(*line.split(), "--exclude-self", "--json").out)[1]["recall"] == 1


# -- small things ----------------------------------------------------------------------------------


def test_lists_of_npy_and_the_first_candidates(run: Run) -> None:
    """`topk --output x.npy` has the ids; a number of candidates means the first ones."""
    line = "topk queries.u8bin base.u8bin --top 3 --similarity sql2"
    assert run(*line.split(), "--output", "gt.npy").code == 0
    assert run(*line.split(), "--output", "gt.ibin").code == 0
    assert np.load("gt.npy").tolist() == index_files.read_ids("ids", "gt.ibin").tolist()
    Path("gt").write_bytes(Path("gt.npy").read_bytes())  # It begins as .npy does.
    found = run("recall", *line.split()[1:], "gt.npy", "--truth", "gt", "--json")
    assert [row["recall"] for row in json.loads(found.out)["rows"]] == [1.0, 1.0]
    few = run(*line.split(), "--candidates", "5", "--output", "few.npy")
    assert few.code == 0
    assert np.load("few.npy").max() == 4
    run(*line.split(), "--candidates", 10**6).refuses(1, "--candidates: expected indices from 0 to")


def test_notes_of_a_recall_can_be_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save("f.npy", index(0))
    line = [*RECALL.split(), "f.npy", "--top", "3", "--similarity", "sql2"]
    assert "entities, sql2." in run(*line).out
    without = run(*line, "--no-notes")
    assert "entities, sql2." not in without.out + without.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("f.npy").read_bytes())))
    piped = run(*["-" if word == "f.npy" else word for word in line], "--json")
    assert {row["file"] for row in json.loads(piped.out)["rows"]} == {"-"}
