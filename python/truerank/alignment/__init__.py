"""Entity alignment: vectors of two graphs in, and which entity of the one is which of the other."""
