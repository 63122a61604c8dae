"""Dumps of sampled evaluations: OGB's dictionaries, and matrices with a column of true scores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counting.sampled import rank_against
from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.naming import printable, public
from ..inputs.scores import as_scores
from ..ranks.container import Ranks
from ..ranks.joining import concatenate
from .evaluation import evaluate_presets, look_up_presets
from .presets import preset
from .scored_tasks import SampledBatch, SampledTasks
from .source_files import load_source
from .toolkit_rows import Preset

if TYPE_CHECKING:
    from ..inputs.words import ScoreOrder
    from .results import CompatReport, CompatTable

_preset = preset

POSITIVE, NEGATIVE = "y_pred_pos", "y_pred_neg"
SIDES = {"head": "head", "head-batch": "head", "tail": "tail", "tail-batch": "tail"}
FORM = f"{POSITIVE} and {NEGATIVE}, or these for each of {', '.join(map(repr, SIDES))}"


@public("truerank.compat")
class Dump:
    """True scores and the scores of their negatives, as a toolkit wrote them; made by `read_ogb`.

    Parameters
    ----------
    parts : sequence of (side, true_scores, others)
        The side is "head", "tail" or None. Either all parts have a side or none has.

    Examples
    --------
    >>> dump = read_ogb({"y_pred_pos": [0.5, 0.2], "y_pred_neg": [[0.1, 0.5], [0.2, 0.3]]})
    >>> dump
    Dump(2 tasks)
    >>> dump.ranks().pessimistic, dump.report()["mrr_list"]
    (array([2, 3]), 0.5333333611488342)
    """

    def __init__(self, parts: Sequence[tuple[str | None, Any, Any]]) -> None:
        self._parts = [SampledBatch(true, others) for _, true, others in parts]
        sides = [side for side, _, _ in parts]
        if None in sides and len(set(sides)) > 1:
            raise InputValueError("parts", expected="a side for all of them or for none")
        self._sizes = [
            as_scores(part.true_scores, name=POSITIVE).array.size for part in self._parts
        ]
        self.side = None if None in sides else np.repeat(np.array(sides, str), self._sizes)

    def __len__(self) -> int:
        return sum(self._sizes)

    def __repr__(self) -> str:
        sides = "" if self.side is None else f", {' + '.join(dict.fromkeys(self.side.tolist()))}"
        return printable(f"Dump({len(self):,} tasks{sides})")

    def ranks(self, **options: Any) -> Ranks:
        """Rank the true scores among their negatives exactly by `rank_against`, labelled by side.

        Parameters
        ----------
        **options
            Options of `rank_against`: order, nan, dtype, threads, audit.

        Returns
        -------
        Ranks
            Their protocol says "sampled".
        """
        with _dump_names():
            found = concatenate([rank_against(*part, **options) for part in self._parts])
        return found if self.side is None else found.with_labels(side=self.side)

    def report(
        self, preset: str | Preset = "ogb", *, order: ScoreOrder = "descending", dtype: Any = None
    ) -> CompatReport:
        """Compute the numbers of a toolkit, as `report_against` does."""
        row = _preset(preset)
        return self._evaluate([row], order, dtype)[row.name]

    def table(
        self,
        presets: Iterable[str | Preset] | None = None,
        *,
        order: ScoreOrder = "descending",
        dtype: Any = None,
    ) -> CompatTable:
        """Compute the numbers of several toolkits, as `table_against` does."""
        return self._evaluate(look_up_presets(presets), order, dtype)

    def _evaluate(self, rows: list[Preset], order: ScoreOrder, dtype: Any) -> CompatTable:
        with _dump_names():
            tasks = SampledTasks(self._parts, order=order, dtype=dtype)
            return evaluate_presets(tasks, rows, self.side)


def _dump_names() -> AbstractContextManager[None]:
    """Let errors about scores name the arrays of the dump."""
    return renamed(true_scores=POSITIVE, others=NEGATIVE)


@public("truerank.compat")
def read_ogb(source: Any, *, pickle: bool = False) -> Dump:
    """Read the input of OGB's link evaluators: ``y_pred_pos`` and ``y_pred_neg``.

    Parameters
    ----------
    source : mapping, sequence of mappings, or path
        ``{"y_pred_pos": (n,), "y_pred_neg": (n, k)}`` of NumPy arrays or torch tensors; or such a
        mapping for each of ``"head-batch"`` and ``"tail-batch"`` (or ``"head"`` and ``"tail"``); or
        a sequence of either, one for each batch. If tasks have different numbers of negatives, they
        are a list of arrays, or flat values beside ``"y_pred_neg_indptr"`` (n + 1,). Flat values
        without it are shared by all tasks, as in ogbl-ppa, ogbl-collab and ogbl-ddi.

        A path is that of a ``.npz`` file (in which "head-batch/y_pred_pos" stands for a nested
        key), or of a ``.pt`` or ``.pth`` file that ``torch.save`` wrote.
    pickle : bool
        Whether a file may run code while it is read: a ``.pkl`` file, object arrays, or a ``.pt``
        file with more than tensors. Use it only for files that you made yourself.

    Returns
    -------
    Dump

    Raises
    ------
    TypeError
        For scores that are not numbers.
    ValueError
        For another layout, and for a file that needs `pickle`.
    ImportError
        If torch is needed but not installed.

    Examples
    --------
    >>> import numpy as np
    >>> sides = {"y_pred_pos": np.array([0.5]), "y_pred_neg": np.array([[0.1, 0.9]])}
    >>> dump = read_ogb({"head-batch": sides, "tail-batch": sides})
    >>> dump, dump.ranks().optimistic
    (Dump(2 tasks, head + tail), array([2, 2]))
    """
    found = load_source(source, pickle=pickle)
    where = f" in {os.fspath(source)}" if isinstance(source, (str, os.PathLike)) else ""
    batches = found if isinstance(found, (list, tuple)) else [found]
    parts = []
    for i, batch in enumerate(batches):
        at = f"{where} of batch {i}" if len(batches) > 1 else where
        if not isinstance(batch, Mapping):
            raise InputValueError("source", expected=f"{FORM}{at}", got=type(batch).__name__)
        parts += _parts(_nested(batch), at)
    if not parts:
        raise InputValueError("source", expected=f"at least one batch{where}", got="none")
    return Dump(parts)


@public("truerank.compat")
def read_joint(source: Any, *, truth: int = 0, pickle: bool = False) -> Dump:
    """Read a matrix that has the true score in one column and the negatives in the others.

    Batches have this form in RotatE's code and its descendants: ``score[:, 0]``, ``score[:, 1:]``.

    Parameters
    ----------
    source : array_like, shape (n, 1 + k), or path
        Scores, or the path of a ``.npy`` file, which is opened as a memory map.
    truth : int
        The column of the true score: 0 for the first, -1 for the last.
    pickle : bool
        As in `read_ogb`.

    Returns
    -------
    Dump

    Raises
    ------
    ValueError
        For another shape or column.

    Examples
    --------
    >>> read_joint([[0.5, 0.1, 0.9], [0.2, 0.2, 0.1]]).ranks().realistic
    array([2. , 1.5])
    """
    found = load_source(source, pickle=pickle)
    shape = as_scores(found, name="source").array.shape
    if len(shape) != 2 or shape[1] < 1:
        raise InputValueError(
            "source", expected="a matrix (tasks, 1 + negatives)", got=f"shape {shape}"
        )
    if isinstance(truth, (bool, float)) or truth not in (0, -1, shape[1] - 1):
        raise InputValueError(
            "truth", expected="the first column (0) or the last (-1)", got=repr(truth)
        )
    matrix = found if hasattr(found, "shape") else np.asarray(found)
    others = matrix[:, 1:] if truth == 0 else matrix[:, :-1]
    return Dump([(None, matrix[:, truth], others)])


def _nested(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keys with a slash to nested mappings."""
    found: dict[str, Any] = {}
    for key, value in batch.items():
        outer, slash, inner = str(key).rpartition("/")
        if slash and isinstance(found.setdefault(outer, {}), dict):
            found[outer][inner] = value
        else:
            found[str(key)] = value
    return found


def _parts(batch: dict[str, Any], where: str) -> list[tuple[str | None, Any, Any]]:
    if POSITIVE in batch or NEGATIVE in batch:
        return [(None, *_pair(batch, where))]
    if not batch or not set(batch) <= set(SIDES):
        raise InputValueError(
            "source", expected=f"{FORM}{where}", got=", ".join(batch) or "no keys"
        )
    parts: list[tuple[str | None, Any, Any]] = []
    for name, value in batch.items():
        if not isinstance(value, Mapping):
            raise InputValueError(
                "source",
                expected=f"{POSITIVE} and {NEGATIVE} for {name!r}{where}",
                got=type(value).__name__,
            )
        parts.append((SIDES[name], *_pair(value, f" of {name!r}{where}")))
    return parts


def _pair(batch: Mapping[str, Any], where: str) -> tuple[Any, Any]:
    missing = [key for key in (POSITIVE, NEGATIVE) if key not in batch]
    if missing:
        raise InputValueError("source", expected=f"{missing[0]}{where}", got=", ".join(batch))
    true, others = batch[POSITIVE], batch[NEGATIVE]
    shape = as_scores(true, name=POSITIVE).array.shape
    if len(shape) != 1:
        raise InputValueError(POSITIVE, expected=f"shape (n,){where}", got=shape)
    indptr = batch.get(f"{NEGATIVE}_indptr")
    if indptr is not None:
        return true, (others, indptr)
    if isinstance(others, tuple) and len(others) == 2:
        return true, others
    if _is_ragged(others):
        return true, _flatten(others, shape[0], where)
    found = as_scores(others, name=NEGATIVE).array
    if found.ndim == 1:  # one list for all tasks
        if hasattr(others, "expand"):
            return true, others.expand(shape[0], -1)
        return true, np.broadcast_to(np.asarray(others), (shape[0], found.size))
    if len(found) != shape[0]:
        expected = f"{shape[0]} rows{where}, one for each of {POSITIVE}"
        raise InputValueError(NEGATIVE, expected=expected, got=f"shape {found.shape}")
    return true, others


def _is_ragged(others: Any) -> bool:
    if isinstance(others, np.ndarray):
        return bool(others.dtype == object)
    if not isinstance(others, (list, tuple)):
        return False
    return len({np.shape(row) for row in others}) > 1 or any(
        hasattr(row, "detach") for row in others
    )


def _flatten(rows: Any, tasks: int, where: str) -> tuple[Any, Any]:
    if len(rows) != tasks:
        expected = f"{tasks} lists{where}, one for each of {POSITIVE}"
        raise InputValueError(NEGATIVE, expected=expected, got=len(rows))
    found = [as_scores(row, name=f"{NEGATIVE}: list {i}") for i, row in enumerate(rows)]
    wrong = [i for i, row in enumerate(found) if row.array.ndim != 1]
    if wrong:
        got = f"shape {found[wrong[0]].array.shape} for task {wrong[0]}"
        raise InputValueError(NEGATIVE, expected=f"flat lists{where}", got=got)
    if any(row.dtype == "bfloat16" for row in found):
        raise InputTypeError(NEGATIVE, expected=f"lists of floats other than bfloat16{where}")
    indptr = np.cumsum([0, *(row.array.size for row in found)])
    return np.concatenate([row.array for row in found]), indptr
