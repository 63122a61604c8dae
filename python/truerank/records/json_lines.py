"""JSON in files, a value on each line or one in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..errors import InputValueError
from .elements import without_blanks
from .text import text_lines


def is_json(path: str) -> bool:
    """Return whether a file has JSON, by its name."""
    return path.lower().endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz"))


def json_lines(argument: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of a file that is not empty, and its JSON."""
    for number, line in text_lines(argument, path):
        yield number, parse_json(argument, f"{path}: line {number}", line)


def parse_json(argument: str, place: str, text: str, read: Any = None) -> Any:
    """Read JSON, its numbers by a function of their text; an error names the place."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_int=read, parse_float=read)
    except (ValueError, RecursionError) as error:
        raise InputValueError(argument, f"no JSON ({error})", place=place) from None


def _distinct(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object, or the pairs of one that has a name twice, which nobody takes."""
    value = dict(pairs)
    if _core.have_blank_ends(tuple(value)):  # Blanks at the ends belong to no label.
        value = {without_blanks(name): listed for name, listed in pairs}
    if len(value) < len(pairs):
        return pairs
    return value
