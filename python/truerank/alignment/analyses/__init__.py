"""Analyses: why an alignment errs, in numbers and pictures."""
