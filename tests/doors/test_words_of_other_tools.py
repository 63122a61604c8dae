"""What people type who come from other tools is refused by the name that it has here.

Each hint is followed, and what it leads to is the right number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr

pytestmark = pytest.mark.python_only
DISTANCES = np.array([[0.1, 0.7, 0.4], [0.3, 0.2, 0.9]])
NEAREST = [0, 2]  # of ranks 1 and 3
VECTORS = np.array([[1.0, 0.0], [3.0, 4.0], [0.6, 0.8]])


def follow(hint: str, **names: Any) -> Any:
    """Return the value of the Python code that a message shows."""
    return eval(hint, {"report": tr.report, "load": tr.load, "evaluate": tr.evaluate, **names})


@pytest.mark.parametrize("function", [tr.rank, tr.evaluate])
@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ({"largest": False}, "order='ascending'"),
        ({"higher_is_better": False}, "order='ascending'"),
        ({"descending": False}, "order='ascending'"),
        ({"ascending": True}, "order='ascending'"),
        ({"largest": True}, "order='descending'"),
        ({"ascending": False}, "order='descending'"),
    ],
)
def test_orders(function: Callable[..., Any], typed: dict[str, bool], hint: str) -> None:
    with pytest.raises(tr.InputTypeError, match=f"unexpected keyword argument; {hint} says"):
        function(DISTANCES, NEAREST, **typed)
    right = {"order='ascending'": [1, 3], "order='descending'": [3, 1]}
    report = follow(f"evaluate(scores, targets, {hint})", scores=DISTANCES, targets=NEAREST)
    assert report.ranks.realistic.tolist() == right[hint]


def test_no_order_is_proposed_where_there_is_none() -> None:
    with pytest.raises(tr.InputTypeError, match="largest: unexpected keyword argument; known are"):
        tr.topk_embeddings(VECTORS, VECTORS, 1, similarity="dot", largest=True)  # type: ignore[call-arg]
    with pytest.raises(tr.InputTypeError, match="did you mean order"):
        tr.rank(DISTANCES, NEAREST, ordre="ascending")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("typed", "here"),
    [
        ("cos", "cosine"),
        ("angular", "cosine"),
        ("ip", "dot"),
        ("euclidean", "l2"),
        ("sqeuclidean", "sql2"),
        ("cityblock", "l1"),
        ("L2", "l2"),
        ("IP", "dot"),
        ("COSINE", "cosine"),
        ("l2sq", "sql2"),
    ],
)
def test_similarities(typed: str, here: Any) -> None:
    """A similarity of distances is their negative."""
    one, two = VECTORS[:2]
    values = {
        "cosine": one @ two / np.linalg.norm(two),
        "dot": one @ two,
        "l2": -np.linalg.norm(one - two),
        "sql2": -((one - two) ** 2).sum(),
        "l1": -np.abs(one - two).sum(),
    }
    wrong: Any = typed
    with pytest.raises(tr.InputValueError, match=f"similarity='{here}' is its name here"):
        tr.score_embeddings(VECTORS, VECTORS, [1], rows=[0], similarity=wrong)
    score = tr.score_embeddings(VECTORS, VECTORS, [1], rows=[0], similarity=here)
    assert score == pytest.approx(values[here])


def test_recall_of_tasks_is_hits() -> None:
    report = tr.evaluate(DISTANCES, NEAREST, order="ascending")
    with pytest.raises(KeyError, match="so that hits@k is its recall@k"):
        report["recall@1"]
    qrels = {0: [0], 1: [2]}
    task = tr.retrieval.Task(qrels, entities=3)
    assert report["hits@1"] == task.evaluate_scores(-DISTANCES)["recall@1"] == 0.5


@pytest.mark.parametrize("scores", [DISTANCES, DISTANCES.tolist(), list(DISTANCES)])
def test_targets_before_scores(scores: Any) -> None:
    with pytest.raises(tr.InputTypeError) as error:
        tr.evaluate(NEAREST, scores)
    assert "expected integers, behind the scores, got fractions" in str(error.value)
    assert tr.evaluate(scores, NEAREST).ranks.realistic.tolist() == [3, 1]


def test_files_of_results(tmp_path: Path) -> None:
    report = tr.evaluate(DISTANCES, NEAREST)
    path = str(tmp_path / "ranks.npz")
    (tmp_path / "report.json").write_text(report.to_json())
    with pytest.raises(ValueError, match=r"of a report, and no ranks$"):
        tr.load(tmp_path / "report.json")
    report.ranks.save(path)
    with pytest.raises(ValueError, match=r"the array .scores., got saved ranks$"):
        tr.evaluate(path, NEAREST)
    assert tr.report(tr.load(path))["mrr"] == report["mrr"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("retrieval --run x", "No such option '--run'; --lists is its name here"),
        ("link-prediction --runs x", "--lists is its name here"),
        ("topk -k 10 a b", "--top is its name here"),
        ("evaluat x y", "No such command 'evaluat'; did you mean evaluate?"),
        ("evaluate s.npy t.npy --metrics mrr hits@10", "--metrics mrr,hits@10"),
        ("evaluate s.npy t.npy --metrics mr mrr", "--metrics mr,mrr"),
        ("retrieval --qrels q --lists l --metrics map recall@10", "--metrics map,recall@10"),
        ("topk a.npy b.npy --top 1 --similarity cos", "cosine is its name here"),
        ("topk a.npy b.npy --top 1 --similarity L2", "l2 is its name here"),
    ],
)
def test_at_the_terminal(
    line: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    from support.cli_files import run_here

    monkeypatch.chdir(tmp_path)
    np.save("s.npy", DISTANCES)
    np.save("t.npy", NEAREST)
    result = run_here(capsys, *line.split())
    result.refuses(2, hint)
    before, _, _ = line.partition(" --metrics")
    if before == "evaluate s.npy t.npy":
        right = run_here(capsys, *before.split(), *hint.split(), "--json")
        report = tr.evaluate(DISTANCES, NEAREST)
        values = json.loads(right.out)["metrics"]
        names = hint.removeprefix("--metrics ").split(",")
        assert values == {name: pytest.approx(report[name]) for name in names}


def test_a_file_of_no_groups_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    from support.cli_files import run_here

    monkeypatch.chdir(tmp_path)
    for name, text in {"q": "1 0 a 1\n2 0 b 1\n", "l": "1 Q0 a 1 2 t\n", "none.tsv": ""}.items():
        Path(name).write_text(text)
    line = "retrieval --qrels q --lists l --candidates 9 --by none.tsv"
    result = run_here(capsys, *line.split())
    result.refuses(1, "--by: none.tsv: expected lines of a name and its group")
