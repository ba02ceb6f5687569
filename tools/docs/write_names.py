"""Write the names of the catalogue into tests/project/public_names.json and docs/guide.md.

    python tools/docs/write_names.py

Names are only added to public_names.json: a release that removes one removes it there by hand.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from textwrap import fill

import readme_blocks

from softgate.runtime.registry import activations, functions, gated

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "tests" / "project" / "public_names.json"
GUIDE = ROOT / "docs" / "guide.md"
LINE = 110


def main() -> None:
    """Write both files."""
    public = json.loads(PUBLIC.read_text(encoding="utf-8"))
    for module, names in public["modules"].items():
        added = functions().keys() & set(dir(import_module(module)))
        public["modules"][module] = sorted({*names, *added})
    PUBLIC.write_text(json.dumps(public, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    one, two = (", ".join(functions) for functions in (activations(), gated()))
    text = (
        f"The functions, which the [gallery](gallery.md) shows with their formulas, are {one}. "
        f"The gated functions are {two}."
    )
    readme_blocks.replace("functions", fill(text, LINE), GUIDE)


if __name__ == "__main__":
    main()
