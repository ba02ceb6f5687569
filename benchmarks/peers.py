"""The contestants: each as one call that writes into memory made beforehand.

torch writes into NumPy's memory through its `out` overloads. jax cannot, but takes over a donated
buffer of the output's shape; that the buffer's address stays the same is checked.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from cells import Cell
from inputs import Array, Arrays

Call = Callable[[], Any]

TORCH_FROM_X = "torch from x"
"""The backward of sigmoid and tanh with the output computed first, as ours has to."""


@dataclass(frozen=True)
class Contestant:
    """Something to time. `read` turns what `call` returns into an array; `note` is a footnote."""

    name: str
    call: Call
    read: Callable[[Any], Array] = np.asarray
    note: str = ""


class Absent(Exception):
    """A peer has no such function, or is not installed."""


def ours(cell: Cell, x: Array, data: Arrays, name: str = "ours") -> Contestant:
    """Return the public call."""
    import softgate

    activation = softgate.activations()[cell.activation]
    if cell.quantity == "value":
        return Contestant(name, lambda: activation(x, out=data.out))
    return Contestant(name, lambda: activation.backward(x, data.grad, out=data.out))


def copy(cell: Cell, data: Arrays) -> Contestant:
    """Return a copy that moves as many bytes: for backward half as many again as for the value."""
    if cell.quantity == "value":
        return Contestant("copy", lambda: np.copyto(data.out, data.randn))
    half = data.out.size // 2
    out, grad = data.out[:half], data.grad[:half]

    def call() -> None:
        np.copyto(data.out, data.randn)
        np.copyto(out, grad)

    return Contestant("copy", call)


def scipy(cell: Cell, x: Array, data: Arrays) -> Contestant:
    """Return the NumPy and SciPy formula."""
    _module("scipy")
    import formulas
    import formulas_piecewise

    more = formulas_piecewise.FORMULAS
    values = formulas.VALUES | {name: pair[0] for name, pair in more.items()}
    backwards = formulas.BACKWARDS | {name: pair[1] for name, pair in more.items()}
    work = np.ones_like(x)
    if cell.quantity == "value":
        value = _find(values, cell, "scipy")
        call: Call = lambda: value(x, data.out, work)  # noqa: E731
    else:
        backward = _find(backwards, cell, "scipy")
        call = lambda: backward(x, data.grad, data.out, work)  # noqa: E731
    return Contestant("scipy", call, lambda _: data.out)


def torch(cell: Cell, x: Array, data: Arrays, name: str = "torch") -> Contestant:
    """Return torch's operator, its output memory given where it has an overload for that."""
    library = _module("torch")
    import torch_calls

    tensors = [_tensor(library, array) for array in (x, data.grad, data.out)]
    if name == TORCH_FROM_X:
        make, note = _find(torch_calls.BACKWARDS_FROM_X, cell, "torch"), ""
    else:
        make = _find(torch_calls.CALLS[cell.quantity], cell, "torch")
        note = torch_calls.NOTES[cell.quantity].get(cell.activation, "")
    return Contestant(name, make(*tensors), lambda y: y.double().numpy(), note)


def _tensor(library: Any, array: Array) -> Any:
    """Return a tensor on the array's own memory; torch knows no NumPy type for bfloat16."""
    if array.dtype.name != "bfloat16":
        return library.from_numpy(array)
    return library.from_numpy(array.view(np.int16)).view(library.bfloat16)


def jax(cell: Cell, x: Array, data: Arrays) -> Contestant:
    """Return jax.jit of jax's function, its output in a donated buffer."""
    library = _module("jax")
    functions = _jax_functions(library)
    function = _find(functions, cell, "jax")
    given = [x] if cell.quantity == "value" else [x, data.grad]
    inputs = [library.device_put(array, may_alias=True) for array in given]
    buffer = library.numpy.array(data.out, copy=True)

    def traced(*operands: Any) -> Any:
        if cell.quantity == "value":
            return function(operands[0])
        return library.vjp(function, operands[0])[1](operands[1])[0]

    run = library.jit(traced, donate_argnums=len(inputs), keep_unused=True)
    address = buffer.unsafe_buffer_pointer()
    buffer = run(*inputs, buffer).block_until_ready()
    reused = buffer.unsafe_buffer_pointer() == address

    def call() -> Any:
        nonlocal buffer
        buffer = run(*inputs, buffer)
        return buffer.block_until_ready()

    note = "" if reused else "jax did not take the donated buffer: its output is fresh memory"
    return Contestant("jax", call, note=note)


def _jax_functions(library: Any) -> dict[str, Callable[[Any], Any]]:
    nn, numpy = library.nn, library.numpy
    return {
        "gelu": lambda x: nn.gelu(x, approximate=False),
        "gelu_tanh": lambda x: nn.gelu(x, approximate=True),
        "gelu_sigmoid": lambda x: x * nn.sigmoid(1.702 * x),
        "silu": nn.silu,
        "sigmoid": nn.sigmoid,
        "tanh": numpy.tanh,
        "elu": nn.elu,
        "softplus": nn.softplus,
        "mish": nn.mish,
        "relu": nn.relu,
        "leaky_relu": nn.leaky_relu,
        "relu6": nn.relu6,
        "squared_relu": lambda x: numpy.square(nn.relu(x)),
        "celu": nn.celu,
        "selu": nn.selu,
        "log_sigmoid": nn.log_sigmoid,
        "hard_sigmoid": nn.hard_sigmoid,
        "hard_tanh": nn.hard_tanh,
        "hard_swish": nn.hard_swish,
        "tanhshrink": lambda x: x - numpy.tanh(x),
        "softsign": nn.soft_sign,
        "squareplus": nn.squareplus,
    }


def contestants(cell: Cell, data: Arrays) -> Iterator[tuple[str, Callable[[], Contestant]]]:
    """Yield name and maker of everybody who takes part in a cell, ours first."""
    yield "ours", lambda: ours(cell, data.randn, data)
    yield "torch", lambda: torch(cell, data.randn, data)
    yield "jax", lambda: jax(cell, data.randn, data)
    yield "scipy", lambda: scipy(cell, data.randn, data)
    yield "copy", lambda: copy(cell, data)
    yield "ours special", lambda: ours(cell, data.special, data, "ours special")
    yield "torch special", lambda: torch(cell, data.special, data, "torch special")
    if cell.quantity == "backward" and cell.activation in ("sigmoid", "tanh"):
        yield TORCH_FROM_X, lambda: torch(cell, data.randn, data, TORCH_FROM_X)


def set_threads(count: int) -> None:
    """Tell every library how many threads to use; jax goes by the cores that it sees."""
    import softgate

    softgate.set_threads(count)
    with suppress(Absent):
        _module("torch").set_num_threads(count)
    with suppress(Absent):
        config = _module("jax").config
        config.update("jax_enable_x64", True)
        config.update("jax_cpu_enable_async_dispatch", False)  # else each call wakes a thread


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Absent(f"{name} is not installed") from None


def _find(functions: dict[str, Any], cell: Cell, peer: str) -> Any:
    if cell.activation not in functions:
        raise Absent(f"{peer} has no {cell.activation}")
    return functions[cell.activation]
