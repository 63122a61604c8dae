"""The protocol: its fingerprint, its differences, what it refuses."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from support.example_ranks import PROTOCOLS
from support.refusals import refusal
from truerank import Protocol


def test_frozen_and_hashable() -> None:
    protocol = Protocol()
    with pytest.raises(dataclasses.FrozenInstanceError):
        protocol.nan = "omit"
    assert len({protocol, Protocol()}) == 1


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


@pytest.mark.parametrize(("field", "value"), {**MADE, "version": "9", "files": ("a",)}.items())
def test_provenance_fields(field: str, value: object) -> None:
    other = Protocol(**{field: value})
    assert Protocol().differences(other) == []
    assert Protocol().fingerprint == other.fingerprint
    assert Protocol() != other
    joined = Protocol().joined(other)
    expected = {"files": ("a",)}.get(field, "mixed")
    assert getattr(joined, field) == expected
    assert joined.joined(other) == joined


def test_filter_is_a_set() -> None:
    one = Protocol(filter=["valid", "train", "valid"])
    other = Protocol(filter=("train", "valid"))
    assert one.filter == ("valid", "train")
    assert one.fingerprint == other.fingerprint
    assert one.differences(other) == []
    assert Protocol(filter="train").filter == ("train",)


@given(PROTOCOLS, PROTOCOLS)
def test_one_fingerprint_where_nothing_differs(a: Protocol, b: Protocol) -> None:
    assert (a.fingerprint == b.fingerprint) == (not a.differences(b))
    assert len(a.differences(b)) == len(b.differences(a))
    assert len(a.fingerprint) == 16


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"nan": "best"}, ValueError, "nan: expected one of raise, worst, omit, got 'best'"),
        ({"order": "up"}, ValueError, "order: expected .* descending, ascending, mixed, got 'up'"),
        ({"filter": 3}, TypeError, "filter: expected several names, got int"),
        ({"filter": ["train", 3]}, TypeError, "filter: expected a str .*, got int"),
        ({"sampled": 1}, TypeError, "sampled: expected a bool, got int"),
        ({"split": ""}, TypeError, "split: expected a str that is a name"),
    ],
)
def test_wrong_fields(fields: dict[str, object], error: type, message: str) -> None:
    refusal(error, message, Protocol, **fields)


def test_in_words() -> None:
    assert str(Protocol()) == "unfiltered, all candidates, nan raise"
    assert str(Protocol(sampled=True)) == "unfiltered, sampled candidates, nan raise"
    options = {"split": "test", "order": "ascending", "dtype": "float16", "similarity": "l2"}
    assert str(Protocol(filter="train", candidates="types", sampled=True, **options)) == (
        "split test, filtered by train, candidates types (sampled), nan raise, order ascending, "
        "float16, l2"
    )
