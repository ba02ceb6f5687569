"""`sg.get`, and what `sg.names` and `softgate names` show."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import softgate as sg
from softgate.runtime.lookup import lookup
from softgate.runtime.name_table import SOURCES, Names


@pytest.mark.parametrize(
    ("name", "options", "meant"),
    [
        ("gelu_new", {}, "gelu_tanh"),
        ("GELU", {}, "gelu"),
        ("Gelu", {}, "gelu"),
        ("SiLU", {}, "silu(beta=1)"),
        ("HardSwish", {}, "hard_swish"),
        ("HARDSWISH", {}, "hard_swish"),
        ("linear", {}, "identity"),
        ("quick_gelu", {}, "gelu_sigmoid"),
        ("com.microsoft.FastGelu", {}, "gelu_tanh"),
        ("FastGelu", {}, "gelu_tanh"),
        ("torch.nn.GELU", {}, "gelu"),
        ("torch.sigmoid", {}, "sigmoid"),
        ("keras.ops.gelu", {}, "gelu_tanh"),
        ('transformers.activations.ACT2FN["relu2"]', {}, "squared_relu"),
        ("gelu", {"source": "torch"}, "gelu"),
        ("gelu", {"source": "PyTorch"}, "gelu"),
        ("gelu", {"source": "tf"}, "gelu"),
        ("gelu", {"source": "hf"}, "gelu"),
        ("gelu", {"source": "transformers"}, "gelu"),
        ("gelu", {"source": "softgate"}, "gelu"),
        ("gelu", {"source": "jax"}, "gelu_tanh"),
        ("gelu", {"source": "keras"}, "gelu"),
        ("gelu", {"source": "keras.ops"}, "gelu_tanh"),
        ("gelu", {"source": "com.microsoft"}, "gelu"),
        ("gelu", {"source": "torch", "approximate": "tanh"}, "gelu_tanh"),
        ("gelu", {"source": "keras", "approximate": True}, "gelu_tanh"),
        ("gelu", {"source": "jax", "approximate": False}, "gelu"),
        ("leaky_relu", {"source": "torch"}, "leaky_relu(slope=0.01)"),
        ("leaky_relu", {"source": "tensorflow"}, "leaky_relu(slope=0.2)"),
        ("leaky_relu", {"slope": 0.1}, "leaky_relu(slope=0.1)"),
        ("leaky_relu", {"source": "torch", "negative_slope": 0.2}, "leaky_relu(slope=0.2)"),
        ("leaky_relu", {"source": "keras", "slope": 0.4}, "leaky_relu(slope=0.4)"),
        ("LeakyReLU", {"source": "keras"}, "leaky_relu(slope=0.3)"),
        ("HardSigmoid", {"source": "onnx"}, "hard_sigmoid(width=5)"),
        ("HardSigmoid", {"source": "onnx", "alpha": 0.25}, "hard_sigmoid(width=4)"),
        ("QuickGelu", {"source": "onnx", "alpha": 1.5}, "silu(beta=1.5)"),
        ("relu", {"source": "keras", "max_value": 6}, "relu6"),
        ("relu", {"source": "keras", "max_value": None}, "relu"),
        ("relu", {"source": "keras", "negative_slope": 0.1}, "leaky_relu(slope=0.1)"),
        ("relu", {"source": "torch", "inplace": True}, "relu"),
        ("glu", {}, "glu"),
        ("SwiGLU", {"source": "onnx", "alpha": 2.0}, "swiglu(beta=2)"),
        ("elu:alpha=0.5", {}, "elu(alpha=0.5)"),
        ("gelu:approximate=tanh", {"source": "torch"}, "gelu_tanh"),
        ("torch.nn.LeakyReLU:negative_slope=0.2", {}, "leaky_relu(slope=0.2)"),
        ("rrelu:lower=0.25", {"upper": 0.5}, "rrelu(lower=0.25, upper=0.5)"),
    ],
)
def test_get(name: str, options: dict[str, Any], meant: str) -> None:
    function = sg.get(name, **options)
    values = ", ".join(f"{key}={value:g}" for key, value in function.parameters.items())
    assert (f"{function.name}({values})" if values else function.name) == meant


def meaning(result: Any) -> tuple[str, dict[str, float]]:
    return result.name, dict(result.parameters)


@pytest.mark.parametrize(
    ("name", "preferred", "meant"),
    [
        ("gelu", ["jax"], "gelu"),
        ("nn.gelu", ["jax"], "gelu_tanh"),
        ("nn.gelu", ["torch", "jax"], "gelu"),
        ("gelu_new", ["jax", "torch"], "gelu_tanh"),
        ("LeakyReLU", ["torch"], "leaky_relu(slope=0.01)"),
        ("LeakyReLU", ["keras"], "leaky_relu(slope=0.3)"),
    ],
)
def test_names_of_preferred_frameworks(name: str, preferred: list[str], meant: str) -> None:
    function = lookup(name, prefer=preferred)
    values = ", ".join(f"{key}={value:g}" for key, value in function.parameters.items())
    assert (f"{function.name}({values})" if values else function.name) == meant


def test_every_place_that_takes_a_name_takes_each_spelling() -> None:
    assert str(sg.explain([1.0], "gelu_new")) == str(sg.explain([1.0], sg.gelu_tanh))
    assert {r.function for r in sg.check_bits(functions="gelu_new").comparisons} == {"gelu_tanh"}


def test_softgates_names_mean_its_functions() -> None:
    for name, function in (sg.activations() | sg.gated()).items():
        assert sg.get(name) is function, name
    assert sg.get("gelu") is sg.gelu
    assert sg.get("leaky_relu").parameters["slope"] == 0.01


def test_other_meanings_of_softgates_names_are_shown() -> None:
    """JAX and keras.ops mean gelu_tanh by gelu: in the table of names, and in the help of get."""
    meanings = {record.path: record.computes for record in sg.names(name="gelu")}
    assert meanings["jax.nn.gelu"] == meanings["keras.ops.gelu"] == "gelu_tanh"
    assert meanings["torch.nn.functional.gelu"] == meanings["softgate.gelu"] == "gelu"
    text = str(sg.names(name="gelu"))
    assert all(word in text for word in ("JAX", "keras.ops.gelu", "gelu_tanh"))
    assert all(word in str(sg.get.__doc__) for word in ("JAX", "keras.ops", "gelu_tanh"))
    assert sg.get("gelu", source="jax") is sg.get("gelu", source="keras.ops") is sg.gelu_tanh


def test_a_name_that_means_two_functions_is_an_error_that_says_both() -> None:
    with pytest.raises(ValueError, match=r"'nn\.gelu' means 2 functions") as caught:
        sg.get("nn.gelu")
    exact, tanh = str(caught.value).splitlines()[1:3]
    assert "x*Phi(x)" in exact
    assert "TensorFlow" in exact
    assert "gelu_tanh(x)" in tanh
    assert "JAX" in tanh


@pytest.mark.parametrize(
    ("function", "arguments", "word"),
    [
        ("gelu", {"approximate": "tanh"}, "gelu_tanh"),
        ("gelu", {"approximate": True}, "gelu_tanh"),
        ("leaky_relu", {"negative_slope": 0.2}, "is slope"),
    ],
)
def test_arguments_of_frameworks_are_explained(
    function: str, arguments: dict[str, Any], word: str
) -> None:
    called = getattr(sg, function)
    for call in (
        lambda: called(1.0, **arguments),
        lambda: called.slope(1.0, **arguments),
        lambda: called.bind(**arguments),
        lambda: sg.get(function, **arguments),
    ):
        with pytest.raises(TypeError, match=word):
            call()
    with pytest.raises(TypeError) as raised:
        sg.gelu(1.0, approximate="x")
    assert "tanh" not in str(raised.value)


@pytest.mark.parametrize("name", ["LeakyReLU", "HardSigmoid", "nn.gelu"])
def test_what_the_error_says_to_write_gives_each_meaning(name: str) -> None:
    with pytest.raises(ValueError, match="means 2 functions") as caught:
        sg.get(name)
    lines = str(caught.value).splitlines()
    calls = re.findall(r"get\([^)]*\)", lines[-1])
    got = [eval(call, {"get": sg.get}) for call in calls]
    described = [line.strip().partition("(x")[0] for line in lines[1:-1]]
    assert [result.name for result in got] == described
    assert meaning(got[0]) != meaning(got[1])


@pytest.mark.parametrize("name", [r.name for r in sg.names() if not r.implemented])
def test_known_and_not_implemented(name: str) -> None:
    with pytest.raises(ValueError, match="is known and softgate does not have it") as caught:
        sg.get(name)
    assert "@softgate.activation" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "error", "says"),
    [
        ("gleu", {}, ValueError, r"unknown name 'gleu'; did you mean .*'gelu' \(softgate, PyTorch"),
        ("swihs", {}, ValueError, "'swish'"),
        ("qqqq", {}, ValueError, "`softgate names` lists all"),
        ("gelu_new", {"source": "jax"}, ValueError, r"a name in softgate, Hugging Face; did you"),
        ("gelu", {"source": "jx"}, ValueError, "unknown source 'jx'.*did you mean 'jax'"),
        ("gelu", {"source": 3}, TypeError, "source is an int"),
        (3, {}, TypeError, "name is an int"),
        ("elu:alpha", {}, ValueError, "write elu:parameter=value"),
        ("elu:alpha=1", {"alpha": 2.0}, ValueError, "gives 'alpha' twice"),
        ("leaky_relu", {"negative_slope": 0.1}, TypeError, "with source="),
        ("gelu", {"source": "torch", "approximate": "x"}, ValueError, "known values: none .*tanh"),
        ("relu", {"source": "keras", "max_value": 3}, ValueError, "none of softgate's functions"),
        ("selu", {"source": "torch", "alpha": 2.0}, TypeError, "takes no 'alpha'"),
        ("glu", {"source": "torch", "dim": 0}, TypeError, "is given in the call"),
        ("HardSigmoid", {"source": "onnx", "alpha": 0}, ValueError, "no reciprocal"),
        ("elu", {"source": "torch", "alpha": "a"}, TypeError, "expected a real number"),
        (
            "leaky_relu",
            {"source": "torch", "negative_slope": 0.1, "slope": 0.2},
            TypeError,
            "give one of the two",
        ),
    ],
)
def test_mistakes(name: Any, options: dict[str, Any], error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        sg.get(name, **options)


def test_names_survive_json() -> None:
    assert Names.from_json(sg.names().to_json()) == sg.names()


def test_the_matrix_marks_the_default_form() -> None:
    matrix = sg.names().matrix()[0]
    rows = {
        row[0].split("\n")[0]: dict(zip(matrix.header, row, strict=True)) for row in matrix.rows
    }
    assert "gelu" in rows["gelu_tanh"]["JAX"].split("\n")
    assert "gelu(approximate=False)" in rows["gelu"]["JAX"].split("\n")
    assert "leaky_relu [slope=0.2]" in rows["leaky_relu"]["TensorFlow"].split("\n")
    assert set(rows) >= {record.function for record in sg.names() if record.implemented}


def test_every_name_is_shown() -> None:
    shown = str(sg.names())
    assert all(record.name in shown for record in sg.names())
    assert "Known, not implemented" in shown
    assert "xielu" in sg.names()._repr_html_()
    assert "ops.gelu" in str(sg.names("keras"))


def command_line(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    from softgate.cli import main

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "argv", ["softgate", "names", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(monkeypatch, "gelu") == 0
    shown = capsys.readouterr().out
    assert re.search(r"JAX +gelu +gelu_tanh +jax\.nn\.gelu ", shown)
    assert re.search(r"PyTorch +GELU +gelu +torch\.nn\.GELU ", shown)
    assert not {"\t", "\x1b"} & set(shown)
    assert command_line(monkeypatch) == 0
    assert not {"\t", "\x1b"} & set(capsys.readouterr().out)
    assert command_line(monkeypatch, "gelu", "silu", "--source", "jax", "--json") == 0
    restored = Names.from_json(capsys.readouterr().out)
    assert [record.path for record in restored] == ["jax.nn.gelu", "jax.nn.silu"]
    assert command_line(monkeypatch, "--source", "tf", "--csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("source,name,path,function")
    assert len(lines) == 1 + len(sg.names("tensorflow"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gleu"], "did you mean"),
        (["--source", "pytorhc"], "did you mean 'pytorch'"),
        (["gelu", "--json", "--csv"], "exclude each other"),
    ],
)
def test_command_mistakes(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command_line(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err


@pytest.mark.parametrize("source", SOURCES)
def test_each_name_is_understood_in_its_source(source: str) -> None:
    for record in sg.names(source):
        if record.implemented:
            by_name = sg.get(record.name, source=source)
            assert meaning(by_name) == meaning(sg.get(record.path, source=source)), record
            assert by_name.name == record.function
