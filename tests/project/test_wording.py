"""Words that the texts and code avoid, because they personify code or hide its meaning."""

from __future__ import annotations

import re
from pathlib import Path

from places import ROOT

AVOIDED = ("no body", "some body", "who ever", "so_many", "no_number", "is_told", "fore told")
"""Written apart here, so that this file does not contain them."""
PATTERN = re.compile(
    "|".join(rf"\b{word.replace(' ', '').replace('_', ' ')}\b" for word in AVOIDED), re.IGNORECASE
)
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples", "docs")
SUFFIXES = {".py", ".md", ".toml", ".js", ".css", ".json"}


def texts() -> list[Path]:
    """Return the files that people read."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*.toml"), ROOT / "Makefile", ROOT / "conftest.py"]
    return [path for path in files if path.suffix in SUFFIXES or path.name == "Makefile"]


def test_avoided_words_do_not_occur() -> None:
    results = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PATTERN.search(line)
    ]
    assert results == []


def test_avoided_words_are_recognised() -> None:
    text = "for who" + "ever reads this, it is " + "told so " + "many times"
    assert len(PATTERN.findall(text)) == 3
