"""Typical code of users, which mypy and pyright check; no framework is needed.

A type checker must report an error in each line that ends in `# error`, and nowhere else.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import softgate as sg


def numbers() -> None:
    assert_type(sg.gelu(1.0), float)
    assert_type(sg.gelu(1), float)
    assert_type(sg.elu(-1.0, alpha=0.5), float)
    assert_type(sg.gelu(np.float64(1.0)), float)
    assert_type(sg.gelu.slope(0.5), float)
    assert_type(sg.gelu.curvature(0.5), float)
    assert_type(sg.gelu.backward(0.5, 2.0), float)
    assert_type(sg.swiglu(1.0, 2.0), float)
    assert_type(sg.swiglu.slope(1.0, 2.0), tuple[float, float])
    assert_type(sg.swiglu.backward(1.0, 2.0, 3.0), tuple[float, float])
    single: np.float32 = sg.gelu(np.float32(1.0))
    assert single.dtype == np.float32


def arrays(
    x: NDArray[np.float32], y: NDArray[np.float64], integers: NDArray[np.int64], rows: NDArray[Any]
) -> None:
    assert_type(sg.gelu(x), NDArray[np.float32])
    assert_type(sg.gelu(y, arithmetic="float64"), NDArray[np.float64])
    assert_type(sg.gelu(integers), NDArray[np.float64])
    assert_type(sg.gelu([1.0, 2.0]), NDArray[np.float64])
    assert_type(sg.gelu([[1, 2], [3, 4]]), NDArray[np.float64])
    assert_type(sg.gelu(x * 2 + 1), NDArray[np.float32])
    assert_type(sg.gelu(y, out=np.empty_like(y)), NDArray[np.float64])
    assert_type(sg.elu(1.0, alpha=0.5, out=np.empty_like(y)), NDArray[np.float64])
    assert_type(sg.gelu.backward(1.0, 2.0, out=np.empty_like(y)), NDArray[np.float64])
    assert_type(sg.swiglu(x, x, out=np.empty_like(x)), NDArray[np.float32])
    assert_type(sg.gelu(x, out=np.empty_like(x), where=x > 0), NDArray[np.float32])
    assert_type(sg.gelu.ufunc.nin, int)
    assert_type(sg.gelu.slope(x), NDArray[np.float32])
    assert_type(sg.gelu.curvature(y), NDArray[np.float64])
    assert_type(sg.gelu.backward(x, x), NDArray[np.float32])
    assert_type(sg.gelu.backward(x, 1.0), NDArray[np.float32])
    assert_type(sg.gelu.backward([1.0, 2.0], [1.0, 1.0]), NDArray[np.float64])
    assert_type(sg.hard_tanh(x, low=-2.0, high=2), NDArray[np.float32])
    assert_type(sg.prelu(x, slope=np.abs(x)), NDArray[np.float32])
    assert_type(sg.leaky_relu(y, slope=np.float32(0.5)), NDArray[np.float64])
    assert_type(sg.swiglu(rows.astype(np.float32), axis=-1), NDArray[np.float32])
    assert_type(sg.swiglu(x, x, beta=2.0, gate="second"), NDArray[np.float32])
    assert_type(sg.swiglu.slope(x, x), tuple[NDArray[np.float32], NDArray[np.float32]])
    assert_type(sg.swiglu.backward(x, x, x), tuple[NDArray[np.float32], NDArray[np.float32]])
    assert_type(sg.glu.curvature(y, y).mixed, Any)
    shape: tuple[int, ...] = sg.gelu(rows).shape
    assert shape == rows.shape
    assert sg.gelu(np.array([1.0, 2.0])).sum() > 0
    assert sg.gelu([np.float32(1.0)]).dtype == np.float32


def functions(x: NDArray[np.float32]) -> None:
    activation: sg.Activation = sg.elu.bind(alpha=0.5)
    assert_type(activation(x, alpha=1.0), NDArray[np.float32])
    assert_type(sg.elu.name, str)
    assert_type(sg.elu.latex, str)
    assert_type(sg.elu.parameters["alpha"], float)
    assert_type(sg.activations()["gelu"](x), NDArray[np.float32])
    assert_type(sg.gated()["swiglu"](x, x), NDArray[np.float32])
    assert_type(sg.get_threads(), int)
    assert_type(sg.explain(x, "gelu").dtype, str)
    by_name: sg.Activation = sg.get("gelu_new")
    assert_type(by_name(x), NDArray[np.float32])
    assert isinstance(by_name, sg.Activation)
    by_key = {"gelu": sg.gelu, "elu": sg.elu}
    from_dict: NDArray[np.float32] = by_key["elu"](x)
    from_list: NDArray[np.float32] = [sg.gelu, sg.hard_tanh][0](x)
    from_gates: NDArray[np.float32] = [sg.glu, sg.swiglu][0](x, x)
    assert from_dict.dtype == from_list.dtype == from_gates.dtype
    assert_type(sg.elu.bind(alpha=0.5)(x, alpha=1.0), NDArray[np.float32])
    assert_type(sg.swiglu.bind(gate="second")(x, x), NDArray[np.float32])
    for function in (sg.gelu, sg.elu, sg.silu):
        assert_type(function(x), NDArray[np.float32])

    @sg.activation
    def snake(f: Any, x: Any, a: float = 1.0) -> Any:
        return x + (1 - f.cos(2 * a * x)) / (2 * a)

    assert_type(snake, sg.Activation)
    assert_type(snake(x, a=0.5), NDArray[np.float32])


def mistakes(x: NDArray[np.float32]) -> None:
    sg.nosuch  # error
    sg.torch.nosuch  # error
    sg.torch.functional.nosuch  # error
    sg.jax.nosuch  # error
    sg.keras.nosuch  # error
    sg.gelu.nosuch  # error
    sg.gelu("1.0")  # error
    sg.gelu(None)  # error
    sg.gelu()  # error
    sg.gelu(x, alpha=1.0)  # error
    sg.elu(x, beta=1.0)  # error
    sg.elu(x, 0.5)  # error
    sg.elu(x, alpha="0.5")  # error
    sg.elu.bind(beta=0.5)  # error
    sg.elu.slope(x, beta=1.0)  # error
    sg.elu.bind(alpha="0.5")  # error
    sg.elu(x, alpha=0.5, out="x")  # error
    sg.elu(x, beta=0.5, out=x)  # error
    sg.gelu(x, arithmetic=64)  # error
    sg.get("elu")(x, 0.5, 1.0)  # error
    sg.gelu(x, axis=0)  # error
    sg.swiglu(x, x, alpha=1.0)  # error
    sg.swiglu.curvature(x, x, alpha=1.0)  # error
    sg.swiglu.bind(alpha=1.0)  # error
    sg.swiglu(x, x, 1.0)  # error
    sg.gelu.backward(x)  # error
    sg.gelu(x).nosuch  # error
    sg.gelu(np.array([1.0])).nosuch  # error
    sg.swiglu(np.array([1.0, 2.0])).nosuch  # error
    sg.get("gelu", 3)  # error
    wrong: str = sg.gelu(1.0)  # error
    print(wrong)
