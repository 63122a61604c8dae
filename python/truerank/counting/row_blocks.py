"""Blocks of rows: ranks of scores that a model makes batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .._core import Scores
from ..errors import InputError, InputTypeError, InputValueError
from ..inputs.array_likes import as_array, is_tensor
from ..inputs.checks import is_iterable
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..naming import public
from ..ranks.container import Ranks
from ..ranks.joining import join_ranks
from ..stores import Store, owned, read_scores
from ..stores.on_device import DeviceStore
from .driver import Counting, begin_count, is_counted_in_order, prepare_where_they_are
from .ranking import rank
from .sources import source_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..inputs.rules import Rules

ARGUMENTS = ("scores", "targets", "filter", "rows", "candidates")

# It returns what messages call an argument of block i.
ArgumentName = Callable[[int, str], str]


def block_argument_name(number: int, argument: str) -> str:
    """Return what messages call an argument of a block.

    Examples
    --------
    >>> block_argument_name(3, "targets")
    'blocks: block 3: targets'
    """
    return f"blocks: block {number}: {argument}"


@public("truerank")
@with_options(RuleOptions)
def rank_blocks(
    blocks: Iterable[tuple[Any, ...] | Mapping[str, Any]],
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count the ranks of blocks of rows; the next block is made while one is counted.

    Each block is ranked by `rank` in a thread of its own, while this thread asks for the next one.
    The two run at the same time where the producer releases the GIL, as numpy and torch do in large
    operations. At most two blocks are in memory. The ranks do not depend on the timing.

    Parameters
    ----------
    blocks : iterable of (scores, targets), (scores, targets, filter), or mappings
        The arguments of `rank`; the filter may be None. A mapping has arguments by name: "scores",
        "targets" and perhaps "rows", "filter" and "candidates". Scores must not change after they
        were handed over: a producer that fills one buffer again and again has to hand over copies,
        unless a kernel counts it on a device (see Notes). Read-only arrays may be the same every
        time. All other arguments may change.
    order, nan, dtype, threads, audit
        As in `rank`.
    progress : callable or bool, optional
        Called with a `Progress` after each block, in blocks; their number is known in all if
        `blocks` has a length. True: a bar of tqdm.

    Returns
    -------
    Ranks
        The ranks of all blocks, in order.

    Raises
    ------
    TypeError, ValueError
        As `rank` does, with the number of the block. Also if a block lies in the memory of the one
        before, which may still be counted, and if there are no blocks. What the iterable itself
        raises is passed on.

    Notes
    -----
    Scores on a device that has kernels for them are counted in the order of the current stream, and
    one block is prepared while the device counts the one before. A buffer may be filled again, on
    that stream.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> def batches():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(3):
    ...         yield rng.random((4, 10)), rng.integers(0, 10, 4)
    >>> len(tr.rank_blocks(batches()))
    12
    """
    rules = read_rules(options)  # Faults are found before the producer works in vain.
    if isinstance(blocks, (str, bytes, Mapping)) or not is_iterable(blocks):
        expected = "an iterable of blocks, each (scores, targets)"
        raise InputTypeError("blocks", expected=expected, got=type(blocks).__name__)
    total = len(blocks) if isinstance(blocks, Sized) else 0
    read = _read_blocks(blocks, rules)
    return rank_read_blocks(read, block_argument_name, total, **options)


class Block(NamedTuple):
    """A block that is to be counted: its scores, as given and as read, and its other arguments."""

    given: Any
    scores: Scores | Store
    tasks: dict[str, Any]

    def begin(self, executor: Executor, options: RuleOptions) -> Callable[[], Ranks]:
        """Begin to rank the block, on a thread unless a device counts it in order."""
        if is_counted_in_order(self.scores, read_rules(options)):
            return begin_rank(self.scores, **self.tasks, **options).wait
        return executor.submit(self._rank, options).result

    def _rank(self, options: RuleOptions) -> Ranks:
        with owned(self.scores, self.given):
            return rank(self.scores, **self.tasks, **options)


def begin_rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[RuleOptions],
) -> Counting[Ranks]:
    """Begin to rank as `rank` does; only a device that reads scores in order still counts then.

    The scores may be written again by what is given to their stream later, and so may all else.
    What is wrong is raised here, but for what a device finds: a forbidden NaN, and a wrong target
    that is there. These come to whoever waits.

    Examples
    --------
    >>> begin_rank([[0.1, 0.9, 0.5]], [2]).wait().optimistic
    array([2])
    """
    rules = read_rules(options)
    read = read_scores(scores, rules.dtype)
    if not is_counted_in_order(read, rules):
        with owned(read, scores):
            selections = {"filter": filter, "candidates": candidates}
            ranks = rank(read, targets, rows=rows, **selections, **options)
        return Counting(lambda: ranks, len(ranks), is_pending=False)
    given = {"targets": targets, "rows": rows, "filter": filter, "candidates": candidates}
    tasks = {name: _own_lists(value) for name, value in given.items()}
    job = prepare_where_they_are(read, tasks, rules)
    counting = begin_count(source_of(read), job)

    def wait() -> Ranks:
        counted = counting.wait()
        if counted.fault is not None:
            raise job.error_of(counted.fault)
        return job.ranks(counted.arrays, read.dtype, device=counted.place)

    return Counting(wait, counting.tasks, counting.is_pending)


def _own_lists(value: Any) -> Any:
    """Copy tensors that may be read later, in the order of the stream; a mask is read at once."""
    if type(value) is tuple:
        return tuple(map(_own_lists, value))
    return value.clone() if is_tensor(value) and value.ndim == 1 else value


def rank_read_blocks(
    blocks: Iterable[Block], name: ArgumentName, total: int = 0, **options: Unpack[RuleOptions]
) -> Ranks:
    """Count the ranks of blocks as `rank_blocks` does, with the caller's names in messages.

    Parameters
    ----------
    blocks : iterable of Block
        Whose arguments nobody changes.
    name : callable
        A function of the number of a block and an argument's name; it returns what errors call that
        argument of that block.
    total : int
        The number of blocks; 0 where it is not known.
    **options
        As in `rank_blocks`, and checked.
    """
    from concurrent.futures import ThreadPoolExecutor

    listener = as_listener(options.get("progress"))
    of_block: RuleOptions = {**options, "progress": None}
    rules = read_rules(of_block)
    start = time.monotonic()
    counted: list[Ranks] = []

    def report_progress(total: int) -> None:
        if listener is not None:
            listener(Progress(len(counted), total, time.monotonic() - start, unit="blocks"))

    if total:
        report_progress(total)

    before: Scores | Store | None = None
    waiting: Callable[[], Ranks] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="truerank-count") as executor:
        for number, block in enumerate(blocks):
            if _may_be_refilled(block, before, rules):
                expected = "memory other than that of the block before, which is counted now"
                raise InputValueError(name(number, "scores"), expected=expected)
            try:
                with _naming_block(name, number):
                    begun = block.begin(executor, of_block)
            finally:  # What is wrong with the block before is raised first.
                if waiting is not None:
                    counted.append(waiting())
                    report_progress(total)
            waiting = _naming_block(name, number)(begun)
            before = block.scores
            del block, begun
        if waiting is None:
            raise InputValueError("blocks", expected="at least one block", got="none")
        counted.append(waiting())
    report_progress(len(counted))
    return join_ranks(counted)


def _read_blocks(blocks: Iterable[Any], rules: Rules) -> Iterator[Block]:
    """Read the scores of blocks that a user hands over, and copy their other arguments."""
    for number, block in enumerate(blocks):
        with _naming_block(block_argument_name, number):
            arguments = _arguments(block)
            given = arguments.pop("scores")
            scores = read_scores(given, rules.dtype)
            tasks = arguments
            if not is_counted_in_order(scores, rules):
                tasks = {name: _copied(each, name) for name, each in arguments.items()}
        yield Block(given, scores, tasks)
        del block, arguments, given, scores  # They need no memory while the next one is made.


def _arguments(block: Any) -> dict[str, Any]:
    """Return the arguments of `rank` that a block contains."""
    if isinstance(block, (tuple, list)) and len(block) in (2, 3):
        return dict(zip(ARGUMENTS, block, strict=False))
    if isinstance(block, Mapping) and {"scores", "targets"} <= set(block) <= set(ARGUMENTS):
        return dict(block)
    got: object = list(block) if isinstance(block, Mapping) else type(block).__name__
    expected = f"(scores, targets), (scores, targets, filter), or these and {ARGUMENTS[3:]} by name"
    raise InputTypeError("arguments", expected=expected, got=got)


def _copied(value: Any, name: str) -> Any:
    """Copy targets, or a filter in any form, so that the producer may change its own."""
    if isinstance(value, list):
        return [_copied(member, name) for member in value]
    if isinstance(value, tuple):  # Named tuples become plain ones.
        return tuple(_copied(member, name) for member in value)
    # The names of a pandas object are looked at later, so it stays one.
    if hasattr(value, "tocsr") or hasattr(value, "iloc"):
        return value.copy()
    if hasattr(value, "__array__"):
        return as_array(value, name).copy()
    return value


def _may_be_refilled(block: Block, before: Scores | Store | None, rules: Rules) -> bool:
    """Whether two blocks have memory in common that a producer could fill before it is read."""
    scores = block.scores
    if isinstance(scores, Store):
        if scores.address == 0:  # It is not in memory.
            return False
        if not isinstance(before, Store) or scores.address != before.address:
            return False
        return not _are_in_order(scores, before, rules)
    # Nobody fills again what is read-only, such as one row that is broadcast to all.
    is_fixed = isinstance(block.given, (np.ndarray, Scores)) and not scores.array.flags.writeable
    if is_fixed or not isinstance(before, Scores):
        return False
    return np.shares_memory(scores.array, before.array, max_work=100_000)  # type: ignore[arg-type]


def _are_in_order(scores: Store, before: Store, rules: Rules) -> bool:
    """Whether the block before is read by what was given to the stream of this one."""
    if not isinstance(scores, DeviceStore) or not is_counted_in_order(before, rules):
        return False
    return scores.stream is not None and scores.stream.is_same(before.stream)


@contextmanager
def _naming_block(name: ArgumentName, number: int) -> Iterator[None]:
    """Let errors of bad input name the block."""
    try:
        yield
    except InputError as error:
        raise error.of(name(number, error.argument)) from error
