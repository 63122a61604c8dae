"""Names of metrics elsewhere: of PyKEEN, of papers, and of reports on several right answers."""

# The names of PyKEEN's classes, in lower case and with underscores; "_at_k" stands for "@k".
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
# Names of papers and of other toolkits; those of one letter have a cutoff, and may be sides.
OTHER_NAMES = {
    "mean_rank": ("none", "mr"),
    "mean_reciprocal_rank": ("none", "mrr"),
    "rr": ("none", "mrr"),
    "h": ("none", "hits"),
    "hr": ("none", "hits"),
}
# Metrics of several right answers, which reports of that kind have alone: those of the usual names.
ANSWER_NAMES: tuple[str, ...]
ANSWER_NAMES = ("map", "r_precision", "dcg", "recall", "precision", "success", "f1", "auc")
# Their names in ir_measures and in papers, of which some are those of metrics of ranks elsewhere.
SHORT_ANSWER_NAMES = {"ap": "map", "p": "precision", "r": "recall"}
