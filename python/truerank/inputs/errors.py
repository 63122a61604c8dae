"""The errors of bad input: which argument it is about, what was expected and what came.

A check raises one of them whole, under the name that its caller gave to the argument. A caller
whose own caller knows the argument by another name says so with `renamed`, which maps that field
alone: no message is edited after it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class InputError(Exception):
    """Bad input. What is raised is an `InputValueError` or an `InputTypeError`.

    Its text is ``argument: expected ..., got ...``, or ``argument: `` and a problem in words.

    Parameters
    ----------
    argument : str
        The name of the argument; of a part of it after a colon, as in ``"filter: indptr"``.
    problem : str
        What is wrong, where `expected` and `got` cannot say it.
    expected : str
        What would have been right.
    got : object, optional
        What came; its `str` is shown.

    Attributes
    ----------
    argument, problem, expected, got : str
        As given; `got` is empty where nothing is said of it.

    Examples
    --------
    >>> raise InputValueError("threads", expected="at least 1", got=0)
    Traceback (most recent call last):
    ...
    truerank.InputValueError: threads: expected at least 1, got 0
    """

    __module__ = "truerank"

    def __init__(
        self, argument: str, problem: str = "", *, expected: str = "", got: object = ""
    ) -> None:
        super().__init__(argument, problem, expected, str(got))
        self.argument = argument
        self.expected = expected
        self.got = str(got)
        self.problem = problem

    def __str__(self) -> str:
        if self.problem:
            return f"{self.argument}: {self.problem}"
        got = f", got {self.got}" if self.got else ""
        return f"{self.argument}: expected {self.expected}{got}"

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.argument, self.problem, self.expected, self.got)

    def of(self, argument: str) -> Self:
        """Give the same error about an argument of another name."""
        return type(self)(argument, self.problem, expected=self.expected, got=self.got)


class InputValueError(InputError, ValueError):
    """A value, a shape or a combination of arguments that cannot be."""

    __module__ = "truerank"


class InputTypeError(InputError, TypeError):
    """An argument of a type that is not taken."""

    __module__ = "truerank"


def _again(kind: type[InputError], argument: str, problem: str, expected: str, got: str) -> object:
    return kind(argument, problem, expected=expected, got=got)


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Let errors of input name the caller's arguments.

    Parameters
    ----------
    **names : str
        The caller's name for each argument that is called otherwise within the block.

    Examples
    --------
    >>> with renamed(scores="tail_scores"):
    ...     raise InputValueError("scores", expected="a matrix")
    Traceback (most recent call last):
    ...
    truerank.InputValueError: tail_scores: expected a matrix
    """
    try:
        yield
    except InputError as error:
        whole, colon, part = error.argument.partition(": ")
        if names.get(whole, whole) == whole:
            raise
        raise error.of(names[whole] + colon + part) from error
