"""Messages of Python in the words of a command: `repeats="drop"` is `--repeats drop` there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

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
    "compare": {"entities": "candidates"},
}
_OTHER_VALUES = {("axis", "0"): "rows", ("axis", "1"): "columns"}
_LABELS = re.compile(r"give them with ranks\.with_labels\((\w+)=\.\.\.\)")
_FILE_OF_LABELS = "a .npy file with one for each task"


class _Options(NamedTuple):
    """The options of a command by the arguments that they are: all, also by other names, some."""

    flags: dict[str, str]
    named: dict[str, str]
    without_values: set[str]
    labels: dict[str, str]

    @classmethod
    def of(cls, command: click.Command) -> _Options:
        options = {str(p.name): p for p in command.params if p.opts[-1].startswith("--")}
        flags = {name: p.opts[-1] for name, p in options.items()}
        others = _OTHER_NAMES.get(command.name or "", {})
        return cls(
            flags,
            flags | {name: flags[other] for name, other in others.items()},
            {name for name, p in options.items() if getattr(p, "is_flag", False)},
            {name: flags[name] for name, p in options.items() if p.type.name == "label|file"},
        )

    def written(self, match: re.Match[str]) -> str:
        """Write an argument with its value, if the command has it."""
        name, value = match[1], match[2]
        if name not in self.named:
            return match[0]
        option = self.named[name]
        if (name, value) in _OTHER_VALUES:
            return f"{option} {_OTHER_VALUES[name, value]}"
        if value == "False":
            return option.replace("--", "--no-", 1)
        if value in (None, "True", "...") or name in self.without_values:
            return option
        if name == "known" and value[0] == "{":
            splits = [self.flags.get(split, f"--known {split}=FILE") for split in _entries(value)]
            return " and ".join(splits) or option
        return f"{option} {_word(value)}"

    def written_call(self, match: re.Match[str]) -> str:
        """Write the arguments of a call, if the command has one of them."""
        written = _ARGUMENT.sub(self.written, match[1])
        return match[0] if written == match[1] else written

    def with_lists(self, text: str) -> tuple[str, _Options]:
        """Name the option of lists; elsewhere files are arguments."""
        return (f"lists: {text}" if "lists" in self.flags else text), self


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
    options = _Options.of(command)
    if text.startswith("ids: "):
        text, options = options.with_lists(text.removeprefix("ids: "))
    flags = options.flags
    text = _SPLIT.sub(lambda match: flags.get(match[1], f"--known {match[1]}"), text)
    argument = re.match("[a-z_]+(?=[:,])", text)
    if argument and argument[0] in options.named:
        text = options.named[argument[0]] + text[argument.end() :]
    text = _LABELS.sub(
        lambda match: f"{options.labels.get(match[1], _FILE_OF_LABELS)} gives them", text
    )
    return _ARGUMENT.sub(options.written, _CALL.sub(options.written_call, text))


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
