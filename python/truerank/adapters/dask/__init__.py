"""Ranks on many machines: counts the chunks of a Dask array of scores or vectors on their workers.

`rank` is `truerank.rank` for a matrix of scores in chunks of rows, of columns, or of both.
`rank_embeddings` is `truerank.rank_embeddings` for entities in chunks. Both give the same integers
as these functions, bit for bit, for any chunks, workers and scheduler. They use the scheduler that
Dask would use: that of the current `distributed.Client`, or the one that `dask.config` names.

**Two passes.** First, every chunk that holds a true candidate gives its true scores, one number for
each task, and only these are gathered. Then every chunk is compared with them on its worker, and
gives a few integers for each task, which are added up in a tree. A chunk that is read or made
block by block (`from_zarr`, `from_array`, `map_blocks` and arithmetic on them) exists only within
the task that counts it: it never leaves its worker, which holds one chunk for each of its threads.

**Chunks are read twice.** Chunks that hold a true candidate are read, or computed, once in each
pass. If that is expensive and the workers have enough memory, call ``array = array.persist()``
first; this module never does so itself. A chunk that differs the second time is an error.

**Threads.** Each task of Dask counts with one thread unless `threads` says otherwise, because Dask
runs as many tasks at once as its workers have threads.

**Failures.** Tasks have no side effects. If a worker dies, Dask repeats its tasks on other workers,
and the integers are the same.
"""

from __future__ import annotations

from ...inputs.naming import import_extra

import_extra("dask.array", "truerank.adapters.dask", extra="dask")

from .dask_arrays import rank, rank_embeddings  # noqa: E402  # Dask is installed

__all__ = ["rank", "rank_embeddings"]
