"""Shell completion: the words for keys, labels, data sets and splits, and the shell scripts."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from ..alignment.two_graphs import DIRECTIONS
from ..inputs.input_files import open_input, report_damage
from ..inputs.npy_files import npz_entries
from ..metrics import KINDS, METRICS
from ..metrics.aliases import ALIASES
from ..metrics.keys import ADJUSTED, ALL_SIDES, MACRO
from ..metrics.published import SIDES
from ..ranks.labels import LABEL_WORDS
from .app import Subcommand, emit

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]
WordSource = Callable[[click.Context, str], Iterable[str]]

# The usual parameters of a metric, by the mark that begins its parameter.
USUAL_PARAMETERS = {"": ("",), "@": ("@1", "@3", "@5", "@10"), ":": (":2",)}
# The words that may come before the metric in a key, in their order.
KEY_LEVELS = ((MACRO,), (*SIDES, *DIRECTIONS), tuple(KINDS), ADJUSTED)
SIDE_LEVEL = 1  # an unknown word is the name of a side

# Labels that only the ranks of `truerank link-prediction` and `truerank alignment` have.
PROTOCOL_LABELS = ("category", "degree")
LABEL_OF_MEMBER = {**LABEL_WORDS, "group": "relation"}
CODES_SUFFIX = ".codes"


def completer(words: WordSource, *, several: bool = False, files: bool = False) -> Complete:
    """Make the function that click calls for completions.

    Parameters
    ----------
    words : callable
        Returns all words, given the context and the typed text.
    several : bool
        Whether the value is a list with commas.
    files : bool
        Whether the value may be a file instead.
    """

    def complete(
        context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem[str]]:
        start = typed.rpartition(",")[2] if several else typed
        before = typed[: len(typed) - len(start)]
        found = [
            CompletionItem(before + word)
            for word in words(context, start)
            if word.startswith(start)
        ]
        return found or ([CompletionItem(typed, type="file")] if files else [])

    return complete


def fixed_words(*words: str) -> WordSource:
    """Make a source of fixed words.

    Examples
    --------
    >>> fixed_words("train", "test")(None, "te")
    ('train', 'test')
    """
    return lambda _context, _start: words


# -- keys ------------------------------------------------------------------------------------------


def keys(_context: click.Context | None, start: str) -> list[str]:
    """Return keys of a report that go one word beyond the typed text.

    Examples
    --------
    >>> keys(None, "tail.index.h")[:3]
    ['tail.index.mr', 'tail.index.mrr', 'tail.index.hits@1']
    >>> "optimistic." in keys(None, ""), "tail.optimistic." in keys(None, "tail.")
    (True, True)
    """
    before = start.split(".")[:-1]
    level = max((_level(word) for word in before), default=-1)
    prefix = "".join(f"{word}." for word in before)
    adjusted = any(word in ADJUSTED for word in before)
    found = [f"{word}." for words in KEY_LEVELS[level + 1 :] for word in words]
    found += metric_names(adjusted)
    if MACRO in before:  # macro averages of z do not exist
        found = [word for word in found if not word.startswith("z")]
    return [prefix + word for word in found]


def metric_names(adjustable_only: bool = False) -> list[str]:
    """Return names of metrics with their usual parameters, and aliases of adjusted metrics.

    With `adjustable_only`, return only the metrics that can be adjusted.

    Examples
    --------
    >>> metric_names()[:3], "amri" in metric_names(), "amri" in metric_names(adjustable_only=True)
    (['mr', 'mrr', 'hits@1'], True, False)
    """
    names = {name: name for name, metric in METRICS.items() if metric.chance or not adjustable_only}
    names |= {} if adjustable_only else {alias: metric for alias, (_, metric) in ALIASES.items()}
    parameters = {name: METRICS[metric].parameter for name, metric in names.items()}
    return [name + usual for name, mark in parameters.items() for usual in USUAL_PARAMETERS[mark]]


def _level(word: str) -> int:
    return next((i for i, words in enumerate(KEY_LEVELS) if word in words), SIDE_LEVEL)


# -- labels and names ------------------------------------------------------------------------------


def labels(context: click.Context, _start: str) -> list[str]:
    """Return the labels of the ranks file on the command line, or the usual labels without one."""
    for word in context.find_root().obj:
        found = labels_in(Path(word)) if word.endswith(".npz") else []
        if found:
            return found
    return [*LABEL_WORDS.values(), *PROTOCOL_LABELS]


def labels_in(path: Path) -> list[str]:
    """Return the labels in a ranks file by the names of its members; another file has none."""
    try:
        with open_input("ranks", path) as file, report_damage("ranks"):
            members = npz_entries(zipfile.ZipFile(file))
    except (OSError, ValueError):
        return []
    names = [name.removesuffix(CODES_SUFFIX) for name in members if name.endswith(CODES_SUFFIX)]
    found = [LABEL_OF_MEMBER.get(name, name.removeprefix("labels.")) for name in names]
    return [name for name in found if name.isidentifier()]  # no other text may reach the shell


def data_sets(_context: click.Context, _start: str) -> list[str]:
    """Return the data sets whose sizes are known."""
    from ..metrics.published import data_sets

    return list(data_sets())


SPLIT_NAMES = fixed_words("train", "valid", "test")
SIDE_NAMES = fixed_words(*(side for side in SIDES if side != ALL_SIDES))


# -- shells ----------------------------------------------------------------------------------------

VARIABLE = "_TRUERANK_COMPLETE"

# click's own script uses the words of bash, which splits words at "@", ":" and "=" as well, so that
# a key such as hits@10 is several words. This script sends the whole line, and gets back what
# replaces the text after the last such character.
BASH = """\
%(complete_func)s() {
    local type value
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

# Changes to the scripts of click. zsh: nothing is appended to a value, which may continue with ","
# or ".", and --option= may come before a file. fish: only the first comma ends the type of a
# completion.
ZSH_CHANGES = {
    "compadd -U -V": "compadd -U -S '' -V",
    "_path_files -f": "compset -P '--*='; _path_files -f",
}
FISH_CHANGES = {'string split ","': 'string split --max 1 ","'}
OPTION = re.compile("--[a-z-]+=")


def _with_changes(script: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        script = script.replace(old, new)
    return script


class Bash(BashComplete):
    """Completion in bash."""

    source_template = BASH
    _typed = ""  # what was typed of the value

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and that word."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        start = words.pop() if words and not line[-1:].isspace() else ""
        self._typed = OPTION.sub("", start, count=1)
        return words, start

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a line for the script: what replaces the last part of a word that bash sees."""
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        # a part begins after a breaking character, but at an "@", which bash takes for a host name
        begin = max((self._typed.rfind(mark) + (mark != "@") for mark in breaks), default=0)
        open_ended = item.type == "plain" and item.value.endswith((".", ","))
        return f"{'open' if open_ended else item.type},{item.value[max(begin, 0) :]}"


class _WholeWordComplete(ShellComplete):
    """Completion in a shell that replaces the whole word, including "--option=" before a value."""

    _option = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and that word."""
        words, start = super().get_completion_args()
        found = OPTION.match(start)
        self._option = found[0] if found else ""
        return words, start

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the lines for the script."""
        if item.type == "plain" and self._option:
            item = CompletionItem(f"{self._option}{item.value}")
        return super().format_completion(item)


class Zsh(_WholeWordComplete, ZshComplete):
    """Completion in zsh."""

    source_template = _with_changes(ZshComplete.source_template, ZSH_CHANGES)


class Fish(_WholeWordComplete, FishComplete):
    """Completion in fish."""

    source_template = _with_changes(FishComplete.source_template, FISH_CHANGES)


SHELLS = {"bash": Bash, "zsh": Zsh, "fish": Fish}
for shell_class in SHELLS.values():
    add_completion_class(shell_class)


@click.command(
    "completion", cls=Subcommand, short_help="Print a script by which a shell completes commands."
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets a shell complete commands, options, metrics, labels and files.

    \b
    bash: add to ~/.bashrc                   eval "$(truerank completion bash)"
    zsh:  add to ~/.zshrc, after compinit    eval "$(truerank completion zsh)"
    fish: truerank completion fish > ~/.config/fish/completions/truerank.fish
    """
    emit(SHELLS[shell](context.find_root().command, {}, "truerank", VARIABLE).source())
