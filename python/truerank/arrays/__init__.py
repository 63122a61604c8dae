"""Integers made unique, sorted, gathered and looked up; files that are read and saved."""
