"""The time to import."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness import Compare, Pair
from harness.synthetic import Sizes


def test_import(compare: Compare, sizes: Sizes, tmp_path: Path) -> None:
    """A new interpreter that imports truerank, against one that imports numpy."""
    # Without bytecode every start would compile the package; an installed one never does.
    removed = ("COV_", "PYTEST", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(removed)}

    def start(code: str) -> Callable[[], None]:
        def run() -> None:
            command = [sys.executable, "-c", code]
            subprocess.run(command, check=True, cwd=tmp_path, env=environment)

        return run

    compare(
        "import, in a new interpreter",
        {
            "import truerank": start("import truerank"),
            "import numpy": start("import numpy"),
            "nothing": start("pass"),
        },
        [Pair("import truerank", "import numpy", "cost", 1.2)],
        rounds=sizes.import_rounds,
        budget=60.0,  # all contestants run in every round
        agree=False,
    )
