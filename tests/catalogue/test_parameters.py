"""Parameters far from the defaults: a Python float is a float64, whatever the array's dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import compiled
import ml_dtypes
import mpmath
import numpy as np
import pytest

import softgate as sg

SHIFTED = {"mu": 5000.1, "sigma": 0.01}
CENTRES = [(5000.1, 0.01), (-0.3, 1e-6), (1e6 + 0.1, 1.0), (-7e-5, 3e-9), (123.456, 0.25)]


def near(mu: float, sigma: float, dtype: Any) -> Any:
    """Inputs within a few sigma of mu, and the nearest neighbours of mu."""
    z = np.linspace(-12, 5, 300)
    x = np.unique((mu + z * sigma).astype(dtype))
    around = np.nextafter(dtype(mu), dtype([-np.inf, np.inf])) if dtype is np.float32 else x[:0]
    return np.concatenate([x, around])


def in_ulps(computed: Any, exact: list[Any], bits: int) -> float:
    """The largest error in ulps of a normal float32 or float64 with `bits` of precision."""
    units = [mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(t), 2)) + 1 - bits) for t in exact]
    errors = zip(computed.tolist(), exact, units, strict=True)
    return max(float(abs(y - t) / unit) for y, t, unit in errors)


def laplace_exactly(x: Any, mu: float, sigma: float) -> tuple[list[Any], list[Any]]:
    """Values and slopes at the float64 mu and sigma, with 60 digits."""
    with mpmath.workdps(60):
        z = [(mpmath.mpf(p) - mpmath.mpf(mu)) / mpmath.mpf(sigma) for p in x.tolist()]
        values = [mpmath.erfc(-p / mpmath.sqrt(2)) / 2 for p in z]
        return values, [mpmath.npdf(p) / mpmath.mpf(sigma) for p in z]


@pytest.mark.parametrize(("mu", "sigma"), CENTRES)
def test_laplace_far_from_0_is_within_its_bound(mu: float, sigma: float) -> None:
    for dtype, bits in ((np.float32, 24), (np.float64, 53)):
        x = near(mu, sigma, dtype)
        values, slopes = laplace_exactly(x, mu, sigma)
        with mpmath.workdps(60):
            assert in_ulps(sg.laplace(x, mu=mu, sigma=sigma), values, bits) <= 4
            assert in_ulps(sg.laplace.slope(x, mu=mu, sigma=sigma), slopes, bits) <= 4


def test_laplace_at_the_float32_beside_mu() -> None:
    x = np.float32(5000.1)
    (value,), _ = laplace_exactly(np.array([x]), **SHIFTED)
    assert abs(sg.laplace(x, **SHIFTED) - float(value)) < 1e-7
    assert abs(float(value) - 0.503896) < 1e-6


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda d: d.__name__)
def test_laplace_of_16_bits_is_the_float64_result_rounded(dtype: Any) -> None:
    x = near(5.1, 1e-3, dtype).astype(dtype)
    wide = sg.laplace(x.astype(np.float64), mu=5.1, sigma=1e-3)
    assert np.array_equal(sg.laplace(x, mu=5.1, sigma=1e-3), wide.astype(dtype))


def test_a_shifted_laplace_has_the_same_bits_in_every_framework() -> None:
    x = near(**SHIFTED, dtype=np.float32)
    expected = sg.laplace(x, **SHIFTED), sg.laplace.slope(x, **SHIFTED)
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(x, requires_grad=True)
    result = sg.laplace(tensor, **SHIFTED)
    (slope,) = torch.autograd.grad(result.sum(), tensor)
    assert np.array_equal(result.detach().numpy(), expected[0])
    assert np.array_equal(slope.numpy(), expected[1])
    jax = pytest.importorskip("jax")
    jitted = jax.jit(lambda v: sg.laplace(v, **SHIFTED))
    assert np.array_equal(jitted(jax.numpy.array(x)), expected[0])
    tf = pytest.importorskip("tensorflow")
    graph = tf.function(lambda v: sg.laplace(v, **SHIFTED))
    assert np.array_equal(graph(tf.constant(x)), expected[0])


@pytest.mark.skipif(compiled.COMPILER is None, reason=compiled.MISSING)
def test_emitted_c_takes_mu_in_double(tmp_path: Path) -> None:
    path, _ = compiled.compiled(sg.emit("laplace", "c", dtype="float32"), tmp_path, "laplace")
    x = near(**SHIFTED, dtype=np.float32)
    emitted = compiled.Library(path)("laplace_with", x, *SHIFTED.values())
    assert np.array_equal(emitted, sg.laplace(x, **SHIFTED))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
def test_derivatives_of_a_narrow_laplace_end_at_0(dtype: Any) -> None:
    x = np.array([-np.inf, -1.0, -1e-8, 1e-8, 1.0, np.inf], dtype)
    assert not sg.laplace.slope(x, mu=0.0, sigma=2e-11).any()
    assert not sg.laplace.curvature(x, mu=0.0, sigma=2e-11).any()
    # phi(15.5)/sigma is a normal float32: the density is not cut off before it.
    z = dtype(15.5 * 2e-11)
    _, (slope,) = laplace_exactly(np.array([z]), 0.0, 2e-11)
    assert abs(float(sg.laplace.slope(z, mu=0.0, sigma=2e-11)) / float(slope) - 1) < 1e-3


def test_the_mean_of_rrelu_where_lower_and_upper_cancel() -> None:
    lower, upper = -8.368760471818327, 8.243513717190318
    slope = sg.rrelu.slope(np.float32(-1), lower=lower, upper=upper)
    assert slope == np.float32((lower + upper) / 2)


def test_xielu_overflows_to_infinity() -> None:
    parameters = {"alpha_p": 206162797.11577818, "alpha_n": 0.87, "beta": 65262.3874}
    assert sg.xielu(np.float32(1.7e38), **parameters) == np.inf


def test_the_emitted_text_says_where_the_bounds_hold() -> None:
    assert "|mu| <= 2**20*sigma" in sg.emit("laplace", "c")
    assert "|mu| <= 2**20*sigma" in (sg.laplace.__doc__ or "")
    narrow = sg.emit("laplace", "c", dtype="float32", mu=1e7, sigma=0.1)
    assert "no bound known" in narrow
    certificate = sg.certify(
        sg.laplace.bind(mu=1e7, sigma=0.1), dtype="float32", quantity="value", samples=1000
    )
    assert certificate.find("value", "float32").stated_ulp is None
