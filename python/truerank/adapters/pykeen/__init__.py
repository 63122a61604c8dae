"""truerank inside PyKEEN: an evaluator for its pipeline, and its models evaluated.

`RankEvaluator` takes the place of `pykeen.evaluation.RankBasedEvaluator`: one line of a pipeline,
results under the same names. `evaluate_model` gives a `Report` of a model and triples. Models whose
score is a dot product or a distance of two vectors are scored and counted at once.
"""

from ...inputs.naming import import_extra

import_extra("pykeen", "truerank.adapters.pykeen")

from .evaluator import RankEvaluator, RankResults  # noqa: E402
from .model_tasks import evaluate_model  # noqa: E402 - which imports PyKEEN

__all__ = ["RankEvaluator", "RankResults", "evaluate_model"]
