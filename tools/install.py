"""Install packages with uv and pip's settings, or with pip where uv is missing or fails.

uv resolves and unpacks in parallel: about a third of pip's time. It does not read pip's
configuration, so indexes, links, constraints and certificates are passed on.

    python tools/install.py --constraint constraints.txt --editable ".[test]"
    python tools/install.py --python OTHER/bin/python softgate.whl
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PASSED_ON = ("index-url", "extra-index-url", "find-links", "constraint")
UV = Path(sys.executable).with_name("uv")


def pip_settings() -> dict[str, list[str]]:
    """Return what pip is configured with, by files and by the environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings: dict[str, list[str]] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        option = key.rpartition(".")[2]
        settings.setdefault(option, []).extend(str(ast.literal_eval(value)).split())
    return settings


def with_uv(arguments: list[str], cache: Path) -> bool:
    """Return whether uv has installed the packages."""
    settings = pip_settings()
    options = [
        text
        for name in PASSED_ON
        for value in settings.get(name, ())
        for text in (f"--{name}", value)
    ]
    if "no-index" in settings:
        options.append("--no-index")
    certificates = {"SSL_CERT_FILE": settings["cert"][-1]} if "cert" in settings else {}
    command = [str(UV), "pip", "install", "--quiet"]
    if "--python" not in arguments:
        command += ["--python", sys.executable]
    # As pip does: the best version of all indexes, not of the first; pre-releases only of
    # packages whose requirement names one.
    command += ["--index-strategy", "unsafe-best-match", "--prerelease", "explicit"]
    command += ["--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, *options, *arguments], env=certificates | os.environ, check=False
    )
    return done.returncode == 0


def main() -> None:
    arguments = sys.argv[1:]
    if UV.exists():
        # On the file system of the environment, so that files are linked and not copied.
        with tempfile.TemporaryDirectory(prefix="uv-", dir=sys.prefix) as cache:
            if with_uv(arguments, Path(cache)):
                return
    command = [sys.executable, "-m", "pip"]
    if "--python" in arguments:  # an option of pip itself, not of its install
        place = arguments.index("--python")
        command += arguments[place : place + 2]
        del arguments[place : place + 2]
    command += ["install", "--quiet", "--no-compile", *arguments]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
