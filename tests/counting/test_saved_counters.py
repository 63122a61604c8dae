"""A saved counter is read back as it was, or refused: nothing in the file is trusted."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.hostile_members import check_refusal, hostile_files
from truerank.ranks.counts import checked_counts

GOLDEN = Path(__file__).parent / "golden" / "counter_format_1.npz"
SCORES = np.array([[3, 1, 2, 5], [1, 1, 0, 4], [2, 7, 1, 2]], np.float32)
TARGETS = np.array([0, 3, 1])

COUNTERS: dict[str, dict[str, Any]] = {
    "columns": {
        **{"targets": TARGETS, "candidates": 4, "rows": [0, 1, 2]},
        **{"audit": True, "filter": [[3], [], [0]], "order": "ascending"},
    },
    "sampled": {"audit": True},
}


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.filterwarnings("ignore:true_scores")
def test_a_counter_of_hostile_members_is_refused_or_possible(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    counter = tr.RankCounter(SCORES[[0, 1, 2], TARGETS], **COUNTERS[name])
    if name == "sampled":
        counter.update(SCORES)
    else:
        counter.update(SCORES[:, :1], start=0)
        counter.update(SCORES[:, 2:], start=2)
    path = tmp_path / "counter.npz"
    counter.save(path)
    refused: set[str] = set()
    for member in hostile_files(path):
        try:
            loaded = tr.RankCounter.load(path)
        except Exception as error:
            check_refusal(error, path)
            refused.add(member)
            continue
        with contextlib.suppress(tr.InputValueError):  # a column is missing, or counted before
            if name == "sampled":
                loaded.merge(tr.RankCounter.load(path))
            else:
                loaded.update(SCORES[:, 1:2], start=1)
            ranks = loaded.ranks()
            checked_counts(ranks.above, ranks.tied, ranks.candidates)
            assert name == "sampled" or ranks.candidates.max() <= 5
    assert refused >= {"truerank", "true_scores", "seen", "count.above"}


def test_golden_file() -> None:
    """Targets 2, 0 and 3, filter 0, none and 2; columns 0, 2 and 3 were counted before."""
    counter = tr.RankCounter.load(GOLDEN)
    counter.update(SCORES[:, 1:2], start=1)
    ranks = counter.ranks()
    assert ranks.above.tolist() == [1, 1, 1]
    assert ranks.tied.tolist() == [1, 2, 2]
    assert ranks.candidates.tolist() == [3, 4, 3]
    assert ranks.audit is not None
    assert ranks.audit.at_best.tolist() == [1, 1, 1]
