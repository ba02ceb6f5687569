"""Text for any encoding: signs that an output lacks are replaced by ASCII ones.

The standard output on Windows is often cp1252, and that of a container ASCII: without this,
printing a finished result would raise UnicodeEncodeError.
"""

from __future__ import annotations

import codecs
import sys

ASCII = {
    "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-",
    "…": "...", "±": "+-", "′": "'", "″": "''", "√": "sqrt", "∞": "inf", "→": "->", "←": "<-",
    "φ": "phi", "Φ": "Phi", "σ": "sigma", "π": "pi", "α": "alpha", "β": "beta", "λ": "lambda",
    "µ": "u", "μ": "u", "²": "^2", "³": "^3", "é": "e", "ö": "o", "ü": "u", "∂": "d", "∈": "in",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u2009": " ", "\u00a0": " ", "█": "#", "░": ".",
}  # fmt: skip
"""What to write for a sign that an encoding lacks; others become an escape such as \\u2713."""


def replacement(sign: str) -> str:
    """Return ASCII text for one character."""
    return ASCII.get(sign) or sign.encode("ascii", "backslashreplace").decode()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(replacement, error.object[error.start : error.end])), error.end


ERRORS = "softgate.ascii"
codecs.register_error(ERRORS, _replace)


def printable(text: str, encoding: str | None = None) -> str:
    """Return a text whose characters an encoding has, by default that of the standard output.

    Examples
    --------
    >>> printable("p ≥ 0.05, φ(x)", "ascii")
    'p >= 0.05, phi(x)'
    """
    if text.isascii():
        return text
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, ERRORS).decode(encoding)
