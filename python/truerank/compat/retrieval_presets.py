"""Presets of toolkits for retrieval and recommendation, as far as they rank one true candidate."""

from __future__ import annotations

from .toolkit_rows import Preset

RETRIEVAL_PRESETS: tuple[Preset, ...] = ()
