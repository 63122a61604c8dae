"""Oracles that the tests do without, since they need a C compiler."""
