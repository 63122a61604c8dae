"""How tasks of alignment are evaluated: by vectors, by a matrix of similarities, by callables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..embeddings.vectors import CSLS
from ..inputs.checks import NAN_RULES, choice
from ..inputs.errors import InputTypeError, InputValueError
from ..tasks.arguments import Argument, opened, vectors_of
from ..tasks.task import Task as BaseTask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..counting.tiles import Progress
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..reporting.reports import Report
    from ..stores import Store


class Evaluated(BaseTask):
    """A task of both directions, and the three ways to evaluate it."""

    candidates: tuple[IntArray, IntArray] | None

    def evaluate_embeddings(
        self,
        left: Any,
        right: Any,
        *,
        similarity: str = "cosine",
        csls: int | CSLS | None = None,
        nan: str = "raise",
        dtype: Any = None,
        block: int | None = None,
        threads: int | None = None,
        audit: bool = False,
    ) -> Report:
        """Evaluate the vectors of both graphs, in both directions; scores are never stored.

        Parameters
        ----------
        left, right : array_like, shape (entities, d), or path
            A vector for each entity of the left graph, and of the right one: arrays, memory maps,
            the paths of .npy files, as `truerank.rank_embeddings` takes them.
        similarity : str
            As in `truerank.rank_embeddings`.
        csls : int or CSLS, optional
            Cross-domain similarity local scaling with so many neighbours, or with means that were
            made before; see Notes.
        nan, dtype, block, threads, audit : optional
            As in `truerank.rank_embeddings`.

        Returns
        -------
        Report
            Of the sides "left_to_right" and "right_to_left".

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank_embeddings` does, for vectors that are not one for each entity, and
            for `csls` below 1 or of other shapes.

        Notes
        -----
        With CSLS (Conneau, Lample, Ranzato, Denoyer, Jegou: Word translation without parallel data,
        ICLR 2018) the score of x and y is 2 s(x, y) - (r_left(x) + r_right(y)). r_left(x) is the
        mean of the k highest similarities of x to the right candidates of the protocol, r_right(y)
        that of y to the left candidates; of all, where they are fewer. Means are added best first
        in float64 and rounded to the dtype of the scores, the sum of the two is rounded once, the
        difference once: both directions count the same bits. With ``nan="raise"`` a similarity of
        two candidates that is NaN is an error, else it is no neighbour.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.alignment import Task
        >>> left = np.array([[1, 0], [0, 1]], np.float32)
        >>> right = np.array([[0, 1], [1, 1], [1, 0]], np.float32)
        >>> report = Task([(0, 2), (1, 1)], left=2, right=3).evaluate_embeddings(left, right)
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (1.5, 1.25)
        """
        from .csls import csls_means
        from .grid import rank_both

        heights = self._heights()
        scaling = _checked(csls)
        choice("nan", nan, NAN_RULES)
        given = (Argument("left", left), Argument("right", right))
        for role, argument, height in zip(("queries", "entities"), given, heights, strict=True):
            what = f"entity of the {argument.name} graph"
            with vectors_of(argument, role, dtype, height, what):
                pass  # both are checked before anything is counted
        if isinstance(scaling, int):
            scaling = csls_means(
                *(left, right, scaling),
                similarity=similarity,
                candidates=self.candidates,
                nan=nan,
                dtype=dtype,
                threads=threads,
            )
        elif scaling is not None and nan == "raise":
            _check_means(scaling, self.candidates)
        ranks = rank_both(
            *(left, right, self.sides),
            similarity=similarity,
            csls=scaling,
            nan=nan,
            dtype=dtype,
            threads=threads,
            audit=audit,
            block=block,
        )
        return self._reported_as(ranks, similarity, scaling)

    def evaluate_scores(
        self,
        scores: Any,
        *,
        csls: int | CSLS | None = None,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        audit: bool = False,
        io: str | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Report:
        """Evaluate a matrix of similarities, in memory or in files, in both directions.

        Rows are counted from left to right and columns from right to left, out of the same blocks:
        what lies in files is read once, but for the scores of the pairs themselves. CSLS reads it
        once more, before. Memory does not grow with the matrix.

        Parameters
        ----------
        scores : array_like, shape (left entities, right entities), or files
            As `truerank.rank` takes them: in memory in any layout, paths, stores.
        csls : int or CSLS, optional
            As in `evaluate_embeddings`, of these similarities; they must be floats then. float16
            and bfloat16 are widened to float32.
        order : {"descending", "ascending"}
            "ascending": lower scores are better, as for distances; not with `csls`.
        nan, dtype, threads, audit, io, progress : optional
            As in `truerank.rank`. `progress` is told of the bytes of all readings.

        Returns
        -------
        Report
            Of the sides "left_to_right" and "right_to_left".

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank` does, for scores of another shape, and for `csls` as in
            `evaluate_embeddings`.

        Examples
        --------
        >>> from truerank.alignment import Task
        >>> task = Task([(0, 0), (1, 1)], left=2, right=3)
        >>> report = task.evaluate_scores([[0.9, 0.2, 0.3], [0.8, 0.5, 0.6]])
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (2.0, 1.0)
        """
        from .matrices import Rules, rank_matrix

        heights = self._heights()
        scaling = _checked(csls)
        if scaling is not None and order == "ascending":
            raise InputValueError(
                "order",
                expected='"descending" with csls, which is of similarities',
                got='"ascending"',
            )
        if progress is not None and not callable(progress):
            raise InputTypeError("progress", expected="a callable", got=type(progress).__name__)
        argument = Argument("scores", scores)
        with opened(argument, dtype, io, True, heights, "left entity") as matrix:
            ranks, used = rank_matrix(
                cast("Store", matrix.scores),
                self.sides,
                Rules(order, nan, threads, audit),
                csls=scaling,
                candidates=self.candidates,
                io=io,
                progress=progress,
            )
        return self._reported_as(ranks, None, used)

    def evaluate(
        self,
        left_to_right: Callable[[IntArray], Any] | None = None,
        right_to_left: Callable[[IntArray], Any] | None = None,
        *,
        batch_size: int | None = None,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        audit: bool = False,
    ) -> Report:
        """Evaluate a model by callables that score batches of entities.

        Parameters
        ----------
        left_to_right, right_to_left : callable
            f(queries) -> scores: queries (b, 1) int64, the ids of entities that ask, distinct;
            scores (b, entities of the other graph), numpy or a torch CPU tensor.
        batch_size : int, optional
            How many queries at once. Default: such that the scores take about 64 MB.
        order, nan, dtype, threads, audit : optional
            As in `truerank.rank`.

        Returns
        -------
        Report
            Of the sides "left_to_right" and "right_to_left".

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does, and where one of the two is missing.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.alignment import Task
        >>> scores = np.array([[0.9, 0.2, 0.3], [0.8, 0.5, 0.6]])
        >>> task = Task([(0, 0), (1, 1)], left=2, right=3)
        >>> report = task.evaluate(
        ...     left_to_right=lambda queries: scores[queries[:, 0]],
        ...     right_to_left=lambda queries: scores.T[queries[:, 0]],
        ... )
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (2.0, 1.0)
        """
        return self._evaluate(
            {
                "left_to_right": Argument("left_to_right", left_to_right),
                "right_to_left": Argument("right_to_left", right_to_left),
            },
            batch_size=batch_size,
            order=order,
            nan=nan,
            dtype=dtype,
            threads=threads,
            audit=audit,
        )

    def _heights(self) -> tuple[int, int]:
        """How many entities the left graph has, and the right one."""
        return self.sides["right_to_left"].columns, self.sides["left_to_right"].columns

    def _reported_as(
        self, parts: Iterable[Ranks], similarity: str | None, csls: CSLS | None
    ) -> Report:
        """The report of both directions, under the name of what made the scores."""
        words = [similarity] if similarity else []
        words += [f"csls {csls.k}"] if csls is not None else []
        name = ", ".join(words) or None
        return self._reported(
            side.labelled(ranks).with_protocol(similarity=name)
            for side, ranks in zip(self.sides.values(), parts, strict=True)
        )


def _check_means(csls: CSLS, candidates: tuple[IntArray, IntArray] | None) -> None:
    """Refuse means made before that leave a candidate out: its scores would be NaN."""
    for i, side in enumerate(("left", "right")):
        means = np.asarray(csls[i])
        chosen = np.arange(len(means)) if candidates is None else candidates[i]
        if means.ndim != 1 or means.dtype.kind != "f" or len(chosen) > len(means):
            return  # which is refused later on, in its own words
        missing = chosen[np.isnan(means[chosen])]
        if len(missing):
            raise InputValueError(
                "csls",
                expected="means over the candidates of the task",
                got=f"none for {side} {missing[0]}",
            )


def _checked(csls: object) -> int | CSLS | None:
    """Check a number of neighbours, or means made before."""
    if csls is None or isinstance(csls, CSLS):
        return csls
    if isinstance(csls, bool) or not isinstance(csls, (int, np.integer)):
        raise InputTypeError(
            "csls", expected="a number of neighbours, or a CSLS", got=type(csls).__name__
        )
    if csls < 1:
        raise InputValueError("csls", expected="at least 1 neighbour", got=csls)
    return int(csls)
