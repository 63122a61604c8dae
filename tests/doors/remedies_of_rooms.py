"""Rows of remedies that rooms other than records name."""

from __future__ import annotations

from doors.remedies import Row

ROWS: list[Row] = []
