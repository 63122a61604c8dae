"""Test the keys of both kinds of report against their grammars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.metric_keys import keys_where
from support.refusals import refusal
from truerank import Ranks, report
from truerank.metrics import METRICS
from truerank.metrics.answer_metrics import ANSWER_KEYS, ANSWER_METRICS
from truerank.metrics.keys import (
    ADJUSTED,
    NEGATED,
    PYKEEN_NAMES,
    RANK_KEYS,
    Grammar,
    Key,
    is_side_name,
    parse,
)
from truerank.metrics.metric_table import ADJUSTMENTS, KINDS

GRAMMARS: dict[str, tuple[Grammar, Callable[[Any], Key]]] = {
    "ranks": (RANK_KEYS, parse),
    "answers": (ANSWER_KEYS, partial(parse, grammar=ANSWER_KEYS)),
}
WORDS = ["macro.", "tail.", "optimistic.", "expected.", "index.", "chance.", "mrr", "hits", "map"]
WORDS += ["recall", "power_mean", "amri", "@", ":", "_at_", "10", "1.5", "-inf", "_", "P"]


CANONICAL = {
    "ranks": [
        ("hits@010", "hits@10"),
        ("both.realistic.none.mrr", "mrr"),
        ("zmrr", "z.mrr"),
        ("head.random.amri", "head.random.index.mr"),
        ("ah@3", "index.hits@3"),
        ("power_mean:-0", "power_mean:0"),
        ("power_mean:-INF", "power_mean:-inf"),
        ("tail.hr@10", "tail.hits@10"),
        ("h.H@1", "h.hits@1"),
        ("RR@10", "mrr@10"),
        ("hit@10", "hits@10"),
        ("adjusted_mean_rank", "ratio.mr"),  # names of the papers
        ("adjusted_mean_rank_index", "index.mr"),
        ("Adjusted-Mean-Reciprocal-Rank", "index.mrr"),
        ("tail.z_mean_rank", "tail.z.mr"),
        ("z_mean_reciprocal_rank", "z.mrr"),
    ],
    "answers": [  # names of trec_eval and ranx
        ("recip_rank", "mrr"),
        ("P_10", "precision@10"),
        ("ndcg_cut_5", "ndcg@5"),
        ("ndcg_at_5", "ndcg@5"),
        ("map_cut_100", "map@100"),
        ("Rprec", "r_precision"),
        ("R@10", "recall@10"),
        ("success_1", "success@1"),
        ("hit_rate@10", "success@10"),
        ("hr@10", "success@10"),
        ("hits@10", "success@10"),
        ("MeanR", "mr"),
        ("optimistic.MedR", "optimistic.median"),
        ("H@10", "success@10"),
        ("mean_reciprocal_rank", "mrr"),
        ("RR@10", "mrr@10"),
        ("RR", "mrr"),
        ("AP@10", "map@10"),
        ("Hit_5", "success@5"),
        ("RBP:0.80", "rbp:0.8"),
    ],
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_canonical_form(name: str) -> None:
    read = GRAMMARS[name][1]
    for key, canonical in CANONICAL[name]:
        assert str(read(key)) == canonical, key


@st.composite
def keys(draw: st.DrawFn, grammar: Grammar) -> Key:
    """A key of any row of a grammar's table, with everything that a key can have."""
    row = grammar.metrics[draw(st.sampled_from(list(grammar.metrics)))]
    optional = st.just(0) if row.parameter in ("", "[@k]") else st.nothing()
    cutoffs = st.integers(1, 10**30)
    numbers: dict[str, st.SearchStrategy[Any]] = {
        "@k": cutoffs | st.just(10**998),  # which has as many digits as are read
        ":p": st.floats(allow_nan=False).map(lambda p: p + 0.0),
        "@k:n": st.tuples(cutoffs, cutoffs),
    }
    parameter = draw(optional | numbers.get(row.parameter.strip("[]"), st.nothing()))
    words = {
        word: draw(st.sampled_from(grammar.words.get(word, ("both", "tail", "Side \u2603"))))
        for word in grammar.defaults
    }
    words["macro"] = draw(st.booleans())
    if grammar is RANK_KEYS and words["adjustment"] not in row.adjustments:
        words["adjustment"] = "none"
    if grammar is RANK_KEYS and not METRICS[row.name].has_expectation:
        assume(words["kind"] != "expected")
    assume(not (words["macro"] and words.get("adjustment") == "z"))
    return Key(row.name, parameter, grammar=grammar, **words)


@pytest.mark.parametrize("name", GRAMMARS)
@given(data=st.data())
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    grammar, read = GRAMMARS[name]
    key = data.draw(keys(grammar))
    assert read(str(key)) == read(key.title) == key
    assert (str(read(str(key))), repr(key.alone.macro)) == (str(key), "False")
    words = [getattr(key, word) for word in grammar.defaults]
    words.append(str(key.alone))
    if key.macro:
        words.insert(0, "macro")
    assert read(".".join(words)) == key
    if name == "ranks":
        refusal(KeyError, "macro|chance", read, str(replace(key, macro=True, adjustment="z")))


@given(st.sampled_from(keys_where(lambda metric: True)), st.sampled_from(list(ADJUSTMENTS)))
def test_an_arrow_points_to_better_values(key: str, adjustment: str) -> None:
    parsed = replace(parse(key), adjustment=adjustment)
    if adjustment not in ("none", *METRICS[parsed.metric].adjustments):
        return
    better, worse = (report(Ranks([a] * 3, [1] * 3, 40))[str(parsed)] for a in (0, 30))
    arrow = {1: " \u2191", -1: " \u2193"}[(better > worse) - (better < worse) or 1]
    if METRICS[parsed.metric].increasing is None:
        arrow = ""
    assert parsed.heading == parsed.title + arrow


def test_names_in_tables() -> None:
    keys = ["mrr", "hits@10", "index.mr", "ratio.mr", "zmrr", "power_mean:2"]
    names = "MRR \u2191, Hits@10 \u2191, AMRI \u2191, AMR \u2193, zMRR \u2191, power_mean:2 \u2193"
    assert [parse(key).heading for key in keys] == names.split(", ")


# Keys that are refused, and words that say what there is.
REFUSED: dict[str, dict[str, str]] = {
    "ranks": {
        "mmr": "no metric 'mmr'; did you mean mr",
        "P@5": "reports of truerank.retrieval have P@k, which is precision@k",
        "zzzzzz": "known are mr, mrr, hits@k",
        "hits": "hits@k: k must be a whole number >= 1, got none",
        "index.tail.mr": r"the form \[macro.\]\[side.\]\[kind.\].*; 'tail'",
        "index.std": "std is not a mean over tasks, .* docs/chance.md draws in five lines",
        "tail.z.sampled_hits@1:3": "the variance of sampled_hits .* docs/chance.md draws in five",
        "expected.power_mean:2": "power_mean:2 is not a mean over tasks, and its mean over",
    },
    "answers": {
        "ndgc@10": "did you mean ndcg",
        "index.ndcg": "metrics of queries have no chance, .* index .*: take auc or gauc",
        "macro.optimistic.chance.mrr": "metrics of queries have no chance",
        "AMRI": "metrics of queries have no chance",
        "none.map": r"the form \[macro.\]\[kind.\]metric\[@k\]\[:p\]; 'none' does not fit",
    },
}
MORE = ["tail.AH@2.0", "hits@" + "9" * 1000, "hits:3", "amri@3", "ratio.amri", "a.b.mr"]
ANSWER_NAMES = sorted(ANSWER_METRICS.keys() - METRICS.keys())
MORE += ["macro.z.mrr", "power_mean:nan", *(f"{name.title()}@3" for name in ANSWER_NAMES)]
REFUSED["ranks"] |= dict.fromkeys(MORE, "")
MORE = ["optimum.dcg", "ratio.auc", "z.mrr", "P_0", "ndcg:2", "tail.mrr"]
REFUSED["answers"] |= dict.fromkeys(MORE, "")


@pytest.mark.parametrize("name", GRAMMARS)
def test_unknown_keys(name: str) -> None:
    measured = report(Ranks([0], [1], 5, side="tail"))
    for key, words in REFUSED[name].items():
        message = refusal(KeyError, f": .*{words}", GRAMMARS[name][1], key)
        assert message.startswith(f"'{key[:40]}")
        if name == "ranks":  # A report raises the same.
            assert refusal(KeyError, ": ", measured.__getitem__, key) == message


@pytest.mark.parametrize("name", ["a.b", "a:b", "a@b", "", "both", "mrr", "amri", "expected", "z"])
def test_sides_whose_name_no_key_can_tell(name: str) -> None:
    assert not is_side_name(name)
    if name and name != "both":
        refusal(ValueError, "a key cannot tell the side", report, Ranks([0], [1], 5, side=name))


@pytest.mark.parametrize("name", GRAMMARS)
@given(text=st.text(max_size=20) | st.lists(st.sampled_from(WORDS), max_size=5).map("".join))
def test_any_text_is_read_or_a_key_error(name: str, text: str) -> None:
    read = GRAMMARS[name][1]
    try:
        key = read(text)
    except KeyError:
        return
    assert read(str(key)) == key


@pytest.mark.parametrize("name", GRAMMARS)
@given(data=st.data())
def test_names_are_read_in_any_case(name: str, data: st.DataObject) -> None:
    grammar, read = GRAMMARS[name]
    word = data.draw(st.sampled_from(list(grammar.metrics) + list(grammar.synonyms)))
    _, metric = grammar.find(word) or ("", "")
    forms = {"@k": "@7", ":p": ":2", "@k:n": "@7:5"}
    mark = forms.get(grammar.metrics[metric].parameter.strip("[]"), "")
    before = data.draw(st.sampled_from(["", "optimistic.", "macro.expected."]))
    assume(not (before and word.startswith("z")))
    assume("expected" not in before or name != "ranks" or METRICS[metric].has_expectation)
    key = read(before + word + mark)
    change = data.draw(st.sampled_from([str.upper, str.title, str.swapcase]))
    assert read(before + change(word) + mark) == key
    assert read(before + change(word).replace("_", "-") + mark) == key
    assert read(before + change(word) + mark.replace("@", "_At_")) == key


@pytest.mark.parametrize(("name", "meaning"), PYKEEN_NAMES.items())
def test_names_of_pykeen(name: str, meaning: tuple[str, str]) -> None:
    written = name.replace("_at_k", "_at_7")
    if name in NEGATED:
        refusal(KeyError, f"negates this value: take '{NEGATED[name]}'", parse, written)
        key = parse(NEGATED[name])
        assert (key.adjustment, key.metric) == meaning
    else:
        key = parse(f"tail.pessimistic.{written}")
        assert (key.adjustment, key.metric) == meaning
        assert (key.side, key.kind) == ("tail", "pessimistic")


@pytest.mark.parametrize("name", GRAMMARS)
def test_tables_agree(name: str) -> None:
    grammar, read = GRAMMARS[name]
    adjustments = grammar.words.get("adjustment", ("none",))
    assert all(a in adjustments and m in grammar.metrics for a, m in grammar.synonyms.values())
    assert not any(map(grammar.find, grammar.refused))
    for metric, row in grammar.metrics.items():
        assert metric == row.name
        assert grammar.find(row.title.lower().replace("-", "_") or metric) == ("none", metric)
        assert row.description
        assert all(read(metric + example).metric == metric for example in row.examples)
    assert RANK_KEYS.refused.keys() >= set(ANSWER_NAMES)
    assert set(ADJUSTMENTS) == {"none"} | set(ADJUSTED)
    for words in (METRICS, KINDS, ADJUSTMENTS, ("macro", "amri")):
        assert all(map(RANK_KEYS.is_taken, words))
    assert not any(map(RANK_KEYS.is_taken, ("both", "tail", "side")))
