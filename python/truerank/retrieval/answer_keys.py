"""The keys of a report on several right answers: `[macro.][kind.][adjustment.]metric[@k]`."""

from __future__ import annotations

import re

from ..metrics.keys import NO_ADJUSTMENT, Field, Grammar, Key, fail
from ..metrics.kinds import EXPECTED_KIND
from .answer_metrics import ANSWER_METRICS

ORDER_KINDS = (EXPECTED_KIND, "optimistic", "pessimistic")  # the default first
LEVELS = ("chance", "optimum")  # what a value is compared with; they are no kinds, but have none

ANSWER_KEYS = Grammar(
    ANSWER_METRICS,
    fields=(
        Field("kind", default=EXPECTED_KIND, words=ORDER_KINDS),
        Field("adjustment", default=NO_ADJUSTMENT, words=("index", "ratio", *LEVELS, "none")),
    ),
    metric_form="metric[@k]",
    # the names of trec_eval, pytrec_eval and ranx
    synonyms={
        "recip_rank": (NO_ADJUSTMENT, "mrr"),
        "map_cut": (NO_ADJUSTMENT, "map"),
        "ndcg_cut": (NO_ADJUSTMENT, "ndcg"),
        "rprec": (NO_ADJUSTMENT, "r_precision"),
        "p": (NO_ADJUSTMENT, "precision"),
        "r": (NO_ADJUSTMENT, "recall"),
        "hit_rate": (NO_ADJUSTMENT, "success"),
    },
    refused={"hits": "did you mean success@k? In ranx hits are a number, not a share"},
    numbered=re.compile(r"(.+?)_(?:at_)?(\d+)"),
)


class AnswerKey(Key):
    """A parsed key of a report on several right answers; `parameter` is the cutoff k, or 0."""

    @property
    def grammar(self) -> Grammar:
        """The grammar that the key is of."""
        return ANSWER_KEYS


def read_key(key: str) -> AnswerKey:
    """Read a key.

    Raises
    ------
    KeyError
        For an unknown key; the message says why, and which names are similar.

    Examples
    --------
    >>> found = read_key("macro.expected.NDCG_cut_10")
    >>> str(found), found.title
    ('macro.ndcg@10', 'macro.nDCG@10')
    """
    parsed = ANSWER_KEYS.parse(key, AnswerKey)
    if parsed.kind != EXPECTED_KIND and parsed.adjustment in LEVELS:
        fail(key, f"{parsed.adjustment} has no kind, as it orders all candidates anew")
    return parsed
