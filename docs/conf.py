"""Settings of the documentation; `make docs` builds it with warnings as errors."""

project = "superarm"
copyright = "2026, the superarm developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "superarm"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["docutils"]  # formulas in docstrings are indented text, which need not be valid reST
