"""LibKGE's traces: ranks of single examples, which ``eval.trace_level: example`` writes."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..ranks.container import Ranks
from ..ranks.protocol import Protocol
from ..tasks.text import line_blocks

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

SIDE_OF_TASK = {"sp": "tail", "po": "head"}  # the predicted side of each kind of task
RANKINGS = ("rank_filtered", "rank_filtered_with_test", "rank")
_INTEGER = re.compile("[0-9]{1,19}")  # Python refuses to convert thousands of digits
_SPLITS = re.compile(r"[{ ]filter_splits: \[([^\]]*)\]")


@public("truerank.compat")
def read_libkge(
    path: str | os.PathLike[str],
    *,
    candidates: int | Any,
    ranking: str = "rank_filtered",
    split: str | None = None,
    epoch: int | None = None,
) -> Ranks:
    """Read the ranks of a ``trace.yaml`` that LibKGE wrote, example by example.

    Each rank contains LibKGE's treatment of ties and its tolerance ("libkge" in `PRESETS`), which
    cannot be undone without the scores. It is returned as a rank without ties, so that every metric
    is LibKGE's own, in float64.

    Parameters
    ----------
    path : path-like
        The trace, with entries of the event ``example_rank``; gzipped if its name ends in .gz.
    candidates : int or array_like of int, shape (tasks,)
        The number of candidates, which the trace does not contain. Adjusted metrics depend on it.
        For a filtered ranking, the number of entities is an upper bound.
    ranking : {"rank_filtered", "rank_filtered_with_test", "rank"}
        Which of the ranks in the trace to read.
    split : str, optional
        The evaluated split. Default: the split of the last entry.
    epoch : int, optional
        The epoch. Default: the epoch of the last entry of the split.

    Returns
    -------
    Ranks
        In the order of the trace, labelled by side, relation and target. The protocol
        has the filter and the split; its NaN rule is "worst", the closest to LibKGE's -inf.

    Raises
    ------
    ValueError
        If the trace has no such entries.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> line = (
    ...     "{{epoch: 20, event: example_rank, filter_splits: [train, valid, test], job: eval, "
    ...     "job_id: a, o: 5, p: 1, rank: 9, rank_filtered: {}, s: 2, split: test, task: {}}}\\n"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace = pathlib.Path(folder, "trace.yaml")
    ...     _ = trace.write_text(line.format(3, "sp") + line.format(1, "po"))
    ...     ranks = read_libkge(trace, candidates=14505)
    >>> ranks.optimistic, ranks.side.values.tolist()
    (array([3, 1]), ['tail', 'head'])
    """
    if ranking not in RANKINGS:
        raise InputValueError(
            "ranking", expected=f"one of {', '.join(RANKINGS)}", got=repr(ranking)
        )
    entries = list(_entries(os.fsdecode(path)))
    if split is not None:
        entries = [entry for entry in entries if entry["split"] == split]
    if epoch is not None:
        entries = [entry for entry in entries if entry["epoch"] == str(epoch)]
    if not entries:
        selected = "".join(
            f", {name} {value}"
            for name, value in (("split", split), ("epoch", epoch))
            if value is not None
        )
        raise InputValueError(
            "path",
            expected=f"entries with event example_rank (eval.trace_level: example){selected}",
            got=f"none in {os.fspath(path)}",
        )
    last = {name: entries[-1][name] for name in ("split", "epoch", "job_id")}
    entries = [entry for entry in entries if last.items() <= entry.items()]
    lacking = sum(ranking not in entry for entry in entries)
    if lacking:
        raise InputValueError(
            "path",
            expected=(
                f"{ranking} in each entry, which {lacking:,} of {len(entries):,} lack; "
                f"there is {', '.join(name for name in RANKINGS if name in entries[0])}"
            ),
        )
    side = [SIDE_OF_TASK[entry["task"]] for entry in entries]
    target = [entry["o" if entry["task"] == "sp" else "s"] for entry in entries]
    splits = entries[-1]["filter_splits"].split(", ") if ranking != "rank" else []
    if ranking == "rank_filtered_with_test":
        splits.append("test")
    return Ranks(
        _integers(ranking, [entry[ranking] for entry in entries], 1) - 1,
        np.ones(len(entries), np.int64),
        candidates,
        side=side,
        relation=_integers("p", [entry["p"] for entry in entries], 0),
        targets=_integers("s and o", target, 0),
        protocol=Protocol(filter=tuple(splits), nan="worst", split=last["split"]),
    )


def _entries(path: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each entry about one example; such simple values need no YAML parser."""
    for block in line_blocks("path", path):
        for line in block.decode("utf-8", errors="replace").split("\n"):
            if "event: example_rank" not in line:
                continue
            entry = dict(re.findall(r"[{ ](\w+): ([\w.-]+)(?=[,}])", line))
            splits = _SPLITS.search(line)
            entry["filter_splits"] = splits[1] if splits else ""
            needed = ("task", "s", "p", "o", "split", "epoch", "job_id")
            missing = [name for name in needed if name not in entry]
            if missing or entry["task"] not in SIDE_OF_TASK:
                raise InputValueError(
                    "path",
                    expected=f"{', '.join(needed)} in each entry, task sp or po",
                    got=repr(line.strip()[:200]),
                )
            yield entry


def _integers(name: str, words: list[str], least: int) -> IntArray:
    for word in words:
        if not _INTEGER.fullmatch(word) or not least <= int(word) < 2**63:
            expected, got = f"integers >= {least} for {name} in each entry", reprlib.repr(word)
            raise InputValueError("path", expected=expected, got=got)
    return np.array(words).astype(np.int64)
