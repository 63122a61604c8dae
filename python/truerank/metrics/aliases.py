"""Other names of metrics: those of the literature, PyKEEN's, and what is often written by mistake.

A name is read in any case, and with "-" for "_". Keys stay canonical: `parse("MRR")` is
`parse("mrr")`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..inputs.words import near_words

# The literature's names of adjusted metrics, as tables print them: (adjustment, metric).
ADJUSTED_TITLES = {
    ("ratio", "mr"): "AMR",
    ("index", "mr"): "AMRI",
    ("index", "mrr"): "AMRR",
    ("index", "hits"): "AH",
    ("z", "mr"): "zMR",
    ("z", "mrr"): "zMRR",
    ("z", "hits"): "zH",
}
ALIASES = {title.lower(): meaning for meaning, title in ADJUSTED_TITLES.items()}

# The names of PyKEEN's classes, in lower case and with underscores.
PYKEEN_NAMES = {
    "arithmetic_mean_rank": ("none", "mr"),
    "geometric_mean_rank": ("none", "gmr"),
    "harmonic_mean_rank": ("none", "hmr"),
    "median_rank": ("none", "median"),
    "inverse_arithmetic_mean_rank": ("none", "imr"),
    "inverse_geometric_mean_rank": ("none", "igmr"),
    "inverse_harmonic_mean_rank": ("none", "mrr"),
    "inverse_median_rank": ("none", "imedian"),
    "hits_at_k": ("none", "hits"),
    "standard_deviation": ("none", "std"),
    "variance": ("none", "variance"),
    "median_absolute_deviation": ("none", "mad"),
    "count": ("none", "count"),
    "adjusted_arithmetic_mean_rank": ("ratio", "mr"),
    "adjusted_arithmetic_mean_rank_index": ("index", "mr"),
    "adjusted_geometric_mean_rank_index": ("index", "gmr"),
    "adjusted_inverse_harmonic_mean_rank": ("index", "mrr"),
    "adjusted_hits_at_k": ("index", "hits"),
    "z_arithmetic_mean_rank": ("z", "mr"),
    "z_geometric_mean_rank": ("z", "gmr"),
    "z_inverse_harmonic_mean_rank": ("z", "mrr"),
    "z_hits_at_k": ("z", "hits"),
}
# PyKEEN negates these, so that more is better: one name would have two signs, and is refused.
NEGATED = {
    "z_arithmetic_mean_rank": "z.mr",
    "z_geometric_mean_rank": "z.gmr",
    "zamr": "z.mr",
    "zgmr": "z.gmr",
}

_CUTOFF = "_at_"  # what stands for "@" where a name has none
_WRITTEN_OUT = {
    "mean_rank": ("none", "mr"),
    "mean_reciprocal_rank": ("none", "mrr"),
    "h": ("none", "hits"),
    "iamr": ("none", "imr"),
    "rank_std": ("none", "std"),
    "var": ("none", "variance"),
    "rank_var": ("none", "variance"),
    "rank_mad": ("none", "mad"),
    "rank_count": ("none", "count"),
    "adjusted_mean_rank": ("ratio", "mr"),
    "aamr": ("ratio", "mr"),
    "adjusted_mean_rank_index": ("index", "mr"),
    "aamri": ("index", "mr"),
    "adjusted_mrr": ("index", "mrr"),
    "adjusted_mean_reciprocal_rank": ("index", "mrr"),
    "aihmr": ("index", "mrr"),
    "zihmr": ("z", "mrr"),
}
SYNONYMS = {
    **{
        name.removesuffix(f"{_CUTOFF}k"): meaning
        for name, meaning in PYKEEN_NAMES.items()
        if name not in NEGATED
    },
    **_WRITTEN_OUT,
    **ALIASES,
}

# Metrics of lists with several right answers, which reports of that kind have alone.
ANSWER_NAMES = ("map", "r_precision", "ndcg", "dcg", "precision", "success")

# What is often written, and what is then meant: these are no names, since they might mean more.
_MISTAKES = {
    "mmr": "mrr",
    "rr": "mrr",
    "reciprocal_rank": "mrr",
    "mean_inverse_rank": "mrr",
    "mean": "mr",
    "rank": "mr",
    "average_rank": "mr",
    "hit": "hits",
    "hr": "hits",
    "hit_rate": "hits",
    "hit_ratio": "hits",
    "hits_ratio": "hits",
    "recall": "hits",
    "top": "hits",
    "accuracy": "hits@1",
    "acc": "hits@1",
    "stdev": "std",
    "stddev": "std",
}


def read_name(word: str) -> tuple[str, str, str]:
    """Split the last word of a key into a name in lower case, "@" or "", and the cutoff.

    Examples
    --------
    >>> read_name("Hits@10"), read_name("hits_at_10"), read_name("MRR")
    (('hits', '@', '10'), ('hits', '@', '10'), ('mrr', '', ''))
    """
    name, at, cutoff = word.partition("@")
    name = name.lower().replace("-", "_")
    if not at and _CUTOFF in name:
        name, _, cutoff = name.rpartition(_CUTOFF)
        at = "@"
    return name, at, cutoff


def suggest_metric(word: str, forms: Mapping[str, str]) -> str:
    """Name the metrics that were meant by an unknown word.

    Parameters
    ----------
    word : str
        The last word of a key.
    forms : mapping of str to str
        The known names, each with its mark, as {"hits": "hits@k"}.

    Examples
    --------
    >>> suggest_metric("hit@10", {"hits": "hits@k"}), suggest_metric("hits3", {"hits": "hits@k"})
    ('did you mean hits@10?', 'did you mean hits@3?')
    """
    name, _, cutoff = read_name(word[:100])
    if not cutoff:
        cutoff = name[len(name.rstrip("0123456789")) :]
        name = name.removesuffix(cutoff)
    name = name.strip("_")
    if name in NEGATED:
        return (
            f"PyKEEN, which calls it so, negates it: take {NEGATED[name]!r}, which is below 0 "
            "where ranks are better than chance"
        )
    if name in ANSWER_NAMES:
        return f"reports of truerank.retrieval have {name}"
    if name in _MISTAKES:
        meant = [_MISTAKES[name]]
    else:
        near = [name] if name in SYNONYMS else near_words(name, [*forms, *SYNONYMS])
        meant = [near_name if near_name in forms else short_name(near_name) for near_name in near]
    if not meant:
        return f"known are {', '.join(forms.values())}"
    written = [forms.get(name, name) for name in dict.fromkeys(meant)]
    if cutoff.isdecimal():
        written = [name.replace("@k", f"@{cutoff}") for name in written]
    return f"did you mean {' or '.join(written)}?"


def short_name(name: str) -> str:
    """Return the [adjustment.]metric that a synonym stands for, by its short name if it has one.

    Examples
    --------
    >>> short_name("adjusted_mrr"), short_name("adjusted_geometric_mean_rank_index")
    ('amrr', 'index.gmr')
    """
    meaning = SYNONYMS[name]
    short = next((alias for alias, same in ALIASES.items() if same == meaning), "")
    adjustment, metric = meaning
    return short or (metric if adjustment == "none" else f"{adjustment}.{metric}")
