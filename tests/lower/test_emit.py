"""Emitted source: its comments, its options, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import compiled
import formulas
import pytest
from places import ROOT

import softgate as sg
from softgate.formula.arithmetic import FloatArithmetic
from softgate.formula.formats import FLOAT32, FLOAT64
from softgate.formula.graph import Node
from softgate.lower.emit import LANGUAGES
from softgate.lower.emit.body import Body
from softgate.lower.emit.c import LANGUAGE as C
from softgate.lower.emit.c import literal
from softgate.runtime.activation import Activation

TEXT = [name for name in LANGUAGES if name != "onnx"]
"""Languages of source code; the documentation of ONNX models is tested with their results."""
RunHere = Callable[..., subprocess.CompletedProcess[str]]


def softgate(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "softgate", "emit", *arguments],
        capture_output=True, text=True, encoding="utf-8", cwd=cwd, timeout=600, check=False,
    )  # fmt: skip


def test_comments_say_what_it_is(activation: Activation) -> None:
    """Formula, paper, bound, command, version and licence; every parameter with its default."""
    for language in TEXT:
        check_comment(activation, language)


def check_comment(activation: Activation, language: str) -> None:
    text = sg.emit(activation, language)
    marks = LANGUAGES[language].marks[1]
    comment = " ".join(
        line.removeprefix(marks).strip() for line in text.split("\n") if line.startswith(marks)
    )
    entry = activation.entry
    assert f"{entry.name}(x) = {entry.formula}" in comment
    assert entry.paper in comment
    assert f"softgate {sg.__version__}" in comment
    assert "Apache-2.0" in comment
    assert "softgate certify" in comment
    assert re.search(r"within [\d.]+ ulp|correctly rounded", comment)
    for p in entry.parameters:
        assert f"{p.name} = {p.default!r} by default" in comment
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(line == line.rstrip() for line in text.split("\n"))
    assert all(len(line) <= 101 for line in text.split("\n") if line.startswith(marks))


def test_the_stated_bound_is_the_catalogues() -> None:
    text = sg.emit("gelu", "c")
    bounds = sg.gelu.entry.bounds
    assert f"gelu_f32        value in float, within {bounds['float32'].value:g} ulp" in text
    assert f"gelu_slope_f64  slope in double, within {bounds['float64'].slope:g} ulp" in text
    assert "no bound known" in sg.emit(formulas.snake, "c")


@pytest.mark.parametrize("language", TEXT)
@pytest.mark.parametrize("gated", sg.gated().values(), ids=lambda gated: gated.name)
def test_comments_of_gated_functions(gated: Activation, language: str) -> None:
    """Both formulas and the bounds; nothing that `certify` cannot measure."""
    text = sg.emit(gated, language, quantity="value,slope,backward")
    assert f"{gated.name}(a, b) = {gated.entry.formula}\n" in text
    assert (f"{gated.gate_activation.name}(x) = " in text) == (gated.factor is None)
    assert len(re.findall(r"within [\d.]+ ulp", text)) >= 3
    assert "activation of the gate is a normal number" in text
    assert "certify" not in text


def test_the_gate_may_be_the_second_operand() -> None:
    text = sg.emit(sg.swiglu.bind(gate="second", beta=2.0), "js", quantity="value")
    assert "swiglu(a, b) = a*silu(b)" in text
    assert "beta = 2.0\n" in text
    assert "const t1 = 2 * b" in text or "Math.abs(b)" in text


def recipe(text: str, name: str, own: Activation, most: int | None = None) -> list[Any]:
    """Return the certificates that the comment's lines of Python make, of fewer inputs."""
    lines = re.findall(r"print\(sg\.certify\((?:.|\n)*?\)\)", re.sub(r"(?m)^(//| \*|#)", "", text))
    made: list[Any] = []
    certify = partial(sg.certify, samples=1000)
    for line in lines[:most]:
        exec(line, {"sg": SimpleNamespace(certify=certify), name: own, "print": made.append})
    return made


def nameless() -> Activation:
    """A formula that no command can name."""
    return sg.activation(name="mine")(lambda f, x: x * f.tanh(x))


@pytest.mark.parametrize("language", TEXT)
def test_of_a_formula_of_ones_own_no_bound_is_claimed(language: str) -> None:
    for custom in (nameless(), formulas.snake):
        comment, known = (sg.emit(a, language).split("import torch")[0] for a in (custom, sg.gelu))
        by_default = LANGUAGES[language]
        functions = len(by_default.default_dtypes) * len(by_default.default_quantities)
        assert comment.count("no bound known") == functions
        assert not re.search(r"bounds? (hold|are)|within [\d.]+ ulp|correctly rounded", comment)
        assert "The loops vectorise" not in comment
        assert re.search(r"within [\d.]+ ulp", known)


@pytest.mark.parametrize("language", TEXT)
def test_the_recipe_names_what_can_be_named(language: str) -> None:
    """A formula in a module by that, one in a program or with other parameters in Python."""
    assert " formulas:snake" in sg.emit(formulas.snake, language)
    for custom in (nameless(), formulas.snake.bind(a=2.0)):
        text = sg.emit(custom, language)
        assert "softgate certify" not in text
        assert f"in Python, where it is {custom.name}:" in text


def test_the_recipe_in_python_runs() -> None:
    user_function = nameless()
    (certificate,) = recipe(sg.emit(user_function, "js"), "mine", user_function)
    assert {m.quantity for m in certificate.measurements} >= {"value", "slope"}


@pytest.mark.skipif(compiled.COMPILER is None, reason=compiled.MISSING)
def test_the_recipe_for_c_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_function = formulas.swish.bind(beta=2.0)
    text = sg.emit(user_function, "c")
    compiled.compiled(text, tmp_path, "swish")
    monkeypatch.chdir(tmp_path)
    single, double = recipe(text, "swish", user_function)
    assert not single.failures(1.0)  # rounded once from double
    assert {m.dtype for m in double.measurements} == {"float64"}
    assert recipe(text, "swish", formulas.swish, most=1)[0].failures(1.0)  # another function


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        ({}, ["gelu_f32(", "gelu_slope_f32(", "gelu_f64(", "gelu_slope_f64("], []),
        ({"dtype": "float32"}, ["gelu_f32(", "gelu_slope_f32("], ["double", "f64"]),
        ({"quantity": "slope"}, ["gelu_slope_f32(", "gelu_slope_f64("], ["gelu_f32("]),
        ({"quantity": ("value", "backward")}, ["gelu_f32(", "gelu_backward_f64("], ["_slope"]),
        ({"quantity": "slope,backward"}, ["gelu_slope_f32(", "gelu_backward_f32("], ["gelu_f32("]),
    ],
)
def test_parts_can_be_chosen(options: Any, present: list[str], absent: list[str]) -> None:
    text = sg.emit("gelu", "c", **options)
    assert all(name in text for name in present)
    assert not any(name in text for name in absent)


def test_names_and_parameters_are_understood() -> None:
    assert sg.emit("gelu_new", "js") == sg.emit(sg.gelu_tanh, "js")
    bound = sg.emit(sg.leaky_relu.bind(slope=0.2), "c")
    assert bound == sg.emit("leaky_relu", "c", slope=0.2)
    assert bound != sg.emit("leaky_relu", "c")
    written = sg.emit("leaky_relu", "js", slope=0.01)
    assert "export function leaky_relu(x) {" in written


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("gelu", "cpp"), {}, f"expected one of {', '.join(LANGUAGES)}"),
        (("gelu", "javascrip"), {}, "did you mean 'js'"),
        (("geluu", "c"), {}, "gelu"),
        (("gelu", "js"), {"dtype": "float32"}, "emitted in float64; choose one of these or leave"),
        (
            ("gelu", "c"),
            {"dtype": "float16"},
            "choose one of these or leave dtype out, or emit onnx",
        ),
        (("gelu", "c"), {"quantity": "curvature"}, "choose from value, slope, backward"),
        (("gelu", "c"), {"quantity": "value,slop"}, "quantity = 'slop'"),
        (((), "c"), {}, "no functions were passed"),
        ((("gelu", sg.gelu), "c"), {}, "gelu was given twice"),
        (("gelu", "c"), {"form": "script"}, "C99 has one form"),
        (("gelu", "js"), {"form": "umd"}, "expected one of module, script"),
        (("gelu", "onnx"), {"form": "script"}, "expected one of model, function"),
        (("gelu", "onnx"), {"dtype": "bfloat16"}, "float16 and float32 and float64"),
        (("elu", "c"), {"alpha": 1e30}, "out of range"),
    ],
)
def test_invalid_arguments(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sg.emit(*arguments, **keywords)


@pytest.mark.parametrize("argument", [3, None])
def test_what_is_no_activation_is_told(argument: Any) -> None:
    with pytest.raises(TypeError, match="expected a callable, or a name"):
        sg.emit(argument, "c")


@pytest.mark.parametrize("language", TEXT)
@pytest.mark.parametrize(
    "name",
    ["σ", "delete", "fma", "tl", "while", "class", "for", "NaN", "struct", "lambda", "x_slope"],
)
def test_names_that_a_language_has_not_are_refused(name: str, language: str) -> None:
    user_function = sg.activation(name=name)(lambda f, x: f.tanh(x))
    if name == "x_slope":  # a name as others
        assert name in sg.emit(user_function, language)
        return
    with pytest.raises(ValueError, match="give the formula another"):
        sg.emit(user_function, language)


def test_no_name_of_the_catalogue_is_reserved() -> None:
    names = {*sg.activations(), *sg.gated()}
    assert not any(names & language.words for language in LANGUAGES.values())


def test_the_documentation_lists_every_language() -> None:
    text = (ROOT / "docs" / "emit.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (`\w+`) \| (.*?) \| (.*?) \| (.*?)[: ]", text)
    assert [row[:3] for row in rows] == [
        (
            f"`{name}`",
            ", ".join(f"`.{extension}`" for extension in language.extensions),
            ", ".join(language.dtypes),
        )
        for name, language in LANGUAGES.items()
    ]


def test_the_command_offers_every_language(run_here: RunHere) -> None:
    text = " ".join(run_here("emit", "--help").stdout.split())
    assert f"--language [{'|'.join(LANGUAGES)}]" in text
    for language in LANGUAGES.values():
        assert f"{language.name}: {language.title}, {language.contents}" in text
        assert all(f".{extension}" in text for extension in language.extensions)
        assert all(f"({form})" in text for form in language.forms)


def test_a_slope_and_a_function_of_one_name_are_refused() -> None:
    user_function = sg.activation(name="gelu_slope")(lambda f, x: f.tanh(x))
    with pytest.raises(ValueError, match="gelu_slope would stand there twice"):
        sg.emit(["gelu", user_function], "c")
    assert "gelu_slope_slope_f32(" in sg.emit(user_function, "c")


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    printed = softgate("leaky_relu:slope=0.2", "--language", "c", "--dtype", "float32")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout == sg.emit(sg.leaky_relu.bind(slope=0.2), "c", dtype="float32")
    written = softgate("gelu", "silu", "--language", "js", "-o", "out.mjs", cwd=tmp_path)
    assert (written.returncode, written.stdout) == (0, "")
    assert written.stderr == "Wrote out.mjs\n"
    assert (tmp_path / "out.mjs").read_text(encoding="utf-8") == sg.emit(["gelu", "silu"], "js")


@pytest.mark.parametrize(
    "arguments",
    [
        ("gelu",),
        ("gelu", "--language", "rust"),
        ("geluu", "--language", "c"),
        ("gelu", "--language", "c", "--quantity", "curvature"),
        ("gelu", "--language", "js", "--dtype", "float32"),
        ("gelu", "--language", "c", "--form", "script"),
        ("gelu", "--language", "c", "-o", "no/such/folder/gelu.c"),
    ],
)
def test_wrong_commands_are_answered_in_a_line(
    arguments: tuple[str, ...],
    run_here: RunHere,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_here("emit", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def lines(root: Node, fmt: Any = FLOAT32) -> list[str]:
    result = Body((root,), fmt, C.syntax(fmt), {"x": "x"})
    return [*result.lines, *result.results]


def test_what_is_known_is_worked_out_in_the_format() -> None:
    f = FloatArithmetic(FLOAT32)
    x = f.graph.input("x")
    third = f.lift(1) / f.lift(3)
    assert lines(x * third) == ["x * 0.33333334f"]
    assert lines(x * f.fma(third, 3, -1)) == ["x * 0x1p-25f"]  # rounded once
    assert lines(f.where(f.lift(1) < f.lift(2), x, 1 / x)) == ["x"]
    assert lines(f.fma(f.lift(1), x, 2)) == ["x + 2.0f"]
    assert lines(f.fma(x, -1, 2)) == ["2.0f - x"]
    assert lines(-f.lift(0) * x) == ["-0.0f * x"]
    assert lines(f.where(x > 1, 0, x)) == ["(x > 1.0f) ? 0.0f : x"]


def test_brackets_stand_where_they_are_needed() -> None:
    f = FloatArithmetic(FLOAT64)
    x = f.graph.input("x")
    assert lines(x - (x - 1), FLOAT64) == ["x - (x - 1.0)"]
    assert lines(x / (x * 3), FLOAT64) == ["x / (x * 3.0)"]
    assert lines(-(x + 1), FLOAT64) == ["-(x + 1.0)"]
    assert lines((x - 1) - x, FLOAT64) == ["x - 1.0 - x"]
    assert lines(x * -f.lift(2), FLOAT64) == ["x * -2.0"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (FLOAT32.round(Fraction("0.1")), "0.1f"), (-2.0**-64, "-0x1p-64f"),
        (3.4028234663852886e38, "3.4028235e+38f"),
        (float("inf"), "INFINITY"), (float("nan"), "NAN"), (-0.0, "-0.0f"),
    ],
)  # fmt: skip
def test_numbers_in_c(value: float, text: str) -> None:
    assert literal(FLOAT32, value) == text
