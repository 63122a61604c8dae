"""The command line; it needs click and rich, which the extra `cli` brings."""
