"""`truerank completion`: scripts by which bash, zsh and fish complete what is typed."""

from __future__ import annotations

import os
import re
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from .frame import emit

VARIABLE = "_TRUERANK_COMPLETE"

# click's own script takes the words of bash, which breaks them at "@", ":" and "=" as well: keys
# such as hits@10 are several of them. This one takes the line, and gives what follows a break.
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

# What differs from click: zsh puts nothing behind a value, which may go on with "," or ".", and
# --option= may come before a file. fish: the first comma alone ends the type of a completion.
OF_ZSH = {
    "compadd -U -V": "compadd -U -S '' -V",
    "_path_files -f": "compset -P '--*='; _path_files -f",
}
OF_FISH = {'string split ","': 'string split --max 1 ","'}
OPTION = re.compile("--[a-z-]+=")


def _with(script: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        script = script.replace(old, new)
    return script


class Bash(BashComplete):
    """The completion of bash."""

    source_template = BASH
    _typed = ""  # of the value that is being typed

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being typed, and that one."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        begun = words.pop() if words and not line[-1:].isspace() else ""
        self._typed = OPTION.sub("", begun, count=1)
        return words, begun

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """A line for the script: what replaces the last piece of a word that bash sees."""
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        # a piece begins behind a break, but with the "@", which bash takes for that of a host
        begin = max((self._typed.rfind(mark) + (mark != "@") for mark in breaks), default=0)
        open_ended = item.type == "plain" and item.value.endswith((".", ","))
        return f"{'open' if open_ended else item.type},{item.value[max(begin, 0) :]}"


class _Whole(ShellComplete):
    """A shell that replaces the whole word, with the option and "=" that it may begin with."""

    _option = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being typed, and that one."""
        words, begun = super().get_completion_args()
        found = OPTION.match(begun)
        self._option = found[0] if found else ""
        return words, begun

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Lines for the script."""
        if item.type == "plain" and self._option:
            item = CompletionItem(f"{self._option}{item.value}")
        return super().format_completion(item)


class Zsh(_Whole, ZshComplete):
    """The completion of zsh."""

    source_template = _with(ZshComplete.source_template, OF_ZSH)


class Fish(_Whole, FishComplete):
    """The completion of fish."""

    source_template = _with(FishComplete.source_template, OF_FISH)


SHELLS = {"bash": Bash, "zsh": Zsh, "fish": Fish}
for shell_class in SHELLS.values():
    add_completion_class(shell_class)


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets a shell complete commands, options, metrics, labels and files.

    \b
    bash: add to ~/.bashrc                   eval "$(truerank completion bash)"
    zsh:  add to ~/.zshrc, after compinit    eval "$(truerank completion zsh)"
    fish: truerank completion fish > ~/.config/fish/completions/truerank.fish
    """
    made = get_completion_class(shell)
    assert made is not None  # it was registered above
    emit(made(context.find_root().command, {}, "truerank", VARIABLE).source())
