"""The kind of an error: a built-in one or truerank's own of that kind, but no subclass."""

from __future__ import annotations

from truerank import InputTypeError, InputValueError

OWN = {ValueError: InputValueError, TypeError: InputTypeError}


def is_of_kind(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an error is of exactly this kind: a UnicodeError is not a ValueError here."""
    return type(error) in (kind, OWN.get(kind, kind))
