"""Old names of arguments work, with a warning at the caller's line, but never beside the new."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from truerank.inputs.errors import InputTypeError
from truerank.inputs.old_names import renamed_arguments, warn_user


@renamed_arguments(tails="tail", heads="head")
def add(tail: int, *more: int, head: int = 0, order: str = "up") -> tuple[Any, ...]:
    """Return the arguments."""
    return tail, more, head, order


class Model:
    @renamed_arguments(tails="tail")
    def score(self, tail: int, head: int = 0) -> int:
        return tail - head


class Wrapped(Model):
    def score(self, tail: int, head: int = 0) -> int:
        return super().score(tail=tail + 1, head=head)


def test_old_names_work_with_a_warning_at_the_line_of_the_caller() -> None:
    text = r"^tails= is now tail=; the old name works through version 0\.2$"
    with pytest.warns(DeprecationWarning, match=text) as caught:
        found, line = add(tails=3, head=1), inspect.currentframe().f_lineno  # type: ignore[union-attr]
    assert found == add(3, head=1) == (3, (), 1, "up")
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, line)]
    with pytest.warns(DeprecationWarning, match="tails= is now tail=") as caught:
        assert Model().score(tails=3) == Model().score(3) == 3
    assert [warning.filename for warning in caught] == [__file__]


def test_each_old_name_has_its_own_warning() -> None:
    with pytest.warns(DeprecationWarning, match="is now") as caught:
        assert add(heads=1, tails=3) == (3, (), 1, "up")
    assert {str(warning.message)[:6] for warning in caught} == {"heads=", "tails="}


def test_new_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert add(3, 4, head=1) == (3, (4,), 1, "up")
        assert Wrapped().score(3) == Wrapped().score(tail=3) == 4


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [((), {"tail": 1, "tails": 1}), ((1,), {"tails": 1}), ((1, 2), {"tails": None, "head": 3})],
)
def test_both_names_are_refused(arguments: tuple[int, ...], keywords: dict[str, Any]) -> None:
    text = "^tail: it is given twice, as tail= and by its old name tails=$"
    with pytest.raises(InputTypeError, match=text):
        add(*arguments, **keywords)


def test_other_names_are_errors_of_python() -> None:
    with pytest.raises(TypeError, match=r"add\(\) got an unexpected keyword argument 'tial'"):
        add(3, tial=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'tails'"):
        Wrapped().score(tails=3)  # type: ignore[call-arg]


def test_signature_docstring_and_name_are_those_of_the_function() -> None:
    assert list(inspect.signature(add).parameters) == ["tail", "more", "head", "order"]
    assert (add.__doc__, add.__name__, add.__module__) == ("Return the arguments.", "add", __name__)
    assert add.__old_names__ == {"tails": "tail", "heads": "head"}  # type: ignore[attr-defined]


def test_warnings_escape_control_characters() -> None:
    with pytest.warns(UserWarning, match="red") as caught:
        warn_user("red \x1b[31m")
    assert [(str(w.message), w.filename) for w in caught] == [("red \\x1b[31m", __file__)]
