"""Evaluates models of PyKEEN by a task of link prediction, from vectors or from own scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from pykeen.models import Model
from pykeen.utils import determine_maximum_batch_size

from ...inputs.checks import integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import import_extra, public
from ...inputs.progress_listeners import Progress, reporter
from ...link_prediction import Task
from ...tasks.batches import rank_batches
from .factories import check_same_ids, split_ids, triple_ids, vocabularies
from .fused import SideVectors, side_vectors

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray
    from ...inputs.words import NanRule
    from ...ranks.container import Ranks
    from ...reporting import Report
    from ...tasks.side_tasks import SideTasks


def rank_scores(
    model: Any,
    side: SideTasks,
    *,
    batch_size: int | None,
    slice_size: int | None,
    mode: Any,
    progress: Callable[[int], object],
    **rules: Any,
) -> Ranks:
    """Rank the tasks of a side by the scores that `predict` of the model returns.

    Parameters
    ----------
    model : Model
        In evaluation mode.
    side : SideTasks
        Heads or tails.
    batch_size : int, optional
        The number of queries to score at once. By default, as in PyKEEN, 32 on a CPU, and as many
        as its memory allows on a GPU.
    slice_size : int, optional
        The number of candidates to score at once.
    mode : str or None
        PyKEEN's inductive mode.
    progress : callable
        Called with the number of queries just scored.
    **rules
        As in `rank`.

    Returns
    -------
    Ranks
    """
    query_batch = determine_maximum_batch_size(batch_size, model.device, len(side.queries))

    def scorer(queries: IntArray) -> Any:
        scores = _predict_within_memory(
            model=model,
            side=side.side,
            queries=torch.from_numpy(queries),
            batch_size=min(query_batch, len(queries)),
            slice_size=slice_size or side.columns,
            mode=mode,
        )
        progress(len(queries))
        return scores

    return rank_batches(scorer, side, batch_size=batch_size and query_batch, **rules)


def _predict(
    *, model: Any, side: str, queries: Any, batch_size: int, slice_size: int, mode: Any
) -> Any:
    """Return the scores of queries, on the model's device, where they are counted."""
    options = {"target": side, "full_batch": False, "slice_size": slice_size, "mode": mode}
    parts = [model.predict(part.to(model.device), **options) for part in queries.split(batch_size)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _batch_size_key(arguments: Any) -> int:
    """Return the key of calls that share one best batch size."""
    return hash((id(arguments["model"]), arguments["side"], arguments["mode"]))


_torch_max_mem = import_extra("torch_max_mem", "truerank.adapters.pykeen", "pykeen")

# If a GPU runs out of memory, batches and slices are halved, as in PyKEEN's own evaluation.
_predict_within_memory = _torch_max_mem.maximize_memory_utilization(
    parameter_name=("batch_size", "slice_size"), hasher=_batch_size_key
)(_predict)


class ModelTask(Task):
    """A task for a model of PyKEEN, which predicts heads, tails or both."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "relation" in self.sides:  # PyKEEN's models differ in the candidates of relations
            raise InputValueError("sides", expected="heads and tails", got="'relation'")

    def evaluate_model(
        self,
        model: Any,
        *,
        fused: bool | None = None,
        batch_size: int | None = None,
        slice_size: int | None = None,
        mode: Any = None,
        progress: Callable[[int], object] = lambda queries: None,
        **rules: Any,
    ) -> Report:
        """Evaluate a model, which is set to evaluation mode, with arguments of `evaluate_model`.

        `progress` is called with the number of queries just scored; `rules` are nan, threads and
        audit.
        """
        if fused not in (None, True, False):
            raise InputTypeError("fused", expected="True, False or None", got=repr(fused))
        sizes = {"batch_size": batch_size, "slice_size": slice_size}
        for name, size in sizes.items():
            if size is not None:
                integer(name, size, least=1)
        model.eval()
        parts = []
        with torch.no_grad():
            vectors = {name: self._vectors(model, name, fused, mode) for name in self.sides}
            for name, side in self.sides.items():
                found = vectors[name]
                if found is None:
                    ranks = rank_scores(model, side, progress=progress, mode=mode, **sizes, **rules)
                else:
                    ranks = found.rank(side, **rules)
                    progress(len(side.queries))
                parts.append(ranks)
        return self._make_report(parts)

    def _vectors(self, model: Any, side: str, fused: bool | None, mode: Any) -> SideVectors | None:
        if fused is False:
            return None
        found = side_vectors(model, side, mode)
        if isinstance(found, SideVectors):
            if found.scores_as_model(model, self.sides[side]):
                return found
            found = "its vectors do not give the scores of the model"
        if fused:
            raise InputValueError(
                "fused", expected=f"a model whose {side}s can be scored by vectors, but {found}"
            )
        return None


@public("truerank.adapters.pykeen")
def evaluate_model(
    model: Any,
    triples: Any,
    *,
    known: Mapping[str, Any] | Sequence[Any] | None = None,
    sides: Sequence[str] = ("head", "tail"),
    candidates: Any = None,
    split: str = "test",
    fused: bool | None = None,
    batch_size: int | None = None,
    slice_size: int | None = None,
    mode: str | None = None,
    nan: NanRule = "raise",
    threads: int | None = None,
    audit: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Report:
    """Evaluate a model of PyKEEN on triples.

    Parameters
    ----------
    model : pykeen.models.Model
        It is set to evaluation mode, and stays on its device.
    triples : TriplesFactory, or array_like of int, shape (n, 3)
        The triples to rank: a factory, or its `mapped_triples`, without inverse triples. A model
        that was trained with inverse triples predicts heads through inverse relations.
    known : mapping of str to triples, sequence of triples, or None
        Other triples that are known to be true, in the same forms: ``{"train": dataset.training,
        "valid": dataset.validation}``. The names go into the protocol of the ranks. The known
        answers of a query, including those in `triples`, are left out of its candidates. None:
        unfiltered.
    sides : sequence of {"head", "tail"}
        The predicted sides.
    candidates : optional
        As in `truerank.link_prediction.Task`: all entities, "train", "typed", an array of ids, or
        `Sampled`.
    split : str
        The name of the evaluated split.
    fused : bool, optional
        True: the model's vectors are scored and counted without storing scores; an error if the
        score is neither a dot product nor an L1 or L2 distance of the vectors of a query and an
        entity. False: the model's own scores are ranked. None: vectors, for each side that allows
        it.
    batch_size, slice_size : int, optional
        For the model's own scores: the numbers of queries and candidates to score at once. By
        default, as in PyKEEN, 32 queries on a CPU, and as many as its memory allows on a GPU.
    mode : {"training", "validation", "testing"}, optional
        PyKEEN's inductive mode.
    nan : {"raise", "worst", "omit"}
        What to do with scores that are NaN, as in `truerank.rank`.
    threads : int, optional
        As in `truerank.rank`.
    audit : bool
        As in `truerank.rank`.
    progress : callable or bool, optional
        Called with a `truerank.Progress` in queries of all sides: after each batch of the model's
        own scores, and after each side of the fused path. True: a bar of tqdm or rich.

    Returns
    -------
    Report
        Its `ranks` have the labels "side", "relation", "queries", "targets" and the
        other labels of a link-prediction task. ``protocol.similarity`` is set on the fused path.

    Raises
    ------
    TypeError
        If `model` is not a model of PyKEEN, or `triples` or `known` are not triples.
    ValueError
        If ``fused=True`` and the model has no such vectors (the message gives the reason), for
        sides other than heads and tails, for factories whose ids differ from those of the model or
        from each other's, and as `Task` and `rank` do.

    Notes
    -----
    Every distinct (head, relation) and (relation, tail) is scored once. Scores of the fused path
    equal those of the model up to the order of float operations, and up to terms that are the same
    for all candidates of a query. So candidates that nearly tie may change places;
    `truerank.rank_embeddings` defines the scores exactly.

    Examples
    --------
    >>> import logging
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> logging.getLogger("pykeen").setLevel(logging.ERROR)
    >>> nations = Nations()
    >>> model = DistMult(triples_factory=nations.training, embedding_dim=8, random_seed=0)
    >>> known = {"train": nations.training, "valid": nations.validation}
    >>> report = evaluate_model(model, nations.testing, known=known)
    >>> print(report.protocol)
    split test, filtered by train + valid + test, all candidates, nan raise, float32, dot
    >>> report.ranks.side.vocabulary, len(report.ranks)
    (('head', 'tail'), 402)
    """
    if not isinstance(model, Model):
        got = type(model).__name__
        if isinstance(getattr(model, "model", None), Model):  # the result of a pipeline
            got += "; give its model"
        raise InputTypeError("model", expected="a pykeen Model", got=got)
    if hasattr(triples, "testing"):  # a data set
        got = f"{type(triples).__name__}; give its testing, or another split"
        raise InputTypeError("triples", expected="a factory or ids", got=got)
    check_same_ids(triples, known)
    entities, relations = vocabularies(
        triples, entities=number_of_entities(model, mode), relations=int(model.num_real_relations)
    )
    task = ModelTask(
        triple_ids(triples),
        split_ids(known),
        entities=entities,
        relations=relations,
        sides=sides,
        candidates=candidates,
        split=split,
    )
    queries = sum(len(side.queries) for side in task.sides.values())
    return task.evaluate_model(
        model,
        fused=fused,
        batch_size=batch_size,
        slice_size=slice_size,
        mode=mode,
        nan=nan,
        threads=threads,
        audit=audit,
        progress=_tell_of_queries(progress, queries),
    )


def _tell_of_queries(
    progress: bool | Callable[[Progress], object] | None, total: int
) -> Callable[[int], object]:
    """Return what is called with the number of queries just scored, and tells `progress`."""
    report, done = reporter(progress, total, "queries"), 0

    def tell(queries: int) -> None:
        nonlocal done
        done += queries
        if total:
            report(done)

    tell(0)
    return tell


def number_of_entities(model: Any, mode: Any) -> int:
    """Return the number of entities that a model scores, in PyKEEN's inductive mode if given."""
    return int(model.num_entities if mode is None else model._get_entity_len(mode=mode))
