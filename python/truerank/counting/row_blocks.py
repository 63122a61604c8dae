"""Blocks of rows: ranks of scores that a model makes batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._core import Scores
from ..inputs.arrays import as_array
from ..inputs.errors import InputError, InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..ranks.container import Ranks, concatenate
from ..stores import Store, owned, read_scores
from .ranking import rank

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy.typing as npt


SELECTIONS = ("filter", "candidates")
ARGUMENTS = ("scores", "targets", "rows", *SELECTIONS)

ArgumentName = Callable[[int, str], str]  # returns what messages call an argument of block i


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
        were handed over: a producer that fills one buffer again and again has to hand over copies.
        Read-only arrays may be the same every time. All other arguments may change.
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
    return rank_named_blocks(blocks, block_argument_name, **options)


def rank_named_blocks(
    blocks: Iterable[Any],
    name: ArgumentName,
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count the ranks of blocks as `rank_blocks` does, with the caller's names in messages.

    Parameters
    ----------
    blocks : iterable
        As in `rank_blocks`.
    name : callable
        A function of the number of a block and an argument's name; it returns what errors call that
        argument of that block.
    **options
        As in `rank_blocks`.
    """
    from concurrent.futures import ThreadPoolExecutor

    rules = read_rules(options)  # before the producer works in vain
    of_block: RuleOptions = {**options, "progress": None}
    listener, counted = as_listener(rules.progress), list[Ranks]()
    start, known = time.monotonic(), len(blocks) if isinstance(blocks, Sized) else 0

    def report() -> None:
        if listener is not None:
            seconds = time.monotonic() - start
            listener(Progress(len(counted), known, seconds, unit="blocks"))

    def add(ranks: Ranks) -> None:
        counted.append(ranks)
        report()

    if known:
        report()
    selected: set[str] | None = None
    before: Any = None
    with ThreadPoolExecutor(1, thread_name_prefix="truerank-count") as executor:
        running: Future[Ranks] | None = None
        for number, block in enumerate(blocks):
            given = _arguments(number, block)
            with _naming_block(name, number):
                value = given.pop("scores")
                scores = read_scores(value, rules.dtype)
                memory = _memory_of(scores, value)
            selections = {key for key in SELECTIONS if given.get(key) is not None}
            selected = selections if selected is None else selected
            for key in sorted(selected ^ selections):
                article = "a filter" if key == "filter" else key
                raise InputValueError(
                    "blocks", expected=f"{article} in all or none, unlike block {number}"
                )
            if _share_memory(memory, before):
                expected = "memory other than that of the block before, which is counted meanwhile"
                raise InputValueError(name(number, "scores"), expected=expected)
            if running is not None:
                add(running.result())
            with _naming_block(name, number):
                arguments = {key: _copy_argument(key, value) for key, value in given.items()}
            own = owned(scores, value)
            running = executor.submit(
                _rank_block, name, number, own, scores, **arguments, **of_block
            )
            before = memory
            del scores, memory, value, own, block
        if running is None:
            raise InputValueError("blocks", expected="at least one block", got="none")
        known = len(counted) + 1  # now it is known in any case
        add(running.result())
    return concatenate(counted)


def _arguments(number: int, block: Any) -> dict[str, Any]:
    """Return the arguments of `rank` that a block contains."""
    if isinstance(block, Mapping):
        missing = {"scores", "targets"} - set(block)
        if missing or set(block) - set(ARGUMENTS):
            raise InputTypeError(
                "blocks",
                expected=(
                    f"scores, targets and perhaps rows, filter, candidates, block {number} has "
                    f"{', '.join(map(str, block)) or 'nothing'}"
                ),
            )
        return dict(block)
    if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
        got = f"of {len(block)} members" if isinstance(block, (tuple, list)) else type(block)
        expected = f"(scores, targets) or (scores, targets, filter), block {number} is {got}"
        raise InputTypeError("blocks", expected=expected)
    return dict(zip(("scores", "targets", "filter"), block, strict=False))


def _copy_argument(name: str, value: Any) -> Any:
    """Copy targets, or a filter in any form, so that the producer may change its own."""
    if isinstance(value, (list, tuple)):
        return type(value)(_copy_argument(name, item) for item in value)
    if hasattr(value, "tocsr"):
        return value.copy()
    return as_array(value, name).copy() if hasattr(value, "__array__") else value


def _memory_of(scores: Scores | Store, value: Any) -> npt.NDArray[Any] | Store | None:
    """Return the memory of scores if a producer could fill it again."""
    if isinstance(scores, Store):
        return scores
    # A producer cannot fill again what is read-only, such as one row that is broadcast to all.
    is_fixed = isinstance(value, (np.ndarray, Scores)) and not scores.array.flags.writeable
    return None if is_fixed or isinstance(value, (list, tuple)) else scores.array


def _share_memory(memory: Any, before: Any) -> bool:
    """Whether two blocks have memory in common, as far as a quick check can tell."""
    if isinstance(memory, Store) and isinstance(before, Store):
        return 0 != memory.address == before.address
    if not (isinstance(memory, np.ndarray) and isinstance(before, np.ndarray)):
        return False
    try:
        return np.shares_memory(memory, before, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _rank_block(
    name: ArgumentName,
    number: int,
    own: AbstractContextManager[object],
    *args: Any,
    **keywords: Any,
) -> Ranks:
    """Rank a block, and close what was opened for it; errors name its arguments as `name` does."""
    with _naming_block(name, number), own:
        return rank(*args, **keywords)


@contextmanager
def _naming_block(name: ArgumentName, number: int) -> Iterator[None]:
    """Let errors of bad input name the block."""
    try:
        yield
    except InputError as error:
        raise error.of(name(number, error.argument)) from error
