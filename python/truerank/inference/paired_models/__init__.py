"""Two models over the same tasks: how tasks are matched, units swapped, and results shown."""
