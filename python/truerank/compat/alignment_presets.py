"""Presets of toolkits for entity alignment."""

from __future__ import annotations

from .conventions import Convention
from .toolkit_rows import Metric, Preset, hits_metrics

_PAIRS = "the other entities of the test pairs"

ALIGNMENT_PRESETS = (
    Preset(
        name="openea",
        toolkit="OpenEA",
        version="ad11dc3",
        source=(
            "nju-websoft/OpenEA: src/openea/modules/finding/alignment.py, "
            "greedy_alignment, calculate_rank",
            "nju-websoft/OpenEA: src/openea/modules/finding/evaluation.py, test",
        ),
        convention=Convention(nan="last", rank="any"),
        metrics=(
            *hits_metrics("hits@{k}", (1, 5, 10, 50), ".3f", 100.0),
            Metric("mr", "mr", ".3f"),
            Metric("mrr", "mrr", ".6f"),
        ),
        splits="none",
        candidates=_PAIRS,
        notes=(
            "Only the direction from the first graph to the second is evaluated.",
            "With accurate=False (validation) only hits at k are meaningful.",
        ),
    ),
    Preset(
        name="gcn-align",
        toolkit="GCN-Align, RDGCN",
        version="873d0c3 (GCN-Align), adb2ec0 (RDGCN)",
        source=(
            "1049451037/GCN-Align: metrics.py, get_hits",
            "StephanieWyt/RDGCN: include/Test.py, get_hits",
        ),
        convention=Convention(nan="last", rank="any"),
        metrics=tuple(hits_metrics("Hits@{k}", (1, 10, 50, 100), ".2f", 100.0)),
        splits="none",
        candidates=_PAIRS,
        notes=(
            "Each direction is printed separately.",
            "Lower scores (L1 distances) are better: pass them with order='ascending'.",
        ),
    ),
)
