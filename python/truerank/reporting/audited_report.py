"""What the checks of an audit need of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.protocol import Protocol as HowCounted
    from .summary import Summary


class ValuesByKey(Protocol):
    """Values by key."""

    def __getitem__(self, key: str, /) -> float: ...


class AuditedReport(ValuesByKey, Protocol):
    """What the checks need of a report: values by key, and the ranks that they come from."""

    @property
    def ranks(self) -> Ranks: ...

    @property
    def weights(self) -> FloatArray | None: ...

    @property
    def protocol(self) -> HowCounted: ...

    @property
    def summary(self) -> Summary: ...

    @property
    def sides(self) -> tuple[str, ...]: ...

    def chance(self, metric: str) -> tuple[float, float]: ...
