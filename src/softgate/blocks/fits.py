"""The record of one approximation: target, form, interval, error and coefficients."""

from __future__ import annotations

from dataclasses import dataclass

COMMAND = "python tools/fits/derive_coefficients.py"


@dataclass(frozen=True)
class Fit:
    """Coefficients of a polynomial or of a rational function, lowest power first.

    `target` and `form` state the mathematics; `error_log2` bounds the
    relative error of the form with these coefficients, evaluated exactly, on `interval`.
    """

    target: str
    form: str
    interval: tuple[float, float]
    error_log2: float
    coefficients: tuple[float, ...]
    denominator: tuple[float, ...] = ()
