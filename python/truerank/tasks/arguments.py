"""The arguments that users pass for the sides of a task: embeddings, scores and ranks, checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..embeddings.device_embeddings import DeviceVectors, read_in_place
from ..embeddings.vectors import Vectors, score_dtype
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.progress_listeners import BoundedPairs, Progress
from ..ranks.container import Ranks
from ..reporting import Report
from ..stores import Store, scores_or_store, shape_of

if TYPE_CHECKING:
    from .._core import Scores
    from ..inputs.words import IoMode

    ProgressCallback = Callable[[Progress], object]


class Argument(NamedTuple):
    """The value that was passed for a side, and the name of the argument, for messages."""

    name: str
    value: Any


def biases_of(bias: Any, sides: Iterable[str]) -> dict[str, Argument]:
    """Give the bias of each side, with the name for messages.

    Parameters
    ----------
    bias : array_like, mapping of str to array_like, or None
        One for all sides, or one by side; a side that the mapping lacks has none.
    sides : iterable of str
        The sides of the task.

    Raises
    ------
    ValueError
        For a key that is not a side of the task.

    Examples
    --------
    >>> biases_of({"tail": [0.5]}, ("head", "tail"))["tail"]
    Argument(name='bias["tail"]', value=[0.5])
    """
    side_names = tuple(sides)
    if not isinstance(bias, Mapping):
        return {side: Argument("bias", bias) for side in side_names}
    for key in bias:
        if key not in side_names:
            raise InputValueError(
                "bias", expected=f"sides of the task ({', '.join(side_names)})", got=repr(key)
            )
    return {side: Argument(f'bias["{side}"]', bias.get(side)) for side in side_names}


def read_side_vectors(
    argument: Argument, role: str, dtype: Any, height: int, row_noun: str
) -> Vectors | DeviceVectors:
    """Open embeddings and check their shape. Every function that takes embeddings takes the result.

    Parameters
    ----------
    argument : Argument
        The embeddings, as `rank_embeddings` takes them.
    role : {"queries", "entities"}
        The argument of `rank_embeddings` that they become.
    dtype : str or dtype, optional
        As in `rank_embeddings`.
    height : int
        The number of rows that they must have.
    row_noun : str
        What a row belongs to, for messages.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything but a matrix of that height; the message has the argument's name.

    Examples
    --------
    >>> read_side_vectors(Argument("tail", [[0.5, 1.0]]), "queries", None, 1, "query").shape
    (1, 2)
    """
    vectors = read_in_place(argument.name, argument.value, dtype, role)
    shape = vectors.shape
    if len(shape) != 2 or shape[0] != height:
        expected = f"vectors of shape ({height}, d), a row for each {row_noun}"
        raise InputValueError(argument.name, expected=expected, got=shape)
    return vectors


def size_of_scores(queries: Vectors | DeviceVectors, entities: Vectors | DeviceVectors) -> int:
    """Return the bytes that the scores of all queries and entities would take."""
    itemsize = np.dtype(score_dtype(queries.dtype, entities.dtype)).itemsize
    return queries.shape[0] * entities.shape[0] * itemsize


@contextmanager
def open_side_scores(
    argument: Argument,
    dtype: Any,
    io: IoMode | None,
    tiled: bool,
    shape: tuple[int, int],
    row_noun: str,
) -> Iterator[Scores | Store]:
    """Open scores that are in memory or in files, and check their shape.

    Parameters
    ----------
    argument : Argument
        The scores, as `rank` takes them.
    dtype, io
        As in `rank`.
    tiled : bool
        Whether scores in memory become a store as well.
    shape : tuple of int
        The shape that they must have.
    row_noun : str
        What a row belongs to, for messages.

    Examples
    --------
    >>> scores = Argument("tail", [[0.5, 1.0]])
    >>> with open_side_scores(scores, None, None, False, (1, 2), "query") as matrix:
    ...     matrix.dtype
    'float64'
    """
    name, value = argument
    with scores_or_store(value, dtype, name, io=io, tiled=tiled) as matrix:
        check_score_shape(name, shape_of(matrix), shape, row_noun)
        yield matrix


def check_score_shape(name: str, got: object, shape: tuple[int, int], row_noun: str) -> None:
    """Check that scores have a row for each query and a column for each candidate."""
    if got != shape:
        each = f"a row for each {row_noun} and a column for each candidate"
        raise InputValueError(name, expected=f"scores of shape {shape}, {each}", got=got)


def split_progress(
    progress: ProgressCallback | None, sizes: Sequence[int]
) -> list[ProgressCallback | None]:
    """Make a callback for each of several counts, so that `progress` sees one count of them all.

    Parameters
    ----------
    progress : callable, optional
        Called with a `Progress` over the bytes of all counts, and what bounds spared so far.
    sizes : sequence of int
        The bytes of scores of the counts, in their order.

    Examples
    --------
    >>> first, second = split_progress(lambda p: print(p.done, "of", p.total), [100, 300])
    >>> second(Progress(60, 300, 0.5))
    160 of 400
    """
    if progress is None:
        return [None] * len(sizes)
    start, ended = time.monotonic(), list[BoundedPairs]()

    def callback_after(before: int) -> ProgressCallback:
        def show(report: Progress) -> object:
            bounds = report.bounds
            if bounds is not None:
                ended.append(bounds)
                sums = (sum(counts) for counts in zip(*(each[1:] for each in ended), strict=True))
                bounds = BoundedPairs(bounds.levels, *sums)
            done, seconds = before + report.done, time.monotonic() - start
            overall = report._replace(done=done, total=sum(sizes), seconds=seconds, bounds=bounds)
            return progress(overall)

        return show

    return [callback_after(sum(sizes[:i])) for i in range(len(sizes))]


def ranks_of(name: str, value: object) -> Ranks:
    """Return the ranks of a Report, or Ranks as they are.

    Raises
    ------
    TypeError
        For anything else, and for a report that was read from JSON, which has no ranks.

    Examples
    --------
    >>> ranks_of("ranks", Ranks([0], [1], 10)).above
    array([0])
    """
    ranks = getattr(value, "ranks", None) if isinstance(value, Report) else value
    if not isinstance(ranks, Ranks):
        got = "a Report without" if isinstance(value, Report) else type(value).__name__
        raise InputTypeError(name, expected="a Report with ranks, or Ranks", got=got)
    return ranks
