"""The table of names of columns, as the page of inputs prints it: run this file to see it."""

from __future__ import annotations

from truerank.records.column_roles import DOORS


def table_of_names() -> str:
    """Return a row for each role of each door, and one for what stands beside."""
    lines = ["| rows | role | names |", "| --- | --- | --- |"]
    for door in DOORS:
        kind = door.kind
        for role, names in door.roles.items():
            needed = role in door.needed_roles
            shown = role if needed else f"{role}, if there is one"
            lines.append(f"| {kind} | {shown} | {_listed(names, role)} |")
            kind = ""
        lines.append(f"| | left out | {_listed(door.beside)} |")
    return "\n".join(lines)


def _listed(names: frozenset[str], first: str = "") -> str:
    ordered = sorted(names, key=lambda name: (name != first, name.removesuffix("_id"), name))
    words = []
    for name in ordered:
        if name.removesuffix("_id") in names and name.endswith("_id"):
            continue  # It is shown with the word it belongs to.
        if f"{name}_id" in names:
            name += "(_id)"
        words.append(f"`{name}`")
    return ", ".join(words)


if __name__ == "__main__":
    print(table_of_names())
