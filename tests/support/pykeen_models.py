"""Models of PyKEEN, trained briefly on data sets that it ships, and its own evaluation."""

from __future__ import annotations

import logging
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pykeen", reason="PyKEEN is not installed")

import torch
import torch._dynamo  # noqa: F401 - the first optimizer would, after conftest.py froze what there was
from pykeen.datasets import dataset_resolver
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import model_resolver
from pykeen.training import SLCWATrainingLoop

# With such small tensors, threads mostly wait for each other.
torch.set_num_threads(1)
logging.getLogger("pykeen").setLevel(logging.ERROR)
logging.getLogger("torch_max_mem").setLevel(logging.ERROR)

OPTIONS: dict[str, dict[str, Any]] = {
    "conve": {
        **{"embedding_dim": 16, "input_channels": 1, "embedding_height": 4},
        **{"embedding_width": None, "kernel_height": 2, "kernel_width": 2, "output_channels": 2},
    },
    "ermlpe": {"embedding_dim": 16},
    "tucker": {"embedding_dim": 8, "relation_dim": 6},
    "quate": {"embedding_dim": 4},
    "transr": {"embedding_dim": 6, "relation_dim": 5},
    "transd": {"embedding_dim": 6, "relation_dim": 5},
    "convkb": {"embedding_dim": 8, "num_filters": 4},
}


@lru_cache
def data_set(name: str, inverse: bool = False) -> Any:
    """Return Nations or Kinships as PyKEEN provides them."""
    return dataset_resolver.make(name, create_inverse_triples=inverse)


@lru_cache
def trained(model: str, name: str = "nations", inverse: bool = False, epochs: int = 4) -> Any:
    """Return a model after a few epochs, in evaluation mode; tests must not change it."""
    data = data_set(name, inverse)
    options = OPTIONS.get(model, {"embedding_dim": 16})
    made = model_resolver.make(model, triples_factory=data.training, random_seed=1, **options)
    if epochs:
        options = {"optimizer": "adam", "optimizer_kwargs": {"lr": 0.03}}
        loop = SLCWATrainingLoop(model=made, triples_factory=data.training, **options)
        # torch warns of pinned memory without an accelerator, and the like.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loop.train(data.training, num_epochs=epochs, batch_size=1024, use_tqdm=False)
    return made.eval()


def known(data: Any) -> list[Any]:
    """Return what PyKEEN filters by in addition to the evaluated triples."""
    return [data.training.mapped_triples, data.validation.mapped_triples]


class Unfiltered(RankBasedEvaluator):
    """PyKEEN's evaluator without a filter, which alone raises because it lacks the true scores."""

    def process_scores_(
        self, hrt_batch: Any, target: Any, scores: Any, true_scores: Any = None, **rest: Any
    ) -> None:
        column = hrt_batch[:, {"head": 0, "tail": 2}[target]]
        super().process_scores_(hrt_batch, target, scores, scores.gather(1, column[:, None]))


def evaluated(evaluator: Any, model: Any, data: Any, **options: Any) -> Any:
    """Return the results of an evaluator for the test split, filtered if it filters."""
    options = {"batch_size": 256, "use_tqdm": False} | options
    if evaluator.filtered:
        options.setdefault("additional_filter_triples", known(data))
    return evaluator.evaluate(model, data.testing.mapped_triples, **options)


def by_pykeen(model: Any, data: Any, filtered: bool = True) -> tuple[Any, Any]:
    """Return PyKEEN's results for the test split, and its evaluator, which keeps the ranks."""
    made = RankBasedEvaluator if filtered else Unfiltered
    evaluator = made(filtered=filtered, clear_on_finalize=False)
    return evaluated(evaluator, model, data), evaluator


def ranks_of(evaluator: Any, side: str, kind: str) -> Any:
    """Return the ranks that a PyKEEN evaluator kept, in the order of the triples."""
    return np.concatenate(evaluator.ranks[side, kind])
