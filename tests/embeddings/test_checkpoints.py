"""The lines for published checkpoints on the page about embeddings rank as the models do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.environment import ROOT
from support.problems import Array

PAGE = (ROOT / "docs/how-to/embeddings.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Published checkpoints")[2].partition("\n## ")[0]
ENTITIES = 31
RELATIONS = 5
DIM = 4
GAMMA = 9.0
Score = Callable[[Array, Array, Array], Any]  # of the vectors of a head, a relation and a tail


def halves(x: Array) -> Array:
    return x[: len(x) // 2] + 1j * x[len(x) // 2 :]


def in_turn(x: Array) -> Array:
    return x[::2] + 1j * x[1::2]


def rotated(head: Array, phases: Array) -> Array:
    """Return the complex numbers of a head in halves, turned by phases in radians."""
    return halves(head) * (np.cos(phases) + 1j * np.sin(phases))


# By the words that a line begins with: the score of three vectors of doubles.
MODELS: dict[str, Score] = {
    "DistMult": lambda h, r, t: (h * r * t).sum(),
    "TransE": lambda h, r, t: -np.abs(h + r - t).sum(),
    # A phase of (gamma + 2) / dim is half a turn.
    "RotatE": lambda h, r, t: -np.abs(rotated(h, r * np.pi * DIM / (GAMMA + 2)) - halves(t)).sum(),
    "RotatE of LibKGE": lambda h, r, t: -np.abs(rotated(h, r) - halves(t)).sum(),
    "RotatE of PyKEEN": lambda h, r, t: -np.linalg.norm(in_turn(h) * in_turn(r) - in_turn(t)),
    "ComplEx": lambda h, r, t: (halves(h) * halves(r) * halves(t).conj()).real.sum(),
    "ComplEx of PyKEEN": lambda h, r, t: (in_turn(h) * in_turn(r) * in_turn(t).conj()).real.sum(),
}
PHASES = ("RotatE", "RotatE of LibKGE")  # whose relations are angles, half as many as components
LINES = {
    cells[0].strip(): re.findall(r"`([^`]+)`", cells[1]) + re.findall(r"`([^`]+)`", cells[2])
    for row in SECTION.splitlines()
    if row.startswith("| ") and "`tr." in row
    for cells in [row.strip("|").split(" | ")]
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_a_line_ranks_as_the_model_does(model: str, dtype: type) -> None:
    """Against the formula of the model, in plain numbers, for tails and for heads."""
    assert len(LINES) == len(MODELS)
    assert all(map(str.startswith, LINES, MODELS))
    rng = np.random.default_rng(7)
    score = MODELS[model]
    entities = rng.standard_normal((ENTITIES, 2 * DIM)).astype(dtype)
    length = DIM if model in PHASES else 2 * DIM
    relations = rng.standard_normal((RELATIONS, length)).astype(dtype)
    if model == "RotatE of PyKEEN":  # which keeps the moduli of relations at 1
        relations /= np.hypot(relations[:, ::2], relations[:, 1::2]).repeat(2, axis=1)
    h, t = rng.integers(0, ENTITIES, (2, 17))
    r = rng.integers(0, RELATIONS, 17)
    names: dict[str, Any] = {"np": np, "tr": tr, "h": h, "r": r, "t": t, "gamma": GAMMA}
    names |= {"E": entities, "R": relations}
    for block in re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL):
        exec(block, names)  # the page's own functions
    tails, heads = LINES[list(LINES)[list(MODELS).index(model)]]
    wide = entities.astype(float)
    phases = relations.astype(float)
    plain = [[score(wide[h[i]], phases[r[i]], e) for e in wide] for i in range(17)]
    assert_ranks(eval(tails, names), np.array(plain), t)
    options = dict(re.findall(r'(similarity|layout)="([^"]*)"', tails))
    plain = [[score(e, phases[r[i]], wide[t[i]]) for e in wide] for i in range(17)]
    ranks = tr.rank_embeddings(eval(heads, names), entities, h, **options)
    assert_ranks(ranks, np.array(plain), h)


def assert_ranks(ranks: tr.Ranks, scores: Array, targets: Array) -> None:
    true = scores[np.arange(len(targets)), targets][:, None]
    assert (np.abs(scores - true)[scores != true] > 1e-5).all()  # rounding decides nothing
    assert ranks.above.tolist() == (scores > true).sum(axis=1).tolist()
    assert (ranks.tied == 1).all()
