"""truerank inside PyKEEN: an evaluator for its pipeline, and a function that evaluates models.

`RankEvaluator` replaces `pykeen.evaluation.RankBasedEvaluator` by a change of one line in a
pipeline. `evaluate_model` makes a `Report` of a model and triples. If scores are dot products or
distances of two vectors, they are counted as they are computed, and never stored.
"""
# ruff: noqa: E402 - the message that PyKEEN is missing comes before the imports that need it

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import truerank as tr

from ..inputs.progress_listeners import reporter, watch_part
from ..link_prediction import Task
from ..metrics.keys import NEGATED, parse
from ..tasks.side import Side, join_sides, lists_of_tasks, rank_batches
from . import import_extra

import_extra("pykeen", "truerank.adapters.pykeen")

import torch
from pykeen.constants import TARGET_TO_INDEX
from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults, evaluator_resolver
from pykeen.evaluation.rank_based_evaluator import RankBasedMetricKey
from pykeen.metrics import ranking
from pykeen.models import ERModel, Model
from pykeen.nn import modules
from pykeen.triples import CoreTriplesFactory, TriplesFactory
from pykeen.triples.triples_factory import restrict_triples
from pykeen.typing import RANK_TYPES
from pykeen.utils import camel_to_snake, clamp_norm, determine_maximum_batch_size, project_entity
from torch_max_mem import maximize_memory_utilization

__all__ = ["RankEvaluator", "RankResults", "evaluate_model"]

# A map makes vectors from an interaction (i) and from representations of entities (e) and of their
# relations (r).
Map = Callable[[Any, list[Any], list[Any]], Any]


def entity(i: Any, e: list[Any], r: list[Any]) -> Any:
    return e[0]


def times(place: int) -> Map:
    # TripleRE adds u to the relation; the others have none.
    return lambda i, e, r: e[0] * (r[place] + (getattr(i, "u", None) or 0))


def matrix(place: int) -> Map:
    return lambda i, e, r: torch.einsum("...rd,...d->...r", r[place], e[0])


def to_plane(i: Any, e: list[Any], r: list[Any]) -> Any:
    return e[0] - (e[0] * r[0]).sum(dim=-1, keepdim=True) * r[0]


def to_space(i: Any, e: list[Any], r: list[Any]) -> Any:
    in_space = torch.einsum("...e,...er->...r", e[0], r[1])
    return clamp_norm(in_space, p=i.p, dim=-1, maxnorm=i.max_projection_norm)


def projected(i: Any, e: list[Any], r: list[Any]) -> Any:
    return project_entity(e=e[0], e_p=e[1], r_p=r[1])


def turned_back(i: Any, e: list[Any], r: list[Any]) -> Any:
    return r[0].conj() * e[0]


# Of scores that are minus the norm of head + shift - tail: the maps of heads and of tails, and the
# place of the shift among the representations of the relation.
DISTANCES: dict[Any, tuple[Map, Map, int | None]] = {
    modules.LineaREInteraction: (times(0), times(2), 1),
    modules.MuREInteraction: (times(1), entity, 0),
    modules.PairREInteraction: (times(0), times(1), None),
    modules.RotatEInteraction: (times(0), entity, None),
    modules.SEInteraction: (matrix(0), matrix(1), None),
    modules.TransDInteraction: (projected, projected, 0),
    modules.TransEInteraction: (entity, entity, 0),
    modules.TransHInteraction: (to_plane, to_plane, 1),
    modules.TransRInteraction: (to_space, to_space, 0),
    modules.TripleREInteraction: (times(0), times(2), 1),
    modules.UMInteraction: (entity, entity, None),
}
# The keys are the norm and whether it is raised to its power.
SIMILARITIES = {(1, False): "l1", (1, True): "l1", (2, False): "l2", (2, True): "sql2"}

# Scores of these are linear in the representations of candidate tails ("t") or of both sides.
LINEAR = dict.fromkeys(("ConvE", "CrossE", "ERMLPE", "ProjE"), "t")
LINEAR |= dict.fromkeys(("AutoSF", "ComplEx", "CP", "DistMA", "DistMult", "HolE"), "th")
LINEAR |= dict.fromkeys(("MultiLinearTucker", "QuatE", "RESCAL", "SimplE", "TransF"), "th")
LINEAR["TuckER"] = "th"
PRODUCTS = {getattr(modules, f"{name}Interaction"): sides for name, sides in LINEAR.items()}


def find_similarity(interaction: Any, role: str) -> str | None:
    """Return the similarity that makes the scores of candidate tails ("t") or heads ("h")."""
    kind = type(interaction)
    if kind is modules.RotatEInteraction:
        return "l2"  # RotatE does not use its p.
    if kind in DISTANCES:
        return SIMILARITIES.get((interaction.p, interaction.power_norm))
    # ProjE's activation may round different scores to ties.
    activation = getattr(interaction, "outer_activation", None)
    is_plain = activation is None or isinstance(activation, torch.nn.Identity)
    return "dot" if is_plain and role in PRODUCTS.get(kind, "") else None


# Queries are made in parts of so many bytes, for each may have a matrix of its relation.
QUERY_BYTES = 64 << 20
# If a model overrides one of these methods, its vectors do not determine its scores.
SCORING_METHODS: tuple[str, ...] = ("predict", "predict_t", "predict_h", "score_t", "score_h")
SCORING_METHODS += ("score_h_inverse", "_prepare_batch", "_prepare_inverse_batch")
SCORING_METHODS += ("_get_representations", "forward")
# These are the columns of the entity and of the relation in the queries of a side.
COLUMNS = {"tail": [0, 1], "head": [1, 0]}
# Scores of vectors may differ from the model's by this share of the largest one.
TOLERANCE = 1e-3
SAMPLED_QUERIES, SAMPLED_CANDIDATES = 4, 100


@dataclass(frozen=True)
class Vectors:
    """One side of a model as vectors; with inverse relations, heads are tails of the inverse."""

    interaction: Any
    role: str  # "t" or "h": what candidates are in the interaction.
    columns: list[int]  # of the entity and of the relation in a query
    entities: list[Any]  # The model's representations of the entities of queries.
    relations: Sequence[Any]
    ids: Any  # of the relations in the model
    candidates: list[Any]  # The representations of all candidates, as tensors.

    @property
    def distance(self) -> tuple[Map, Map, int | None] | None:
        """The maps of queries and candidates, and the place of the shift; None for a product."""
        kind = type(self.interaction)
        if kind not in DISTANCES:
            return None
        head, tail, shift = DISTANCES[kind]
        if self.role == "t":
            return head, tail, shift
        if kind is modules.RotatEInteraction:  # Then candidates are the same for all relations.
            return turned_back, entity, shift
        return tail, head, shift

    def rank(self, side: Side, **options: Any) -> tr.Ranks:
        """Rank the tasks of a side, in their order; `options` are those of `rank_embeddings`."""
        relations = side.query_ids[:, self.columns[1]]
        _, map_candidates, _ = self.distance or (entity, entity, None)
        if map_candidates is entity:  # Candidates have the same vectors for all relations.
            relations = np.zeros_like(relations)
        parts = []
        order = []
        for relation in np.unique(relations):  # by numpy: few values
            queries = np.flatnonzero(relations == relation)
            tasks = np.flatnonzero(relations[side.rows] == relation)
            order.append(tasks)
            vectors, scoring = self.candidate_vectors(relation)
            ranks = tr.rank_embeddings(
                self.make_queries(side.query_ids[queries]),
                vectors,
                side.targets[tasks],
                rows=np.searchsorted(queries, side.rows[tasks]),
                filter=lists_of_tasks(side.filter, tasks),
                candidates=lists_of_tasks(side.candidates, tasks),
                **scoring,
                **options,
            )
            parts.append(ranks)
        return tr.concatenate(parts)[np.argsort(np.concatenate(order))]

    def make_queries(self, pairs: Any) -> Any:
        """Make the vectors of queries, pairs (q, 2) of an entity and a relation, in batches."""
        width = sum(math.prod(x.shape) for x in self.entities)
        bytes_of_query = 4 * width**2  # where its relation is a matrix of float32
        batch_size = 1 + QUERY_BYTES // bytes_of_query
        vectors = []
        for batch in torch.from_numpy(pairs.copy()).split(batch_size):
            entities, relations = batch.to(self.ids.device).T[self.columns]
            of_entities = at(self.entities, entities)
            of_relations = at(self.relations, self.ids[relations])
            vectors.append(self.query_vectors(of_entities, of_relations))
        return torch.cat(vectors)

    def query_vectors(self, entities: list[Any], relations: list[Any]) -> Any:
        """Make vectors (q, d) from representations of an entity and a relation each.

        A score that is linear in the candidate is the dot product with its gradient, wherever that
        is taken, and a term that all candidates share.
        """
        if self.distance is not None:
            map_queries, _, shift = self.distance
            vectors = map_queries(self.interaction, entities, relations)
            if shift is not None:
                shifts = relations[shift]
                vectors = vectors + shifts if self.role == "t" else vectors - shifts
            return joined([vectors])
        count = len(entities[0])
        zeros = [x.new_zeros(count, *x.shape[1:]).requires_grad_() for x in self.candidates]
        query_role = "h" if self.role == "t" else "t"
        representations_by_role = {query_role: entities, self.role: zeros, "r": relations}
        arguments: dict[str, Any] = {}
        for name, representations in representations_by_role.items():
            # An interaction takes a single representation without a list.
            arguments[name] = representations[0] if len(representations) == 1 else representations
        with torch.enable_grad():
            score = self.interaction(**arguments).sum()
        return joined(torch.autograd.grad(score, zeros, allow_unused=True, materialize_grads=True))

    def candidate_vectors(self, relation: int) -> tuple[Any, dict[str, Any]]:
        """Make the vectors (n, d) of candidates, for a relation, and say how they are scored."""
        scoring: dict[str, Any] = {"similarity": find_similarity(self.interaction, self.role)}
        if self.distance is None:
            return joined(self.candidates), scoring
        relations = at(self.relations, self.ids[relation, None])
        _, map_candidates, _ = self.distance
        vectors = map_candidates(self.interaction, self.candidates, relations)
        biases = [x for x in self.candidates if x.ndim == 1]
        if biases:  # MuRE adds them to scores.
            scoring["bias"] = biases[0]
        return joined([vectors]), scoring

    def score_like(self, model: Any, side: Side) -> bool:
        """Whether some vectors score as a model does, which a hook or a later PyKEEN may change."""
        relations = side.query_ids[:, self.columns[1]]
        queries = side.query_ids[relations == relations[0]][:SAMPLED_QUERIES]
        places = torch.linspace(0, side.n_candidates - 1, SAMPLED_CANDIDATES, dtype=torch.float64)
        sampled_ids = places.long().unique()
        options = {"full_batch": False, "ids": sampled_ids.to(model.device)}
        pairs = torch.from_numpy(queries).to(model.device)
        theirs = joined([model.predict(pairs, target=side.name, **options)]).cpu().numpy()
        sample = replace(self, candidates=[x[sampled_ids] for x in self.candidates])
        vectors, scoring = sample.candidate_vectors(relations[0])
        ours = tr.score_embeddings(sample.make_queries(queries), vectors, **scoring)
        # Vectors leave out what is the same for all candidates of a query.
        with np.errstate(invalid="ignore"):
            differences = np.ptp(np.ma.masked_invalid(ours - theirs), axis=1)
        largest = np.abs(np.ma.masked_invalid(theirs)).max()
        return not (differences > TOLERANCE * largest).any()


def find_obstacle(model: Any, mode: Any) -> str | None:
    """Return why no vectors give the scores of a model, whatever its interaction, or None."""
    for name in SCORING_METHODS:
        method = getattr(model, name, None)
        if getattr(method, "__func__", None) is not getattr(ERModel, name):
            return f"{type(model).__name__} is not an ERModel, or has its own {name}"
    if model.predict_with_sigmoid:
        return "predict_with_sigmoid rounds large scores to ties; set it to False"
    if mode is not None:
        return f"the inductive mode {mode!r} has its own entities"
    return None


def make_vectors(model: Any, side: Side, mode: Any) -> Vectors | str:
    """Return a side of a model as vectors, or the reason why no vectors give its scores."""
    obstacle = find_obstacle(model, mode)
    if obstacle is not None:
        return obstacle
    interaction = model.interaction
    if type(interaction) is modules.ClampedInteraction and interaction.clamp_score is None:
        interaction = interaction.base  # PyKEEN wraps SimplE so.
    is_inverse = side.name == "head" and model.use_inverse_triples
    role = "t" if side.name == "tail" or is_inverse else "h"  # of the candidates, to PyKEEN
    if find_similarity(interaction, role) is None:
        name = type(interaction).__name__
        return f"{name} with its settings is not a dot product, L1 or L2 distance of two vectors"
    of_queries, of_candidates = interaction.head_indices, interaction.tail_indices
    if role == "h":
        of_queries, of_candidates = of_candidates, of_queries
    candidates = [model.entity_representations[i](indices=None) for i in of_candidates]
    # Narrower vectors would round scores at every step.
    for x in candidates:
        if x.dtype.itemsize < 4 or len(x) != model.num_entities:
            return f"it has {len(x)} vectors of {x.dtype} for {model.num_entities} entities"
    entities = [model.entity_representations[i] for i in of_queries]
    ids = torch.arange(model.num_real_relations, device=model.device)[:, None]
    if model.use_inverse_triples:
        ids = model.relation_inverter.map(batch=ids, index=0, invert=is_inverse)
    columns = COLUMNS[side.name]
    relations = model.relation_representations
    vectors = Vectors(interaction, role, columns, entities, relations, ids[:, 0], candidates)
    if not vectors.score_like(model, side):
        return "its vectors do not give its scores"
    return vectors


def at(representations: Sequence[Any], ids: Any) -> list[Any]:
    """Return those of ids, in the shape in which models ask: a normaliser can depend on it."""
    return [each(indices=ids[:, None])[:, 0] for each in representations]


def joined(parts: Sequence[Any]) -> Any:
    """Join arrays (n, ...) to vectors (n, d), in which parts of complex numbers alternate."""
    vectors = []
    for part in parts:
        real = part.detach().resolve_conj()
        if real.is_complex():
            real = torch.view_as_real(real)
        vectors.append(real.reshape(len(real), -1))
    return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)


def rank_own_scores(
    model: Any,
    side: Side,
    *,
    batch_size: int | None,
    slice_size: int | None,
    mode: Any,
    **rules: Any,
) -> tr.Ranks:
    """Rank the tasks of a side by the model's scores; batches are halved if memory runs out."""
    largest_batch = determine_maximum_batch_size(batch_size, model.device, len(side.query_ids))
    options = {"target": side.name, "full_batch": False, "mode": mode}

    def predict(queries: Any, batch_size: int, slice_size: int) -> Any:
        batches = queries.split(batch_size)
        parts = [model.predict(batch, slice_size=slice_size, **options) for batch in batches]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    within_memory = maximize_memory_utilization(parameter_name=("batch_size", "slice_size"))
    predict_within_memory = within_memory(predict)

    def score(queries: Any) -> Any:
        width = slice_size or side.n_candidates
        size = min(largest_batch, len(queries))
        return predict_within_memory(queries, batch_size=size, slice_size=width)

    # By default there are as many queries as `rank_batches` asks for.
    queries_at_once = None if batch_size is None else largest_batch
    return rank_batches(score, side, batch_size=queries_at_once, device=model.device, **rules)


def evaluate_model(
    model: Any,
    triples: Any,
    *,
    known: Mapping[str, Any] | Sequence[Any] | None = None,
    sides: Collection[str] = ("head", "tail"),
    candidates: Any = None,
    split: str = "test",
    filter: str = "query",
    fused: bool | None = None,
    batch_size: int | None = None,
    slice_size: int | None = None,
    mode: str | None = None,
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
    audit: bool = False,
    progress: Any = None,
) -> tr.Report:
    """Evaluate a model of PyKEEN on triples, and return a Report; each query is scored once.

    Parameters
    ----------
    model : pykeen.models.Model
        It is set to evaluation mode, and stays on its device.
    triples : TriplesFactory, or array_like of int, shape (n, 3)
        The triples to rank, without inverse ones, by which some models predict heads.
    known : mapping of str to triples, sequence of triples, or None
        Other known triples, ``{"train": dataset.training}``; like those in `triples`, they are left
        out as answers of the same query. None: those in `triples` alone are left out.
    sides : sequence of {"head", "tail"}
        The predicted sides.
    candidates, split, filter : optional
        As in `truerank.link_prediction.Task`.
    fused : bool, optional
        True: the model's vectors are scored and counted without storing scores, on the processor,
        to which they are copied from a device. False: the model's own scores are ranked, where they
        are; candidates that nearly tie may then change places. None: vectors, for each side that
        has them, if the model is on the processor; its own scores if it is on a device.
    batch_size, slice_size : int, optional
        For the model's own scores: how many queries and candidates to score at once. By default,
        as in PyKEEN, 32 queries on a CPU, and as many as fit on a GPU.
    mode : {"training", "validation", "testing"}, optional
        PyKEEN's inductive mode.
    nan, dtype, threads, audit, progress : optional
        As in `truerank.rank`; progress is in queries.

    Raises
    ------
    TypeError, ValueError
        For anything but a model and triples; if ``fused=True`` and scores are no dot products, L1
        or L2 distances of vectors; for factories with other ids; and as `Task` and `rank` do.

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> nations = Nations()
    >>> model = DistMult(triples_factory=nations.training, embedding_dim=8, random_seed=0)
    >>> report = evaluate_model(model, nations.testing, known={"train": nations.training})
    >>> print(report.protocol)
    split test, filtered by train + test, all candidates, nan raise, float32, dot
    """
    if not isinstance(model, Model):
        raise tr.InputTypeError("model", expected="a pykeen Model", got=type(model).__name__)
    count = model.num_entities if mode is None else model._get_entity_len(mode=mode)
    names = read_vocabularies(triples, known, entities=count, relations=model.num_real_relations)
    names |= {"sides": sides, "candidates": candidates, "split": split, "filter": filter}
    task = Task(read_ids(triples), read_ids(known), ids=True, **names)
    if "relation" in task.sides:  # PyKEEN's models differ in the candidates of relations.
        raise tr.InputValueError("sides", expected="heads and tails", got="'relation'")
    heights = [len(side.query_ids) for side in task.sides.values()]
    watch = reporter(progress, sum(heights), "queries")
    rules: dict[str, Any] = {"nan": nan, "dtype": dtype, "threads": threads, "audit": audit}
    predicting: dict[str, Any] = {"batch_size": batch_size, "slice_size": slice_size, "mode": mode}
    may_use_vectors = fused or (fused is None and model.device.type == "cpu")
    model.eval()
    with torch.no_grad():
        vectors: dict[str, Vectors] = {}
        sides_to_try = task.sides if may_use_vectors else {}
        for name, side in sides_to_try.items():  # One that must have vectors is refused at once.
            vectors_or_why_none = make_vectors(model, side, mode)
            if isinstance(vectors_or_why_none, Vectors):
                vectors[name] = vectors_or_why_none
            elif fused:
                expected = f"a model whose {name}s can be scored by vectors, but "
                expected += vectors_or_why_none
                raise tr.InputValueError("fused", expected=expected)
        ranks_of_sides = []
        for i, (name, side) in enumerate(task.sides.items()):
            report = watch_part(watch, heights, i)
            if name in vectors:
                report(0)
                ranks = vectors[name].rank(side, **rules)
                report(len(side.query_ids))
            else:
                ranks = rank_own_scores(model, side, report_progress=report, **predicting, **rules)
            ranks_of_sides.append(ranks)
    origin = task.origin
    if task.entities is None:  # Ids are those of PyKEEN's factories, which also have the names.
        origin = replace(origin, queries=0)
    return tr.Report(join_sides(task.sides.values(), ranks_of_sides, task.protocol, (origin,)))


def read_ids(triples: Any) -> Any:
    """Return the ids of triples, or of splits, in factories or tensors; others as they are."""
    if isinstance(triples, Mapping):
        return {name: read_ids(split) for name, split in triples.items()}
    if isinstance(triples, (list, tuple)):
        return list(map(read_ids, triples))
    if isinstance(triples, CoreTriplesFactory):
        triples = triples.mapped_triples
    if isinstance(triples, torch.Tensor):
        return triples.cpu().numpy()
    return triples


def read_vocabularies(triples: Any, known: Any, **sizes: int) -> dict[str, Any]:
    """Return labels of entities and relations if triples have them; ids of factories must agree."""
    if not isinstance(triples, TriplesFactory):
        return sizes
    named_splits = known
    if not isinstance(known, Mapping):
        named_splits = dict(enumerate(known if isinstance(known, (list, tuple)) else [known]))
    names: dict[str, Any] = {}
    for kind, label in (("entities", "entity"), ("relations", "relation")):
        labels = getattr(triples, f"{label}_id_to_label")
        if labels.keys() != set(range(sizes[kind])):
            expected = f"a factory with the model's {sizes[kind]} {kind}"
            raise tr.InputValueError("triples", expected=expected, got=len(labels))
        for name, split in named_splits.items():
            for i, theirs in getattr(split, f"{label}_id_to_label", {}).items():
                if labels.get(i, theirs) != theirs:
                    expected = f"the ids of triples, whose {label} {i} is {labels[i]!r}"
                    raise tr.InputValueError("known", "", expected, repr(theirs), place=name)
        names[kind] = [labels[i] for i in range(len(labels))]
    return names


def find_key(metric: Any) -> tuple[str, float] | None:
    """Return the key of a metric of PyKEEN and its sign there, or None for a foreign metric."""
    name = camel_to_snake(type(metric).__name__)
    if type(metric).__module__ != ranking.__name__:
        return None
    if name in NEGATED:  # PyKEEN negates these, so that more is better.
        return NEGATED[name], -1.0
    base = getattr(metric, "base", metric)  # An adjusted metric has its cutoff in `base`.
    try:
        return str(parse(name.replace("_at_k", f"@{getattr(base, 'k', 0)}"))), 1.0
    except KeyError:
        return None


class RankResults(RankBasedMetricResults):
    """Values of truerank under PyKEEN's names, from a `Report` and PyKEEN's or other metrics.

    The attribute `report` has all metrics under truerank's keys, and `ranks` the counts.
    """

    def __init__(self, report: tr.Report, metrics: Iterable[Any]) -> None:
        self.report = report
        self.ranks = report.ranks
        sides = ranks_by_side(self.ranks) | {"both": self.ranks}
        # They have no labels, since PyKEEN pools relations as well.
        reports = {s: tr.report(tr.Ranks(x.above, x.tied, x.candidates)) for s, x in sides.items()}
        values = {}
        for metric, kind, side in itertools.product(metrics, RANK_TYPES, sides):
            key_and_sign = find_key(metric)
            if key_and_sign is not None:
                key, sign = key_and_sign
                value = sign * reports[side][f"{kind}.{key}"]
            else:
                ranks = {"ranks": getattr(sides[side], kind)}
                value = float(metric(**ranks, num_candidates=sides[side].candidates, weights=None))
            values[RankBasedMetricKey(side=side, rank_type=kind, metric=metric.key)] = value
        super().__init__(data=values)

    @classmethod
    def key_from_string(cls, s: str | None) -> Any:
        """Read a name of PyKEEN or, if it is none, a key of a report."""
        try:
            return super().key_from_string(s)
        except (KeyError, ValueError):
            key = parse(str(s))
        metric = str(replace(key, side="both", kind="realistic"))
        return RankBasedMetricKey(side=key.side, rank_type=key.kind, metric=metric)

    def get_metric(self, name: Any) -> float:
        """Return a metric by its name in PyKEEN, or by any key of a report, as "expected.mrr"."""
        key = self.string_or_key_to_key(name)
        if key not in self.data:
            return self.report[".".join(key)]
        value: float = self.data[key]
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.report!r})"


def ranks_by_side(ranks: tr.Ranks) -> dict[str, tr.Ranks]:
    """Split ranks by their side, in PyKEEN's order."""
    if ranks.side is None:
        return {}
    sides = np.asarray(ranks.side.values)
    return {str(side): ranks[sides == side] for side in np.unique(sides)}  # by numpy: words


class RankEvaluator(RankBasedEvaluator):
    """An evaluator for PyKEEN's pipeline, which also knows it as ``evaluator="truerank"``.

    Parameters
    ----------
    filtered : bool
        Whether known answers are left out, those of the evaluated triples among them.
    fused, candidates, nan, threads, audit : optional
        As in `evaluate_model`.
    **kwargs
        Arguments of `pykeen.evaluation.RankBasedEvaluator`, as `metrics` and `mode`.

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> nations = Nations()
    >>> model = DistMult(triples_factory=nations.training, embedding_dim=8, random_seed=0)
    >>> result = RankEvaluator().evaluate(model, nations.testing.mapped_triples, use_tqdm=False)
    >>> result.get_metric("mrr") == result.report["mrr"]
    True
    """

    metric_result_cls = RankResults

    def __init__(
        self,
        filtered: bool = True,
        *,
        fused: bool | None = None,
        candidates: Any = None,
        nan: str = "raise",
        threads: int | None = None,
        audit: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(filtered=filtered, **kwargs)
        self.fused = fused
        self.candidates = candidates
        self.rules: dict[str, Any] = {"nan": nan, "threads": threads, "audit": audit}
        self._batches: list[tr.Ranks] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sum(map(len, self._batches)):,} tasks)"

    def evaluate(
        self,
        model: Any,
        mapped_triples: Any,
        batch_size: int | None = None,
        slice_size: int | None = None,
        device: Any = None,
        use_tqdm: bool = True,
        tqdm_kwargs: Mapping[str, Any] | None = None,
        restrict_entities_to: Collection[int] | None = None,
        restrict_relations_to: Collection[int] | None = None,
        do_time_consuming_checks: bool = True,
        additional_filter_triples: Any = None,
        pre_filtered_triples: bool = True,
        targets: Collection[str] = ("head", "tail"),
    ) -> RankResults:
        """Evaluate a model on triples, with the arguments of PyKEEN's evaluators.

        The protocol calls two `additional_filter_triples` train and valid, as pipelines order them;
        a mapping names them itself. `tqdm_kwargs` are not used. Errors are those of
        `evaluate_model`, and for triples beyond the restrictions.
        """
        limits = {"entities": restrict_entities_to, "relations": restrict_relations_to}
        triples = restrict_triples(mapped_triples, **limits)
        if pre_filtered_triples and len(triples) < len(mapped_triples):
            expected = "only triples of the restriction, or pre_filtered_triples=False"
            raise tr.InputValueError("mapped_triples", expected=expected)
        candidates = self.candidates
        if restrict_entities_to is not None:
            candidates = np.asarray(list(restrict_entities_to), dtype=np.int64)
        if device is not None:
            model = model.to(device)
        known = None
        if self.filtered:
            known = [] if additional_filter_triples is None else additional_filter_triples
            if isinstance(known, torch.Tensor):
                known = [known]
            elif isinstance(known, (list, tuple)) and len(known) < 3:
                known = dict(zip(("train", "valid"), known, strict=False))
        try:
            measured = evaluate_model(
                model,
                triples,
                known=known,
                filter="query" if self.filtered else "none",
                sides=targets,
                candidates=candidates,
                fused=self.fused,
                batch_size=batch_size,
                slice_size=slice_size,
                mode=self.mode,
                progress=use_tqdm,
                **self.rules,
            )
        except tr.InputError as error:
            if error.argument == "sides":
                error.argument = "targets"  # PyKEEN calls them so.
            raise
        self.clear()
        self._add(measured.ranks)
        # PyKEEN means the columns of scores.
        if restrict_entities_to is None:
            self.num_entities = model.num_entities
        else:
            self.num_entities = len(candidates)
        return self.finalize()

    def process_scores_(self, hrt_batch: Any, target: str, scores: Any, **others: Any) -> None:
        """Rank a batch of scores (b, candidates), of which PyKEEN made the filtered ones NaN."""
        triples = read_ids(hrt_batch)
        answers = triples[:, TARGET_TO_INDEX[target]]
        ranks = tr.rank(scores, answers, **self.rules | {"nan": "omit"})
        ranks = ranks.with_labels(side=target, relation=triples[:, 1], targets=answers)
        self._add(ranks.with_protocol(filter=("known",) if self.filtered else ()))
        self.num_entities = scores.shape[1]

    def clear(self) -> None:
        super().clear()
        self._batches.clear()

    def finalize(self) -> RankResults:
        """Return the results of all ranks; an error if there are none."""
        result = RankResults(tr.report(tr.concatenate(self._batches)), self.metrics)
        if self.clear_on_finalize:
            self.clear()
        return result

    def _add(self, ranks: tr.Ranks) -> None:
        """Store ranks, also where PyKEEN takes them for confidence intervals."""
        self._batches.append(ranks)
        for side, part in ranks_by_side(ranks).items():
            self.num_candidates[side].append(part.candidates)
            for kind in RANK_TYPES:
                self.ranks[side, kind].append(getattr(part, kind))


evaluator_resolver.register(RankEvaluator, synonyms={"truerank"}, raise_on_conflict=False)
