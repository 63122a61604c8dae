"""Refusals: a call is refused with an error of the kind that was meant, in words that help."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from truerank import InputTypeError, InputValueError
from truerank.errors import InputError
from truerank.metrics import UnknownKeyError

V = ValueError
T = TypeError
OWN = {ValueError: InputValueError, TypeError: InputTypeError, KeyError: UnknownKeyError}


def is_of_kind(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an error is of this kind, or our own of it: a UnicodeError is no ValueError here."""
    return type(error) in (kind, OWN.get(kind, kind))


def refusal(
    kind: Any, words: str, call: Callable[..., object], /, *arguments: Any, **keywords: Any
) -> str:
    """Return the message of a refusal.

    A ValueError and a TypeError must be exactly of that kind: an IndexError would be a bug.
    """
    with pytest.raises(kind, match=words) as error:
        call(*arguments, **keywords)
    assert kind not in (ValueError, TypeError) or is_of_kind(error.value, kind)
    message = str(error.value)
    del error  # Its frames hold it and what was opened.
    return message


def refused(
    kind: Any, argument: str, call: Callable[..., object], /, *arguments: Any, **keywords: Any
) -> None:
    """Check that a call is refused with our error of a kind, and which argument the error names."""
    with pytest.raises(OWN[kind]) as error:
        call(*arguments, **keywords)
    assert error.value.argument.partition(": ")[0] == argument


def refusal_message(call: Callable[..., object], /, *arguments: Any, **keywords: Any) -> str:
    """Return the message with which a call is refused."""
    with pytest.raises(InputError) as error:
        call(*arguments, **keywords)
    return str(error.value)


def proposed_columns(message: str) -> Any:
    """Return the `columns` that a message proposes first, as somebody who copies it would."""
    match = re.search(r"columns=(\{.*?\})", message)
    assert match is not None, message
    return eval(match[1])
