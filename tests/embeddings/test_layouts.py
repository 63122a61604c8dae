"""Layouts of complex numbers: each form of the same vectors gives the same bits, at every door."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.problems import Array, assert_same
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.embeddings.vectors import Embeddings

RNG = np.random.default_rng(3)
QUERIES, ENTITIES = (RNG.standard_normal((n, 6)) + 1j * RNG.integers(0, 3, (n, 6)) for n in (9, 40))
TARGETS = np.arange(9)
MODULI: dict[str, Any] = {"similarity": "complex_l1"}


def interleaved(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(numbers.real.dtype)


def halves(numbers: Array) -> Array:
    return np.concatenate([numbers.real, numbers.imag], axis=-1)


def swapped(numbers: Array) -> Array:
    """Return the same numbers in the other byte order."""
    return numbers.astype(numbers.dtype.newbyteorder())


FORMS: dict[str, tuple[Any, Any, str | None]] = {
    "complex": (np.asarray, np.asarray, None),
    "interleaved": (interleaved, interleaved, "interleaved"),
    "halves": (halves, halves, "halves"),
    "complex queries, halves": (np.asarray, halves, "halves"),
    "halves, complex entities": (halves, np.asarray, "halves"),
    "complex in columns": (np.asfortranarray, np.asfortranarray, None),
    "every other complex number": (np.asarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], None),
    "halves in columns": (halves, lambda x: np.asfortranarray(halves(x)), "halves"),
    "halves of the other byte order": (lambda x: swapped(halves(x)), halves, "halves"),
    "complex of the other byte order": (np.asarray, swapped, None),
    "conjugates of conjugates": (np.asarray, lambda x: x.conj().conj(), None),
    "lists": (lambda x: x.tolist(), np.asarray, None),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_forms_have_the_same_bits_at_every_door(form: str, dtype: str) -> None:
    queries = QUERIES.astype(dtype)
    entities = ENTITIES.astype(dtype)
    expected = -np.abs(queries[:, None] - entities).sum(-1, dtype=np.float64)
    plain = interleaved(queries), interleaved(entities)
    of_queries, of_entities, layout = FORMS[form]
    if form == "lists":  # whose numbers are complex128
        plain = interleaved(queries.astype(complex)), plain[1]
    given = of_queries(queries), of_entities(entities)
    said: dict[str, Any] = {**MODULI, "layout": layout}
    usual: dict[str, Any] = {**MODULI, "layout": "interleaved"}
    scores = tr.score_embeddings(*given, **said)
    assert scores.tobytes() == tr.score_embeddings(*plain, **usual).tobytes()
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    assert_same(tr.rank_embeddings(*given, TARGETS, **said), tr.rank(scores, TARGETS))
    top, again = (tr.topk_embeddings(*x, 5, **y) for x, y in ((given, said), (plain, usual)))
    np.testing.assert_array_equal(top, again)
    means = alignment.csls_means(*given, 3, **said)
    again = alignment.csls_means(*plain, 3, **usual)
    np.testing.assert_array_equal(means.entities, again.entities)
    by_means = tr.score_embeddings(*given, csls=means, **said)
    assert by_means.tobytes() == tr.score_embeddings(*plain, csls=again, **usual).tobytes()
    pairs, _ = alignment.infer(*given, method="stable", **said)
    expected_pairs, _ = alignment.infer(*plain, method="stable", **usual)
    np.testing.assert_array_equal(pairs, expected_pairs)
    pairs = [(i, i + 2) for i in range(9)]
    sizes = dict(zip(("left", "right"), map(len, plain), strict=True))
    evaluate = alignment.Task(pairs, **sizes).evaluate_embeddings
    report = evaluate(*given, csls=2, audit=True, **said)
    assert report.ranks == evaluate(*plain, csls=2, audit=True, **usual).ranks


def test_tasks_take_a_layout() -> None:
    triples = np.array([(0, 0, 5), (1, 0, 6), (0, 0, 7)])
    task = link_prediction.Task(triples, entities=40)
    tails = ENTITIES[triples[:, 0]] * 1j
    heads = ENTITIES[triples[:, 2]] * -1j
    vectors = {"tail": tails, "head": heads}
    expected = task.evaluate_embeddings(**vectors, entities=ENTITIES, audit=True, **MODULI)
    for layout, form in (("halves", halves), ("interleaved", interleaved)):
        made = {name: form(x) for name, x in (vectors | {"entities": ENTITIES}).items()}
        report = task.evaluate_embeddings(**made, audit=True, layout=layout, **MODULI)
        assert report.ranks == expected.ranks
    scores = {side: -np.abs(x[:, None] - ENTITIES).sum(-1) for side, x in vectors.items()}
    assert task.evaluate_scores(**scores).ranks.above.tolist() == expected.ranks.above.tolist()
    mismatched = np.where(np.arange(3)[:, None] == 2, tails + 1, tails)  # rows of one query
    with pytest.warns(UserWarning, match="^tail: in 1 of 3 rows a query has other scores"):
        odd = task.evaluate_embeddings(mismatched, head=heads, entities=ENTITIES, **MODULI)
    assert (odd.ranks.above != expected.ranks.above).any()
    documents = retrieval.Task({0: [3], 1: [4, 5]}, entities=40)
    given = documents.evaluate_embeddings(QUERIES[:2], ENTITIES, **MODULI)
    found = documents.evaluate_embeddings(
        halves(QUERIES[:2]), halves(ENTITIES), layout="halves", **MODULI
    )
    assert found.ranks == given.ranks


@pytest.mark.python_only
@pytest.mark.parametrize("form", ["complex", "halves"])
def test_files_and_maps_are_read_in_place(form: str, tmp_path: Path) -> None:
    """A large map in halves is not copied, nor one of complex numbers."""
    of_queries, of_entities, layout = FORMS[form]
    said: dict[str, Any] = {**MODULI, "layout": layout}
    entities = np.tile(ENTITIES, (2000, 10)).astype(np.complex64)
    queries = np.tile(QUERIES, (1, 10)).astype(np.complex64)
    path = tmp_path / "entities.npy"
    np.save(path, of_entities(entities))
    expected = tr.rank_embeddings(queries, entities, TARGETS, **MODULI)
    for given in (path, str(path), np.load(path, mmap_mode="r")):
        tracemalloc.start()
        ranks = tr.rank_embeddings(of_queries(queries), given, TARGETS, **said)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert ranks == expected
        assert peak < entities.nbytes / 10
    kept = tmp_path / "kept"
    assert tr.rank_embeddings(queries, path, TARGETS, checkpoint=kept, **said) == expected


def test_a_checkpoint_of_another_layout_is_another_call() -> None:
    same = interleaved(QUERIES), interleaved(ENTITIES)
    one, other = (
        Embeddings(*same, "complex_l1", layout=layout).state()  # type: ignore[arg-type]
        for layout in ("interleaved", "halves")
    )
    assert one != other


V = tr.InputValueError
T = tr.InputTypeError
BOTH = '"interleaved" .real and imaginary parts in turn. or "halves" .all real parts, then'
REAL = halves(QUERIES), halves(ENTITIES)
COMPLEX = QUERIES, ENTITIES


@pytest.mark.parametrize(
    ("kind", "words", "given", "options"),
    [
        (V, "^layout: ", REAL, MODULI),
        (V, "^layout: ", (QUERIES, REAL[1]), MODULI),
        (V, "^layout: ", COMPLEX, MODULI | {"layout": "halves"}),
        (V, "^layout: ", REAL, {"similarity": "l1", "layout": "halves"}),
        (V, "^layout: ", REAL, MODULI | {"layout": "C"}),
        (T, "^queries: .* complex128, which only complex_l1 .* the dot of", COMPLEX, {}),
        (T, "^entities: .* complex128, which only", (REAL[0], ENTITIES), {"similarity": "l2"}),
        (V, "^entities: ", (QUERIES, REAL[1][:, 2:]), None),
        (V, "^entities: ", (REAL[0][:, 2:], ENTITIES), None),
        (V, "^queries: .* an even length", (REAL[0][:, 1:], REAL[1][:, 1:]), None),
        (T, "^queries: ", COMPLEX, MODULI | {"dtype": "float32"}),
        (T, "^bias: .* got dtype complex128", COMPLEX, MODULI | {"bias": ENTITIES[:, 0]}),
    ],
)
def test_what_is_refused(
    kind: Any, words: str, given: tuple[Array, Array], options: dict[str, Any] | None
) -> None:
    if options is None:
        options = MODULI | {"layout": "halves"}
    refusal(kind, words, tr.score_embeddings, *given, **options)
    refusal(kind, words, tr.rank_embeddings, *given, TARGETS, **options)
    refusal(kind, words, tr.topk_embeddings, *given, 3, **options)


def test_a_layout_belongs_to_vectors() -> None:
    scores = np.ones((2, 3))
    refusal(T, "^layout: unexpected", tr.rank, scores, [0, 0], layout="halves")
    wrong: dict[str, Any] = {"layout": "halves"}
    words = "^layout: "
    refusal(V, words, alignment.infer, scores, None, **wrong)
    refusal(T, "dtype complex128", tr.rank, scores + 0j, [0, 0])
