"""The command line. It needs click and rich, which the extra `cli` installs."""
