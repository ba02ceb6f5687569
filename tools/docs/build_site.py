"""Build the documentation site with Sphinx: build/docs/index.html.

    python tools/docs/build_site.py [--quick] [-o build/docs]

The pages of docs/, the notebooks, the README and other pages of the root folder are copied beside
the pages that are generated here, with links adjusted, so that every source also reads well on its
own. The lists of links in docs/index.md are the navigation. Warnings, such as a link to a page or a
heading that does not exist, are errors. `--quick` computes the gallery of a few activations only,
for tests.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

import api_pages
import claims
import gallery
import page_tables

import notebooks

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTPUT = ROOT / "build" / "docs"
ROOT_PAGES = {"README.md": "overview.md", "CONTRIBUTING.md": "contributing.md",
              "CHANGELOG.md": "changelog.md", "SECURITY.md": "security-policy.md"}  # fmt: skip
"""Files of the root folder and their names on the site."""
FEW = ("elu", "gelu", "hardshrink", "Phi", "phi", "swiglu")
"""The functions of a quick gallery."""
CODE = re.compile(r"(?ms)(^```.*?^```$|`[^`\n]+`)")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
SECTION = re.compile(r"(?m)^## (.+)\n\n((?:- .*\n?)+)")
ENTRY = re.compile(r"(?m)^- \[(.+?)\]\((\S+?)\.(?:md|rst|ipynb)\)")


def adjusted(text: str, folder: Path) -> str:
    """Return a page with links as they are on the site; `folder` is where the page is stored.

    Code is unchanged: `layers[0](x)` is a call and not a link.
    """

    def target(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        file = (folder / path).resolve()
        if not path or "://" in path or not file.is_relative_to(ROOT):
            return match[0]
        if file.parent == ROOT and file.name in ROOT_PAGES:
            path = ROOT_PAGES[file.name]
        elif file.parent == notebooks.FOLDER:
            path = f"{file.stem}.md"
        elif file.is_relative_to(DOCS):
            path = file.relative_to(DOCS).as_posix()
        return f"{match[1]}{path}{mark}{anchor}{match[3]}"

    parts = CODE.split(text)
    parts[::2] = [LINK.sub(target, part) for part in parts[::2]]
    return "".join(parts)


def with_navigation(index: str) -> str:
    """Return the first page with a table of contents for each of its lists of links."""
    trees = []
    for title, entries in SECTION.findall(index):
        lines = [f"{label} <{page}>" for label, page in ENTRY.findall(entries)]
        trees.append(
            "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *lines, "```"])
        )
    if not trees:
        raise ValueError("docs/index.md has no section that is a list of links")
    return "\n\n".join([index.rstrip(), *trees]) + "\n"


def pages(quick: bool = False) -> dict[str, str]:
    """Return the source of every page, by its file name on the site."""
    result = {
        path.name: adjusted(path.read_text(encoding="utf-8"), DOCS) for path in DOCS.glob("*.md")
    }
    for name, page in ROOT_PAGES.items():
        result[page] = adjusted((ROOT / name).read_text(encoding="utf-8"), ROOT)
    for file in notebooks.files():
        result[f"{file.stem}.md"] = adjusted(notebooks.page(file), notebooks.FOLDER)
    shown = FEW if quick else None
    result |= api_pages.pages() | gallery.pages(shown) | claims.pages()
    result["index.md"] = with_navigation(result["index.md"])
    return {name: page_tables.inserted(text) for name, text in result.items()}


def write_sources(folder: Path, quick: bool = False) -> None:
    """Write the sources of the site; files that have not changed are left as they are."""
    sources: dict[str, bytes] = {name: text.encode() for name, text in pages(quick).items()}
    sources |= {path.name: path.read_bytes() for path in DOCS.glob("*.svg")}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in sources:
            path.unlink()
    for name, content in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def build(output: Path, quick: bool = False) -> int:
    """Build the site in a folder and return Sphinx's exit code."""
    from sphinx.cmd.build import main as sphinx_build

    sources = output.with_name(f"{output.name}-sources")
    sources.mkdir(parents=True, exist_ok=True)
    write_sources(sources, quick)
    cache = output.with_name(f"{output.name}-cache")
    options = ["-b", "html", "-q", "-W", "--keep-going", "-c", str(DOCS), "-d", str(cache)]
    code: int = sphinx_build([*options, str(sources), str(output)])
    return code


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="a gallery of few activations")
    options = parser.parse_args()
    output: Path = options.output.resolve()
    code = build(output, options.quick)
    if code:
        shutil.rmtree(output.with_name(f"{output.name}-cache"), ignore_errors=True)
        sys.exit(code)
    print(f"Wrote {output / 'index.html'}", file=sys.stderr)


if __name__ == "__main__":
    main()
