"""What was passed for the sides of a task: vectors and scores, opened and checked; and ranks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..embeddings.vectors import Vectors, read_vectors
from ..inputs.errors import InputTypeError, InputValueError
from ..ranks.container import Ranks
from ..reporting import Report
from ..stores import Store, scores_or_store, shape_of

if TYPE_CHECKING:
    from .._core import Scores
    from ..counting.tiles import Progress

    ProgressCallback = Callable[[Progress], object]


class Argument(NamedTuple):
    """What was passed for a side, and the name of the argument, for messages."""

    name: str
    value: Any


def biases_of(bias: Any, sides: Iterable[str]) -> dict[str, Argument]:
    """Give the bias of each side, with the name for messages.

    Parameters
    ----------
    bias : array_like, mapping of str to array_like, or None
        One for all sides, or by side; a side that is not there has none.
    sides : iterable of str
        The sides that there are.

    Raises
    ------
    ValueError
        For a key that is no side.

    Examples
    --------
    >>> biases_of({"tail": [0.5]}, ("head", "tail"))["tail"]
    Argument(name='bias["tail"]', value=[0.5])
    """
    known = tuple(sides)
    if not isinstance(bias, Mapping):
        return {side: Argument("bias", bias) for side in known}
    for key in bias:
        if key not in known:
            raise InputValueError(
                "bias", expected=f"sides of the task ({', '.join(known)})", got=repr(key)
            )
    return {side: Argument(f'bias["{side}"]', bias.get(side)) for side in known}


def read_side_vectors(argument: Argument, role: str, dtype: Any, height: int, what: str) -> Vectors:
    """Open vectors and check their shape; whatever takes vectors takes what this gives.

    Parameters
    ----------
    argument : Argument
        The vectors, as `rank_embeddings` takes them.
    role : {"queries", "entities"}
        What that calls them.
    dtype : str or dtype, optional
        As there.
    height : int
        How many rows there must be.
    what : str
        What there is a row for.

    Raises
    ------
    TypeError, ValueError, OSError
        For what is no matrix of that height; the message has the argument's name.

    Examples
    --------
    >>> read_side_vectors(Argument("tails", [[0.5, 1.0]]), "queries", None, 1, "query").array.shape
    (1, 2)
    """
    vectors = read_vectors(argument.name, argument.value, dtype, role)
    shape = vectors.array.shape
    if len(shape) != 2 or shape[0] != height:
        expected = f"vectors of shape ({height}, d), a row for each {what}"
        raise InputValueError(argument.name, expected=expected, got=shape)
    return vectors


@contextmanager
def open_side_scores(
    argument: Argument, dtype: Any, io: str | None, always: bool, shape: tuple[int, int], what: str
) -> Iterator[Scores | Store]:
    """Open scores that are in memory or in files, and check their shape.

    Parameters
    ----------
    argument : Argument
        The scores, as `rank` takes them.
    dtype, io
        As in `rank`.
    always : bool
        Whether scores in memory are to be a store, too.
    shape : tuple of int
        The shape they must have.
    what : str
        What there is a row for.

    Examples
    --------
    >>> scores = Argument("tail_scores", [[0.5, 1.0]])
    >>> with open_side_scores(scores, None, None, False, (1, 2), "query") as matrix:
    ...     matrix.dtype
    'float64'
    """
    name, value = argument
    with scores_or_store(value, dtype, name, io=io, tiled=always) as found:
        got = shape_of(found)
        if got != shape:
            each = f"a row for each {what} and a column for each candidate"
            expected = f"scores of shape {shape}, {each}"
            raise InputValueError(name, expected=expected, got=got)
        yield found


def split_progress(
    progress: ProgressCallback | None, scores: Sequence[Any]
) -> list[ProgressCallback | None]:
    """Make what tells of the bytes of each of several stores, as of one long count of all.

    Parameters
    ----------
    progress : callable, optional
        What is told.
    scores : sequence of Store
        In the order in which they will be counted.
    """
    if progress is None:
        return [None] * len(scores)
    sizes = [store.nbytes for store in scores]
    start = time.monotonic()

    def part(before: int) -> ProgressCallback:
        def show(done: Progress) -> object:
            seconds = time.monotonic() - start
            told = done._replace(done=before + done.done, total=sum(sizes), seconds=seconds)
            return progress(told)

        return show

    return [part(sum(sizes[:i])) for i in range(len(sizes))]


def ranks_of(name: str, value: object) -> Ranks:
    """Give the ranks of a Report, or Ranks themselves.

    Raises
    ------
    TypeError
        For anything else, and for a report that was read from JSON and has none.

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
