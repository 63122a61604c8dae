"""Test tables of corrected p-values: what they take, how they are nested, written and checked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truerank import Ranks, compare, pvalue
from truerank.inference import CorrectedPValues, correct_pvalues, friedman
from truerank.inference.multiplicity.corrections import benjamini_hochberg, holm

pytestmark = pytest.mark.python_only

NESTED = {"FB15k-237": {"mrr": 0.001, "hits@1": 0.2}, "WN18RR": {"mrr": 0.02, "hits@1": 0.03}}
FLAT = [0.001, 0.2, 0.02, 0.03]


def models(n: int = 30) -> dict[str, Ranks]:
    rng = np.random.default_rng(0)
    return {name: Ranks(rng.geometric(0.1, n), [1] * n, 100, targets=range(n)) for name in "abc"}


def test_a_family_is_corrected_as_a_whole() -> None:
    for given in (NESTED, FLAT, tuple(FLAT), np.array(FLAT), dict(zip("wxyz", FLAT, strict=True))):
        found = correct_pvalues(given)
        rows = list(found.values())
        assert [row["p"] for row in rows] == FLAT
        assert [row["holm"] for row in rows] == holm(FLAT)
        assert [row["bh"] for row in rows] == benjamini_hochberg(FLAT)
        assert found.notes == ()
    assert list(correct_pvalues(FLAT)) == ["1", "2", "3", "4"]
    assert list(correct_pvalues(NESTED))[1] == ("FB15k-237", "hits@1")


def test_comparisons_have_p_values() -> None:
    ranks = models()
    both = {key: compare(ranks, metric=key, resamples=99) for key in ("mrr", "hits@3")}
    found = correct_pvalues(both, names=["metric", "models"])
    assert len(found) == 6
    assert found["mrr", "a against c"]["p"] == both["mrr"][1].p_value
    single = compare(ranks["a"], ranks["b"], resamples=99)
    chance = pvalue(ranks["a"])
    mixed = correct_pvalues({"a, b": single, "a, chance": chance})
    assert [row["p"] for row in mixed.values()] == [single.p_value, chance.p]
    ranked = friedman({name: {"a": 1, "b": 2, "c": 3} for name in "xyzw"})
    found = correct_pvalues({"all": ranked, "one": 0.5})
    assert found["all"]["p"] == ranked.p_value
    assert f"all: {ranked.notes[0]}" in found.notes


def test_notes_are_kept() -> None:
    ranks = models()
    bare = ranks["a"].with_labels(targets=None)
    with_note = compare(bare, ranks["b"], resamples=9)
    assert "paired by position only" in correct_pvalues({"x": with_note}).notes
    found = correct_pvalues({"x": with_note, "y": 0.5, "z": math.nan})
    assert found.notes[0] == "x: paired by position only"
    assert found.notes[-1] == "not counted: 1 of 3 p-values are nan"
    assert math.isnan(found["z"]["holm"])
    for text in (str(found), found.to_markdown(), found.to_latex(), found._repr_html_()):
        assert "paired by position only" in text
        assert "1 of 3 p-values are nan" in text


def test_renderings() -> None:
    found = correct_pvalues(NESTED, names=["data set", "metric"], methods=["holm", "by"])
    assert found.to_dict()["WN18RR"]["mrr"] == found["WN18RR", "mrr"]
    assert set(found["WN18RR", "mrr"]) == {"p", "holm", "by"}
    heading, line, first = found.to_markdown().splitlines()[:3]
    assert heading == "| data set | metric | p | p (Holm) | p (Benjamini-Yekutieli) |"
    assert line == "| :--- | :--- | ---: | ---: | ---: |"
    assert first.startswith("| FB15k-237 | mrr | 0.001 | 0.004 |")
    assert "\\begin{tabular}{llrrr}" in found.to_latex()
    assert str(found).splitlines()[1].startswith("FB15k-237  mrr     0.001")
    assert found.to_csv().startswith("data set,metric,p,p (Holm),p (Benjamini-Yekutieli)\n")
    assert repr(found) == "CorrectedPValues(4 p-values, holm, by)"
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert list(frame["p (Holm)"]) == [row["holm"] for row in found.values()]
    assert isinstance(frame, pandas.DataFrame)


def test_names_of_any_text_are_escaped() -> None:
    found = correct_pvalues({"a|b": 0.1, "red \x1b[31m": 0.2})
    assert "a\\|b" in found.to_markdown()
    assert "\x1b" not in str(found) + found.to_markdown() + found.to_latex()


@pytest.mark.parametrize(
    ("given", "options", "kind", "said"),
    [
        ([1.5], {}, ValueError, "p_values: 1: expected 0 to 1, got 1.5"),
        ({"a": {"b": -0.1}}, {}, ValueError, "p_values: a / b: expected 0 to 1, got -0.1"),
        ({"a": "0.1"}, {}, TypeError, "p_values: a: expected p-values, or .*, got str"),
        ({"a": True}, {}, TypeError, "p_values: a: expected p-values, or .*, got bool"),
        (None, {}, TypeError, "p_values: expected p-values, or .*, got NoneType"),
        ({}, {}, ValueError, "p_values: expected several p-values, got none"),
        (0.1, {}, ValueError, "p_values: expected several p-values, got one"),
        ({"a": 0.1, "b": {"c": 0.1}}, {}, ValueError, "p_values: a is not nested as deeply"),
        ({1: 0.1, "1": 0.2}, {}, ValueError, "p_values: expected each name once, got 1 twice"),
        ([0.1], {"methods": ["sidak"]}, ValueError, "methods: expected names among"),
        ([0.1], {"names": ["a", "b"]}, ValueError, "names: expected 1 heading, one for each"),
        ([0.1], {"names": "metric"}, TypeError, "names: expected several"),
    ],
)
def test_bad_input(given: object, options: dict, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=f"^{said}"):
        correct_pvalues(given, **options)


def test_a_table_without_corrections() -> None:
    found = correct_pvalues(FLAT, methods=[])
    assert isinstance(found, CorrectedPValues)
    assert found.to_csv().splitlines()[:2] == ["question,p", "1,0.001"]
