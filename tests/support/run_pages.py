"""Run the examples of pages in one process: python run_pages.py PAGE...

Blocks of ```python run one after the other, as a reader would paste them; of ```pycon the printed
results are compared too. Each page has its own names. Prints a traceback for each page that fails.
"""

from __future__ import annotations

import doctest
import re
import sys
import traceback
import warnings
from pathlib import Path

BLOCK = re.compile(r"(?ms)^```(python|pycon)\n(.*?)^```")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(page: Path) -> str:
    """Return what went wrong, an empty text if nothing did."""
    names: dict[str, object] = {"__name__": page.stem}
    for number, (language, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
        label = f"{page.name}, block {number}"
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    messages = [message for page in sys.argv[1:] if (message := run(Path(page)))]
    print("\n".join(messages), file=sys.stderr)
    sys.exit(bool(messages))
