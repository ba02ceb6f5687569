"""The published digests from NumPy in every layout, from emitted code, and changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import compiled
import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from javascript import run as run_javascript

import softgate as sg
from softgate.blocks import KernelArithmetic, fits
from softgate.cli import doctor
from softgate.formula.graph import Node
from softgate.runtime.activation import Activation
from softgate.studies import reproducibility
from softgate.studies.reproducibility import Reproduction, digests
from softgate.studies.reproducibility.digests import (
    DigestCase,
    call,
    digest,
    operands,
    published_digest,
)

FUNCTIONS = digests.catalogue()
EACH = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
COMPILERS = [
    (language, name)
    for language, names in {"c": ("gcc", "clang"), "cuda": ("g++", "clang++")}.items()
    for name in names
    if shutil.which(name)
]
EMITTED_QUANTITIES = ("value", "slope", "backward")
EMITTED = [
    case
    for case in digests.cases(FUNCTIONS)
    if case.quantity in EMITTED_QUANTITIES
    and case.dtype in ("float32", "float64")
    and case.arithmetic is None
]


def expected(case: DigestCase) -> str:
    return digests.read()["bits"][case.name]


@EACH
def test_every_digest_is_the_published_one(function: Activation) -> None:
    """Bits, inputs and operations; `make digests` writes them again after an intended change."""
    name = function.name
    for table, computed in digests.tables({name: function}).items():
        published = digests.read()[table]
        assert {key: published.get(key) for key in computed} == computed, f"{name}: {table} changed"


def test_no_other_digest_is_published() -> None:
    cases = list(digests.cases(FUNCTIONS))
    assert set(digests.read()["bits"]) == {case.name for case in cases}
    names = {f"{name} {dtype}" for name in FUNCTIONS for dtype in digests.DTYPES}
    assert set(digests.read()["inputs"]) == names
    kernels = {case.kernel for case in cases if case.dtype in ("float32", "float64")}
    assert set(digests.read()["operations"]) == kernels
    assert {case.function for case in cases} == {*sg.activations(), *sg.gated()}


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "steps": lambda x: np.repeat(x, 3)[1::3],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "offset": lambda x: np.concatenate([x[:1], x])[1:],
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1),
    "swapped bytes": lambda x: x if x.itemsize == 2 else x.astype(x.dtype.newbyteorder()),
    "columns": lambda x: np.stack([x, x], axis=1)[:, 1],
}
LAID_OUT = [("float32", "value"), ("float64", "backward"), ("bfloat16", "value")]


def has_table(function: Activation) -> bool:
    kind = np.dtype(ml_dtypes.bfloat16)
    return function.nin == 1 and function.route("value", kind).uses_table


@EACH
def test_layouts_and_threads_do_not_change_a_bit(function: Activation, all_threads: None) -> None:
    """NaNs included where a table has them; a digest takes all NaNs for one.

    A kernel's NaN has the sign and payload that a CPU's instructions give it. They depend on the
    order of operands, which the compiler chooses for vectors and for the remainder of a loop.
    """
    for dtype, quantity in LAID_OUT:
        case = DigestCase(function.name, quantity, dtype)
        argument = operands(function, quantity, dtype)
        for name, layout in LAYOUTS.items():
            results = call(case, function, [layout(x) for x in argument])
            native = [y.astype(y.dtype.newbyteorder("=")) for y in results]
            assert digest(*native) == expected(case), (case.name, name)
            if case.dtype == "bfloat16" and has_table(function):
                assert native[0].tobytes() == function(*argument).tobytes(), (case.name, name)
        # Rows are shared out among threads; every row is one copy of the operands.
        rows = -(-(3 << 20) // argument[0].nbytes)
        tiled = [np.tile(x, (rows, 1)) for x in argument]
        results = call(case, function, tiled)
        assert {digest(*(y[row] for y in results)) for row in range(rows)} == {expected(case)}
        if len(argument) > 1:  # the last operand as a row that is broadcast
            results = call(case, function, [*(x[:3] for x in tiled[:-1]), argument[-1]])
            assert digest(*(y[2] for y in results)) == expected(case)


@pytest.fixture(scope="module", params=COMPILERS or [None], ids=str)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> compiled.Library:
    """The emitted C and CUDA C of all functions, compiled for the host by each compiler."""
    if request.param is None:
        pytest.skip("no C compiler: install gcc or clang")
    language, compiler = request.param
    text = sg.emit(FUNCTIONS.values(), language, quantity=EMITTED_QUANTITIES)
    path, _ = compiled.compiled(
        text,
        tmp_path_factory.mktemp(language),
        "catalogue",
        compiler=compiler,
        extension=language.removesuffix("da"),
    )
    return compiled.Library(path)


def all_parameters(case: DigestCase) -> tuple[float, ...]:
    """The values that an emitted function takes: none where they are the defaults."""
    function = FUNCTIONS[case.function]
    values = function.check_parameters(dict(case.parameters)) if case.parameters else ()
    return tuple(value for _, value in values)


def emitted_name(case: DigestCase) -> str:
    return case.function if case.quantity == "value" else f"{case.function}_{case.quantity}"


def results_of(case: DigestCase) -> int:
    return 2 if case.function in sg.gated() and case.quantity != "value" else 1


def test_emitted_c_has_the_published_bits(library: compiled.Library) -> None:
    different = []
    for case in EMITTED:
        argument = operands(FUNCTIONS[case.function], case.quantity, case.dtype)
        name = f"{emitted_name(case)}_with" if case.parameters else emitted_name(case)
        results = library(name, argument, *all_parameters(case), results=results_of(case))
        if digest(*(results if isinstance(results, tuple) else (results,))) != expected(case):
            different.append(case.name)
    assert different == []


def test_emitted_javascript_has_the_published_bits(tmp_path: Path) -> None:
    cases = {
        (emitted_name(case), all_parameters(case)): case
        for case in EMITTED
        if case.dtype == "float64"
    }
    jobs = [
        (job, operands(FUNCTIONS[case.function], case.quantity, "float64"))
        for job, case in cases.items()
    ]
    text = sg.emit(FUNCTIONS.values(), "js", quantity=EMITTED_QUANTITIES)
    results = run_javascript(text, jobs, tmp_path)
    different = [
        case.name
        for job, case in cases.items()
        if digest(*np.atleast_2d(results[job])) != expected(case)
    ]
    assert different == []


def changed_coefficient(monkeypatch: pytest.MonkeyPatch) -> Activation:
    """gelu after the last coefficient of one fit moved by one part in 2**20."""
    fit = fits.GAUSSIAN["QUICK_FLOAT32"]
    *others, last = fit.coefficients
    moved = replace(fit, coefficients=(*others, last * (1 + 2.0**-20)))
    monkeypatch.setitem(fits.GAUSSIAN, "QUICK_FLOAT32", moved)
    return Activation(replace(sg.gelu.entry))


def unfused(f: KernelArithmetic, x: Node) -> Node:
    """gelu with a product and a sum in place of its last fma."""
    root = sg.gelu.entry.value(f, x)
    assert root.op == "fma"
    a, b, c = root.args
    return a * b + c


def test_a_perturbed_coefficient_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = changed_coefficient(monkeypatch)
    result = sg.check_bits(functions={"gelu": wrong, "relu": sg.relu})
    assert not result.ok
    assert [(item.function, item.quantity, item.dtype) for item in result.differing] == [
        ("gelu", "value", "float32")
    ]
    assert "does not reproduce the published bits: 1 of 2 functions" in str(result)
    assert f"gelu value float32: computed {result.differing[0].computed}, published" in str(result)


def test_a_perturbed_instruction_is_named() -> None:
    wrong = Activation(replace(sg.gelu.entry, value=unfused))
    result = sg.check_bits(functions={"gelu": wrong})
    assert [(item.function, item.quantity, item.dtype) for item in result.differing] == [
        ("gelu", "value", dtype) for dtype in ("float16", "bfloat16", "float32", "float64")
    ]


def test_a_lost_sign_of_zero_is_seen() -> None:
    def value(f: KernelArithmetic, x: Node) -> Node:
        return f.where(x > 0, x, 0)

    wrong = Activation(replace(sg.relu.entry, value=value))
    differing = sg.check_bits(functions={"relu": wrong}).differing
    assert {(one.quantity, one.dtype) for one in differing} == {
        ("value", dtype) for dtype in ("float16", "bfloat16", "float32", "float64")
    }
    assert np.signbit(sg.relu(np.float32(-0.0))) != np.signbit(wrong(np.float32(-0.0)))


def test_a_change_that_no_input_shows_is_seen_in_the_operations() -> None:
    def value(f: KernelArithmetic, x: Node) -> Node:
        return sg.gelu.entry.value(f, x) * 1

    wrong = Activation(replace(sg.gelu.entry, value=value))
    case = DigestCase("gelu", "value", "float64")
    assert digests.compute(case, wrong) == expected(case)
    published = digests.read()["operations"][case.kernel]
    assert digests.operations(case, sg.gelu) == published != digests.operations(case, wrong)


def test_nan_is_canonical_and_zero_has_a_sign() -> None:
    for dtype, unsigned in (("float32", np.uint32), ("float64", np.uint64)):
        nans = np.array([np.nan], dtype)
        payload = (nans.view(unsigned) | unsigned(5)).view(dtype)
        assert digest(nans) == digest(-nans) == digest(payload)
        assert digest(nans) != digest(np.array([np.inf], dtype))
        assert digest(np.array([0.0], dtype)) != digest(np.array([-0.0], dtype))


def test_the_record_is_saved_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for functions in ({"relu": sg.relu}, {"gelu": changed_coefficient(monkeypatch)}):
        result = sg.check_bits(functions=functions)
        assert Reproduction.from_json(result.to_json()) == result
        assert len(result.table()[1]) == len(result.comparisons) == 5
        assert str(result).splitlines()[0] in result._repr_html_()
    assert published_digest("gelu", "value", "int8") is None


def test_a_function_without_digests_is_no_success() -> None:
    new = Activation(replace(sg.relu.entry, name="new"))
    result = sg.check_bits(functions={"new": new})
    assert not result.ok
    assert str(result).startswith("no digests are published for 'new': softgate publishes those of")
    assert len(str(result).splitlines()) == 1
    assert result.grids()[0].title == str(result)
    both = sg.check_bits(functions={"new": new, "relu": sg.relu})
    assert not both.ok
    assert "reproduces the published bits: 1 of 1 functions\n5 digests checked:\n" in str(both)
    assert str(result) in str(both)


def test_a_digest_missing_from_the_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    case = DigestCase("relu", "value", "float32")
    published = {**digests.read(), "bits": dict(digests.read()["bits"])}
    del published["bits"][case.name]
    monkeypatch.setattr(reproducibility, "read", lambda: published)
    result = sg.check_bits(functions=["relu"])
    assert not result.ok
    assert "does not reproduce the published bits: 0 of 1 functions" in str(result)
    assert "relu value float32: no digest is published" in str(result)


@sg.activation
def users_formula(f: Any, x: Any) -> Any:
    return x * f.sigmoid(x)


@sg.activation(name="relu")
def users_relu(f: Any, x: Any) -> Any:
    return x * f.sigmoid(x)


def test_functions_are_selected_by_name_or_as_they_are() -> None:
    for functions in ("relu", ["relu"], sg.relu, (sg.relu,), iter(["relu"])):
        result = sg.check_bits(functions=functions)
        assert result.ok
        assert {item.function for item in result.comparisons} == {"relu"}
    result = sg.check_bits(functions=["swiglu", sg.relu])
    assert result.ok
    assert {comparison.function for comparison in result.comparisons} == {"swiglu", "relu"}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (users_formula, "users_formula"),
        (users_relu, "relu()"),
        (sg.leaky_relu.bind(slope=0.3), "leaky_relu(slope=0.3)"),
        (sg.swiglu.bind(beta=2.0), "swiglu(beta=2.0)"),
    ],
)
def test_functions_outside_the_catalogue_have_no_digests(function: Activation, name: str) -> None:
    result = sg.check_bits(functions=[function])
    assert not result.ok
    assert str(result).startswith(f"no digests are published for {name!r}: ")


@pytest.mark.parametrize(
    ("functions", "kind", "message"),
    [
        (["rellu"], ValueError, "no digests are published for 'rellu': .*did you mean 'relu'"),
        (["nothing like it"], ValueError, "no digests are published for 'nothing like it': "),
        ([], ValueError, "functions is empty"),
        ({}, ValueError, "functions is empty"),
        ([3], TypeError, "functions contains 3: expected names or functions"),
        ({"relu": 3}, TypeError, "functions contains 3: expected names or functions"),
        (3, TypeError, "functions = 3: expected names or functions"),
    ],
)
def test_wrong_selections_are_named(functions: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        sg.check_bits(functions=functions)


def test_full_checks_every_digest() -> None:
    done: list[tuple[int, int]] = []
    functions: dict[str, Activation] = {"leaky_relu": sg.leaky_relu, "reglu": sg.reglu}
    result = sg.check_bits(full=True, functions=functions, progress=lambda *of: done.append(of))
    assert result.ok
    total = len(list(digests.cases(functions)))
    assert done == [(i + 1, total) for i in range(total)]
    assert "2 of 2 functions" in str(result)
    assert str(result).splitlines()[1:] == [
        f"{total} digests checked:",
        "  float16, bfloat16, float32, float64: value, slope, curvature, backward",
        "  float32 in float64, float8_e5m2: value",
        "  float8_e4m3fn: value, slope",
    ]
    assert functions["reglu"].nin == 2


@pytest.mark.parametrize(
    ("arithmetic", "relative", "wrong"),
    [
        ("float32", 2.0**-23, {"float32"}),
        ("float64", 2.0**-52, {"float64"}),
        ("float64", 2.0**-8, {"float16", "bfloat16", "float64"}),  # tables are from float64
    ],
)
def test_doctor_finds_a_kernel_that_is_wrong_in_one_arithmetic(
    arithmetic: str, relative: float, wrong: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def value(f: KernelArithmetic, x: Node) -> Node:
        y = sg.gelu.entry.value(f, x)
        return y * (1 + relative) if f.fmt.name == arithmetic else y

    bent = Activation(replace(sg.gelu.entry, value=value))
    monkeypatch.setattr(reproducibility, "catalogue", lambda: {"gelu": bent})
    result = CliRunner().invoke(doctor.command, ["--json"], standalone_mode=False)
    assert result.return_value == 1
    rows = json.loads(result.output)["reproducibility"]["comparisons"]
    assert {
        (row["quantity"], row["dtype"]) for row in rows if row["computed"] != row["published"]
    } == {("value", dtype) for dtype in wrong}


@pytest.mark.parametrize("arguments", [[], ["--full"]])
def test_doctor_fails_on_a_perturbed_kernel(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = changed_coefficient(monkeypatch)
    monkeypatch.setattr(reproducibility, "catalogue", lambda: {"gelu": wrong, "relu": sg.relu})
    result = CliRunner().invoke(doctor.command, arguments, standalone_mode=False)
    assert result.return_value == 1
    assert "gelu value float32: computed" in result.output
    assert "relu value float32: computed" not in result.output
    result = CliRunner().invoke(doctor.command, [*arguments, "--json"], standalone_mode=False)
    assert result.return_value == 1
    assert json.loads(result.output)["reproducibility"]["ok"] is False
