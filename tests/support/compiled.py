"""Emitted C and CUDA C, compiled for the host and called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from softgate.lower.emit import c

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
STRICT = {"c": ("-std=c99", *WARNINGS), "cu": ("-x", "c++", "-std=c++17", *WARNINGS)}
"""Flags by the extension of the source."""
QUICK = ("-Og", "-march=native", "-ffp-contract=off", "-fno-math-errno")
"""No loop is vectorised: compiling all of the catalogue takes seconds, half of those of -O1."""
FAST = tuple(c.FLAGS.split())
SUFFIX = {"float32": "f32", "float64": "f64"}
COMPILER = shutil.which("gcc") or shutil.which("cc")
MISSING = "needs a C compiler: install gcc"
HOST_COMPILER = shutil.which("g++") or shutil.which("c++")
"""The C++ compiler that compiles CUDA C for the host."""


def compiled(
    text: str,
    folder: Path,
    name: str,
    flags: tuple[str, ...] = QUICK,
    compiler: str | None = COMPILER,
    extension: str = "c",
) -> tuple[Path, str]:
    """Return the library made of a source, every warning an error, and the compiler's output."""
    assert compiler is not None
    source, library = folder / f"{name}.{extension}", folder / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    command = [compiler, *STRICT[extension], *flags, "-shared", "-fPIC", str(source)]
    command += ["-o", str(library)]
    result = subprocess.run(
        [*command, "-lm"], capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, result.stderr
    return library, result.stderr


class Library:
    """The loops of a library, on NumPy arrays."""

    def __init__(self, path: Path) -> None:
        self.symbols = ctypes.CDLL(str(path))

    def __call__(self, name: str, x: Any, *parameters: float, results: int = 1) -> Any:
        """Return the result of a loop over one array or a tuple of them; several as a tuple."""
        operands = x if isinstance(x, tuple) else (x,)
        outputs = [np.full_like(operands[0], 42.0) for _ in range(results)]
        arrays = [*operands, *outputs]
        loop = self.symbols[f"{name}_{SUFFIX[arrays[0].dtype.name]}"]
        loop.restype = None
        loop.argtypes = [ctypes.c_void_p] * len(arrays) + [ctypes.c_size_t]
        loop.argtypes += [ctypes.c_double] * len(parameters)
        loop(*(array.ctypes.data for array in arrays), arrays[0].size, *parameters)
        return outputs[0] if results == 1 else tuple(outputs)


def same_bits(result: Any, expected: Any) -> bool:
    """Return whether two arrays are equal: zeros with their signs, and any NaN equals any NaN."""
    assert result.dtype == expected.dtype
    equal = (result == expected) & (np.signbit(result) == np.signbit(expected))
    return bool(np.all(equal | (np.isnan(result) & np.isnan(expected))))
