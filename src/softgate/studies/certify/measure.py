"""Measures every quantity in every format, and records failures as findings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, Format, dtype_of, round_to, ulp
from softgate.runtime.activation import Activation
from softgate.runtime.kernels import is_default
from softgate.runtime.registry import activations, label
from softgate.runtime.threads import get_threads

from .. import Progress
from ..accuracy import Reference, samples, sweep
from ..accuracy.regions import Regions, RegionTally, marks, roots_of
from ..reproducibility.digests import digest, operands, published_digest
from ..subjects import InvalidSubjectError, Session, Subject, SubjectFailure
from ..subjects.description import RAISED, WRONG_DTYPE
from ..subjects.session import InProcessSession
from .invariance import InvarianceChecks
from .record import CallFault, Dependence, ErrorProfile, Measurement, RegionErrors, SpecialResult

Array = npt.NDArray[Any]
ORDER = ("float32", "float64", "float16", "bfloat16")
"""Formats in the order in which they are measured."""
CLOSE_ULP = 4.0
"""Tolerance of finite special results other than 0; their errors are measured separately."""
FAR = 2.0**20
"""An input where a function that is 0 from some point on is 0, and one that tends to 0 is not."""
NO_DERIVATIVE = "has no automatic derivative here"
SECOND = "; a second callable can compute it"


@dataclass(frozen=True)
class CertifyPlan:
    """What to measure; None stands for all that the subject supports."""

    quantities: tuple[str, ...] | None
    dtypes: tuple[str, ...] | None
    samples: Mapping[str, int]
    exhaustive: bool
    seed: int


class CertifyRun:
    """Measures one subject as one function."""

    def __init__(
        self,
        session: Session,
        activation: Activation,
        plan: CertifyPlan,
        subject: Subject,
        one_core: Callable[[], Session] | None = None,
        progress: Progress | None = None,
        own: Activation | None = None,
    ) -> None:
        self.session, self.activation, self.plan, self.subject = session, activation, plan, subject
        self.one_core, self.progress = one_core, progress
        self.entry, self.parameters = activation.entry, activation.parameters
        self.own = own
        self.marks = marks(self.entry, tuple(self.parameters.items()))
        self.references: dict[str, Reference] = {}
        self.saved: sweep.SweepCheckpoint | None = None
        self.findings: list[CallFault] = []
        self.untested: list[str] = []
        self._raised: list[CallFault] = []
        """The findings in which the first call raised."""

    def save_to(self, file: Path) -> None:
        """Save the state of sweeps in a file."""
        versions = dict(self.session.information.versions)
        key = {
            "subject": self.subject.shown,
            "code": self.subject.fingerprint,
            "function": label(self.activation),
        } | versions
        self.saved = sweep.SweepCheckpoint(file, key)
        self.saved.check()

    def run(self) -> list[Measurement]:
        """Return the measurements; failures are in `findings`, what was left out in `untested`."""
        measurements: list[Measurement] = []
        refused: list[str] = []
        taken = self.plan.dtypes or self.session.information.dtypes or ORDER
        for dtype in taken:
            for quantity in self._quantities(dtype):
                reason = self._refusal(quantity, FORMATS[dtype])
                if reason is not None:
                    refused.append(reason)
                    continue
                measurement = self._guarded(quantity, FORMATS[dtype])
                if measurement is not None:
                    measurements.append(measurement)
        if not measurements and all(finding in self._raised for finding in self.findings):
            raise InvalidSubjectError(self._not_callable(refused))
        self.untested += refused
        if self.saved is not None:
            self.saved.remove()
        return measurements

    def _not_callable(self, refused: list[str]) -> str:
        """Return why nothing was measured: the subject raises even at a few plain numbers."""
        reason = refused[0] if refused else self.untested[0]
        guessed = self.subject.framework is None and self.session.information.framework == "numpy"
        hint = "; it was called with NumPy arrays: name its framework, as with --framework torch"
        return f"{self.subject.shown} could not be called: {reason}{hint if guessed else ''}"

    def _quantities(self, dtype: str) -> list[str]:
        known = self.session.information.quantities
        wanted = self.plan.quantities or ("value", "slope", "curvature")
        for quantity in wanted:
            if quantity not in known:
                line = f"{quantity}: {self.subject.text} {NO_DERIVATIVE}"
                line += SECOND if quantity == "slope" else ""
                if line not in self.untested:
                    self.untested.append(line)
        return [quantity for quantity in wanted if quantity in known]

    def _refusal(self, quantity: str, fmt: Format) -> str | None:
        """Return why a quantity cannot be measured in a format, or None."""
        try:
            self.session.evaluate(quantity, probe(fmt))
        except SubjectFailure as error:
            named = self.plan.dtypes is not None and quantity == "value"
            # NumPy's functions without a loop for 16 bits return a wider format.
            widened = error.kind == WRONG_DTYPE and fmt.bits == 16
            if (error.kind == RAISED or widened) and not named:
                return f"{fmt.name} {quantity}: {error}"
            self._find(quantity, fmt, error)
            if error.kind == RAISED:
                self._raised.append(self.findings[-1])
                return f"{fmt.name} {quantity}: {error}"
            return f"{fmt.name} {quantity}: {error.kind}"
        return None

    def _find(self, quantity: str, fmt: Format, error: SubjectFailure) -> None:
        self.findings.append(CallFault(quantity, fmt.name, error.kind, error.message))

    def _guarded(self, quantity: str, fmt: Format) -> Measurement | None:
        try:
            return self._measure(quantity, fmt)
        except SubjectFailure as error:
            self._find(quantity, fmt, error)
            self.untested.append(f"{fmt.name} {quantity}: {error.kind} before all was measured")
            return None

    def _measure(self, quantity: str, fmt: Format) -> Measurement:
        reference = self.references.setdefault(
            quantity, Reference(self.entry, quantity, self.parameters, self.marks["breaks"])
        )
        regions = Regions(fmt, roots_of(self.marks, quantity))
        count = self.plan.samples.get(fmt.name, 0)
        x = samples.inputs_for(reference, regions, fmt, self.marks, count, self.plan.seed)
        name = f"{fmt.name} {quantity}"
        all_of_them = self.plan.exhaustive and fmt is FLOAT32 and quantity != "curvature"
        self._report(name, 0, sweep.INPUTS if all_of_them else x.size)
        y = self.session.evaluate(quantity, x)
        sample = samples.measure(
            reference, regions, fmt, x, y, self.plan.seed, partial(self.session.evaluate, quantity)
        )
        seen = sample.inputs
        tallies, profile = sample.tallies, sample.profile
        if all_of_them:
            state = self._sweep(quantity, reference, regions, name)
            tallies, profile, seen = state.tallies, state.profile, sweep.INPUTS
        return Measurement(
            quantity=quantity,
            dtype=fmt.name,
            inputs=seen,
            exhaustive=all_of_them or fmt.bits == 16,
            truth=_truth_text(reference, fmt, sample.by_arb),
            margin_ulp=sample.margin,
            kernel_ulp=None if sample.by_arb else reference.kernel_ulp,
            kernel_points=0 if sample.by_arb else reference.checked,
            stated_ulp=self._stated(quantity, fmt),
            digest=self._digest(quantity, fmt),
            regions=_regions(regions, tallies),
            specials=tuple(specials(reference, quantity, fmt, self.session)),
            dependences=tuple(self._dependences(quantity, x, y)),
            profile=ErrorProfile(*profile.steps()),
        )

    def _sweep(
        self, quantity: str, reference: Reference, regions: Regions, name: str
    ) -> sweep.SweepState:
        saved = self.saved
        try:
            return sweep.sweep(
                evaluator(self.session, quantity),
                reference,
                regions,
                threads=get_threads(),
                state=None if saved is None else saved.read(regions, name),
                stop=sweep.INPUTS,
                progress=lambda done: self._report(name, done, sweep.INPUTS),
                save=None if saved is None else lambda state: saved.offer(state, name),
            )
        except BaseException:
            if saved is not None:
                saved.save_last()
            raise

    def _dependences(self, quantity: str, x: Array, y: Array) -> list[Dependence]:
        checks = InvarianceChecks(self.session, quantity, x, self.plan.seed)
        return [
            checks.place(x, y),
            checks.length(),
            checks.stride(),
            checks.alignment(),
            checks.threads(get_threads(), self.one_core),
            checks.empty(),
        ]

    def _stated(self, quantity: str, fmt: Format) -> float | None:
        """Return the bound of softgate's activations; None for curvatures and where none holds."""
        if self.own is None or quantity == "curvature":
            return None
        if fmt.bits == 16:
            # Correctly rounded; the ulp of the scale may be half of the ulp of the slope.
            return 0.5 if quantity == "value" else 1.0
        usual = self.entry.user is None and is_default(self.entry, _catalogued(self.activation))
        if usual:
            return float(getattr(self.entry.bounds[fmt.name], quantity))
        return self.entry.bound(quantity, fmt.name, self.parameters)

    def _digest(self, quantity: str, fmt: Format) -> str | None:
        """Return the published digest if code of softgate reproduces it, else None."""
        own = self.own
        published = None if own is None else published_digest(label(own), quantity, fmt.name)
        if own is None or published is None:
            return None
        results = self.session.evaluate(quantity, *operands(own, quantity, fmt.name))
        return published if digest(results) == published else None

    def _report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)


def _catalogued(activation: Activation) -> Mapping[str, float]:
    """Return the parameters of the catalogue's entry of that name."""
    known = activations().get(activation.name)
    return activation.parameters if known is None else known.parameters


def _truth_text(reference: Reference, fmt: Format, by_arb: bool) -> str:
    kinks = reference.kinks(fmt)
    places = ", ".join(f"{place:g}" for place in kinks)
    extra = f"; at {places} any number between its two sides is right" if kinks else ""
    if by_arb:
        search = "; errors near the largest ones were searched too" if fmt is FLOAT64 else ""
        return f"against arb{search}{extra}"
    return (
        f"against softgate's float64 kernel, itself within {reference.kernel_ulp:.3g} of its ulps "
        f"of arb at {reference.checked:,} inputs: errors are correct to "
        f"{reference.margin(fmt):.1g} ulp{extra}"
    )


def _regions(regions: Regions, tallies: list[RegionTally]) -> tuple[RegionErrors, ...]:
    return tuple(
        RegionErrors(
            name=name,
            mean_ulp=tally.sum_ulp / tally.inputs,
            **{key: getattr(tally, key) for key in _SHARED},
        )
        for name, tally in zip(regions.names, tallies, strict=True)
        if tally.inputs
    )


_SHARED = tuple(
    key for key in RegionErrors.__dataclass_fields__ if key in RegionTally.__dataclass_fields__
)


def evaluator(session: Session, quantity: str) -> sweep.Evaluate:
    """Return the function that computes a block of a sweep.

    softgate's activations run concurrently on the calling threads, others behind a lock.
    """
    if isinstance(session, InProcessSession) and session.ours is not None:
        return sweep.in_slices(session.ours.activation, quantity)
    lock = threading.Lock()

    def evaluate(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        with lock:
            return session.evaluate(quantity, x)

    return evaluate


def specials(
    reference: Reference, quantity: str, fmt: Format, session: Session
) -> list[SpecialResult]:
    """Return the results at ±0, ±inf, NaN and the ends of the subnormal range."""
    x = _special_inputs(fmt)
    # Padded to the length of the probe, because some frameworks recompile for each length.
    filled = np.concatenate([x, probe(fmt)[x.size :]])
    y = session.evaluate(quantity, filled)[: x.size].astype(np.float64)
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
    return [_judged(reference, fmt, float(a), float(b)) for a, b in zip(wide, y, strict=True)]


def _special_inputs(fmt: Format) -> Array:
    smallest, normal = 2.0**fmt.smallest_exponent, 2.0**fmt.min_exponent
    sizes = np.array([0.0, smallest, normal - smallest, np.inf, np.nan])
    both = np.stack([-sizes, sizes], axis=1).ravel()
    with np.errstate(invalid="ignore"):
        return both.astype(dtype_of(fmt))


def _judged(reference: Reference, fmt: Format, x: float, y: float) -> SpecialResult:
    if np.isnan(x):
        sign = "-" if np.signbit(x) else ""
        return SpecialResult(f"{sign}nan", "nan", repr(y), bool(np.isnan(y)))
    expected, signed = _expected(reference, fmt, x)
    if np.isnan(expected):
        return SpecialResult(repr(x), "any: there is no limit", repr(y), True)
    rounded = float(round_to(np.float64(expected), fmt))
    unit = float(ulp(np.float64(rounded), fmt))
    right = y == rounded or abs(y - rounded) <= CLOSE_ULP * unit
    if y == 0 and signed:
        right = right and np.signbit(y) == np.signbit(expected)
    shown = repr(rounded) if rounded or signed else "0.0 of any sign"
    return SpecialResult(repr(x), shown, repr(y), bool(right))


def _expected(reference: Reference, fmt: Format, x: float) -> tuple[float, bool]:
    """Return the exact result at a special input, and whether the sign of a zero is checked.

    A zero has the sign of the neighbouring values; zeros of slopes may have any sign.
    """
    value = reference.quantity == "value"
    if np.isinf(x):
        from softgate.lower.limits import limit_at_infinity

        limit = limit_at_infinity(reference.root, int(np.sign(x)), reference.parameters).limit
        return limit, value and not reference.is_zero(float(np.copysign(FAR, x)))
    exact = _true(reference, fmt, x)
    if exact == 0 and value:
        beside = _true(reference, fmt, float(np.copysign(2.0**fmt.smallest_exponent, x)))
        return float(np.copysign(0.0, beside)), beside != 0
    return exact, value


def _true(reference: Reference, fmt: Format, x: float) -> float:
    place = np.array([x])
    return float(reference.against_arb(place, place, fmt).truth[0])


def probe(fmt: Format) -> Array:
    """Return a few ordinary inputs at which every activation is defined."""
    few = np.concatenate([[-2.5, -0.5, 0.25, 1.0, 3.0], np.linspace(-4, 4, 12)])
    return few.astype(dtype_of(fmt))
