"""Counting: scores and targets in, Ranks out; in memory, or tile by tile."""
