"""Compile src/softgate/lower/native.c to native.ll beside it, LLVM IR that is part of the package.

    python tools/compile_native.py             as `make native` does
    python tools/compile_native.py --check     fail if the text is not up to date

It needs clang and jaxlib, whose header native.c includes. LLVM reads text of older versions, so
clang must not be newer than the LLVM of the oldest llvmlite that is supported. The text is not
optimised: that is done for each CPU at run time. It is compiled for x86-64 and AArch64; without
what names a target, both must be the same.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "softgate" / "lower" / "native.c"
TEXT = SOURCE.with_suffix(".ll")
VERSIONS = range(14, 21)
"""Versions of clang: the first has opaque pointers, the last is the LLVM of llvmlite 0.45."""
OPTIONS = [
    *("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-S", "-emit-llvm", "-o", "-"),
    *("-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-asynchronous-unwind-tables"),
    *("-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-lifetime-markers"),
]
ATTRIBUTES = {"alwaysinline", "noinline", "nounwind"}
"""Those of functions that are kept: LLVM derives the others again, or they name a CPU."""


def compilers() -> dict[int, str]:
    """Return the commands of the installed versions of clang that can be used."""
    commands = {}
    for name in ("clang", *(f"clang-{version}" for version in VERSIONS)):
        if shutil.which(name):
            text = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
            if match := re.search(r"version (\d+)\.", text.stdout):
                commands[int(match[1])] = name
    return {version: name for version, name in commands.items() if version in VERSIONS}


def digest() -> str:
    """Return a digest of native.c, by which a text that is out of date is found without clang."""
    return sha256(SOURCE.read_text(encoding="utf-8").encode()).hexdigest()


def headers() -> Path | None:
    """Return the folder of jaxlib's headers."""
    jaxlib = find_spec("jaxlib")
    return Path(jaxlib.origin).parent / "include" if jaxlib and jaxlib.origin else None


def version_of_text() -> int:
    """Return the version of clang that wrote native.ll; 0 if there is none."""
    match = re.match(r".* clang (\d+)", TEXT.read_text(encoding="utf-8")) if TEXT.exists() else None
    return int(match[1]) if match else 0


def compiled(version: int) -> str:
    """Return the text of native.ll as a version of clang writes it."""
    command = [compilers()[version], *OPTIONS, "-I", str(headers()), str(SOURCE)]
    if version == 14:
        command += ["-mllvm", "-opaque-pointers"]
    x86, arm = (
        portable(
            subprocess.run(
                [*command, "-target", f"{architecture}-linux-gnu"],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )
        for architecture in ("x86_64", "aarch64")
    )
    if x86 != arm:
        raise SystemExit("native.c: the LLVM IR for x86-64 differs from that for AArch64")
    head = f"; From native.c, sha256 {digest()}, by tools/compile_native.py with clang {version}."
    return f"{head}\n\n{x86}"


def portable(text: str) -> str:
    """Return LLVM IR without comments, metadata and what names a target."""
    attributes = {
        number: " ".join(word for word in words.split() if word in ATTRIBUTES)
        for number, words in re.findall(r"(?m)^attributes #(\d+) = \{(.*)\}$", text)
    }
    text = re.sub(r"(?m)^(; |source_filename|target |attributes |!).*\n| *;.*", "", text)
    text = re.sub(r" #(\d+)", lambda match: f" {attributes[match[1]]}".rstrip(), text)
    text = re.sub(r", !\w[\w.]* !\d+|\bdso_local ", "", text)
    text = re.sub(r"align 16\b", "align 8", text)  # x86-64 aligns arrays for vectors
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    """Write the text, or check it."""
    parser = argparse.ArgumentParser(description="Compile native.c to native.ll.")
    parser.add_argument("--check", action="store_true", help="fail if it is not up to date")
    check, known = parser.parse_args().check, compilers()
    if not known:
        raise SystemExit(f"clang {VERSIONS[0]} to {VERSIONS[-1]} is required: apt install clang")
    if headers() is None:
        raise SystemExit("jaxlib, which has a header that native.c includes, is required")
    version = version_of_text()
    text = compiled(version if version in known else max(known))
    if not check:
        TEXT.write_text(text, encoding="utf-8")
    elif text != TEXT.read_text(encoding="utf-8"):
        raise SystemExit("native.ll is not what native.c compiles to: run `make native`")


if __name__ == "__main__":
    main()
