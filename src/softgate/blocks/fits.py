"""One approximation: what it approximates, where, how well, and the command that derives it."""

from __future__ import annotations

from dataclasses import dataclass

COMMAND = "python tools/derive_coefficients.py"


@dataclass(frozen=True)
class Fit:
    """Coefficients of a polynomial or of a rational function, lowest power first.

    `target` and `form` are mathematics in words a reader can check; `error_log2` bounds the
    relative error of the form with these very coefficients, evaluated exactly, on `interval`.
    """

    target: str
    form: str
    interval: tuple[float, float]
    error_log2: float
    coefficients: tuple[float, ...]
    denominator: tuple[float, ...] = ()
