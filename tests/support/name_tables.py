"""The table of names of columns, as the page of inputs prints it: run this file to see it."""

from __future__ import annotations

from truerank.records.columns import DOORS


def table_of_names() -> str:
    """Return a row for each door: its roles with their names."""
    lines = ["| door | role: its other names |", "| --- | --- |"]
    for door in DOORS:
        cells = [_listed(role, names) for role, names in door.roles.items()]
        lines.append(f"| {door.kind} | {'; '.join(cells)} |")
    return "\n".join(lines)


def _listed(role: str, names: frozenset[str]) -> str:
    words = [f"`{name}`" for name in sorted(names - {role})]
    return f"{role}: {', '.join(words)}" if words else role


if __name__ == "__main__":
    print(table_of_names())
