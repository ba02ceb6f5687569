"""What a user's script says on its way and at its end, made into a curve and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from .outcome import Measured, Point
from .trainable import Diverged, Told

MOST_POINTS = 400
"""A curve with more points is thinned: neighbours become one."""
KNOWN = ("score", "loss", "validation_score", "validation_loss", "steps", "parameters", "flops")
"""What a script's result may hold for a place of its own; all other numbers are kept as well."""


class Report:
    """What a script is given to say how training goes; called as report(step, loss).

    Not a number as loss ends the trial: it has diverged.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._last: tuple[int, float] | None = None
        self.curve: list[Point] = []
        self.times: list[float] = []

    def __call__(
        self,
        step: int,
        loss: float,
        validation: float | None = None,
        *,
        validation_score: float | None = None,
        steps: int = 0,
    ) -> None:
        """Say the loss at a step, and where there are any, loss and score on validation data."""
        now_s, step = perf_counter(), int(step)
        if self._last is not None and step > self._last[0]:
            self.times.append((now_s - self._last[1]) / (step - self._last[0]))
        value = number("loss", loss)
        point = Point(
            step,
            value,
            None if validation is None else number("validation", validation),
            None if validation_score is None else number("validation_score", validation_score),
        )
        self._add(point)
        self._told(step, max(step, int(steps)) if steps else 0, value)
        if not math.isfinite(value):
            raise Diverged(step, Measured(curve=tuple(self.curve), steps=step))
        self._last = (step, perf_counter())

    def _add(self, point: Point) -> None:
        self.curve.append(point)
        if len(self.curve) > MOST_POINTS:
            pairs = zip(self.curve[0::2], self.curve[1::2], strict=False)
            odd = self.curve[-1:] if len(self.curve) % 2 else []
            self.curve = [_joined(*pair) for pair in pairs] + odd

    def measured(self, returned: Any, tuning: bool) -> Measured:
        """Return what came out, from what the script returned."""
        given = dict(returned) if isinstance(returned, Mapping) else {"score": returned}
        if "score" not in given:
            raise ValueError(
                f"run returned a mapping with {', '.join(map(repr, given)) or 'nothing'}: expected "
                "a 'score' in it"
            )
        known = {name: number(name, given[name]) for name in KNOWN if given.get(name) is not None}
        score = known.get("score")
        if score is None:
            raise ValueError("run returned no score: expected a number, or a mapping with 'score'")
        if not math.isfinite(score):
            steps = self._last[0] if self._last else 0
            raise Diverged(steps, Measured(curve=tuple(self.curve)), "the score is not finite")
        more = {str(n): number(str(n), v) for n, v in given.items() if n not in KNOWN}
        return Measured(
            score=None if tuning else score,
            loss=None if tuning else known.get("loss"),
            validation_score=known.get("validation_score", score if tuning else None),
            validation_loss=known.get("validation_loss"),
            curve=tuple(self.curve),
            steps=int(known.get("steps", self._last[0] if self._last else 0)),
            parameters=int(known.get("parameters", 0)),
            flops=known.get("flops"),
            more=more or None,
        )


def number(what: str, given: Any) -> float:
    """Return a number of Python's, made of NumPy's or a tensor; TypeError for anything else."""
    if isinstance(given, str):
        raise TypeError(f"{what} = {given!r}: expected a number")
    try:
        return float(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{what} is a {type(given).__name__}: expected a number ({error})"
        ) from None


def _joined(first: Point, second: Point) -> Point:
    return Point(
        second.step,
        (first.train_loss + second.train_loss) / 2,
        second.validation_loss if second.validation_loss is not None else first.validation_loss,
        second.validation_score if second.validation_score is not None else first.validation_score,
    )
