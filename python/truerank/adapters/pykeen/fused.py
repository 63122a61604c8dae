"""The fused path: scores of a model's vectors are counted as they are computed, and not stored.

`FORMS` has a row for each interaction of PyKEEN whose score is a similarity of two vectors. A side
of a form makes the vector of a query from an entity and a relation, and the vectors of the
candidates. Its functions take the interaction, representations of entities and representations of
relations as PyKEEN passes them: a tensor, or a list of tensors if there are several. Terms that
depend only on the query are left out of the scores, because they shift all its candidates alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from pykeen.models import ERModel
from pykeen.nn import modules
from pykeen.utils import clamp_norm, project_entity

from ...embeddings.scoring import rank_embeddings, score_embeddings
from ...inputs.words import Similarity
from ...ranks.container import Ranks, concatenate

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray
    from ...inputs.words import Similarity
    from ...tasks.side_tasks import SideTasks


VectorFunction = Callable[
    [Any, Any, Any], Any
]  # makes vectors from interaction, entities and relations


class Side(NamedTuple):
    """One direction of an interaction.

    Attributes
    ----------
    query : callable
        Makes the vectors of queries, (q, ...), from an entity and a relation each.
    candidates : callable
        Makes the vectors of candidates, (n, ...), from all entities, for one relation if they
        depend on it.
    per_relation : bool
        Whether candidates depend on the relation.
    bias : callable or None
        Makes the number that is added to the score of each candidate, (n,), from representations
        of entities.
    """

    query: VectorFunction
    candidates: VectorFunction
    per_relation: bool = False
    bias: Callable[[Any], Any] | None = None


class InteractionForm(NamedTuple):
    """How an interaction scores.

    Attributes
    ----------
    tail, head : Side or None
        None: the score of this side is not a similarity of two vectors.
    similarity : callable
        Returns the similarity of an interaction by its name in `rank_embeddings`, or None if its
        settings allow none.
    """

    tail: Side
    head: Side | None
    similarity: Callable[[Any], Similarity | None]


def _entities(i: Any, e: Any, r: Any) -> Any:
    return e


def _first(i: Any, e: Any, r: Any) -> Any:
    return e[0]


def _second(e: Any) -> Any:
    return e[1]


def _concatenated(i: Any, e: Any, r: Any) -> Any:
    return torch.cat(_as_list(e), dim=-1)


def _as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, torch.Tensor) else list(x)


# -- products: the score is the dot product of the vectors of the query and of the candidate -------


def _products(
    tail: VectorFunction, head: VectorFunction, candidates: VectorFunction = _entities
) -> InteractionForm:
    return InteractionForm(Side(tail, candidates), Side(head, candidates), lambda i: "dot")


def _tails_only(query: VectorFunction, *, biased: bool = False) -> InteractionForm:
    side = Side(query, _first, bias=_second) if biased else Side(query, _entities)
    return InteractionForm(side, None, lambda i: "dot")


def _hole_tail(i: Any, h: Any, r: Any) -> Any:
    return torch.fft.irfft(torch.fft.rfft(r) * torch.fft.rfft(h), n=h.shape[-1])


def _hole_head(i: Any, t: Any, r: Any) -> Any:
    return torch.fft.irfft(torch.fft.rfft(r).conj() * torch.fft.rfft(t), n=t.shape[-1])


def _simple(i: Any, e: Any, r: Any) -> Any:
    return 0.5 * torch.cat([e[0] * r[0], e[1] * r[1]], dim=-1)


def _auto_sf(given: int, candidate: int) -> VectorFunction:
    """Make a block for each representation of the candidate; a coefficient is (h, r, t, sign)."""

    def query(i: Any, e: Any, r: Any) -> Any:
        e, r = _as_list(e), _as_list(r)
        blocks = [torch.zeros_like(x) for x in e]
        for coefficient in i.coefficients:
            product = e[coefficient[given]] * r[coefficient[1]]
            blocks[coefficient[candidate]] = (
                blocks[coefficient[candidate]] + coefficient[3] * product
            )
        return torch.cat(blocks, dim=-1)

    return query


def _tucker_head_vectors(i: Any, h: Any, r: Any = None) -> Any:
    return h if i.head_batch_norm is None else i.head_batch_norm(h)


def _tucker_tail(i: Any, h: Any, r: Any) -> Any:
    core = torch.einsum("ijk,bj->bik", i.core_tensor, r)
    x = torch.einsum("bik,bi->bk", core, _tucker_head_vectors(i, h))
    return x if i.head_relation_batch_norm is None else i.head_relation_batch_norm(x)


def _tucker_head(i: Any, t: Any, r: Any) -> Any:
    """Apply the slope of the affine norm of heads and relations to the tails; drop its constant."""
    norm = i.head_relation_batch_norm
    if norm is not None:
        t = t * (norm.weight / torch.sqrt(norm.running_var + norm.eps))
    return torch.einsum("bik,bk->bi", torch.einsum("ijk,bj->bik", i.core_tensor, r), t)


def _conv_e(i: Any, h: Any, r: Any) -> Any:
    shape = i.shape_info
    image = (-1, shape.input_channels, shape.image_height, shape.image_width)
    features = i.hr2d(torch.cat([h.view(image), r.view(image)], dim=2))
    return i.hr1d(features.view(-1, shape.num_in_features))


def _cross_e(i: Any, h: Any, r: Any) -> Any:
    crossed = r[1] * h
    return i.activation(i.bias + crossed + crossed * r[0])


def _proj_e(i: Any, h: Any, r: Any) -> Any:
    return i.inner_activation(h * i.d_e + r * i.d_r + i.b_c)


def _proj_e_similarity(i: Any) -> Similarity | None:
    """Return the similarity unless an activation of the scores may make ties."""
    return "dot" if isinstance(i.outer_activation, torch.nn.Identity) else None


# -- distances: minus the norm of head + shift - tail; the relation may change each of them --------

_NORMS: dict[tuple[int, bool], Similarity] = {
    (1, False): "l1",
    (1, True): "l1",
    (2, False): "l2",
    (2, True): "sql2",
}


def _norm(i: Any) -> Similarity | None:
    return _NORMS.get((i.p, i.power_norm))


def _distances(
    head: VectorFunction = _entities,
    tail: VectorFunction = _entities,
    shift: Callable[[Any], Any] = lambda r: 0,
    *,
    per_relation: tuple[bool, bool] = (True, True),
    bias: Callable[[Any], Any] | None = None,
) -> InteractionForm:
    """Make a form of distances; `per_relation` says whether relations change heads and tails."""

    def of_tails(i: Any, e: Any, r: Any) -> Any:
        return head(i, e, r) + shift(r)

    def of_heads(i: Any, e: Any, r: Any) -> Any:
        return tail(i, e, r) - shift(r)

    heads_per_relation, tails_per_relation = per_relation
    return InteractionForm(
        Side(of_tails, tail, tails_per_relation, bias),
        Side(of_heads, head, heads_per_relation, bias),
        _norm,
    )


def _times(place: int) -> VectorFunction:
    return lambda i, e, r: e * r[place]


def _projected(place: int) -> VectorFunction:
    return lambda i, e, r: torch.einsum("...rd,...d->...r", r[place], e)


def _on_plane(i: Any, e: Any, r: Any) -> Any:
    return e - (e * r[0]).sum(dim=-1, keepdim=True) * r[0]


def _trans_r(i: Any, e: Any, r: Any) -> Any:
    projected = torch.einsum("...e,...er->...r", e, r[1])
    return clamp_norm(projected, p=i.p, dim=-1, maxnorm=i.max_projection_norm)


def _trans_d(i: Any, e: Any, r: Any) -> Any:
    return project_entity(e=e[0], e_p=e[1], r_p=r[1])


def _triple_re(place: int) -> VectorFunction:
    return lambda i, e, r: e * (r[place] if i.u is None else r[place] + i.u)


def _mure_head(i: Any, e: Any, r: Any) -> Any:
    return e[0] * r[1]


FORMS: dict[type[Any], InteractionForm] = {
    # dot products
    modules.DistMultInteraction: _products(lambda i, h, r: h * r, lambda i, t, r: r * t),
    modules.CPInteraction: _products(lambda i, h, r: h * r, lambda i, t, r: r * t),
    modules.ComplExInteraction: _products(lambda i, h, r: h * r, lambda i, t, r: r.conj() * t),
    modules.SimplEInteraction: _products(_simple, _simple, _concatenated),
    modules.AutoSFInteraction: _products(_auto_sf(0, 2), _auto_sf(2, 0), _concatenated),
    modules.RESCALInteraction: _products(
        lambda i, h, r: torch.einsum("bd,bde->be", h, r),
        lambda i, t, r: torch.einsum("bde,be->bd", r, t),
    ),
    modules.HolEInteraction: _products(_hole_tail, _hole_head),
    modules.QuatEInteraction: _products(
        lambda i, h, r: -torch.einsum("bdi,bdj,ijk->bdk", h, r, i.table),
        lambda i, t, r: -torch.einsum("bdk,bdj,ijk->bdi", t, r, i.table),
    ),
    modules.DistMAInteraction: _products(lambda i, h, r: h + r, lambda i, t, r: r + t),
    modules.TransFInteraction: _products(lambda i, h, r: 2 * h + r, lambda i, t, r: 2 * t - r),
    modules.TuckERInteraction: InteractionForm(
        Side(_tucker_tail, _entities), Side(_tucker_head, _tucker_head_vectors), lambda i: "dot"
    ),
    modules.MultiLinearTuckerInteraction: _products(
        lambda i, h, r: torch.einsum("ijk,bi,bj->bk", i.core_tensor, h, r),
        lambda i, t, r: torch.einsum("ijk,bk,bj->bi", i.core_tensor, t, r),
    ),
    modules.ConvEInteraction: _tails_only(_conv_e, biased=True),
    modules.ERMLPEInteraction: _tails_only(lambda i, h, r: i.mlp(torch.cat([h, r], dim=-1))),
    modules.CrossEInteraction: _tails_only(_cross_e),
    modules.ProjEInteraction: _tails_only(_proj_e)._replace(similarity=_proj_e_similarity),
    # distances
    modules.TransEInteraction: _distances(shift=lambda r: r, per_relation=(False, False)),
    modules.UMInteraction: _distances(per_relation=(False, False)),
    modules.RotatEInteraction: InteractionForm(
        Side(lambda i, h, r: h * r, _entities),
        Side(lambda i, t, r: r.conj() * t, _entities),
        lambda i: "l2",  # for any p, which it does not use
    ),
    modules.TransHInteraction: _distances(_on_plane, _on_plane, lambda r: r[1]),
    modules.TransRInteraction: _distances(_trans_r, _trans_r, lambda r: r[0]),
    modules.TransDInteraction: _distances(_trans_d, _trans_d, lambda r: r[0]),
    modules.SEInteraction: _distances(_projected(0), _projected(1)),
    modules.PairREInteraction: _distances(_times(0), _times(1)),
    modules.LineaREInteraction: _distances(_times(0), _times(2), lambda r: r[1]),
    modules.TripleREInteraction: _distances(_triple_re(0), _triple_re(2), lambda r: r[1]),
    modules.MuREInteraction: _distances(
        _mure_head, _first, lambda r: r[0], per_relation=(True, False), bias=_second
    ),
}


def unwrapped(interaction: Any) -> Any:
    """Remove a clamp without bounds, which `pykeen.models.SimplE` has."""
    clamps = type(interaction) is modules.ClampedInteraction and interaction.clamp_score is None
    return interaction.base if clamps else interaction


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
