"""Errors of bad input, and warnings: what is wrong, expected, and came, and the option for it.

They are data: the text is composed when it is shown, and no message is edited. A check names the
argument as its own function does; who calls it otherwise says so once, by `argument_names`.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .naming import printable, show_unicode_form

# A message shows at most so much of a value.
_LONGEST_INTEGER_BITS = 256
_LONGEST_TEXT = 2000


@dataclass(frozen=True)
class Option:
    """An option that a message is about, or what was given, which whoever shows it writes.

    `effect` says what the option decides. A value is named only beside all others that the input
    can mean, each with its meaning, and only if it removes, merges or reinterprets nothing: else
    the name stands alone. In Python the option stands in the place of {} in `call`: the function
    that has it, where this is another than was called. A value that only the user has is `...`:
    `call` then writes a form of it, and a terminal the option's own.

    Examples
    --------
    >>> print(Option("duplicates", effect="says what a repeat is"))
    duplicates=
    >>> print(Option("columns", {"left": 0, "right": 2}))
    columns={'left': 0, 'right': 2}
    >>> print(Option("member", "tails", "is the one", call="open_scores(path, {})"))
    open_scores(path, member='tails')
    >>> print(Option("entities", ..., "says how many there are", call="Task(..., entities=n)"))
    Task(..., entities=n)
    """

    name: str
    value: object = None
    effect: str = ""
    call: str = "{}"

    def __str__(self) -> str:
        value = "" if self.value is None else repr(self.value)
        return self.call.replace("{}", f"{self.name}={value}")


class InputError(Exception):
    """Bad input: an `InputValueError`, an `InputTypeError` or a `metrics.UnknownKeyError`.

    The text is ``argument: expected ..., got ...``, or the argument and a problem in words. If the
    fault is in a file, a block or another part, its name stands after the argument. Control
    characters of names and values are escaped in the text, and unchanged in the attributes.

    Parameters
    ----------
    argument : str
        The name of the argument. The name of a part follows a colon, as in ``"filter: indptr"``.
    problem : str
        What is wrong, where `expected` and `got` cannot say it.
    expected : str
        What would have been right.
    got : object, optional
        What came; the message shows its `str`, cut where it is very long.
    place : str or int, optional
        The file, line or other part of the argument that is wrong, or the position of an element.
    remedies : sequence of Option, optional
        Options that are about it. Each follows the sentence, with what it decides. The page "What
        came, and which option says what it is" has what their values mean.

    Attributes
    ----------
    argument, problem, expected, got, place, remedies
        As given; empty where nothing was given. A caller may rename the argument.

    Examples
    --------
    >>> raise InputValueError("threads", expected="an integer >= 1", got=0)
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: threads: expected an integer >= 1, got 0
    """

    def __init__(
        self,
        argument: str,
        problem: str = "",
        expected: str = "",
        got: object = "",
        place: str | int = "",
        remedies: Sequence[Option] = (),
    ) -> None:
        shown = got if isinstance(got, Option) else _shorten(got)
        super().__init__(argument, problem, expected, shown, place, tuple(remedies))
        self.problem = problem
        self.expected = expected
        self.got = shown
        self.place = place
        self.remedies = tuple(remedies)

    @property
    def argument(self) -> str:
        """The name of the argument; `repr` and `args` have it, too, after it was renamed."""
        return str(self.args[0])

    @argument.setter
    def argument(self, name: str) -> None:
        self.args = (name, *self.args[1:])

    def __str__(self) -> str:
        return message_text(self)


class InputValueError(InputError, ValueError):
    """A value, a shape or a combination of arguments that is not allowed."""


class InputTypeError(InputError, TypeError):
    """An argument of a type that is not allowed."""


class UnknownKeyError(InputError, KeyError):
    """A key or name that something does not have; `argument` is the key, as it is written.

    The message says why, and which keys are similar.
    """


class InputWarning(UserWarning):
    """What contradicts itself or is not used, with the argument that it is about, and options."""

    def __init__(self, argument: str, problem: str, remedies: Sequence[Option] = ()) -> None:
        super().__init__(argument, problem, tuple(remedies))
        self.argument = argument
        self.problem = problem
        self.remedies = tuple(remedies)

    def __str__(self) -> str:
        return message_text(self)


def message_text(
    message: InputError | InputWarning,
    write: Callable[[Option], str] = str,
    name_argument: Callable[[str], str] = str,
    name_place: Callable[[str], str] = str,
) -> str:
    """Compose the text of an error or a warning.

    `write` writes an option, and leaves it out with its effect if it writes nothing. The last two
    return what users call an argument, and a part of it, a file or another place.

    Examples
    --------
    >>> way = Option("duplicates", effect="says what a repeat is")
    >>> message_text(InputWarning("lists", "'d3' is twice in 41 of 80 lists", [way]))
    "lists: 'd3' is twice in 41 of 80 lists; duplicates= says what a repeat is"
    """
    argument, *places = message.argument.split(": ")
    problem = message.problem
    if isinstance(message, InputError):
        place = message.place
        places += [f"position {place}"] if isinstance(place, int) else place.split(": ")
        if not problem:
            got = write(message.got) if isinstance(message.got, Option) else message.got
            problem = f"expected {message.expected}" + (f", got {got}" if got else "")
    names = filter(None, [name_argument(argument), *map(name_place, places)])
    ways_out = [(write(option), option.effect) for option in message.remedies]
    sentences = [": ".join([*names, problem])]
    sentences += [f"{option} {effect}" for option, effect in ways_out if option]
    return printable(show_unicode_form("; ".join(sentences)))


def _shorten(got: object) -> str:
    """Write what came; a very long text is cut."""
    # Python itself refuses to write integers of 4,301 digits.
    if isinstance(got, int) and got.bit_length() > _LONGEST_INTEGER_BITS:
        digits = math.ceil(got.bit_length() * math.log10(2))
        return f"an integer of about {digits:,} digits"
    text = str(got)
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT // 2]}... ({len(text):,} characters)"
    return text


class argument_names:
    """Give the argument of an error of the block the name by which the caller knows it.

    A function, which stands first, does so with the position of an element: it names its place. It
    reads as a function; a generator in its place would take longer, which small calls notice.

    Examples
    --------
    >>> with argument_names(scores="tail"):
    ...     raise InputValueError("scores", expected="5 rows", got=3)
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: tail: expected 5 rows, got 3
    """

    def __init__(self, where: Callable[[int], str] | None = None, /, **names: str) -> None:
        self._where = where
        self._names = names

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        # The argument of an UnknownKeyError is a key.
        if isinstance(error, InputError) and not isinstance(error, UnknownKeyError):
            name, colon, part = error.argument.partition(": ")
            error.argument = f"{self._names.get(name, name)}{colon}{part}"
            if self._where is not None and isinstance(error.place, int):
                error.place = self._where(error.place)


def warn_user(argument: str, problem: str, remedies: Sequence[Option] = ()) -> None:
    """Warn of something at the line that called the package, however deep within it this is.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("test", "the file begins with a header")
    >>> print(caught[0].message)
    test: the file begins with a header
    """
    within = __name__.partition(".")[0], "contextlib"  # which stands between, for a decorator
    level = 2
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in within:
        level += 1
        frame = frame.f_back
    warnings.warn(InputWarning(argument, problem, remedies), stacklevel=level)
