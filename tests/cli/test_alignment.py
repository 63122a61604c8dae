"""`truerank alignment`: pairs and a model in files, compared with a plain count."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.alignment_folders import DBP15K, OPENEA, fill_folder
from support.cli_files import Outcome, Run
from truerank.alignment import Task
from truerank.cli import protocol_runs

pytestmark = pytest.mark.python_only

run = cli_files.run

LEFT, RIGHT = 8, 10
PAIRS = {
    "train": [(0, 0), (1, 1), (2, 3), (2, 2)],
    "valid": [(3, 4)],
    "test": [(4, 5), (5, 6), (6, 7), (5, 3), (2, 5)],  # 2 and 5 have several counterparts
}


class World(NamedTuple):
    """Vectors of small integers, which have exact scores, and the names of their entities."""

    left: np.ndarray
    right: np.ndarray
    names: tuple[list[str], list[str]]

    @property
    def scores(self) -> np.ndarray:
        found: np.ndarray = self.left @ self.right.T
        return found


@cache
def world() -> World:
    rng = np.random.default_rng(6)
    left, right = (rng.integers(-2, 3, (n, 4)).astype(np.float32) for n in (LEFT, RIGHT))
    for a, b in PAIRS["test"]:
        right[b] = left[a] + (right[b] > 1)
    names = [f"ü {i}" for i in range(LEFT)], [f"ö {i}" for i in range(RIGHT)[::-1]]
    return World(left, right, names)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write all files of the world to the current folder of the commands."""
    monkeypatch.chdir(tmp_path)
    found = world()
    for name, rows in PAIRS.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
        named = [(found.names[0][a], found.names[1][b]) for a, b in rows]
        text = "".join("\t".join(row) + "\n" for row in named)
        (tmp_path / f"{name}_named.gz").write_bytes(gzip.compress(text.encode()))
        np.save(tmp_path / f"{name}.npy", np.array(rows))
    for name, words in zip(("left", "right"), found.names, strict=True):
        (tmp_path / f"{name}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    np.save(tmp_path / "L.npy", found.left)
    np.save(tmp_path / "R.npy", found.right)
    np.save(tmp_path / "S.npy", found.scores)
    return tmp_path


Align = Callable[..., Outcome]


@pytest.fixture
def align(run: Run, folder: Path) -> Align:
    """Run the command with the words of a line, and further words."""

    def align(line: str, *more: str) -> Outcome:
        return run("alignment", *line.split(), *more)

    return align


VECTORS = "L.npy R.npy test.tsv --similarity dot"
KNOWN = "--train train.tsv --valid valid.tsv"


def plain(
    known: Collection[str] = ("train", "valid"),
    left: Collection[int] = range(LEFT),
    right: Collection[int] = range(RIGHT),
) -> list[tuple[int, int, int]]:
    """Count above, tied and candidates of every task, left to right before right to left."""
    scores, counts = world().scores, []
    true = {pair for name in (*known, "test") for pair in PAIRS[name]}
    for flip, among in ((False, right), (True, left)):
        for a, b in PAIRS["test"]:
            own = scores[a, b]
            others = [
                scores[e, b] if flip else scores[a, e]
                for e in among
                if ((e, b) if flip else (a, e)) not in true
            ]
            above = sum(bool(score > own) for score in others)
            tied = 1 + sum(bool(score == own) for score in others)
            counts.append((above, tied, 1 + len(others)))
    return counts


def saved(path: Path) -> list[tuple[int, int, int]]:
    ranks = tr.load(path)
    arrays = (ranks.above.tolist(), ranks.tied.tolist(), ranks.candidates.tolist())
    return list(zip(*arrays, strict=True))


TEST = {"left": {2, 4, 5, 6}, "right": {3, 5, 6, 7}}
FREE = {"left": {2, 4, 5, 6, 7}, "right": {3, 5, 6, 7, 8, 9}}

# -- what is ranked --------------------------------------------------------------------------------

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "vectors": (f"{VECTORS} {KNOWN}", {}),
    "unfiltered but for the test": (VECTORS, {"known": ()}),
    "one known split": (f"{VECTORS} --known older=train.npy", {"known": ("train",)}),
    "arrays of ids": (f"L.npy R.npy test.npy --similarity dot {KNOWN}", {}),
    "scores": (f"--scores S.npy test.tsv {KNOWN}", {}),
    "scores that are read": (f"--scores S.npy test.tsv {KNOWN} --io read", {}),
    "names": (
        "L.npy R.npy test_named.gz --similarity dot --train train_named.gz "
        "--valid valid_named.gz --left-labels left.txt --right-labels right.txt",
        {},
    ),
    "test": (f"{VECTORS} {KNOWN} --candidates test", TEST),
    "unaligned": (f"{VECTORS} {KNOWN} --candidates unaligned", FREE),
    "chosen": (f"{VECTORS} {KNOWN} --candidates l.npy,r.npy", FREE),
    "one thread": (f"{VECTORS} {KNOWN} --threads 1 --nan worst --audit", {}),
}


@pytest.mark.parametrize(("line", "rules"), RUNS.values(), ids=RUNS)
def test_counts(line: str, rules: dict[str, Any], align: Align, folder: Path) -> None:
    np.save("l.npy", sorted(FREE["left"]))
    np.save("r.npy", sorted(FREE["right"]))
    outcome = align(line, "--save", "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    assert saved(folder / "ranks.npz") == plain(**rules)


def test_protocol_and_labels(align: Align, folder: Path) -> None:
    names = "--left-labels left.txt --right-labels right.txt"
    line = "L.npy R.npy test_named.gz --train train_named.gz --split dev --candidates unaligned"
    assert align(f"{line} {names} --csls 2 --save ranks.npz").code == 0
    ranks = tr.load("ranks.npz")
    assert ranks.protocol.split == "dev"
    assert ranks.protocol.filter == ("train", "dev")
    assert ranks.protocol.candidates == "unaligned"
    assert ranks.protocol.similarity == "cosine, csls 2"
    files = ["L.npy", "R.npy", "test_named.gz", "train_named.gz", "left.txt", "right.txt"]
    assert list(ranks.protocol.files) == files
    assert ranks.side is not None
    assert ranks.queries is not None
    assert ranks.side.values.tolist() == ["left_to_right"] * 5 + ["right_to_left"] * 5
    assert ranks.queries.values.tolist()[0] == world().names[0][4]


@pytest.mark.parametrize("similarity", ["cosine", "l1", "inverse_l2"])
@pytest.mark.parametrize("csls", [None, 1, 3, 99])
def test_ranks_equal_those_of_the_python_task(
    similarity: str, csls: int | None, align: Align, folder: Path
) -> None:
    found = world()
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT, known=PAIRS["train"])
    report = task.evaluate_embeddings(found.left, found.right, similarity=similarity, csls=csls)
    line = f"L.npy R.npy test.tsv --train train.tsv --similarity {similarity} --save ranks.npz"
    assert align(line, *([] if csls is None else ["--csls", str(csls)])).code == 0
    assert np.array_equal(tr.load("ranks.npz").above, report.ranks.above)
    assert np.array_equal(tr.load("ranks.npz").tied, report.ranks.tied)


def test_scores_with_csls_or_ascending_order(align: Align, folder: Path) -> None:
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT)
    for options, rules in (
        ("--csls 2", {"csls": 2}),
        ("--order ascending", {"order": "ascending"}),
    ):
        assert align(f"--scores S.npy test.tsv {options} --save ranks.npz").code == 0
        ranks = task.evaluate_scores(world().scores, **rules).ranks
        assert np.array_equal(tr.load("ranks.npz").above, ranks.above)


def test_bfloat16(align: Align, folder: Path) -> None:
    for name in ("L", "R"):
        array = np.load(f"{name}.npy")
        np.save(f"{name}16.npy", array.astype(ml_dtypes.bfloat16).view("V2"))
    line = "L16.npy R16.npy test.tsv --similarity dot --dtype bfloat16 --save ranks.npz"
    assert align(line).code == 0
    assert saved(folder / "ranks.npz") == plain(known=())


# -- data sets -------------------------------------------------------------------------------------


@pytest.fixture
def sets(folder: Path) -> Path:
    """Write small data sets and their vectors."""
    fill_folder(folder / "dbp", DBP15K)
    fill_folder(folder / "dbp_split", {**DBP15K, "sup_ent_ids": "3\t11\n"})
    fill_folder(folder / "oea", OPENEA)
    rng = np.random.default_rng(0)
    for name, shape in {"d1": (3, 4), "d2": (4, 4), "o1": (4, 4), "o2": (5, 4)}.items():
        np.save(folder / f"{name}.npy", rng.standard_normal(shape))
    return folder


@pytest.mark.parametrize(
    ("line", "tasks", "filtered"),
    [
        ("d1.npy d2.npy --data dbp", 4, ("test",)),
        ("d1.npy d2.npy --data dbp --layout dbp15k", 4, ("test",)),
        ("d1.npy d2.npy --data dbp_split", 4, ("train", "test")),
        ("d1.npy d2.npy --data dbp_split --split train", 2, ("test", "train")),
        ("o1.npy o2.npy --data oea", 8, ("test",)),
        ("o1.npy o2.npy --data oea --fold 1", 4, ("train", "valid", "test")),
        ("o1.npy o2.npy --data oea --fold 1 --split valid", 2, ("train", "test", "valid")),
        ("o1.npy o2.npy --data oea --layout openea --fold 2", 4, ("train", "test")),
    ],
)
def test_data_sets(
    line: str, tasks: int, filtered: tuple[str, ...], align: Align, sets: Path
) -> None:
    outcome = align(f"{line} --save ranks.npz --by degree --format csv")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load("ranks.npz")
    assert len(ranks) == tasks
    assert ranks.protocol.filter == filtered
    assert set(ranks.labels) == {"degree"}


def test_degrees_are_sums_of_both_entities(align: Align, sets: Path) -> None:
    outcome = align("o1.npy o2.npy --data oea --fold 1 --by degree --format json --save ranks.npz")
    assert outcome.code == 0
    ranks = tr.load("ranks.npz")
    # Steiermark 1 + Styria 2, Wien 1 + Vienna 1
    assert ranks.labels["degree"].values.tolist() == ["1-5"] * 4
    assert ranks.queries is not None
    assert ranks.queries.values.tolist() == ["Steiermark", "Wien", "Styria", "Vienna"]


def test_entities_with_equal_names_are_labelled_by_ids(align: Align, sets: Path) -> None:
    fill_folder(sets / "same", {**DBP15K, "ent_ids_1": "7\tWien\n9\tWien\n3\tLinz\n"})
    assert align("d1.npy d2.npy --data same --save ranks.npz").code == 0
    ranks = tr.load("ranks.npz")
    assert ranks.queries is not None
    assert ranks.queries.values.tolist()[:2] == [1, 0]  # labelled by ids


# -- what is printed -------------------------------------------------------------------------------


def test_table(align: Align) -> None:
    outcome = align(f"{VECTORS} {KNOWN} --candidates test")
    lines = outcome.out.splitlines()
    assert lines[0] == "test: 5 pairs, 5 ranked; known: train 4, valid 1"
    assert lines[1] == (
        "distinct queries: left_to_right 4 (among 4 of 10 entities), "
        "right_to_left 4 (among 4 of 8 entities)"
    )
    assert "do not compare across test sizes" in outcome.out
    for side in ("left_to_right", "right_to_left"):
        assert any(line.startswith(f"{side} (5 tasks)") for line in lines)
    assert "do not compare across" not in align(f"{VECTORS} {KNOWN}").out
    assert "(among 10 entities)" in align(VECTORS).out


def test_json(align: Align) -> None:
    content = json.loads(align(f"{VECTORS} {KNOWN} --format json").out)
    assert content["task"]["sides"]["right_to_left"] == {
        "tasks": 5,
        "queries": 4,
        "candidates": 8,
        "columns": 8,
    }
    assert content["task"]["audit"]["known"] == {"train": 4, "valid": 1}


@pytest.mark.parametrize("style", ["table", "json", "markdown", "csv", "latex", "html"])
def test_formats(style: str, align: Align) -> None:
    for more in ("", "--metrics mrr,left_to_right.amri", "--metrics mrr --interval", "--by side"):
        outcome = align(f"{VECTORS} {KNOWN} --audit --format {style} {more}")
        assert outcome.code == 0
        assert "mrr" in outcome.out.lower()


def test_metrics(align: Align) -> None:
    line = f"{VECTORS} {KNOWN} --metrics left_to_right.mr,right_to_left.optimistic.mr --format csv"
    rows = list(csv.reader(io.StringIO(align(line).out)))
    counts = plain()
    realistic = [above + (tied + 1) / 2 for above, tied, _ in counts[:5]]
    optimistic = [above + 1 for above, _, _ in counts[5:]]
    assert rows[0] == ["key", "value"]
    assert [float(value) for _, value in rows[1:]] == [np.mean(realistic), np.mean(optimistic)]


def test_audit_reports_duplicates_and_leaks(align: Align, folder: Path) -> None:
    Path("again.tsv").write_text("4\t5\n4\t5\n0\t0\n")
    outcome = align("L.npy R.npy again.tsv --train train.tsv --audit")
    assert outcome.err == ""
    assert "duplicates: 1 (4 5), kept" in outcome.out
    assert "leaks: in train 1 (0 0), kept" in outcome.out
    outcome = align("L.npy R.npy again.tsv --train train.tsv")
    assert outcome.err.count("Warning: ") == 2
    assert "--duplicates" in outcome.err
    outcome = align("L.npy R.npy again.tsv --train train.tsv --leaks drop --duplicates drop")
    assert (outcome.code, outcome.err) == (0, "")
    assert "test: 3 pairs, 1 ranked; known: train 4" in outcome.out
    outcome = align("L.npy R.npy again.tsv --train train.tsv --leaks raise --duplicates drop")
    assert (outcome.code, outcome.out) == (1, "")


def test_saved_ranks_are_evaluated_again(align: Align, run: Run, folder: Path) -> None:
    first = align(f"{VECTORS} {KNOWN} --save ranks.npz --metrics mrr --format csv")
    again = run("evaluate", "ranks.npz", "--metrics", "mrr", "--format", "csv")
    assert again.out == first.out


def test_progress_of_scores(align: Align, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Any] = []
    monkeypatch.setattr(protocol_runs, "ProgressListener", lambda bar: reports.append)
    assert align(f"--scores S.npy test.tsv {KNOWN}").code == 0
    assert reports[-1].done == reports[-1].total > 0


# -- what is wrong ---------------------------------------------------------------------------------

WRONG_LINES = {
    "nothing": ("", "expected LEFT RIGHT PAIRS, got none"),
    "no pairs": ("L.npy R.npy", "expected LEFT RIGHT PAIRS, got L.npy R.npy"),
    "too much": (f"{VECTORS} x", "expected LEFT RIGHT PAIRS, got L.npy R.npy test.tsv x"),
    "scores and vectors": (
        f"{VECTORS} --scores S.npy",
        "expected PAIRS with --scores, got L.npy R.npy test.tsv; the shell splits a pattern",
    ),
    "data and pairs": (
        f"{VECTORS} --data dbp",
        "expected LEFT RIGHT with --data, got L.npy R.npy test.tsv",
    ),
    "all of it": (
        "test.tsv --data dbp --scores S.npy",
        "expected no file with --scores and with --data, got test.tsv",
    ),
    "known of data": (
        "L.npy R.npy --data dbp --train train.tsv --known a=b",
        "--train, --known cannot apply to --data",
    ),
    "labels of data": (
        "L.npy R.npy --data dbp --left-labels left.txt",
        "--left-labels cannot apply to --data",
    ),
    "fold of pairs": (f"{VECTORS} --fold 1", "--fold cannot apply to pairs without --data"),
    "similarity of scores": (
        "--scores S.npy test.tsv --similarity l1",
        "--similarity cannot apply to scores",
    ),
    "order of vectors": (f"{VECTORS} --order ascending", "--order cannot apply to vectors"),
    "fold of dbp15k": ("d1.npy d2.npy --data dbp --fold 1", "--fold cannot apply to --layout dbp"),
    "known twice": (
        f"{VECTORS} --train train.tsv --known train=valid.tsv",
        "--known train and --train: expected one of them",
    ),
    "split is known": (
        f"{VECTORS} --split train --train train.tsv",
        "--split train: it is the name of known pairs, too",
    ),
    "candidates": (f"{VECTORS} --candidates some", "expected all, test, unaligned, or two .npy"),
    "one file": (f"{VECTORS} --candidates l.npy", "expected all, test, unaligned, or two .npy"),
    "csls": (f"{VECTORS} --csls 0", "'--csls': 0 is not in the range"),
    "similarity": (f"{VECTORS} --similarity cos", "'--similarity': 'cos' is not one of"),
    "metric": (f"{VECTORS} --metrics head.mrr", "'--metrics'"),
    "label": (f"{VECTORS} --by degree", "'--by'"),
    "interval": (f"{VECTORS} --interval", "--interval needs --metrics"),
}


@pytest.mark.parametrize(("line", "message"), WRONG_LINES.values(), ids=WRONG_LINES)
def test_wrong_lines(line: str, message: str, align: Align, sets: Path) -> None:
    outcome = align(line)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


BAD_DATA = {
    "no such vectors": ("X.npy R.npy test.tsv", "LEFT: X.npy: No such file"),
    "text for vectors": (
        "test.tsv R.npy test.tsv",
        "LEFT: test.tsv: expected a .npy file, the header",
    ),
    "one vector": ("flat.npy R.npy test.tsv", "LEFT: expected a vector for each entity, got shape"),
    "unlike vectors": ("L.npy wide.npy test.tsv", "RIGHT: expected"),
    "no such pairs": ("L.npy R.npy x.tsv", "PAIRS: x.tsv: No such file"),
    "no such known": (f"{VECTORS} --known old=x", "--known old: x: No such file"),
    "no such scores": ("--scores X.npy test.tsv", "--scores: "),
    "names without labels": (
        "L.npy R.npy test_named.gz",
        "PAIRS: expected ids of left from 0 to 7, got 'ü 4'",
    ),
    "an unknown name": (
        "L.npy R.npy test.tsv --left-labels left.txt",
        "or ids from 0 to 7, got '4' in column 0 of row 0",
    ),
    "an id too far": (
        "R.npy L.npy test.tsv --train far.tsv",
        "--train: expected ids of left from 0 to 9, got 10",
    ),
    "columns": ("L.npy R.npy wide.tsv", "PAIRS: wide.tsv: line 1: expected 2 columns"),
    "few labels": (
        "L.npy R.npy test_named.gz --left-labels left.txt --right-labels few.txt",
        "PAIRS: expected labels of right",
    ),
    "many labels": (
        "L.npy R.npy test_named.gz --left-labels left.txt --right-labels many.txt",
        "--left-labels, --right-labels: there are 8 left and 12 right entities, but the files of "
        "the model have 8 and 10",
    ),
    "unaligned to nothing": (
        f"{VECTORS} --candidates unaligned",
        '--candidates: "unaligned" leaves out what known pairs align, but there are no known '
        "splits; give --train or --known",
    ),
    "candidates without the test": (
        f"{VECTORS} --candidates one.npy,one.npy",
        "--candidates, the first: 4 of 4 left entities of the test are missing",
    ),
    "no folder": ("L.npy R.npy --data nowhere", "--data: no folder nowhere"),
    "another layout": ("L.npy R.npy --data oea --layout dbp15k", "ent_ids_1"),
    "no fold": ("o1.npy o2.npy --data oea --fold 7", "train_links: No such file"),
    "other entities": (
        "L.npy R.npy --data oea",
        "--data: there are 4 left and 5 right entities, but the files of the model have 8 and 10",
    ),
    "no split": (
        "o1.npy o2.npy --data oea --fold 2 --split valid",
        "--split: expected one of train, test, got 'valid'",
    ),
    "damage": ("d1.npy d2.npy --data bad", "--data: bad"),
    "csls of distances": (
        "--scores S.npy test.tsv --order ascending --csls 2",
        "--order: expected",
    ),
    "nan": ("nan.npy R.npy test.tsv", "NaN"),
    "saved over what is read": (f"{VECTORS} --save L.npy", "--save: L.npy is one of the files"),
    "saved into the data": (
        "d1.npy d2.npy --data dbp --save dbp/ranks.npz",
        "--save: dbp/ranks.npz is one of the files",
    ),
}


@pytest.mark.parametrize(("line", "message"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data(line: str, message: str, align: Align, sets: Path) -> None:
    np.save("flat.npy", np.zeros(LEFT))
    np.save("wide.npy", np.ones((RIGHT, 5), np.float32))
    np.save("one.npy", np.array([0]))
    np.save("nan.npy", np.full((LEFT, 4), np.nan, np.float32))
    Path("far.tsv").write_text("10\t0\n")
    Path("wide.tsv").write_text("1\t2\t3\n")
    Path("few.txt").write_text("a\nb\n")
    Path("many.txt").write_text("\n".join([*world().names[1], "a", "b"]), encoding="utf-8")
    fill_folder(sets / "bad", {**DBP15K, "triples_1": "7\t30\n"})
    outcome = align(line)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not Path("dbp/ranks.npz").exists()


def test_help(run: Run) -> None:
    assert "alignment" in run("--help").out
    text = " ".join(run("alignment", "--help").out.split())
    for word in ("[LEFT RIGHT] [PAIRS]", "--csls", "--candidates", "--fold", "--layout"):
        assert word in text
