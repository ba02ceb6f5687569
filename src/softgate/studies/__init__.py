"""What softgate measures about functions and models: one package or module per public function."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called as `progress(label, done, total)`: the step that is running, and how many are done."""


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in singular or plural.

    Examples
    --------
    >>> counted(1, "site"), counted(1200, "site")
    ('1 site', '1,200 sites')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
