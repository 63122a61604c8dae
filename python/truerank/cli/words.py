"""What a shell may complete a value with: keys, labels, names of data sets and splits, files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..alignment.two_graphs import DIRECTIONS
from ..metrics import KINDS, METRICS
from ..metrics.keys import ADJUSTED, ALIASES, ALL_SIDES, MACRO
from ..metrics.published import SIDES
from ..ranks.labels import NAMED

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]
Words = Callable[[click.Context, str], Iterable[str]]

# Of a metric with a parameter: what people mostly ask for.
USUAL = {"": ("",), "@": ("@1", "@3", "@5", "@10"), ":": (":2",)}
# The words of a key before its metric, in their order.
LEVELS = ((MACRO,), (*SIDES, *DIRECTIONS), tuple(KINDS), ADJUSTED)
SIDE_LEVEL = 1  # other words are those of sides that somebody named

# What ranks may carry in `truerank link-prediction` and `alignment`, beside the labels of all.
MADE = ("category", "degree")
OF_MEMBERS = {"side": "side", "group": "relation", "queries": "query", "targets": "target"}
CODES = ".codes.npy"


def completing(words: Words, *, several: bool = False, files: bool = False) -> Complete:
    """Make what click asks for completions.

    Parameters
    ----------
    words : callable
        Gives the words there are, of the context and of what was typed.
    several : bool
        Whether there may be more of them, between commas.
    files : bool
        Whether it may be a file instead.
    """

    def complete(
        context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem[str]]:
        begun = typed.rpartition(",")[2] if several else typed
        before = typed[: len(typed) - len(begun)]
        found = [
            CompletionItem(before + word)
            for word in words(context, begun)
            if word.startswith(begun)
        ]
        return found or ([CompletionItem(typed, type="file")] if files else [])

    return complete


def some_of(*words: str) -> Words:
    """Fixed words.

    Examples
    --------
    >>> some_of("train", "test")(None, "te")
    ('train', 'test')
    """
    return lambda _context, _begun: words


# -- keys ------------------------------------------------------------------------------------------


def keys(_context: click.Context | None, begun: str) -> list[str]:
    """Keys of a report, a word further than what was typed.

    Examples
    --------
    >>> keys(None, "tail.index.h")[:3]
    ['tail.index.mr', 'tail.index.mrr', 'tail.index.hits@1']
    >>> "optimistic." in keys(None, ""), "tail.optimistic." in keys(None, "tail.")
    (True, True)
    """
    before = begun.split(".")[:-1]
    level = max((_level(word) for word in before), default=-1)
    prefix = "".join(f"{word}." for word in before)
    adjusted = any(word in ADJUSTED for word in before)
    found = [f"{word}." for words in LEVELS[level + 1 :] for word in words]
    found += metrics(adjusted)
    if MACRO in before:  # there is no mean of z over groups
        found = [word for word in found if not word.startswith("z")]
    return [prefix + word for word in found]


def metrics(chance_alone: bool = False) -> list[str]:
    """Metrics with their usual parameters, and the names of adjusted ones; or what can be adjusted.

    Examples
    --------
    >>> metrics()[:3], "amri" in metrics(), "amri" in metrics(chance_alone=True)
    (['mr', 'mrr', 'hits@1'], True, False)
    """
    names = {name: name for name, metric in METRICS.items() if metric.chance or not chance_alone}
    names |= {} if chance_alone else {alias: metric for alias, (_, metric) in ALIASES.items()}
    parameters = {name: METRICS[metric].parameter for name, metric in names.items()}
    return [name + usual for name, mark in parameters.items() for usual in USUAL[mark]]


def _level(word: str) -> int:
    return next((i for i, words in enumerate(LEVELS) if word in words), SIDE_LEVEL)


# -- labels and names ------------------------------------------------------------------------------


def labels(context: click.Context, _begun: str) -> list[str]:
    """The labels that ranks carry: those of a file of ranks on the command line, or all usual."""
    for word in context.find_root().obj:
        found = labels_in(Path(word)) if word.endswith(".npz") else []
        if found:
            return found
    return [name for name in (*NAMED, *MADE) if name not in ("group", "queries", "targets")]


def labels_in(path: Path) -> list[str]:
    """The labels in a file of ranks, by the names of its members alone; none of another file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return []
    names = [name.removesuffix(CODES) for name in members if name.endswith(CODES)]
    return [OF_MEMBERS.get(name, name.removeprefix("labels.")) for name in names]


def data_sets(_context: click.Context, _begun: str) -> list[str]:
    """The data sets whose sizes are known."""
    from ..metrics.published import data_sets

    return list(data_sets())


SPLITS = some_of("train", "valid", "test")
SIDE_WORDS = some_of(*(side for side in SIDES if side != ALL_SIDES))
