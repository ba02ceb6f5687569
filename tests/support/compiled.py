"""Emitted C, compiled and called: what test_emit_c.py measures."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from softgate.lower import c

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99")
QUICK = ("-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno")
"""No loop is vectorised: compiling all of the catalogue so takes seconds."""
FAST = tuple(c.FLAGS.split())
SUFFIX = {"float32": "f32", "float64": "f64"}
COMPILER = shutil.which("gcc") or shutil.which("cc")
MISSING = "needs a C compiler: install gcc"


def compiled(
    text: str,
    folder: Path,
    name: str,
    flags: tuple[str, ...] = QUICK,
    compiler: str | None = COMPILER,
) -> tuple[Path, str]:
    """Return the library made of a C source, every warning an error, and the compiler's output."""
    assert compiler is not None
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    command = [compiler, *STRICT, *flags, "-shared", "-fPIC", str(source), "-o", str(library)]
    result = subprocess.run(
        [*command, "-lm"], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    return library, result.stderr


class Library:
    """The loops of a library, on NumPy arrays."""

    def __init__(self, path: Path) -> None:
        self.symbols = ctypes.CDLL(str(path))

    def __call__(self, name: str, x: Any, *parameters: float) -> Any:
        y = np.full_like(x, 42.0)
        loop = self.symbols[f"{name}_{SUFFIX[x.dtype.name]}"]
        loop.restype = None
        loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        loop.argtypes += [ctypes.c_double] * len(parameters)
        loop(x.ctypes.data, y.ctypes.data, x.size, *parameters)
        return y


def same_bits(found: Any, expected: Any) -> bool:
    """Tell whether two arrays are the same: 0 with its sign; any NaN is NaN."""
    assert found.dtype == expected.dtype
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return bool(np.all(equal | (np.isnan(found) & np.isnan(expected))))
