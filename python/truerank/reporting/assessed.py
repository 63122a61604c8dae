"""What tells how far the numbers of a report can be trusted: chance, intervals, the audit."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ..inputs.errors import InputValueError
from ..metrics import Key, UnknownKeyError, parse
from .grouped import Grouped

if TYPE_CHECKING:
    from ..comparison.resampling import Interval
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .validity import Finding


class Assessed(Grouped):
    """A report of ranks that are at hand."""

    _tasks: Ranks

    @property
    @abstractmethod
    def ranks(self) -> Ranks:
        """The ranks that were measured."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray | None:
        """The weights in force; None where all tasks count once."""

    @abstractmethod
    def _moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance."""

    def chance(self, key: str) -> tuple[float, float]:
        """Mean and variance of a metric under chance, as its adjustments take them.

        Parameters
        ----------
        key : str
            `[side.]metric[@k][:p]`; a kind and an adjustment do not matter.

        Returns
        -------
        mean, variance : float
            As `truerank.chance` gives them of the candidates and weights of the side.

        Raises
        ------
        KeyError
            For an unknown key, a macro average, and a metric without a chance model.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 2], [1, 1], 3)).chance("mr")
        (2.0, 0.3333333333333333)
        """
        parsed = parse(key)
        if parsed.macro:
            raise UnknownKeyError(f"{key!r}: a macro average has no chance model of its own")
        self._sides.check(parsed.side, key)
        return self._moments(parsed)

    def interval(
        self,
        key: str,
        *,
        level: float = 0.95,
        method: str = "bootstrap",
        by: LabelsLike | None = None,
        seed: int = 0,
        resamples: int = 10_000,
    ) -> Interval:
        """Give an interval for the value of a key: how sure the number is.

        Parameters
        ----------
        key : str
        level : float
            How often such intervals cover the true value.
        method : {"bootstrap", "bca", "percentile", "normal"}
            See `truerank.comparison.interval`.
        by : str or labels, optional
            What is drawn as a whole: ranks of one query or relation are not independent. For
            "macro.X" the report's own groups if not given.
        seed, resamples : int
            Of the bootstrap.

        Returns
        -------
        Interval
            low, value and high.

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), another method, labels that do not fit the tasks, and a
            macro average in which groups count unequally.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> low, value, high = report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval("mrr")[:3]
        >>> low <= value <= high
        True
        """
        from ..comparison.resampling import interval

        parsed = parse(key)
        self._sides.check(parsed.side, key)
        if parsed.macro:
            grouping = self._given_groups(key)
            if self._average.weighted:
                raise InputValueError(
                    "key",
                    (
                        f"{key!r} is {self.macro_weighting}; an interval is there where every "
                        "group counts once"
                    ),
                )
            by = grouping.codes if by is None else by
        return interval(
            self._tasks,
            parsed,
            level=level,
            method=method,
            by=by,
            seed=seed,
            resamples=resamples,
            draw_seed=self.seed,
        )

    def audit(self) -> list[Finding]:
        """List what makes the numbers suspect; nothing was found where the list is empty.

        Ties that move a metric, kinds of rank that part, constant rows, NaN and inf, saturated
        scores, tasks with hardly any candidates, sampled ones, those of the test alone, weights
        that leave few tasks, what the protocol does not say. `truerank.reporting.validity.CHECKS` has the thresholds.

        Returns
        -------
        list of Finding
            name, value, threshold and message each.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> for finding in report(Ranks([0], [10], 10)).audit()[:2]:
        ...     print(finding)
        ties: ties move hits@1 by 0.1: realistic 0, expected 0.1
        kinds: hits@1 is 0 with pessimistic ranks and 1 with optimistic ones (1 apart): say which is reported
        """  # noqa: E501
        from .validity import findings

        return findings(self)
