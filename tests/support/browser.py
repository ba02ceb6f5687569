"""Headless Chromium without a network, for pages opened from disk.

A page that writes to its console, throws, or requests anything but its own file fails the test that
opened it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
INSTALL = [
    "install",
    "--yes",
    "--no-install-recommends",
    "-o",
    "DPkg::Lock::Timeout=300",
    "chromium",
]
TIMEOUT_MS = 30_000

OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (!entry.hadRecentInput) window.shifts.push(entry.value);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
PAINT = "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"


def executable() -> str:
    """Return the path of Chromium; install Debian's if there is none and the user is root."""
    result = next(filter(None, map(shutil.which, NAMES)), None)
    apt = shutil.which("apt-get")
    if result is None and apt and os.geteuid() == 0:
        for words in (["update"], INSTALL):
            subprocess.run([apt, "--quiet", *words], check=False, capture_output=True, timeout=600)
        result = shutil.which("chromium")
    if result is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    return result


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a running browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = executable()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Any,
    file: Path,
    width: int = 1400,
    theme: str = "light",
    heard: tuple[str, ...] = ("error", "assert"),
) -> Iterator[Any]:
    """Yield a page opened from disk; fail if it reports a problem while it is open.

    `heard` are the kinds of console messages that count as problems.
    """
    phone = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": 844 if phone else 900},
        color_scheme=theme,
        has_touch=phone,
        is_mobile=phone,
        offline=True,
    )
    context.set_default_timeout(TIMEOUT_MS)
    context.add_init_script(OBSERVE)
    page = context.new_page()
    problems: list[str] = []

    def listen(message: Any) -> None:
        if message.type in heard:
            problems.append(f"{message.type}: {message.text}")

    page.on("console", listen)
    page.on("pageerror", lambda error: problems.append(f"thrown: {error}"))
    page.on("request", lambda request: _watch(request.url, file, problems))
    try:
        page.goto(file.as_uri())
        yield page
        page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    finally:
        context.close()
        assert not problems, problems  # also if the page never became ready


def _watch(url: str, file: Path, problems: list[str]) -> None:
    if url.partition("#")[0] != file.as_uri() and not url.startswith("data:"):
        problems.append(f"request: {url}")


def settle(page: Any) -> None:
    """Wait until changes are drawn."""
    page.evaluate(
        "async () => { for (let i = 0; i < 3; i++) "
        "await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))); }"
    )


def shift(page: Any) -> float:
    """Return the cumulative layout shift."""
    return float(sum(page.evaluate("window.shifts")))


def overflow(page: Any) -> int:
    """Return the number of pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
