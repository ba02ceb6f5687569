"""The documentation site is built without a warning, and its pages load nothing from elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from places import ROOT

pytest.importorskip("sphinx", reason="the extra docs is not installed")


class Page(HTMLParser):
    """The targets of links, what the page loads, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.titles = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.ids.update(known[name] for name in ("id", "name") if name in known)
        self.titles += tag == "h1"
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        elif tag == "link" and known.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(known["href"])
        elif "src" in known:
            self.loaded.append(known["src"])


@pytest.mark.filterwarnings("ignore")  # of Sphinx's
def test_the_site_is_built_and_complete(
    tools: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One test, since the site is built once; in this process, which has loaded the frameworks."""
    monkeypatch.setenv("KERAS_BACKEND", "torch")  # docs/conf.py sets it, too
    folder = tmp_path / "docs"
    assert tools.build(folder, quick=True) == 0, capsys.readouterr().err
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    check_pages(pages)
    assert broken_links(pages) == []
    assert loaded_from_elsewhere(folder, pages) == []


def check_pages(pages: dict[Path, Page]) -> None:
    """Require every page, each with one title."""
    names = {path.stem for path in pages}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= names
    assert {"overview", "contributing", "changelog", "gallery", "claims"} <= names
    assert {"softgate", "torch", "functional", "jax", "keras", "records"} <= names
    assert [path.name for path, page in pages.items() if page.titles != 1] == ["search.html"]


def broken_links(pages: dict[Path, Page]) -> list[str]:
    """Return the links to files or elements that do not exist."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if parts.scheme:
                continue
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].ids
            ):
                broken.append(f"{path.name}: {link}")
    return broken


def loaded_from_elsewhere(folder: Path, pages: dict[Path, Page]) -> list[str]:
    """Return what pages and style sheets load from other hosts."""
    loaded = {address for page in pages.values() for address in page.loaded}
    assert loaded
    for style in folder.rglob("*.css"):
        loaded |= set(
            re.findall(r"(?:url\(|@import)\s*['\"]?(\w+:[^'\")]*)", style.read_text("utf-8"))
        )
    return [it for it in loaded if urlsplit(it).scheme not in ("", "data") or urlsplit(it).netloc]


def test_a_broken_page_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.touch()
    page = Page('<h1 id="x"></h1><a href="#y"></a><a href="b.html"></a><img src="https://c.org/d">')
    assert broken_links({path: page}) == ["a.html: #y", "a.html: b.html"]
    assert loaded_from_elsewhere(tmp_path, {path: page}) == ["https://c.org/d"]


@pytest.fixture(scope="module")
def tools() -> Iterator[ModuleType]:
    folder = str(ROOT / "tools" / "docs")
    sys.path.insert(0, folder)
    import build_site

    yield build_site
    sys.path.remove(folder)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(folder):
            del sys.modules[name]


def test_links_are_adjusted(tools: ModuleType) -> None:
    text = "[a](../README.md#two) [b](speed.md) [c](https://x.org/a.md) [d](#here) ![e](speed.svg)"
    adjusted = tools.adjusted(text, ROOT / "docs")
    assert adjusted == text.replace("../README.md", "overview.md")
    assert tools.adjusted("[a](docs/speed.md)", ROOT) == "[a](speed.md)"


def test_code_is_not_adjusted(tools: ModuleType) -> None:
    text = "```python\nlayers[0](x)\n```\n\n`f[0](x)` and [a](which_gelu.ipynb)\n"
    adjusted = tools.adjusted(text, ROOT / "notebooks")
    assert adjusted == text.replace("which_gelu.ipynb", "which_gelu.md")


def test_the_navigation_has_every_page(tools: ModuleType) -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((?:\.\./)?([\w./-]+)\)", index))
    missing = {path.name for path in (ROOT / "docs").glob("*.md")} - linked - {"index.md"}
    assert missing == set()
    with pytest.raises(ValueError, match="no section that is a list of links"):
        tools.with_navigation("# A page\n")


def test_each_verdict_is_what_the_check_computes(tools: ModuleType) -> None:
    claims = tools.claims
    assert len(claims.CLAIMS) >= 60
    computed = {it.statement: it.check()[0] for it in claims.CLAIMS}
    assert computed == {it.statement: it.verdict for it in claims.CLAIMS}
    assert set(computed.values()) == {"right", "wrong", "depends"}
    assert len(claims.wrong_figures()) == 14


def test_a_check_of_a_statement_can_fail(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import softgate as sg

    check = {it.check.__name__: it.check for it in tools.claims.CLAIMS}
    assert check["small_negative_input"]()[0] == "wrong"
    monkeypatch.setattr(sg, "gelu", sg.identity)
    assert check["small_negative_input"]()[0] == "right"
    assert check["gelu_is_a_product"]()[0] == "wrong"


def test_a_bar_of_a_formula_ends_no_cell(tools: ModuleType) -> None:
    functions = [tools.gallery.sg.gelu, tools.gallery.sg.hardshrink]
    assert "&#124;" in tools.gallery.cell(tools.gallery.math(functions[1]))
    rows = tools.gallery.overview(functions).splitlines()
    assert [row.count("|") for row in rows] == [6] * 4


def test_tables_are_inserted(tools: ModuleType) -> None:
    page = tools.page_tables.inserted("a\n<!-- insert names_matrix -->\nb")
    assert page.startswith("a\n| library | gelu |")
    assert "\n| PyTorch | `gelu`<br>`GELU` |" in page
    with pytest.raises(ValueError, match="no table 'of_contents': choose from choosing"):
        tools.page_tables.inserted("<!-- insert of_contents -->")


def test_tables_of_pages_are_read(tools: ModuleType) -> None:
    read = tools.gallery.markdown_tables.rows
    errors = {row["function"]: row for row in read("accuracy.md", "The whole catalogue: max ulp")}
    assert float(errors["gelu"]["float32 value"]) < 4
    times = read("speed.md", "float32", "backward")
    assert [row for row in times if row["function"] == "gelu"]
    with pytest.raises(ValueError, match=r"docs/speed.md has no table in the section 'float31'"):
        read("speed.md", "float31")
