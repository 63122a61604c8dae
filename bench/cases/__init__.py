"""The cases: each file is one question, which its first line asks."""
