"""Conditions under which a diagnosis fails: `dead>5%`, `gradient_ratio<1e-3`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches

from .record import Diagnosis
from .verdicts import percent

OF_SITES = ("dead", "trapped", "flat", "negative", "saturated")
"""Shares of a site's units or inputs; the worst site counts."""
OF_ALL = ("gradient_ratio", "nan", "unseen")
_FORM = re.compile(r"\s*(\w+)\s*([<>])\s*([^%\s]+)\s*(%?)\s*")


@dataclass(frozen=True)
class Condition:
    """One figure that must not be beyond a limit."""

    figure: str
    above: bool
    limit: float
    text: str

    def failure(self, seen: Diagnosis) -> str | None:
        """Return in words what is beyond the limit, or None; what is NaN is beyond any.

        Of what nobody saw nobody can say that it holds: where no activation had an input, or no
        gradient came, every condition on them fails.
        """
        if self.figure not in ("nan", "unseen") and not any(site.inputs for site in seen.sites):
            return f"{self.text}: no activation was seen"
        if self.figure == "gradient_ratio" and not _flowed(seen):
            return f"{self.text}: no gradient was seen"
        found = self._found(seen)
        if found is None:
            return None
        value, where = found
        beyond = value > self.limit if self.above else value < self.limit
        if not (beyond or math.isnan(value)):
            return None
        shown = percent(value) if self.figure in OF_SITES else f"{value:.3g}"
        return f"{self.text}: {self.figure} is {shown}{where}"

    def _found(self, seen: Diagnosis) -> tuple[float, str] | None:
        if self.figure == "gradient_ratio":
            return None if seen.gradient_ratio is None else (seen.gradient_ratio, "")
        if self.figure == "nan":
            count = sum(trouble.count for site in seen.sites for trouble in site.not_finite)
            return float(count), ""
        if self.figure == "unseen":
            return float(sum(len(one.names) for one in seen.unseen)), ""
        worst: tuple[float, str] | None = None
        for site in seen.sites:
            value = getattr(site, self.figure)
            if self.figure == "dead":
                value = max(value, site.dead_lately)
            if value is None:
                continue
            further = worst is None or (value > worst[0] if self.above else value < worst[0])
            if further or math.isnan(value):
                worst = (value, f" at {site.name} ({site.function}, {site.inputs:,} inputs)")
        return worst


def _flowed(seen: Diagnosis) -> bool:
    return any(site.gradient_input is not None for site in seen.sites)


def condition(text: str) -> Condition:
    """Return the condition that a text says, such as `dead>5%`.

    Examples
    --------
    >>> condition("dead>5%").limit
    0.05
    >>> condition("gradient_ratio<1e-3").above
    False
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition: write one such as dead>5%")
    figure, sign, number, of_hundred = found.groups()
    known = (*OF_SITES, *OF_ALL)
    if figure not in known:
        near = get_close_matches(figure, known, 1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"{text!r}: there is no figure {figure!r}; {meant}")
    try:
        limit = float(number)
    except ValueError:
        raise ValueError(f"{text!r}: {number!r} is no number: write one such as dead>5%") from None
    if not math.isfinite(limit):
        raise ValueError(f"{text!r}: {number!r} is no limit")
    return Condition(figure, sign == ">", limit / 100 if of_hundred else limit, text.strip())
