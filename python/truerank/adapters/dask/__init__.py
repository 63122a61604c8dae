"""Ranks on many machines: scores or vectors in chunks of a Dask array, counted where they lie.

`rank` is `truerank.rank` for a matrix of scores in chunks of rows, of columns, or of both;
`rank_embeddings` is `truerank.rank_embeddings` for entities in chunks. Both give the integers of
those, bit for bit, for any chunks, workers and scheduler. They compute with the scheduler that Dask
would use: that of the current `distributed.Client`, or the one that `dask.config` names.

**Two passes.** First every chunk that holds a true candidate gives the true scores in it, one
number for each task, and these alone are gathered. Then every chunk is compared with them where it
is, and gives a few integers for each task, which are added up in a tree. Chunks that are read or
made block by block (`from_zarr`, `from_array`, `map_blocks` and arithmetic on them) live within the
task that counts them: they never leave their worker, which holds one for each of its threads.

**Read twice.** Chunks that hold a true candidate are read, or computed, once in each pass. Where
that is dear and the workers have the memory, ``array = array.persist()`` before the call keeps
them; it is never done unasked. Chunks that come out different the second time are an error.

**Threads.** Each task of Dask counts with one thread, unless `threads` says otherwise, for Dask
runs as many tasks side by side as its workers have threads.

**Failures.** Tasks have no side effects. When a worker dies, Dask runs again elsewhere what it had
been doing and what it held, and the integers are the same.
"""

from __future__ import annotations

from ...inputs.naming import import_extra

import_extra("dask.array", "truerank.adapters.dask", extra="dask")

from .dask_arrays import rank, rank_embeddings  # noqa: E402  # what they import is there by now

__all__ = ["rank", "rank_embeddings"]
