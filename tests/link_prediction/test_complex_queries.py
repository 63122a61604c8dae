"""Complex queries against their definition: filters, means, forms of answers, files, errors."""

from __future__ import annotations

import gzip
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from support.refusals import refusal
from truerank.link_prediction import ComplexQueries, read_queries, write_queries

STRUCTURES = ("1p", "2i", "pni")


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw queries with easy and hard answers, and scores with ties."""
    n = draw(st.integers(1, 5))
    m = draw(st.integers(2, 6))
    entities = st.sets(st.integers(0, m - 1))
    hard = draw(st.lists(entities, min_size=n, max_size=n).filter(any))
    easy = [draw(entities) - right for right in hard]
    structures = draw(st.lists(st.sampled_from(STRUCTURES), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(0, 3), min_size=n * m, max_size=n * m))
    scores = np.array(scores, np.float32).reshape(n, m)
    return {"easy": easy, "hard": hard, "structures": structures, "scores": scores}


def made(problem: dict[str, Any], **options: Any) -> ComplexQueries:
    queries = [("q", i) for i in range(len(problem["hard"]))]
    return ComplexQueries(
        queries,
        problem["easy"],
        problem["hard"],
        structures=problem["structures"],
        entities=problem["scores"].shape[1],
        **options,
    )


def tasks_by_definition(problem: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return query, target, above, tied and candidates of every hard answer."""
    found = []
    for i, hard in enumerate(problem["hard"]):
        row = problem["scores"][i].tolist()
        known = hard | problem["easy"][i]
        every = set(range(len(row)))
        found += [(i, t, *oracle.rank(row, t, every, known)) for t in sorted(hard)]
    return found


@given(problems(), st.data())
def test_tasks_by_their_definition(problem: dict[str, Any], data: Any) -> None:
    m = problem["scores"].shape[1]
    candidates = None
    if data.draw(st.booleans()):
        chosen = set().union(*problem["hard"]) | data.draw(st.sets(st.integers(0, m - 1)))
        candidates = sorted(chosen, reverse=True)
    task = made(problem, candidates=candidates)
    scores = problem["scores"]
    report = task.evaluate_scores(problem["scores"])
    ranks = report.ranks
    of_batches = task.evaluate(lambda positions: scores[positions], batch_size=2)
    # with unit vectors as entities, the embeddings of queries are their scores
    of_vectors = task.evaluate_embeddings(scores, np.eye(m, dtype=np.float32))
    for other in (of_batches, of_vectors):
        assert other.to_dict() == pytest.approx(report.to_dict(), rel=0, abs=0, nan_ok=True)
        assert np.array_equal(other.ranks.above, ranks.above)
    columns = [ranks.queries.values, ranks.targets.values]
    columns += [ranks.above, ranks.tied, ranks.candidates]
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    outside = set() if candidates is None else set(range(m)) - set(candidates)
    easy = [answers | outside for answers in problem["easy"]]
    expected = tasks_by_definition({**problem, "easy": easy})
    assert found == expected
    assert ranks.unit.codes.tolist() == [each[0] for each in expected]
    structures = [problem["structures"][each[0]] for each in expected]
    assert ranks.labels["structure"].values.tolist() == structures
    assert task.without_hard == sum(not hard for hard in problem["hard"])
    assert ranks.protocol.filter == ("easy", "hard")


@given(problems())
def test_means_over_answers_then_queries_then_structures(problem: dict[str, Any]) -> None:
    report = made(problem).evaluate_scores(problem["scores"])
    of_query = defaultdict(list)
    for query, _, above, _, _ in tasks_by_definition(problem):
        of_query[query].append(Fraction(1, above + 1))
    of_structure = defaultdict(list)
    for query, values in of_query.items():
        of_structure[problem["structures"][query]].append(sum(values) / len(values))
    means = {name: sum(values) / len(values) for name, values in of_structure.items()}
    for name, mean in means.items():
        value = report.groups[name]["optimistic.mrr"]
        assert value == pytest.approx(float(mean), rel=1e-12)
    macro = sum(means.values()) / len(means)
    assert report["macro.optimistic.mrr"] == pytest.approx(float(macro), rel=1e-12)
    everything = [value for values in of_structure.values() for value in values]
    micro = sum(everything) / len(everything)
    assert report["optimistic.mrr"] == pytest.approx(float(micro), rel=1e-12)


# -- forms of answers ------------------------------------------------------------------------------

QUERIES = [("a", ("r",)), ("b", ("r", "s")), ("c", ("r",))]
EASY = [["b", "b"], [], ["a"]]
HARD = [["c"], ["a", "d"], []]
NAMES = ["1p", "2p", "1p"]
ENTITIES = ["a", "b", "c", "d"]


def check(task: ComplexQueries) -> None:
    assert task.queries == tuple(QUERIES)
    assert task.structures == tuple(NAMES)
    assert task.answers.queries.tolist() == [0, 1]
    assert task.answers.test_rows.tolist() == [0, 1, 1]
    assert task.answers.targets.tolist() == [2, 0, 3]
    assert task.answers.height == 3
    assert task.answers.filter is not None
    assert [part.tolist() for part in task.answers.filter] == [[0, 2, 4], [1, 2, 0, 3]]
    assert task.without_hard == 1
    assert "3 hard answers of 2 queries, 1 without, 2 structures" in repr(task)


def test_forms(tmp_path: Path) -> None:
    options: Any = {"structures": NAMES, "entities": ENTITIES}
    check(ComplexQueries(QUERIES, EASY, HARD, **options))
    check(ComplexQueries(QUERIES, list(map(set, EASY)), list(map(frozenset, HARD)), **options))
    by_query = [{q: set(a) for q, a in zip(QUERIES, one, strict=True) if a} for one in (EASY, HARD)]
    check(ComplexQueries(QUERIES, *(one | {"other": {"a"}} for one in by_query), **options))
    of_ids: Any = [
        np.split(np.array([1, 1, 0]), [2, 2]),
        tuple(np.split(np.array([2, 0, 3]), [1, 3])),
    ]
    check(ComplexQueries(QUERIES, *of_ids, structures=np.array(NAMES), entities=4))
    of_labels: Any = [[np.array(ENTITIES)[ids] for ids in lists] for lists in of_ids]
    check(ComplexQueries(QUERIES, *of_labels, **options))
    for name in ("queries.jsonl", "queries.jsonl.gz"):
        write_queries(tmp_path / name, QUERIES, EASY, HARD, structures=NAMES)
        check(ComplexQueries(tmp_path / name, entities=ENTITIES))
        check(ComplexQueries(read_queries(str(tmp_path / name)), entities=ENTITIES))
    write_queries(tmp_path / "ids", QUERIES, *of_ids, structures=NAMES)
    check(ComplexQueries(tmp_path / "ids", entities=4))


def test_queries_that_are_str_are_labels() -> None:
    task = ComplexQueries(["x", "y"], None, [[0], [1]], structures="1p", entities=2)
    assert task.answers.labels["queries"].values.tolist() == ["x", "y"]
    task = ComplexQueries(np.array([7, 5]), None, [[0], [1]], structures="1p", entities=2)
    assert task.answers.labels["queries"].values.tolist() == [0, 1]
    assert task.queries == (7, 5)


@given(problem=problems())
def test_files_keep_everything(
    problem: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    queries = [(("e", i), (("r", -1), "x\ny")) for i in range(len(problem["hard"]))]
    path = tmp_path_factory.mktemp("queries") / "queries"
    structures = problem["structures"]
    write_queries(path, queries, problem["easy"], problem["hard"], structures=structures)
    found = read_queries(path)
    assert found.queries == tuple(queries)
    assert found.easy == tuple(tuple(sorted(each)) for each in problem["easy"])
    assert found.hard == tuple(tuple(sorted(each)) for each in problem["hard"])
    assert found.structures == tuple(structures)


def test_lines_without_queries_or_easy_answers(tmp_path: Path) -> None:
    lines = '\ufeff{"structure": "1p", "hard": [1]}\r\n\n{"structure": "2p", "hard": []}'
    with gzip.open(tmp_path / "q.gz", "wb") as file:
        file.write(lines.encode())
    found = read_queries(tmp_path / "q.gz")
    assert found == ((0, 1), ((), ()), ((1,), ()), ("1p", "2p"))


# -- errors ----------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"queries": "q.jsonl", "structures": None}, TypeError, "easy: expected None, as the first"),
    ({"queries": 5}, TypeError, "queries: expected a sequence, got int"),
    ({"queries": [["a"], "b"]}, TypeError, "queries: .* got unhashable type: 'list'"),
    ({"queries": ["a", "a"]}, ValueError, "queries: .* got 'a' twice"),
    ({"structures": None}, TypeError, "structures: .* got NoneType"),
    ({"structures": ["1p"]}, ValueError, "structures: .* got 1"),
    ({"structures": [1, "2p"]}, ValueError, "structures: expected the name of .*, got 1"),
    ({"structures": ["1p", ""]}, ValueError, "structures: .* got ''"),
    ({"hard": None}, TypeError, "hard: expected the hard answers of each query, got None"),
    ({"hard": [[], []]}, ValueError, "hard: expected at least one hard answer, got none"),
    ({"hard": [[1]]}, ValueError, "hard: .* got 1 lists"),
    ({"hard": {1, 2}}, TypeError, "hard: .* got set"),
    ({"hard": [[1], 3]}, TypeError, "hard: .* got int for 'r'"),
    ({"hard": [[1], [4]]}, ValueError, "hard: .* got 4 for query 'r'"),
    ({"hard": [["x"], []]}, TypeError, "hard: expected ids .* got 'x' for query 'q'"),
    ({"hard": [[1], [0]]}, ValueError, "hard: 1 answers are easy, too, first 0 of query 'r'"),
    ({"hard": (np.array([1]), np.array([0.0]))}, TypeError, "hard: expected .* ids .* got 0.0"),
    ({"entities": None}, TypeError, "entities: expected the number of entities, or their labels"),
    (
        {"entities": list("abcd"), "hard": [["b"], ["x"]]},
        ValueError,
        "'x' for query 'r' is none of the 4",
    ),
    ({"entities": list("abcd"), "hard": [["b"], [1]]}, TypeError, "hard: .* got 1 for query 'r'"),
    ({"candidates": [0, 2]}, ValueError, "candidates: 1 hard answers .* first 1"),
    ({"candidates": [4]}, ValueError, "candidates: .* got 4 at position 0"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), WRONG)
def test_wrong_arguments(wrong: dict[str, Any], kind: type[Exception], message: str) -> None:
    right = {"queries": ["q", "r"], "easy": [[], [0]], "hard": [[1], [2]], "structures": "1p"}
    refusal(kind, message, ComplexQueries, **{**right, "entities": 4, **wrong})


def test_what_is_given_twice(tmp_path: Path) -> None:
    write_queries(tmp_path / "q", ["q"], None, [[0]], structures="1p")
    with pytest.raises(TypeError, match="structures: expected None, as the first argument has"):
        ComplexQueries(tmp_path / "q", structures="1p", entities=2)
    with pytest.raises(TypeError, match="scorer: expected a callable, got list"):
        ComplexQueries(tmp_path / "q", entities=2).evaluate([[0.0, 1.0]])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"scores: .*\(1, 2\).*\(2, 2\)"):
        ComplexQueries(tmp_path / "q", entities=2).evaluate_scores([[0.0, 1.0]] * 2)


LINES = [
    ("[]", r"path: .*line 2: .*got \[\]"),
    ("{", "line 2: no JSON"),
    ('{"structure": "1p", "hard": [], "hard": []}', r"line 2: .*got .*\('hard', \[\]\)"),
    ('{"structure": "1p", "answers": []}', r"line 2: .*got .*'answers': \[\]\}"),
    ('{"hard": []}', r"path: .*line 2: .*got \{'hard': \[\]\}"),
    ('{"structure": "", "hard": []}', "line 2: .*got .*'structure': ''"),
    ('{"structure": "1p"}', r"path: .*line 2: .*got \{'structure': '1p'\}"),
    ('{"structure": "1p", "hard": {}}', r"line 2: .*got .*'hard': \{\}\}"),
    ('{"structure": "1p", "hard": [true]}', r"line 2: .*got .*'hard': \[True\]\}"),
    ('{"structure": "1p", "hard": [], "easy": [1.5]}', r"line 2: .*got .*'easy': \[1\.5\]"),
    ('{"structure": "1p", "hard": [], "query": {}}', r"line 2: .*got .*'query': \{\}\}"),
    (f'{{"structure": "1p", "hard": [], "query": {"[" * 200}{"]" * 200}}}', r"'query': \[\[\[\["),
    (f'{{"structure": "1p", "hard": [], "query": {"[" * 10**5}', "line 2: no JSON"),
]


@pytest.mark.parametrize(("line", "message"), LINES)
def test_wrong_lines(line: str, message: str, tmp_path: Path) -> None:
    first = '{"structure": "1p", "query": 1, "hard": [0]}'
    (tmp_path / "q.jsonl").write_text(f"{first}\n{line}\n")
    refusal(ValueError, message, read_queries, tmp_path / "q.jsonl")


UNWRITABLE: list[tuple[Any, Any, str]] = [
    ([1.5], [[0]], "queries: expected .*, got .*'query': 1.5,"),
    ([("a", (None,))], [[0]], r"queries: expected .*, got .*'query': \['a', \[None\]\]"),
    (["q"], [[0.5]], "queries: expected .*, got .*'hard': .0.5"),
]


@pytest.mark.parametrize(("queries", "hard", "message"), UNWRITABLE)
def test_what_cannot_be_written(queries: Any, hard: Any, message: str, tmp_path: Path) -> None:
    refusal(TypeError, message, write_queries, tmp_path / "q", queries, None, hard, structures="1p")
    assert not list(tmp_path.iterdir())


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    """The error says how JSON is made of them."""
    (tmp_path / "test-queries.pkl").write_bytes(b"any")
    with pytest.raises(ValueError, match=r"a pickle can run any code .* by write_queries"):
        read_queries(tmp_path / "test-queries.pkl")
