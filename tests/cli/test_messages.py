"""Messages on the command line have the option in front, and are otherwise as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.cli_files import Run, command_of
from truerank.cli.commands import with_option
from truerank.errors import InputTypeError, InputValueError, UnknownKeyError


@pytest.mark.parametrize(
    ("name", "argument", "front"),
    [
        ("evaluate", "filter: indptr", "--filter: indptr: "),
        ("evaluate", "targets", "targets: "),
        ("evaluate", "--rows", "--rows: "),
        ("link-prediction", "test", "--test: "),
        ("link-prediction", "entities", "--entity-labels: "),
        ("link-prediction", 'known["train"]', "--train: "),
        ("link-prediction", 'known["old"]', 'known["old"]: '),
        ("retrieval", "ids", "--lists: "),
        ("retrieval", "entities", "--candidates: "),
        ("compare", "ids", "ids: "),
        ("compare", "allow_unlike", "--allow-unlike: "),
    ],
)
def test_the_option_of_an_argument(name: str, argument: str, front: str) -> None:
    written = 'split=dev.txt: line 3: repeats="drop" leaves out what has axis=0'
    for kind in (InputValueError, InputTypeError):
        error = kind(argument, written, place="train=old.txt")
        assert with_option(command_of(name), error) == f"{front}train=old.txt: {written}"


def test_a_key_is_no_argument() -> None:
    error = UnknownKeyError("seed", "no metric; known are mr, mrr")
    assert with_option(command_of("evaluate"), error) == str(error)


def test_names_of_files_and_what_is_in_them_stay(run: Run) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    Path("split=dev.txt").write_text("x\tr\ty\n")
    Path("header=True.txt").write_text("x\tr\n")
    line = "link-prediction --train header=True.txt --test split=dev.txt --scores-tail s.npy"
    outcome = run(*line.split(), "--sides", "tail")
    assert outcome.err.startswith("Error: --train: header=True.txt: ")
    Path("header=True.txt").write_text("keys=3\tr\ty\n")
    outcome = run(*line.split(), "--sides", "tail", "--candidates", "unique=True.npy")
    assert "unique=True.npy: No such file" in outcome.err
    Path("columns=3.txt").write_text("keys=3\nx\nsplit=dev\n")
    outcome = run(*line.split(), "--sides", "tail", "--entity-labels", "columns=3.txt")
    assert outcome.err.startswith("Error: --test: split=dev.txt: ")
    assert "'y'" in outcome.err


@pytest.mark.parametrize("digits", ["99999999999999999999", "9223372036854775808"])
def test_a_number_that_is_too_large_is_shown(run: Run, digits: str) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    run("evaluate", "s.npy", digits).refuses(1, f"expected a number below 2**63, got {digits}")
    assert run("evaluate", "s.npy", "0" * 30 + "2").out == run("evaluate", "s.npy", "2").out
