"""`truerank alignment`: pairs and a model in files, compared with a plain count."""

from __future__ import annotations

import gzip
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
    assert set(ranks.protocol.files) == set(files)
    assert ranks.side is not None
    assert ranks.queries is not None
    assert ranks.side.values.tolist() == ["left_to_right"] * 5 + ["right_to_left"] * 5
    assert ranks.queries.values.tolist()[0] == world().names[0][4]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("L.npy R.npy test.tsv --similarity inverse_l2", {"similarity": "inverse_l2"}),
        ("L.npy R.npy test.tsv --csls 3", {"csls": 3}),
        ("--scores S.npy test.tsv --csls 2", {"csls": 2}),
        ("--scores S.npy test.tsv --order ascending", {"order": "ascending"}),
        ("L16.npy R16.npy test.tsv --dtype bfloat16", {}),
    ],
)
def test_options_are_keywords_of_the_task(
    line: str, options: dict[str, Any], align: Align, folder: Path
) -> None:
    for name in ("L", "R"):
        raw = np.load(f"{name}.npy").astype(ml_dtypes.bfloat16).view("V2")
        np.save(f"{name}16.npy", raw)
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT, known=PAIRS["train"])
    if "--scores" in line:
        report = task.evaluate_scores(world().scores, **options)
    else:
        report = task.evaluate_embeddings(world().left, world().right, **options)
    assert align(f"{line} --train train.tsv --save ranks.npz").code == 0
    ranks = tr.load("ranks.npz")
    assert np.array_equal(ranks.above, report.ranks.above)
    assert np.array_equal(ranks.tied, report.ranks.tied)


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
    outcome = align(f"{line} --save ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load("ranks.npz")
    assert len(ranks) == tasks
    assert ranks.protocol.filter == filtered


def test_entities_with_equal_names_are_labelled_by_ids(align: Align, sets: Path) -> None:
    fill_folder(sets / "same", {**DBP15K, "ent_ids_1": "7\tWien\n9\tWien\n3\tLinz\n"})
    assert align("d1.npy d2.npy --data same --save ranks.npz").code == 0
    ranks = tr.load("ranks.npz")
    assert ranks.queries is not None
    assert ranks.queries.values.tolist()[:2] == [1, 0]  # labelled by ids


# -- what is printed -------------------------------------------------------------------------------


def test_metrics_and_findings(align: Align, folder: Path) -> None:
    line = f"{VECTORS} {KNOWN} --metrics left_to_right.mr,right_to_left.optimistic.mr --format csv"
    counts = plain()
    realistic = np.mean([above + (tied + 1) / 2 for above, tied, _ in counts[:5]])
    optimistic = np.mean([above + 1 for above, _, _ in counts[5:]])
    assert align(line).out.splitlines()[1] == f"value,{float(realistic)!r},{float(optimistic)!r}"
    Path("again.tsv").write_text("4\t5\n4\t5\n0\t0\n")
    line = "L.npy R.npy again.tsv --train train.tsv"
    out = align(f"{line} --audit").out
    assert "duplicates: 1 (4 5), kept" in out
    assert "leaks: in train 1 (0 0), kept" in out
    assert align(line).err.count("Warning: ") == 2
    assert align(f"{line} --leaks drop --duplicates drop --save ranks.npz").err == ""
    assert len(tr.load("ranks.npz")) == 2
    assert align(f"{line} --leaks raise --duplicates drop").code == 1


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "expected LEFT RIGHT PAIRS, got none"),
        ("L.npy R.npy", 2, "expected LEFT RIGHT PAIRS, got L.npy R.npy"),
        (f"{VECTORS} --scores S.npy", 2, "expected PAIRS, got L.npy R.npy test.tsv"),
        (f"{VECTORS} --data dbp", 2, "expected LEFT RIGHT, got L.npy R.npy test.tsv"),
        ("test.tsv --data dbp --scores S.npy", 2, "expected no files beside --scores and --data"),
        ("L.npy R.npy --data oea --train train.tsv", 2, "--train cannot apply to a data set"),
        ("o1.npy o2.npy --data oea --left-labels left.txt", 2, "--left-labels cannot apply"),
        (f"{VECTORS} --fold 1", 2, "--fold cannot apply to vectors"),
        ("--scores S.npy test.tsv --similarity l1", 2, "--similarity cannot apply to scores"),
        ("d1.npy d2.npy --data dbp --fold 1", 2, "--fold cannot apply to the layout dbp15k"),
        (f"{VECTORS} --csls 0", 2, "'--csls': 0 is not in the range"),
        (f"{VECTORS} --split train --train train.tsv", 1, "train"),
        (f"{VECTORS} --candidates some", 1, "candidates: expected"),
        (f"{VECTORS} --candidates one.npy,one.npy", 1, "4 of 4 left entities of the test are"),
        (f"{VECTORS} --candidates unaligned", 1, '"unaligned" leaves out what known pairs align'),
        ("X.npy R.npy test.tsv", 1, "X.npy: No such file"),
        ("test.tsv R.npy test.tsv", 1, "LEFT: test.tsv: expected a .npy file, the header"),
        ("flat.npy R.npy test.tsv", 1, "right: expected"),
        ("L.npy wide.npy test.tsv", 1, "right: expected"),
        ("L.npy R.npy x.tsv", 1, "x.tsv: No such file"),
        ("L.npy R.npy test_named.gz", 1, "expected ids of left from 0 to 7, got 'ü 4'"),
        ("L.npy R.npy wide.tsv", 1, "wide.tsv: line 1: expected 2 columns"),
        ("L.npy R.npy --data oea", 1, "left: expected"),
        ("L.npy R.npy --data nowhere", 1, "nowhere"),
        ("L.npy R.npy --data oea --layout dbp15k", 1, "ent_ids_1"),
        ("o1.npy o2.npy --data oea --fold 7", 1, "train_links: No such file"),
        (
            "o1.npy o2.npy --data oea --fold 2 --split valid",
            1,
            "--split: expected one of",
        ),
        ("--scores S.npy test.tsv --order ascending --csls 2", 1, "order: expected"),
        ("nan.npy R.npy test.tsv", 1, "NaN"),
        (f"{VECTORS} --save L.npy", 1, "--save: L.npy is one of the other files"),
        ("d1.npy d2.npy --data dbp --save dbp/ranks.npz", 1, "is one of the other files"),
    ],
)
def test_wrong_lines(line: str, code: int, message: str, align: Align, sets: Path) -> None:
    np.save("flat.npy", np.zeros(LEFT))
    np.save("wide.npy", np.ones((RIGHT, 5), np.float32))
    np.save("one.npy", np.array([0]))
    np.save("nan.npy", np.full((LEFT, 4), np.nan, np.float32))
    Path("wide.tsv").write_text("1\t2\t3\n")
    outcome = align(line)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1)
    assert message in outcome.err
    assert not Path("dbp/ranks.npz").exists()
