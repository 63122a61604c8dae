"""Ranks: the counts of tasks, their labels and protocol, and how they are saved and loaded."""
