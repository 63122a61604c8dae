"""The command line. It needs click, which the extra `cli` installs."""
