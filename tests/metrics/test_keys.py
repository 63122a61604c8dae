"""Test the keys of reports against their grammar."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truerank import Ranks, report
from truerank.metrics import ADJUSTMENTS, KINDS, METRICS, Key, parse
from truerank.metrics.aliases import ALIASES, NEGATED, PYKEEN_NAMES, SYNONYMS
from truerank.metrics.keys import ADJUSTED, METRIC_FORMS, RESERVED, increasing, table_name

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("mr", "mr"),
        ("hits@10", "hits@10"),
        ("hits@010", "hits@10"),
        ("both.realistic.none.mrr", "mrr"),
        ("tail.hits@1", "tail.hits@1"),
        ("optimistic.mrr", "optimistic.mrr"),
        ("tail.pessimistic.index.mr", "tail.pessimistic.index.mr"),
        ("amr", "ratio.mr"),
        ("amri", "index.mr"),
        ("head.random.amri", "head.random.index.mr"),
        ("both.amr", "ratio.mr"),
        ("left_to_right.gmr", "left_to_right.gmr"),
        ("amrr", "index.mrr"),
        ("ah@3", "index.hits@3"),
        ("zmr", "z.mr"),
        ("zmrr", "z.mrr"),
        ("tail.expected.zh@3", "tail.expected.z.hits@3"),
        ("both.expected.gmr", "expected.gmr"),
        ("macro.mrr", "macro.mrr"),
        ("macro.both.realistic.index.mrr", "macro.index.mrr"),
        ("macro.tail.optimistic.amri", "macro.tail.optimistic.index.mr"),
        ("power_mean:2", "power_mean:2"),
        ("power_mean:2.0", "power_mean:2"),
        ("power_mean:-0", "power_mean:0"),
        ("power_mean:-1.5", "power_mean:-1.5"),
        ("tail.index.power_mean:1e3", "tail.index.power_mean:1000"),
        ("power_mean:-INF", "power_mean:-inf"),
        ("z.power_mean:inf", "z.power_mean:inf"),
        ("tail.std", "tail.std"),
        ("none.count", "count"),
        ("MRR", "mrr"),
        ("tail.optimistic.MRR", "tail.optimistic.mrr"),
        ("Hits@10", "hits@10"),
        ("HITS@1", "hits@1"),
        ("H@10", "hits@10"),
        ("h_at_3", "hits@3"),
        ("hits_at_10", "hits@10"),
        ("index.Hits_at_3", "index.hits@3"),
        ("mean_reciprocal_rank", "mrr"),
        ("Mean-Reciprocal-Rank", "mrr"),
        ("mean_rank", "mr"),
        ("AMR", "ratio.mr"),
        ("AMRI", "index.mr"),
        ("AH@10", "index.hits@10"),
        ("Power_Mean:2", "power_mean:2"),
        ("both.realistic.inverse_harmonic_mean_rank", "mrr"),
        ("tail.pessimistic.adjusted_arithmetic_mean_rank_index", "tail.pessimistic.index.mr"),
        ("adjusted_mean_reciprocal_rank", "index.mrr"),
        ("adjusted_hits_at_10", "index.hits@10"),
        ("z_hits_at_10", "z.hits@10"),
        ("z_inverse_harmonic_mean_rank", "z.mrr"),
        ("median_absolute_deviation", "mad"),
        ("rank_std", "std"),
    ],
)
def test_canonical_form(key: str, canonical: str) -> None:
    assert str(parse(key)) == canonical
    assert parse(canonical) == parse(key)


@given(
    st.sampled_from(
        [name.replace("@k", "@7") for name in METRIC_FORMS.values() if name[-2:] != ":p"]
    )
    | st.floats(allow_nan=False).map("power_mean:{!r}".format),
    st.sampled_from(["", "both.", "tail.", "some side.", "macro.tail."]),
    st.sampled_from(["", *(f"{kind}." for kind in KINDS)]),
)
def test_every_form_parses_to_itself(name: str, side: str, kind: str) -> None:
    assume(not (side.startswith("macro") and name.startswith("z")))
    key = parse(f"{side}{kind}{name}")
    assert isinstance(key, Key)
    assert parse(str(key)) == key


@st.composite
def any_key(draw: st.DrawFn) -> Key:
    """A key of any row of the table of metrics, with everything that a key can have."""
    metric = draw(st.sampled_from(list(METRICS)))
    numbers = {"@": st.integers(1, 9), ":": st.sampled_from([-2.0, -0.5, 0.0, 2.5, 3.0])}
    parameter = draw(numbers.get(METRICS[metric].parameter, st.just(0)))
    adjusted = METRICS[metric].chance is not None
    adjustment = draw(st.sampled_from(list(ADJUSTMENTS) if adjusted else ["none"]))
    side, kind = draw(st.sampled_from(["both", "tail", "Side"])), draw(st.sampled_from(list(KINDS)))
    return Key(metric, parameter, adjustment, kind, side, adjustment != "z" and draw(st.booleans()))


@given(any_key())
def test_a_printed_name_is_a_key_and_its_arrow_points_to_better_values(key: Key) -> None:
    assert parse(key.title) == key
    _, _, name = table_name(key).rpartition(".")
    better, worse = (
        report(Ranks([above] * 3, [1] * 3, 40), by=[0, 0, 0])[
            str(key._replace(side="both", macro=False))
        ]
        for above in (0, 30)
    )
    arrow = {1: " \u2191", -1: " \u2193", 0: ""}[(better > worse) - (better < worse)]
    if METRICS[key.metric].increasing is None:
        assert table_name(key) == str(key)
    else:
        assert table_name(key) == key.title + arrow
        assert name.endswith(arrow)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        *(("mrr", "MRR \u2191"), ("mr", "MR \u2193"), ("hits@10", "Hits@10 \u2191")),
        *(("index.mr", "AMRI \u2191"), ("ratio.mr", "AMR \u2193"), ("ah@3", "AH@3 \u2191")),
        *(("zmrr", "zMRR \u2191"), ("z.mr", "zMR \u2193"), ("ratio.mrr", "ratio.mrr \u2191")),
        *(("tail.optimistic.hmr", "tail.optimistic.HMR \u2193"), ("macro.mrr", "macro.MRR \u2191")),
        *(("index.gmr", "index.gmr \u2191"), ("power_mean:2", "power_mean:2 \u2193")),
        *(("median", "median \u2193"), ("tail.std", "tail.std"), ("count", "count")),
    ],
)
def test_names_in_tables(key: str, name: str) -> None:
    assert table_name(key) == name


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("mmr", "'mmr': no metric 'mmr'; did you mean mrr?"),
        ("RR", "did you mean mrr?"),
        ("rank", "did you mean mr?"),
        ("hit@10", "did you mean hits@10?"),
        ("hits10", "did you mean hits@10?"),
        ("tail.hits_3", "did you mean hits@3?"),
        ("Hit_Rate@5", "did you mean hits@5?"),
        ("HR", "did you mean hits@k?"),
        ("recall@10", "did you mean hits@10?"),
        ("top10", "did you mean hits@10?"),
        ("accuracy", "did you mean hits@1?"),
        ("amir", "did you mean amri or"),
        ("mean_recipocal_rank", "did you mean mrr"),
        ("adjusted_mean_rank_indx", "did you mean amri"),
        ("adjusted_geometric_mean_rank", "did you mean index.gmr"),
        ("z_arithmetic_mean_rank", "negates it: take 'z.mr'"),
        ("zGMR", "negates it: take 'z.gmr'"),
        ("medain", "did you mean median"),
        ("zzzzzz", "known are mr, mrr, hits@k"),
        ("", "no metric ''"),
        ("tail.", "no metric ''"),
        ("hits", "expected hits@k with an integer k >= 1, got 'hits'"),
        ("hits@", "integer k >= 1"),
        ("hits@0", "integer k >= 1"),
        ("hits@-1", "integer k >= 1"),
        ("hits@1.5", "no metric '5'"),
        ("hits@ten", "integer k >= 1"),
        ("hits@1_0", "integer k >= 1"),
        ("hits@٣", "integer k >= 1"),
        ("hits@k", "integer k >= 1"),
        ("hits@1@2", "integer k >= 1"),
        ("MRR@3", "mrr takes no '@k'; reports of truerank.retrieval have mrr@k"),
        ("NDCG@10", "no metric 'NDCG@10'; reports of truerank.retrieval have ndcg"),
        ("map", "no metric 'map'; reports of truerank.retrieval have map"),
        ("amri@3", "amri takes no '@k'"),
        ("mrr:2", "mrr takes no ':' parameter"),
        ("ratio.amri", "amri is an adjusted metric already"),
        ("index.tail.mr", "expected the form"),
        ("mr.tail", "no metric 'tail'"),
        ("a.b.mr", "expected the form"),
        (".mr", "expected the form"),
        ("index.optimistic.mr", "expected the form"),
        ("optimistic.optimistic.mr", "expected the form"),
        ("index.std", "std has no chance model, so no adjustment 'index'"),
        ("z.variance", "variance has no chance model"),
        ("ratio.mad", "mad has no chance model"),
        ("tail.z.count", "count has no chance model"),
        ("macro.z.mrr", "z grows with the number of tasks"),
        ("macro.zh@3", "z grows with the number of tasks"),
        ("tail.macro.mrr", "expected the form"),
        ("macro.macro.mrr", "expected the form"),
        ("macro.", "no metric ''"),
        ("macro", "no metric 'macro'"),
        ("macro.mrr", "by="),
        ("power_mean", "expected power_mean:p with a real number, inf or -inf, got ''"),
        ("power_mean:", "got ''"),
        ("power_mean:two", "got 'two'"),
        ("power_mean:nan", "got 'nan'"),
        ("power_mean:1:2", "got '1:2'"),
        ("power_mean:1_0", "got '1_0'"),
        ("power_mean: 2", "got ' 2'"),
        ("power_mean:٣", "got '٣'"),
        ("power_mean@2", "power_mean takes no '@k'"),
        ("hits@3:2", "hits takes no ':' parameter"),
        ("stdev", "did you mean std"),
        (3, "key: expected a str, got int"),
    ],
)
def test_unknown_keys_say_why(key: str, message: str) -> None:
    with pytest.raises(KeyError) as caught:
        report(Ranks([0], [1], 5, side="tail"))[key]
    assert message in str(caught.value)
    assert not str(caught.value).startswith('"')


@given(
    st.sampled_from([*METRIC_FORMS.values(), *SYNONYMS, *(f"{name}_at_k" for name in SYNONYMS)]),
    st.sampled_from([str.upper, str.title, str.swapcase]),
    st.sampled_from(["", "tail.", "Tail.optimistic."]),
)
def test_names_are_read_in_any_case(form: str, change: Callable[[str], str], before: str) -> None:
    name = form.replace("@k", "@7").replace("_at_k", "_at_7").replace(":p", ":2")
    try:
        expected = parse(before + name)
    except KeyError:
        with pytest.raises(KeyError):
            parse(before + change(name))
        return
    assert parse(before + change(name)) == expected
    assert parse(before + change(name).replace("_", "-")) == expected


@pytest.mark.parametrize(("name", "meaning"), PYKEEN_NAMES.items())
def test_names_of_pykeen(name: str, meaning: tuple[str, str]) -> None:
    written = name.replace("_at_k", "_at_7")
    if name in NEGATED:
        with pytest.raises(KeyError, match=f"negates it: take '{NEGATED[name]}'"):
            parse(written)
        assert parse(NEGATED[name])[0:3:2] == meaning[::-1]
    else:
        key = parse(f"tail.pessimistic.{written}")
        assert (key.adjustment, key.metric, key.side, key.kind) == (*meaning, "tail", "pessimistic")


def test_what_is_written_is_kept() -> None:
    measured = report(Ranks([0, 3], [1, 1], 10))
    assert measured.to_dict(["MRR", "H@10"]) == {"MRR": 0.625, "H@10": 1.0}
    assert measured["MRR"] == measured["mean_reciprocal_rank"] == measured["mrr"]


def test_tables_agree() -> None:
    assert all(a in ADJUSTMENTS and m in METRICS for a, m in SYNONYMS.values())
    assert not NEGATED.keys() & SYNONYMS.keys()
    assert all(SYNONYMS.get(name, ("none", name)) == ("none", name) for name in METRICS)
    assert all(name == row.name for name, row in METRICS.items())
    assert all(a in ADJUSTMENTS and m in METRICS for a, m in ALIASES.values())
    assert set(ADJUSTMENTS) == {"none", *ADJUSTED}
    assert {*METRICS, *KINDS, *ADJUSTMENTS, *ALIASES} < RESERVED


@pytest.mark.parametrize(
    ("key", "up"),
    [
        *(("mr", False), ("mrr", True), ("tail.optimistic.hits@3", True), ("gmr", False)),
        *(("imr", True), ("power_mean:2", False), ("amr", False), ("ratio.mrr", True)),
        *(("amri", True), ("index.gmr", True), ("amrr", True), ("zmr", False), ("zmrr", True)),
        *(("std", None), ("variance", None), ("mad", None), ("count", None), ("macro.amri", True)),
    ],
)
def test_directions(key: str, up: bool | None) -> None:
    assert increasing(key) is increasing(parse(key)) is up
