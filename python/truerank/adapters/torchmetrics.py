"""TrueRankMetric: ranks as a metric of torchmetrics, for training loops of torch and Lightning.

It needs torchmetrics: ``pip install '.[torchmetrics]'`` in the checkout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import InputTypeError, InputValueError, Protocol, Ranks, Report, rank, report
from ..metrics.keys import parse
from . import import_extra

Metric: Any = import_extra("torchmetrics", "truerank.adapters.torchmetrics").Metric
torch: Any = import_extra("torch", "truerank.adapters.torchmetrics", "torchmetrics")

__all__ = ["TrueRankMetric"]

DEFAULT_METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10", "amri")
IDS = ("side", "tasks", "queries", "relation")
# The state has these columns and one row for each task.
COLUMNS = ("above", "tied", "candidates", "side", "tasks", "queries", "relation", "rules")
SIDE_AND_TASKS = [COLUMNS.index("side"), COLUMNS.index("tasks")]
NO_COUNTS = np.zeros((0, len(COLUMNS)), np.int64)
# The bits of `rules`: how the task was counted, which ids it has, whether it begins an update.
FLAGS = ("filter", "selection", "ascending", "worst", "omit", *IDS, "begins")
BITS = {flag: 1 << bit for bit, flag in enumerate(FLAGS)}


class TrueRankMetric(Metric):
    """The rank of the true candidate, counted batch by batch without storing scores.

    The state is a list of int64 rows (the counts and ids of each task), which torchmetrics gathers
    from all processes. `compute` gives the metrics of all tasks of all processes.

    Parameters
    ----------
    metrics : str or sequence of str
        The keys of the result of `compute`, as in a `Report`: "mrr", "tail.hits@10", "macro.amri".
        For a single str, `compute` returns a scalar tensor, which Lightning's ``self.log("mrr",
        metric)`` takes; else a dict of floats by key.
    sides : sequence of str
        The values that `side` may have in `update`, in the same order in every process.
    by : str, optional
        The groups for "macro." keys, as in `report`: "relation", "side" or "query".
    order, nan, dtype, threads
        As in `rank`.
    **kwargs
        Arguments of `torchmetrics.Metric`, such as `dist_sync_on_step`.

    Raises
    ------
    ImportError
        If torchmetrics is not installed.
    KeyError
        For a key that no report has.
    TypeError
        If the sides are a single str.
    ValueError
        For an unknown rule or grouping, and for repeated sides.

    Notes
    -----
    If samples cannot be split evenly among processes, a DistributedSampler repeats some of them,
    and these count twice. With `tasks`, an id for each task of a side, an id that an earlier update
    had does not count. Repeats within one update do, as BootStrapper draws them.

    A wrapper that keeps no lists, as Running does, loses the state: `compute` raises then.

    Examples
    --------
    >>> metric = TrueRankMetric(["mrr", "tail.hits@1"], sides=("head", "tail"))
    >>> metric.update(torch.tensor([[0.1, 0.9, 0.5]]), torch.tensor([2]), side="tail")
    >>> metric.update(torch.tensor([[0.7, 0.2, 0.2]]), torch.tensor([0]), side="head")
    >>> metric.compute()
    {'mrr': 0.75, 'tail.hits@1': 0.0}
    >>> metric.ranks.optimistic
    array([2, 1])

    One key, and a scalar:

    >>> metric = TrueRankMetric("mrr")
    >>> metric(torch.tensor([[0.1, 0.9, 0.5]]), torch.tensor([2]))
    tensor(0.5000, dtype=torch.float64)
    >>> metric
    TrueRankMetric('mrr'; tasks: 1; descending, nan raise)
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metrics: str | Sequence[str] = DEFAULT_METRICS,
        *,
        sides: Sequence[str] = (),
        by: str | None = None,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.is_scalar = isinstance(metrics, str)
        if isinstance(metrics, str):
            metrics = [metrics]
        self.metrics = tuple(metrics)
        self.by = by
        # Wrong sides, rules, keys and groups are refused now, by calls without tasks.
        label = Ranks([], [], [], side=([], sides)).side
        self.sides = () if label is None else label.vocabulary or ()
        self.rules: Any = {"order": order, "nan": nan, "threads": threads}
        rank(np.zeros((0, 1)), [], **self.rules)
        self.rules["dtype"] = dtype
        self.add_state("counts", default=[], dist_reduce_fx="cat")
        report(self.ranks, by=by)[list(dict.fromkeys(self.metrics))]

    def update(
        self,
        scores: Any,
        targets: Any,
        *,
        rows: Any = None,
        filter: Any = None,
        candidates: Any = None,
        side: str | None = None,
        tasks: Any = None,
        queries: Any = None,
        relation: Any = None,
    ) -> None:
        """Count a batch.

        Parameters
        ----------
        scores, targets, rows, filter, candidates
            As in `rank`; tensors on any device.
        side : str, optional
            The predicted side, one of `sides`.
        tasks : array_like of int, shape (n,), optional
            Ids of the tasks. A task whose id and side an earlier update had does not count, and
            ranks are in the order of ids.
        queries, relation : array_like of int, shape (n,), optional
            Labels of the ranks.

        Raises
        ------
        TypeError, ValueError, OSError
            As `rank` does, for a side that was not declared, and for ids that do not fit the tasks.
            The state is then unchanged.
        """
        selections = {"rows": rows, "filter": filter, "candidates": candidates}
        ranks = rank(scores, targets, **selections, **self.rules)
        number = len(ranks)
        labels = {"tasks": tasks, "queries": queries, "relation": relation}
        if side is not None:
            if side not in self.sides:
                expected = f"one of {self.sides}, as declared"
                raise InputValueError("side", expected=expected, got=repr(side))
            labels["side"] = np.full(number, self.sides.index(side))
        flags: list[str] = [self.rules["order"], self.rules["nan"]]
        if filter is not None:
            flags.append("filter")
        if candidates is not None:
            flags.append("selection")
        table = np.zeros((number, len(COLUMNS)), np.int64)
        table[:, :3] = np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1)
        for name, ids in labels.items():
            if ids is None:
                continue
            array = np.asarray(ids.cpu() if isinstance(ids, torch.Tensor) else ids)
            if array.shape != (number,) or (number and array.dtype.kind not in "iu"):
                expected = f"{number} integers, one for each task"
                got = f"dtype {array.dtype}, shape {array.shape}"
                raise InputValueError(name, expected=expected, got=got)
            flags.append(name)
            table[:, COLUMNS.index(name)] = array
        table[:, -1] = sum(BITS.get(flag, 0) for flag in flags)  # Defaults have no bit.
        table[:1, -1] |= BITS["begins"]
        self.counts.append(torch.from_numpy(table).to(self.device))

    def compute(self) -> Any:
        """Return the metrics of the tasks of all processes; without tasks they are nan.

        Returns
        -------
        tensor of float64, shape (), or dict of str to float
            A scalar if the metric was made for one key, else the values by key. It is on the device
            of the metric (of float32 on "mps", which has no float64).
        """
        measured = report(self.ranks, by=self.by)
        values = {key: float(measured[key]) for key in self.metrics}
        if self.is_scalar:
            return self._tensor(values[self.metrics[0]])
        return values

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw results of `compute` or `forward`, or a list of them as steps; needs matplotlib.

        Parameters
        ----------
        val : optional
            A result or a list of results. Default: that of `compute`.
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new figure of pyplot, which notebooks show.

        Returns
        -------
        tuple
            The figure (None if `ax` is given) and the axes, as for any metric of torchmetrics.

        Raises
        ------
        TypeError
            For anything but Axes.

        Examples
        --------
        >>> metric = TrueRankMetric(["mrr", "hits@1"])
        >>> steps = [metric(torch.tensor([[0.1, 0.9, 0.5]]), [column]) for column in (2, 1)]
        >>> figure, axes = metric.plot(steps)
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['mrr', 'hits@1']
        """
        if ax is not None and not hasattr(ax, "get_lines"):
            raise InputTypeError("ax", expected="Axes of matplotlib", got=type(ax).__name__)
        if val is None:
            val = self.compute()
        figure, axes = self._plot(self._tensors(val), ax)
        axes.set_ylabel(self.metrics[0] if len(self.metrics) == 1 else "")
        return figure, axes

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better; None for several keys, and where neither is."""
        if len(self.metrics) > 1:
            return None
        return parse(self.metrics[0]).increasing

    def __repr__(self) -> str:
        keys = ", ".join(map(repr, self.metrics))
        tasks = sum(map(len, self._tables()))
        rules = f"{self.rules['order']}, nan {self.rules['nan']}"
        return f"{type(self).__name__}({keys}; tasks: {tasks:,}; {rules})"

    def _tensors(self, values: Any) -> Any:
        """Make tensors of floats, as torchmetrics draws them."""
        if isinstance(values, (list, tuple)):
            return list(map(self._tensors, values))
        if isinstance(values, Mapping):
            return {key: self._tensor(value) for key, value in values.items()}
        return self._tensor(values)

    def _tensor(self, value: Any) -> Any:
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        return torch.as_tensor(value, dtype=dtype, device=self.device)

    def report(self, **options: Any) -> Report:
        """Return the report of the tasks of all processes; every process must call this method.

        `options` are those of `truerank.report`. If ``sync_on_compute=False``, the report has only
        the tasks of this process, as for `compute`.
        """
        fresh = self.sync_on_compute and not self._is_synced
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=fresh, should_unsync=fresh
        ):
            ranks = self.ranks
        options.setdefault("by", self.by)
        # The report is made after the context, so that an error leaves the metric unsynced.
        return report(ranks, **options)

    @property
    def ranks(self) -> Ranks:
        """The ranks of this process, or of all of them while the metric is synchronised.

        Raises
        ------
        ValueError
            If only some updates had a filter, candidates, a side or ids, or if rules differ; if a
            wrapper has lost the state.
        """
        if self._update_count and not self._tables():
            expected = "the state of all updates"
            got = "no state: this wrapper, like Running, keeps no states that are lists"
            raise InputValueError("counts", expected=expected, got=got)
        table = np.concatenate([NO_COUNTS, *(each.cpu().numpy() for each in self._tables())])
        # The rules of the updates and what they were given must be the same in all.
        bits_of_rows = table[:, -1] & ~BITS["begins"]
        if len(table) and (bits_of_rows != bits_of_rows[0]).any():
            expected = "the same rules, and a filter, candidates, a side and ids in all updates or "
            expected += "none"
            raise InputValueError("update", expected=expected)
        flags = {flag for flag in FLAGS if (bits_of_rows[:1] & BITS[flag]).any()}
        labelled = flags.intersection(IDS)
        if not len(table):  # Before the first update, any key and group must be possible.
            labelled = {"queries", "relation", "side"} if self.sides else {"queries", "relation"}
        if "tasks" in labelled:
            table = table[find_first_updates(table)]
        columns = dict(zip(COLUMNS, table.T, strict=True))
        labels: dict[str, Any] = {name: columns[name] for name in labelled - {"side", "tasks"}}
        if "side" in labelled:
            labels["side"] = columns["side"], self.sides
        facts: dict[str, Any] = {"nan": self.rules["nan"], "order": self.rules["order"]}
        if "filter" in flags:
            facts["filter"] = ("unnamed",)
        if "selection" in flags:
            facts["candidates"] = "selection"
        counts = [columns[name] for name in ("above", "tied", "candidates")]
        return Ranks(*counts, protocol=Protocol(**facts), **labels)

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the states of all processes; a process without tasks adds an empty state."""
        if not self._update_count and isinstance(self.counts, list) and not self.counts:
            self.counts.append(torch.from_numpy(NO_COUNTS).to(self.device))
        super().sync(*args, **kwargs)

    def _tables(self) -> list[Any]:
        """Return the state as a list; it is one tensor while the metric is synchronised."""
        if isinstance(self.counts, list):
            return self.counts
        return [self.counts]


def find_first_updates(table: Any) -> Any:
    """Return the rows that count, by side and id: of each pair of these, its first update's."""
    columns = dict(zip(COLUMNS, table.T, strict=True))
    order = np.lexsort((columns["tasks"], columns["side"]))  # Earlier rows of an id go first.
    is_first = np.ones(len(order), bool)
    is_first[1:] = np.diff(table[order][:, SIDE_AND_TASKS], axis=0).any(axis=1)
    begins = (columns["rules"] & BITS["begins"]) != 0
    update = np.cumsum(begins)[order]
    task = np.cumsum(is_first) - 1
    first_update = update[is_first]
    return order[update == first_update[task]]
