"""Embeddings: vectors opened and checked; counts, scores or the top k out."""
