"""Settings of the site: `sphinx-build -W --keep-going -n -b html docs OUT`, without network."""

from __future__ import annotations

import sys
from pathlib import Path

import truerank

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "truerank"
author = "The truerank developers"
copyright = author
version = release = truerank.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
extensions += ["sphinx_copybutton"]
extensions += ["bench_pages", "command_pages", "docstrings", "mathml"]  # in _ext/

# docs/bench is a link to the folder bench/. Only its pages are included; other files that they link
# to are copied into the site as downloads.
include_patterns = ["**/*.md", "*.md"]
exclude_patterns = ["bench/**/.*"]

# Markdown extensions: :::{note} fences, definition lists, formulas between dollars.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # an included section of the README starts at H2

smartquotes = False  # "--option" and "value" are shown as they are typed

# Docstrings give types in words ("array_like of int, shape (n,)"); annotations would only repeat
# these at greater length.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# These are never imported, even if they are installed, so that the site is the same everywhere.
autodoc_mock_imports = ["dask", "distributed", "jax", "pykeen", "torch", "torch_max_mem"]
autodoc_mock_imports += ["torchmetrics", "tqdm"]
autodoc_mock_imports += ["recbole", "ir_measures"]
autodoc_mock_imports += ["mteb", "sentence_transformers"]
default_role = "py:maybe"  # `rank` is a link if the reference has it, otherwise code

html_theme = "furo"
html_title = f"truerank {release}"
html_static_path = ["_static"]
html_css_files = ["truerank.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "github-dark"
