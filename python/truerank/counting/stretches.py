"""Stretches: the candidates of a block as they come, at once from memory, or in turn from a device.

All tasks are counted in every stretch, so that nothing but the place of its first column changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..stores import Store
from ..stores.base import cut

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores

    Stretch = tuple[int, npt.NDArray[Any]]

STRETCH_BYTES = 32 << 20


@contextmanager
def stretches(scores: Scores | Store) -> Iterator[Iterator[Stretch]]:
    """Give the columns of a block: where each stretch of them begins, and the matrix.

    Of a store the next stretch is made while the one before is counted; a matrix is gone when the
    next is asked for.

    Parameters
    ----------
    scores : Scores or Store, shape (rows, columns) or (columns,)

    Examples
    --------
    >>> from truerank.inputs.scores import as_scores
    >>> with stretches(as_scores([0.1, 0.9])) as found:
    ...     [(left, matrix.shape) for left, matrix in found]
    [(0, (1, 2))]
    """
    if not isinstance(scores, Store):
        matrix = scores.array
        yield iter([(0, matrix if matrix.ndim == 2 else matrix[None, :])])
        return
    from .tiles import blocks_of

    whole_columns = scores.shape[0], 1
    tiles = cut(scores.shape, scores.itemsize, STRETCH_BYTES, by_columns=True, unit=whole_columns)
    with blocks_of(scores, tiles, "map", lambda tile: True) as blocks:

        def made() -> Iterator[Stretch]:
            for tile, context in zip(tiles, blocks, strict=True):
                with context as matrix:
                    yield tile.left, matrix

        yield made()
