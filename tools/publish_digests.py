"""Write src/softgate/studies/reproducibility/digests.toml: the bits that every function computes.

    python tools/publish_digests.py [--missing]

Run after any change of a kernel's arithmetic; it prints what changed. `--missing` only adds
functions that have no digests.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from softgate.studies.reproducibility.digests import (
    VERSION,
    catalogue,
    published_digest,
    read,
    tables,
)

FILE = Path(__file__).resolve().parent.parent / "src/softgate/studies/reproducibility/digests.toml"

HEADER = f"""\
# Written by `make digests`; checked by `make test` and `softgate doctor`.
# SHA-256, its first 32 digits, of results over the inputs that reproducibility/inputs.py defines.
version = {VERSION}
"""
COMMENTS = {
    "bits": "The results of a function, quantity and dtype.",
    "inputs": "The operands that they were computed from.",
    "operations": "The operations of each kernel and their constants, by the dtype of its arrays.",
}


def document(content: dict[str, dict[str, str]]) -> str:
    """Return the file: one digest a line, sorted by name."""
    parts = [HEADER]
    for table, comment in COMMENTS.items():
        lines = [f'"{name}" = "{digest}"' for name, digest in sorted(content[table].items())]
        parts.append("\n".join([f"[{table}] # {comment}", *lines, ""]))
    return "\n".join(parts)


def main() -> None:
    """Write the file and print the digests that changed."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="only functions that have none")
    missing = parser.parse_args().missing
    before = read() if FILE.exists() else {}
    content = tables(
        {
            name: function
            for name, function in catalogue().items()
            if not missing or published_digest(name, "value", "float32") is None
        }
    )
    for table in COMMENTS:
        old, new = before.get(table, {}), content[table]
        if missing:
            content[table] = new = old | new
        for name in sorted(old | new):
            if old.get(name) != new.get(name):
                print(f"{table}: {name}")
    FILE.write_text(document(content), encoding="utf-8")


if __name__ == "__main__":
    main()
