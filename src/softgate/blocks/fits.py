"""The approximations of the building blocks: target, form, interval, error and coefficients.

They stand in `fits.toml`, which `python tools/fits/derive_coefficients.py` writes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def _fit(fields: dict[str, Any]) -> Fit:
    of_lists: dict[str, Any] = {k: tuple(v) for k, v in fields.items() if isinstance(v, list)}
    return Fit(**(fields | of_lists))


FITS = {
    family: {name: _fit(fields) for name, fields in fits.items()}
    # Found without the package, which is not there while fits are derived.
    for family, fits in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""Every fit by family and name."""

GAUSSIAN, EXPONENTIAL, LOGARITHM, HYPERBOLIC, ERF, TRIGONOMETRY = (
    # A family that is being derived for the first time has no fits yet.
    FITS.get(family, {})
    for family in ("gaussian", "exponential", "logarithm", "hyperbolic", "erf", "trigonometry")
)
