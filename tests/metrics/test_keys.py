"""Test the keys of reports against their grammar."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truerank import Ranks, report
from truerank.metrics import ADJUSTMENTS, KINDS, METRICS, Key, parse
from truerank.metrics.keys import ADJUSTED, ALIASES, METRIC_NAMES, RESERVED, increasing

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
    ],
)
def test_canonical_form(key: str, canonical: str) -> None:
    assert str(parse(key)) == canonical
    assert parse(canonical) == parse(key)


@given(
    st.sampled_from([name.replace("@k", "@7") for name in METRIC_NAMES if name[-2:] != ":p"])
    | st.floats(allow_nan=False).map("power_mean:{!r}".format),
    st.sampled_from(["", "both.", "tail.", "some side.", "macro.tail."]),
    st.sampled_from(["", *(f"{kind}." for kind in KINDS)]),
)
def test_every_form_parses_to_itself(name: str, side: str, kind: str) -> None:
    assume(not (side.startswith("macro") and name.startswith("z")))
    key = parse(f"{side}{kind}{name}")
    assert isinstance(key, Key)
    assert parse(str(key)) == key


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("mmr", "'mmr': no metric 'mmr'; did you mean mr or zmr or mrr"),
        ("MRR", "did you mean mrr"),
        ("hit@10", "did you mean hits@k"),
        ("tail.hits10", "did you mean hits@k"),
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
        ("mrr@3", "mrr takes no '@k'"),
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


def test_tables_agree() -> None:
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
