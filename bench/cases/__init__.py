"""The cases: each file is one question, as the table in README.md says."""
