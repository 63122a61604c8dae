"""What a call loads: the lines of code of the modules that are imported after it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from support.environment import ROOT, Run
from support.sources import read

PACKAGE = ROOT / "python" / "truerank"
pytestmark = [
    pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests"),
    pytest.mark.python_only,
]


class Call(NamedTuple):
    """Lines of Python, and how many lines of code may be loaded after them."""

    code: str
    most: int


SCORES = """
import numpy as np
import truerank as tr
scores = np.random.default_rng(0).random((4, 10))
"""
TRIPLES = """
import numpy as np
import truerank as tr
triples = np.array([[0, 0, 1], [1, 0, 2], [2, 1, 0], [1, 1, 2]])
def score(queries):
    return np.random.default_rng(0).random((len(queries), 3))
"""
FILE = """
import sys
from pathlib import Path
path = Path(sys.argv[1]) / "test.txt"
with path.open("w") as file:
    for head, relation, tail in triples:
        file.write(f"e{head}\\tr{relation}\\te{tail}\\n")
"""
COMMAND = """
import os
import sys
os.chdir(sys.argv[1])
np.save("s.npy", scores)
np.save("t.npy", np.arange(4))
from truerank.__main__ import main
sys.argv[1:] = ["evaluate", "s.npy", "t.npy", "--output", "report.txt"]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0
"""
CALLS = {
    "rank": Call(SCORES + "tr.rank(scores, np.arange(4))", 3300),
    "evaluate": Call(SCORES + "tr.evaluate(scores, np.arange(4))['mrr']", 5350),
    "task of arrays": Call(
        TRIPLES
        + "task = tr.link_prediction.Task(triples, entities=3)\n"
        + "task.evaluate(head=score, tail=score)['mrr']",
        10300,
    ),
    "task of files": Call(
        TRIPLES
        + FILE
        + "task = tr.link_prediction.Task(path, entities=['e0', 'e1', 'e2'])\n"
        + "task.evaluate(head=score, tail=score)['mrr']",
        10300,
    ),
    "command": Call(SCORES + COMMAND, 9600),
}
SAY_FILES = """
import sys
for name, module in sys.modules.items():
    if name.partition(".")[0] == "truerank":
        print(module.__file__)
"""


@pytest.mark.parametrize("name", CALLS)
def test_a_call_loads_what_it_needs(name: str, tmp_path: Path, run_python: Run) -> None:
    """A layer is loaded without the ones above it: statistics, tables and files when asked for."""
    if name == "command":
        pytest.importorskip("click")
    call = CALLS[name]
    said = run_python(call.code + "\n" + SAY_FILES, tmp_path)
    files = [Path(line) for line in said.splitlines()]
    lines = {name_of(file): len(read(file).code) for file in files if file.suffix == ".py"}
    assert len(lines) > 20
    assert sum(lines.values()) <= call.most, lines


def name_of(file: Path) -> str:
    return "/".join(file.parts[-2:])
