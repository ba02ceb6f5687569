"""Run the examples of a page in this process.

Blocks of ```python run one after the other, as a reader would paste them; of ```pycon the printed
results are compared too. Each page has its own names.
"""

from __future__ import annotations

import doctest
import re
import traceback
import warnings
from pathlib import Path

BLOCK = re.compile(r"(?ms)^```(python|pycon)\n(.*?)^```")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(page: Path) -> str:
    """Return what went wrong, an empty text if nothing did; warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _failure(page)


def _failure(page: Path) -> str:
    names: dict[str, object] = {"__name__": page.stem}
    for number, (language, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
        label = f"<{page.name}, block {number}>"
        if language == "python":
            try:
                exec(compile(code, label, "exec"), names)
            except Exception:
                return traceback.format_exc()
            continue
        test = doctest.DocTestParser().get_doctest(code, names, label, page.name, 0)
        lines: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=lines.append, clear_globs=False)
        if lines:
            return "".join(lines)
        names.update(test.globs)
    return ""
