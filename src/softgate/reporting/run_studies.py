"""Run the studies of a report within a time budget, and collect their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from softgate.runtime.activation import Activation
from softgate.runtime.packages import explained, is_missing
from softgate.runtime.records import Record

from .section import MissingRecord, R, Results
from .sections import FORMULAS, STUDIES
from .sections.units import LoadedModel

BUDGET_S = 75.0
"""Seconds for certificates; timing takes 60 % of that, everything else about 60 s more."""
SPARE_S = 60.0
"""Seconds for other studies; if they take longer, certificates have less time. With both and 10 s
to draw the page, a report takes less than three minutes on two cores."""
SHARES = {"speed": 0.35, "inside": 0.1, "layer": 0.15, "accuracy": 1.0}
"""The share of the budget for each timed study."""

ReportProgress = Callable[[str, int, int, str], None]
"""Called with a study, its number, the number of studies, and its current step."""


@dataclass
class ReportRun:
    """One run of all studies; if a study raises, the reason is recorded in place of its record."""

    formulas: Sequence[Activation]
    budget_s: float
    progress: ReportProgress | None
    model: LoadedModel | None = None
    records: dict[str, Record | MissingRecord] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    name: str = ""
    """The running study."""

    def __post_init__(self) -> None:
        self.start = time.perf_counter()
        self.names = [name for name in STUDIES if self.formulas or name != FORMULAS]

    def run(self) -> None:
        """Run all studies in their order."""
        for name in self.names:
            self.name = name
            self.step("", 0, 0)
            start = time.perf_counter()
            self.records[name] = self._record(STUDIES[name])
            self.seconds[name] = time.perf_counter() - start

    def _record(self, study: Callable[[ReportRun], Record]) -> Record | MissingRecord:
        try:
            return study(self)
        except MissingRecord as missing:
            return MissingRecord(self.name, f"needs {missing}", skipped=missing.skipped)
        except ImportError as error:
            return MissingRecord(self.name, explained(error), skipped=is_missing(error))
        except Exception as error:  # frameworks and users' formulas may raise anything
            return MissingRecord(self.name, f"{type(error).__name__}: {error}")

    def take(self, study: str, kind: type[R]) -> R:
        """Return the record of an earlier study; raise `MissingRecord` if there is none."""
        return Results(self.records).take(study, kind)

    def step(self, what: str, done: int, total: int) -> None:
        """Report the progress of the running study."""
        if self.progress is not None:
            detail = f"{what} ({done}/{total})" if what and total else what
            self.progress(self.name, self.names.index(self.name) + 1, len(self.names), detail)

    def step_seconds(self, what: str, done: float, total: float) -> None:
        """Report the progress of a study that counts seconds."""
        self.step(f"{what}, {done:.0f} of {total:.0f} s", 0, 0)

    def budget(self) -> float:
        """Return the seconds for the running study."""
        return self.budget_s * SHARES[self.name]

    def remaining(self) -> float:
        """Return the seconds for the last study; fewer if the other studies took longer."""
        left = self.start + self.budget_s + SPARE_S - time.perf_counter()
        return max(1.0, min(self.budget(), left))
