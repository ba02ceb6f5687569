"""What can be chosen about a task: names, kinds and usual values, and what is said of wrong ones.

A value may be a list, "8,48": then arms are compared under each of them, a condition of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from softgate.frameworks.block_arguments import unknown

from ..trial import Setting


@dataclass(frozen=True)
class Option:
    """One choice.

    Attributes
    ----------
    usual : int, float, str, bool or None
        What is taken unless something else is given.
    about : str
        What it is, in a few words.
    kind : type, optional
        What values are; that of the usual one by default.
    least : float, optional
        Values below are refused.
    most : float, optional
        Values above are refused.
    among : tuple of str
        The words that are accepted; all where it is empty.
    several : bool
        Whether a list makes conditions; where not, a comma is a part of the text.
    """

    usual: Setting
    about: str
    kind: type | None = None
    least: float | None = None
    most: float | None = None
    among: tuple[str, ...] = ()
    several: bool = True

    def read(self, name: str, given: Any) -> Setting:
        """Return a value, or of several their text, "8,48"; raise where it is none."""
        several: list[Any] = [given]
        if self.several and isinstance(given, str):
            several = given.split(",")
        elif self.several and isinstance(given, list | tuple):
            several = list(given)
        values = [self._one(name, value) for value in several]
        if len(set(values)) < len(values) or not values:
            raise ValueError(f"{name} = {given!r}: expected one value, or several that differ")
        return values[0] if len(values) == 1 else ",".join(map(shown, values))

    def _one(self, name: str, given: Any) -> Setting:
        kind = self.kind or type(self.usual)
        value = given.strip() if isinstance(given, str) else given
        if self.usual is None and value in (None, "", "None", "none"):
            return None
        try:
            found: Setting = _READERS[kind](value)
        except (TypeError, ValueError, OverflowError):
            expected = _EXPECTED[kind]
            raise ValueError(f"{name} = {given!r}: expected {expected} ({self.about})") from None
        if self.among and found not in self.among:
            raise unknown(f"value of {name}", str(found), self.among)
        self._check_range(name, found)
        return found

    def _check_range(self, name: str, value: Any) -> None:
        if self.least is not None and not value >= self.least:
            raise ValueError(f"{name} = {value}: expected at least {self.least:g} ({self.about})")
        if self.most is not None and not value <= self.most:
            raise ValueError(f"{name} = {value}: expected at most {self.most:g} ({self.about})")


def shown(value: Setting) -> str:
    """Return a value as it is written in a list and in a condition's label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (not isinstance(value, str) and int(value) != value):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not abs(found := float(value)) < float("inf"):
        raise ValueError
    return found


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


_READERS: dict[type, Any] = {int: _whole, float: _number, str: _word}
_EXPECTED = {int: "a whole number", float: "a number", str: "text"}


def read(task: str, options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the values of all options, the usual ones where none is given; raise for others."""
    for name in given:
        if name not in options:
            raise unknown(f"setting of {task}", name, options)
    return {
        name: option.read(name, given[name]) if name in given else option.usual
        for name, option in options.items()
    }


def conditions(
    options: Mapping[str, Option], settings: Mapping[str, Setting]
) -> tuple[tuple[str, dict[str, Setting]], ...]:
    """Return all combinations of the values of settings that are lists; without any, one unnamed.

    Examples
    --------
    >>> options = {"layers": Option(8, "how many"), "width": Option(128, "how wide")}
    >>> conditions(options, read("deep", options, {"layers": "8,48"}))
    (('layers=8', {'layers': 8}), ('layers=48', {'layers': 48}))
    """
    listed = [
        (name, _values(option, settings[name]))
        for name, option in options.items()
        if option.several and isinstance(settings[name], str) and "," in str(settings[name])
    ]
    found = []
    for values in product(*(values for _, values in listed)):
        pairs = dict(zip((name for name, _ in listed), values, strict=True))
        found.append((", ".join(f"{n}={shown(v)}" for n, v in pairs.items()), pairs))
    return tuple(found)


def _values(option: Option, text: Setting) -> Iterable[Setting]:
    return [option.read("", one) for one in str(text).split(",")]
