"""Folders of data sets: each layout with all that it has, one matrix for both graphs, faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import found_pairs as oracle
from support.examples import examples
from support.outcomes import quietly
from support.refusals import T, V, refusal
from truerank.alignment import Graphs, read_folder

pytestmark = pytest.mark.python_only

# Ids are unique over both graphs, and their order is no order of numbers.
JAPE = {
    "ent_ids_1": "4\tWien\n0\tGraz\n1\tLinz\n",
    "ent_ids_2": "5\tVienna\n3\tGraz\n2\tLinz\n6\tSalzburg\n",
    "triples_1": "4\t7\t0\n0\t7\t1\n",
    "triples_2": "5\t8\t3\n3\t9\t3\n",
    "sup_ent_ids": "4\t5\n",
    "ref_ent_ids": "0\t3\n1\t2\n",
}
NAMED = {
    "rel_triples_1": "Wien\tin\tAustria\nGraz\tin\tAustria\nLinz\tin\tAustria\n",
    "rel_triples_2": "Vienna\tin\tAustria\nGraz\tin\tStyria\nLinz\tof\tAustria\n"
    "Styria\tin\tAustria\n",
}
LINKS = ["Wien\tVienna\n", "Graz\tGraz\n", "Linz\tLinz\n", "Austria\tAustria\n"]


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def openea() -> dict[str, str]:
    files = {**NAMED, "ent_links": "".join(LINKS)}
    for fold in range(1, 6):
        turned = LINKS[fold % 4 :] + LINKS[: fold % 4]
        for name, lines in (("train", turned[:1]), ("valid", turned[1:2]), ("test", turned[2:])):
            files[f"721_5fold/{fold}/{name}_links"] = "".join(lines)
    return files


def dbp2() -> dict[str, str]:
    files = {**NAMED, "ent_links": "".join(LINKS[:3])}
    for name, line in zip(("train", "valid", "test"), LINKS[:3], strict=True):
        files[f"splits/{name}_links"] = line
    lists = {"train": ("Austria", "Styria"), "valid": ("Austria", "Styria")}
    for name in ("train", "valid", "test"):
        left, right = lists.get(name, ("Austria", "Austria"))
        files |= {f"splits/{name}_unlinked_ent1": f"{left}\n"}
        files |= {f"splits/{name}_unlinked_ent2": f"{right}\n"}
    return files


def in_folder(name: str, files: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}/{file}": text for file, text in files.items()}


BERT_INT = {
    name.replace("_ent_ids", "_pairs") if name[:3] in ("sup", "ref") else name: text
    for name, text in JAPE.items()
}


@pytest.mark.parametrize(
    ("layout", "files"),
    [
        ("JAPE", JAPE),
        ("BERT-INT", BERT_INT),
        ("BootEA, mapping", in_folder("mapping/0_3", JAPE)),
        ("BootEA, sharing", in_folder("sharing/0_3", JAPE)),
    ],
)
def test_entities_with_ids(tmp_path: Path, layout: str, files: dict[str, str]) -> None:
    graphs = read_folder(write(tmp_path, files))
    assert str(graphs) == (
        f"{layout}: 3 left and 4 right entities; 2 and 2 triples; pairs: train 1, test 2"
    )
    assert (graphs.left, graphs.right) == ((4, 0, 1), (5, 3, 2, 6))
    assert graphs.names["right"] == ("Vienna", "Graz", "Linz", "Salzburg")
    assert graphs.pairs == {"train": [(4, 5)], "test": [(0, 3), (1, 2)]}
    assert graphs.triples == {"left": [(4, 7, 0), (0, 7, 1)], "right": [(5, 8, 3), (3, 9, 3)]}
    assert graphs.degrees["left"].tolist() == [1, 2, 1]
    assert graphs.degrees["right"].tolist() == [1, 3, 0, 0]
    both = np.arange(14.0).reshape(7, 2)
    left, right = graphs.split(both)
    assert left.tolist() == [[8, 9], [0, 1], [2, 3]]
    assert right[:, 0].tolist() == [10, 6, 4, 12]
    np.save(tmp_path / "E", both)
    np.testing.assert_array_equal(graphs.split(tmp_path / "E.npy")[1], right)
    refusal(
        V, "^embeddings: expected 7 rows, one for each id, got 8", graphs.split, np.ones((8, 2))
    )
    refusal(V, "^embeddings", graphs.split, np.ones(7))
    refusal(TypeError, "multiple values for keyword argument 'left'", graphs.task, left=3)
    task = graphs.task(candidates="unaligned", split="test")
    assert (task.protocol.filter, len(task), task.left) == (("train", "test"), 2, (4, 0, 1))
    assert [ids.tolist() for ids in task.candidates or ()] == [[1, 2], [1, 2, 3]]
    assert task.evaluate_embeddings(left, right).ranks.labels["degree"].counts()["[1, 6)"] == 2


def test_a_training_pair_of_sharing_has_one_id_and_row(tmp_path: Path) -> None:
    files = {**JAPE, "ent_ids_2": "4\tVienna\n3\tGraz\n2\tLinz\n5\tSalzburg\n"}
    files |= {"sup_ent_ids": "4\t4\n", "triples_2": "4\t8\t3\n"}
    graphs = read_folder(write(tmp_path, in_folder("sharing/0_3", files)) / "sharing" / "0_3")
    left, right = graphs.split(np.arange(6.0)[:, None])
    assert (left[:, 0].tolist(), right[:, 0].tolist()) == ([4, 0, 1], [4, 3, 2, 5])
    assert len(graphs.task()) == 2


def test_without_training_pairs_they_must_be_given(tmp_path: Path) -> None:
    files = {**JAPE, "ref_ent_ids": "4\t5\n0\t3\n1\t2\n"}
    del files["sup_ent_ids"]
    graphs = read_folder(write(tmp_path, files))
    words = "^known: expected the training pairs, which the folder lacks, got None$"
    refusal(T, words, graphs.task)
    assert len(graphs.task(known={})) == 3
    (tmp_path / "mine").write_text("4\t5\n")
    for known in ({"train": [(4, 5)]}, {"train": tmp_path / "mine"}, {"train": np.array([[4, 5]])}):
        for leaks in ("keep", "raise"):  # It is never a test on training pairs.
            task = graphs.task(known=known, leaks=leaks)
            assert task.pairs.tolist() == [[1, 1], [2, 2]]
    refusal(V, "nothing is left", graphs.task, known={"train": graphs.pairs["test"]})
    refusal(V, "known", graphs.task, known={"train": [(5, 4)]})


def test_folds_of_openea(tmp_path: Path) -> None:
    write(tmp_path, {**openea(), "721_5fold/README": "no fold"})
    graphs = read_folder(tmp_path, fold=2)
    assert str(graphs) == (
        "OpenEA, fold 2 of 5: 4 left and 5 right entities; 3 and 4 triples; "
        "pairs: train 1, valid 1, test 2"
    )
    assert set(graphs.right) == {"Vienna", "Austria", "Graz", "Styria", "Linz"}
    assert graphs.pairs["test"] == [("Wien", "Vienna"), ("Graz", "Graz")]
    assert graphs.names["left"] == graphs.left
    degrees = dict(zip(graphs.right, graphs.degrees["right"].tolist(), strict=True))
    assert degrees == {"Vienna": 1, "Austria": 3, "Graz": 1, "Styria": 2, "Linz": 1}
    for fold in (None, 0, 6, "all", True, 1.0):
        refusal(V, "^fold: expected one of 1, 2, 3, 4, 5, got", read_folder, tmp_path, fold=fold)
    assert graphs.task(split="valid").protocol.filter == ("train", "test", "valid")
    refusal(V, "^split: expected one of train, valid, test", graphs.task, split="dev")
    refusal(V, "^known", graphs.task, known={"train": [("Wien", "Vienna")]})
    more = graphs.task(known={"found": [("Linz", "Linz")]})
    assert more.protocol.filter == ("train", "valid", "found", "test")


def kg_files(folder: Path, graphs: Graphs, rows: np.ndarray[Any, Any]) -> Path:
    """Write vectors of both graphs in turned order, and whose each row is."""
    order = np.random.default_rng(0).permutation(len(graphs.left) + len(graphs.right))
    ids = np.split(order, [len(graphs.left)])
    for number, (names, of_graph) in enumerate(
        zip((graphs.left, graphs.right), ids, strict=True), 1
    ):
        lines = [f"{name}\t{i}\n" for name, i in zip(names, of_graph, strict=True)]
        (folder / f"kg{number}_ent_ids").write_text("".join(reversed(lines)))
    both = np.empty_like(rows)
    both[order] = rows
    np.save(folder / "ent_embeds", both)
    return folder / "ent_embeds.npy"


def test_rows_and_a_mapping_lie_beside_the_vectors_of_openea(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, openea()), fold=1)
    rows = np.random.default_rng(1).normal(size=(9, 3))
    path = kg_files(tmp_path, graphs, rows)
    left, right = graphs.split(path)
    np.testing.assert_array_equal(np.concatenate([left, right]), rows)
    mapping = np.random.default_rng(2).normal(size=(3, 3))
    np.save(tmp_path / "mapping_mat", mapping)
    with pytest.warns(UserWarning, match="left rows are multiplied by .*mapping_mat.npy"):
        mapped, same = graphs.split(str(path))
    np.testing.assert_allclose(mapped, left @ mapping)
    np.testing.assert_array_equal(same, right)
    refusal(T, "^embeddings: .*beside which kg1_ent_ids and kg2_ent_ids lie", graphs.split, rows)
    names = (tmp_path / "kg1_ent_ids").read_text()
    for text in (names.replace("Wien", "Rom"), names + "Rom\t0\n", names.partition("\n")[2]):
        (tmp_path / "kg1_ent_ids").write_text(text)
        refusal(V, "^(embeddings|path): .*kg1_ent_ids", graphs.split, path)
    (tmp_path / "kg1_ent_ids").write_text(names.replace("\t", "\t9"))
    refusal(V, "with a row below 9", graphs.split, path)
    (tmp_path / "kg1_ent_ids").write_text(names + names.partition("\t")[0] + "\t8\n")
    refusal(V, "kg1_ent_ids: expected each of 4 entities once, .* 4 of these", graphs.split, path)
    (tmp_path / "kg1_ent_ids").write_text(names)
    np.save(tmp_path / "mapping_mat", mapping[:2])
    words = "^embeddings: expected a matrix of 3 rows and columns in .*mapping_mat.npy, got shape"
    refusal(V, words, graphs.split, path)
    (tmp_path / "kg2_ent_ids").unlink()
    refusal(FileNotFoundError, "kg2_ent_ids", graphs.split, path)


def test_names_may_be_numbers_whose_order_means_nothing(tmp_path: Path) -> None:
    triples = {"rel_triples_1": "10\t7\t9\n", "rel_triples_2": "8\t7\t20\n"}
    files = {name: "10\t20\n" for name in openea() if name.endswith("_links")}
    graphs = read_folder(write(tmp_path, files | triples), fold=1)
    assert (graphs.left, graphs.right) == (("9", "10"), ("8", "20"))
    assert graphs.triples == {"left": [("10", "7", "9")], "right": [("8", "7", "20")]}
    assert quietly(graphs.task).pairs.tolist() == [[1, 1]]


def test_names_of_ids_are_any_text(tmp_path: Path) -> None:
    files = {**JAPE, "ent_ids_1": "4\tGr\u00e4z\n0\tGra\u0308z\n1\t7\n"}
    assert read_folder(write(tmp_path, files)).names["left"] == ("Gr\u00e4z", "Gra\u0308z", "7")


def test_dbp2_names_the_entities_without_a_counterpart(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, dbp2()))
    assert graphs.layout == "DBP2.0"
    assert graphs.exclusive["train"] == {"left": ["Austria"], "right": ["Styria"]}
    task = graphs.task(candidates="unaligned")
    scores = task.score_pairs([("Linz", "Styria"), ("Wien", "Vienna")])
    assert scores.exclusive is not None
    assert (scores.found, scores.exclusive.found, scores.exclusive.correct) == (1, 1, 1)
    assert graphs.task(exclusive=[]).score_pairs([]).exclusive.right == 0  # type: ignore[union-attr]


FAULTS = {
    "an id twice": (
        {"ent_ids_1": "4\tWien\n0\tGraz\n4\tLinz\n"},
        "ent_ids_1: line 3: expected an id that no line above has",
    ),
    "a negative id": ({"ent_ids_1": "0\tWien\n-1\tGraz\n"}, "ent_ids_1: line 2: expected an id"),
    "no number": ({"ent_ids_1": "Wien\t4\n"}, "ent_ids_1: line 1: expected an id"),
    "an empty file": ({"ent_ids_2": ""}, "ent_ids_2: expected at least one line"),
    "no pairs": ({"ref_ent_ids": ""}, "ref_ent_ids: expected at least one line"),
    "an id of no graph": ({"ref_ent_ids": "0\t3\n1\t7\n"}, "ref_ent_ids: .*7.* of line 2"),
    "turned pairs": ({"sup_ent_ids": "5\t4\n"}, "sup_ent_ids: .*5.* of line 1"),
    "a stranger in triples": ({"triples_1": "4\t7\t0\n4\t7\t9\n"}, "triples_1: .*9.* of line 2"),
    "another width": ({"triples_2": "5\t8\n"}, "triples_2: line 1"),
    "names alone": ({"ent_ids_1": "Wien\n"}, "ent_ids_1: line 1"),
    "two layouts": ({"splits/train_links": "a\tb\n"}, "got ref_ent_ids, splits"),
    "two forms": ({"ref_pairs": "0\t3\n"}, "got ref_ent_ids, ref_pairs"),
    "a fold": ({}, "fold"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named_with_file_and_line(tmp_path: Path, fault: str) -> None:
    files, words = FAULTS[fault]
    write(tmp_path, JAPE | files)
    fold = 1 if fault == "a fold" else None
    refusal(V, f"^(path|fold): .*{words}|^{words}", read_folder, tmp_path, fold=fold)


def test_what_is_not_there(tmp_path: Path) -> None:
    refusal(FileNotFoundError, "nowhere", read_folder, tmp_path / "nowhere")
    refusal(V, "got none of them", read_folder, tmp_path)
    refusal(T, "^path", read_folder, 7)
    write(tmp_path, {name: text for name, text in JAPE.items() if name != "triples_2"})
    refusal(FileNotFoundError, "triples_2", read_folder, tmp_path)
    both = {**in_folder("mapping/0_3", JAPE), **in_folder("sharing/0_3", JAPE)}
    refusal(V, "got mapping/0_3, sharing/0_3", read_folder, write(tmp_path / "both", both))
    named = write(tmp_path / "named", openea())
    (named / "721_5fold" / "1" / "test_links").write_text("Wien\tRom\n")
    refusal(V, "test_links: .*'Rom' in column 1 of line 1", read_folder, named, fold=1)


@given(st.integers(0, 2**32))
@examples(50)
def test_pairs_are_grouped_by_degree_and_by_values_of_pairs(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    files = {
        "ent_ids_1": "".join(f"{i}\tl{i}\n" for i in range(n)),
        "ent_ids_2": "".join(f"{n + i}\tr{i}\n" for i in range(n)),
        "ref_ent_ids": "".join(f"{i}\t{n + j}\n" for i, j in enumerate(rng.permutation(n))),
    }
    triples = {}
    for number, first in ((1, 0), (2, n)):
        rows = first + rng.integers(0, n, (int(rng.integers(1, 25 * n)), 2))
        triples[number] = [(h, 0, t) for h, t in rows.tolist()]
        files[f"triples_{number}"] = "".join(f"{h}\t0\t{t}\n" for h, _, t in triples[number])
    graphs = read_folder(write(tmp_path_factory.mktemp("drawn"), files))
    task = graphs.task(known={})
    ranks = task.evaluate_scores(rng.integers(0, 3, (n, n)).astype("f4")).ranks
    left, right = map(oracle.degrees, triples.values())
    pairs = [(left[a] + right[b]) / 2 for a, b in graphs.pairs["test"]]
    expected = [oracle.degree_group(degree) for degree in pairs]
    assert ranks.labels["degree"].values.tolist() == expected * 2
    by_degree = tr.report(ranks, by="degree")
    by_pair = tr.report(ranks, by=expected)
    for group, report in by_degree.groups.items():
        assert report.to_dict() == by_pair.groups[group].to_dict()
    assert task[::-1].evaluate_scores(np.zeros((n, n))).ranks.labels["degree"].values.tolist() == (
        expected[::-1] * 2
    )
    if n > 2:
        words = (
            f"^by: expected {2 * n} labels, one for each task, or {n}, one for each unit, got 3$"
        )
        if n != 3:
            refusal(V, words, tr.report, ranks, by=["a"] * 3)
