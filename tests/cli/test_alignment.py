"""`truerank alignment`: pairs and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import gzip
import re
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
from truerank.naming import format_count

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
INVERSE = {"similarity": "inverse_l2"}
TRAIN = {"known": {"train": PAIRS["train"]}}
NAMED = "--known train=train_named.gz --labels left=left.txt --labels right=right.txt"
BY_SIDE = {"left_to_right": range(3, 10), "right_to_left": [2, 4, 5, 6, 7]}
TURNED = "L.npy R.npy test_turned.tsv --similarity dot"
FREE = {"candidates": BY_SIDE}

# -- what is ranked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "facts", "options"),
    [
        (f"{MODEL} --known older=train.tsv", {"known": {"older": PAIRS["train"]}}, DOT),
        (f"L.npy R.npy test.npy --similarity inverse_l2 {KNOWN} --split dev", DEV, INVERSE),
        (f"L.npy R.npy test_named.gz --similarity dot {NAMED}", TRAIN, DOT),
        (f"{MODEL} {KNOWN} --candidates test", {**BOTH, "candidates": "test"}, DOT),
        (f"{MODEL} --candidates l.npy,r.npy", FREE, DOT),
        (f"{TURNED} --columns left=1,right=0 --no-header", {}, DOT),
        (f"{TURNED.replace('test', 'test_of_names')} --header", {}, DOT),
        (f"{MODEL} --threads 1 --nan worst --audit", {}, {**DOT, "nan": "worst", "audit": True}),
        ("L16.npy R16.npy test.tsv --dtype bfloat16 --csls 2", {}, {"csls": 2}),
        (f"--scores S.npy test.tsv {KNOWN} --order ascending", BOTH, {"order": "ascending"}),
        ("--scores S.npy --test test.tsv --io read", {}, {"io": "read"}),
    ],
)
def test_options_are_keywords_of_the_task(
    line: str, facts: dict[str, Any], options: dict[str, Any], align: Align
) -> None:
    np.save("r", np.arange(3, 10))
    turned = "".join(f"{right}\t{left}\n" for left, right in PAIRS["test"])
    Path("test_turned.tsv").write_text(turned)
    Path("test_of_names_turned.tsv").write_text(f"right\tleft\n{turned}")
    task = Task(PAIRS["test"], left=LEFT, right=RIGHT, **facts)
    if "--scores" in line:
        expected = task.evaluate_scores(MATRIX, **options).ranks
    else:
        vectors = [x.astype(ml_dtypes.bfloat16) if "16" in line else x for x in VECTORS.values()]
        expected = task.evaluate_embeddings(*vectors, **options).ranks
    outcome = align(line, "--save", "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Ranked: 5 of 5 pairs, test" in outcome.out
    ranks = tr.load("ranks.npz")
    files = {word for word in line.replace(",", " ").replace("=", " ").split() if "." in word}
    assert set(ranks.protocol.files) == files
    if "named" in line:
        assert ranks.queries is not None
        assert ranks.queries.values.tolist()[0] == NAMES[0][4]
        ranks = ranks.with_labels(queries=expected.queries, targets=expected.targets)
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())


# -- data sets -------------------------------------------------------------------------------------


NAMES_OF = {
    "dbp": [["Wien", "Graz", "Linz"], ["Vienna", "Graz", "Salzburg", "Linz"]],
    "oea": [
        ["Graz", "Linz", "Steiermark", "Wien"],
        ["Austria", "Graz", "Linz", "Styria", "Vienna"],
    ],
}


@pytest.fixture
def sets() -> None:
    """Write small data sets, their vectors, and other splits of their pairs."""
    fill_folder(Path("dbp"), DBP15K)
    fill_folder(Path("dbp_split"), {**DBP15K, "sup_ent_ids": "3\t11\n"})
    fill_folder(Path("oea"), OPENEA)
    rng = np.random.default_rng(0)
    for name, shape in {"d1": (3, 4), "d2": (4, 4), "o1": (4, 4), "o2": (5, 4)}.items():
        np.save(f"{name}.npy", rng.standard_normal(shape))
    texts = {
        "id": "9\t5\n",
        "ids": "7\t8\n3\t11\n",
        "second": "Graz\tGraz\n",
        "last": "Linz\tLinz\n",
    }
    for name, text in texts.items():
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
        ("dbp --known train=id.tsv --test ids.npy", [[0, 0], [2, 3]], "ids.npy; known: train 1"),
        ("dbp --test last.tsv", [[2, 3]], "last.tsv; known: none"),
        # the rest is ranked
        ("dbp --known train=id.tsv", [[0, 0]], f"those of dbp {REST}; known: train 1"),
        (
            "oea --known train=second.tsv --known valid=last.tsv",
            [[3, 4], [2, 3]],
            f"those of oea {REST}; known: train 1, valid 1",
        ),
        ("oea", [[3, 4], [0, 1], [2, 3], [1, 2]], "all of oea; known: none"),
        ("oea --fold 1", [[2, 3], [3, 4]], "split test of fold 1 of oea; known: train 1, valid 1"),
        (
            "oea --fold 1 --split valid",
            [[1, 2]],
            "split valid of fold 1 of oea; known: train 1, test 2",
        ),
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
    assert ranks.queries is not None
    assert ranks.targets is not None
    left, right = NAMES_OF[folder[:3]]
    names = zip(ranks.queries.values.tolist(), ranks.targets.values.tolist(), strict=True)
    rows = [[left.index(x), right.index(y)] for x, y in list(names)[: len(pairs)]]
    assert rows == pairs
