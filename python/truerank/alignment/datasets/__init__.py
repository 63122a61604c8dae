"""Data sets of entity alignment: read, split, described and written."""
