"""Splits: files and frames of facts, right answers and lists; vocabularies; audits of splits."""
