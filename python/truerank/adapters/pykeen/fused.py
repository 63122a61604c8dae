"""The fused path: scores of a model's vectors are counted as they are computed, and not stored."""

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
    from ...inputs.words import Similarity
    from ...tasks.side_tasks import SideTasks

# Bytes of vectors while queries are made: a relation may have a matrix, which multiplies a query.
_QUERY_BYTES = 64 << 20
# Methods that a model must not override, or its vectors would not determine its scores.
_SCORING_METHODS = (
    *("predict", "predict_t", "predict_h", "score_t", "score_h", "score_h_inverse"),
    *("_prepare_batch", "_prepare_inverse_batch", "_get_representations", "forward"),
)
# The numbers of queries and candidates whose scores are compared with the model's own, and the
# largest difference, relative to the largest score.
_COMPARED_SIZES, _RELATIVE_TOLERANCE = (4, 100), 1e-3
# The dtypes of real and of complex vectors; narrower ones would round scores at every step.
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
        How the vectors are made; with inverse relations, heads are tails of the inverse relation.
    similarity : str
    query_entities, relations : list of Representations
        Those of the entities and relations of queries.
    candidate_entities : list of tensors
        Those of all candidates.
    columns : (int, int)
        The columns of the entity and of the relation in a query.
    ids : tensor
        The id of each relation in the model.
    """

    interaction: Any
    side: Side
    similarity: Similarity
    query_entities: list[Any]
    candidate_entities: list[Any]
    relations: Sequence[Any]
    columns: tuple[int, int]
    ids: Any

    def rank(self, side: SideTasks, **rules: Any) -> Ranks:
        """Rank the tasks of a side, in their order; `rules` are those of `rank_embeddings`."""
        if not self.side.per_relation:
            return self._rank(side, side.rows, None, self._candidates(None), **rules)
        # Each relation has its own candidate vectors, so its tasks are ranked separately.
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
        """Whether the vectors of some queries and candidates give the scores of the model.

        The forms describe a known version of PyKEEN. A later one may score differently, or a hook
        may change the scores of this model.
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
        theirs = np.ma.masked_invalid(_as_vectors(theirs).cpu().numpy())
        differences = np.ma.masked_invalid(np.concatenate(ours) - theirs)
        # Vectors leave out what is the same for all candidates of a query.
        too_far = np.ptp(differences, axis=1) > _RELATIVE_TOLERANCE * np.abs(theirs).max()
        return not too_far.any()

    def _scores(self, query: IntArray) -> Any:
        """Compute the scores of one query, (1, candidates)."""
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
        """Rank some or all tasks of a side; only the vectors of their queries are made."""
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
        """Make the vectors of queries, in batches."""
        entity, relation = self.columns
        width = sum(math.prod(x.shape) for x in self.query_entities)
        step = max(1, _QUERY_BYTES // max(1, 4 * width**2))
        vectors = []
        for part in torch.from_numpy(pairs.copy()).split(step):
            entities = _vectors_of_ids(self.query_entities, part[:, entity].to(self.ids.device))
            relations = _vectors_of_ids(self.relations, self.ids[part[:, relation]])
            vectors.append(_as_vectors(self.side.query(self.interaction, entities, relations)))
        return torch.cat(vectors)

    def _candidates(self, relation: int | None) -> tuple[Any, Any]:
        """Make the vectors of candidates and their bias, for one relation if they depend on it."""
        entities = _one_or_list(self.candidate_entities)
        relations = (
            None if relation is None else _vectors_of_ids(self.relations, self.ids[relation, None])
        )
        bias = None if self.side.bias is None else _as_vectors(self.side.bias(entities))[:, 0]
        return _as_vectors(self.side.candidates(self.interaction, entities, relations)), bias


def side_vectors(model: Any, side: str, mode: Any) -> SideVectors | str:
    """Return a side of a model as vectors, or the reason why no vectors give its scores.

    Parameters
    ----------
    model : Model
        In evaluation mode.
    side : {"head", "tail"}
        The predicted side.
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
        return f"{name} is no dot product or distance of two vectors"
    inverse = side == "head" and model.use_inverse_triples
    # With inverse relations, heads are the tails of these.
    as_tails = side == "tail" or inverse
    direction = form.tail if as_tails else form.head
    if direction is None:
        return f"{name} scores heads by more than two vectors, and there are no inverse relations"
    similarity = form.similarity(interaction)
    if similarity is None:
        return f"{name} with its settings is no dot product, L1 or L2 distance"
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
    columns = (
        (0, 1) if side == "tail" else (1, 0)
    )  # queries are (head, relation) or (relation, tail)
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
    """Return the reason why a model does not score by its interaction alone, or None."""
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
        return "predict_with_sigmoid rounds large scores to ties; set it to False"
    if mode is not None:
        return f"the inductive mode {mode!r} has entities of its own"
    return None


def _evenly_spaced(x: IntArray, most: int) -> IntArray:
    """Select at most `most` rows, evenly from the first to the last."""
    return x[np.unique(np.linspace(0, len(x) - 1, most, dtype=np.int64))]


def _one_or_list(found: list[Any]) -> Any:
    """Return representations as an interaction takes them: one, or a list of several."""
    return found[0] if len(found) == 1 else found


def _vectors_of_ids(representations: Sequence[Any], ids: Any) -> Any:
    """Return the vectors of some ids, requested in the shape that a model uses for its queries.

    The result of a normaliser can depend on the shape: `torch.nn.functional.normalize` is one.
    """
    return _one_or_list(
        [representation(indices=ids[:, None])[:, 0] for representation in representations]
    )


def _as_vectors(x: Any) -> Any:
    """Return vectors (n, d) where they are; real and imaginary parts of complex ones alternate."""
    x = x.detach().resolve_conj()
    x = torch.view_as_real(x) if x.is_complex() else x
    return x.reshape(len(x), -1)
