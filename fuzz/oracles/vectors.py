"""The scores of vectors by `vectors.c`, which the C compiler of the machine compiles when asked."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from oracles.embeddings import Array, kind_of, widened

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-O1", "-ffp-contract=off", "-shared", "-fPIC")


@functools.cache
def library() -> ctypes.CDLL:
    """Compile the oracle into a temporary folder, which is gone once it is loaded."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise RuntimeError("expected a C compiler, as cc or in the variable CC, found none")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "vectors.so")
        command = [compiler, *FLAGS, str(SOURCE), "-o", str(made), "-lm"]
        subprocess.run(command, check=True, env=environment)
        return ctypes.CDLL(str(made))


def score(
    queries: Array,
    entities: Array,
    similarity: str = "dot",
    bias: Array | None = None,
    dtype: str | None = None,
    csls: tuple[Array, Array, int] | None = None,
) -> Array:
    """Return the scores of all pairs, as `oracles.embeddings.score` does, but faster."""
    kind = kind_of(queries, entities)
    with np.errstate(all="ignore"):
        q, e = (
            np.ascontiguousarray(widened(x, dtype), np.float64)
            for x in (queries.reshape(-1, queries.shape[-1]), entities)
        )
        added = None if bias is None else widened(bias, dtype).astype(kind, order="C")
        of_queries, of_entities = (np.array(x, kind) for x in csls[:2]) if csls else (None, None)
    work = np.empty(q.size + e.size, kind)
    sums = np.empty(len(q) + len(e))
    out = np.empty((len(q), len(e)), kind)
    sizes = map(ctypes.c_int64, (len(q), len(e), q.shape[1]))
    arrays = (q, e, added, of_queries, of_entities, work, sums, out)
    compute = library().scoresf if kind is np.float32 else library().scores
    compute(similarity.encode(), *sizes, *map(address, arrays))
    return out


def address(array: Array | None) -> Any:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)
