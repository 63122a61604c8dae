"""The examples that --help shows are run."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import truerank as tr
from support.alignment_folders import DBP15K, OPENEA, fill_folder
from support.cli_files import Run, command_of
from truerank.cli.commands import COMMANDS

RNG = np.random.default_rng(0)
SCORES = RNG.random((6, 4))


def examples() -> Iterator[str]:
    """Yield the lines of all examples, with those that go on joined."""
    for name in COMMANDS:
        for block in cleandoc(command_of(name).help).split("\b\n")[1:]:
            yield from block.partition("\n\n")[0].replace("\n    ", " ").splitlines()


def save_arrays() -> None:
    arrays: dict[str, Any] = {"scores": SCORES, "E": SCORES[:4], "similarities": RNG.random((4, 4))}
    arrays |= dict.fromkeys(("T", "H", "Q", "S", "tails"), SCORES[:2])
    arrays |= dict.fromkeys(("left", "right"), RNG.random((20, 4)))
    arrays |= {"heads-0": SCORES[:1], "heads-1": SCORES[1:2]}
    arrays |= {"part-0": SCORES[:, :2], "part-1": SCORES[:, 2:]}
    arrays |= dict.fromkeys(("targets", "heads"), np.arange(6) % 4)
    arrays |= {"relations": [0, 0, 0, 1, 1, 1], "test": [[0, 1], [1, 0], [2, 3]]}
    for name, array in arrays.items():
        np.save(name, array)
    scipy.sparse.save_npz("filter.npz", scipy.sparse.csr_matrix(SCORES > 0.8))


def save_ranks() -> None:
    tasks = {"relation": [0, 1, 0], "query": ["a", "b", "c"], "target": ["x", "y", "z"]}
    ranks = tr.Ranks.from_ranks([1, 3, 2], candidates=9, **tasks)
    for name in ("ranks", "transe", "rotate", "a", "b", "c"):
        ranks.save(f"{name}.npz")
    task = tr.link_prediction.Task(np.arange(9).reshape(3, 3) % 4, {}, entities=4)
    for i in range(3):
        rows = {side: SCORES[i : i + 1] for side in ("head", "tail")}
        task[i : i + 1].evaluate_scores(**rows).ranks.save(f"part-{i}.npz")
    for i in (0, 1):
        counter = tr.RankCounter(SCORES[:2, 1], [1, 1], candidates=4)
        counter.update(SCORES[:2, 2 * i : 2 * i + 2], start=2 * i)
        counter.save(f"columns-{i}.npz")
    lists = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}
    report = tr.retrieval.Task({"q1": ["a"], "q2": ["d"]}, entities=4).evaluate_lists(lists)
    for name in ("bm25", "dense"):
        report.ranks.save(f"{name}.npz")


def save_text() -> None:
    texts = {
        "train.txt": "a\tr\tc\nd\tr\ta\n",
        "valid.txt": "c\tr\ta\n",
        "test.txt": "a\tr\tb\nb\tr\tc\n",
        "tails.tsv": "a\tr\tb\t2.5\na\tr\tc\t1.5\nb\tr\tc\t0.5\n",
        "qrels.txt": "q1 0 a 1\nq2 0 d 1\n",
        "u.data": "0\t1\t5\t881250949\n1\t2\t3\t881250950\n",
        "names.txt": "a\nb\nc\nd\n",
        "queries.txt": "q1\nq2\n",
        "users.txt": "0\n1\n",
        "items.txt": "4\n3\n2\n1\n",
        "sup_pairs": "3\t11\n",
        "ref_pairs": "9\t5\n7\t8\n",
        "test.tsv": "".join(f"{i}\t{i + 3}\n" for i in range(12)),
        "train.tsv": "".join(f"{i}\t{i}\n" for i in range(15, 20)),
    }
    for name in ("run.txt", "bm25.run", "dense.run"):
        texts[name] = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 c 1 1.0 t\n"
    for name in ("ours.tsv", "theirs.tsv", "ranks.tsv"):
        texts[name] = "query\ttarget\trank\na r\tb\t1\nb r\tc\t12\n"
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("run.txt.gz").write_bytes(gzip.compress(texts["run.txt"].encode()))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("line", list(examples()))
def test_an_example_of_the_help(run: Run, line: str) -> None:
    save_arrays()
    save_ranks()
    save_text()
    fill_folder(Path("D_W_15K_V2"), OPENEA)
    fill_folder(Path("zh_en"), DBP15K)
    for data, left, right in (("D_W_15K_V2", 4, 5), ("zh_en", 3, 4)):
        if data in line:
            np.save("left", SCORES[:left])
            np.save("right", SCORES[:right])
    words = []
    for word in shlex.split(line)[1:]:
        is_pattern = "*" in word and f'"{word}"' not in line  # The shell replaces it.
        words += sorted(map(str, Path().glob(word))) if is_pattern else [word]
    if "--save" in words:
        Path(words[words.index("--save") + 1]).unlink(missing_ok=True)
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
