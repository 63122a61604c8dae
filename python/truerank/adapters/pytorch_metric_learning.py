"""ExactKNN: the exact neighbours of every query, for the accuracies of pytorch-metric-learning.

It needs pytorch-metric-learning: ``pip install 'truerank[pytorch-metric-learning]'``, and no faiss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..embeddings.scoring import topk_embeddings
from ..embeddings.vectors import SIMILARITIES
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import choice, integer
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..naming import import_extra

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.words import Similarity

USER = "truerank.adapters.pytorch_metric_learning"
EXTRA = "pytorch-metric-learning"
import_extra("pytorch_metric_learning", USER, EXTRA)
torch: Any = import_extra("torch", USER, EXTRA)

__all__ = ["ExactKNN"]

# These similarities are minus a distance.
DISTANCES = ("l1", "l2", "sql2", "complex_l1")


class ExactKNN:
    """The `knn_func` of an `AccuracyCalculator`: exact neighbours, in blocks, and their ties.

    It finds what `FaissKNN` does, by `truerank.topk_embeddings`: every query is compared with every
    reference in blocks that are never stored, equal vectors have equal distances, and neighbours at
    one distance are in the order of their indices.

    Parameters
    ----------
    similarity : str
        As in `truerank.rank_embeddings`; "sql2", the squared Euclidean distance, is what `FaissKNN`
        takes, and "cosine" what ``CustomKNN(CosineSimilarity())`` takes.
    layout, nan, dtype, threads, progress : optional
        As in `truerank.topk_embeddings`.

    Attributes
    ----------
    tied : ndarray of bool, shape (queries,)
        Of the last call: whether two of a query's neighbours, or its last one and the next that is
        left out, are at one distance. Another order of them may have another accuracy.

    Raises
    ------
    ImportError
        If pytorch-metric-learning is not installed.
    ValueError
        For an unknown similarity or rule.

    Examples
    --------
    >>> from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    >>> knn = ExactKNN()
    >>> calculator = AccuracyCalculator(("precision_at_1", "r_precision"), k=2, knn_func=knn)
    >>> calculator.get_accuracy(torch.tensor([[0.0], [1], [3], [4.5]]), torch.tensor([0, 0, 1, 1]))
    {'precision_at_1': 1.0, 'r_precision': 1.0}
    >>> knn(torch.tensor([[0.0], [1]]), 2, torch.tensor([[1.0], [3], [-1]]))
    (tensor([[1., 1.],
            [0., 4.]]), tensor([[0, 2],
            [0, 1]]))
    >>> knn.tied
    array([ True,  True])
    """

    tied: npt.NDArray[np.bool_]

    @with_options(SimilarityOptions)
    def __init__(
        self, similarity: Similarity = "sql2", **options: Unpack[SimilarityOptions]
    ) -> None:
        self.similarity = choice("similarity", similarity, SIMILARITIES)
        read_rules(options, SimilarityOptions)
        self.options = options
        self.tied = np.zeros(0, np.bool_)

    def __call__(
        self, query: Any, k: int, reference: Any, ref_includes_query: bool = False
    ) -> tuple[Any, Any]:
        """Return the distances and the indices of the k nearest references of each query.

        Parameters
        ----------
        query : tensor, shape (q, d)
        k : int
            At most the number of references, or of others if they include the query.
        reference : tensor, shape (n, d)
        ref_includes_query : bool
            Whether the first q references are the queries, which are not their own neighbours.

        Returns
        -------
        distances : tensor of float32 or float64, shape (q, k)
            Ascending; similarities, descending, if `similarity` is no distance.
        indices : tensor of int64, shape (q, k)
            Both on the device of `query`.

        Raises
        ------
        TypeError, ValueError
            As `truerank.topk_embeddings` does, and for fewer references than neighbours.
        """
        if not isinstance(query, torch.Tensor):
            raise InputTypeError("query", expected="a tensor", got=type(query).__name__)
        others = len(reference) - bool(ref_includes_query)
        length = integer("k", k, least=1, most=others, expected=f"an integer from 1 to {others}")
        itself = None
        if ref_includes_query:
            if len(query) > len(reference):
                expected = f"at least the {len(query)} queries"
                raise InputValueError("reference", expected=expected, got=len(reference))
            itself = np.arange(len(query) + 1), np.arange(len(query))
        width = min(length + 1, others)
        top = topk_embeddings(
            query,
            reference,
            width,
            similarity=self.similarity,
            filter=itself,
            **self.options,
        )
        self.tied = (top.scores[:, 1:] == top.scores[:, :-1]).any(axis=1)
        scores = torch.from_numpy(top.scores[:, :length]).to(query.device)
        indices = torch.from_numpy(top.ids[:, :length]).to(query.device)
        if self.similarity in DISTANCES:
            return -scores, indices
        return scores, indices
