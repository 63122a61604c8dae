"""Matching: pairs of entities from similarities, and who has no counterpart."""
