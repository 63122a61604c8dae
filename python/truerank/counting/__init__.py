"""Counting: scores and targets in, Ranks out; in memory, tile by tile, or block by block."""
