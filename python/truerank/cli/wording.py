"""What errors and findings say of arguments, in the words of the command line."""

from __future__ import annotations

import re

# Arguments whose names are those of options.
SAME = (
    *("by", "side", "queries", "weights", "rows", "filter", "candidates", "method", "tasks"),
    *("dataset", "size", "member", "shape", "dtype", "offset"),
    *("entities", "relations", "similarity", "bias", "unseen"),
)

# What errors and findings say in Python, and how a command line says it.
IN_OPTIONS = (
    (r"report\(ranks, by=\.\.\.\)", "--by"),
    (r"\bby=\.\.\.", "--by"),
    (r"ranks\.with_labels\(group=\.\.\.\)", "evaluate --relation"),
    (r"ranks\.with_labels\(targets=\.\.\.\)", "evaluate SCORES TARGETS --by target"),
    (r"ranks\.with_labels\((\w+)=\.\.\.\)", r"evaluate --\1"),
    (r"ranks\.with_protocol\(split=\"?([^\")]+)\"?\)", r"--split \1"),
    (r"rank\(\.\.\., audit=True\)", "evaluate SCORES TARGETS --audit"),
    (r"allow_unlike=True", "--allow-unlike"),
    (r"\b(nan|dtype|dataset)=[\"']([\w-]+)[\"']", r"--\1 \2"),
    (r"^queries_(tail|head|relation):", r"--queries-\1:"),
    (r"^(tail|head|relation)_scores:", r"--scores-\1:"),
    (r'\bknown\["(train|valid)"\]', r"--\1"),
    (r'\bknown\["([^"]*)"\]', r"--known \1"),
    (r'\b(duplicates|leaks|unseen)="(\w+)"', r"--\1 \2"),
    (r"\bgive entities=", "give --entity-labels"),
    (r"\bgive relations=", "give --relation-labels"),
    (r"\bgive known=", "give --train or --known"),
    (r"\b(left|right) has\b", r"--\1-labels has"),
    (r"\bas (left|right) is no list of labels", r"as --\1-labels is not given"),
    (r"\bentities has\b", "--entity-labels has"),
    (r"\brelations has\b", "--relation-labels has"),
    (r"\bas entities is no list of labels", "as --entity-labels is not given"),
    (r"\bas relations is no list of labels", "as --relation-labels is not given"),
    (r"^group:", "--relation:"),
    (r"^folder:", "--file:"),
    (r'^order: "F"', "--layout: F"),
    (r"\bdtype= and shape=", "--dtype and --shape"),
    (r"\bmember= to\b", "--member to"),
    (r"^checkpoint:", "--resume:"),
    (rf"^({'|'.join(SAME)}):", r"--\1:"),
)


def in_options(text: str) -> str:
    """Advice in the words of the command line.

    Examples
    --------
    >>> in_options("by: give them with ranks.with_labels(group=...)")
    '--by: give them with evaluate --relation'
    """
    for python, option in IN_OPTIONS:
        text = re.sub(python, option, text)
    return text
