"""Forms: a row for each interaction of PyKEEN whose score is a similarity of two vectors.

A side of a form makes the vector of a query from an entity and a relation, and the vectors of the
candidates. Its functions take the interaction, representations of entities and representations of
relations as PyKEEN passes them: a tensor, or a list of tensors if there are several. Terms that
depend only on the query are left out of the scores, because they shift all its candidates alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from pykeen.nn import modules
from pykeen.utils import clamp_norm, project_entity

from ...inputs.words import Similarity

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
