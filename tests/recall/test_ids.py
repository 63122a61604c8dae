"""`evaluate_ids` beside its definition, query by query, and what it reads and refuses."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import truerank as tr
from oracles.index_recall import (
    check_recalls,
    recall_by_ids,
    recall_of_big_ann,
    recall_of_diskann,
    recall_of_vectordbbench,
)
from support.refusals import T, V, refusal
from truerank import InputValueError, TopK

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
RNG = np.random.default_rng(4)
TRUTH = np.array([RNG.permutation(40)[:8] for _ in range(6)])
RISING = np.tile(np.arange(8.0), (6, 1))
IDS = np.where(RNG.random((6, 5)) < 0.6, TRUTH[:, :5], 50 + np.arange(5))


def distances_of(shape: tuple[int, int], levels: int, rng: Any) -> Array:
    """Return distances in float32 that rise in each row, and often tie."""
    steps = rng.integers(0, levels, shape)
    return np.sort(steps * 0.25, axis=1).astype(np.float32)  # type: ignore[no-any-return]


def recalls(report: tr.Report) -> list[float]:
    (key,) = report
    return report.per_query(key).tolist()  # type: ignore[no-any-return]


def findings_of(report: tr.Report) -> dict[str, str]:
    return {each.name: each.message for each in report.audit()}


# -- beside the definition -------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw exact lists, some of few ids, with or without distances, and an index's lists."""
    count, k = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    width = k + draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = width + draw(st.integers(0, 4))
    labels = np.arange(size) + draw(st.sampled_from([0, 7, 2**31, 2**62]))
    if draw(st.booleans()):
        labels = np.array([f"d{label}" for label in labels])
    pad: Any = "" if labels.dtype.kind == "U" else -1
    truth = np.array([rng.permutation(labels)[:width] for _ in range(count)])
    lengths = rng.integers(0, width + 1, count) if draw(st.booleans()) else np.full(count, width)
    ids = rng.choice(labels, (count, k))
    lengths_of_ids = rng.integers(0, k + 1, count) if draw(st.booleans()) else np.full(count, k)
    falling = draw(st.booleans())
    distances = distances_of(truth.shape, draw(st.sampled_from([2, 5, 1000])), rng)
    distances = -distances if falling else distances
    return {
        "truth": np.where(np.arange(width) < lengths[:, None], truth, pad),
        "ids": np.where(np.arange(k) < lengths_of_ids[:, None], ids, pad),
        "distances": distances if draw(st.booleans()) else None,
        "falling": falling,
        "tolerance": draw(st.sampled_from([0.0, 0.25, 0.3, 2.0])),
    }


@given(problems())
def test_recall_is_that_of_the_definition(problem: dict[str, Any]) -> None:
    ids, truth, distances = problem["ids"], problem["truth"], problem["distances"]
    k, tolerance, falling = ids.shape[1], problem["tolerance"], problem["falling"]
    given_truth: Any = truth
    if distances is None:
        tolerance = 0.0
    else:
        given_truth = TopK(truth, distances if falling else -distances)
    report = tr.evaluate_ids(ids, given_truth, tolerance=tolerance, duplicates="first")
    expected = [
        recall_by_ids(
            ids[i].tolist(),
            truth[i].tolist(),
            None if distances is None else distances[i].tolist(),
            k,
            tolerance,
            falling=falling,
        )
        for i in range(len(ids))
    ]
    check_recalls(report, expected, f"recall@{k}")
    assert report.without_answers == (expected.count(None) if report.queries else 0)


def test_where_nothing_ties_it_is_the_recall_by_vectors() -> None:
    """Of 1,000 drawn problems, with filters, of which some leave few candidates."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        count, size, k = (int(rng.integers(1, most)) for most in (6, 40, 12))
        k = min(k, size)
        queries, entities = rng.standard_normal((count, 4)), rng.standard_normal((size, 4))
        allowed = rng.random((count, size)) < rng.choice([0.2, 1.1])
        search: dict[str, Any] = {"similarity": "sql2", "candidates": allowed}
        exact = tr.topk_embeddings(queries, entities, min(size, k + 3), **search)
        ids = np.where(rng.random((count, k)) < 0.7, exact.ids[:, :k], rng.integers(0, size))
        ids = np.array([[*row[row >= 0], *row[row < 0]] for row in ids])
        by_vectors = tr.evaluate_topk(
            queries, entities, ids, exact.ids, duplicates="first", **search
        )
        for truth in (exact, exact.ids):
            by_ids = tr.evaluate_ids(ids, truth, duplicates="first")
            assert recalls(by_ids) == recalls(by_vectors)
            assert by_ids.queries == by_vectors.queries


# -- what other tools count ------------------------------------------------------------------------


def tied_problem() -> tuple[Array, Array, Array]:
    """Return an index's lists of 10, exact ones of 40, and their distances, of which many tie."""
    rng = np.random.default_rng(1)
    truth = np.array([rng.permutation(1000)[:40] for _ in range(300)])
    distances = distances_of(truth.shape, 60, rng)
    places = np.array([rng.permutation(24)[:10] for _ in range(300)])
    places[::2] = np.arange(10)
    return np.take_along_axis(truth, places, axis=1), truth, distances


def test_it_is_the_recall_of_diskann(tmp_path: Path) -> None:
    """Of its own form of file, the ids and then the distances of all queries."""
    ids, truth, distances = tied_problem()
    header = struct.pack("<II", *truth.shape)
    content = header + truth.astype("<u4").tobytes() + distances.astype("<f4").tobytes()
    for name in ("truth.bin", "step10.gt100", "bigann-10M"):  # The last two are big-ann's names.
        (tmp_path / name).write_bytes(content)
        report = tr.evaluate_ids(ids, tmp_path / name)
        assert recalls(report) == [
            recall_of_diskann(*row, 10) for row in zip(ids, truth, distances, strict=True)
        ]
    without = tr.evaluate_ids(ids, truth)
    assert without["recall@10"] < report["recall@10"] < 1
    within = tr.evaluate_ids(ids, tmp_path / "truth.bin", tolerance=0.3)
    assert within["recall@10"] > report["recall@10"]


def test_how_other_tools_differ() -> None:
    """The figures are those of the page, which the tools' own functions gave."""
    rng = np.random.default_rng(0)
    entities, queries = (rng.integers(0, 4, (n, 8)).astype(np.uint8) for n in (20_000, 1000))
    top = tr.topk_embeddings(queries, entities, 100, similarity="sql2")
    kept = np.flatnonzero(rng.random(20_000) > 0.1)
    kept = kept[rng.permutation(len(kept))]  # What ties has another order.
    ids = kept[tr.topk_embeddings(queries, entities[kept], 10, similarity="sql2").ids]
    rows = list(zip(ids.tolist(), top.ids.tolist(), (-top.scores).tolist(), strict=True))
    of_bench = np.mean([recall_of_vectordbbench(*row[:2], 10) for row in rows])
    without = tr.evaluate_ids(ids, top.ids)["recall@10"]
    report = tr.evaluate_ids(ids, top)
    assert recalls(report) == [recall_of_diskann(*row, 10) for row in rows]
    assert report["recall@10"] == pytest.approx(0.9986)
    assert without == pytest.approx(of_bench) == pytest.approx(0.6047)

    copies = np.repeat(rng.standard_normal((2000, 4)).astype(np.float32) / 30, 4, axis=0)
    copies += 1e-5 * rng.standard_normal((8000, 4)).astype(np.float32)
    near = copies[::40] + 0.01 * rng.standard_normal((200, 4)).astype(np.float32)
    exact = tr.topk_embeddings(near.astype(np.float64), copies, 100, similarity="sql2")
    exact = TopK(exact.ids, exact.scores.astype(np.float32))
    halves = [each.astype(np.float16).astype(np.float32) for each in (near, copies)]
    ids = tr.topk_embeddings(*halves, 10, similarity="sql2").ids
    of_big_ann = [
        recall_of_big_ann(*row, 10) for row in zip(ids, exact.ids, -exact.scores, strict=True)
    ]
    assert recalls(tr.evaluate_ids(ids, exact, tolerance=1e-6)) == of_big_ann
    assert np.mean(of_big_ann) == pytest.approx(0.999)
    assert tr.evaluate_ids(ids, exact)["recall@10"] == pytest.approx(0.961)

    few = np.where(np.arange(10) < 4, top.ids[:, :10], -1)  # A filter leaves four.
    assert set(recalls(tr.evaluate_ids(few, few))) == {1.0}
    assert recall_of_vectordbbench(few[0, :4].tolist(), few[0, :4].tolist(), 10) == 0.4
    again = top.ids[:, [0] * 10]
    assert set(recalls(tr.evaluate_ids(again, top, duplicates="first"))) == {0.1}
    assert recall_of_vectordbbench(again[0].tolist(), top.ids[0].tolist(), 10) == 1


# -- what is said of lists -------------------------------------------------------------------------


def test_ties_that_are_not_seen_are_said() -> None:
    """The truth of query 0 ends within the tie, that of query 1 behind it, query 2 has no miss."""
    truth = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    scores = np.array([[3.0, 2, 2], [3, 2, 1], [3, 2, 2]])
    ids = [[0, 9], [0, 9], [2, 0]]
    report = tr.evaluate_ids(ids, TopK(truth, scores))
    assert recalls(report) == [0.5, 0.5, 1]
    bound = "queries whose recall is a lower bound, as the truth ends within the tie at its k-th id"
    assert findings_of(report)["lower bound"] == f"{bound}: 1 of 3"
    assert findings_of(report)["tied lists"].endswith(": 1")
    unseen = "queries with ids that may tie, as the truth has no distances: 3 of 3"
    assert findings_of(tr.evaluate_ids(ids, truth))["unseen ties"] == unseen
    assert "unseen ties" not in findings_of(tr.evaluate_ids(truth, truth))
    within = tr.evaluate_ids(ids, TopK(truth, scores), tolerance=1)
    assert findings_of(within)["lower bound"] == f"{bound}: 2 of 3"
    padded = tr.evaluate_ids(ids, TopK(np.array([[0, 1, -1]] * 3), scores))
    assert "lower bound" not in findings_of(padded)  # There is nothing behind its end.
    of_two = tr.evaluate_ids(ids, TopK(truth[:, :2], scores[:, :2]))
    assert findings_of(of_two)["lower bound"] == f"{bound}: 3 of 3"


def test_what_lists_lack_is_counted() -> None:
    ids = np.where(np.arange(5) < 3, TRUTH[:, :5], -1)
    truth = TRUTH.copy()
    truth[5] = -1
    found = findings_of(tr.evaluate_ids(ids, truth))
    assert found["missing ids"] == "ids that are missing, or come again: 10"
    left_out = "queries without candidates or exact ids, which are left out: 1"
    assert found["without candidates"] == left_out
    less = findings_of(tr.evaluate_ids(TRUTH[:, :5] + 1, TRUTH))
    assert less["ids from 1"] == "ids less 1 would have recall 1 in the first 100 queries"
    words = np.char.add("d", TRUTH.astype(str))
    assert "ids from 1" not in findings_of(tr.evaluate_ids(np.char.add(words, "x"), words))


# -- unlike truths, and steps ----------------------------------------------------------------------


def test_unlike_truths_are_not_compared() -> None:
    """Those of one content are one, in whichever form they come."""
    report = tr.evaluate_ids(IDS, TRUTH)
    key = "recall@5"
    for truth in (TRUTH.astype(np.uint32), TRUTH.tolist(), np.asfortranarray(TRUTH)):
        assert tr.compare(report, tr.evaluate_ids(IDS[:, ::-1], truth), metric=key).estimate == 0
    others = [
        tr.evaluate_ids(IDS, TRUTH[:, 1:]),
        tr.evaluate_ids(IDS, TopK(TRUTH, -RISING)),
        tr.evaluate_ids(IDS, TopK(TRUTH, -RISING), tolerance=0.5),
        tr.evaluate_ids(IDS.astype(str), TRUTH.astype(str)),
    ]
    for other in others:
        with pytest.raises(InputValueError, match="protocol: candidates: top 5, of a truth"):
            tr.compare(report, other, metric=key)
    with pytest.raises(
        InputValueError, match=r"truth \(\w{8}\) against top 5, tolerance 0.5, of a"
    ):
        tr.compare(*others[1:3], metric=key)


def test_steps_of_a_stream_are_joined_by_name(tmp_path: Path) -> None:
    steps, shares = {}, {}
    for i in range(3):
        truth = np.roll(TRUTH, i, axis=0)
        found = np.where(np.arange(5) < 2 + i, truth[:, :5], 60 + np.arange(5))
        steps[f"step {i}"] = tr.evaluate_ids(found, truth).ranks
        shares[f"step {i}"] = (2 + i) / 5
    joined = tr.concatenate(steps)
    report = tr.report(joined, by="dataset")
    assert report.group_values("recall@5") == pytest.approx(shares)
    assert report["recall@5"] == pytest.approx(0.6)
    assert report.interval("recall@5").units == 18
    joined.save(tmp_path / "steps.npz")
    assert tr.load(tmp_path / "steps.npz") == joined
    again = tr.concatenate(dict(reversed(steps.items())))
    assert again.protocol.fingerprint == joined.protocol.fingerprint
    assert tr.compare(tr.report(again), tr.report(joined), metric="recall@5").estimate == 0
    other = tr.concatenate({name: steps[name] for name in ("step 0", "step 1")})
    with pytest.raises(InputValueError, match=r"top 5, of 2 steps \(\w{8}\) against top 5, of 3 "):
        tr.compare(tr.report(other), tr.report(joined), metric="recall@5")
    with pytest.raises(InputValueError, match="counted under another protocol: candidates"):
        tr.concatenate(list(steps.values()))
    for unlike in (
        tr.evaluate_ids(IDS[:, :4], TRUTH),
        tr.evaluate_ids(IDS, TopK(TRUTH, -RISING), tolerance=0.5),
    ):
        with pytest.raises(InputValueError, match="counted under another protocol: candidates"):
            tr.concatenate(steps | {"unlike": unlike.ranks})


def test_steps_of_unlike_candidates_by_vectors() -> None:
    vectors = RNG.standard_normal((30, 4))
    steps = {}
    for size in (10, 20, 30):
        candidates = {"candidates": np.arange(size)} if size < 30 else {}
        exact = tr.topk_embeddings(vectors[:5], vectors, 3, similarity="dot", **candidates)
        report = tr.evaluate_topk(
            vectors[:5], vectors, exact.ids, exact, similarity="dot", **candidates
        )
        steps[f"{size}"] = report.ranks
    joined = tr.report(tr.concatenate(steps), by="dataset")
    assert joined.group_values("recall@3") == {"10": 1, "20": 1, "30": 1}
    assert joined.protocol.candidates.startswith("top 3 by dot in float64, of 3 steps (")
    assert sorted(set(joined.candidates.tolist())) == [10, 20, 30]


# -- what is read ----------------------------------------------------------------------------------


def test_ids_of_each_form_are_the_same(tmp_path: Path) -> None:
    """Lists that are shorter end with -1, in any dtype, or earlier."""
    ids = IDS.copy()
    ids[2, 3:] = -1
    truth = TRUTH.copy()
    truth[3, 6:] = -1
    expected = recalls(tr.evaluate_ids(ids, truth))
    rows = [[each for each in row if each >= 0] for row in ids.tolist()]
    exact_rows = [[each for each in row if each >= 0] for row in truth.tolist()]
    pandas = pytest.importorskip("pandas")
    forms: list[Any] = [rows, tuple(map(tuple, rows)), [np.array(row) for row in rows]]
    forms += [ids.astype(dtype) for dtype in ("int16", "int32", "uint32", "uint64", "int8")]
    forms += [ids.astype(object), pandas.DataFrame(ids), pandas.Series(rows), TopK(ids, ids * 1.0)]
    truths = [exact_rows, truth.astype(np.uint32), pandas.Series(exact_rows), *[truth] * 9]
    for form, exact in zip(forms, truths, strict=True):
        assert recalls(tr.evaluate_ids(form, exact)) == expected
    names = [[f"d{each}" for each in row] for row in rows]
    exact_names = [[f"d{each}" for each in row] for row in exact_rows]
    assert recalls(tr.evaluate_ids(names, exact_names)) == expected
    padded = np.where(ids < 0, "-1", np.char.add("d", ids.astype(str)))
    assert recalls(tr.evaluate_ids(padded, pandas.Series(exact_names))) == expected
    np.save(tmp_path / "words.npy", padded)
    assert recalls(tr.evaluate_ids(tmp_path / "words.npy", exact_names)) == expected
    large = (np.int64(2**62) + ids, np.int64(2**62) + truth)
    large[0][ids < 0], large[1][truth < 0] = -1, -1
    assert recalls(tr.evaluate_ids(*large)) == expected


def test_files_of_each_form_are_the_same(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    distances = distances_of(TRUTH.shape, 4, np.random.default_rng(0))
    found, exact = TRUTH[:, 3:], TopK(TRUTH, -distances)
    expected = recalls(tr.evaluate_ids(found, exact))
    assert expected != recalls(tr.evaluate_ids(found, TRUTH))
    header = struct.pack("<II", *TRUTH.shape)
    ids, floats = TRUTH.astype("<i4").tobytes(), distances.astype("<f4").tobytes()
    (tmp_path / "both.bin").write_bytes(header + ids + floats)
    (tmp_path / "falling.ibin").write_bytes(header + ids + (-distances).astype("<f4").tobytes())
    (tmp_path / "ids.ibin").write_bytes(header + ids)
    (tmp_path / "distances.fbin").write_bytes(header + floats)
    np.save(tmp_path / "distances.npy", distances)
    with h5py.File(tmp_path / "glove.hdf5", "w") as file:
        file["neighbors"], file["distances"] = TRUTH, distances
        file["a/neighbors"], file["a/distances"], file["found"] = TRUTH, distances, found
        file["alone/neighbors"] = TRUTH
    truths: list[Any] = [tmp_path / "both.bin", str(tmp_path / "falling.ibin")]
    truths += [f"{tmp_path}/glove.hdf5:{name}" for name in ("neighbors", "a/neighbors")]
    for second in ("distances.fbin", "distances.npy"):
        truths.append(TopK(tmp_path / "ids.ibin", tmp_path / second))  # type: ignore[arg-type]
    truths.append(TopK(tmp_path / "ids.ibin", -distances))  # type: ignore[arg-type]
    for truth in truths:
        assert recalls(tr.evaluate_ids(found, truth)) == expected
        assert recalls(tr.evaluate_ids(f"{tmp_path}/glove.hdf5:found", truth)) == expected
    alone = tr.evaluate_ids(found, f"{tmp_path}/glove.hdf5:alone/neighbors")
    assert recalls(alone) == recalls(tr.evaluate_ids(found, TRUTH))


def test_lists_of_parquet_and_arrow(tmp_path: Path) -> None:
    """As VectorDBBench has them: the column has a name if there are several of lists of ids."""
    pa = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    from pyarrow import feather, parquet

    rows = [row[: 8 - i].tolist() for i, row in enumerate(TRUTH)]
    rows[1] += rows[1][:0]
    expected = recalls(tr.evaluate_ids(IDS[:, :4], rows))
    table = pa.table(
        {
            "id": np.arange(6),
            "neighbors_id": pa.array(rows, pa.list_(pa.int64())),
            "distance": [[0.5] * 8] * 6,
        }
    )
    parquet.write_table(table, tmp_path / "neighbors.parquet")
    feather.write_feather(table, str(tmp_path / "n.arrow"))
    feather.write_feather(table.rename_columns(["id", "a", "b"]), str(tmp_path / "n.feather"))
    for name in ("neighbors.parquet", "neighbors.parquet:neighbors_id", "n.arrow", "n.feather:a"):
        assert recalls(tr.evaluate_ids(IDS[:, :4], f"{tmp_path}/{name}")) == expected
    assert recalls(tr.evaluate_ids(IDS[:, :4], table["neighbors_id"])) == expected
    two = table.append_column("more", pa.array([["a", "b"], None, ["c"], [], ["d"], ["e"]]))
    parquet.write_table(two, tmp_path / "two.parquet")
    words = f"{tmp_path}/two.parquet:more"
    assert recalls(tr.evaluate_ids(words, words)) == [1, 1, 1, 1]
    missing = pa.table({"n": pa.array([[1, None]] * 6)})
    parquet.write_table(missing, tmp_path / "missing.parquet")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and more")
    refused = {
        "two.parquet": "expected the name of a column of lists of ids: neighbors_id, more, got no",
        "two.parquet:distance": "of lists of ids: neighbors_id, more, got distance",
        "missing.parquet": "integers of 2 bytes or more, or text, got dtype float64",
        "torn.parquet": "torn.parquet: ",
    }
    for name, message in refused.items():
        with pytest.raises(ValueError if "miss" not in name else TypeError, match=message):
            tr.evaluate_ids(IDS[:, :4], f"{tmp_path}/{name}")


# -- what is refused -------------------------------------------------------------------------------


VECTORS = r"; evaluate_topk\(queries, entities, ids, truth, similarity=\) is what vectors need$"


def test_wrong_lists_are_refused(tmp_path: Path) -> None:
    """Each message names the argument, and counts what came with the whole beside it."""
    np.save(tmp_path / "floats.npy", IDS * 0.5)
    np.save(tmp_path / "bytes.npy", IDS.astype(np.uint8))
    hole, low, twice = IDS.copy(), IDS.copy(), IDS.copy()
    hole[2:4, 1], low[2, 1], twice[2:, 1] = -1, -2, twice[2:, 0]
    of_files = "expected ids, integers of 2 bytes or more, or text, got dtype"
    cases: dict[str, tuple[Any, Any]] = {
        r"row 2: expected no id behind a place without one \(-1\), got \d+ \(so in 2 of 6": (
            V,
            hole,
        ),
        r"row 2: expected ids from 0 on, or -1 for none, got -2 \(so in 1 of 6 lists\)": (V, low),
        r"row 2: expected each id once, got \d+ \(so in 4 of 6 lists\); duplicates= says": (
            V,
            twice,
        ),
        r"expected a list of 1 id or more for each query, got shape \(6, 0\)": (V, IDS[:, :0]),
        r"expected a list of 1 id or more for each query, got shape \(5,\)": (V, IDS[0]),
        f"expected integers or text, got dtype float64{VECTORS}": (T, IDS * 0.5),
        f".*floats.npy: {of_files} float64{VECTORS}": (T, tmp_path / "floats.npy"),
        f".*bytes.npy: {of_files} uint8{VECTORS}": (T, tmp_path / "bytes.npy"),
        f"expected a name that ends in .*, got base.fbin{VECTORS}": (V, "base.fbin"),
        "expected ids of one dtype, got lists of unlike": (T, [["a"] * 5, *IDS[1:].tolist()]),
        "expected integers below 2": (V, np.full((6, 5), 2**63 + 5, np.uint64)),
    }
    for message, (kind, ids) in cases.items():
        refusal(kind, f"^ids: {message}", tr.evaluate_ids, ids, TRUTH)


def test_wrong_truths_are_refused() -> None:
    mixed, both, nan, twice = -RISING, -RISING, -RISING, TRUTH.copy()
    mixed[:2] *= -1
    both[3, 4], nan[1, 2] = -9, np.nan
    twice[2:, 7] = twice[2:, 0]
    narrow = "expected 5 ids or more for each of 6 queries, got shape"
    ragged = [row[: i % 5] for i, row in enumerate(TRUTH.tolist())]
    scores = "expected scores, of which more is better, that fall in all lists, got"
    shape = r"expected a number for each id, of shape \(6, 8\), got shape \(6, 7\), dtype float64"
    cases: dict[str, tuple[Any, Any]] = {
        r"row 2: expected each id once, got \d+ \(so in 4 of 6 lists\)$": (V, twice),
        rf"{narrow} \(6, 4\)": (V, TRUTH[:, :4]),
        rf"{narrow} \(6, 4\)$": (V, ragged),
        rf"{narrow} \(5, 8\)": (V, TRUTH[:5]),
        "expected integers, as the lists have, got text": (T, TRUTH.astype(str)),
        f"{scores} 6 of 6 lists where they rise, 0 where they fall": (V, TopK(TRUTH, RISING)),
        f"{scores} 2 of 6 lists where they rise, 4 where they fall": (V, TopK(TRUTH, mixed)),
        f"{scores} 1 of 6 lists where they rise, 6 where they fall": (V, TopK(TRUTH, both)),
        r"row 1: expected a number for each id, got nan \(so in 1 of 6": (V, TopK(TRUTH, nan)),
        shape: (V, TopK(TRUTH, -RISING[:, :7])),
        "expected a number for each id, of shape": (V, TopK(TRUTH, TRUTH.astype(str))),
    }
    for message, (kind, truth) in cases.items():
        refusal(kind, f"^truth: {message}", tr.evaluate_ids, IDS, truth)
    words = "^truth: expected text, as the lists have, got integers"
    refusal(T, words, tr.evaluate_ids, IDS.astype(str), TRUTH)


def test_wrong_options_are_refused() -> None:
    refused: dict[str, dict[str, Any]] = {
        "^tolerance: expected 0, as the truth has no distances, got 0.5": {"tolerance": 0.5},
        "^tolerance: expected a number from 0 on, got -1": {"tolerance": -1},
        "^duplicates: expected one of raise, first, got 'keep'": {"duplicates": "keep"},
    }
    for message, options in refused.items():
        refusal(V, message, tr.evaluate_ids, IDS, TRUTH, **options)


def test_distances_of_files_have_one_direction(tmp_path: Path) -> None:
    """Rows that are all equal have none; a file that rises in some and falls in others, neither."""
    header = struct.pack("<II", *TRUTH.shape)
    rising = RISING.copy()
    equal = np.where(np.arange(6)[:, None] < 4, 2.0, rising)
    for distances in (equal, -equal, np.zeros((6, 8))):
        content = header + TRUTH.astype("<i4").tobytes() + distances.astype("<f4").tobytes()
        (tmp_path / "t.bin").write_bytes(content)
        falls = -distances if distances.max() > 0 else distances
        expected = recalls(tr.evaluate_ids(IDS, TopK(TRUTH, falls)))
        assert recalls(tr.evaluate_ids(IDS, tmp_path / "t.bin")) == expected
    rising[1] *= -1
    np.save(tmp_path / "d.npy", rising)
    message = "d.npy: expected distances that rise in all, or that fall in all lists, got 5 of 6 "
    message += "lists where they rise, 1 where they fall"
    with pytest.raises(InputValueError, match=re.escape(message)):
        tr.evaluate_ids(IDS, TopK(TRUTH, tmp_path / "d.npy"))  # type: ignore[arg-type]
