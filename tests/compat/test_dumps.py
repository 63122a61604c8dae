"""Dumps of toolkits: OGB's dictionaries, matrices with the true score, and LibKGE's traces."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import compat

pytestmark = pytest.mark.python_only

RNG = np.random.default_rng(4)
POSITIVE = RNG.integers(0, 5, 6).astype(np.float32)
NEGATIVE = RNG.integers(0, 5, (6, 9)).astype(np.float32)
FLAT = {"y_pred_pos": POSITIVE, "y_pred_neg": NEGATIVE}
RANKS = tr.rank_against(POSITIVE, NEGATIVE)


def same(dump: compat.Dump, ranks: tr.Ranks = RANKS) -> None:
    found = dump.ranks()
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(found, name), getattr(ranks, name))
    assert found.protocol.sampled
    assert len(dump) == len(ranks)


def halves(first: str, second: str) -> dict[str, Any]:
    return {
        first: {"y_pred_pos": POSITIVE[:2], "y_pred_neg": NEGATIVE[:2]},
        second: {"y_pred_pos": POSITIVE[2:], "y_pred_neg": NEGATIVE[2:]},
    }


# -- OGB -------------------------------------------------------------------------------------------


def test_forms_in_memory() -> None:
    same(compat.read_ogb(FLAT))
    same(compat.read_ogb({"y_pred_pos": POSITIVE.tolist(), "y_pred_neg": NEGATIVE.tolist()}))
    batches = [
        {"y_pred_pos": POSITIVE[i : i + 4], "y_pred_neg": NEGATIVE[i : i + 4]} for i in (0, 4)
    ]
    same(compat.read_ogb(batches))


@pytest.mark.parametrize("names", [("head-batch", "tail-batch"), ("head", "tail")])
def test_sides(names: tuple[str, str]) -> None:
    dump = compat.read_ogb(halves(*names))
    same(dump)
    report = tr.report(dump.ranks())
    assert report.summary.sides == {"head": 2, "tail": 4}
    assert report["tail.mr"] == RANKS.realistic[2:].mean()
    assert "head + tail" in repr(dump)
    same(compat.read_ogb([halves(*names)]))


def test_ragged() -> None:
    lengths = [9, 0, 3, 5, 1, 9]
    lists = [row[:n] for row, n in zip(NEGATIVE, lengths, strict=True)]
    flat, indptr = np.concatenate(lists), np.cumsum([0, *lengths])
    expected = tr.rank_against(POSITIVE, (flat, indptr))
    objects = np.empty(6, object)
    objects[:] = lists
    for others in (lists, (flat, indptr), objects):
        dump = compat.read_ogb({"y_pred_pos": POSITIVE, "y_pred_neg": others})
        same(dump, expected)
        np.testing.assert_array_equal(dump.report("ogb").first, expected.realistic)
    beside = {"y_pred_pos": POSITIVE, "y_pred_neg": flat, "y_pred_neg_indptr": indptr}
    same(compat.read_ogb(beside), expected)


def test_shared_negatives() -> None:
    shared = np.linspace(0, 5, 100, dtype=np.float32)
    dump = compat.read_ogb({"y_pred_pos": POSITIVE, "y_pred_neg": shared})
    same(dump, tr.rank_against(POSITIVE, np.tile(shared, (6, 1))))
    bar = np.sort(shared)[-50]
    hits = np.greater(POSITIVE, bar).mean()
    assert dump.report("ogb-hits")["hits@50"] == hits


def test_report_and_table() -> None:
    dump = compat.read_ogb(halves("head", "tail"))
    found = dump.report()
    assert found.preset.name == "ogb"
    np.testing.assert_array_equal(found.first, RANKS.realistic)
    assert found.exact["head.mr"] == RANKS.realistic[:2].mean()
    assert list(dump.table(["ogb", "ogb-1.3.3"])) == ["ogb", "ogb-1.3.3"]
    up = compat.read_ogb({"y_pred_pos": -POSITIVE, "y_pred_neg": -NEGATIVE}).report(
        order="ascending"
    )
    np.testing.assert_array_equal(up.first, RANKS.realistic)


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "flat.npz", **FLAT)
    same(compat.read_ogb(tmp_path / "flat.npz"))
    nested = {
        f"{side}/{key}": value
        for side, pair in halves("head-batch", "tail-batch").items()
        for key, value in pair.items()
    }
    np.savez(tmp_path / "sides.npz", **nested)
    same(compat.read_ogb(str(tmp_path / "sides.npz")))


def test_a_pickle_is_read_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "dump.pkl"
    path.write_bytes(pickle.dumps(FLAT))
    with pytest.raises(ValueError, match="is a pickle; pickle=True"):
        compat.read_ogb(path)
    same(compat.read_ogb(path, pickle=True))

    objects = np.empty(2, object)
    objects[:] = [np.zeros(1), np.zeros(2)]
    np.savez(tmp_path / "objects.npz", y_pred_pos=np.zeros(2), y_pred_neg=objects)
    with pytest.raises(ValueError, match=r"objects\.npz: .*pickle=True"):
        compat.read_ogb(tmp_path / "objects.npz")
    assert len(compat.read_ogb(tmp_path / "objects.npz", pickle=True)) == 2


def test_torch_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="writes and reads .pt")
    tensors = {key: torch.from_numpy(value) for key, value in FLAT.items()}
    torch.save({"tail-batch": tensors}, tmp_path / "dump.pt")
    same(compat.read_ogb(tmp_path / "dump.pt"))
    half = {key: value.to(torch.bfloat16) for key, value in tensors.items()}
    torch.save(half, tmp_path / "half.pth")
    same(compat.read_ogb(tmp_path / "half.pth"))
    assert compat.read_ogb(half).report()["mrr_list"] == compat.read_ogb(FLAT).report()["mrr_list"]
    lists = {"y_pred_pos": tensors["y_pred_pos"], "y_pred_neg": list(tensors["y_pred_neg"])}
    same(compat.read_ogb(lists))
    shared = {"y_pred_pos": tensors["y_pred_pos"], "y_pred_neg": half["y_pred_neg"][0].float()}
    assert compat.read_ogb(shared).ranks().candidates.tolist() == [10] * 6

    torch.save({"y_pred_pos": Path("anything")}, tmp_path / "objects.pt")
    with pytest.raises(ValueError, match=r"objects\.pt: it is damaged.*pickle=True"):
        compat.read_ogb(tmp_path / "objects.pt")
    (tmp_path / "broken.pt").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"broken\.pt: "):
        compat.read_ogb(tmp_path / "broken.pt")


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("expected y_pred_neg, got y_pred_pos", {"y_pred_pos": POSITIVE}),
        ("expected y_pred_pos of 'head', got y_pred_neg", {"head": {"y_pred_neg": NEGATIVE}}),
        ("expected y_pred_pos and y_pred_neg, or these for each of", {"scores": NEGATIVE}),
        ("or these for each of .* got no keys", {}),
        ("for 'tail', got ndarray", {"tail": NEGATIVE}),
        ("shape \\(n,\\), got \\(6, 9\\)", {"y_pred_pos": NEGATIVE, "y_pred_neg": NEGATIVE}),
        ("expected 6 rows, .* got shape \\(5, 9\\)", {**FLAT, "y_pred_neg": NEGATIVE[:5]}),
        ("expected 6 lists, .* got 2", {**FLAT, "y_pred_neg": [[1.0], [1.0, 2.0]]}),
        ("at least one batch, got none", []),
        ("of batch 1, got list", [FLAT, [1]]),
        ("expected y_pred_neg of batch 1", [FLAT, {"y_pred_pos": POSITIVE}]),
        ("got 'scores.csv'", "scores.csv"),
    ],
)  # fmt: skip
def test_bad_dumps(words: str, source: Any) -> None:
    with pytest.raises(ValueError, match=words):
        compat.read_ogb(source)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        compat.read_ogb(tmp_path / "none.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "broken.npy").write_bytes(b"no header")
    for name in ("broken.npz", "broken.npy"):
        with pytest.raises(ValueError, match=f"source: .*{name}: "):
            compat.read_joint(tmp_path / name)
    doubled = compat.read_ogb({**FLAT, "y_pred_neg": NEGATIVE.astype(np.float64)})
    for call in (doubled.ranks, doubled.report, doubled.table):
        with pytest.raises(TypeError, match=r"^y_pred_neg: expected float32.*float64"):
            call()


def test_damaged_files_are_errors_about_the_source(tmp_path: Path) -> None:
    """A file with a wrong or missing byte is either read or a ValueError about the source."""
    np.savez(tmp_path / "whole.npz", **FLAT)
    np.savez_compressed(tmp_path / "small.npz", **FLAT)
    np.save(tmp_path / "joint.npy", NEGATIVE)
    (tmp_path / "dump.pkl").write_bytes(pickle.dumps(FLAT))
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        for place in RNG.integers(0, len(content), 60).tolist():
            if path.suffix != ".pkl":  # a changed pickle may run any code
                damaged = bytearray(content)
                damaged[place] ^= 1 << int(RNG.integers(8))
                path.write_bytes(damaged)
                _read_or_refuse(path)
            path.write_bytes(content[:place])
            _read_or_refuse(path)


def _read_or_refuse(path: Path) -> None:
    read = compat.read_joint if path.suffix == ".npy" else compat.read_ogb
    try:
        read(path, pickle=path.suffix == ".pkl")
    except (TypeError, ValueError) as error:
        assert str(error).startswith(("source: ", "y_pred_"))  # noqa: PT017


def test_a_damaged_torch_file(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="writes and reads .pt")
    path = tmp_path / "dump.pt"
    torch.save({key: torch.from_numpy(value) for key, value in FLAT.items()}, path)
    content = path.read_bytes()
    for place in range(60, 200):
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        _read_or_refuse(path)


def test_objects_in_a_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([[Path("anything")]], dtype=object))
    with pytest.raises(ValueError, match=r"objects\.npy: expected plain numbers.*pickle=True"):
        compat.read_joint(tmp_path / "objects.npy")


def test_a_key_beside_its_parts() -> None:
    with pytest.raises(ValueError, match="got head, head/y_pred_neg"):
        compat.read_ogb({"head": POSITIVE, "head/y_pred_neg": NEGATIVE})


# -- matrices with the true score in one column ----------------------------------------------------


def test_joint(tmp_path: Path) -> None:
    joint = np.concatenate([POSITIVE[:, None], NEGATIVE], axis=1)
    same(compat.read_joint(joint))
    same(compat.read_joint(joint.tolist()))
    same(compat.read_joint(np.roll(joint, -1, axis=1), truth=-1))
    np.save(tmp_path / "joint.npy", joint)
    same(compat.read_joint(tmp_path / "joint.npy"))
    assert compat.read_joint(joint).report("rotate").figure("mr").open
    for wrong in (joint[0], joint[:, :0]):
        with pytest.raises(ValueError, match="expected a matrix"):
            compat.read_joint(wrong)
    for column in (3, True, 0.0):
        with pytest.raises(ValueError, match=r"first column \(0\) or the last"):
            compat.read_joint(joint[:, :2] if column is True else joint, truth=column)


# -- LibKGE ----------------------------------------------------------------------------------------

LINE = (
    "{{batch: 0, batches: 2, entry_id: 5-f, epoch: {epoch}, event: example_rank, "
    "filter_splits: [train, valid, test], job: eval, job_id: {job}, o: {o}, p: {p}, rank: 9, "
    "{extra}rank_filtered: {rank}, s: {s}, scope: example, size: 2, split: {split}, task: {task}, "
    "timestamp: 1596700000.25, type: entity_ranking}}\n"
)


def write(path: Path, **changes: Any) -> str:
    lines = "{event: eval_completed, job: eval, mean_rank: 3.5, scope: epoch}\n"
    for s, p, o, tail, head in ((2, 1, 5, 3, 1), (7, 0, 4, 2, 8)):
        fields = {"s": s, "p": p, "o": o, "epoch": 20, "job": "a-1", "split": "test", "extra": ""}
        fields |= changes
        lines += LINE.format(**fields, rank=tail, task="sp")
        lines += LINE.format(**fields, rank=head, task="po")
    with path.open("a", encoding="utf-8") as file:
        file.write(lines)
    return lines


def test_libkge(tmp_path: Path) -> None:
    trace = tmp_path / "trace.yaml"
    write(trace, epoch=10, split="valid")
    write(trace)
    ranks = compat.read_libkge(trace, candidates=50)
    assert ranks.optimistic.tolist() == [3, 1, 2, 8]
    assert ranks.side.values.tolist() == ["tail", "head"] * 2
    assert ranks.relation.values.tolist() == [1, 1, 0, 0]
    assert ranks.targets.values.tolist() == [5, 2, 4, 7]
    assert set(ranks.protocol.filter) == {"train", "valid", "test"}
    assert ranks.protocol.split == "test"
    assert tr.report(ranks)["head.mr"] == 4.5
    assert compat.read_libkge(trace, candidates=50, ranking="rank").optimistic.tolist() == [9] * 4
    assert compat.read_libkge(trace, candidates=50, ranking="rank").protocol.filter == ()
    valid = compat.read_libkge(trace, candidates=[50] * 4, split="valid", epoch=10)
    assert valid.protocol.split == "valid"


def test_the_last_evaluation_is_read(tmp_path: Path) -> None:
    trace = tmp_path / "trace.yaml"
    write(trace, job="a-1")
    write(trace, job="b-2", extra="rank_filtered_with_test: 1, ")
    assert len(compat.read_libkge(trace, candidates=50)) == 4
    with_test = compat.read_libkge(trace, candidates=50, ranking="rank_filtered_with_test")
    assert with_test.optimistic.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("ranking: expected one of", {"ranking": "rank_raw"}),
        ("expected rank_filtered_with_test in each", {"ranking": "rank_filtered_with_test"}),
        ("trace_level: example\\), split train, got none", {"split": "train"}),
        ("epoch 3, got none", {"epoch": 3}),
        ("candidates: expected >= above", {"candidates": 2}),
    ],
)
def test_libkge_errors(tmp_path: Path, words: str, options: dict[str, Any]) -> None:
    trace = tmp_path / "trace.yaml"
    write(trace)
    with pytest.raises(ValueError, match=words):
        compat.read_libkge(trace, **{"candidates": 50, **options})


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (r"integers >= 0 for s and o in each entry, got 'abc'", {"o": "abc"}),
        (r"integers >= 0 for s and o in each entry, got '9+...9+'", {"o": "9" * 30}),
        (r"integers >= 0 for p in each entry, got '1.5'", {"p": "1.5"}),
        (r"integers >= 0 for p in each entry, got '9+...9+'", {"p": "9" * 5000}),
        (r"integers >= 0 for p in each entry, got '\u0661'", {"p": "\u0661"}),
        (r"integers >= 1 for rank_filtered_with_test .* '0'",
         {"extra": "rank_filtered_with_test: 0, "}),
    ],
)  # fmt: skip
def test_a_trace_with_values_that_are_not_integers(
    tmp_path: Path, words: str, changes: dict[str, Any]
) -> None:
    write(tmp_path / "trace.yaml", **changes)
    ranking = "rank_filtered_with_test" if "extra" in changes else "rank_filtered"
    with pytest.raises(ValueError, match=f"^path: expected {words}"):
        compat.read_libkge(tmp_path / "trace.yaml", candidates=50, ranking=ranking)


def test_a_trace_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "trace.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="trace_level: example"):
        compat.read_libkge(tmp_path / "trace.yaml", candidates=50)


def test_a_trace_without_examples(tmp_path: Path) -> None:
    trace = tmp_path / "trace.yaml"
    trace.write_text("{event: eval_completed, split: test}\n")
    with pytest.raises(ValueError, match="trace_level: example"):
        compat.read_libkge(trace, candidates=50)
    trace.write_text("{event: example_rank, rank: 3, split: test}\n")
    with pytest.raises(ValueError, match="expected task, s, p, o"):
        compat.read_libkge(trace, candidates=50)
