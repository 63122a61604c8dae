"""`truerank alignment`: pairs and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Outcome, Run
from truerank.alignment import Task

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
    known = ", ".join(f"{name} {len(PAIRS[name])}" for name in facts.get("known", {})) or "none"
    source = next(word for word in line.split() if word.startswith("test"))
    assert f"{source}: 5 pairs, 5 ranked; known: {known}.\n" in outcome.out
    ranks = tr.load("ranks.npz")
    files = {word for word in line.replace(",", " ").replace("=", " ").split() if "." in word}
    assert set(ranks.protocol.files) - {"train_named", "test_named"} == files
    if "named" in line:
        assert ranks.queries.values.tolist()[0] == NAMES["left"][4]
        ranks = ranks.with_labels(queries=expected.queries, targets=expected.targets)
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())
