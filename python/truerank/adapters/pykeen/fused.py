"""The fused path: a model's vectors are scored and counted at once, and no score is stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from pykeen.models import ERModel

from ...embeddings.scoring import rank_embeddings, score_embeddings
from ...inputs.errors import renamed
from ...ranks.container import Ranks, concatenate
from .interaction_forms import FORMS, Side, unwrapped

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray
    from ...tasks.side_tasks import SideTasks

# Of vectors while queries are made: a relation may have a matrix, and a query a product with it.
_QUERY_BYTES = 64 << 20
# What a model may not do in its own way, or its vectors do not say how it scores.
_SCORING_METHODS = (
    *("predict", "predict_t", "predict_h", "score_t", "score_h", "score_h_inverse"),
    *("_prepare_batch", "_prepare_inverse_batch", "_get_representations", "forward"),
)
# Of queries and candidates whose scores are compared with the model's own, and how near they are to
# be, as a share of the largest score.
_COMPARED_SIZES, _RELATIVE_TOLERANCE = (4, 100), 1e-3
# Of vectors that are real and complex; scores of narrower ones are rounded at every step.
_DTYPES = {
    False: (torch.float32, torch.float64),
    True: (torch.complex64, torch.complex128),
}


class SideVectors(NamedTuple):
    """One side of a model as vectors.

    Attributes
    ----------
    interaction : Interaction
    side : Side
        How they are made; with inverse relations heads are the tails of the inverse.
    similarity : str
    query_entities, relations : list of Representations
        Those of the entities and relations of queries.
    candidate_entities : list of tensors
        Those of all candidates.
    columns : (int, int)
        Where a query has the entity and the relation.
    ids : tensor
        The model's id of each relation.
    """

    interaction: Any
    side: Side
    similarity: str
    query_entities: list[Any]
    candidate_entities: list[Any]
    relations: Sequence[Any]
    columns: tuple[int, int]
    ids: Any

    def rank(self, side: SideTasks, **rules: Any) -> Ranks:
        """Rank the tasks of a side, in their order; `rules` are those of `rank_embeddings`."""
        if not self.side.per_relation:
            return self._rank(side, side.rows, None, self._candidates(None), **rules)
        # Each relation has candidates of its own: its tasks are ranked among them.
        relation_of_task = side.queries[side.rows, self.columns[1]]
        order = np.argsort(relation_of_task, kind="stable")
        relations, starts = np.unique(relation_of_task[order], return_index=True)
        parts = []
        for relation, tasks in zip(relations, np.split(order, starts[1:]), strict=True):
            candidates = self._candidates(int(relation))
            parts.append(self._rank(side, side.rows[tasks], tasks, candidates, **rules))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return concatenate(parts)[places]

    def scores_as_model(self, model: Any, side: SideTasks) -> bool:
        """Whether some queries and candidates score as the model says.

        Forms are those of PyKEEN as it was: it may score otherwise one day, or a hook may change
        what this model makes of its vectors.
        """
        queries = _evenly_spaced(side.queries, _COMPARED_SIZES[0])
        places = torch.from_numpy(_evenly_spaced(np.arange(side.columns), _COMPARED_SIZES[1])).to(
            model.device
        )
        sample = self._replace(candidate_entities=[x[places] for x in self.candidate_entities])
        ours = [sample._scores(query[None]) for query in queries]
        theirs = model.predict(
            torch.from_numpy(queries).to(model.device),
            target=side.side,
            full_batch=False,
            ids=places,
        )
        theirs = np.ma.masked_invalid(_as_array(theirs))
        differences = np.ma.masked_invalid(np.concatenate(ours) - theirs)
        # What is the same for all candidates is left out of vectors.
        too_far = np.ptp(differences, axis=1) > _RELATIVE_TOLERANCE * np.abs(theirs).max()
        return not too_far.any()

    def _scores(self, query: IntArray) -> Any:
        """The scores of one query, (1, candidates)."""
        relation = int(query[0, self.columns[1]]) if self.side.per_relation else None
        candidates, bias = self._candidates(relation)
        return score_embeddings(
            self._queries(query), candidates, similarity=self.similarity, bias=bias
        )

    def _rank(
        self,
        side: SideTasks,
        rows: IntArray,
        tasks: IntArray | None,
        candidates: tuple[Any, Any],
        **rules: Any,
    ) -> Ranks:
        """Rank some tasks of a side, or all; a query that none of them asks is not made."""
        query_rows, rows = np.unique(rows, return_inverse=True)
        filter_lists, candidate_lists = side.selections(tasks)
        with renamed(queries="model", entities="model", scores="model"):
            return rank_embeddings(
                self._queries(side.queries[query_rows]),
                candidates[0],
                side.targets if tasks is None else side.targets[tasks],
                similarity=self.similarity,
                bias=candidates[1],
                rows=rows,
                filter=filter_lists,
                candidates=candidate_lists,
                **rules,
            )

    def _queries(self, pairs: IntArray) -> Any:
        """The vectors of queries, made in batches."""
        entity, relation = self.columns
        width = sum(math.prod(x.shape) for x in self.query_entities)
        step = max(1, _QUERY_BYTES // max(1, 4 * width**2))
        vectors = []
        for part in torch.from_numpy(pairs.copy()).split(step):
            entities = _vectors_of_ids(self.query_entities, part[:, entity].to(self.ids.device))
            relations = _vectors_of_ids(self.relations, self.ids[part[:, relation]])
            vectors.append(_as_array(self.side.query(self.interaction, entities, relations)))
        return np.concatenate(vectors)

    def _candidates(self, relation: int | None) -> tuple[Any, Any]:
        """The vectors of candidates and their bias; of one relation where they are bound to it."""
        entities = _one_or_list(self.candidate_entities)
        relations = (
            None if relation is None else _vectors_of_ids(self.relations, self.ids[relation, None])
        )
        bias = None if self.side.bias is None else _as_array(self.side.bias(entities))[:, 0]
        return _as_array(self.side.candidates(self.interaction, entities, relations)), bias


def side_vectors(model: Any, side: str, mode: Any) -> SideVectors | str:
    """Give a side of a model as vectors, or say why there are none that score as it does.

    Parameters
    ----------
    model : Model
        In evaluation mode.
    side : {"head", "tail"}
        What is asked for.
    mode : str or None
        PyKEEN's inductive mode.

    Returns
    -------
    SideVectors or str
    """
    reason = _reason_for_own_scores(model, mode)
    if reason is not None:
        return reason
    interaction = unwrapped(model.interaction)
    name = type(interaction).__name__
    form = FORMS.get(type(interaction))
    if form is None:
        return f"{name} is no dot product and no distance of two vectors"
    inverse = side == "head" and model.use_inverse_triples
    # Heads are the tails of inverse relations, where there are some.
    as_tails = side == "tail" or inverse
    direction = form.tail if as_tails else form.head
    if direction is None:
        return f"{name} scores heads by more than two vectors, and there are no inverse relations"
    similarity = form.similarity(interaction)
    if similarity is None:
        return f"{name} with its settings is no dot product and no L1 or L2 distance"
    heads, tails = (
        [model.entity_representations[i] for i in indices]
        for indices in (model.interaction.head_indices, model.interaction.tail_indices)
    )
    query_entities, candidates = (heads, tails) if as_tails else (tails, heads)
    candidate_entities = [representation(indices=None) for representation in candidates]
    for x in candidate_entities:
        if x.dtype not in _DTYPES[bool(interaction.is_complex)]:
            return f"{name} has vectors of {x.dtype}"
        if len(x) != model.num_entities:
            return f"it has {len(x)} vectors for {model.num_entities} entities"
    ids = torch.arange(model.num_real_relations, device=model.device)[:, None]
    if model.use_inverse_triples:
        ids = model.relation_inverter.map(batch=ids, index=0, invert=inverse)
    columns = (0, 1) if side == "tail" else (1, 0)  # queries are (head, relation), (relation, tail)
    relations = model.relation_representations
    return SideVectors(
        interaction,
        direction,
        similarity,
        query_entities,
        candidate_entities,
        relations,
        columns,
        ids[:, 0],
    )


def _reason_for_own_scores(model: Any, mode: Any) -> str | None:
    """Why a model does not score by its interaction alone."""
    if not isinstance(model, ERModel):
        return f"{type(model).__name__} is no ERModel"
    overridden = [
        name
        for name in _SCORING_METHODS
        if getattr(getattr(model, name), "__func__", None) is not getattr(ERModel, name)
    ]
    if overridden:
        return f"{type(model).__name__} has a {overridden[0]} of its own"
    if model.predict_with_sigmoid:
        return "predict_with_sigmoid rounds great scores to ties; set it to False"
    if mode is not None:
        return f"the inductive mode {mode!r} has entities of its own"
    return None


def _evenly_spaced(x: IntArray, most: int) -> IntArray:
    """At most so many of some rows, from the first to the last."""
    return x[np.unique(np.linspace(0, len(x) - 1, most, dtype=np.int64))]


def _one_or_list(found: list[Any]) -> Any:
    """Representations as an interaction takes them."""
    return found[0] if len(found) == 1 else found


def _vectors_of_ids(representations: Sequence[Any], ids: Any) -> Any:
    """The vectors of some ids, asked for in the shape in which a model asks for those of queries.

    For a normaliser may look at that: `torch.nn.functional.normalize` does by default.
    """
    return _one_or_list(
        [representation(indices=ids[:, None])[:, 0] for representation in representations]
    )


def _as_array(x: Any) -> Any:
    """SideVectors as an array (n, d): complex ones have real and imaginary parts in turn."""
    x = x.detach().resolve_conj()
    x = torch.view_as_real(x) if x.is_complex() else x
    return x.reshape(len(x), -1).cpu().numpy()
