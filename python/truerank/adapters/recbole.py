"""RankEvaluator: RecBole's metrics from ranks that are counted, where RecBole sorts every row.

It needs RecBole: ``pip install '.[recbole]'`` in the checkout.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from .. import Ranks, concatenate, rank, report
from . import import_extra

recbole: Any = import_extra("recbole.evaluator", "truerank.adapters.recbole")
torch: Any = import_extra("torch", "truerank.adapters.recbole", "recbole")

__all__ = ["RankEvaluator"]

# These are the keys of a report, by RecBole's names; most have a cutoff.
KEYS = {name: f"{name}@" for name in ("mrr", "ndcg", "recall", "precision")}
KEYS |= {"hit": "success@", "map": "map_min@", "gauc": "gauc", "auc": "auc"}
# RecBole collects these for the metrics above alone, by sorting.
SORTED = ("rec.topk", "rec.meanrank")
RANKS = "truerank.ranks"


class RankEvaluator(recbole.Collector):
    """Both the collector and the evaluator of a trainer of RecBole.

    The positive items of each user are counted batch by batch among all items that the trainer did
    not mask; no row is sorted, and no list of items is kept. Metrics that need neither ranks nor
    lists of positive items (coverage, popularity, losses) are computed by RecBole.

    Parameters
    ----------
    config : recbole.config.Config
        As RecBole's `Collector` and `Evaluator` take it. MRR, NDCG, Hit, MAP, Recall, Precision,
        GAUC and AUC come from ranks.
    nan, threads
        As in `truerank.rank`.

    Attributes
    ----------
    report : Report or None
        That of the last evaluation. A query is a row of RecBole's scores: rows count from 0, in the
        order of the users of the data loader.

    Notes
    -----
    Items that score -inf are masked, as RecBole masks the padding and the history of a user, and in
    sampled evaluation all that is not sampled: these are no candidates, unless they are positive.
    In RecBole's formulas (`recbole.evaluator.metrics`) `map@k` divides by min(k, R) for R positive
    items, and `auc` is that of all scores as one list. `gauc` is the mean of the AUC of each user,
    weighted by R, without users whose items are all positive; in a report it is weighted by
    candidates. Positive items that tie with others get the mean over all orders of the tie; RecBole
    takes the order of `torch.topk`, but the mean for GAUC and AUC.

    Examples
    --------
    >>> config = {"metrics": ["MRR", "NDCG"], "topk": [2], "eval_args": {"mode": "full"}}
    >>> evaluator = RankEvaluator({**config, "metric_decimal_place": 4, "device": "cpu"})
    >>> scores = torch.tensor([[-torch.inf, 0.1, 0.9, 0.5], [-torch.inf, 0.3, 0.2, 0.1]])
    >>> users, items = torch.tensor([0, 0, 1]), torch.tensor([2, 1, 2])
    >>> evaluator.eval_batch_collect(scores, None, users, items)
    >>> dict(evaluator.evaluate(evaluator.get_data_struct()))
    {'mrr@2': 0.75, 'ndcg@2': 0.622}
    >>> evaluator.report.ranks.optimistic
    array([3, 1, 2])
    """

    def __init__(self, config: Any, *, nan: str = "raise", threads: int | None = None) -> None:
        super().__init__(config)
        self.rules: Any = {"nan": nan, "threads": threads}
        rank(np.zeros((0, 1)), [], **self.rules)  # Wrong rules are refused at once.
        self.report: Any = None
        self._names = [name.lower() for name in config["metrics"]]
        others = set(self._names) - set(KEYS)
        self._others = {name: recbole.metrics_dict[name](config) for name in others}
        self._needs_ranks = any(map(self.register.need, SORTED))
        for need in SORTED:  # Ranks replace these: RecBole has nothing to sort.
            setattr(self.register, need, False)
        self._parts: list[Ranks] = []
        self._rows_before = 0

    def eval_batch_collect(
        self, scores_tensor: Any, interaction: Any, positive_u: Any, positive_i: Any
    ) -> None:
        """Count the ranks of a batch; what else its metrics need is collected as by RecBole.

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does, for a NaN among others.
        """
        super().eval_batch_collect(scores_tensor, interaction, positive_u, positive_i)
        if not self._needs_ranks:
            return
        height, width = scores_tensor.shape
        cells = torch.unique(positive_u * width + positive_i).cpu().numpy()
        rows, items = np.divmod(cells, width)
        masked_rows, masked_items = torch.where(scores_tensor.isneginf())
        sizes = np.bincount(masked_rows.cpu().numpy(), minlength=height)
        indptr = np.append(0, np.cumsum(sizes))
        history = indptr, masked_items.cpu().numpy(), rows  # Each task has the list of its row.
        ranks = rank(scores_tensor, items, rows=rows, filter=history, **self.rules)
        ranks = ranks.with_labels(queries=rows + self._rows_before, targets=items)
        self._rows_before += height
        # The interaction of sampled candidates has a row for each pair.
        sampled = interaction is not None and len(interaction) > height
        self._parts.append(ranks.with_protocol(filter=("masked",), sampled=sampled))

    def get_data_struct(self) -> Any:
        """Return what was collected, with the ranks, and start anew."""
        struct = super().get_data_struct()
        if self._parts:
            struct.set(RANKS, concatenate(self._parts))
            self._parts = []
            self._rows_before = 0
        elif self.register.need("rec.score"):  # For AUC, of all scores as one list.
            (positive,) = np.nonzero(struct.get("data.label").numpy().ravel() == 1)
            scores = struct.get("rec.score").reshape(1, -1)
            row = np.zeros_like(positive)
            ranks = rank(scores, positive, rows=row, **self.rules)
            struct.set(RANKS, ranks.with_labels(queries=row))
        return struct

    def evaluate(self, dataobject: Any) -> OrderedDict[str, float]:
        """Return RecBole's metrics by RecBole's names, in the order and rounding of the config."""
        self.report = report(dataobject.get(RANKS), unit="query") if RANKS in dataobject else None
        digits = self.config["metric_decimal_place"]
        result: OrderedDict[str, float] = OrderedDict()
        for name in self._names:
            if name in self._others:
                result.update(self._others[name].calculate_metric(dataobject))
            elif name == "gauc":
                areas = np.ma.masked_invalid(self.report.per_query("auc"))
                mean = np.ma.average(areas, weights=self.report.answers)
                result[name] = round(float(np.ma.filled(mean, np.nan)), digits)
            elif KEYS[name].endswith("@"):
                for k in self.topk:
                    result[f"{name}@{k}"] = round(self.report[f"{KEYS[name]}{k}"], digits)
            else:
                result[name] = round(self.report[KEYS[name]], digits)
        return result
