"""The certificate: measurements, findings and what was not tested, as a frozen record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record

from ..accuracy.regions import SPECIAL_VALUES

NOT_TESTED, SAME, DIFFERS = "not tested", "same bits", "differs"


@dataclass(frozen=True)
class RegionErrors:
    """The errors at the inputs of one region, which extends from `low` to `high`.

    Attributes
    ----------
    max_ulp, worst, computed, expected : float
        The largest error in ulps of the scale, its input, the computed and the exact result.
        Infinite for NaN or infinity where the exact result is finite.
    mean_ulp : float
        Over all inputs of the region, infinite errors included.
    rounded, undecided : int
        Correctly rounded results, and results that the reference cannot decide because they are too
        near to a tie.
    not_numbers : int
        NaN or an infinity where the exact result is finite, or vice versa.
    wrong_signs, wrong_zeros : int
        Numbers of the other sign, from 4 ulp on; zeros of the other sign.
    lost, flushed : int
        Zeros where the exact result is normal, and where it is subnormal.
    breaks, largest_break_ulp
        Number of neighbouring inputs where computed and exact result change in opposite directions,
        and the largest such change.
    """

    name: str
    low: float
    high: float
    inputs: int
    max_ulp: float
    worst: float
    computed: float
    expected: float
    mean_ulp: float
    rounded: int
    undecided: int
    not_numbers: int
    wrong_signs: int
    wrong_zeros: int
    lost: int
    flushed: int
    breaks: int
    largest_break_ulp: float

    @property
    def rounded_share(self) -> float:
        """The share of correctly rounded results."""
        return self.rounded / self.inputs


@dataclass(frozen=True)
class SpecialResult:
    """The result at one special input, and the expected one from the definition."""

    input: str
    expected: str
    computed: str
    right: bool


@dataclass(frozen=True)
class Dependence:
    """Whether results depend on `on`: `outcome` is SAME, DIFFERS or NOT_TESTED."""

    on: str
    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class CallFault:
    """A fault of the callable, such as a crash or a changed input."""

    quantity: str
    dtype: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.dtype} {self.quantity}: {self.kind}: {self.message}"


@dataclass(frozen=True)
class ErrorProfile:
    """The largest error in each step along the number line, None where no input was tried."""

    edges: tuple[float, ...]
    max_ulp: tuple[float | None, ...]


@dataclass(frozen=True)
class Measurement:
    """One quantity in one format."""

    quantity: str
    dtype: str
    inputs: int
    exhaustive: bool
    truth: str
    margin_ulp: float
    """The uncertainty of an error, in ulps of this format."""
    kernel_ulp: float | None
    """The largest error of the float64 kernel against arb, in its ulps, if it is the reference."""
    kernel_points: int
    stated_ulp: float | None
    """The bound stated in the catalogue for softgate's functions, those of softgate.torch included;
    None for other subjects."""
    digest: str | None
    """The published digest, if the subject is softgate's and reproduces its bits at the published
    inputs; otherwise None."""
    regions: tuple[RegionErrors, ...]
    specials: tuple[SpecialResult, ...]
    dependences: tuple[Dependence, ...]
    profile: ErrorProfile

    @property
    def ordinary(self) -> tuple[RegionErrors, ...]:
        """All regions but that of the special values."""
        return tuple(region for region in self.regions if region.name != SPECIAL_VALUES)

    @property
    def worst(self) -> RegionErrors:
        """The region with the largest error."""
        return max(self.ordinary, key=lambda region: region.max_ulp)

    @property
    def max_ulp(self) -> float:
        """The largest error at a finite input other than 0."""
        return self.worst.max_ulp

    @property
    def mean_ulp(self) -> float:
        """The mean error at these inputs."""
        inputs = sum(region.inputs for region in self.ordinary)
        return sum(region.mean_ulp * region.inputs for region in self.ordinary) / inputs

    @property
    def rounded_share(self) -> float:
        """The share of correctly rounded results at these inputs."""
        inputs = sum(region.inputs for region in self.ordinary)
        return sum(region.rounded for region in self.ordinary) / inputs

    def total(self, count: str) -> int:
        """Return one of the counts over all regions but that of the special values."""
        return sum(int(getattr(region, count)) for region in self.ordinary)


@dataclass(frozen=True)
class Certificate(Record):
    """The errors of a callable, measured as one function of the catalogue."""

    schema: ClassVar[str] = "softgate.certificate"
    version: ClassVar[int] = 2

    subject: str
    function: str
    framework: str
    versions: Mapping[str, str]
    machine: str
    seed: int
    samples: Mapping[str, int]
    """The approximate number of sampled inputs that was requested, by format."""
    measurements: tuple[Measurement, ...]
    findings: tuple[CallFault, ...]
    untested: tuple[str, ...]
    """What was not tested, and why."""

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def find(self, quantity: str, dtype: str) -> Measurement:
        """Return the measurement of a quantity in a format; raise KeyError if there is none."""
        for measurement in self.measurements:
            if (measurement.quantity, measurement.dtype) == (quantity, dtype):
                return measurement
        raise KeyError(f"{quantity} in {dtype} was not measured")

    def failures(self, max_ulp: float | None = None) -> tuple[str, ...]:
        """Return the failures, a line each; empty if there are none.

        Parameters
        ----------
        max_ulp : float, optional
            The largest error allowed. By default the bound stated in the catalogue for softgate's
            activations; other subjects have no bound then, and only findings fail.

        Notes
        -----
        With a bound, these fail too: NaN for a number, a wrong sign, 0 where the exact result is
        normal, a lost -0, a wrong special value, a result that depends on its position.
        """
        from .verdicts import failures

        return failures(self, max_ulp)

    def regressions(self, baseline: Certificate) -> tuple[str, ...]:
        """Return the regressions with respect to an older certificate, a line each.

        Raises ValueError if the two have different functions or different inputs.
        """
        from .verdicts import regressions

        return regressions(self, baseline)

    def not_compared(self, baseline: Certificate) -> tuple[str, ...]:
        """Return the measurements and regions that an older certificate lacks, a line each."""
        from .verdicts import not_compared

        return not_compared(self, baseline)

    def page(self) -> str:
        """Return the certificate as an HTML page with the error over the input."""
        from .page import page

        return page(self)

    def grids(self) -> tuple[Grid, ...]:
        """Return the summary, every measurement by region, and what was not tested."""
        from .text import grids

        return grids(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each region of each measurement, and for all else that was found."""
        from .text import rows

        return rows(self)
