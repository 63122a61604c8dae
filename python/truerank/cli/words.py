"""Messages of Python in the words of a command: `repeats="drop"` is `--repeats drop` there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

# An argument as a message writes it, with a value or without one; what comes before it is neither
# an attribute nor a tag of HTML.
_ARGUMENT = re.compile(
    r"""(?<![\w.<-])(?<!\w\()([a-z_]+)=(?![=>])"""
    r"""("[^"]*"|'[^']*'|\{[^{}]*\}|range\(\d+\)|\.\.\.(?=[,;: )]|$)|[\w.@]*[\w@])?"""
)
# A call within a message, whose arguments the command has as options.
_CALL = re.compile(r"\b(?:Task|report)\((?:[\w.]+, )*([a-z_]+=(?:[^()]|\(\d*\))*)\)")
_SPLIT = re.compile(r'^known\["(.*?)"\]')

# Arguments of tasks that are options of another name, since those of their own name are vectors.
_OTHER_NAMES = {
    "link-prediction": {"entities": "entity_labels", "relations": "relation_labels"},
    "retrieval": {"entities": "candidates", "queries": "query_labels"},
}
_OTHER_VALUES = {("axis", "0"): "rows", ("axis", "1"): "columns"}
# Where a message begins with the first name, the second one is that of the option, and the columns
# are those of the third.
_LISTS = ("ids", "lists", "list_columns")


def in_words_of(command: click.Command, text: str) -> str:
    """Write a message in the words of a command; what it has no option for stays as it is.

    Parameters
    ----------
    command : click.Command
    text : str
        A message, which begins with the name of an argument or does not.

    Returns
    -------
    str

    Examples
    --------
    >>> from truerank.cli.merge import merge
    >>> in_words_of(merge, 'unit 3 is there twice; repeats="drop" leaves it out')
    'unit 3 is there twice; --repeats drop leaves it out'
    """
    flags = {p.name: p.opts[-1] for p in command.params if p.opts[-1].startswith("--")}
    ids, lists, list_columns = _LISTS
    if text.startswith(f"{ids}: ") and list_columns in flags:
        text = lists + text[len(ids) :]
        flags["columns"] = flags[list_columns]
    without_values = {p.name for p in command.params if getattr(p, "is_flag", False)}
    others = _OTHER_NAMES.get(command.name or "", {})
    named = flags | {name: flags[other] for name, other in others.items()}

    def option(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in named:
            return match[0]
        if (name, value) in _OTHER_VALUES:
            return f"{named[name]} {_OTHER_VALUES[name, value]}"
        if value == "False":
            return named[name].replace("--", "--no-", 1)
        if value is None or value == "True" or name in without_values:
            return named[name]
        if name == "known" and value[0] == "{":
            splits = [flags.get(split, f"--known {split}=FILE") for split in _entries(value)]
            return " and ".join(splits) or named[name]
        return f"{named[name]} {_word(value)}"

    def options(match: re.Match[str]) -> str:
        written = _ARGUMENT.sub(option, match[1])
        return match[0] if written == match[1] else written

    text = _SPLIT.sub(lambda match: flags.get(match[1], f"--known {match[1]}"), text)
    argument = re.match("[a-z_]+(?=[:,])", text)
    if argument and argument[0] in flags and argument[0] not in others:
        text = flags[argument[0]] + text[argument.end() :]
    return _ARGUMENT.sub(option, _CALL.sub(options, text))


def _word(value: str) -> str:
    """Write a value as a word of a command: `{"head": 0, "tail": 2}` is `head=0,tail=2`."""
    if value.startswith("range("):
        return value[len("range(") : -1]
    if value[0] in "\"'":
        return value[1:-1]
    return ",".join(f"{role}={column}" for role, column in _entries(value).items()) or value


def _entries(value: str) -> dict[str, str]:
    """Return the entries of a dict in a message; the values may be ``...``."""
    pairs = re.findall(r"[\"'](\w+)[\"']: ([\"']?)(\w+|\.\.\.)\2", value)
    return {key: entry for key, _, entry in pairs} if value[0] == "{" else {}
