"""Words that the texts and code avoid, because they personify code or hide its meaning."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from places import ROOT

AVOIDED = (
    "no body", "some body", "who ever", "so_many", "no_number", "is_told", "fore told",
    "where_it_lies", "as_it_stands", "accepted_are", "differs_from_ours", "what_it_says",
    "is_asked", "are_asked", "says_so", "our_own", "an_element_does", "is_handed",
)  # fmt: skip
"""Written apart here, so that this file does not contain them; `_` is a space."""
LOCALS = {"found", "said", "given", "kept", "told", "asked"}
"""Names that state that there is a value, not what it is."""
PATTERN = re.compile(
    "|".join(rf"\b{word.replace(' ', '').replace('_', ' ')}\b" for word in AVOIDED), re.IGNORECASE
)
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples", "docs", "notebooks")
SUFFIXES = {".py", ".md", ".toml", ".js", ".css", ".json", ".ipynb"}


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


def vague_names(source: str) -> list[tuple[int, str]]:
    """Return line and name of each assigned name that does not state what it holds."""
    return [
        (node.lineno, node.id)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in LOCALS
    ]


def test_locals_are_named_for_what_they_hold() -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in texts()
        if path.suffix == ".py" and not path.is_relative_to(ROOT / "tests")
        for line, name in vague_names(path.read_text(encoding="utf-8"))
    ]
    assert vague == []


def test_vague_names_are_recognised() -> None:
    assert vague_names("found = 1\nroute = [kept for kept in x]") == [(1, "found"), (2, "kept")]


def test_avoided_words_are_recognised() -> None:
    text = "for who" + "ever reads this, it is " + "told so " + "many times"
    assert len(PATTERN.findall(text)) == 3
