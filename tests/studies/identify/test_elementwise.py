"""identify reports functions whose results depend on more than their own input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
F = torch.nn.functional
DTYPES = ("float32", "float64", "float16", "bfloat16")

ALONG_AN_AXIS: dict[str, Callable[[Any], Any]] = {
    "minus its mean": lambda x: x - x.mean(),
    "relu plus the mean": lambda x: torch.relu(x) + x.mean(),
    "a small share of the mean": lambda x: torch.relu(x) + x.mean() / 8,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape),
    "batch_norm": lambda x: F.batch_norm(x[None, None], None, None, training=True)[0, 0],
    "relative to the largest": lambda x: x / x.max(),
    "relative to the largest magnitude": lambda x: x / x.abs().max(),
    "cumsum": lambda x: torch.cumsum(x, 0),
    "sorted": lambda x: torch.sort(x).values,
    "its neighbour": lambda x: torch.roll(x, 1),
    "its place": lambda x: torch.arange(x.shape[0], dtype=x.dtype) + x,
    "minus the mean of a column": lambda x: x - x.mean(0) if x.ndim == 2 else x,
    "softmax of channels": lambda x: torch.softmax(x, 1) if x.ndim > 3 else x.clone(),
    "transposed": lambda x: torch.relu(x).mT if x.ndim == 3 else torch.relu(x),
    "the length": lambda x: x * x.shape[0],
    "relu, unless all are positive": lambda x: torch.relu(x) if (x < 0).any() else 2 * x,
    "relu, unless all are negative": lambda x: torch.relu(x) if (x > 0).any() else x,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONG_AN_AXIS)
def test_a_function_of_the_other_elements_is_not_elementwise(name: str, dtype: str) -> None:
    found = sg.identify(ALONG_AN_AXIS[name], dtype=dtype, framework="torch")
    assert (found.function, found.answer, found.activation) == ("unknown", "not elementwise", None)
    assert found.not_elementwise.startswith("not elementwise: f(")
    assert found.candidates == ()
    assert type(found).from_json(found.to_json()) == found
    assert "not elementwise" in str(found)


@pytest.mark.parametrize("module", [torch.nn.Dropout(0.01), torch.nn.Dropout(0.5),
                                    torch.nn.RReLU(), torch.nn.AlphaDropout()])  # fmt: skip
def test_a_random_function_is_not_deterministic(module: Any) -> None:
    found = sg.identify(module)
    assert (found.function, found.answer) == ("unknown", "not deterministic")
    assert "in a second call" in found.not_elementwise
    assert sg.identify(module.eval()).function in ("identity", "leaky_relu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_other_instructions_at_the_end_of_an_array_are_no_dependence(dtype: str) -> None:
    """A few ulps between the vector and the scalar form of a function are rounding."""

    def in_groups_of_8(x: Any) -> Any:
        y, whole = F.gelu(x), x.shape[0] // 8 * 8
        return torch.cat([y[:whole], y[whole:] * (1 + 2 * torch.finfo(x.dtype).eps)])

    found = sg.identify(in_groups_of_8, dtype=dtype, framework="torch")
    assert (found.function, found.not_elementwise) == ("gelu", "")


CODE = """
import torch

def centred(x):
    return x - x.mean()

def random(x):
    return torch.nn.functional.dropout(x, 0.5)
"""


def test_the_command_says_so(run_here: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "not_elementwise_code.py"
    file.write_text(CODE)
    done = run_here("identify", f"{file}:centred")
    assert done.returncode == 1
    assert "centred in float32: not elementwise" in " ".join(done.stdout.split())
    assert "probability" not in done.stdout
    done = run_here("identify", f"{file}:random", "--json")
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert record["function"] == "unknown"
    assert record["not_elementwise"].startswith("not deterministic: f(")
    done = run_here("identify", f"{file}:centred", "--csv")
    assert (done.returncode, done.stdout.count("\n")) == (1, 1)
    assert "is not elementwise: f(" in done.stderr
    done = run_here("certify", f"{file}:centred")
    assert done.returncode == 2
    assert "is not elementwise: f(" in done.stderr
    done = run_here("names", f"{file}:centred")
    assert done.returncode == 2
    assert "is not elementwise: f(" in done.stderr


def test_certify_and_names_refuse_in_python() -> None:
    with pytest.raises(ValueError, match=r"not elementwise: f\("):
        sg.certify(lambda x: x - x.mean(), isolated=False)
    with pytest.raises(ValueError, match=r"not elementwise: f\("):
        sg.names(name=lambda x: np.maximum(x, 0) + x.mean())


def test_a_keras_activation_along_an_axis_is_not_identified() -> None:
    keras = pytest.importorskip("keras")
    ops = keras.ops

    def with_mean(x: Any) -> Any:
        return ops.relu(x) + ops.mean(x)

    x = keras.Input((8,))
    y = keras.layers.Dense(8, activation=with_mean, name="with_mean")(x)
    model = keras.Model(x, keras.layers.Dense(8, activation="relu", name="plain")(y))
    found = sg.scan(model)
    assert [(a.path, a.function) for a in found.activations] == [("plain", "relu")]
    assert [a.path for a in found.unidentified] == ["with_mean"]
