"""The table of data sets that the studies read: its counts are those of the triples."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from support.environment import ROOT

STUDIES = ROOT / "bench" / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(STUDIES)
    import data_sets

    return data_sets


def test_counts_of_each_split_and_side(study: ModuleType) -> None:
    for split, tasks in (("test", 6268), ("valid", 6068)):
        counts, times = study.filtered_candidates("wn18rr", split)
        assert (times.sum(), counts.max()) == (tasks, 40943)
    counts, times = study.filtered_candidates("wn18rr", "train", ("relation",))
    assert (times.sum(), counts.max()) == (86835, 11)


def test_the_table_is_whole(study: ModuleType) -> None:
    for key, facts in study.data_sets().items():
        assert facts["sources"], key
        assert all(facts[name] > 0 for name in ("entities", "relations", "train", "valid", "test"))
        for split, sides in facts.get("left_out", {}).items():
            for side, (left_out, multiplicities) in sides.items():
                assert left_out == sorted(set(left_out))
                assert left_out[0] >= 0
                ranked = "relations" if side == "relation" else "entities"
                assert left_out[-1] < facts[ranked]
                assert min(multiplicities) > 0
                assert sum(multiplicities) == facts[split]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_filtered_counts_are_those_of_the_triples(
    data: Path, split: str, study: ModuleType
) -> None:
    """Count in another way than the script does, with a set of known answers for each query."""
    with np.load(data / "kinships" / "triples.npz") as arrays:
        triples = {name: arrays[name].tolist() for name in ("train", "valid", "test")}
    for side, (a, b) in {"head": (1, 2), "tail": (0, 1), "relation": (0, 2)}.items():
        asked = 3 - a - b
        answers: dict[tuple[int, int], set[int]] = {}
        for triple in itertools.chain(*triples.values()):
            answers.setdefault((triple[a], triple[b]), set()).add(triple[asked])
        size = 25 if side == "relation" else 104
        left = [size - len(answers[t[a], t[b]] - {t[asked]}) for t in triples[split]]
        counts = study.filtered_candidates("kinships", split, (side,))
        assert [part.tolist() for part in counts] == [
            part.tolist() for part in np.unique(left, return_counts=True)
        ]


def test_the_script_makes_the_table(data: Path, tmp_path: Path, study: ModuleType) -> None:
    pytest.importorskip("pykeen")
    study.main(data, tmp_path)
    made: dict[str, Any] = json.loads((tmp_path / "datasets.json").read_text(encoding="utf-8"))
    assert made == study.data_sets()
