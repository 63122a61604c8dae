"""`truerank alignment`: pairs and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.alignment_folders import DBP15K, OPENEA, fill_folder
from support.cli_files import Outcome, Run
from truerank.alignment import Task, read_dbp15k, read_openea
from truerank.naming import format_count

PAIRS = {
    "train": [(0, 0), (1, 1), (2, 3), (2, 2)],
    "valid": [(3, 4)],
    "test": [(4, 5), (5, 6), (6, 7), (5, 3), (2, 5)],  # 2 and 5 have several counterparts
}
RNG = np.random.default_rng(6)
VECTORS = {side: RNG.integers(-2, 3, (n, 4)).astype("f4") for side, n in (("L", 8), ("R", 10))}
MATRIX = VECTORS["L"] @ VECTORS["R"].T
NAMES = {"left": [f"\u00fc {i}" for i in range(8)], "right": [f"r {9 - i}" for i in range(10)]}


@pytest.fixture(autouse=True)
def world() -> None:
    """Write all files of the world to the current folder of the commands."""
    for name, rows in PAIRS.items():
        Path(f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
        pairs = [f"{NAMES['right'][b]}\t{NAMES['left'][a]}\n" for a, b in rows]
        Path(f"{name}_named").write_text("right\tleft\n" + "".join(pairs), encoding="utf-8")
    for name, words in NAMES.items():
        Path(f"{name}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    for name, vectors in VECTORS.items():
        np.save(name, vectors)
    np.save("test", np.array(PAIRS["test"]))
    np.save("S", MATRIX)
    np.save("l", [2, 4, 5, 6, 7])
    np.save("r", np.arange(3, 10))


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
DEV = {**BOTH, "split": "dev"}
DOT = {"similarity": "dot"}
TRAIN = {"known": {"train": PAIRS["train"]}}
NAMED = "--known train=train_named --header --labels left=left.txt --labels right=right.txt"
FREE = {"candidates": {"left_to_right": range(3, 10), "right_to_left": [2, 4, 5, 6, 7]}}
WORST = {**DOT, "nan": "worst", "audit": True}

# -- what is ranked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "facts", "options"),
    [
        (f"L.npy R.npy test.npy --csls 2 {KNOWN} --split dev", DEV, {"csls": 2}),
        (f"L.npy R.npy test_named --similarity dot {NAMED}", TRAIN, DOT),
        (f"{MODEL} {KNOWN} --candidates test", {**BOTH, "candidates": "test"}, DOT),
        (f"{MODEL} --candidates l.npy,r.npy --columns left=0,right=1 --no-header", FREE, DOT),
        (f"{MODEL} --threads 1 --nan worst --audit", {}, WORST),
        (f"--scores S.npy test.tsv {KNOWN} --order ascending", BOTH, {"order": "ascending"}),
        ("--scores S.npy --test test.tsv --io read", {}, {"io": "read"}),
    ],
)
def test_options_are_keywords_of_the_task(
    line: str, facts: dict[str, Any], options: dict[str, Any], align: Align
) -> None:
    task = Task(PAIRS["test"], left=8, right=10, **facts)
    if "--scores" in line:
        expected = task.evaluate_scores(MATRIX, **options).ranks
    else:
        expected = task.evaluate_embeddings(*VECTORS.values(), **options).ranks
    outcome = align(line, "--save", "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Ranked: 5 of 5 pairs, test" in outcome.out
    ranks = tr.load("ranks.npz")
    files = {word for word in line.replace(",", " ").replace("=", " ").split() if "." in word}
    assert set(ranks.protocol.files) - {"train_named", "test_named"} == files
    if "named" in line:
        assert ranks.queries.values.tolist()[0] == NAMES["left"][4]
        ranks = ranks.with_labels(queries=expected.queries, targets=expected.targets)
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())


# -- data sets -------------------------------------------------------------------------------------


OWN = {"id": "9\t5\n", "ids": "7\t8\n3\t11\n", "second": "Graz\tGraz\n", "last": "Linz\tLinz\n"}


@pytest.fixture
def sets() -> None:
    """Write small data sets, their vectors, and other splits of their pairs."""
    fill_folder(Path("dbp"), DBP15K)
    fill_folder(Path("dbp_split"), {**DBP15K, "sup_ent_ids": "3\t11\n"})
    fill_folder(Path("oea"), OPENEA)
    rng = np.random.default_rng(0)
    for name, rows in {"d1": 3, "d2": 4, "o1": 4, "o2": 5}.items():
        np.save(f"{name}.npy", rng.standard_normal((rows, 4)))
    for name, text in OWN.items():
        Path(f"{name}.tsv").write_text(text)
    np.save("ids.npy", [[0, 0], [2, 3]])


REST = "that no known split has"


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("line", "pairs", "told"),
    [
        ("dbp", [[1, 1], [0, 0]], "all of dbp; known: none"),
        ("dbp_split --split train", [[2, 3]], "split train of dbp_split; known: test 2"),
        # by the ids of the data set, as its own files have them; by rows; by name
        ("dbp --known train=id.tsv --test ids.tsv", [[0, 0], [2, 3]], "ids.tsv; known: train 1"),
        ("dbp --test ids.npy", [[0, 0], [2, 3]], "ids.npy; known: none"),
        ("dbp --test last.tsv", [[2, 3]], "last.tsv; known: none"),
        # the rest is ranked
        (
            "oea --known train=second.tsv --known valid=last.tsv",
            [[3, 4], [2, 3]],
            f"those of oea {REST}; known: train 1, valid 1",
        ),
        ("oea", [[3, 4], [0, 1], [2, 3], [1, 2]], "all of oea; known: none"),
        ("oea --fold 1", [[2, 3], [3, 4]], "split test of fold 1 of oea; known: train 1, valid 1"),
        ("oea --fold 2", [[0, 1], [1, 2]], "split test of fold 2 of oea; known: train 1"),
    ],
)
def test_data_sets(line: str, pairs: Any, told: str, align: Align) -> None:
    folder = line.partition(" ")[0]
    letter = folder[0]
    code, out, err = align(f"{letter}1.npy {letter}2.npy --data {line} --save ranks.npz")
    assert (code, err) == (0, "")
    number = format_count(len(pairs), "pair")
    assert out.endswith(f"\nRanked: {len(pairs)} of {number}, {told}.\n")
    ranks = tr.load("ranks.npz")
    known = re.findall("[a-z]+", told.partition("known: ")[2].replace("none", ""))
    assert ranks.protocol.filter == (*known, ranks.protocol.split)
    assert len(ranks) == 2 * len(pairs)
    read = read_openea if folder == "oea" else read_dbp15k
    data = read(folder)
    assert ranks.queries.values[: len(pairs)].tolist() == [data.left[x] for x, _ in pairs]
    assert ranks.targets.values[: len(pairs)].tolist() == [data.right[y] for _, y in pairs]
