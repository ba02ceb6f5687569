"""Every fit measured again, from its statement alone: no generator, no kernel, only mpmath.

The stated error is the relative error of the approximated function, with the coefficients as they
are in the source. It must be true, and it must not be much better than stated either.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from mpmath import mpf
from places import ROOT

from softgate.blocks import fits as stored_fits
from softgate.blocks import gaussian
from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FORMATS

FITS = {
    f"{family}:{name}": fit
    for family, fits in stored_fits.FITS.items()
    for name, fit in fits.items()
}
RATES = {
    "UNIT": lambda: mpf(1),
    "TWICE": lambda: mpf(2),
    "QUICK": lambda: mpf("1.702"),
    "CUBIC": lambda: mpmath.sqrt(8 / mpmath.pi) / (mpf(9375) / 8192),
}
Error = Callable[[Fit, str, Any], Any]


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * x + mpf(c)
    return result


def exponential_error(fit: Fit, name: str, r: Any) -> Any:
    """Relative error of T(r) = r·coth(k·r/2)."""
    k = RATES[name.split("_", maxsplit=1)[0]]()
    target = r * mpmath.coth(k * r / 2) if r else 2 / k
    return polynomial(fit.coefficients, r * r) / target - 1


def expm1_error(fit: Fit, name: str, r: Any) -> Any:
    """Relative error of exp(-r) - 1 = -r + r²·Q(r)."""
    if not r:
        return mpf(0)
    return (-r + r * r * polynomial(fit.coefficients, r)) / mpmath.expm1(-r) - 1


def log1p_error(fit: Fit, name: str, z: Any) -> Any:
    """Relative error of log(1 + E) = 2·s + s³·P(s²), s = E/(2 + E)."""
    if not z:
        return mpf(0)
    s = mpmath.sqrt(z)
    return (2 * s + s**3 * polynomial(fit.coefficients, z)) / mpmath.log((1 + s) / (1 - s)) - 1


def erf_error(fit: Fit, name: str, z: Any) -> Any:
    """Relative error of erf(x) = x + x·R(x²)."""
    x = mpmath.sqrt(z)
    target = mpmath.erf(x) / x if z else 2 / mpmath.sqrt(mpmath.pi)
    return (1 + polynomial(fit.coefficients, z)) / target - 1


def trigonometry_error(fit: Fit, name: str, z: Any) -> Any:
    """Relative error of r + r³·S(r²), 1 - r²/2 + r⁴·C(r²), r + r³·A(r²)."""
    kind, r = name.split("_", maxsplit=1)[0], mpmath.sqrt(z)
    rest = polynomial(fit.coefficients, z)
    if kind == "COS":
        return (1 - z / 2 + z * z * rest) / mpmath.cos(r) - 1
    target = {"SIN": mpmath.sin, "ATAN": mpmath.atan}[kind]
    return (r + z * r * rest) / target(r) - 1 if z else mpf(0)


def constants(name: str) -> tuple[Any, Any, Any]:
    """L, C and g of the form that a gaussian fit belongs to."""
    kind, fmt = name.split("_", maxsplit=1)[0], name.rsplit("_", 1)[1].lower()
    form = {"QUICK": gaussian.QUICK, "EXACT": gaussian.EXACT}[kind][fmt]
    e = form.exponent
    return mpf(e.offset) + mpf(e.offset_low), mpf(e.step) + mpf(e.step_low), mpf(form.base)


def power_error(fit: Fit, name: str, r: Any) -> Any:
    """Error of 1 + r/2 + r²·P(r), relative to 2**(r/C)."""
    _, c, _ = constants(name)
    return (1 + r / 2 + r * r * polynomial(fit.coefficients, r)) / mpf(2) ** (r / c) - 1


def inverse_mills_error(fit: Fit, name: str, a: Any) -> Any:
    """Error of a + g + P(a)/Q(a), relative to G, or to G·(1 + a·G) if the form states that."""
    offset, step, base = constants(name)
    exact = mpf(2) ** (-(a * a + offset) / step) / mpmath.erfc(a / mpmath.sqrt(2))
    ratio = polynomial(fit.coefficients, a) / polynomial(fit.denominator, a)
    scale = exact * (1 + a * exact) if "(1 + a*G)" in fit.form else exact
    return (a + base + ratio - exact) / scale


def shrink_error(fit: Fit, name: str, y: Any) -> Any:
    """Relative error of a - tanh(a) = a³/G(a²), or of G, which is the same."""
    if not y:
        return polynomial(fit.coefficients, y) / 3 - 1
    a = mpmath.sqrt(y)
    with mpmath.extradps(30):
        return polynomial(fit.coefficients, y) * (a - mpmath.tanh(a)) / a**3 - 1


SIMPLE: dict[str, Error] = {
    "erf": erf_error,
    "exponential": exponential_error,
    "hyperbolic": shrink_error,
    "trigonometry": trigonometry_error,
}


def error_of(name: str) -> Error:
    family, fit = name.split(":")
    if family in SIMPLE:
        return SIMPLE[family]
    if family == "logarithm":
        return expm1_error if fit.startswith("EXPM1") else log1p_error
    return power_error if "POWER" in fit else inverse_mills_error


def measure(name: str, fit: Fit, count: int = 1201) -> float:
    """Return log2 of the largest error on a grid with points crowded at the ends."""
    low, high = fit.interval
    grid = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, count))
    error = error_of(name)
    with mpmath.workdps(50):
        largest = max(abs(error(fit, name.split(":")[1], mpf(float(p)))) for p in grid)
        return float(mpmath.log(largest, 2))


@pytest.mark.parametrize("name", FITS)
def test_the_stated_error_is_the_error(name: str) -> None:
    fit = FITS[name]
    measured = measure(name, fit)
    assert measured <= fit.error_log2 + 0.02, f"2^{measured:.2f}, stated 2^{fit.error_log2}"
    assert measured >= fit.error_log2 - 0.25, f"2^{measured:.2f}, stated 2^{fit.error_log2}"


@pytest.mark.parametrize("name", FITS)
def test_coefficients_are_numbers_of_their_format(name: str) -> None:
    fit, fmt = FITS[name], FORMATS[name.rsplit("_", 1)[1].lower()]
    for c in (*fit.coefficients, *fit.denominator):
        assert fmt.round(Fraction(c)) == c


def test_a_changed_coefficient_is_seen() -> None:
    for name, fit in FITS.items():
        first, *rest = fit.coefficients
        worse = Fit(
            fit.target,
            fit.form,
            fit.interval,
            fit.error_log2,
            (first, rest[0] * (1 + 2.0 ** (fit.error_log2 / 2)), *rest[1:]),
            fit.denominator,
        )
        assert measure(name, worse, 101) > fit.error_log2 + 1  # too large almost everywhere


def test_every_fit_states_itself() -> None:
    assert len(FITS) >= 16
    for fit in FITS.values():
        assert fit.target
        assert fit.form
        assert fit.interval[0] < fit.interval[1]


def check(root: Path, *families: str) -> subprocess.CompletedProcess[str]:
    """Derive families again and compare them with what `root` holds."""
    script = root / "tools" / "fits" / "derive_coefficients.py"
    command = [sys.executable, str(script), "--check", *families]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def holds_all(family: str) -> None:
    """Hold what is stored of a family to what its generator gives now."""
    result = check(ROOT, family)
    assert result.returncode == 0, result.stdout + result.stderr
    stored = [name for name in FITS if name.startswith(f"{family}:")]
    assert result.stdout.count(f"\n{family} ") == len(stored) >= 2


def test_the_generator_gives_what_is_stored() -> None:
    holds_all("hyperbolic")


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", sorted({name.split(":")[0] for name in FITS} - {"hyperbolic"}))
def test_the_generator_gives_what_is_stored_of(family: str) -> None:
    """A minute in all, most of it float64's; `test_every_generator` derives a part of each."""
    holds_all(family)


QUICK, EXACT = gaussian.QUICK["float32"], gaussian.EXACT["float32"]
SHORT: dict[str, Callable[[Any], Fit]] = {
    "erf:ERF": lambda target: target.fit(FLOAT32),
    "exponential:UNIT": lambda target: target.fit_even_part("1", mpf(1), FLOAT32),
    "exponential:QUICK": lambda target: target.fit_even_part("1.702", mpf("1.702"), FLOAT32),
    "gaussian:EXACT": lambda target: target.fit_ratio_part(
        EXACT.exponent, EXACT.base, FLOAT32, slope=True
    ),
    "gaussian:QUICK_POWER": lambda target: target.fit_power(QUICK.exponent, FLOAT32),
    "hyperbolic:SHRINK": lambda target: target.fit_inverse(FLOAT32),
    "logarithm:EXPM1": lambda target: target.expm1(FLOAT32),
    "logarithm:LOG1P": lambda target: target.log1p(FLOAT32),
    "trigonometry:SIN": lambda target: target.fit(target.TARGETS["SIN"], FLOAT32),
    "trigonometry:COS": lambda target: target.fit(target.TARGETS["COS"], FLOAT32),
    "trigonometry:ATAN": lambda target: target.fit(target.TARGETS["ATAN"], FLOAT32),
}
"""Every function that derives fits, where it is quick."""


TOOLS = ("polynomial", "rational", "targets")


@pytest.fixture
def targets() -> Iterator[None]:
    """The generator's modules within reach, as python has them for a file that it runs."""
    bits = flint.ctx.prec
    sys.path.insert(0, str(ROOT / "tools" / "fits"))
    with mpmath.workdps(60):
        yield
    sys.path.remove(str(ROOT / "tools" / "fits"))
    flint.ctx.prec = bits
    for name in [module for module in sys.modules if module.partition(".")[0] in TOOLS]:
        del sys.modules[name]


@pytest.mark.usefixtures("targets")
@pytest.mark.parametrize("name", SHORT)
def test_every_generator(name: str) -> None:
    fitted = SHORT[name](import_module(f"targets.{name.partition(':')[0]}"))
    assert replace(fitted, error_log2=round(fitted.error_log2, 2)) == FITS[f"{name}_FLOAT32"]


def test_every_family_has_a_generator() -> None:
    assert {name.split(":")[0] for name in SHORT} == {name.split(":")[0] for name in FITS}


def test_the_generator_sees_a_difference(tmp_path: Path) -> None:
    for folder in ("tools", "src"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    stored = tmp_path / "src" / "softgate" / "blocks" / "fits.toml"
    text = stored.read_text(encoding="utf-8")
    second = stored_fits.HYPERBOLIC["SHRINK_FLOAT32"].coefficients[1]
    stored.write_text(text.replace(f"{second!r}", f"{second * (1 + 2**-23)!r}"), encoding="utf-8")
    assert stored.read_text(encoding="utf-8") != text
    assert check(tmp_path, "hyperbolic").returncode == 1
