"""Scores on a simulated device, copied or counted there; `test_devices.py` runs these tests.

The device is that of `support.simulated_device`, where results that nobody waited for are wrong,
and every copy to the host is noted.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import attempt, outcome
from support.problems import DTYPES, Array, csr, host_tensor, matrix
from support.refusals import refusal, refused
from support.simulated_device import (
    RNG,
    SIZES,
    DeviceTensor,
    Event,
    Kernel,
    Stream,
    choose,
    count_plainly,
    module,
    on_device,
    pending_scores,
    pending_tensor,
    use_kernel,
)
from truerank import _core, alignment
from truerank.devices import task_counts
from truerank.devices.task_counts import DeviceScores
from truerank.inputs.selection import Tasks
from truerank.link_prediction import Task
from truerank.stores import on_device as device
from truerank.stores.on_device import DeviceStream

WAYS = ("host", "triton")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way in which scores on the device are counted in a test."""
    choose(request.param, monkeypatch)
    return str(request.param)


def same(got: Any, expected: Exception) -> bool:
    """Whether two errors are of one type, with the same words."""
    return type(got) is type(expected) and str(got) == str(expected)


# --- the same counts and errors


@pytest.mark.parametrize("kind", DTYPES)
def test_every_dtype_without_a_wait(kind: str, way: str) -> None:
    array = matrix(kind, (23, 67))
    targets = RNG.integers(0, 67, 23)
    lists = [RNG.integers(0, 67, 30).tolist() for _ in range(23)]
    scores = pending_scores(array)
    module.forget()
    ranks = tr.rank(scores, targets, filter=lists)
    assert module.copies == [False] * len(module.copies)  # none of which was waited for by itself
    assert len(module.copies) > 1 or way == "triton"
    assert module.synchronisations == 0 or way == "host"
    assert ranks == tr.rank(array, targets, filter=lists)  # tensors would be counted alike
    assert (ranks.protocol.dtype, ranks.protocol.device) == (kind, f"standin:0, {way}")
    assert tr.rank(pending_scores(array)[3], 7) == tr.rank(array[3], 7)  # a single row


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "turned": lambda tensor: tensor.T,
    "steps": lambda tensor: tensor[1::3, ::2],
    "broadcast": lambda tensor: tensor[:1].expand(9, -1),
    "negative bit": torch._neg_view,
    "computed with a gradient": lambda tensor: tensor.clone().requires_grad_() * 1,
    "no rows": lambda tensor: tensor[:0],
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view(view: str, way: str) -> None:
    on_host = VIEWS[view](host_tensor(matrix("bfloat16", (23, 67))))
    memory = on_host.detach()
    if way != "host":
        memory = memory.resolve_neg()
    on_the_device = DeviceTensor(memory)
    if on_host.requires_grad:
        on_the_device = on_the_device.requires_grad_()
    targets = RNG.integers(0, on_host.shape[1], len(on_host))
    audit = way == "host"
    assert tr.rank(on_the_device, targets, audit=audit) == tr.rank(on_host, targets, audit=audit)
    assert on_the_device.grad is None


@pytest.mark.parametrize("way", WAYS)
@given(problem=problems(nan=True, errors=True), most=st.sampled_from([1, 40, 1000, 1 << 20]))
def test_the_counts_and_refusals_of_memory(way: str, problem: Problem, most: int) -> None:
    tensor = host_tensor(problem.scores)
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    expected = outcome(tensor, problem)
    with pytest.MonkeyPatch.context() as patch:
        choose(way, patch)
        if way == "host":
            patch.setattr(device, "BLOCK_BYTES", most)
        got = outcome(pending_tensor(lambda: tensor), problem)
    if not isinstance(expected, Exception):
        assert got == expected
        return
    # If there are several NaN, the error names that of the first block.
    if way == "host" and "is NaN" in str(expected):
        assert isinstance(got, ValueError)
        assert any(words in str(got) for words in ("is NaN", "target"))
    else:
        assert same(got, expected)


def test_modes_of_the_thread_change_nothing(way: str) -> None:
    array = RNG.random((4, 90))
    targets = np.arange(30)
    rows = np.arange(30) % 4
    expected = tr.rank(array, targets, rows=rows)
    scores = pending_scores(array)
    for mode in (torch.inference_mode(), torch.no_grad(), torch.autocast("cpu")):
        with mode:  # true scores are taken here, blocks perhaps on another thread
            assert tr.rank(pending_scores(array), targets, rows=rows) == expected
    with torch.device("meta"):
        assert tr.rank(scores, targets, rows=rows) == expected
    with torch.inference_mode():
        made = pending_scores(array)
    assert tr.rank(made, targets, rows=rows) == expected


def test_a_result_that_is_not_waited_for_is_seen(way: str) -> None:
    array = RNG.random((40, 50))
    targets = RNG.integers(0, 50, 40)
    module.forget()
    assert pending_scores(array).max().item() == array.max()
    assert module.synchronisations == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Event, "synchronize", lambda self: None)
        wrong = tr.rank(pending_scores(array), targets, nan="worst")
    assert wrong != tr.rank(array, targets)


def test_everything_is_on_the_device(way: str) -> None:
    array = RNG.random((13, 100))
    targets = RNG.integers(0, 100, 30)
    rows = RNG.integers(0, 13, 30).astype(np.int32)
    lists = [RNG.integers(0, 100, 9).tolist() for _ in range(30)]
    shared = np.unique(np.concatenate([targets, RNG.integers(0, 100, 40)]))
    expected = tr.rank(array, targets, rows=rows, filter=lists, candidates=shared)
    selections: dict[str, Any] = {"rows": on_device(rows), "candidates": on_device(shared)}
    scores = pending_scores(array)
    forms = tuple(map(on_device, csr(lists))), [on_device(np.array(some)) for some in lists]
    for filter in forms:
        report = tr.evaluate(scores, on_device(targets), filter=filter, **selections)
        assert report.ranks == expected
    assert tr.rank(scores, on_device(np.array(7))) == tr.rank(array, 7)
    refused(TypeError, "targets", tr.rank, scores, on_device(np.zeros(13)))
    starts = np.arange(14)
    wrong = np.arange(13)
    wrong[3] = 100
    for targets, of_targets, selections in (
        (wrong, on_device(wrong), {}),
        (0, 0, {"filter": (starts, wrong)}),
        (0, 0, {"candidates": (starts, wrong // 50)}),
    ):
        expected_error = attempt(tr.rank, array, targets, **selections)
        assert isinstance(expected_error, ValueError)
        moved = {name: tuple(map(on_device, lists)) for name, lists in selections.items()}
        assert same(attempt(tr.rank, scores, of_targets, **moved), expected_error)


# --- counters


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("audit", [False, True])
def test_blocks_of_candidates(kind: str, audit: bool, way: str, tmp_path: Any) -> None:
    array = matrix(kind, (13, 120))
    targets = RNG.integers(0, 120, 13)
    rules = {"filter": [RNG.integers(0, 120, 9).tolist() for _ in range(13)], "audit": audit}
    mixed = RNG.permutation(np.arange(80, 120))
    true_scores = pending_scores(array[np.arange(13), targets])
    one, other = (tr.RankCounter(true_scores, targets, candidates=120, **rules) for _ in range(2))
    one.update(pending_scores(array[:, 40:80]), start=40)
    one.update(pending_scores(array[:, mixed]), columns=on_device(mixed))
    one.update(array[:, :20], start=0)
    other.update(pending_scores(array[:, 20:40].T).T, start=20)
    other.save(tmp_path / "other.npz")
    found = one.merge(tr.RankCounter.load(tmp_path / "other.npz")).ranks()
    assert found == tr.rank(array, targets, **rules)


# --- the other ways in

SCORES = RNG.random((20, 30))
TRUE = RNG.random(20)
TARGETS = RNG.integers(0, 30, 20)
QUERIES = RNG.random((20, 8))
ENTITIES = RNG.random((30, 8))
BIAS = RNG.random(30)
ALIGNED = alignment.Task(np.arange(20)[:, None].repeat(2, axis=1), left=20, right=30)
# A call; `move` brings its arrays to the device.
DOORS: dict[str, Callable[[Callable[[Array], Any]], Any]] = {
    "samples": lambda move: tr.rank_against(move(TRUE), move(SCORES)),
    "samples, true scores here": lambda move: tr.rank_against(TRUE, move(SCORES)),
    "samples in lists": lambda move: tr.rank_against(
        move(TRUE), (np.arange(0, 601, 30), move(SCORES.ravel()))
    ),
    "vectors": lambda move: tr.rank_embeddings(
        move(QUERIES), move(ENTITIES), TARGETS, similarity="l1", bias=move(BIAS)
    ),
    "top": lambda move: tr.topk_embeddings(move(QUERIES), move(ENTITIES), 3).ids.tolist(),
    "alignment": lambda move: ALIGNED.evaluate_scores(move(SCORES)).ranks,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door(door: str, way: str) -> None:
    found = DOORS[door](pending_scores)
    assert found == DOORS[door](np.asarray)
    assert door != "vectors" or found.protocol.device == "standin:0, host"
    if door == "samples" and way == "host":
        assert len(module.copies) > 3  # They come in tiles.


VECTOR_KINDS = ("float16", "bfloat16", "float32", "float64", "complex64", "int8", "bool")
# Results for queries, entities and options that say how they are scored.
VECTOR_CALLS: list[Callable[..., Any]] = [
    lambda *pair, **how: tr.rank_embeddings(*pair, TARGETS, **how),
    lambda *pair, **how: tr.score_embeddings(*pair, **how).tolist(),
    lambda *pair, **how: tr.topk_embeddings(*pair, 3, **how).ids.tolist(),
    lambda *pair, **how: str(alignment.csls_means(*pair, 3, **how)),
    lambda *pair, **how: ALIGNED.evaluate_embeddings(*pair, **how, csls=3).ranks,
]


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("call", VECTOR_CALLS)
def test_vectors_are_copied_once_in_their_dtype(call: Any, kind: str, way: str) -> None:
    numbers = torch.from_numpy(RNG.integers(-4, 5, (50, 8))).to(getattr(torch, kind))
    tensors = numbers[:20], numbers[20:]
    how = {"similarity": "complex_l1" if kind == "complex64" else "l2"}
    expected = call(*tensors, **how)
    module.forget()
    got = call(*(pending_tensor(lambda tensor=tensor: tensor) for tensor in tensors), **how)
    assert got == expected
    assert len(module.copies) == 2
    if isinstance(got, tr.Ranks):
        assert got.protocol.dtype == expected.protocol.dtype
        assert got.protocol.device == "standin:0, host"


def test_views_of_vectors_and_modes(way: str) -> None:
    array = RNG.random((40, 80)).astype(np.float32)[::2, ::3]
    expected = tr.rank_embeddings(array[:10], array, np.arange(10))
    tensor = DeviceTensor(torch.from_numpy(array)).requires_grad_()
    for mode in (torch.no_grad(), torch.autocast("cpu"), torch.device("meta")):
        with mode:
            assert tr.rank_embeddings(tensor[:10], tensor.T.T, np.arange(10)) == expected
    assert tensor.grad is None


def test_bits_of_vectors_that_are_yet_to_be_applied(way: str) -> None:
    """Tensors in the host's memory count as on the device where Triton is chosen."""
    parts = torch.from_numpy(QUERIES + 1j * QUERIES[::-1])
    how = {"similarity": "complex_l1"}
    expected = tr.score_embeddings(parts.numpy().conj(), ENTITIES + 0j, **how)
    np.testing.assert_array_equal(
        tr.score_embeddings(parts.conj(), torch.from_numpy(ENTITIES + 0j), **how), expected
    )
    negative = torch._neg_view(torch.from_numpy(QUERIES))
    expected = tr.score_embeddings(-QUERIES, ENTITIES)
    np.testing.assert_array_equal(
        tr.score_embeddings(negative, torch.from_numpy(ENTITIES)), expected
    )


def test_vectors_on_the_device_and_beside_it(way: str, tmp_path: Any) -> None:
    expected = tr.rank_embeddings(QUERIES, ENTITIES, TARGETS)
    for queries, entities in ((on_device(QUERIES), ENTITIES), (QUERIES, on_device(ENTITIES))):
        for options in ({}, {"audit": True}, {"checkpoint": tmp_path / "kept"}):
            ranks = tr.rank_embeddings(queries, entities, TARGETS, **options)
            np.testing.assert_array_equal(ranks.above, expected.above)
            assert ranks.protocol.device == "standin:0, host"
    assert expected.protocol.device is None


def test_refusals_of_vectors(way: str) -> None:
    for left, right in (
        (QUERIES[:, :3], ENTITIES),
        (QUERIES[None], ENTITIES),
        (QUERIES.astype(np.complex64), ENTITIES),
        (QUERIES[:, :0], ENTITIES[:, :0]),
    ):
        expected = attempt(tr.rank_embeddings, left, right, TARGETS)
        assert isinstance(expected, ValueError | TypeError)
        pair = on_device(left.copy()), on_device(right.copy())
        assert same(attempt(tr.rank_embeddings, *pair, TARGETS), expected)
    sparse = torch.from_numpy(ENTITIES).to_sparse()
    refused(TypeError, "entities", tr.rank_embeddings, QUERIES, sparse, TARGETS)


def test_lists_of_vectors_are_not_copied_to_the_host(way: str) -> None:
    indptr = np.arange(31)
    lists = {"queries": (QUERIES, indptr[:21]), "entities": (ENTITIES, indptr)}
    how: dict[str, Any] = {"targets": TARGETS, "similarity": "maxsim"}
    expected = tr.rank_embeddings(**lists, **how)  # type: ignore[arg-type]
    for name, (vectors, starts) in lists.items():
        moved = {**lists, name: (on_device(vectors), starts)}
        words = f"^{name}: expected vectors in the host's memory with maxsim, got a tensor on stand"
        refusal(TypeError, words, tr.rank_embeddings, **moved, **how)
        moved[name] = (on_device(vectors).cpu(), on_device(starts))
        np.testing.assert_array_equal(tr.rank_embeddings(**moved, **how).above, expected.above)


def test_sides_share_a_copy_of_their_entities(way: str) -> None:
    test = np.stack([np.arange(20), np.zeros(20, np.int64), TARGETS], axis=1)
    task = Task(test, entities=30, relations=1)
    expected = task.evaluate_embeddings(QUERIES, head=QUERIES[::-1], entities=ENTITIES)
    for queries, copies in ((np.asarray, 1), (on_device, 3)):
        vectors = {"tail": queries(QUERIES), "head": queries(QUERIES[::-1].copy())}
        module.forget()
        report = task.evaluate_embeddings(**vectors, entities=pending_scores(ENTITIES))
        assert len(module.copies) == copies
        assert report.ranks == expected.ranks
        assert report.protocol.device == "standin:0, host"


def test_a_model_of_pykeen_on_the_device(way: str) -> None:
    """Its own scores are ranked, where they are; its vectors if that is said, on the host."""
    pytest.importorskip("pykeen", reason="PyKEEN is not installed")
    from pykeen.datasets import Nations
    from pykeen.models import DistMult

    from truerank.adapters.pykeen import evaluate_model

    nations = Nations()
    model = DistMult(triples_factory=nations.training, embedding_dim=8, random_seed=0)
    arguments = model, nations.testing.mapped_triples[:20]
    by_vectors = evaluate_model(*arguments).ranks
    by_scores = evaluate_model(*arguments, fused=False).ranks
    assert by_vectors.protocol.similarity == "dot"
    model.to("standin:0")
    for fused, expected in ((None, by_scores), (False, by_scores), (True, by_vectors)):
        ranks = evaluate_model(*arguments, fused=fused).ranks
        assert ranks == expected
        assert ranks.protocol.similarity == expected.protocol.similarity
        assert ranks.protocol.device == f"standin:0, {'host' if fused else way}"


@pytest.mark.parametrize("width", [50, 300])
def test_scores_of_a_stream_beside(width: int, way: str) -> None:
    """Scores are read on the stream that makes them, whatever stream is the caller's."""
    array = RNG.random((25, width))
    targets = RNG.integers(0, width, 25)
    expected = tr.rank(array, targets)
    with module.stream(Stream()):
        ranks = [tr.rank(pending_scores(array), targets)]
        store = tr.open_scores(pending_scores(array))
    ranks.append(tr.rank(store, targets))
    assert ranks == [expected, expected]
    assert {each.protocol.device for each in ranks} == {f"standin:0, {way}"}


@pytest.mark.parametrize("axis", [0, 1])
def test_shards_on_devices(axis: int, way: str) -> None:
    array = RNG.random((20, 46))
    targets = RNG.integers(0, 46, 20)
    shards = np.split(array, [7, 7, 15], axis=axis)
    lists = [RNG.integers(0, 46, 10).tolist() for _ in range(20)]
    mixed = tr.open_scores([pending_scores(shards[0]), *shards[1:]], axis=axis)
    store = tr.open_scores([pending_scores(shard) for shard in shards], axis=axis)
    assert store.device
    for some in (store, mixed):
        assert tr.rank(some, targets, filter=lists) == tr.rank(array, targets, filter=lists)
    assert way in str(tr.rank(store, targets).protocol.device)
    assert repr(tr.open_scores(pending_scores(array))) == "DeviceStore(20 x 46 float64)"
    array[18, 35] = array[18, 40] = np.nan
    store = tr.open_scores([pending_scores(x) for x in np.split(array, 2, axis=axis)], axis=axis)
    words = r"^scores: a score at row 18, column 35 is NaN"
    refusal(ValueError, words, tr.rank, store, np.zeros(20, np.int64))


def test_tasks_of_a_protocol(way: str) -> None:
    test = np.stack([RNG.integers(0, 30, 40), RNG.integers(0, 3, 40), RNG.integers(0, 30, 40)], 1)
    rules: dict[str, Any] = {"duplicates": "drop", "leaks": "drop"}
    train = test.copy()
    train[:, 2] = (train[:, 2] + 1) % 30
    task = Task(test, entities=30, relations=3, known={"train": train}, **rules)
    model = RNG.random((30, 3, 30))
    sides: dict[str, Callable[[Array], Array]] = {
        "tail": lambda queries: model[queries[:, 0], queries[:, 1]],
        "head": lambda queries: model[:, queries[:, 0], queries[:, 1]].T,
    }
    expected = task.evaluate(**sides, batch_size=7).ranks
    scorers = {name: lambda q, side=side: pending_scores(side(q)) for name, side in sides.items()}
    got = task.evaluate(**scorers, batch_size=7)
    assert got.ranks == expected
    assert got.protocol.device == f"standin:0, {way}"
    rows = {name: task.sides[name].queries for name in sides}
    matrices = {name: scorers[name](queries) for name, queries in rows.items()}
    assert task.evaluate_scores(**matrices, row_queries=rows).ranks == expected
    narrow = scorers | {"tail": lambda queries: scorers["tail"](queries)[:, 1:]}
    refused(ValueError, "tail", task.evaluate, **narrow)
    module.forget()
    task.evaluate(**scorers, batch_size=1)
    assert len(module.copies) == sum(map(len, rows.values())) or way == "triton"


def test_progress_and_checkpoint(way: str, tmp_path: Any) -> None:
    array = RNG.random((40, 50))
    targets = RNG.integers(0, 50, 40)
    expected = tr.rank(array, targets)
    done: list[int] = []
    tr.rank(pending_scores(array), targets, progress=lambda progress: done.append(progress.done))
    assert (done[0], done[-1]) == (0, array.nbytes)
    assert len(done) == 2 or way == "host"
    keywords: dict[str, Any] = {"checkpoint": tmp_path / "kept"}
    kept = tr.rank(pending_scores(array), targets, **keywords)
    assert kept == expected
    assert kept.protocol.device == "standin:0, host"  # a checkpoint is of what the host has read
    before = len(module.copies)
    assert tr.rank(pending_scores(array), targets, **keywords) == expected
    assert len(module.copies) > before  # this checks whether the scores are the same
    refused(ValueError, "checkpoint", tr.rank, pending_scores(array + 1), targets, **keywords)


WRONG_SCORES = [torch.zeros(2, 3, dtype=torch.bool), torch.zeros(2, 3, dtype=torch.complex64)]
WRONG_SCORES += [torch.zeros(2, 3).to(torch.float8_e5m2), torch.zeros(2, 3, 4)]
NAN_SCORES = SCORES.copy()
NAN_SCORES[7, 3] = np.nan
REFUSED: list[Callable[[Callable[[Any], Any]], Any]] = [
    *(lambda move, some=some: tr.rank(move(some), [0, 1]) for some in WRONG_SCORES),
    lambda move: tr.rank_against(TRUE, move(SCORES[:2])),
    lambda move: tr.rank_against(TRUE, move(SCORES.astype(np.float32))),
    lambda move: tr.rank_against(TRUE, move(NAN_SCORES)),
    lambda move: tr.rank(move(SCORES.astype(np.float32)), 0, dtype="float64"),
]


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call: Callable[..., Any], way: str) -> None:
    expected = attempt(call, lambda array: array)
    assert isinstance(expected, ValueError | TypeError)
    assert same(attempt(call, on_device), expected)


def test_bits_of_bfloat16(way: str) -> None:
    bits = torch.tensor([[0x3F80, 0x4000]], dtype=torch.int16)
    assert tr.rank(on_device(bits), [0], dtype="bfloat16").protocol.dtype == "bfloat16"


# --- what only one way does


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    choose("host", monkeypatch)


@pytest.fixture
def counted_there(monkeypatch: pytest.MonkeyPatch) -> None:
    choose("triton", monkeypatch)


@pytest.fixture
def example() -> tuple[Any, Any]:
    """Return scores, and a target for each row."""
    return RNG.random((23, 300)), RNG.integers(0, 100, 23)


@pytest.mark.usefixtures("copied")
def test_one_block_is_copied_while_another_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is counted only after the next copy has begun, and all counts are right."""
    array = RNG.random((40, 50))  # blocks of whole rows
    targets = RNG.integers(0, 50, 40)
    expected = tr.rank(array, targets)
    count = _core.rank
    blocks = len(tr.open_scores(pending_scores(array)).tiles(1 << 30))
    counted: list[None] = []

    def late(*args: Any) -> Any:
        counted.append(None)
        following = min(len(counted) + 1, blocks)
        with module.copied:
            assert module.copied.wait_for(lambda: len(module.copies) >= following, timeout=30)
        return count(*args)

    monkeypatch.setattr(_core, "rank", late)
    assert tr.rank(pending_scores(array), targets) == expected
    assert len(counted) == blocks
    assert blocks <= len(module.copies) <= blocks + 1  # true scores that may be masked are read


@pytest.mark.usefixtures("copied")
def test_a_device_without_streams(
    example: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    array, targets = example
    monkeypatch.delattr(type(module), "Stream")
    assert tr.rank(pending_scores(array), targets) == tr.rank(array, targets)
    assert module.copies == [True] * len(module.copies)


@pytest.mark.usefixtures("copied")
def test_threads_share_a_store(example: tuple[Any, Any]) -> None:
    array, targets = example
    store = tr.open_scores(pending_scores(array))
    with ThreadPoolExecutor(4) as threads:
        counted = list(threads.map(lambda _: tr.rank(store, targets), range(4)))
    assert counted == [tr.rank(array, targets)] * 4


@pytest.mark.usefixtures("copied")
def test_a_refused_block_leaves_the_counter_as_it_was(example: tuple[Any, Any]) -> None:
    array, targets = example
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300)
    wrong = array.copy()
    wrong[3, 250] = np.nan
    message = r"^block: the score at row 3, column 50 \(column 250\) is NaN"
    refusal(ValueError, message, counter.update, pending_scores(wrong[:, 200:]), start=200)
    for block in (array.astype(np.float32), array[1:], array[:, None]):
        expected = attempt(counter.update, block)
        assert isinstance(expected, ValueError | TypeError)
        assert same(attempt(counter.update, pending_scores(block)), expected)
    counter.update(pending_scores(array))
    assert counter.ranks() == tr.rank(array, targets)


@pytest.mark.parametrize(
    ("count", "chosen", "installed", "expected"),
    [
        ("right", "", True, "triton"),
        ("right", "triton", True, "triton"),
        ("right", "host", True, "host"),
        ("right", "", False, "host"),
        ("one too many", "", True, "host"),  # a compiler that errs
        ("one too many", "triton", True, "host"),
        ("fails", "", True, "host"),  # one that does not know the device
    ],
)
def test_the_kernel_is_used_where_it_counts_right(
    count: str,
    chosen: str,
    installed: bool,
    expected: str,
    example: tuple[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is tried on the device, once for a dtype; else the host counts a copy."""
    array, targets = example

    def count_here(given: Any) -> None:
        count_plainly(given)
        given.counts[0] += count == "one too many"

    if count == "fails":
        monkeypatch.setattr(Kernel, "__getitem__", lambda kernel, programs: 1 / 0)
    use_kernel(count_here, SIZES, monkeypatch)
    if not installed:
        monkeypatch.setattr(task_counts, "find_spec", lambda name: None)
    monkeypatch.setenv("TRUERANK_DEVICE", chosen)
    task_counts.counts_right.cache_clear()
    for _ in range(2):
        ranks = tr.rank(pending_scores(array), targets)
        assert ranks == tr.rank(array, targets)
        assert str(ranks.protocol).endswith(f", float64, on standin:0, {expected}")
    tries = task_counts.counts_right.cache_info()
    assert tries.misses == (installed and chosen != "host")
    task_counts.counts_right.cache_clear()


def test_a_backend_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", "torch")
    words = "^TRUERANK_DEVICE: expected one of triton, host, got 'torch'"
    refusal(ValueError, words, tr.rank, on_device(np.eye(3)), [0, 1, 2])


def test_triton_is_required_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its kernel is interpreted it is not tried; elsewhere the host's memory is not read."""
    tensor = torch.eye(3)
    choose("triton", monkeypatch)
    assert task_counts.backend_of(tensor) == "host"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert task_counts.backend_of(tensor) == "triton"
    monkeypatch.setattr(task_counts, "find_spec", lambda name: None)
    refusal(ImportError, "^TRUERANK_DEVICE=triton needs", task_counts.backend_of, tensor)


@pytest.mark.parametrize("shape", [(3, 1_500_000), (4000, 5000), (1 << 21, 20), (1 << 21, 9000)])
@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
def test_memory_beside_the_scores(
    shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is taken on the device for the most tasks that a kernel counts."""
    sizes: list[int] = []
    plain = DeviceScores.empty

    def noted(self: Any, shape: Any, dtype: Any) -> Any:
        sizes.append(int(np.prod(shape)) * dtype.itemsize)
        return plain(self, shape, dtype)

    monkeypatch.setattr(DeviceScores, "empty", noted)
    use_kernel(lambda given: None, SIZES, monkeypatch)
    assert shape[0] <= task_counts.MOST_KERNEL_TASKS
    tensor = on_device(torch.zeros(1, 1, dtype=getattr(torch, kind))).expand(shape)
    tasks = Tasks(np.arange(shape[0])[::-1], np.zeros(shape[0], np.int64))
    task_counts.begin_kernel(DeviceScores(tensor, DeviceStream(tensor.device)), tasks)
    module.default.synchronize()
    assert (24 + 40 + tensor.itemsize) * shape[0] <= sum(sizes) < 256 << 20


@pytest.mark.usefixtures("counted_there")
def test_a_call_is_over_when_it_returns(example: tuple[Any, Any]) -> None:
    """What it read may be written again, on another stream, too."""
    array, targets = example
    model = on_device(array)
    buffer = on_device(np.empty((7, 300)))

    def score(queries: Any) -> Any:
        assert module.default.done == len(module.default.operations)
        rows = buffer.raw[: len(queries)]
        rows.copy_(model.raw[queries[:, 0]])
        return DeviceTensor(rows)

    test = np.stack([np.arange(23), np.zeros(23, np.int64), targets], axis=1)
    task = Task(test, entities=300, relations=1, sides=("tail",))
    got = task.evaluate(tail=score, batch_size=7)
    assert got.protocol.device == "standin:0, triton"
    assert got.ranks == task.evaluate(tail=lambda queries: array[queries[:, 0]]).ranks

    lists = [RNG.integers(0, 300, 20).tolist() for _ in range(23)]
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300, filter=lists)
    mixed = 100 + RNG.permutation(200)
    for columns in (np.arange(100), mixed):
        block = pending_scores(array[:, columns])
        counter.update(block, columns=on_device(columns))
        block.raw.numpy().fill(-1)
    assert counter.ranks() == tr.rank(array, targets, filter=lists)


@pytest.mark.usefixtures("counted_there")
def test_a_block_with_a_nan_is_not_counted(example: tuple[Any, Any]) -> None:
    array, targets = example
    wrong = array.copy()
    wrong[5, 170] = np.nan
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300)
    counter.update(pending_scores(array[:, :100]), start=0)
    message = r"^block: the score at row 5, column 70 \(column 170\) is NaN"
    refusal(ValueError, message, counter.update, pending_scores(wrong[:, 100:200]), start=100)
    refused(ValueError, "block", counter.update, pending_scores(array[:, 99:200]), start=99)
    counter.update(pending_scores(array[:, 200:]), start=200)
    refusal(ValueError, "column 100 has not been counted", counter.ranks)
    counter.update(pending_scores(array[:, 100:200]), start=100)
    assert counter.ranks() == tr.rank(array, targets)
