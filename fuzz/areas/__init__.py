"""The areas, one module each: `@check(...)` marks the functions that are given random inputs.

The docstring's first line describes the area. `CORE = True` says that its inputs run the core,
so that it is worth running under sanitizers. `python -m fuzz.planted` plants the `FAULTS`.
"""
