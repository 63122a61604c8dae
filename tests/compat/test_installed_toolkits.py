"""What PyKEEN and pytrec_eval say where they are installed, beside what their presets say.

`bench/studies/toolkits.py` runs the code of all toolkits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truerank import compat

SPECIAL = [np.inf, -np.inf, 0.0, 1.0, 1.00005, 1.0002, -1000, -999.95]


def scores_and_targets(tasks: int = 60, columns: int = 40) -> tuple[Any, Any]:
    """Make float32 scores with ties, near ties and infinities."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 3, (tasks, columns)).round(1).astype(np.float32)
    special = rng.random(scores.shape) < 0.1
    scores[special] = rng.choice(np.array(SPECIAL, np.float32), special.sum())
    return scores, rng.integers(0, columns, tasks)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_pykeen() -> None:
    """Its evaluator filters by NaN; true scores are finite."""
    pytest.importorskip("pykeen", reason="is compared with")
    import torch
    from pykeen.evaluation import RankBasedEvaluator

    scores, targets = scores_and_targets()
    place = np.arange(len(targets)), targets
    scores[place] = np.nan_to_num(scores[place], posinf=5, neginf=-5)
    filtered = np.arange(scores.size).reshape(scores.shape) * 31 % 7 == 0
    filtered[place] = False
    masked = torch.from_numpy(np.where(filtered, np.float32(np.nan), scores))
    evaluator = RankBasedEvaluator()
    triples = torch.zeros((len(targets), 3), dtype=torch.long)
    for side in ("head", "tail"):
        evaluator.process_scores_(triples, side, masked, torch.from_numpy(scores[place])[:, None])
    theirs = evaluator.finalize().to_flat_dict()
    ours = compat.report(
        scores, targets, preset="pykeen", filter=[np.flatnonzero(row) for row in filtered]
    )
    for name, value in ours.items():
        assert value == pytest.approx(theirs[f"both.realistic.{name}"], rel=2e-6), name


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_pytrec_eval(noise: float) -> None:
    """It ranks ties by name, and what is equal in float32 is one."""
    peer = pytest.importorskip("pytrec_eval", reason="is compared with")
    scores, targets = scores_and_targets()
    scores = scores * (1 + np.random.default_rng(0).normal(0, noise, scores.shape))
    names = sorted(f"d{i}" for i in range(scores.shape[1]))
    qrels = {f"q{i}": {names[target]: 1} for i, target in enumerate(targets)}
    run = {f"q{i}": dict(zip(names, row.tolist(), strict=True)) for i, row in enumerate(scores)}
    measures = {"recip_rank", "map", "success.5,10", "recall.5,10", "P.5,10", "ndcg_cut.5,10"}
    theirs = peer.RelevanceEvaluator(qrels, measures).evaluate(run)
    found = compat.report(scores, targets, preset="pytrec_eval")
    reciprocals = [theirs[query]["recip_rank"] for query in qrels]
    np.testing.assert_allclose(1 / found.first, reciprocals, rtol=1e-12)
    for name in theirs["q0"]:
        mean = np.mean([values[name] for values in theirs.values()])
        assert found[name] == pytest.approx(mean, rel=1e-12), name
    differs = (compat.report(scores, targets, preset="trec_eval").first != found.first).any()
    assert differs == (noise > 0)
