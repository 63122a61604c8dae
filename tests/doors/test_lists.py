"""Lists of entries: what a column, a second entry or a second order means, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from truerank import alignment, link_prediction, retrieval

# -- columns of keys -------------------------------------------------------------------------------

FACTS = pd.DataFrame(
    {"head": ["a", "a"], "relation": ["r", "r"], "tail": ["b", "c"], "time": ["t1", "t2"]}
)
ENTRIES = pd.DataFrame(
    {
        "time": ["t2", "t1", "t2", "t1"],
        "score": [0.5, 0.25, 1.0, 0.75],
        "tail": ["c", "b", "b", "c"],
        "relation": ["r"] * 4,
        "head": ["a"] * 4,
    }
)


def timed_task(*, is_named: bool, facts: pd.DataFrame = FACTS, **options: Any) -> Any:
    """Return a task whose facts have a further column, with its name or without."""
    rows = facts if is_named else [*facts.itertuples(index=False, name=None)]
    keys = list(range(3, facts.shape[1]))
    sides = ["tail"]
    return link_prediction.Task(rows, {}, entities=["a", "b", "c"], sides=sides, keys=keys)


def forms_of(frame: pd.DataFrame, folder: Path) -> list[Any]:
    """Return a table in memory, and in files of both kinds."""
    frame.to_csv(folder / "lists.tsv", sep="\t", index=False)
    frame.to_csv(folder / "lists.csv", index=False)
    return [frame, folder / "lists.tsv", folder / "lists.csv"]


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("name", ["time", "3"])
def test_keys_have_the_names_of_their_columns(tmp_path: Path, is_named: bool, name: str) -> None:
    """A number is a name, too; lists in memory by key say what is right."""
    task = timed_task(is_named=is_named)
    by_key = {("a", "r", "t1"): {"b": 0.25, "c": 0.75}, ("a", "r", "t2"): {"c": 0.5, "b": 1.0}}
    right = task.evaluate_lists(by_key)
    assert right["mr"] == 2
    for lists in forms_of(ENTRIES.rename(columns={"time": name}), tmp_path):
        assert task.evaluate_lists(lists).ranks == right.ranks


def test_a_file_of_keys_without_a_header_is_read_in_order(tmp_path: Path) -> None:
    """The twin of those that have one."""
    columns = ["head", "relation", "tail", "time", "score"]
    ENTRIES[columns].to_csv(tmp_path / "lists.tsv", sep="\t", index=False, header=False)
    assert timed_task(is_named=True).evaluate_lists(tmp_path / "lists.tsv")["mr"] == 2


def test_other_names_of_keys_are_refused(tmp_path: Path) -> None:
    """Where facts name them, or have several; `columns` says which are meant."""
    renamed = ENTRIES.rename(columns={"time": "when"})
    roles = {"head": "head", "relation": "relation", "tail": "tail", "score": "score"}
    with_place = FACTS.assign(place=["p", "p"])
    entries = ENTRIES.assign(place="p")
    cases = [
        (timed_task(is_named=True), renamed, {"3": "when"}),
        (timed_task(is_named=False, facts=with_place), entries, {"3": "time", "4": "place"}),
    ]
    for task, frame, keys in cases:
        for lists in forms_of(frame, tmp_path):
            with pytest.raises(tr.InputValueError, match=r"columns=\{'head': .* which are meant"):
                task.evaluate_lists(lists)
            assert task.evaluate_lists(lists, columns=roles | keys)["mr"] == 2
    named = timed_task(is_named=True, facts=with_place)
    assert named.evaluate_lists(entries)["mr"] == 2


def test_two_keys_have_the_numbers_of_their_columns(tmp_path: Path) -> None:
    """As names, str or int, in any order, of lists and of keys of rows; as numbers of columns."""
    facts = FACTS.assign(place=["p1", "p2"])
    task = timed_task(is_named=False, facts=facts)
    entries = ENTRIES.assign(place=["p2", "p1", "p2", "p1"])
    for numbers in ({"time": 3, "place": 4}, {"time": "3", "place": "4"}):
        frame = entries.rename(columns=numbers)
        for lists in forms_of(frame, tmp_path):
            assert task.evaluate_lists(lists)["mr"] == 2
        roles: dict[str, Any] = {name: name for name in ("head", "relation", "tail", "score")}
        roles |= {"3": numbers["time"], "4": numbers["place"]}
        in_order = frame[[*list(roles)[:3], numbers["time"], numbers["place"], "score"]]
        assert task.evaluate_lists(in_order, columns=roles)["mr"] == 2
        top = tr.TopK(np.array([[2, 1], [1, 2]]), None)  # type: ignore[arg-type]
        keys = facts.rename(columns=numbers)[
            [numbers["place"], "relation", numbers["time"], "head"]
        ]
        assert task.evaluate_lists(top, row_queries={"tail": keys})["mr"] == 2
    numbered = in_order.set_axis(range(6), axis=1)
    places = dict(zip(["head", "relation", "tail", "3", "4", "score"], range(6), strict=True))
    assert task.evaluate_lists(numbered, columns=places)["mr"] == 2


def test_a_number_that_names_another_column_is_refused() -> None:
    """Column 4 of the frame is called 3: which of them is meant?"""
    facts = FACTS.assign(place=["p1", "p2"])
    entries = ENTRIES.assign(place=["p2", "p1", "p2", "p1"])
    frame = entries.rename(columns={"time": 3, "place": 4})
    names = ["head", "relation", "tail", 4, 3, "score"]
    columns = {name: name for name in ("head", "relation", "tail", "score")}
    task = timed_task(is_named=False, facts=facts)
    with pytest.raises(
        tr.InputValueError,
        match=r"expected each of these columns once, which were named: 'head', .*, 3, 4, got",
    ):
        task.evaluate_lists(frame[names], columns=columns | {"3": 3, "4": 4})
    assert task.evaluate_lists(frame[names])["mr"] == 2


def test_a_column_beside_the_key_is_refused() -> None:
    """One of them may be the key, and the other may not be."""
    with pytest.raises(tr.InputValueError, match=r"got columns .*'label'; columns=.*'3': '...'"):
        timed_task(is_named=False).evaluate_lists(ENTRIES.assign(label=[0, 1, 1, 0]))


def test_a_key_that_is_called_as_another_role_is_none() -> None:
    """The score of an entry stays the score where facts have one, too."""
    facts = FACTS.rename(columns={"time": "score"})
    task = timed_task(is_named=True, facts=facts)
    with pytest.raises(tr.InputValueError, match="expected columns head, relation, tail, 3"):
        task.evaluate_lists(ENTRIES.drop(columns="time"))
    assert task.evaluate_lists(ENTRIES.rename(columns={"time": "3"}))["mr"] == 2


# -- a rank beside a score -------------------------------------------------------------------------


def reranked(n_queries: int, length: int) -> pd.DataFrame:
    """Return lists whose scores rise with the ranks of a first stage."""
    places = np.arange(n_queries * length)
    documents = [f"d{i % length}" for i in places]
    queries = [f"q{i // length}" for i in places]
    numbers = {"rank": places % length + 1, "score": places % length / 10}
    return pd.DataFrame({"query": queries, "document": documents, **numbers})


@pytest.mark.parametrize("shape", [(1, 2), (2, 5), (1, 11), (5, 2)])
@pytest.mark.parametrize("form", ["frame", "header", "trec"])
def test_few_ranks_that_rise_with_scores_are_those_of_a_first_stage(
    tmp_path: Path, shape: tuple[int, int], form: str
) -> None:
    """The scores decide, and the source says so."""
    lists: Any = reranked(*shape)
    task = retrieval.Task({"q0": ["d0"]}, entities=[f"d{i}" for i in range(11)])
    source = "ids (left out: columns rank)"
    if form != "frame":
        path = tmp_path / "run.txt"
        source = f"{path} (TREC run)"
        if form == "header":
            lists.to_csv(path, sep="\t", index=False)
            source = f"{path} (run with a header: query, document, score; left out: rank)"
        else:
            rows = lists.itertuples(index=False, name=None)
            path.write_text("".join(f"{q} Q0 {d} {rank} {score} t\n" for q, d, rank, score in rows))
        lists = path
    report = task.evaluate_lists(lists)
    assert report["mr"] == shape[1]
    assert report.ranks.protocol.files == (source,)


@pytest.mark.parametrize("shape", [(1, 12), (4, 3), (6, 2)])
def test_many_ranks_that_rise_with_scores_are_refused(shape: tuple[int, int]) -> None:
    """They are distances, or the best is last, unless another query says otherwise."""
    lists = reranked(*shape)
    task = retrieval.Task({"q0": ["d0"]}, entities=[f"d{i}" for i in range(12)])
    with pytest.raises(tr.InputValueError, match=r"ranks rise with the scores in . of . quer"):
        task.evaluate_lists(lists)
    assert task.evaluate_lists(lists, order="ascending")["mr"] == 1
    assert task.evaluate_lists(lists, order="descending")["mr"] == shape[1]
    other = lists[: shape[1]].assign(query="p", score=-lists["score"])
    both = retrieval.Task({"q0": ["d0"], "p": ["d0"]}, entities=[f"d{i}" for i in range(12)])
    assert both.evaluate_lists(pd.concat([lists, other]))["mr"] == (shape[1] + 1) / 2


def test_few_entries_that_rise_among_many_that_tie_are_taken() -> None:
    """One list of two entries says nothing, however many others have equal scores."""
    ties = reranked(5, 4).assign(score=1.0)
    first = reranked(1, 2).assign(query="p")
    task = retrieval.Task({"p": ["d0"], "q0": ["d0"]}, entities=[f"d{i}" for i in range(4)])
    assert task.evaluate_lists(pd.concat([ties, first]))["optimistic.mrr"] == 0.75


def test_lists_of_unknown_queries_are_refused_where_all_are_known() -> None:
    """With queries= no list is left over; the twin names it in the audit."""
    lists = {"q": ["a"], "p": ["b"]}
    with pytest.raises(tr.InputValueError, match=r"ids: .*'p'"):
        retrieval.Task({"q": ["a"]}, entities=["a", "b"], queries=["q"]).evaluate_lists(lists)
    report = retrieval.Task({"q": ["a"]}, entities=["a", "b"]).evaluate_lists(lists)
    assert report.audit("unused lists")[0].count == 1


# -- entries that come twice -----------------------------------------------------------------------

NAMES = ["a", "b", "c"]
ORDERS = st.sampled_from(["descending", "ascending"])
SCORES = st.sampled_from([0.0, -0.0, 0.25, 0.5, 2.0, -1.0, np.inf, -np.inf, np.nan])


def best_of_each(entries: list[tuple[str, float]], order: str) -> dict[str, float]:
    """Return each name once, at its best score, of which NaN is the worst: the plain definition."""
    best: dict[str, float] = {}
    for name, score in entries:
        others = [number for other, number in entries if other == name and number == number]
        best[name] = score
        if others:
            best[name] = min(others) if order == "ascending" else max(others)
    return best


def same_ranks(task: Any, lists: Any, *, right: Any, **options: Any) -> None:
    ranks = task.evaluate_lists(lists, duplicates="first", **options).ranks
    assert ranks.above.tolist() == right.above.tolist()
    assert ranks.tied.tolist() == right.tied.tolist()
    assert ranks.candidates.tolist() == right.candidates.tolist()
    assert ranks.lengths.tolist() == right.lengths.tolist()


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), SCORES), min_size=1, max_size=9),
    ORDERS,
    st.sampled_from(["worst", "omit"]),
)
@examples(60)
def test_an_entry_counts_once_at_its_best_score(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[str, float]],
    order: Any,
    nan: Any,
) -> None:
    """In frames, files, a TopK and lists by key, of all three protocols."""
    best = best_of_each(entries, order)
    names, scores = zip(*entries, strict=True)
    rules: dict[str, Any] = {"order": order, "nan": nan}
    right_answer = "b" if best.get("b", 0) == best.get("b", 0) else "x"  # A true NaN is an error.
    entities = [*NAMES, "x"]
    search = retrieval.Task({"q": [right_answer]}, entities=entities, queries=["q"])
    frame = pd.DataFrame({"query": "q", "document": names, "score": scores})
    path = tmp_path_factory.mktemp("lists") / "run.tsv"
    frame.to_csv(path, sep="\t", index=False, na_rep="nan")
    ids = np.array([[entities.index(name) for name in names]])
    top = tr.TopK(ids, np.array([scores]))
    right = search.evaluate_lists({"q": best}, **rules).ranks
    for lists in (frame, path, top):
        same_ranks(search, lists, right=right, **rules)
    if order == "descending":
        same_ranks(search, tr.read_run(path, duplicates="first"), right=right, **rules)

    fact = ("h", "r", right_answer)
    links = link_prediction.Task([fact], {}, entities=["h", *entities], sides=["tail"])
    table = pd.DataFrame({"head": "h", "relation": "r", "tail": names, "score": scores})
    right = links.evaluate_lists({("h", "r"): best}, **rules).ranks
    same_ranks(links, table, right=right, **rules)
    same_ranks(links, tr.TopK(ids + 1, np.array([scores])), right=right, **rules)

    aligned = alignment.Task([("l", right_answer)], left=["l"], right=entities)
    table = pd.DataFrame({"left": "l", "right": names, "score": scores})
    backwards = {right_answer: ["l"]}
    right = aligned.evaluate_lists({"l": best}, backwards, **rules).ranks
    same_ranks(aligned, table, right=right, right_to_left=backwards, **rules)


def test_an_entry_without_scores_counts_where_it_stands_first() -> None:
    """Later places close up; in raw places, which nobody gives, b would have rank 3."""
    task = retrieval.Task({"q": ["b"]}, entities=["a", "b"])
    ranked = pd.DataFrame({"query": "q", "document": ["b", "a", "a"], "rank": [9, 4, 1]})
    for lists in ({"q": ["a", "a", "b"]}, ranked, {"q": ["a", "b", "b"]}):
        assert task.evaluate_lists(lists, duplicates="first")["mrr"] == 0.5
    link = link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b"], sides=["tail"])
    lists = {("a", "r"): ["a", "a", "b"]}
    assert link.evaluate_lists(lists, duplicates="first")["mrr"] == 0.5
    top = tr.TopK(np.array([[0, 0, 1], [1, 0, -1]]), None)  # type: ignore[arg-type]
    both = retrieval.Task({0: [1], 1: [0]}, entities=2)
    assert both.evaluate_lists(top, duplicates="first")["mrr"] == 0.5


def test_raw_numbers_have_the_order_of_their_dtype() -> None:
    """Bits of negative numbers of bfloat16 rise as the numbers fall."""
    torch = pytest.importorskip("torch")
    scores = torch.tensor([-1.0, -8.0, -2.0]).bfloat16().view(torch.uint16).numpy()
    frame = pd.DataFrame({"query": "q", "document": ["a", "a", "b"], "score": scores})
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    options: dict[str, Any] = {"dtype": "bfloat16", "duplicates": "first"}
    assert task.evaluate_lists(frame, **options)["mrr"] == 1
    assert task.evaluate_lists(frame, order="ascending", **options)["mrr"] == 1
    top = tr.TopK(np.array([[0, 0, 1]]), scores[None])
    by_place = retrieval.Task({0: [0]}, entities=2)
    assert by_place.evaluate_lists(top, **options)["mrr"] == 1


def test_entries_that_come_twice_are_refused_unless_said(tmp_path: Path) -> None:
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    entries = pd.DataFrame({"query": "q", "document": ["a", "b", "a"], "score": [0.2, 0.5, 0.9]})
    with pytest.raises(tr.InputValueError, match="duplicates='first' counts each at its best"):
        task.evaluate_lists(entries)
    with pytest.raises(tr.InputValueError, match=r"^ids: the list of 'q' has 'a' twice$"):
        task.evaluate_lists(entries.drop(columns="score"))
    with pytest.raises(tr.InputValueError, match="every id at most once in a list"):
        retrieval.Task({0: [0]}, entities=2).evaluate_lists(tr.TopK([[0, 0]], [[0.2, 0.1]]))
    with pytest.raises(tr.InputValueError, match="duplicates: "):
        task.evaluate_lists(tr.TopK([[0, 1]], [[0.2, 0.1]]), duplicates="drop")
    path = tmp_path / "run.tsv"
    entries.to_csv(path, sep="\t", index=False)
    run = tr.read_run(path, duplicates="first")
    assert run["q"] == {"b": 0.5, "a": 0.9}
    with pytest.raises(
        tr.InputValueError, match=r"read_run kept the greatest .* hand over the pat"
    ):
        task.evaluate_lists(run, order="ascending")
    best = task.evaluate_lists(path, order="ascending", duplicates="first")
    assert best["mrr"] == 1
    once = entries[1:]
    once.to_csv(path, sep="\t", index=False)
    run = tr.read_run(path, duplicates="first")
    assert task.evaluate_lists(run, order="ascending")["mrr"] == 0.5  # Nothing came twice.


def test_lists_of_triples_that_were_joined_are_rows_of_a_topk(tmp_path: Path) -> None:
    """Each triple has a list, from which the query's other answers are left out."""
    facts = [("a", "likes", "b"), ("a", "likes", "c")]
    task = link_prediction.Task(facts, {}, entities=list("abcd"), sides=["tail"])
    joined = {("a", "likes"): ["b", "d", "c", "d"]}
    ranked = pd.DataFrame({"head": "a", "relation": "likes", "tail": list("bdcd")})
    scored = ranked.assign(score=[0.4, 0.1, 0.5, 0.45])
    assert task.evaluate_lists(joined, duplicates="first")["mrr"] == 0.75
    ranked.to_csv(tmp_path / "lists.tsv", sep="\t", index=False)
    order_alone = (joined, ranked, ranked.assign(rank=[1, 2, 1, 3]), tmp_path / "lists.tsv")
    for lists in order_alone:
        with pytest.raises(
            tr.InputValueError, match=r"; TopK\(ids, None\) takes lists of"
        ) as error:
            task.evaluate_lists(lists)
        assert "duplicates" not in str(error.value)
    with pytest.raises(
        tr.InputValueError, match=r"at its best score; TopK\(ids, scores\) takes li"
    ):
        task.evaluate_lists(scored)
    ids = np.array([[1, 3], [2, 3]])
    assert task.evaluate_lists(tr.TopK(ids, None))["mrr"] == 1  # type: ignore[arg-type]
    assert task.evaluate_lists(tr.TopK(ids, scored["score"].to_numpy().reshape(2, 2)))["mrr"] == 1


def test_pads_of_lists_by_query_are_left_out() -> None:
    """Those of a `TopK`, an array, have a meaning; of a label -1 nothing is said."""
    ids = np.array([3, -1, -1])
    task = retrieval.Task({0: [3], 1: [2]}, entities=5)
    for lists, options in (
        ({0: ids, 1: [4, 2]}, {}),
        ({0: ids.tolist(), 1: [4, 2]}, {"duplicates": "first"}),
        ({0: [3, -1], 1: [4, 2]}, {}),
    ):
        with pytest.raises(tr.InputValueError, match="what pads a list is left out") as refused:
            task.evaluate_lists(lists, **options)
        assert "duplicates=" not in str(refused.value)
    assert task.evaluate_lists({0: ids[ids >= 0], 1: [4, 2]})["mrr"] == 0.75
    padded: Any = [[3, -1], [4, 2]]
    with pytest.raises(tr.InputValueError, match=r"of a row of an array, np\.array\(ids\), got -1"):
        task.evaluate_lists(tr.TopK(padded, None))  # type: ignore[arg-type]
    assert task.evaluate_lists(tr.TopK(np.array(padded), None))["mrr"] == 0.75  # type: ignore[arg-type]
    assert retrieval.Task({0: [-1]}, entities=[-1, 3]).evaluate_lists({0: [3, -1]})["mrr"] == 0.5


def test_keys_that_are_roles_are_columns() -> None:
    """As qrels, known and lists, of any protocol; equal lengths alone make them columns."""
    judged = {"user": ["u", "u", "v"], "item": ["a", "b", "c"]}
    scored = {"user": ["u", "u", "v"], "item": ["b", "a", "c"], "score": [0.9, 0.5, 0.1]}
    entities = ["a", "b", "c", "u", "v"]
    task = retrieval.Task(pd.DataFrame(judged), entities=entities)
    triples = {"head": ["a"], "relation": ["r"], "tail": ["b"]}
    links = link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b"], sides=["tail"])
    pairs = {"left": ["a"], "right": ["b"]}
    aligned = alignment.Task([("a", "b")], left=["a"], right=["b"], sides=["left_to_right"])
    for columns, refused in (
        (judged, lambda columns: retrieval.Task(columns, entities=entities)),
        (judged, lambda columns: retrieval.Task({"u": ["c"]}, entities=entities, known=columns)),
        (scored, task.evaluate_lists),
        (judged, task.evaluate_lists),
        (triples, lambda columns: link_prediction.Task(columns, {})),
        (triples, links.evaluate_lists),
        (triples | {"score": np.array([0.5])}, links.evaluate_lists),
        (pairs, lambda columns: alignment.Task(columns, left=["a"], right=["b"])),
        (pairs | {"score": pd.Series([0.5])}, aligned.evaluate_lists),
    ):
        with pytest.raises(
            tr.InputTypeError, match=r"of which pd\.DataFrame\(\.\.\.\) makes a table"
        ):
            refused(columns)
        refused(pd.DataFrame(columns))
    assert task.evaluate_lists(pd.DataFrame(scored))["map"] == 1


@pytest.mark.parametrize("others", [{"item": ["a", "b"]}, {"ann": ["a"]}, {"query": ["b"]}, {}])
def test_queries_may_be_called_as_roles(others: Any) -> None:
    """Where lengths differ, or other queries are there, or no column of documents is."""
    qrels = {"user": ["b"], **others}
    task = retrieval.Task(qrels, entities=["a", "b"])
    assert task.evaluate_lists({query: ["a", "b"] for query in [*qrels, "u"]})["success@2"] == 1
    assert task.evaluate_lists({query: {"a": 0.5, "b": 0.25} for query in qrels})["success@2"] == 1


def test_columns_are_of_tables() -> None:
    task = retrieval.Task({0: [0]}, entities=2)
    columns = {"query": "q", "document": "d"}
    for lists in ({0: [0]}, tr.TopK([[0]], [[1.0]])):
        assert task.evaluate_lists(lists)["mrr"] == 1
        with pytest.raises(
            tr.InputTypeError, match=r"columns: expected None, as a .* no columns to"
        ):
            task.evaluate_lists(lists, columns=columns)


# -- alignment of one direction --------------------------------------------------------------------

LEFT = [f"l{i}" for i in range(12)]
RIGHT = [f"r{i}" for i in range(14)]
PAIRS = [(f"l{i}", f"r{(5 * i + 8) % 14}") for i in range(8)] + [("l0", "r9")]
KNOWN = {"train": [(f"l{i}", f"r{(5 * i + 8) % 14}") for i in range(8, 12)] + [("l1", "r3")]}
DIRECTIONS = ("left_to_right", "right_to_left")


def vectors_and_scores() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    left, right = rng.normal(size=(12, 3)), rng.normal(size=(14, 3))
    return left, right, (left @ right.T).round(1)


@pytest.mark.parametrize("name", DIRECTIONS)
def test_lists_of_one_direction_are_enough(name: str) -> None:
    task = alignment.Task(PAIRS, left=LEFT, right=RIGHT, known=KNOWN, sides=[name])
    *_, scores = vectors_and_scores()
    rows = {"left_to_right": scores, "right_to_left": scores.T}[name]
    keys, names = (LEFT, RIGHT) if name == "left_to_right" else (RIGHT, LEFT)
    order = np.argsort(-rows, axis=1, kind="stable")
    by_key = {key: {names[j]: rows[i, j] for j in order[i]} for i, key in enumerate(keys)}
    top = tr.TopK(order, np.take_along_axis(rows, order, 1))
    right = task.evaluate_scores(scores).ranks
    for lists in (by_key, top):
        assert task.evaluate_lists(**{name: lists}).ranks.above.tolist() == right.above.tolist()


@pytest.mark.parametrize("candidates", ["all", "test", "unaligned", "named"])
@pytest.mark.parametrize("name", DIRECTIONS)
def test_one_direction_is_that_of_both(
    name: str, candidates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the model gives, in the whole and in parts, tile by tile."""
    monkeypatch.setattr("truerank.counting.driver.TILE_BYTES", 200)
    options: dict[str, Any] = {"left": LEFT, "right": RIGHT, "known": KNOWN}
    of_both = of_one = candidates
    if candidates == "named":
        of_both = {"left_to_right": [*RIGHT[:12], "r13"], "right_to_left": LEFT[:11]}
        of_one = {name: of_both[name]}
    both = alignment.Task(PAIRS, candidates=of_both, **options)
    one = alignment.Task(PAIRS, candidates=of_one, sides=[name], **options)
    left, right, scores = vectors_and_scores()
    rows = {"left_to_right": scores, "right_to_left": scores.T}[name]
    csls = 3 if candidates != "named" else None  # Its means are over the candidates of both.
    for evaluate in (
        lambda task: task.evaluate_scores(scores),
        lambda task: task.evaluate_scores(scores, audit=True),
        lambda task: task.evaluate_embeddings(left, right, csls=csls),
        lambda task: task.evaluate_embeddings(left, right, audit=True),
    ):
        of_side = evaluate(both).ranks
        of_side = of_side[of_side.labels["side"].values == name]
        ranks = evaluate(one).ranks
        for field in ("above", "tied", "candidates"):
            assert getattr(ranks, field).tolist() == getattr(of_side, field).tolist()
        parts = [evaluate(one[p::2]).ranks for p in (1, 0)]
        assert tr.concatenate(parts) == ranks
        assert evaluate(one)[f"{name}.mr"] == evaluate(one)["mr"]
    report = one.evaluate(**{name: lambda queries: rows[queries[:, 0]]})
    assert report.ranks.above.tolist() == one.evaluate_scores(scores).ranks.above.tolist()


def test_a_direction_that_is_missing_says_how_to_leave_it_out() -> None:
    options: dict[str, Any] = {"left": ["a"], "right": ["x", "y"]}
    task = alignment.Task([("a", "x")], **options)
    with pytest.raises(tr.InputTypeError, match=r"Task\(\.\.\., sides=\['left_to_right'\]\) "):
        task.evaluate_lists({"a": ["x"]})
    assert task.evaluate_lists({"a": ["y", "x"]}, {"x": ["a"]})["mr"] == 1.5
    one = alignment.Task([("a", "x")], sides=["left_to_right"], **options)
    assert one.evaluate_lists({"a": ["y", "x"]})["mr"] == 2
    with pytest.raises(tr.InputTypeError, match="right_to_left: expected None, as the sides of th"):
        one.evaluate_lists({"a": ["y", "x"]}, {"x": ["a"]})
    for sides in ([], ["left"], ["left_to_right"] * 2):
        with pytest.raises(tr.InputValueError, match="sides: "):
            alignment.Task([("a", "x")], sides=sides, **options)
    with pytest.raises(tr.InputValueError, match=r"candidates: .* those of left_to_right by side"):
        alignment.Task(
            [("a", "x")], sides=["left_to_right"], candidates={"right_to_left": ["a"]}, **options
        )


@pytest.mark.parametrize("candidates", ["all", "test"])
def test_known_pairs_of_other_entities_are_usual(candidates: str) -> None:
    """Where every entity has one counterpart they meet no query; the audit says so with numbers."""
    pairs = [(i, i) for i in range(250)]
    task = alignment.Task(
        pairs[:50], left=250, right=250, candidates=candidates, known={"train": pairs[50:]}
    )
    assert "train: 0 of 200 pairs share a query with test" in map(str, task.audit)


def test_known_facts_that_meet_no_query_are_warned_of() -> None:
    """The twin of link prediction, where some always do."""
    known = [(i, 1, i + 1) for i in range(100)]
    with pytest.warns(UserWarning, match="^train: no fact of it has a query of the test"):
        link_prediction.Task([(0, 0, 1)], {"train": known}, entities=101, relations=2)


# -- shapes that toolkits have ---------------------------------------------------------------------

HITS = [{"corpus_id": "b", "score": 0.9}, {"corpus_id": "a", "score": 0.5}]
ROWS = [("q", "b", 0.9), ("q", "a", 0.5)]
PAIRS_OF_Q = [("b", 0.9), ("a", 0.5)]
SERIES = pd.Series([0.9, 0.5], pd.MultiIndex.from_tuples([("q", "b"), ("q", "a")]))
AS_TABLE = [{"query": "q", "document": name, "score": score} for _, name, score in ROWS]
COLUMNS = ["query", "document", "score"]
# What is refused, what its message proposes, and the same as it says.
SHAPES = [
    ({"q": PAIRS_OF_Q}, r"dict\(\.\.\.\) makes a", {"q": dict(PAIRS_OF_Q)}),
    ({"q": [*map(list, PAIRS_OF_Q)]}, r"dict\(\.\.\.\) makes a", {"q": dict(PAIRS_OF_Q)}),
    (
        {"q": (["b", "a"], [0.9, 0.5])},
        r"dict\(zip\(ids, scores",
        {"q": dict(zip("ba", [0.9, 0.5], strict=True))},
    ),
    (
        {"q": HITS},
        r"\{x\['corpus_id'\]: x\['score'\] for x in \.\.\.\}",
        {"q": {x["corpus_id"]: x["score"] for x in HITS}},
    ),
    (AS_TABLE, r"pd\.DataFrame\(rows\)", pd.DataFrame(AS_TABLE)),
    (ROWS, r"pd\.DataFrame\(rows, columns", pd.DataFrame(ROWS, columns=COLUMNS)),
    ([["b", "a"]], r"dict\(zip\(queries, lists\)\)", dict(zip("q", [["b", "a"]], strict=True))),
    (SERIES, r"\.reset_index\(\)", SERIES.reset_index().set_axis(COLUMNS, axis=1)),
    (
        pd.Series({"q": ["b", "a"]}),
        r"\.to_dict\(\) is one",
        pd.Series({"q": ["b", "a"]}).to_dict(),
    ),
]


@pytest.mark.parametrize(("shape", "words", "right"), SHAPES, ids=range(len(SHAPES)))
def test_other_shapes_are_told_the_way_out(shape: Any, words: str, right: Any) -> None:
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    with pytest.raises(tr.InputTypeError, match=f"^ids: expected .*{words}"):
        task.evaluate_lists(shape)
    assert task.evaluate_lists(right)["mrr"] == 0.5


def test_other_shapes_of_lists_by_key_are_told_the_way_out(tmp_path: Path) -> None:
    task = link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b", "c"], sides=["tail"])
    pairs = {("a", "r"): [("c", 0.9), ("b", 0.5)]}
    with pytest.raises(tr.InputTypeError, match=r"dict\(\.\.\.\) makes a mapping of such pairs"):
        task.evaluate_lists(pairs)
    right = {key: dict(value) for key, value in pairs.items()}
    assert task.evaluate_lists(right)["mrr"] == 0.5
    rows = [{"head": "a", "relation": "r", "tail": t, "score": s} for t, s in pairs["a", "r"]]
    with pytest.raises(tr.InputTypeError, match=r"pd\.DataFrame\(rows\) makes a table"):
        task.evaluate_lists(rows)
    assert task.evaluate_lists(pd.DataFrame(rows))["mrr"] == 0.5
    facts = [{"head": "a", "relation": "r", "tail": "b"}]
    with pytest.raises(tr.InputTypeError, match=r"pd\.DataFrame\(rows\) makes a table"):
        link_prediction.Task(facts, {})
    path = tmp_path / "predictions"
    path.write_text("a r b\nHeads: a\t0.9\t\nTails: c\t0.5\tb\t0.25\t\n")
    with pytest.raises(tr.InputValueError, match="a row, or a line, for each entry, got 1 columns"):
        task.evaluate_lists(path)
