"""The methods of tasks that have one side, "answers": those of retrieval."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from ..embeddings.scoring import TopK
from ..inputs.rules import BatchOptions, ListOptions, with_options
from .task import AnyReport, ScoreOptions, Task, VectorOptions

if TYPE_CHECKING:
    from .side_tasks import SideTasks


class OneSidedTask(Task[AnyReport]):
    """A task with one side, "answers", whose scores, vectors and callables need no name of it.

    Its tasks are one for each right answer, in the order of queries and entities.
    """

    answers: SideTasks

    @with_options(BatchOptions)
    def evaluate(self, scorer: Callable[[Any], Any], **options: Unpack[BatchOptions]) -> AnyReport:
        """Evaluate a model by a callable that scores batches of queries.

        Parameters
        ----------
        scorer : callable
            f(queries) -> scores: queries (b, ...) int64, rows of ``answers.queries``, each once and
            in order; scores (b, entities), numpy or a torch CPU tensor.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.retrieval import Task
        >>> scores = np.array([[3.0, 2.0, 9.0], [1.0, 0.5, 0.7]])
        >>> Task({0: [0, 1], 1: [2]}, entities=3).evaluate(lambda q: scores[q[:, 0]])["recall@2"]
        0.75
        """
        return self._evaluate({"answers": scorer}, "scorer", **options)

    @with_options(VectorOptions, similarity="dot")
    def evaluate_embeddings(
        self, queries: Any, entities: Any, **options: Unpack[VectorOptions]
    ) -> AnyReport:
        """Evaluate embeddings of queries against those of entities; scores are never stored.

        Parameters
        ----------
        queries : array_like, shape (queries, d), or path
            A vector for each query, in the order of their ids or positions.
        entities : array_like, shape (entities, d), or path
            A vector for each entity. The index of a frame must be the labels in their order.
        similarity, layout, bias, block, nan, dtype, threads, audit, progress : optional
            As in `truerank.rank_embeddings`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank_embeddings` does, and for another number of vectors.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.retrieval import Task
        >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
        >>> Task({0: [0, 1]}, entities=3).evaluate_embeddings(vectors[2:], vectors)["map"]
        0.5833333333333334
        """
        candidates = {"entities": entities}
        return self._evaluate_embeddings({"answers": queries}, candidates, "queries", **options)

    @with_options(ScoreOptions)
    def evaluate_scores(self, scores: Any, **options: Unpack[ScoreOptions]) -> AnyReport:
        """Evaluate a matrix of scores, in memory or in files.

        Parameters
        ----------
        scores : array_like, shape (queries, entities), or files
            A row for each query, in the order of their ids or positions, as `truerank.rank` takes
            them. The index and the columns of a frame must be the labels in their order.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank` does, and for scores of another shape.

        Examples
        --------
        >>> from truerank.retrieval import Task
        >>> task = Task({0: {0: 3, 1: 1}}, entities=3)
        >>> task.evaluate_scores([[0.2, 0.9, 0.5]]).to_dict(["mrr", "recall@1"])
        {'mrr': 1.0, 'recall@1': 0.5}
        """
        return self._evaluate_scores({"answers": scores}, "scores", **options)

    @with_options(ListOptions)
    def evaluate_lists(
        self, ids: Any, scores: Any = None, **options: Unpack[ListOptions]
    ) -> AnyReport:
        """Evaluate lists of the top candidates, which may miss right answers.

        A right answer that its list misses is tied with all candidates of the task that the list
        does not have and that are not left out: the optimistic and the pessimistic rank are its
        bounds.

        Parameters
        ----------
        ids : TopK, array_like, or list of lists
            A list for each query, in their order: what `truerank.topk_embeddings` returns, whose
            ids are positions, or labels or ids from the best on, in an array of two dimensions
            that is padded with -1, lists, or arrays.
        scores : array_like, list of lists, or None
            Their scores, of the same form; None: a `TopK` has them, or the order says all.
        order, nan, dtype, threads, progress : optional
            As in `truerank.rank_lists`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_lists` does, for another number of lists, and for what is listed and
            no candidate of its query, unless it is filtered or a right answer.

        Examples
        --------
        >>> from truerank.retrieval import Task
        >>> task = Task({0: [1]}, entities=3)
        >>> task.evaluate_lists([[2, 1]])["mr"]
        2.0
        """
        lists = ids
        if not isinstance(ids, TopK):
            columns = self.answers.vocabulary
            lists = columns.lists_of("ids", ids, scores, options.get("dtype"))
        return self._evaluate_lists({"answers": lists}, "ids", **options)
