"""Emitted JavaScript, run by Node, gives softgate's float64 results."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import formulas
import numpy as np
import pytest
from checks import call
from javascript import NODE, Job, check, inputs, run
from variants import parameter_sets

import softgate as sg
from softgate.formula.formats import FLOAT64
from softgate.runtime.activation import Activation

OWN = [formulas.snake, formulas.swish, formulas.isru, formulas.tanhexp]


def job(activation: Activation, quantity: str, parameters: dict[str, float]) -> Job:
    name = activation.name if quantity == "value" else f"{activation.name}_{quantity}"
    argument = activation.check_parameters(parameters) if parameters else ()
    return name, tuple(value for _, value in argument)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[Job, Any]:
    """Every function of the catalogue in one module, with every tested parameter."""
    jobs = [
        (job(activation, quantity, parameters), inputs(activation))
        for activation in sg.activations().values()
        for parameters in parameter_sets(activation)
        for quantity in ("value", "slope")
    ]
    text = sg.emit(sg.activations().values(), "js")
    return run(text, jobs, tmp_path_factory.mktemp("js"))


def test_results_are_the_kernels(
    results: dict[Job, Any], variant: tuple[Activation, dict[str, float]]
) -> None:
    activation, parameters = variant
    for quantity in ("value", "slope"):
        expected = call(activation, quantity, inputs(activation), **parameters)
        check(results[job(activation, quantity, parameters)], expected)


def test_formulas_of_ones_own(tmp_path: Path) -> None:
    jobs = [
        (job(formula, quantity, {}), inputs(formula))
        for formula in OWN
        for quantity in ("value", "slope")
    ]
    result = run(sg.emit(OWN, "javascript"), jobs, tmp_path)
    for formula in OWN:
        for quantity in ("value", "slope"):
            expected = call(formula, quantity, inputs(formula))
            check(result[job(formula, quantity, {})], expected)


def test_bound_parameters_are_written_in(tmp_path: Path) -> None:
    leaky = sg.leaky_relu.bind(slope=0.2)
    text = sg.emit(leaky, "js", quantity="value")
    assert "export function leaky_relu(x) {" in text
    key = ("leaky_relu", ())
    check(run(text, [(key, inputs(leaky))], tmp_path)[key], leaky(inputs(leaky)))


def test_a_script_has_the_same_functions_by_name(tmp_path: Path) -> None:
    """Within a page's one script: shared code once, one name declared, parameters taken."""
    text = sg.emit(sg.activations().values(), "js", form="script")
    assert text.count("function fma(") == text.count("const number =") == 1
    assert not any(line.startswith(("export", "import")) for line in text.split("\n"))
    # In a page the text would end at the first of these, wherever it stands.
    assert not any(mark in text.lower() for mark in ("</script", "<!--", "<script"))
    names = [f"{name}{end}" for name in sg.activations() for end in ("", "_slope")]
    page = "const fma = 1, number = 2, words = 3, gelu = 4;\n" + text
    page += "process.stdout.write(JSON.stringify([Object.keys(softgate), softgate.silu(1.5, 2), "
    page += "softgate.gelu_slope(-0.5), gelu]));\n"
    (tmp_path / "page.cjs").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [NODE, str(tmp_path / "page.cjs")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = [float(sg.silu(1.5, beta=2.0)), float(sg.gelu.slope(-0.5)), 4]
    assert json.loads(done.stdout) == [names, *expected]


def test_a_script_computes_as_the_module() -> None:
    """Between the frames stands the same code."""
    module, script = (sg.emit(["gelu", "silu"], "js", form=form) for form in ("module", "script"))
    functions = module[module.index("// a*b + c") :].replace("export ", "")
    assert functions in script
    assert sg.emit(["gelu", "silu"], "js") == module


def exact(a: float, b: float, c: float) -> float:
    """a·b + c, rounded once."""
    return FLOAT64.round(Fraction(a) * Fraction(b) + Fraction(c))


def triples() -> list[tuple[float, float, float]]:
    """Numbers of all sizes; sums that cancel, ties, and ties that a last bit breaks."""
    rng = np.random.default_rng(8)
    values = []
    factors = np.ldexp(rng.standard_normal((1500, 2)), rng.integers(-99, 99, (1500, 2)))
    for a, b in factors.tolist():
        values += [(a, b, c) for c in (-a * b, -a * b * 1.25, a, 1.0, a * b * 2.0**60)]
    # Subnormal results, and what rounds to them: products that underflow beside small terms.
    tiny = np.ldexp(
        rng.standard_normal((3000, 3)),
        rng.integers((-560, -520, -1085), (-500, -480, -1010), (3000, 3)),
    )
    values += [tuple(row) for row in tiny.tolist()]
    for k in range(1, 300):
        # Half an ulp of c, and a hair beside it.
        values += [(1 + 2.0**-k, 2.0**-53, s * (1 + j * 2.0**-52)) for s in (1, -1) for j in (0, 1)]
        values += [
            (2.0**-27 + 2.0**-80, 2.0**-26 + s * 2.0**-78, 1 + k * 2.0**-52) for s in (1, -1)
        ]
        values += [(2.0**1000 * (k + 0.5), 2.0**-990, 1.0), (1.7e308, 0.9, -1.5e308 - k * 2.0**980)]
    return values


def test_fma_rounds_once(tmp_path: Path) -> None:
    cases = triples()
    packed = np.array([*zip(*cases, strict=True)])
    at = "\nconst cases = " + json.dumps(packed.tolist()) + ";\n"
    reach = "export function each(i) { return fma(cases[0][i], cases[1][i], cases[2][i]); }\n"
    text = sg.emit("gelu", "js", quantity="value") + at + reach
    key = ("each", ())
    result = run(text, [(key, np.arange(float(len(cases))))], tmp_path)[key]
    assert [exact(*case) for case in cases] == result.tolist()


def test_the_comparison_catches_a_wrong_function(tmp_path: Path) -> None:
    """An fma that rounds twice loses signs of zeros in the tail, and slopes beside a root."""
    text = sg.emit("gelu", "js").replace("function fma(", "function fused(", 1)
    text += "function fma(a, b, c) { return a * b + c; }\n"
    keys: list[Job] = [("gelu", ()), ("gelu_slope", ())]
    result = run(text, [(key, inputs(sg.gelu)) for key in keys], tmp_path)
    for key, expected in zip(keys, (sg.gelu, sg.gelu.slope), strict=True):
        with pytest.raises(AssertionError):
            check(result[key], expected(inputs(sg.gelu)))
