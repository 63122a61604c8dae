"""Bad input raises the right exception, with a message that names the argument."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal, refused
from truerank import _core
from truerank.errors import (
    InputValueError,
    InputWarning,
    Option,
    argument_names,
    message_text,
)

SCORES = np.arange(20, dtype=np.float32).reshape(4, 5)
UNLIKE: Any = [[1, 2], [3, 4], [5]]
STRUCTURE = np.zeros((4, 5), [("a", "f4"), ("b", "f4")])
BEYOND = (2**64, 2**70, -(2**70))
# Values that an argument of `rank` does not take, by the kind of the error and the argument.
REFUSED: dict[tuple[Any, str], list[Any]] = {
    (TypeError, "scores"): [*(SCORES.astype(x) for x in "SU?FOMm"), SCORES.view("V4"), STRUCTURE],
    (TypeError, "dtype"): ["object", "bool", "complex64"],
    (TypeError, "targets"): [[0.0, 1], [True, False], list("0123"), 0.0, np.True_, "0", None, 1j],
    (TypeError, "rows"): [np.zeros(4), np.zeros(4, bool), "0123"],
    (TypeError, "checkpoint"): [True],
    (TypeError, "io"): [SCORES],
    (ValueError, "scores"): [UNLIKE, np.zeros(()), np.zeros((2, 3, 4)), np.zeros((1, 1, 1, 1))],
    (ValueError, "targets"): [[0, 1, 2], [0] * 5, [], np.zeros((4, 1), int)],
    (ValueError, "rows"): [np.zeros((2, 2), int), ([0, 1], [2]), 1],
    (TypeError, "filter"): [[[x], [], [], []] for x in BEYOND],
    (TypeError, "candidates"): [[[0, x]] * 4 for x in BEYOND],
    (ValueError, "candidates"): [[0, x] for x in BEYOND],
    (ValueError, "io"): [""],
}
REFUSED[TypeError, "targets"] += BEYOND
REFUSED[TypeError, "rows"] += [[x] for x in BEYOND]
REFUSED[TypeError, "scores"] += [SCORES.astype(ml_dtypes.float8_e4m3fn), [["a", "b"]], [[None, 1]]]


@pytest.mark.parametrize(("kind", "argument"), REFUSED)
def test_values_that_an_argument_does_not_take(kind: Any, argument: str) -> None:
    options = {"scores": SCORES, "targets": 0, "progress": print}
    for value in REFUSED[kind, argument]:
        refused(kind, argument, tr.rank, **options | {argument: value})


def test_words_that_help() -> None:
    bfloat16 = {"dtype": "bfloat16"}
    for words, call, arguments, options in (
        ("^scores: .*dtype= says which", tr.rank, (np.zeros((4, 5), "V2"), 0), {}),
        ("named, float16, got dtype float32", tr.rank, (SCORES, 0), {"dtype": "float16"}),
        ("named, bfloat16, got dtype int32", tr.rank, (SCORES.astype("i4"), 0), bfloat16),
        ("targets: .*4.*3", tr.rank, (SCORES, [0, 1, 2]), {}),
        ("scores: expected a matrix.*unlike lengths$", tr.rank, (UNLIKE, [0]), {}),
        ("candidates: .*unlike lengths$", tr.chance, ("mr", UNLIKE), {}),
    ):
        refusal((TypeError, ValueError), words, call, *arguments, **options)


def test_an_error_inside_the_object_is_not_hidden() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise OSError("the disk is gone")

    with pytest.raises((OSError, TypeError)) as error:
        tr.rank(Broken(), 0)
    assert isinstance(error.value, OSError) or isinstance(error.value.__cause__, OSError)


@pytest.mark.parametrize("threads", [1000, np.uint8(3), 2**40, 2**70])
def test_threads_beyond_the_machine(threads: Any) -> None:
    assert tr.rank(SCORES, 0, threads=threads).above.tolist() == [4] * 4


@pytest.mark.python_only
@pytest.mark.parametrize("wrong", [-1, 9, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
def test_the_first_index_that_is_outside(wrong: int) -> None:
    for size in (0, 1, 15, 16, 17, 100):
        values = np.arange(size) % 9
        assert _core.first_outside(values, 9) == -1
        for place in reversed(range(size)):
            values[place:] = wrong
            assert _core.first_outside(values, 9) == place


def test_warnings_stand_at_the_line_of_the_caller_and_escape_control_characters() -> None:
    with pytest.warns(UserWarning, match="red") as caught:
        tr.link_prediction.Task([("red \x1b[31m", "r", "b")] * 2)
    (warning,) = caught
    assert "red \\x1b[31m" in str(warning.message)
    assert warning.filename == __file__


def test_an_argument_that_is_renamed_has_its_new_name_everywhere() -> None:
    with pytest.raises(InputValueError) as caught, argument_names(scores="tail"):
        raise InputValueError("scores: block 3", expected="5 rows", got=3)
    error = caught.value
    assert error.argument == error.args[0] == "tail: block 3"
    for copy in (error, pickle.loads(pickle.dumps(error))):
        assert str(copy) == "tail: block 3: expected 5 rows, got 3"
        assert repr(copy) == "InputValueError('tail: block 3', '', '5 rows', '3', '', ())"


# -- ways out are options, which whoever shows a message writes ------------------------------------

RISE = [
    Option("order", "ascending", "says that lower scores are better"),
    Option("order", "descending", "that the best is last"),
]
MESSAGES = {
    "two ways of one option": (
        InputValueError("lists", "scores rise in 4 lists", remedies=RISE),
        "lists: scores rise in 4 lists; order='ascending' says that lower scores are better; "
        "order='descending' that the best is last",
        "--lists: scores rise in 4 lists; --order ascending says that lower scores are better; "
        "--order descending that the best is last",
    ),
    "what came is an option": (
        InputValueError("columns", expected="each once", got=Option("columns", {"query": "q"})),
        "columns: expected each once, got columns={'query': 'q'}",
        "--columns: expected each once, got --columns query=q",
    ),
    "a flag": (
        InputValueError("b", "unlike", remedies=[Option("allow_unlike", True, "compares them")]),
        "b: unlike; allow_unlike=True compares them",
        "b: unlike; --allow-unlike compares them",
    ),
    "an option of another function": (
        InputValueError(
            "scores",
            "two arrays",
            place="s.npz",
            remedies=[Option("member", "a", "is the one", call="open_scores(path, {})")],
        ),
        "scores: s.npz: two arrays; open_scores(path, member='a') is the one",
        "SCORES: s.npz: two arrays; --member a is the one",
    ),
    "what the command line has not": (
        InputValueError(
            "split", "is known", remedies=[Option("", effect="ranks a sample", call="task[[0]]")]
        ),
        "split: is known; task[[0]] ranks a sample",
        "--split: is known",
    ),
    "an element": (
        InputValueError("ranks", expected="integers from 1 on", got=0, place=3),
        "ranks: position 3: expected integers from 1 on, got 0",
        "RANKS: position 3: expected integers from 1 on, got 0",
    ),
    "a warning": (
        InputWarning("test", "12 leak", [Option("leaks", "drop", "leaves them out")]),
        "test: 12 leak; leaks='drop' leaves them out",
        "--test: 12 leak; --leaks drop leaves them out",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_ways_out_are_written_for_python_and_for_the_command_line(name: str) -> None:
    options = pytest.importorskip("truerank.cli.options", reason="the command line needs click")
    message, in_python, at_the_terminal = MESSAGES[name]
    words = ["lists", "columns", "order", "member", "split", "test", "leaks"]
    names = {word: f"--{word}" for word in words} | {"allow_unlike": "--allow-unlike"}
    names |= {"scores": "SCORES", "ranks": "RANKS"}
    for copy in (message, pickle.loads(pickle.dumps(message))):
        assert str(copy) == in_python
        assert copy.remedies == message.remedies
    written = message_text(
        message,
        partial(options.write_option, names),
        lambda argument: names.get(argument, argument),
    )
    assert written == at_the_terminal


def test_a_warning_has_its_ways_out_as_data() -> None:
    with pytest.warns(InputWarning, match="earlier one") as caught:
        tr.link_prediction.Task([("a", "r", "b")] * 2 + [("b", "r", "a")])
    (warning,) = caught
    message: Any = warning.message
    assert [(x.name, x.value) for x in message.remedies] == [("duplicates", None)]
    assert message.argument == "test"


def test_names_that_differ_in_unicode_form_alone_are_told_apart() -> None:
    """Others are written as they are, also where no composed character exists."""
    name, other = "Z\u00fcrich", "Zu\u0308rich"
    error = InputValueError("known", expected=repr(name), got=repr(other))
    assert str(error) == f"known: expected {name!r}, got 'Zu\\u0308rich'"
    assert str(InputWarning("ids", f"{name} \u212b q\u0302")) == "ids: Z\u00fcrich \\u212b q\u0302"
