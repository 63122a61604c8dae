"""Blocks of rows: ranks of scores that a model makes batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._core import Scores
from ..errors import InputError, InputValueError
from ..inputs.array_likes import is_tensor
from ..inputs.rules import RuleOptions, read_rules
from ..ranks.container import Ranks
from ..ranks.joining import join_ranks
from ..stores import Store, read_scores
from ..stores.on_device import DeviceStore
from .driver import begin_on_device, is_counted_in_order, prepare_where_they_are
from .ranking import rank

if TYPE_CHECKING:
    from ..inputs.rules import Rules

# It returns what messages call an argument of block i.
ArgumentName = Callable[[int, str], str]


def begin_rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[RuleOptions],
) -> tuple[int, Callable[[], Ranks]]:
    """Begin to rank as `rank` does; only a device that reads scores in order still counts then.

    The scores may be written again by what is given to their stream later, and so may all else.
    What is wrong is raised here, but for what a device finds: a forbidden NaN, and a wrong target
    that is there. These come to whoever waits.

    Returns
    -------
    tasks : int
        How many there are.
    finish : callable
        It waits for their ranks.

    Examples
    --------
    >>> tasks, finish = begin_rank([[0.1, 0.9, 0.5]], [2])
    >>> finish().optimistic
    array([2])
    """
    rules = read_rules(options)
    matrix = read_scores(scores, rules.dtype)
    tasks = {"targets": targets, "rows": rows, "filter": filter, "candidates": candidates}
    if not is_counted_in_order(matrix, rules):
        ranks = rank(matrix, **tasks, **options)
        return len(ranks), lambda: ranks
    own_tasks = {name: _own_lists(value) for name, value in tasks.items()}
    job = prepare_where_they_are(matrix, own_tasks, rules)
    finish = begin_on_device(matrix, job)
    assert finish is not None

    def finish_ranks() -> Ranks:
        counts = finish().checked(job)
        return job.ranks(counts.arrays, matrix.dtype, device=counts.place)

    return len(job.targets), finish_ranks


def _own_lists(value: Any) -> Any:
    """Copy tensors that may be read later, in the order of the stream; a mask is read at once."""
    if type(value) is tuple:
        return tuple(map(_own_lists, value))
    return value.clone() if is_tensor(value) and value.ndim == 1 else value


def rank_row_blocks(
    blocks: Iterable[tuple[Scores | Store, dict[str, Any]]],
    name: ArgumentName,
    report_progress: Callable[[int], object],
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Rank blocks of rows; the next block is made while one is counted.

    Each block is ranked by `rank` in a thread of its own, while this thread asks for the next one.
    The two run at the same time where the producer releases the GIL, as numpy and torch do in large
    operations. At most two blocks are in memory. The ranks do not depend on the timing.

    Scores on a device that has kernels for them are counted in the order of the current stream, and
    one block is prepared while the device counts the one before. A buffer may be filled again, on
    that stream.

    Parameters
    ----------
    blocks : iterable of (scores, tasks)
        Scores that were read, which must not change until they are counted, and all other arguments
        of `rank`, which nobody changes. There is one block at least.
    name : callable
        A function of the number of a block and an argument's name; it returns what errors call that
        argument of that block.
    report_progress : callable
        Called with the number of blocks that are counted, after each.
    **options
        As in `rank`, and checked, without `progress`.
    """
    from concurrent.futures import ThreadPoolExecutor

    rules = read_rules(options)
    ranks_of_blocks: list[Ranks] = []
    before: Scores | Store | None = None
    wait: Callable[[], Ranks] | None = None

    def take(ranks: Ranks) -> None:
        ranks_of_blocks.append(ranks)
        report_progress(len(ranks_of_blocks))

    with ThreadPoolExecutor(1, thread_name_prefix="truerank-count") as executor:
        for number, (scores, tasks) in enumerate(blocks):
            if _may_be_refilled(scores, before, rules):
                expected = "memory other than that of the block before, which is counted now"
                raise InputValueError(name(number, "scores"), expected=expected)
            try:
                with _naming_block(name, number):
                    if is_counted_in_order(scores, rules):
                        _, finish = begin_rank(scores, **tasks, **options)
                    else:
                        finish = executor.submit(rank, scores, **tasks, **options).result
            finally:  # What is wrong with the block before is raised first.
                if wait is not None:
                    take(wait())
            wait = _naming_block(name, number)(finish)
            before = scores
            del scores, tasks, finish  # They need no memory while the next one is made.
        if wait is not None:
            take(wait())
    return join_ranks(ranks_of_blocks)


def _may_be_refilled(scores: Scores | Store, before: Scores | Store | None, rules: Rules) -> bool:
    """Whether two blocks have memory in common that a producer could fill before it is read."""
    if isinstance(scores, Store):
        if scores.address == 0:  # It is not in memory.
            return False
        if not isinstance(before, Store) or scores.address != before.address:
            return False
        if not isinstance(scores, DeviceStore) or not is_counted_in_order(before, rules):
            return True
        # What was given to the stream of this one reads the block before.
        return not scores.stream.is_same(before.stream)
    # Nobody fills again what is read-only, such as one row that is broadcast to all.
    if not scores.array.flags.writeable or not isinstance(before, Scores):
        return False
    return np.shares_memory(scores.array, before.array, max_work=100_000)  # type: ignore[arg-type]


@contextmanager
def _naming_block(name: ArgumentName, number: int) -> Iterator[None]:
    """Let errors of bad input name the block."""
    try:
        yield
    except InputError as error:
        error.argument = name(number, error.argument)
        raise
