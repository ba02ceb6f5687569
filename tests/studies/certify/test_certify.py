"""`certify`: what it finds in other people's functions, and what it must not find in ours."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import faulty
import numpy as np
import pytest

import softgate as sg
from softgate.catalogue.gelu import fine_value
from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, dtype_of
from softgate.runtime.activation import Activation
from softgate.studies.accuracy import Reference, sweep
from softgate.studies.accuracy.regions import Regions, marks, roots_of
from softgate.studies.certify.record import DIFFERS, NOT_TESTED, SAME, Certificate
from softgate.studies.reproducibility.digests import published_digest

FEW = 4000
LIMIT = 4.0


@cache
def quick(subject: Any, function: Any = "gelu", **options: Any) -> Certificate:
    """Return a certificate of float32 values from a small sample, in this process."""
    defaults: dict[str, Any] = {"dtype": "float32", "quantity": "value", "samples": FEW}
    return sg.certify(subject, function, **(defaults | {"isolated": False} | options))


def outcomes(certificate: Certificate, quantity: str = "value") -> dict[str, str]:
    return {d.on: d.outcome for d in certificate.find(quantity, "float32").dependences}


@pytest.mark.parametrize("name", ["gelu", "hard_swish"])
def test_ours_hold_what_the_catalogue_states(name: str) -> None:
    certificate = sg.certify(sg.activations()[name], quantity="value,slope", samples=2000)
    assert {(measurement.dtype, measurement.quantity) for measurement in certificate} == {
        (dtype, quantity)
        for dtype in ("float16", "bfloat16", "float32", "float64")
        for quantity in ("value", "slope")
    }
    assert certificate.failures() == ()
    for measurement in certificate:
        assert measurement.stated_ulp is not None
        assert measurement.max_ulp <= measurement.stated_ulp
        assert (
            measurement.digest
            == published_digest(name, measurement.quantity, measurement.dtype)
            is not None
        )
        assert all(special.right for special in measurement.specials)
        assert {d.outcome for d in measurement.dependences} <= {SAME, NOT_TESTED}
        if measurement.dtype in ("float16", "bfloat16"):
            assert (measurement.inputs, measurement.exhaustive, measurement.rounded_share) == (
                65536,
                True,
                1.0,
            )


@pytest.mark.parametrize("name", ["Tanh", "Sigmoid", "ELU", "CELU", "GELU", "SiLU", "ReLU"])
def test_autograds_gradients_hold_what_the_catalogue_states(name: str) -> None:
    pytest.importorskip("torch")
    options: dict[str, Any] = {"quantity": "slope", "samples": 3000, "isolated": False}
    certificate = sg.certify(f"softgate.torch:{name}", **options)
    assert certificate.failures() == ()
    for measurement in certificate:
        assert measurement.max_ulp <= measurement.stated_ulp
        rounded = sum(region.rounded for region in measurement.regions)
        assert measurement.dtype in ("float32", "float64") or rounded == measurement.inputs
    foreign = sg.certify(f"torch.nn:{name}", name.lower(), dtype="float32", **options)
    assert [measurement.stated_ulp for measurement in foreign] == [None]


@pytest.mark.parametrize("package", ["torch.functional", "jax"])
def test_functions_of_a_frameworks_package_run_in_that_framework(package: str) -> None:
    """They take NumPy arrays too, where the gradient that training runs is not measured."""
    framework = package.partition(".")[0]
    pytest.importorskip(framework)
    options: dict[str, Any] = {"dtype": "bfloat16", "quantity": "slope"}
    certificate = sg.certify(f"softgate.{package}:elu", isolated=False, **options)
    assert framework in dict(certificate.versions)
    digest = certificate.find("slope", "bfloat16").digest
    assert digest == published_digest("elu", "slope", "bfloat16") is not None


def test_a_rise_that_is_narrower_than_the_sample_is_measured() -> None:
    certificate = quick(sg.laplace.bind(mu=5000.1, sigma=0.01), None, quantity="slope")
    measured = certificate.find("slope", "float32")
    assert abs(measured.worst.worst - 5000.1) < 0.2
    assert 0.5 < measured.max_ulp <= measured.stated_ulp


def test_certificates_name_the_digest_that_is_reproduced() -> None:
    bound = quick(sg.silu.bind(beta=0.3), None).find("value", "float32")
    assert bound.digest == published_digest("silu:beta=0.3", "value", "float32") is not None
    certificate = quick(sg.gelu)
    digest = certificate.find("value", "float32").digest
    assert f"reproduces the published bits, digest {digest}" in str(certificate)
    changed = Activation(replace(sg.gelu.entry, value=fine_value))
    for other in (changed, lambda x: sg.gelu(x) + 0):
        assert quick(other).find("value", "float32").digest is None


def test_the_sign_of_a_nan_is_none() -> None:
    """A masked NaN counts as NaN or inf, and not as a zero of the wrong sign."""
    certificate = quick(lambda x: np.where(np.isnan(x), np.float32(0), sg.gelu(x)))
    apart = certificate.find("value", "float32").regions[-1]
    assert (apart.name, apart.not_numbers, apart.wrong_zeros) == ("±0, ±inf, NaN", 2, 0)


def test_ours_against_another_function_fails() -> None:
    assert any("ulp at" in line for line in quick(sg.gelu, "gelu_tanh").failures(1000))


def test_what_is_right_passes() -> None:
    """The faults below are what their tests detect."""
    certificate = quick(faulty.right, slope=faulty.right_slope, quantity="value,slope")
    assert certificate.failures(LIMIT) == ()
    assert certificate.regressions(certificate) == ()


def test_a_few_ulps_in_one_narrow_interval() -> None:
    certificate = quick(faulty.few_ulp_off, samples=100_000)
    (line, *_) = certificate.failures(LIMIT)
    worst = certificate.find("value", "float32").worst
    assert faulty.LOW < worst.worst < faulty.HIGH
    assert worst.name == "negative"
    assert worst.name in line
    assert repr(worst.worst) in line
    assert certificate.failures(10.0) == ()


def test_a_flipped_slope() -> None:
    slopes = {"slope": faulty.flipped_slope, "quantity": "slope", "samples": 100_000}
    certificate = quick(faulty.right, **slopes)
    measurement = certificate.find("slope", "float32")
    assert measurement.total("wrong_signs") > 0
    assert faulty.LOW < measurement.worst.worst < faulty.HIGH
    assert any("wrong signs" in line for line in certificate.failures(1e9))


def test_a_lost_negative_zero() -> None:
    certificate = quick(faulty.without_negative_zero)
    wrong = {s.input for s in certificate.find("value", "float32").specials if not s.right}
    assert {"-0.0", "-inf"} <= wrong
    assert certificate.find("value", "float32").max_ulp < LIMIT
    assert any("f(-0.0) is 0.0, expected -0.0" in line for line in certificate.failures(LIMIT))


def test_nan_for_one_bit_pattern_in_16_bits() -> None:
    certificate = quick(faulty.nan_for_one_pattern, dtype="float16")
    measurement = certificate.find("value", "float16")
    assert measurement.total("not_numbers") == 1
    assert measurement.worst.worst == faulty.PATTERN
    assert np.isinf(measurement.max_ulp)
    assert np.isinf(measurement.mean_ulp)
    assert any(repr(faulty.PATTERN) in line for line in certificate.failures(1e30))


def test_nan_for_one_bit_pattern_among_all_of_float32() -> None:
    reference = Reference(sg.gelu.entry, "value", {})
    reference.check_kernel(np.linspace(-3, 3, 50))
    regions = Regions(FLOAT32, ())
    pattern = int(np.float32(faulty.PATTERN).view(np.uint32))
    start = pattern & ~(sweep.BLOCK - 1)
    for function, expected in ((faulty.nan_for_one_pattern, 1), (faulty.right, 0)):
        state = sweep.sweep(
            function,
            reference,
            regions,
            state=sweep.SweepState.fresh(regions, start),
            stop=start + sweep.BLOCK,
        )
        assert sum(tally.inputs for tally in state.tallies) == sweep.BLOCK
        assert sum(tally.not_numbers for tally in state.tallies) == expected
        assert (state.profile.max_ulp == np.inf).sum() == expected


@pytest.mark.parametrize(
    ("fault", "on"),
    [
        (faulty.by_place, "place"),
        (faulty.by_length, "length"),
        (faulty.by_stride, "stride"),
        (faulty.by_alignment, "alignment"),
        (faulty.not_empty, "empty array"),
    ],
)
def test_what_a_result_must_not_depend_on(fault: Any, on: str) -> None:
    certificate = quick(fault)
    assert outcomes(certificate)[on] == DIFFERS
    assert any(f"depend on {on}" in line for line in certificate.failures(1e9))


def test_flushed_subnormals_and_early_zeros() -> None:
    flushed = quick(faulty.flushed).find("value", "float32")
    assert flushed.total("flushed") > 0
    assert flushed.total("lost") == 0
    early = quick(faulty.early_zero)
    measurement = early.find("value", "float32")
    assert measurement.total("lost") > 0
    assert measurement.max_ulp > 1e6
    assert any("zeros where the truth is a normal number" in line for line in early.failures(1e30))


def test_regressions_against_the_baseline() -> None:
    good, bad = quick(faulty.right), quick(faulty.without_negative_zero)
    assert any("f(-0.0)" in line for line in bad.regressions(good))
    assert good.regressions(bad) == ()
    rough = quick(faulty.few_ulp_off, samples=100_000)
    fine = quick(faulty.right, samples=100_000)
    assert any("negative: " in line for line in rough.regressions(fine))
    only = quick(faulty.right, dtype="float16")
    assert any("not measured any more" in line for line in only.regressions(good))
    for other in ({"samples": 2000}, {"seed": 1}):
        with pytest.raises(ValueError, match="only measurements at the same inputs"):
            good.regressions(quick(faulty.right, **other))
    with pytest.raises(ValueError, match="measured as gelu_tanh"):
        good.regressions(quick(sg.gelu_tanh, None))


def test_a_certificate_is_a_record() -> None:
    certificate = quick(faulty.nan_for_one_pattern, dtype="float16")
    text = certificate.to_json()
    assert Certificate.from_json(text).to_json() == text
    assert "faulty:nan_for_one_pattern measured as gelu" in str(certificate)
    header, rows = certificate.table()
    regions = [row for row in rows if row[header.index("what")] == "region"]
    assert len(regions) == len(certificate.find("value", "float16").regions)
    assert all(len(row) == len(header) for row in rows)


def test_what_is_not_tested_is_listed() -> None:
    text = str(quick(faulty.right, quantity=None))
    assert "slope: faulty:right has no automatic derivative" in text
    assert "of 2^32 inputs" in text


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_exact_ties_are_decided_exactly(fmt: Any) -> None:
    """x/2 of an odd subnormal is a tie for leaky_relu; for gelu it lies close to one."""
    unit = 2.0**fmt.smallest_exponent
    tie = Reference(sg.leaky_relu.entry, "value", {"slope": 0.5})
    assert tie.is_rounded(-3 * unit, -2 * unit, fmt)
    assert not tie.is_rounded(-3 * unit, -unit, fmt)
    assert tie.is_rounded(-unit, -0.0, fmt)
    below = Reference(sg.gelu.entry, "value", {})
    assert below.is_rounded(-3 * unit, -unit, fmt)
    assert not below.is_rounded(-3 * unit, -2 * unit, fmt)
    assert below.is_rounded(3 * unit, 2 * unit, fmt)


def test_rounding_at_the_ends_of_binades_and_ranges() -> None:
    same = Reference(sg.identity.entry, "value", {})
    largest = float(np.finfo(np.float32).max)
    beyond = largest + 2.0 ** (127 - 24)  # a tie with infinity, which is even
    assert same.is_rounded(beyond, np.inf, FLOAT32)
    assert not same.is_rounded(beyond, largest, FLOAT32)
    assert same.is_rounded(float(np.nextafter(beyond, 0)), largest, FLOAT32)
    assert same.is_rounded(1 - 2.0**-25, 1.0, FLOAT32)  # a tie below a power of two
    assert not same.is_rounded(1 - 2.0**-25, 1 - 2.0**-24, FLOAT32)
    assert not same.is_rounded(1.0, float("nan"), FLOAT32)


def test_a_kernel_that_is_not_certified_is_no_truth() -> None:
    """A kernel that cancels is not exact enough: arb is the reference, as it states."""

    @sg.activation
    def cancels(f: Any, x: Any) -> Any:
        return f.sqrt(1 + f.square(x) * 1e-24) - 1

    certificate = sg.certify(cancels, dtype="float32", quantity="value", samples=FEW)
    measurement = certificate.find("value", "float32")
    assert measurement.truth.startswith("against arb")
    assert measurement.kernel_ulp is None
    assert measurement.max_ulp > 1000


def test_at_a_kink_any_slope_between_its_sides_is_right() -> None:
    def upper(x: Any) -> Any:
        return np.where(np.isnan(x), x, x >= 0).astype(x.dtype)

    def beyond(x: Any) -> Any:
        return np.where(x == 0, 2, upper(x)).astype(x.dtype)

    for slope, right in ((sg.relu.slope, True), (upper, True), (beyond, False)):
        certificate = quick(sg.relu, "relu", slope=slope, quantity="slope")
        region = certificate.find("slope", "float32").regions[-1]
        assert (region.max_ulp == 0) == right
        assert "any number between its two sides" in certificate.find("slope", "float32").truth


@pytest.mark.parametrize("name", ["gelu", "silu", "hard_swish", "tanh"])
@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_every_input_is_in_one_region(name: str, quantity: str) -> None:
    entry = sg.activations()[name].entry
    parameters = {p.name: p.default for p in entry.parameters}
    roots = roots_of(marks(entry, tuple(parameters.items())), quantity)
    reference = Reference(entry, quantity, parameters)
    for fmt in (FLOAT16, FLOAT32):
        regions = Regions(fmt, roots)
        bits = np.arange(1 << 16, dtype=np.uint32) << (fmt.bits - 16)
        with np.errstate(invalid="ignore"):
            x = bits.astype(f"u{fmt.bits // 8}").view(dtype_of(fmt)).astype(np.float64)
        truth = reference.kernel(x)
        where = regions.assign(x, truth)
        assert ((where >= 0) & (where < len(regions.names))).all()
        for start in range(0, x.size, 64):  # runs of neighbours: one region, or none is named
            run = slice(start, start + 64)
            named = regions.of_run(x[run], truth[run])
            if named is not None:
                assert set(where[run].tolist()) == {named}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dtype": "float8"}, "float8"),
        ({"dtype": ()}, "empty"),
        ({"quantity": "values"}, "values"),
        ({"samples": 3}, "samples = 3"),
        ({"framework": "mxnet"}, "mxnet"),
        ({"function": "gleu"}, "gelu"),
    ],
)
def test_invalid_arguments(wrong: dict[str, Any], message: str) -> None:
    arguments = {"function": "gelu"} | wrong
    with pytest.raises((ValueError, TypeError), match=message):
        sg.certify(faulty.right, arguments.pop("function"), **arguments)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_small_result_where_the_true_one_is_0(dtype: str) -> None:
    certificate = quick(lambda x: np.maximum(x, x.dtype.type(1e-7)), "relu", dtype=dtype)
    measurement = certificate.find("value", dtype)
    with np.errstate(over="ignore"):
        expected = np.float64(1e-7) / np.float64(np.finfo(dtype).smallest_subnormal)
    assert measurement.max_ulp == pytest.approx(expected, rel=0.3)
    assert measurement.rounded_share < 0.6


def test_a_wider_result_is_a_finding_if_the_format_was_named_or_has_32_bits() -> None:
    certificate = quick(faulty.other_dtype, dtype=None)
    assert [(f.dtype, f.kind) for f in certificate.findings] == [("float32", "wrong dtype")]
    assert [measurement.dtype for measurement in certificate] == ["float64"]
    assert any(line.startswith("float16 value: wrong dtype") for line in certificate.untested)
    named = quick(faulty.other_dtype, dtype="float16")
    assert [(f.dtype, f.kind) for f in named.findings] == [("float16", "wrong dtype")]


def test_a_foreign_callable_is_measured_as_what_it_computes() -> None:
    certificate = sg.certify(
        "torch.nn.functional:leaky_relu",
        parameters={"negative_slope": 0.2},
        quantity="value",
        dtype="float16",
    )
    assert certificate.function == "leaky_relu:slope=0.2"
    assert certificate.find("value", "float16").rounded_share == 1
    for unknown in ("numpy:sin", "numpy:sum"):
        with pytest.raises(ValueError, match="--reference gelu"):
            sg.certify(unknown, dtype="float32", quantity="value")
