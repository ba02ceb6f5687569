"""The page that `softgate report` writes: records in, one HTML file out; nothing is computed here.

`section` says what a section is, `sections/` has one small module for each, `page` puts them
together. What the page shows and no other study measures is measured in `studies/`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import vega
from .page import page
from .section import Found, Missing, Section

__all__ = ["Found", "Missing", "Section", "page", "vega"]


class _Report(ModuleType):
    """The package under the name of its verb: `sg.report(...)` works, whichever came first."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from .._report import report

        return report(*arguments, **keywords)


sys.modules[__name__].__class__ = _Report
