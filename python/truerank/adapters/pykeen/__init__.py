"""truerank inside PyKEEN: an evaluator for its pipeline, and a function that evaluates models.

`RankEvaluator` replaces `pykeen.evaluation.RankBasedEvaluator` by a change of one line in a
pipeline; its results have the same names. `evaluate_model` makes a `Report` of a model and triples.
If the score of a model is a dot product or a distance of two vectors, scores are counted as they
are computed, and never stored.
"""

from ...inputs.naming import import_extra

import_extra("pykeen", "truerank.adapters.pykeen")

from .evaluator import RankEvaluator, RankResults  # noqa: E402
from .model_tasks import evaluate_model  # noqa: E402 - it imports PyKEEN

__all__ = ["RankEvaluator", "RankResults", "evaluate_model"]
