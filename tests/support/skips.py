"""Which extras would run the tests that were skipped."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec

from support.environment import ROOT

# These libraries are imported by another name than they are installed by.
IMPORTED = {"pytrec_eval_terrier": "pytrec_eval", "scikit_learn": "sklearn"}


def missing_libraries() -> dict[str, set[str]]:
    """Return what is not installed of each extra and each group of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {f".[{name}]": x for name, x in project["project"]["optional-dependencies"].items()}
    groups = {f"--group {name}": x for name, x in project["dependency-groups"].items()}
    found = {}
    for source, lines in (extras | groups).items():
        # Groups within groups are left out.
        lines = [line for line in lines if isinstance(line, str)]
        names = [re.split(r"[^\w-]", line)[0].replace("-", "_") for line in lines]
        names = [IMPORTED.get(name, name) for name in names]
        found[source] = {name.lower() for name in names if find_spec(name) is None}
    return found


def what_would_run(reasons: Iterable[str]) -> str:
    """Return a line of how many of the skipped tests each extra would run."""
    counts = Counter[str]()
    missing = missing_libraries()
    for reason in reasons:
        words = set(re.findall(r"\w+", reason.lower()))
        sources = [source for source, names in missing.items() if names & words]
        if "TRUERANK_DATA" in reason:
            sources = ["TRUERANK_DATA"]
        sources.append("another system")
        counts[sources[0]] += 1
    if not counts:
        return ""
    parts = ", ".join(f"{number} with {source}" for source, number in counts.most_common())
    return f"skipped tests would run: {parts}"
