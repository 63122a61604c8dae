"""The site: `sphinx-build -W --keep-going -n -b html docs OUT`, without network."""

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
extensions += ["bench_pages", "command_pages", "docstrings", "mathml"]  # in _ext/

# Of bench/, a link to the folder beside docs/, the pages alone: what they link to besides is copied
# into the site as downloads.
include_patterns = ["**/*.md", "*.md"]
exclude_patterns = ["bench/**/.*"]

# Markdown: anchors of headings, definition lists, formulas between dollars, :::{note} fences.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a section of the README that a page includes starts at H2

smartquotes = False  # "--option" and "value" stand as they are typed

# The docstrings. Types stand there in words ("array_like of int, shape (n,)"), which no link fits;
# annotations would repeat them at greater length.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Never imported for the reference, installed or not: the site is the same everywhere.
autodoc_mock_imports = ["dask", "distributed", "jax", "pykeen", "torch", "torch_max_mem"]
autodoc_mock_imports += ["torchmetrics", "tqdm"]
default_role = "py:maybe"  # `rank` is a link where the reference has it, and code elsewhere

html_theme = "furo"
html_title = f"truerank {release}"
html_static_path = ["_static"]
html_css_files = ["truerank.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "github-dark"
