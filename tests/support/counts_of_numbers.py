"""What the core and a device count beside numbers that need not be the score of any pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from support.problems import Array
from truerank.counting.driver import count_scores
from truerank.counting.job import prepare_job
from truerank.embeddings.vectors import Embeddings
from truerank.inputs.rules import Rules


def counts_of_numbers(
    queries: Any,
    entities: Any,
    numbers: Array,
    similarity: str,
    *,
    candidates: Array | None = None,
    block: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> tuple[Array, Array]:
    """Count the candidates of each query above each number of its row, and those equal to it."""
    opened = Embeddings(queries, entities, similarity, **options)
    rows = np.repeat(np.arange(len(numbers)), numbers.shape[1])
    rules = Rules(nan="worst", threads=threads)
    job = prepare_job(opened.shape, ..., rows, None, candidates, rules)
    job = replace(job, block=block or 0, true_scores=numbers.ravel())
    counts = count_scores(opened, job).arrays
    return counts["above"], counts["tied"]
