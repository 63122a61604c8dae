"""Messages on the command line have the option in front, and write options as it does."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from support.cli_files import Run
from truerank.errors import InputTypeError, InputValueError, UnknownKeyError

LINK = "link-prediction --test t.npy --sides tail --known train=k.npy"
SCORES = f"{LINK} --scores tail=s.npy"
VECTORS = f"{LINK} --queries tail=s.npy --entities v.npy"
LISTS = "retrieval --qrels q.txt --candidates 3 --lists r.txt"
QUERIES = "retrieval --qrels q.txt --candidates 3 --queries s.npy --entities v.npy"


@pytest.mark.parametrize(
    ("line", "function", "argument", "front"),
    [
        ("evaluate s.npy 0", "evaluate.open_store", "filter: indptr", "--filter: indptr: "),
        ("evaluate s.npy 0", "evaluate.open_store", "targets", "targets: "),
        ("evaluate s.npy 0", "evaluate.open_store", "--rows", "--rows: "),
        (f"{SCORES}", "link_prediction.Task", "test", "--test: "),
        (f"{SCORES}", "link_prediction.Task", "layout", "--complex-layout: "),
        (f"{SCORES}", "link_prediction.Task", "entities: 'a'", "--labels entities: 'a': "),
        (f"{SCORES}", "link_prediction.Task", 'known["train"]', "--known train: "),
        (f"{SCORES}", "link_prediction.Task", 'known["old"]', 'known["old"]: '),
        (f"{SCORES}", "link_prediction.counter", "tail", "--scores tail: "),
        (f"{VECTORS}", "link_prediction.counter", "tail", "--queries tail: "),
        (f"{VECTORS}", "link_prediction.counter", "entities", "--entities: "),
        ("alignment s.npy v.npy p.npy", "alignment.Task", "left", "--labels left: "),
        ("alignment s.npy v.npy p.npy", "alignment.counter", "left", "LEFT: "),
        (LISTS, "retrieval.Task", "ids", "--lists: "),
        (LISTS, "retrieval.Task", "entities", "--candidates: "),
        (QUERIES, "retrieval.Task", "queries", "--labels queries: "),
        (QUERIES, "retrieval.counter", "queries", "--queries: "),
        ("compare a.npz b.npz", "evaluate.check_printing", "ids", "ids: "),
        ("compare a.npz b.npz", "evaluate.check_printing", "allow_unlike", "--allow-unlike: "),
    ],
)
def test_the_option_of_an_argument(
    run: Run, line: str, function: str, argument: str, front: str
) -> None:
    """While a task is made, and while it is evaluated, arguments of one name are other options."""
    np.save("s.npy", np.zeros((1, 3)))
    np.save("v.npy", np.zeros((3, 3)))
    np.save("t.npy", [[0, 0, 1]])
    np.save("k.npy", [[0, 0, 2]])
    np.save("p.npy", [[0, 1]])
    Path("q.txt").write_text("0 0 1 1\n")
    Path("r.txt").write_text("0 Q0 1 1 0.5 t\n")
    problem = 'split=dev.txt: line 3: repeats="drop" leaves out what has axis=0'
    for kind in (InputValueError, InputTypeError):
        error = kind(argument, problem, place="train=old.txt")
        with mock.patch(f"truerank.cli.{function}", side_effect=error):
            outcome = run(*line.split())
        assert outcome == (1, "", f"Error: {front}train=old.txt: {problem}\n")


def test_an_order_and_a_split_are_said_as_options(run: Run) -> None:
    np.save("s.npy", np.tile(np.arange(10), (9, 1)))
    both = "--order ascending says that the lowest is the best, of points, as Borda's, --order desc"
    run("evaluate", "s.npy", "0").refuses(1, both)
    Path("q.txt").write_text("".join(f"{q} 0 1 1\n" for q in range(4)))
    rows = [f"{q} Q0 {d} {d} {d} t\n" for q in range(4) for d in (1, 2, 3)]
    Path("r.txt").write_text("".join(rows))
    both = (
        "--order ascending says that lower scores are better, as of distances, --order descending"
    )
    run(*LISTS.replace("3", "9").split()).refuses(1, both)
    np.save("t.npy", [[0, 0, 1]])
    line = SCORES.replace("train=k.npy", "test=t.npy")
    run(*line.split()).refuses(1, "as --split valid where the validation split is evaluated")


def test_a_key_is_no_argument(run: Run) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    error = UnknownKeyError("seed", "no metric; known are mr, mrr")
    with mock.patch("truerank.cli.evaluate.open_store", side_effect=error):
        assert run("evaluate", "s.npy", "0") == (1, "", f"Error: {error}\n")


def test_names_of_files_and_what_is_in_them_stay(run: Run) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    Path("split=dev.txt").write_text("x\tr\ty\n")
    Path("header=True.txt").write_text("x\tr\n")
    line = "link-prediction --known train=header=True.txt --test split=dev.txt --scores tail=s.npy"
    outcome = run(*line.split(), "--sides", "tail")
    assert outcome.err.startswith("Error: --known train: header=True.txt: ")
    Path("header=True.txt").write_text("keys=3\tr\ty\n")
    outcome = run(*line.split(), "--sides", "tail", "--candidates", "unique=True.npy")
    assert "unique=True.npy: No such file" in outcome.err
    Path("columns=3.txt").write_text("keys=3\nx\nsplit=dev\n")
    outcome = run(*line.split(), "--sides", "tail", "--labels", "entities=columns=3.txt")
    assert outcome.err.startswith("Error: --test: split=dev.txt: ")
    assert "'y'" in outcome.err


@pytest.mark.parametrize("digits", ["99999999999999999999", "9223372036854775808"])
def test_a_number_that_is_too_large_is_shown(run: Run, digits: str) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    run("evaluate", "s.npy", digits).refuses(2, f"expected a number below 2**63, got '{digits}'")
    assert run("evaluate", "s.npy", "0" * 30 + "2").out == run("evaluate", "s.npy", "2").out
