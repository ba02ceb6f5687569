"""bench, table and plot call the function that was passed; commands that cannot, refuse it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
Text = pytest.importorskip("matplotlib.text").Text

CODE = """
import numpy as np

calls = []

def counted(x):
    "silu, and a count of the calls"
    calls.append(x.size)
    return x / (1 + np.exp(-x))

def wave(x):
    return np.sin(3 * x)

def centred(x):
    return x - x.mean()

def in_torch(x):
    import torch
    return x * torch.sigmoid(x) + 1e-9

def in_jax(x):
    import jax
    return x * jax.nn.sigmoid(x)

def in_tensorflow(x):
    import tensorflow as tf
    return x * tf.sigmoid(x)

class Scaled:
    def __init__(self, by=1.0):
        self.by = by

    def __call__(self, x):
        return x * x.dtype.type(self.by)
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a module in the current folder."""
    name = f"passed_code_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


QUICK: dict[str, Any] = {"peers": "none", "size": "4096", "budget": 0.1}


def rows(bench: Any) -> dict[tuple[str, str, str], Any]:
    return {(row.function, row.implementation, row.quantity): row for row in bench}


def test_bench_times_what_was_passed(code: str, run_here: Callable[..., Any]) -> None:
    text = f"{code}.py:counted"
    done = run_here(
        "bench", text, "--peers", "none", "--size", "4096", "--budget", "0.1", "--json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    timed = {
        (r["function"], r["implementation"]): r for r in record["rows"] if r["quantity"] == "value"
    }
    mine = timed[text, "numpy"]
    assert mine["least_ns"] > 0
    assert mine["same_as"] == "silu"
    assert mine["ratio_to_softgate"] == pytest.approx(
        mine["least_ns"] / timed["silu", "softgate"]["least_ns"]
    )
    assert any("backward" in line and "numpy code" in line for line in record["not_run"])
    assert record["settings"]["functions"] == [text, "silu"]


def test_an_error_of_the_code_is_in_its_row(code: str) -> None:
    (Path.cwd() / f"{code}.py").write_text(
        "import numpy as np\n\ndef one_size(x):\n    if x.size == 4096:\n"
        "        raise KeyError('the code ran')\n    return np.maximum(x, 0)\n"
    )
    timed = rows(sg.bench(f"{code}:one_size", quantity="value", **QUICK))
    mine = timed[f"{code}:one_size", "numpy", "value"]
    assert (mine.same_as, mine.least_ns) == ("relu", None)
    assert "the code ran" in mine.error
    assert timed["relu", "softgate", "value"].least_ns > 0


def test_bench_of_a_framework_times_the_framework() -> None:
    timed = rows(sg.bench("torch.nn.functional.gelu", **QUICK))
    value, backward = (timed["torch.nn.functional.gelu", "torch", q] for q in ("value", "backward"))
    assert value.least_ns > 0
    assert any("autograd" in note for note in backward.notes)
    assert value.same_as == "gelu"
    assert ("gelu", "torch", "value") not in timed
    assert timed["gelu", "softgate", "value"].ratio_to_softgate == 1


@pytest.mark.parametrize(
    ("function", "framework", "how"),
    [("in_jax", "jax", "jax.vjp"), ("in_tensorflow", "tensorflow", "gradient tape")],
)
def test_bench_of_code_of_other_frameworks(
    code: str, function: str, framework: str, how: str
) -> None:
    pytest.importorskip(framework)
    name = f"{code}:{function}"
    timed = rows(sg.bench(name, **QUICK))
    assert timed[name, framework, "value"].least_ns > 0
    backward = timed[name, framework, "backward"]
    assert any(how in note for note in backward.notes)
    assert backward.least_ns > 0
    assert (backward.same_as, backward.error) == ("silu", "")


def test_bench_of_code_that_no_function_equals(code: str) -> None:
    names = [f"{code}:wave", f"{code}:centred"]
    timed = rows(sg.bench(names, quantity="value", **QUICK))
    assert "no function of the catalogue has its values" in timed[names[0], "numpy", "value"].notes
    notes = timed[names[1], "numpy", "value"].notes
    assert any(note.startswith("not elementwise: f(") for note in notes)
    assert {function for function, _, _ in timed} == {*names, "relu", "copy"}
    assert timed[names[0], "numpy", "value"].ratio_to_softgate is None


def test_bench_takes_modules_and_refuses_what_no_process_can_import() -> None:
    timed = rows(sg.bench(torch.nn.GELU(approximate="tanh"), quantity="value", **QUICK))
    mine = timed["GELU(approximate='tanh')", "torch", "value"]
    assert (mine.same_as, mine.error) == ("gelu_tanh", "")
    with pytest.raises(ValueError, match="other processes cannot import it: put it into a module"):
        sg.bench(lambda x: x / (1 + np.exp(-x)), **QUICK)


def test_a_baseline_times_the_same_code(code: str, run_here: Callable[..., Any]) -> None:
    options = ["--quantity", "value", "--budget", "0.1"]
    for name in ("torch.nn.functional.silu", f"{code}:counted"):
        done = run_here("bench", name, "--peers", "none", "--size", "4096", *options,
                        "-o", "old.json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        done = run_here("bench", "--baseline", "old.json", "--tolerance", "1000", *options)
        if name.startswith("torch"):
            assert done.returncode == 0, done.stderr
            assert name in done.stdout
        else:
            assert (done.returncode, "module:function" in done.stderr) == (2, True)
            done = run_here(
                "bench", name, "--baseline", "old.json", "--tolerance", "1000", *options
            )
            assert done.returncode == 0, done.stderr
            assert name in done.stdout


def test_table_has_the_figures_of_the_code(code: str, run_here: Callable[..., Any]) -> None:
    table = sg.table(f"{code}:in_torch", "silu", at="-1,0,0.5", columns="value,slope", digits=12)
    values = {(r.function, r.quantity, r.x): r.value for r in table.rows}
    for x in (-1.0, 0.0, 0.5):
        apart = values[f"{code}:in_torch", "value", x] - values["silu", "value", x]
        assert apart == pytest.approx(1e-9, rel=1e-6)
        assert values[f"{code}:in_torch", "slope", x] == pytest.approx(values["silu", "slope", x])
    table = sg.table(f"{code}:in_torch", at=0.5, reference="silu", columns="difference", digits=12)
    assert table.rows[0].value == pytest.approx(1e-9, rel=1e-6)
    done = run_here("table", f"{code}.py:wave", "--at", "0.5", "--digits", "6")
    assert done.stdout.split("\n")[0].split() == ["x", f"{code}.py:wave"]
    assert f"{np.sin(1.5):.6f}" in done.stdout
    done = run_here("table", f"{code}.py:wave", "--columns", "slope")
    assert done.returncode == 2
    assert "has no slope: it is numpy code" in done.stderr
    text = f"{code}:Scaled:by=3"
    assert sg.table(text, at=2).rows[0].value == 6
    assert sg.table(text, at=2).rows[0].function == text


def test_table_of_a_framework_shows_its_errors() -> None:
    """PyTorch's gelu in float64 has few correct digits in the left tail."""
    row = sg.table("torch.nn.functional.gelu", at=-9, reference="gelu", columns="relative").rows[0]
    x = torch.tensor([-9.0], dtype=torch.float64)
    exact = sg.table("gelu", at=-9, columns="value", digits=30).rows[0].value
    expected = float(torch.nn.functional.gelu(x)) / float(exact) - 1
    assert row.value == pytest.approx(expected, rel=1e-6)
    assert row.function == "torch.nn.functional.gelu"


def test_plot_draws_the_code(code: str, run_here: Callable[..., Any]) -> None:
    done = run_here("plot", f"{code}.py:wave", "gelu", "--at", "-1:1", "--json")
    assert done.returncode == 0, done.stderr
    wave = json.loads(done.stdout)["curves"][0]
    assert wave["function"] == f"{code}.py:wave"
    for piece in wave["pieces"]:
        np.testing.assert_allclose(piece["y"], np.sin(3 * np.array(piece["x"])), rtol=1e-15)
    figure = sg.plot(f"{code}:in_torch", "silu", quantity="slope")
    assert f"{code}:in_torch" in [text.get_text() for text in figure.findobj(Text)]
    done = run_here("plot", f"{code}.py:wave", "--quantity", "curvature")
    assert done.returncode == 2
    assert "has no curvature: it is numpy code" in done.stderr


def test_an_object_is_drawn_under_its_own_name() -> None:
    def mine(x: Any) -> Any:
        return np.maximum(x, 0) / 2

    table = sg.table(mine, torch.nn.ReLU(), at=3, columns="value")
    assert [row.value for row in table.rows] == [1.5, 3]
    assert table.rows[0].function.endswith("mine")
    assert table.rows[1].function == "ReLU()"
    mine.__module__, mine.__qualname__ = "__main__", "f"  # its name begins with an underscore
    (axes,) = sg.plot(mine).axes
    assert axes.get_title() == "Value"
    assert [text.get_text().strip() for text in axes.get_legend().get_texts()] == ["__main__:f"]


@pytest.mark.parametrize("command", ["table", "plot"])
def test_what_has_no_value_at_a_point_is_refused(
    code: str, command: str, run_here: Callable[..., Any]
) -> None:
    done = run_here(command, f"{code}.py:centred")
    assert done.returncode == 2
    assert f"{code}.py:centred is not elementwise: f(" in done.stderr
    with pytest.raises(ValueError, match=r"is not deterministic: f\("):
        getattr(sg, command)(torch.nn.Dropout(0.5))


def test_commands_that_need_a_definition_refuse_code(
    code: str, run_here: Callable[..., Any]
) -> None:
    name = f"{code}.py:counted"
    for arguments in (["properties", name], ["emit", name], ["compare", "gelu", name],
                      ["bench", "--layer", name], ["bench", "--pareto", name],
                      ["certify", "gelu", "--reference", name]):  # fmt: skip
        done = run_here(*arguments)
        assert done.returncode == 2, arguments
        assert f"{name} is code without a formula: its values are those of silu" in done.stderr
    function = lambda x: x / (1 + np.exp(-x))  # noqa: E731
    for call in (
        lambda: sg.properties(function), lambda: sg.emit(function, "c"),
        lambda: sg.compare("digits", activations=[function, "gelu"]),
        lambda: sg.quantized(function, 0.1, 0, 0.1, 0), lambda: sg.certify("silu", function),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="without a formula: its values are those of silu"):
            call()
    assert sg.properties(torch.nn.SiLU)[0].function == "silu"
    assert {record.function for record in sg.names("jax", name=function)} == {"silu"}
