"""Values and gradients as frameworks compute them have the published digests of every function."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import softgate as sg
from softgate.cli.doctor import command

# torch itself still uses in inductor what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

FRAMEWORKS = ("torch", "jax", "tensorflow", "keras")
COMPILED = ("tanh", "sigmoid", "elu", "celu", "exponential", "gelu", "relu", "swiglu")
"""Compiling takes a second each: forms with an exponential, a fit, a piecewise one, a gated one."""
FUNCTIONS = {**sg.activations(), **sg.gated()}
DTYPES = {"float16", "bfloat16", "float32", "float64"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_gradients_of_every_function_have_the_published_bits(framework: str) -> None:
    pytest.importorskip(framework)
    result = sg.check_bits(frameworks=[framework])
    assert [str(comparison) for comparison in result.differing] == []
    compared = {
        (c.function, c.dtype)
        for c in result.comparisons
        if (c.framework, c.quantity) == (framework, "backward")
    }
    assert compared == {(name, dtype) for name in FUNCTIONS for dtype in DTYPES}


def test_compiled_gradients_have_the_published_bits() -> None:
    pytest.importorskip("torch")
    result = sg.check_bits(functions=COMPILED, frameworks="torch.compile")
    assert [str(comparison) for comparison in result.differing] == []
    gradients = {c.function for c in result.comparisons if c.framework == "torch.compile"}
    assert gradients == set(COMPILED)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_another_gradient_is_found(framework: str) -> None:
    """gelu_tanh has other bits than those published for gelu."""
    pytest.importorskip(framework)
    result = sg.check_bits(functions={"gelu": sg.gelu_tanh}, frameworks=[framework])
    wrong = {(c.quantity, c.dtype) for c in result.differing if c.framework == framework}
    assert wrong == {(quantity, dtype) for quantity in ("value", "backward") for dtype in DTYPES}
    assert f"gelu backward float32 by {framework}" in str(result)


def test_unknown_frameworks_are_named() -> None:
    with pytest.raises(ValueError, match="mxnet"):
        sg.check_bits(functions=["relu"], frameworks=["mxnet"])


def test_doctor_checks_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    original = sg.check_bits
    monkeypatch.setattr(
        "softgate.studies.reproducibility.check_bits",
        lambda **options: original(functions=["elu", "swiglu"], **options),
    )
    done = CliRunner().invoke(command, ["--frameworks", "torch"], standalone_mode=False)
    assert done.return_value == 0
    assert "float16, bfloat16, float32, float64: value, backward, by torch" in " ".join(
        done.output.split()
    )
