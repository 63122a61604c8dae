"""The page of `bounds.py`: its figures as ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pages import format_page, markdown_table

__all__ = ["BOUNDS", "OFF", "PEAK", "Figure", "make_page"]

# contestants
BOUNDS = "bounds"
OFF = "off"
PEAK = "peak"
HOSTILE_GOAL = 0.95
TOP_GOALS = {OFF: None, "faiss, flat index": 2.0}


class Figure(NamedTuple):
    """A contestant's best run: a row of bounds.tsv."""

    part: str
    case: str
    threads: int
    contestant: str
    seconds: float
    work: int  # coordinates of pairs
    pairs: int = 0  # of a task and a candidate, in one run
    bounded: int = 0  # that bounds were asked about
    open: int = 0  # that integers left open
    scored: int = 0  # that float32 left open, too

    @property
    def rate(self) -> float:
        return self.work / self.seconds


Group = dict[str, Figure]  # the contestants of a case, with a number of threads


def goals(case: str) -> tuple[float | None, float | None]:
    """Return the goals of a case of real vectors: of the peak, and of the rate without bounds."""
    model, dim = case.split(", d = ")
    if model == "TransE":
        return 1.7, 3.3
    if model == "RotatE":
        return None, 2.2
    if int(dim) >= 256:
        return 2.4, 2.7
    return None, 2.0


def ratio(value: float, goal: float | None = None) -> str:
    """Return a ratio, and its goal."""
    if goal is None:
        return f"{value:.2f}"
    word = "goal" if value >= goal else "missed:"
    return f"{value:.2f} ({word} {goal:g})"


def share(number: int, of: int, digits: int = 2) -> str:
    """Return a share in per cent; nothing where there is nothing."""
    if not of:
        return ""
    return f"{100 * number / of:.{digits}f} %"


def rate(figure: Figure) -> str:
    return f"{figure.rate / 1e9:.1f}"


def groups_of(figures: Sequence[Figure], part: str) -> list[tuple[str, int, Group]]:
    """Return the cases of a part in the order of the figures, each with its contestants."""
    found: dict[tuple[str, int], Group] = {}
    for figure in figures:
        if figure.part == part:
            found.setdefault((figure.case, figure.threads), {})[figure.contestant] = figure
    return [(case, threads, group) for (case, threads), group in found.items()]


def counts_table(figures: Sequence[Figure], part: str) -> str:
    """Return rates with bounds and without, and ratios with their goals."""
    rows = []
    for case, threads, group in groups_of(figures, part):
        on, off, peak = (group[name] for name in (BOUNDS, OFF, PEAK))
        of_peak, of_off = goals(case) if part == "counts" else (None, HOSTILE_GOAL)
        row = [case, threads, rate(on), rate(off), share(on.bounded, on.pairs)]
        row += [share(on.open, on.bounded), share(on.scored, on.bounded, 4)]
        row += [ratio(on.rate / peak.rate, of_peak), ratio(on.rate / off.rate, of_off)]
        rows.append(row)
    return markdown_table(
        "vectors | threads | bounds, G/s | off, G/s | asked | open | scored | of the peak | of off",
        rows,
    )


def whole_table(figures: Sequence[Figure], part: str) -> str:
    """Return ratios to all other contestants: for the top k and for the alignment."""
    rows = []
    for case, threads, group in groups_of(figures, part):
        on = group[BOUNDS]
        for name, other in group.items():
            if name in (BOUNDS, PEAK):
                continue
            row = [case, name, threads, share(on.open, on.bounded), rate(on), rate(other)]
            row.append(ratio(on.rate / other.rate, TOP_GOALS.get(name)))
            rows.append(row)
    return markdown_table(
        "case | against | threads | open | truerank, G/s | it, G/s | times its rate", rows, 2
    )


def make_page(figures: Sequence[Figure], facts: str, models: str, peer_queries: int) -> str:
    """Return the page."""
    text = TEXT.format(
        facts=facts,
        models=models,
        peer_queries=f"{peer_queries:,}",
        counts=counts_table(figures, "counts"),
        hostile=counts_table(figures, "hostile"),
        top=whole_table(figures, "top k"),
        alignment=whole_table(figures, "alignment"),
        peers=whole_table(figures, "peers"),
    )
    sections = text.split("\n## ")
    measured = {figure.part for figure in figures}
    kept = sections[:1]
    for part, section in zip(SECTIONS, sections[1:], strict=True):
        if part in measured:
            kept.append(section)
    return format_page("\n## ".join(kept))


SECTIONS = ("counts", "hostile", "top k", "alignment", "peers")  # those of the text
TEXT = """# Counts of vectors, with bounds and without

Made by `python bench/studies/wn18rr_vectors.py`, which trains, and then `python
bench/studies/bounds.py DATA_FOLDER VECTORS_FOLDER`.

{facts}

Bounds in low precision decide most pairs; the others are scored as always, so that the counts are
the same: the study asserts it in every case. "Off" is truerank with `TRUERANK_BOUNDS=off`.
Contestants run in turn, and the best run of each counts. G/s are 10^9 coordinates of pairs (queries
x entities x d) a second. The peak is that of float32 multiply-adds in registers, measured between
the runs.

- Asked: the share of the pairs that went to the bounds; where they would not pay, pairs are scored
  at once.
- Open: of these, the share that the first bound left open, in bytes (complex_l1: in floats with
  rough roots), or in words of 16 bits, where bytes of products would leave too many.
- Scored: of these, the share that the next bounds left open, too, in words and in float32.

## Real vectors

The models are trained on WN18RR ({models}). Their queries are the distinct ones of both sides of
the test triples, against all 40,943 entities, filtered; d counts real numbers, so that RotatE and
ComplEx have d / 2 complex ones. The vectors of the alignment are those of DBP15k zh-en
(`alignment_vectors.py`): 10,500 test pairs, cosine, left to right, against all 19,572
entities.

{counts}

## Hostile vectors

2,048 queries, 20,000 entities, random targets; and the real vectors above with random targets,
which lie in the bulk of the scores. Where too many pairs stay open, bounds must cost next to
nothing: the goal is 0.95.

{hostile}

## The k most similar

{top}

## Both directions of an alignment

19,388 x 19,572 entities, from embeddings to a report.

{alignment}

## Against others

Counting included in truerank's time; the others only score, but where their name says more. They
get {peer_queries} queries, and slow ones fewer; their rate is compared.

{peers}
"""
