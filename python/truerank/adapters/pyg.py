"""PyTorch Geometric: the exact top k for its metrics, and filtered ranks of its `KGEModel`.

It needs PyTorch Geometric: ``pip install 'truerank[pyg]'``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..embeddings.scoring import topk_embeddings
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import index_array
from ..inputs.checks import check_range, integer
from ..inputs.rules import AuditOptions, SimilarityOptions, read_rules, with_options
from ..inputs.selection import indptr_of
from ..link_prediction import Task
from ..naming import import_extra

if TYPE_CHECKING:
    from ..inputs.words import Similarity
    from ..reporting import Report

kge: Any = import_extra("torch_geometric.nn.kge", "truerank.adapters.pyg", "pyg")
knn: Any = import_extra("torch_geometric.nn.pool.knn", "truerank.adapters.pyg", "pyg")
torch: Any = import_extra("torch", "truerank.adapters.pyg", "pyg")

__all__ = ["ExactKNNIndex", "evaluate_model"]

NORMS: dict[float, Similarity] = {1.0: "l1", 2.0: "l2"}


class ExactKNNIndex:
    """The exact top k of every query, as `MIPSKNNIndex` of PyTorch Geometric has it, without faiss.

    Embeddings are scored by `truerank.topk_embeddings`: in blocks, so that no matrix of scores is
    stored, and with links left out while they are scored, however many a query has. Candidates with
    equal scores are in the order of their ids.

    Parameters
    ----------
    emb : tensor, shape (n, d)
        The embeddings of the candidates.
    similarity : str
        As in `truerank.rank_embeddings`: "dot" as `MIPSKNNIndex`, "sql2" as `L2KNNIndex`, whose
        scores are the distances themselves.
    layout, nan, dtype, threads, progress : optional
        As in `truerank.topk_embeddings`.

    Attributes
    ----------
    tied : ndarray of bool, shape (queries,)
        Of the last search: whether two of a query's k candidates, or its last one and the next that
        is left out, have equal scores. Another order of them may have other metrics.

    Examples
    --------
    >>> from torch_geometric.metrics import LinkPredPrecision
    >>> index = ExactKNNIndex(torch.tensor([[1.0, 0], [0, 1], [1, 1], [1, 0]]))
    >>> train = torch.tensor([[0], [2]])  # query 0 has been linked to candidate 2
    >>> scores, ids = index.search(torch.tensor([[1.0, 2], [3, 1]]), 2, exclude_links=train)
    >>> ids
    tensor([[1, 0],
            [2, 0]])
    >>> index.tied  # candidates 0 and 3 are the same
    array([ True,  True])
    >>> metric = LinkPredPrecision(2)
    >>> metric.update(ids, torch.tensor([[0, 1, 1], [1, 0, 2]]))  # rows and their right answers
    >>> metric.compute()
    tensor(0.7500)
    """

    @with_options(SimilarityOptions)
    def __init__(
        self, emb: Any, similarity: Similarity = "dot", **options: Unpack[SimilarityOptions]
    ) -> None:
        read_rules(options, SimilarityOptions)
        self.emb = emb
        self.options: dict[str, Any] = {"similarity": similarity, **options}
        self.tied = np.zeros(0, np.bool_)

    def search(self, emb: Any, k: int, exclude_links: Any = None) -> Any:
        """Return the k most similar candidates of each query.

        Parameters
        ----------
        emb : tensor, shape (q, d)
            The embeddings of the queries.
        k : int
        exclude_links : tensor of int, shape (2, links), optional
            Rows of `emb` and the candidates that are left out for them, in any order.

        Returns
        -------
        KNNOutput
            ``score`` and ``index``, tensors (q, k) on the device of `emb`. Where a query has fewer
            than k candidates, the rest is -inf and n, which is no candidate: PyTorch Geometric puts
            -1 there, which its metrics take for the last candidate of the query before.

        Raises
        ------
        TypeError, ValueError
            As `truerank.topk_embeddings` does, and for links that are out of range.
        """
        count = len(self.emb)
        width = integer("k", k, least=1)
        left_out = None
        if exclude_links is not None:
            rows, ids = exclude_links
            rows = index_array("exclude_links", rows)
            ids = index_array("exclude_links", ids)
            check_range("exclude_links", rows, len(emb), "queries")
            check_range("exclude_links", ids, count, "candidates")
            indptr = indptr_of(np.bincount(rows, minlength=len(emb)))
            left_out = indptr, ids[np.argsort(rows, kind="stable")]
        top = topk_embeddings(emb, self.emb, width + 1, filter=left_out, **self.options)
        self.tied = (top.scores[:, 1:] == top.scores[:, :-1]).any(axis=1)
        is_empty = top.ids[:, :width] == -1
        scores = np.where(is_empty, -np.inf, top.scores[:, :width])
        ids = np.where(is_empty, count, top.ids[:, :width])
        return knn.KNNOutput(
            torch.from_numpy(scores).to(emb.device), torch.from_numpy(ids).to(emb.device)
        )


@with_options(AuditOptions)
def evaluate_model(
    model: Any,
    triples: Any,
    *,
    known: Mapping[str, Any] | Sequence[Any] | None = None,
    sides: Collection[str] = ("head", "tail"),
    candidates: Any = None,
    split: str = "test",
    fused: bool | None = None,
    **options: Unpack[AuditOptions],
) -> Report:
    """Evaluate a `KGEModel` on triples, filtered; its own `test` ranks tails, unfiltered.

    Parameters
    ----------
    model : torch_geometric.nn.KGEModel
        It is set to evaluation mode, and stays on its device.
    triples : Data, or array_like of int, shape (n, 3)
        The triples to rank: ``edge_index`` and ``edge_type``, as data sets of PyTorch Geometric
        have them, or rows of head, relation and tail.
    known : mapping of str to triples, sequence of triples, or None
        Others, ``{"train": train_data}``, that are left out as answers of the same query, with
        those in `triples`. None: unfiltered, as `KGEModel.test`.
    sides : sequence of {"head", "tail"}
        The predicted sides; `KGEModel.test` predicts tails.
    candidates, split : optional
        As in `truerank.link_prediction.Task`.
    fused : bool, optional
        True: vectors of the model are scored and counted without storing scores. False: scores are
        those of the model, bit for bit; of vectors, some that nearly tie change places. None:
        vectors for `TransE` with norm 1 or 2, `DistMult`, `ComplEx` and `RotatE`, in float32 or
        float64; scores for other norms, types and models.
    nan, dtype, threads, audit, progress : optional
        As in `truerank.rank`.

    Raises
    ------
    TypeError, ValueError
        For anything but a model and triples; if ``fused=True`` and the model has no such vectors;
        and as `Task` and `rank` do.

    Notes
    -----
    `KGEModel.test` counts the mean rank from 0, so that it is ``report["tail.mr"] - 1``. In a tie
    it has a rank between the optimistic and the pessimistic one.

    Examples
    --------
    >>> model = kge.DistMult(num_nodes=3, num_relations=1, hidden_channels=1)
    >>> model.node_emb.weight.data = torch.tensor([[1.0], [2], [3]])
    >>> model.rel_emb.weight.data = torch.tensor([[1.0]])
    >>> evaluate_model(model, [[0, 0, 1]], sides=["tail"])["mr"]
    2.0
    >>> evaluate_model(model, [[0, 0, 1]], known={"train": [[0, 0, 2]]}, sides=["tail"])["mr"]
    1.0
    """
    if not isinstance(model, kge.KGEModel):
        raise InputTypeError("model", expected="a KGEModel", got=type(model).__name__)
    names: dict[str, Any] = {"sides": sides, "candidates": candidates, "split": split}
    names |= {"entities": model.num_nodes, "relations": model.num_relations}
    task = Task(triples_of(triples), triples_of(known), **names)
    if "relation" in task.sides:
        raise InputValueError("sides", expected="heads and tails", got="'relation'")
    model.eval()
    with torch.no_grad():
        vectors = None if fused is False else vectors_of(model, task)
        if vectors is not None:
            return task.evaluate_embeddings(**vectors, unique=True, **options)
        if fused:
            expected = "TransE with norm 1 or 2, DistMult, ComplEx or RotatE in float32 or float64"
            raise InputValueError("fused", expected=f"a {expected}", got=type(model).__name__)
        scorers: dict[str, Any] = {side: partial(scores_of, model, side) for side in task.sides}
        return task.evaluate(**scorers, device=model.node_emb.weight.device, **options)


def triples_of(split: Any) -> Any:
    """Return rows of head, relation and tail from data of PyTorch Geometric, or several splits."""
    if hasattr(split, "edge_type"):
        head, tail = split.edge_index.cpu()
        return torch.stack([head, split.edge_type.cpu(), tail], dim=1).numpy()
    if isinstance(split, Mapping):
        return {name: triples_of(each) for name, each in split.items()}
    if isinstance(split, (list, tuple)):
        return [triples_of(each) for each in split]
    return split


def vectors_of(model: Any, task: Task) -> dict[str, Any] | None:
    """Return the vectors of entities and of the queries of each side, and how they are scored."""
    kind = type(model)
    entities = model.node_emb.weight
    relations = model.rel_emb.weight
    if entities.dtype not in (torch.float32, torch.float64):  # Other dtypes round scores.
        return None
    similarity: Similarity = "dot"
    is_shift = kind is kge.TransE and model.p_norm in NORMS
    if is_shift:
        similarity = NORMS[model.p_norm]
        entities = torch.nn.functional.normalize(entities, p=model.p_norm, dim=-1)
    elif kind is kge.ComplEx:
        relations = torch.complex(relations, model.rel_emb_im.weight)
    elif kind is kge.RotatE:
        similarity = "l2"
        relations = torch.polar(torch.ones_like(relations), relations)
    elif kind is not kge.DistMult:
        return None
    if relations.is_complex():
        entities = torch.complex(entities, model.node_emb_im.weight)
    vectors = {"entities": real(entities), "similarity": similarity}
    for name, side in task.sides.items():
        queries = torch.from_numpy(side.queries.copy()).to(entities.device)
        if name == "tail":
            of_entities = entities[queries[:, 0]]
            of_relations = relations[queries[:, 1]]
        else:
            # Heads are reached by the inverse of a shift, or by the adjoint of a product.
            of_entities = entities[queries[:, 1]]
            of_relations = relations[queries[:, 0]]
            of_relations = -of_relations if is_shift else of_relations.conj()
        if is_shift:
            vectors[name] = real(of_entities + of_relations)
        else:
            vectors[name] = real(of_entities * of_relations)
    return vectors


def real(vectors: Any) -> Any:
    """Return vectors of real numbers: the parts of complex ones alternate."""
    if vectors.is_complex():
        return torch.view_as_real(vectors).flatten(1)
    return vectors.detach()


def scores_of(model: Any, side: str, queries: Any) -> Any:
    """Return the model's scores of all entities, made for one query at a time, as in its `test`."""
    entities = torch.arange(model.num_nodes, device=queries.device)
    rows = []
    for first, second in queries:
        first_of_pair = first.expand_as(entities)
        second_of_pair = second.expand_as(entities)
        if side == "tail":
            rows.append(model(first_of_pair, second_of_pair, entities))
        else:
            rows.append(model(entities, first_of_pair, second_of_pair))
    return torch.stack(rows)
