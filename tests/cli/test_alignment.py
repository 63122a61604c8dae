"""`truerank alignment`: pairs and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.alignment_folders import DBP15K, OPENEA, fill_folder
from support.cli_files import Outcome, Run
from truerank.alignment import Task

LEFT = 8
RIGHT = 10
PAIRS = {
    "train": [(0, 0), (1, 1), (2, 3), (2, 2)],
    "valid": [(3, 4)],
    "test": [(4, 5), (5, 6), (6, 7), (5, 3), (2, 5)],  # 2 and 5 have several counterparts
}


RNG = np.random.default_rng(6)
VECTORS = {side: RNG.integers(-2, 3, (n, 4)).astype("f4") for side, n in (("L", 8), ("R", 10))}
MATRIX = VECTORS["L"] @ VECTORS["R"].T
NAMES = [f"ü {i}" for i in range(LEFT)], [f"ö {i}" for i in range(RIGHT)[::-1]]


@pytest.fixture(autouse=True)
def world() -> None:
    """Write all files of the world to the current folder of the commands."""
    for name, rows in PAIRS.items():
        Path(f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
        text = "".join(f"{NAMES[0][a]}\t{NAMES[1][b]}\n" for a, b in rows)
        Path(f"{name}_named.gz").write_bytes(gzip.compress(text.encode()))
    for name, words in zip(("left", "right"), NAMES, strict=True):
        Path(f"{name}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    for name, vectors in VECTORS.items():
        np.save(name, vectors)
        np.save(f"{name}16", vectors.astype(ml_dtypes.bfloat16).view("V2"))
    np.save("test", np.array(PAIRS["test"]))
    np.save("S", MATRIX)
    np.save("l", [2, 4, 5, 6, 7])
    np.save("zero", np.float32(0))


Align = Callable[..., Outcome]


@pytest.fixture
def align(run: Run) -> Align:
    """Run the command with the words of a line, and further words."""

    def align(line: str, *more: str) -> Outcome:
        return run("alignment", *line.split(), *more)

    return align


MODEL = "L.npy R.npy test.tsv --similarity dot"
KNOWN = "--known train=train.tsv --known valid=valid.tsv"
BOTH = {"known": {name: PAIRS[name] for name in ("train", "valid")}}
DOT = {"similarity": "dot"}
NAMED = "--labels left=left.txt --labels right=right.txt"
BY_SIDE = {"left_to_right": range(3, 10), "right_to_left": [2, 4, 5, 6, 7]}
FREE = {"candidates": BY_SIDE}

# -- what is ranked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "facts", "options"),
    [
        (f"{MODEL} --known older=train.tsv", {"known": {"older": PAIRS["train"]}}, DOT),
        (f"L.npy R.npy test.npy --similarity inverse_l2 {KNOWN} --split dev", BOTH, {}),
        (
            f"L.npy R.npy test_named.gz --similarity dot --known train=train_named.gz {NAMED}",
            {},
            DOT,
        ),
        (f"{MODEL} {KNOWN} --candidates test", {**BOTH, "candidates": "test"}, DOT),
        (f"{MODEL} --candidates l.npy,r.npy", FREE, DOT),
        (f"{MODEL} --threads 1 --nan worst --audit", {}, {**DOT, "nan": "worst", "audit": True}),
        ("L16.npy R16.npy test.tsv --dtype bfloat16 --csls 2", {}, {"csls": 2}),
        (f"--scores S.npy test.tsv {KNOWN} --order ascending", BOTH, {"order": "ascending"}),
        ("--scores S.npy test.tsv --io read", {}, {"io": "read"}),
    ],
)
def test_options_are_keywords_of_the_task(
    line: str, facts: dict[str, Any], options: dict[str, Any], align: Align
) -> None:
    np.save("r", np.arange(3, 10))
    if "inverse" in line:
        facts = {**facts, "split": "dev"}
        options = {"similarity": "inverse_l2"}
    if "named" in line:
        facts = {"known": {"train": PAIRS["train"]}}
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT, **facts)
    if "--scores" in line:
        expected = task.evaluate_scores(MATRIX, **options).ranks
    else:
        vectors = [x.astype(ml_dtypes.bfloat16) if "16" in line else x for x in VECTORS.values()]
        expected = task.evaluate_embeddings(*vectors, **options).ranks
    outcome = align(line, "--save", "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load("ranks.npz")
    files = {word for word in line.replace(",", " ").replace("=", " ").split() if "." in word}
    assert set(ranks.protocol.files) == files
    if "named" in line:
        assert ranks.queries is not None
        assert ranks.queries.values.tolist()[0] == NAMES[0][4]
        ranks = ranks.with_labels(queries=expected.queries, targets=expected.targets)
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("", "--columns left=1,right=0"),
        ("right\tleft\n", "--header"),
        ("x\ty\n", "--columns left=y,right=x --header"),
    ],
)
def test_columns_and_headers(header: str, line: str, align: Align) -> None:
    pairs = "".join(f"{right}\t{left}\n" for left, right in PAIRS["test"])
    Path("swapped.tsv").write_text(header + pairs)
    model = MODEL.replace("test.tsv", "swapped.tsv")
    assert align(f"{model} {line} --save ranks.npz").code == 0
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT)
    expected = task.evaluate_embeddings(*VECTORS.values(), **DOT).ranks
    assert tr.load("ranks.npz").with_protocol(files=()) == expected.with_protocol(files=())


# -- data sets -------------------------------------------------------------------------------------


DBP_NAMES = [["Wien", "Graz", "Linz"], ["Vienna", "Graz", "Salzburg", "Linz"]]
OEA_NAMES = [
    ["Graz", "Linz", "Steiermark", "Wien"],
    ["Austria", "Graz", "Linz", "Styria", "Vienna"],
]


@pytest.fixture
def sets() -> None:
    """Write small data sets and their vectors."""
    fill_folder(Path("dbp"), DBP15K)
    fill_folder(Path("dbp_split"), {**DBP15K, "sup_ent_ids": "3\t11\n"})
    fill_folder(Path("oea"), OPENEA)
    rng = np.random.default_rng(0)
    for name, shape in {"d1": (3, 4), "d2": (4, 4), "o1": (4, 4), "o2": (5, 4)}.items():
        np.save(f"{name}.npy", rng.standard_normal(shape))


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("line", "tasks", "filtered"),
    [
        ("d1.npy d2.npy --data dbp", 4, ("test",)),
        ("d1.npy d2.npy --data dbp_split --split train", 2, ("test", "train")),
        ("o1.npy o2.npy --data oea --fold 1 --split valid", 2, ("train", "test", "valid")),
        ("o1.npy o2.npy --data oea --fold 2", 4, ("train", "test")),
    ],
)
def test_data_sets(line: str, tasks: int, filtered: tuple[str, ...], align: Align) -> None:
    outcome = align(f"{line} --save ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load("ranks.npz")
    assert len(ranks) == tasks
    assert ranks.protocol.filter == filtered


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("line", "text", "tasks", "told"),
    [
        # by the ids of the data set, as its own files have them
        (
            "d1.npy d2.npy --data dbp --known train=own.tsv --test mine.tsv",
            {"own.tsv": "9\t5\n", "mine.tsv": "7\t8\n3\t11\n"},
            [[0, 0], [2, 3]],
            "Ranked: 2 of 2 pairs, mine.tsv; known: train 1.",
        ),
        # by name
        (
            "d1.npy d2.npy --data dbp --test mine.tsv",
            {"mine.tsv": "Linz\tLinz\n"},
            [[2, 3]],
            "Ranked: 1 of 1 pair, mine.tsv; known: none.",
        ),
        # the rest is ranked
        (
            "d1.npy d2.npy --data dbp --known train=own.tsv",
            {"own.tsv": "9\t5\n"},
            [[0, 0]],
            "Ranked: 1 of 1 pair, those of dbp that no known split has; known: train 1.",
        ),
        (
            "o1.npy o2.npy --data oea --known train=own.tsv --known valid=valid.tsv",
            {"own.tsv": "Graz\tGraz\n", "valid.tsv": "Linz\tLinz\n"},
            [[3, 4], [2, 3]],
            "Ranked: 2 of 2 pairs, those of oea that no known split has; known: train 1, valid 1.",
        ),
        (
            "o1.npy o2.npy --data oea --fold 1",
            {},
            [[2, 3], [3, 4]],
            "Ranked: 2 of 2 pairs, split test of fold 1 of oea; known: train 1, valid 1.",
        ),
        (
            "o1.npy o2.npy --data oea",
            {},
            [[3, 4], [0, 1], [2, 3], [1, 2]],
            "Ranked: 4 of 4 pairs, all of oea; known: none.",
        ),
        (
            "--scores S.npy --test test.tsv --known train=train.tsv",
            {},
            PAIRS["test"],
            "Ranked: 5 of 5 pairs, test.tsv; known: train 4.",
        ),
    ],
)
def test_own_splits_and_what_is_ranked(
    line: str, text: dict[str, str], tasks: Any, told: str, align: Align
) -> None:
    for name, content in text.items():
        Path(name).write_text(content)
    code, out, err = align(line, "--save", "ranks.npz")
    assert (code, err) == (0, "")
    assert out.endswith(f"\n{told}\n")
    ranks = tr.load("ranks.npz")
    half = ranks[: len(tasks)]
    found = {"left": half.queries, "right": half.targets}
    data = {"dbp": DBP_NAMES, "oea": OEA_NAMES}
    named = next((names for folder, names in data.items() if f"--data {folder}" in line), None)
    rows = []
    for i in range(len(tasks)):
        pair: list[Any] = []
        for k, labels in enumerate(found.values()):
            assert labels is not None
            value = labels.values.tolist()[i]
            if named is not None:
                value = named[k].index(value)
            pair.append(value)
        rows.append(pair)
    assert rows == [list(pair) for pair in tasks]
    known = line.count("--known")
    if "--fold" not in line:
        assert len(ranks.protocol.filter) == known + 1
    np.save("mine.npy", tasks)
    if "mine.tsv" in line:  # a file of rows is the same
        again = align(line.replace("mine.tsv", "mine.npy"), "--save", "again.npz")
        assert again.code == 0
        assert tr.load("again.npz") == ranks


# -- what is printed -------------------------------------------------------------------------------


def test_findings(align: Align) -> None:
    Path("again.tsv").write_text("4\t5\n4\t5\n0\t0\n")
    line = "L.npy R.npy again.tsv --known train=train.tsv"
    out = align(f"{line} --audit").out
    assert "duplicates: 1 (4 5), kept" in out
    assert "leaks: in train 1 (0 0), kept" in out
    content = json.loads(align(f"{line} --audit --json").out)
    leaks = {"name": "leaks", "count": 1, "message": "in train 1 (0 0), kept"}
    assert content["split_audit"][2] == leaks
    assert align(line).err.count("Warning: ") == 2
    assert align(f"{line} --leaks drop --duplicates drop --save ranks.npz").err == ""
    assert len(tr.load("ranks.npz")) == 2
    assert align(f"{line} --leaks raise --duplicates drop").code == 1


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "expected LEFT RIGHT PAIRS, got none"),
        (f"{MODEL} --scores S.npy", 2, "expected PAIRS, got L.npy R.npy test.tsv"),
        (
            "test.tsv --data dbp --scores S.npy",
            2,
            "expected no files beside --scores and --data or --test",
        ),
        (
            "o1.npy o2.npy --data oea --fold 1 --known train=train.tsv",
            2,
            "--fold cannot stand beside",
        ),
        (
            "o1.npy o2.npy --data oea --known train=train.tsv",
            1,
            "--known train: train.tsv: expected",
        ),
        (f"{MODEL} --test test.tsv", 2, "expected LEFT RIGHT, got L.npy R.npy test.tsv"),
        ("o1.npy o2.npy --data oea --labels left=left.txt", 2, "--labels cannot apply"),
        (f"{MODEL} --fold 1", 2, "--fold cannot apply to vectors"),
        ("o1.npy o2.npy --data oea --no-header", 2, "--header cannot apply to a data set"),
        ("o1.npy o2.npy --data oea --columns left=0,right=1", 2, "--columns cannot apply"),
        ("--scores S.npy test.tsv --similarity l1", 2, "--similarity cannot apply to scores"),
        ("d1.npy d2.npy --data dbp --fold 1", 2, "--fold cannot apply to the layout of DBP15k"),
        ("zero.npy R.npy test.tsv", 1, "LEFT: expected a vector in each row, got a number alone"),
        ("test.tsv R.npy test.tsv", 1, "LEFT: test.tsv: expected a .npy file, the header"),
        ("L.npy R.npy --data nowhere", 1, "nowhere"),
        ("o1.npy o2.npy --data oea --fold 2 --split valid", 1, "--split: expected one of"),
        ("d1.npy d2.npy --data dbp --save dbp/ranks.npz", 1, "is one of the other files"),
    ],
)
def test_wrong_lines(line: str, code: int, message: str, align: Align) -> None:
    align(line).refuses(code, message)
    assert not Path("dbp/ranks.npz").exists()
