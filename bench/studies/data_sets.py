"""The table of data sets: sizes, sources, and how many candidates a filter leaves out."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

TABLE = Path(__file__).with_name("datasets.json")
ENTITY_SIDES = ("head", "tail")

Counts = tuple[Any, Any]  # numbers of candidates, and how many tasks have each


@cache
def data_sets() -> dict[str, dict[str, Any]]:
    """Read the table of data sets, by name.

    Each has `name`, `entities`, `relations`, `train`, `valid`, `test` (numbers of triples),
    `sources`, an optional `note`, and `left_out` where it is known how many candidates the filter
    leaves out: by split and side these numbers, and how many tasks have each.
    """
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def filtered_candidates(
    dataset: str, split: str = "test", sides: tuple[str, ...] = ENTITY_SIDES
) -> Counts:
    """Return the numbers of candidates that a filter leaves, and how many tasks have each."""
    entry = data_sets()[dataset]
    size = entry["relations"] if "relation" in sides else entry["entities"]
    by_side = entry["left_out"][split]
    tables = [np.array(by_side[name])[:, ::-1] for name in sides]
    left_out, tasks = np.concatenate(tables, axis=1)
    return size - left_out, tasks
