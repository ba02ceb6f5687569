"""Execute the notebooks, store their outputs, and render them as pages of the site.

    python tools/docs/notebooks.py [--check]

Outputs are stored in the files, so that they can be read without running them. `--check` executes
the notebooks and compares: text must be the same, except in cells with the tag "varies", whose
figures depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
VARIES = "varies"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
HTML = "text/html"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def files() -> list[Path]:
    """Return the notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(file: Path) -> nbformat.NotebookNode:
    """Return a notebook as it is stored."""
    return nbformat.read(file, as_version=4)


def execute(file: Path) -> nbformat.NotebookNode:
    """Return a notebook, executed; raise nbclient's CellExecutionError if a cell raises."""
    from nbclient import NotebookClient

    notebook = read(file)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )  # fmt: skip
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1"})  # faster for small tensors
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def text(output: dict[str, Any]) -> str:
    """Return what an output shows as plain text."""
    if output["output_type"] == "stream":
        return ESCAPES.sub("", output["text"])
    shown: str = output.get("data", {}).get("text/plain", "")
    return shown


def differences(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> list[str]:
    """Return the cells whose text is not what was stored, with both texts."""
    result = []
    for number, (old, new) in enumerate(zip(stored.cells, executed.cells, strict=True), 1):
        if old.cell_type != "code" or VARIES in old.metadata.get("tags", ()):
            continue
        texts = ["".join(map(text, cell.outputs)) for cell in (old, new)]
        if texts[0] != texts[1]:
            result.append(f"cell {number}:\n{old.source}\nstored:\n{texts[0]}\nnow:\n{texts[1]}")
    return result


def page(file: Path) -> str:
    """Return a notebook with its stored outputs as Markdown."""
    parts = []
    for cell in read(file).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown(output) for output in cell.outputs]
    path = file.relative_to(ROOT).as_posix()
    parts.append(f"This page is the notebook `{path}`; a test executes it.")
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """Return an output as Markdown: HTML as it is, text as a block."""
    data = output.get("data", {})
    if HTML in data:
        return f'<div class="output">{" ".join(data[HTML].split())}</div>'
    return f"```text\n{text(output).rstrip()}\n```"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    messages = []
    for file in files():
        executed = execute(file)
        if check:
            messages += [f"{file.name}, {it}" for it in differences(read(file), executed)]
        else:
            nbformat.write(executed, file)
            print(f"Wrote {file}", file=sys.stderr)
    if messages:
        sys.exit("\n\n".join(messages))


if __name__ == "__main__":
    main()
