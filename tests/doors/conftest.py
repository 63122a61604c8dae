"""The good calls, which all tests of a module share."""

from __future__ import annotations

import pytest

from doors.asking import all_calls
from doors.calls import Call


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    """Return the good calls by name."""
    return all_calls(tmp_path_factory.mktemp("good"))
