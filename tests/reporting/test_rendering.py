"""Test every form of a report: text, tables, JSON, pandas."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.example_ranks import any_ranks, same
from truerank import Protocol, Ranks, Report, Table, compare, report, table

pytestmark = pytest.mark.python_only

METRICS = (
    *("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10"),
    *("hmr", "gmr", "median", "amr", "amri", "amrr", "ah@10", "zmrr"),
)


# -- text ------------------------------------------------------------------------------------------


def test_repr(sided: Ranks) -> None:
    assert repr(report(sided)) == (
        f"Report(5 tasks, 1 tied, mrr {report(sided)['mrr']:.4g}, hits@10 1, "
        f"amri {report(sided)['amri']:.4g})"
    )


def test_dict(sided: Ranks) -> None:
    measured = report(sided)
    assert measured.to_dict(["tail.amri", "hits@2"]) == {
        "tail.amri": measured["tail.index.mr"],
        "hits@2": measured["hits@2"],
    }
    flat = measured.to_dict()
    assert list(flat) == list(measured)
    assert flat["tail.pessimistic.amri"] == measured["tail.pessimistic.index.mr"]
    with pytest.raises(KeyError, match="no metric 'mmr'"):
        measured.to_dict(["mmr"])
    assert measured.to_dict("mrr") == {"mrr": measured["mrr"]}
    with pytest.raises(TypeError, match="metrics: expected several keys, got int"):
        measured.to_dict(3)  # type: ignore[arg-type]


def test_a_single_name_stands_for_a_list_of_one(sided: Ranks) -> None:
    measured = report(sided, by="side")
    assert measured.to_markdown("mrr", sides="tail", kinds="realistic") == measured.to_markdown(
        ["mrr"], sides=["tail"], kinds=["realistic"]
    )
    assert measured.to_csv("MRR") == measured.to_csv(["MRR"])
    assert measured.to_json("mrr") == measured.to_json(["mrr"])
    assert table({"a": measured}, "mrr") == table({"a": measured}, ["mrr"])


def test_json(sided: Ranks) -> None:
    measured = report(sided, seed=7)
    content = json.loads(measured.to_json())
    assert content["kind"] == "truerank.report"
    assert content["format"] == 1
    for key, value in measured.to_dict().items():
        stored = content["metrics"][key]
        assert same(math.nan if stored is None else stored, value)
    assert content["protocol"]["filter"] == ["train", "valid"]
    assert content["fingerprint"] == sided.protocol.fingerprint
    assert content["summary"]["sides"] == {"head": 3, "tail": 2}
    assert content["seed"] == 7
    assert "\n" not in measured.to_json(["mrr"], indent=None)


def test_nan_is_null_in_json() -> None:
    content = json.loads(report(Ranks([], [], 5)).to_json(), parse_constant=pytest.fail)
    assert content["metrics"]["mrr"] is None
    assert content["summary"]["spread"]["mrr"] is None


def test_csv(sided: Ranks) -> None:
    measured = report(sided)
    rows = list(csv.DictReader(io.StringIO(measured.to_csv())))
    assert len(rows) == 3 * 14
    for row in rows:
        assert int(row["tasks"]) == measured.tasks(row["side"])
        for kind in ("optimistic", "realistic", "pessimistic"):
            assert same(float(row[kind]), measured[f"{row['side']}.{kind}.{row['metric']}"])
    text = measured.to_csv(["index.mr"], sides=["tail"], kinds=["random"])
    assert text == f"side,tasks,metric,random\ntail,2,index.mr,{measured['tail.random.amri']!r}\n"


def test_markdown(sided: Ranks) -> None:
    assert report(sided).to_markdown(["mr", "hits@2"], sides=["both", "tail"]) == (
        "5 tasks (head 3 + tail 2), 9 to 12 candidates; split test, filtered by train + valid, all "
        "candidates, nan raise (fingerprint 9ecc1e72cdf27f17).\n"
        "1 of 5 tasks tie (20 %): 4 candidates at most, 4 on average. Optimistic minus "
        "pessimistic: mr -0.6, mrr 0.06, hits@1 0, hits@10 0.\n"
        "\n"
        "| both (5 tasks) | optimistic | realistic | pessimistic | expected |\n"
        "| :--- | ---: | ---: | ---: | ---: |\n"
        "| MR \u2193 | 2.8 | 3.1 | 3.4 | 3.1 |\n"
        "| Hits@2 \u2191 | 0.6 | 0.4 | 0.4 | 0.45 |\n"
        "\n"
        "| tail (2 tasks) | optimistic | realistic | pessimistic | expected |\n"
        "| :--- | ---: | ---: | ---: | ---: |\n"
        "| MR \u2193 | 1.5 | 2.25 | 3 | 2.25 |\n"
        "| Hits@2 \u2191 | 1 | 0.5 | 0.5 | 0.625 |"
    )


TEXT = """\
5 tasks (head 3 + tail 2), 9 candidates; unfiltered, all candidates, nan raise (fingerprint \
a641f68e38144777).
No task ties: all kinds of rank agree.

metric    both (5 tasks)  head (3 tasks)  tail (2 tasks)
MR \u2193                 2.8        3.66667              1.5
Hits@2 \u2191             0.6        0.333333             1"""
MARKDOWN = """\
| metric | both (5 tasks) | head (3 tasks) | tail (2 tasks) |
| :--- | ---: | ---: | ---: |
| MR \u2193 | 2.8 | 3.66667 | 1.5 |
| Hits@2 \u2191 | 0.6 | 0.333333 | 1 |"""
LATEX = r"""\begin{tabular}{lrrr}
\toprule
metric & both (5 tasks) & head (3 tasks) & tail (2 tasks) \\
\midrule
MR $\downarrow$ & 2.8 & 3.66667 & 1.5 \\
Hits@2 $\uparrow$ & 0.6 & 0.333333 & 1 \\
\bottomrule
\end{tabular}"""


def test_every_form_has_one_table_where_no_task_ties() -> None:
    side = ["head", "head", "head", "tail", "tail"]
    ranks = Ranks([0, 3, 5, 1, 0], [1] * 5, 9, side=side)
    measured = report(ranks)
    assert measured.to_text(["mr", "hits@2"]) == TEXT
    assert measured.to_markdown(["mr", "hits@2"], notes=False) == MARKDOWN
    assert measured.to_latex(["mr", "hits@2"], notes=False, digits=6) == LATEX
    assert str(measured) == measured.to_text()
    assert measured.to_text(digits=2).count("3.7") == 1
    assert measured._repr_html_().count("<table>") == 1
    tails = report(ranks[3:])
    assert str(tails).count("(2 tasks)") == 1
    for write in (tails.to_markdown, tails.to_latex):
        assert write().count("(2 tasks)") == 1
    assert "\nmetric  tail (2 tasks)\nMR \u2193  " in tails.to_text(["mr"])
    assert "\nmetric  both (2 tasks)\nMR \u2193  " in tails.to_text("mr", sides=["both"])
    assert "\npessimistic  tail (2 tasks)\nMR \u2193  " in tails.to_text(
        "mr", kinds=["pessimistic"]
    )
    assert str(Report.from_json(measured.to_json())) == str(measured)


def test_programs_read_keys(grouped: Report) -> None:
    pytest.importorskip("pandas")
    models = {"a": grouped, "b": grouped}
    several = [report([grouped, grouped]), table(models), compare(models, metric=["mr", "mrr"])]
    for found in (grouped, *several):
        written = [found.to_csv(), found.to_json(), str(found.to_dict()), str(found.to_pandas())]
        for text in written:
            assert "mrr" in text
            assert not {"\u2191", "\u2193"} & set(text)
            assert "MRR" not in text
        for text in (str(found), found.to_markdown(), found._repr_html_()):
            assert "MRR \u2191" in text


@given(any_ranks(), st.booleans(), st.none() | st.just(["pessimistic"]), st.integers(1, 17))
def test_all_forms_have_the_same_cells(
    ranks: Ranks, grouped: bool, kinds: list[str] | None, digits: int
) -> None:
    by = np.arange(len(ranks)) % 2 if grouped else None
    measured = report(ranks, by=by)
    how: dict[str, Any] = {"kinds": kinds, "digits": digits, "notes": False}
    keys = ["mr", "amri", "hits@2"]
    lines = measured.to_markdown(keys, **how).splitlines()
    tables = sum(line.startswith("| :") for line in lines)
    cells = [line[2:-2].split(" | ") for line in lines if line and not line.startswith("| :")]
    expected = "".join(cell.strip("*") for row in cells for cell in row)
    text = measured.to_text(keys, **how)
    assert "".join(text.split()) == "".join(expected.split())
    assert measured.to_latex(keys, **how).count("tabular") == 2 * tables


def test_text_shows_kinds_where_tasks_tie(sided: Ranks) -> None:
    text = report(sided, by="relation").to_text(["mr"])
    headings = [line.split("  ")[0] for line in text.splitlines() if "optimistic " in line]
    assert headings[-3:] == ["both (5 tasks)", "head (3 tasks)", "tail (2 tasks)"]
    assert "by relation (3 groups)" in text


def test_markdown_says_what_matters(sided: Ranks) -> None:
    plain = Ranks([3], [1], 5)
    assert "No task ties: all kinds of rank agree." in report(plain).to_markdown()
    assert "1 task, 5 candidates;" in report(plain).to_markdown()
    assert "weighted" in report(plain.with_weights([2])).to_markdown()
    assert "expected" not in report(plain).to_markdown()
    assert "| MR \u2193 | nan |" in report(plain[:0]).to_markdown(["mr"], kinds=["realistic"])
    assert "0 tasks;" in report(plain[:0]).to_markdown()
    odd = report(Ranks([3], [1], 5, side="a|b", protocol=Protocol(filter="x|y")))
    assert "| metric | a\\|b (1 task) |" in odd.to_markdown()
    assert "| MR \u2193 | 1.33 |" in report(Ranks([0, 0, 1], [1, 1, 1], 5)).to_markdown(
        ["mr"], kinds=["realistic"], digits=3
    )


@pytest.mark.parametrize("render", ["to_csv", "to_text", "to_markdown", "to_latex", "to_pandas"])
def test_wrong_axes(sided: Ranks, render: str) -> None:
    draw = getattr(report(sided), render)
    with pytest.raises(ValueError, match=r"metrics: expected \[adjustment.\]metric\[@k\]"):
        draw(["tail.mrr"])
    with pytest.raises(ValueError, match=r"metrics: expected \[adjustment.\]metric\[@k\]"):
        draw(["optimistic.mrr"])
    with pytest.raises(KeyError, match="no metric 'mmr'"):
        draw(["mmr"])
    with pytest.raises(KeyError, match="no side 'left'"):
        draw(sides=["left"])
    with pytest.raises(KeyError, match="no such kind of rank; did you mean optimistic"):
        draw(kinds=["optimist"])
    with pytest.raises(TypeError, match="sides: expected several keys"):
        draw(sides=3)
    with pytest.raises(ValueError, match=r"metrics: expected \[adjustment.\]metric\[@k\]"):
        draw(["macro.mrr"])


@given(any_ranks())
def test_any_ranks_can_be_written(ranks: Ranks) -> None:
    measured = report(ranks)
    assert isinstance(repr(measured), str)
    assert len(measured.to_markdown().split("\n")) > 10
    json.loads(measured.to_json(), parse_constant=pytest.fail)
    tables = measured._repr_html_().count("<table>")
    assert measured.to_latex().count("tabular") == 2 * tables
    assert 1 <= tables <= len(measured.sides)
    rows = list(csv.reader(io.StringIO(measured.to_csv())))
    assert {len(row) for row in rows} == {6}
    assert len(rows) == 1 + 14 * len(measured.sides)


def test_nested_dictionary(grouped: Report) -> None:
    nested = grouped.to_dict(flat=False)
    assert nested["both"]["realistic"]["mrr"] == grouped["mrr"]
    assert nested["tail"]["optimistic"]["amri"] == grouped["tail.optimistic.amri"]
    assert nested["macro"]["head"]["realistic"]["hits@5"] == grouped["macro.head.hits@5"]
    leaves = [
        (side, kind, metric)
        for side, kinds in nested.items()
        if side != "macro"
        for kind, values in kinds.items()
        for metric in values
    ]
    assert len(leaves) == 3 * 3 * len(METRICS)
    keys = ["tail.expected.index.power_mean:0.5", "hits@77"]
    assert grouped.to_dict(keys, flat=False) == {
        "tail": {"expected": {"index.power_mean:0.5": grouped[keys[0]]}},
        "both": {"realistic": {"hits@77": grouped[keys[1]]}},
    }


# -- groups ----------------------------------------------------------------------------------------


def test_default_keys_have_macro_averages(grouped: Report, sided: Ranks) -> None:
    keys = list(grouped)
    assert keys[: 3 * 3 * 14] == list(report(sided))
    assert keys[3 * 3 * 14 :] == [
        f"macro.{side}{metric}"
        for side in ("", "head.", "tail.")
        for metric in METRICS
        if metric != "zmrr"
    ]
    assert len(grouped) == len(keys) == len(grouped.to_dict())


def test_markdown_of_groups(grouped: Report) -> None:
    text = grouped.to_markdown(["mr", "amri", "zmr"], sides=["both"], kinds=["optimistic"])
    values = {label: part["optimistic.mr"] for label, part in grouped.groups.items()}
    assert values == {"likes": 7 / 3, "knows": 6, "a|b & <c>": 1}
    assert "By relation: 3 groups; in macro averages each group counts once." in text
    table = text.split("\n\n")[2].splitlines()
    assert table[0] == "| by relation (3 groups) | tasks | MR \u2193 | AMRI \u2191 | zMR \u2193 |"
    assert [row.split(" | ")[0] for row in table[2:]] == [
        *("| *micro*", "| *macro*", "| likes", "| knows", r"| a\|b & &lt;c>")
    ]
    assert table[3].startswith("| *macro* | 5 | 3.11111 | ")
    assert table[3].endswith(" |  |")  # z has none
    assert table[4].startswith("| likes | 3 | 2.33333 | ")
    assert grouped.to_markdown(sides=[]).count("|") == 0


def test_markdown_says_how_many_groups_are_left_out() -> None:
    ranks = Ranks([0, 3, 0], [1, 1, 1], [1, 10, 1])
    text = report(ranks, by=[5, 6, 7]).to_markdown(["mr", "amri"])
    assert "| *macro* | 3 | 2 | 0.333333 (2 left out) |" in text
    sides = report(ranks.with_labels(side=["head", "tail", "tail"]), by=[5, 6, 7])
    assert sides.macro_left_out("head.mr") == 2


def test_markdown_shows_the_largest_groups() -> None:
    labels = np.repeat(np.arange(100), np.arange(1, 101))
    n = len(labels)
    text = report(Ranks(np.zeros(n, int), np.ones(n, int), 10), by=labels).to_markdown(["mr"])
    rows = [row.split(" | ")[0] for row in text.split("\n\n")[2].splitlines()[2:]]
    assert rows == ["| *micro*", "| *macro*", *(f"| {i}" for i in range(99, 79, -1)), "| 80 more"]
    assert "| by label (100 groups) | tasks | MR \u2193 |" in text
    assert f"| 80 more | {sum(range(1, 81)):,} |  |" in text


def test_csv_of_groups(grouped: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(grouped.to_csv(["mr", "zmr"]))))
    assert list(rows[0])[:5] == ["average", "group", "side", "tasks", "metric"]
    found = {(r["average"], r["group"], r["side"], r["metric"]): r for r in rows}
    assert len(found) == len(rows) == 2 * 3 + 3 + 2 * (3 + 2 + 2)
    for kind in ("optimistic", "realistic", "pessimistic"):
        assert float(found["micro", "", "tail", "zmr"][kind]) == grouped[f"tail.{kind}.zmr"]
        assert float(found["macro", "", "head", "mr"][kind]) == grouped[f"macro.head.{kind}.mr"]
        group = found["group", "a|b & <c>", "tail", "mr"]
        assert float(group[kind]) == grouped.groups["a|b & <c>"][f"tail.{kind}.mr"]
        assert group["tasks"] == "1"
    assert ("group", "knows", "tail", "mr") not in found  # no such tasks


# -- LaTeX and HTML --------------------------------------------------------------------------------


def test_latex(sided: Ranks) -> None:
    text = report(sided).to_latex(["mr", "hits@2"], sides=["tail"], kinds=["realistic"], notes=True)
    assert text == (
        "% 5 tasks (head 3 + tail 2), 9 to 12 candidates; split test, filtered by train + valid, "
        "all candidates, nan raise (fingerprint 9ecc1e72cdf27f17).\n"
        "% 1 of 5 tasks tie (20 \u0025): 4 candidates at most, 4 on average. Optimistic minus "
        "pessimistic: mr -0.6, mrr 0.06, hits@1 0, hits@10 0.\n"
        "\\begin{tabular}{lr}\n\\toprule\nmetric & tail (2 tasks) \\\\\n\\midrule\n"
        "MR $\\downarrow$ & 2.25 \\\\\nHits@2 $\\uparrow$ & 0.5 \\\\\n\\bottomrule\n"
        "\\end{tabular}"
    )


def test_latex_is_escaped(grouped: Report) -> None:
    text = grouped.to_latex(["mr"])
    assert "a\\textbar{}b \\& \\textless{}c\\textgreater{} & 1 & " in text
    assert "{}[a] & 1" in Table(["x", "y"], [["[a]", "1"]]).to_latex()


class Reader(html.parser.HTMLParser):
    """Collects the cells of tables, and fails for elements that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[tuple[str, dict[str, str | None], str]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.cells.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.cells and self.open:
            tag, attrs, text = self.cells[-1]
            self.cells[-1] = tag, attrs, text + data


def test_html(grouped: Report) -> None:
    reader = Reader()
    reader.feed(grouped._repr_html_())
    assert reader.open == []
    texts = {(tag, attrs.get("scope"), text.strip()) for tag, attrs, text in reader.cells}
    assert ("th", "col", "realistic") in texts
    assert ("th", "row", "Hits@10 \u2191") in texts
    assert ("th", "row", "a|b & <c>") in texts
    assert not {"script", "style", "c"} & {tag for tag, _, _ in reader.cells}
    assert all(attrs.get("scope") for tag, attrs, _ in reader.cells if tag == "th")


def test_averages_differ_from_groups_of_the_same_name() -> None:
    measured = report(Ranks([0, 3], [1, 1], 10), by=["micro", "macro"])
    text = measured.to_markdown(["mr"], kinds=["realistic"])
    assert [row.split(" | ")[0] for row in text.splitlines()[-4:]] == [
        *("| *micro*", "| *macro*", "| micro", "| macro")
    ]
    latex_text = measured.to_latex(["mr"])
    assert latex_text.count("\\emph{micro} & ") == latex_text.count("\nmicro & ") == 1
    html_text = measured._repr_html_()
    assert '<th scope="row"><em>macro</em></th>' in html_text
    assert '<th scope="row">macro</th>' in html_text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *(
            ("<img src=x>", "&lt;img src=x>"),
            ("&lt;b&#62;", "&amp;lt;b&amp;#62;"),
            ("a & b", "a & b"),
        ),
        *((0.0, "0"), (-0.25, "-0.25"), (123456.0, "123456"), (99999.6, "100000")),
        *((1e20, "1e+20"), (math.inf, "inf"), (-math.inf, "-inf"), (1e-9, "1e-09")),
        *(("*a*", "\\*a\\*"), ("`a`", "\\`a\\`"), ("power_mean", "power_mean")),
        *(("_a_", "\\_a\\_"), ("__a__b", "\\_\\_a\\_\\_b"), ("[a](~b~)", "\\[a](\\~b\\~)")),
        *(("a\\|b", "a\\\\\\|b"), ("a\nb", "a\\\\nb")),
    ],
)
def test_cells_of_markdown(text: str | float, cell: str) -> None:
    assert Table(["x"], [[text]], names=0).to_markdown().endswith(f"\n| {cell} |")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *(("-0.08 to -0.05", "$-$0.08 to $-$0.05"), ("TransE-2", "TransE-2"), ("1e-05", "1e-05")),
        *(("-1e-05", "$-$1e-05"), ("(-3)", "($-$3)"), ("-inf", "$-$inf"), ("-x", "-x")),
        *(("2020-01-02", "2020-01-02"), ("--5", "--5"), ("a -- b", "a -- b")),
        *(("-0.5", "$-$0.5"), ("0.5 \u00b1 0.1", "0.5 $\\pm$ 0.1"), ("100%_#$", "100\\%\\_\\#\\$")),
        ("{x} ~^\\", "\\{x\\} \\textasciitilde{}\\textasciicircum{}\\textbackslash{}"),
        ("two\nlines\x00", "two\\textbackslash{}nlines\\textbackslash{}x00"),
    ],
)
def test_cells_of_latex(text: str, cell: str) -> None:
    assert f"\\midrule\n{cell} \\\\\n" in Table(["x"], [[text]], names=0).to_latex()


def test_bold_cells() -> None:
    found = Table(["model", "mr"], [["a", "1"], ["b", "2"]], best=[(0, "mr")])
    assert "| a | **1** |\n| b | 2 |" in found.to_markdown()
    assert "a & \\textbf{1} \\\\\nb & 2 " in found.to_latex()
    assert '<th scope="row">a</th><td><strong>1</strong></td>' in found.to_html()


# -- pandas ----------------------------------------------------------------------------------------


def test_pandas(sided: Ranks, grouped: Report) -> None:
    pandas = pytest.importorskip("pandas")
    for measured in (report(sided), grouped):
        wide = measured.to_pandas(layout="wide")
        read = pandas.read_csv(
            io.StringIO(measured.to_csv()), keep_default_na=False, na_values="nan"
        )
        pandas.testing.assert_frame_equal(wide, read)
        long = measured.to_pandas(["mr", "mrr"], kinds=["realistic", "random"])
        assert list(long.columns)[-5:] == ["side", "tasks", "metric", "kind", "value"]
        tail = long[(long.side == "tail") & (long.metric == "mr") & (long.kind == "random")]
        assert tail.value.iloc[0] == measured["tail.random.mr"]
        assert long.kind.tolist()[:4] == ["realistic", "random"] * 2
    assert len(grouped.to_pandas(["mr"], sides=["both"], kinds=["realistic"])) == 1 + 1 + 3
    with pytest.raises(ValueError, match="layout: expected one of long, wide, got 'tall'"):
        grouped.to_pandas(layout="tall")


def test_without_pandas(sided: Ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    told = r"^to_pandas needs pandas: pip install 'truerank\[pandas\]'$"
    with pytest.raises(ImportError, match=told):
        report(sided).to_pandas()
