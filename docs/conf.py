"""Sphinx settings of the documentation site, which tools/docs/build_site.py builds.

Formulas are MathML, written by docutils: the pages load nothing from other hosts.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

os.environ["KERAS_BACKEND"] = "torch"  # the default, TensorFlow, takes seconds to import

PROJECT = tomllib.loads(
    (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
version = release = PROJECT["version"]
html_title = f"{project} {release}"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "monokai"
default_role = "code"
myst_heading_anchors = 4
nitpicky = True
exclude_patterns: list[str] = []

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False


def _write_math(writer: Any, node: nodes.Node) -> None:
    """Write a formula as MathML."""
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def _escape_bars(app: Any, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of |x|, which would be a substitution of reStructuredText."""
    lines[:] = [re.sub(r"\|(\w+)\|", r"\\|\1\\|", line) for line in lines]


def setup(app: Any) -> None:
    """Register the renderer of formulas, and what adapts docstrings."""
    app.connect("autodoc-process-docstring", _escape_bars)
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
