"""Integers made unique, sorted, gathered and looked up; files of arrays; files replaced."""
