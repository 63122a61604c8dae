"""Every argument of every public function, asked wrongly: a right result, or a clear error."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors.asking import ask, expected_calls, faults_of
from doors.good_calls import good_calls
from doors.odd_values import ODD, ODD_ARGUMENTS, ODD_OF_TOOLKITS, Maker, in_other_forms
from truerank.errors import InputError

pytestmark = pytest.mark.python_only
NAMES = sorted(expected_calls())


def test_every_public_function_is_asked() -> None:
    assert sorted(good_calls()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_odd_values_are_taken_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert faults_of(good_calls()[name], ODD) == {}


@pytest.mark.parametrize("name", NAMES)
def test_odd_values_of_other_libraries_are_taken_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    assert faults_of(good_calls()[name], ODD_OF_TOOLKITS) == {}


# A page takes a hundred times as long.
@given(st.sampled_from([name for name in NAMES if name != "page.save"]), ODD_ARGUMENTS)
def test_several_odd_values_at_once(name: str, odd: list[tuple[int, Maker]]) -> None:
    ask(good_calls()[name], odd)


def plain(value: Any) -> Any:
    """Return what a result holds as lists, dicts and numbers, whose repr says all."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    members = getattr(value, "__dict__", None)
    if members is None or callable(value):
        return value
    return {name: plain(each) for name, each in members.items() if not name.startswith("_")}


def has_other_forms(value: Any) -> bool:
    """Whether a value is a list of numbers or of labels, or of equally long ones."""
    if not isinstance(value, list) or not value:
        return False
    try:
        array = np.array(value)
    except (TypeError, ValueError):  # They are no numbers, or not equally long.
        return False
    return array.dtype.kind in "ifU" and bool(array.tolist() == value)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_list_says_is_the_same_in_all_forms(name: str) -> None:
    """Or the form is refused."""
    call = good_calls()[name]
    lists = {name: value for name, value in call.arguments.items() if has_other_forms(value)}
    expected = ""
    if lists:
        expected = repr(plain(call.run()))
    for argument, value in lists.items():
        for form, same in in_other_forms(value):
            with warnings.catch_warnings(), contextlib.suppress(InputError):
                warnings.simplefilter("ignore", UserWarning)
                assert repr(plain(call.run(**{argument: same}))) == expected, (argument, form)
