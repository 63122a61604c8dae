"""Test the marks of significant differences in tables of several models."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refusal
from truerank import Protocol, Ranks, Report, compare, report, table
from truerank.inference import correct_pvalues

DAGGER = "\u2020"
KEYS = ["mr", "mrr", "hits@3", "std"]


def ranks_of(seed: int, most: int, n: int = 40) -> Ranks:
    above = np.random.default_rng(seed).integers(0, most, n)
    ids = {"queries": np.arange(n), "targets": np.arange(n)}
    return Ranks(above, np.ones(n, int), 60, protocol=Protocol(split="valid"), **ids)


def models_of(*most: int) -> dict[str, Report]:
    return {f"model {i}": report(ranks_of(i, m)) for i, m in enumerate(most)}


@settings(max_examples=8)
@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from([0.5, 0.95]),
)
def test_marks_are_those_of_all_comparisons(most: list[int], given_one: bool, level: float) -> None:
    models = models_of(*most)
    against = "model 1" if given_one else "best"
    made = table(models, KEYS, against=against, level=level)
    keys = KEYS if given_one else KEYS[:3]
    pairs = {
        (key, *names): compare(*(models[name] for name in names), metric=key).p_value
        for key in keys
        for names in itertools.combinations(models, 2)
        if not given_one or against in names
    }
    corrected = dict(zip(pairs, correct_pvalues(pairs.values())["holm"], strict=True))
    assert f"over {len(pairs)} comparison" in made.notes[0]
    grid = made.grid(notes=False)
    for i, name in enumerate(models):
        for j, key in enumerate(KEYS, 1):
            choose = min if key == "mr" else max
            best = choose(models, key=lambda other: models[other][key])
            names = sorted([name, against if given_one else best])
            differs = corrected.get((key, *names), 1.0) <= round(1 - level, 12)
            assert ((i, j) in grid.significant) == differs, (name, key)


def test_every_form_has_marks_and_says_how_it_was_tested() -> None:
    made = table(models_of(4, 50, 5), ["mrr", "hits@3"], against="best")
    note = (
        f"{DAGGER} differs from the best of its column: sign flips, p <= 0.05 by Holm's rule "
        "over 6 comparisons."
    )
    assert note in made.notes
    text = made.to_text()
    assert note in text
    assert "* the best of its column" in text
    assert text.count(DAGGER) == 3
    mean = f"{made['mrr'][1]:.3f}"
    assert f"| model 1 | {mean}{DAGGER} | " in made.to_markdown()
    assert f"model 1 & {mean}\\rlap{{$^{{\\dagger}}$}} & " in made.to_latex()
    assert f'{mean}<sup style="position: absolute">{DAGGER}</sup></td>' in made._repr_html_()
    assert "differs" not in made.to_text(notes=False)
    assert DAGGER not in made.to_csv()


def test_nothing_differs_from_itself() -> None:
    same = {name: report(ranks_of(0, 9)) for name in "ab"}
    made = table(same, ["mrr", "count"], against="a")
    assert made.notes[0].startswith("Nothing differs from a: sign flips, p <= 0.05 by Holm's")
    assert DAGGER not in str(made).replace(made.notes[0], "")
    assert "over 1 comparison." in made.notes[0]


def test_columns_that_cannot_be_tested_are_said() -> None:
    made = table(models_of(4, 50), ["std", "count"], against="best")
    assert made.notes == ("No column has values that can be tested.",)
    assert DAGGER not in made.to_text()
    macro = {n: report(found.ranks, by=np.arange(40) % 2) for n, found in models_of(4, 50).items()}
    drawn = table(macro, ["macro.mrr"], against="best", by=np.arange(40) % 8)
    assert "Few units: 8 " in " ".join(drawn.notes)
    assert "Few units" not in " ".join(table(macro, ["macro.mrr"], against="best").notes)


def test_several_runs_have_their_own_test() -> None:
    runs = {
        name: [report(ranks_of(seed, most)) for seed in range(start, start + 5)]
        for start, (name, most) in enumerate({"a": 4, "b": 50}.items())
    }
    made = table(runs, ["mrr"], against="best")
    assert any("two-level t, p" in note for note in made.notes)
    assert (1, 1) in made.grid(notes=False).significant


def test_the_units_are_those_that_are_asked_for() -> None:
    group = np.arange(40) % 8
    models = {
        str(most): report(ranks_of(most, most).with_labels(relation=group)) for most in (4, 50)
    }
    made = table(models, ["mrr"], against="4", by="relation")
    assert "Few units: 8 relations" in " ".join(made.notes)


def test_wrong_models() -> None:
    models, one = models_of(4, 50), models_of(4)
    words = "against: expected one of model 0, model 1, best, got"
    refusal(ValueError, words, table, models, against="model 2")
    refusal(ValueError, "against: .* two models, got 1", table, one, against="best")
    refusal(ValueError, "level: expected", table, models, against="best", level=95)
    stored = {name: Report.from_json(found.to_json()) for name, found in models.items()}
    refusal(ValueError, "read from JSON", table, stored, against="best")
