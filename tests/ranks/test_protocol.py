"""The protocol: its fingerprint, its differences, what it refuses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given

from support.example_ranks import PROTOCOLS
from support.refusals import refusal
from truerank import Protocol


def test_frozen_and_hashable() -> None:
    with pytest.raises(FrozenInstanceError):
        Protocol().nan = "omit"
    assert len({Protocol(), Protocol()}) == 1


def test_fingerprint_never_changes() -> None:
    # these are in files and reports
    assert Protocol().fingerprint == "a641f68e38144777"
    assert Protocol(filter=("train", "valid"), split="test").fingerprint == "9ecc1e72cdf27f17"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("filter", ("train", "valid"), "filter: none against train + valid"),
        ("candidates", "types", "candidates: all against types"),
        ("sampled", True, "sampled: no against yes"),
        ("nan", "worst", "nan: raise against worst"),
        ("split", "test", "split: none against test"),
    ],
)
def test_comparable_fields(field: str, value: object, sentence: str) -> None:
    other = Protocol(**{field: value})
    assert Protocol().differences(other) == [sentence]
    assert Protocol().fingerprint != other.fingerprint
    with pytest.raises(ValueError, match=f"other: counted under another protocol: {field}"):
        Protocol().joined(other)


MADE = {"order": "ascending", "dtype": "float16", "similarity": "l1", "lists": "scores"}
MADE["ties"] = "unknown"


@pytest.mark.parametrize(("field", "value"), {**MADE, "version": "9", "files": ("b", "c")}.items())
def test_provenance_fields(field: str, value: object) -> None:
    one = Protocol(files=("a", "b"))
    other = replace(one, **{field: value})
    assert one.differences(other) == []
    assert one.fingerprint == other.fingerprint
    assert one != other
    joined = one.joined(other)
    assert joined == replace(one, **{field: ("a", "b", "c") if field == "files" else "mixed"})
    assert joined.joined(other) == joined


def test_filter_is_a_set() -> None:
    one = Protocol(filter=["valid", "train", "valid"])
    assert one.filter == ("valid", "train")
    assert one.fingerprint == Protocol(filter=("train", "valid")).fingerprint
    assert Protocol(filter="train").filter == ("train",)


@given(PROTOCOLS, PROTOCOLS)
def test_one_fingerprint_where_nothing_differs(a: Protocol, b: Protocol) -> None:
    assert (a.fingerprint == b.fingerprint) == (not a.differences(b))
    assert len(a.differences(b)) == len(b.differences(a))
    assert len(a.fingerprint) == 16


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (ValueError, {"nan": "best"}),
        (ValueError, {"order": "up"}),
        (TypeError, {"filter": ["train", 3]}),
        (TypeError, {"sampled": 1}),
        (TypeError, {"split": ""}),
    ],
)
def test_wrong_fields(error: type, fields: dict[str, object]) -> None:
    refusal(error, f"^{next(iter(fields))}: ", Protocol, **fields)


def test_in_words() -> None:
    assert str(Protocol(sampled=True)) == "unfiltered, sampled candidates, nan raise"
    options = {"split": "test", "order": "ascending", "dtype": "float16", "similarity": "l2"}
    assert str(Protocol(filter="train", candidates="types", sampled=True, **options)) == (
        "split test, filtered by train, candidates types (sampled), nan raise, order ascending, "
        "float16, l2"
    )
