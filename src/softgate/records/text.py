"""Text for any output: without control characters, and with signs that its encoding has.

Names of layers, messages of exceptions and texts in files may hold escape sequences, which would
change a terminal, and characters that SVG and XML forbid: `visible` replaces them, and everything
that softgate prints or draws passes through it.

The standard output on Windows is often cp1252, and that of a container ASCII: without the
replacement of other signs, printing a finished result would raise UnicodeEncodeError.
"""

from __future__ import annotations

import codecs
import html
import re
import sys

ASCII = {
    "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-",
    "…": "...", "±": "+-", "′": "'", "″": "''", "√": "sqrt", "∞": "inf", "→": "->", "←": "<-",
    "φ": "phi", "Φ": "Phi", "σ": "sigma", "π": "pi", "α": "alpha", "β": "beta", "λ": "lambda",
    "µ": "u", "μ": "u", "²": "^2", "³": "^3", "é": "e", "ö": "o", "ü": "u", "∂": "d", "∈": "in",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u2009": " ", "\u00a0": " ", "█": "#", "░": ".",
}  # fmt: skip
"""What to write for a sign that an encoding lacks; others become an escape such as \\u2713."""


CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, delete, C1
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible signs, text direction
    "\ud800-\udfff\ufff9-\ufffb\ufffe\uffff]"  # no characters: XML and UTF-8 forbid them
)
"""What changes a terminal, hides text or makes XML invalid."""
LINE_CONTROL = re.compile(f"{CONTROL.pattern[:-1]}\t\n]")
"""The same, and what a text of one line cannot hold."""
LONGEST = 1000
"""Characters of a message; the texts of some exceptions have millions."""
REASON_LENGTH = 300
"""Characters of an exception's text in a message."""


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return a text whose control characters are written as escapes, such as \x1b.

    Tabs and line breaks stay, unless the text has to be `one_line`, as a name has.

    Examples
    --------
    >>> visible("layer\x1b[31m"), visible("a\nb", one_line=True)
    ('layer\\x1b[31m', 'a\\nb')
    """
    pattern = LINE_CONTROL if one_line else CONTROL
    return pattern.sub(lambda match: _escaped(match[0]), text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def escape(text: str, quote: bool = True) -> str:
    """Return a text for HTML and SVG: visible, with &, <, > and quotes as entities.

    Examples
    --------
    >>> escape("a < b")
    'a &lt; b'
    """
    return html.escape(visible(text), quote)


def message_line(text: object, most: int = LONGEST) -> str:
    r"""Return a message as one line without control characters, of at most `most` characters.

    Examples
    --------
    >>> message_line("two\n  lines"), message_line("x" * 50, 10)
    ('two lines', 'xxxxxxxxx…')
    """
    start = str(text)[: 4 * most]  # more cannot be shown, even if most of it are spaces
    line = visible(" ".join(start.split()), one_line=True)
    return line if len(line) <= most and len(start) < 4 * most else f"{line[: most - 1]}…"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, shortened; of a syntax error without place."""
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines()
    return message_line(lines[0], REASON_LENGTH) if lines else "no message"


def a_type(value: object) -> str:
    """Return the name of a value's type with its article, for a message.

    Examples
    --------
    >>> a_type(3), a_type([])
    ('an int', 'a list')
    """
    name = visible(type(value).__name__, one_line=True)
    return f"{'an' if name.lower().startswith(('a', 'e', 'i', 'o', 'nd')) else 'a'} {name}"


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
    """Return a visible text whose characters an encoding has, by default that of stdout.

    Examples
    --------
    >>> printable("p ≥ 0.05, φ(x)", "ascii")
    'p >= 0.05, phi(x)'
    """
    text = visible(text)
    if text.isascii():
        return text
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, ERRORS).decode(encoding)
