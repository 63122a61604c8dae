"""How tasks of link prediction are evaluated: by callables, by vectors, by score matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..tasks.task import Argument
from ..tasks.task import Task as BaseTask

if TYPE_CHECKING:
    from ..counting.tiles import Progress
    from ..inputs.arrays import IntArray
    from ..reporting.reports import Report


class Evaluated(BaseTask):
    """A task with heads, tails or relations asked for, and the three ways to evaluate it."""

    def evaluate(
        self,
        tails: Callable[[IntArray], Any] | None = None,
        heads: Callable[[IntArray], Any] | None = None,
        relations: Callable[[IntArray], Any] | None = None,
        *,
        batch_size: int | None = None,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        audit: bool = False,
    ) -> Report:
        """Evaluate a model by callables that score batches of queries.

        Parameters
        ----------
        tails, heads, relations : callable
            f(queries) -> scores, for each side of the task: queries (b, c) int64, distinct, as the
            side's `queries` has them; scores (b, columns), numpy or a torch CPU tensor.
        batch_size : int, optional
            How many queries at once. Default: such that the scores take about 64 MB.
        order, nan, dtype, threads, audit : optional
            As in `truerank.rank`.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does, and for a side without its callable.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([[0, 0, 1]], {"train": [[0, 0, 2]]})
        >>> report = task.evaluate(
        ...     tails=lambda queries: np.array([[3.0, 2.0, 9.0]]),
        ...     heads=lambda queries: np.array([[1.0, 0.5, 0.5]]),
        ... )
        >>> report["tail.mr"], report["head.mr"], report["mr"]
        (2.0, 1.0, 1.5)
        """
        return self._evaluate(
            {
                "tail": Argument("tails", tails),
                "head": Argument("heads", heads),
                "relation": Argument("relations", relations),
            },
            batch_size=batch_size,
            order=order,
            nan=nan,
            dtype=dtype,
            threads=threads,
            audit=audit,
        )

    def evaluate_embeddings(
        self,
        queries_tail: Any = None,
        queries_head: Any = None,
        entities: Any = None,
        *,
        queries_relation: Any = None,
        relations: Any = None,
        similarity: str = "dot",
        bias: Any = None,
        unique: bool = False,
        nan: str = "raise",
        dtype: Any = None,
        block: int | None = None,
        threads: int | None = None,
        audit: bool = False,
    ) -> Report:
        """Evaluate vectors of queries beside those of entities; scores are never stored.

        Parameters
        ----------
        queries_tail, queries_head, queries_relation : array_like, shape (q, d)
            Row i belongs to ``test[i]`` as it was given, or with ``unique=True`` to the query
            ``task.tail.queries[i]``.
        entities : array_like, shape (columns, d), or path
            The vectors of entities.
        relations : array_like, shape (columns, d), or path
            Those of relations, where relations are asked for.
        bias : array_like, or mapping of str to array_like, optional
            As in `truerank.rank_embeddings`: one for all sides, or by side, as in
            ``{"tail": bias}``; a side that is left out has none.
        similarity, nan, dtype, block, threads, audit : optional
            As in `truerank.rank_embeddings`.
        unique : bool
            Whether rows belong to the distinct queries.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank_embeddings` does, for a side without its vectors, and for a bias of
            what is no side of the task.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([[0, 0, 1]], {"train": [[0, 0, 2]]}, sides=("tail",))
        >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
        >>> report = task.evaluate_embeddings(vectors[:1], entities=vectors)
        >>> report["tail.mr"]
        2.0
        """
        candidates = Argument("entities", entities)
        return self._evaluate_embeddings(
            {
                "tail": Argument("queries_tail", queries_tail),
                "head": Argument("queries_head", queries_head),
                "relation": Argument("queries_relation", queries_relation),
            },
            {
                "tail": candidates,
                "head": candidates,
                "relation": Argument("relations", relations),
            },
            similarity=similarity,
            bias=bias,
            unique=unique,
            nan=nan,
            dtype=dtype,
            block=block,
            threads=threads,
            audit=audit,
        )

    def evaluate_scores(
        self,
        tail_scores: Any = None,
        head_scores: Any = None,
        *,
        relation_scores: Any = None,
        unique: bool = False,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        audit: bool = False,
        io: str | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Report:
        """Evaluate score matrices, in memory or in files.

        Parameters
        ----------
        tail_scores, head_scores, relation_scores : array_like, shape (rows, columns), or files
            Row i belongs to ``test[i]`` as it was given, or with ``unique=True`` to the query
            ``task.tail.queries[i]``. Rows of one query that differ are ranked as they are.
        unique : bool
            Whether rows belong to the distinct queries.
        order, nan, dtype, threads, audit, io, progress : optional
            As in `truerank.rank`.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank` does, and for a side without its scores.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([[0, 0, 1]], {"train": [[0, 0, 2]]}, sides=("tail",))
        >>> task.evaluate_scores(np.array([[3.0, 2.0, 9.0]]))["tail.mr"]
        2.0
        """
        return self._evaluate_scores(
            {
                "tail": Argument("tail_scores", tail_scores),
                "head": Argument("head_scores", head_scores),
                "relation": Argument("relation_scores", relation_scores),
            },
            unique=unique,
            order=order,
            nan=nan,
            dtype=dtype,
            threads=threads,
            audit=audit,
            io=io,
            progress=progress,
        )
