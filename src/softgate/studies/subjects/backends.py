"""Backends, which call a subject of any framework with NumPy arrays and return NumPy arrays.

Methods import their framework, so that only the framework in use is imported.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from softgate.runtime.activation import Activation
from softgate.runtime.machine import installed
from softgate.runtime.threads import get_threads, set_threads

from .description import WROTE_BEYOND, InvalidSubjectError, SubjectFailure

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]
version_of = cache(installed)
"""Cached because it is called for every subject, and `identify` takes milliseconds in all."""

GUARD = 64
"""Elements before and after the output of a C function."""


class SubjectBackend(ABC):
    """A callable and the framework that it belongs to."""

    framework = "numpy"
    packages: tuple[str, ...] = ("numpy",)
    strides = True
    """Whether the subject receives strided arrays, not contiguous copies."""
    addresses = True
    """Whether the subject receives the memory of an array, not a copy at another address."""
    lengths = True
    """Whether the subject accepts arrays of any length, empty ones included."""
    quantities: tuple[str, ...] = ("value",)
    dtypes: tuple[str, ...] | None = None
    """The dtypes that it accepts; None if unknown, so that each is tried."""

    @abstractmethod
    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`: a NumPy array, or another object if the subject returned it."""

    def set_threads(self, count: int) -> bool:
        """Set the number of threads; return False if the framework cannot change it."""
        return False

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that run."""
        return {
            name: version for name in self.packages if (version := version_of(name)) is not None
        }


def as_array(result: Any) -> Any:
    """Return a NumPy result or scalar as an array, and other objects unchanged."""
    return np.asarray(result) if isinstance(result, np.ndarray | np.generic) else result


class NumPyBackend(SubjectBackend):
    """A function of a NumPy array, without derivatives; the base of other frameworks' backends."""

    def __init__(self, function: Callable[..., Any], packages: tuple[str, ...] = ()) -> None:
        self.function = function
        self.packages = tuple(dict.fromkeys((*packages, *self.packages)))

    def call(self, quantity: str, x: Array) -> Any:
        """Return the function at `x`."""
        with np.errstate(all="ignore"):
            return as_array(self.function(x))


class SoftgateBackend(SubjectBackend):
    """An activation of softgate or of a user's formula."""

    framework = "softgate"
    packages = ("softgate", "llvmlite", "numpy")
    quantities = ("value", "slope", "curvature")

    def __init__(self, activation: Activation) -> None:
        self.activation = activation

    def call(self, quantity: str, x: Array) -> Array:
        """Return a quantity at `x`."""
        method = self.activation if quantity == "value" else getattr(self.activation, quantity)
        result: Array = method(x)
        return result

    def set_threads(self, count: int) -> bool:
        """Set softgate's threads."""
        set_threads(count)
        return get_threads() == count


class CBackend(SubjectBackend):
    """A C function void(const T*, T*, size_t) of a shared library, called through ctypes.

    The output is filled with NaN before the call and has guard elements on both sides, which detect
    unwritten elements and out-of-bounds writes.
    """

    framework = "c"
    packages = ("numpy",)
    strides = False

    def __init__(self, file: str, symbol: str) -> None:
        try:
            library = ctypes.CDLL(file)
        except OSError as error:
            raise InvalidSubjectError(f"{file} cannot be loaded: {error}") from None
        try:
            self.function = library[symbol]
        except AttributeError:
            raise InvalidSubjectError(f"{file} has no symbol {symbol!r}") from None
        self.function.restype = None
        self.function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def call(self, quantity: str, x: Array) -> Array:
        """Return what the function wrote for `x`."""
        unsigned = np.dtype(f"u{x.itemsize}")
        padded = np.full(x.size + 2 * GUARD, np.iinfo(unsigned).max, unsigned)
        out = padded[GUARD : GUARD + x.size]
        self.function(x.ctypes.data, out.ctypes.data, x.size)
        margins = np.concatenate([padded[:GUARD], padded[GUARD + x.size :]])
        if (margins != np.iinfo(unsigned).max).any():
            raise SubjectFailure(WROTE_BEYOND, f"of {x.size} elements")
        return out.view(x.dtype).reshape(x.shape)


class TorchBackend(NumPyBackend):
    """A function or module of tensors on the CPU; derivatives by autograd."""

    framework = "torch"
    packages = ("torch", "numpy")
    quantities = ("value", "slope", "curvature")

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`."""
        import torch

        if quantity == "value":
            with torch.no_grad():
                return from_tensor(self.function(to_tensor(x)))
        leaf = to_tensor(x).requires_grad_()
        result = self.function(leaf)
        if not isinstance(result, torch.Tensor):
            return result
        again = quantity == "curvature"
        (slope,) = torch.autograd.grad(result, leaf, torch.ones_like(result), create_graph=again)
        if not again:
            return from_tensor(slope)
        if not slope.requires_grad:  # the slope is constant
            return np.zeros_like(x)
        (curvature,) = torch.autograd.grad(slope, leaf, torch.ones_like(slope))
        return from_tensor(curvature)

    def set_threads(self, count: int) -> bool:
        """Set torch's threads."""
        import torch

        torch.set_num_threads(count)
        return torch.get_num_threads() == count


def to_tensor(x: Array) -> torch.Tensor:
    """Return a torch tensor over the memory of `x`."""
    import torch

    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def from_tensor(result: Any) -> Any:
    """Return a torch tensor as a NumPy array, and other objects unchanged."""
    import torch

    if not isinstance(result, torch.Tensor):
        return result
    plain = result.detach().cpu().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return plain.numpy()


class JaxBackend(NumPyBackend):
    """A function of a JAX array, which is a copy: strides and addresses are not preserved.

    Derivatives are computed by reverse mode.
    """

    framework = "jax"
    packages = ("jax", "jaxlib", "numpy")
    strides = False
    addresses = False
    quantities = ("value", "slope", "curvature")

    def __init__(self, function: Callable[..., Any], packages: tuple[str, ...] = ()) -> None:
        super().__init__(function, packages)
        slope = _jax_derivative(function)
        self.forms = {"value": function, "slope": slope, "curvature": _jax_derivative(slope)}

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`; float64 is switched on for float64 arrays only."""
        import jax

        jax.config.update("jax_enable_x64", x.dtype == np.float64)  # type: ignore[no-untyped-call]
        result = self.forms[quantity](jax.numpy.array(x))
        return np.asarray(result) if isinstance(result, jax.Array) else result


def _jax_derivative(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return the derivative of an elementwise function."""

    def derivative(x: Any) -> Any:
        import jax

        y, pull_back = jax.vjp(function, x)
        (slope,) = pull_back(jax.numpy.ones_like(y))
        return slope

    return derivative


class TensorFlowBackend(NumPyBackend):
    """A function of a tensor, which is a copy: strides and addresses are not preserved.

    Derivatives are computed by gradient tapes.
    """

    framework = "tensorflow"
    packages = ("tensorflow", "numpy")
    strides = False
    addresses = False
    quantities = ("value", "slope", "curvature")

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`."""
        import tensorflow as tf

        def array_of(result: Any) -> Any:
            return np.asarray(result.numpy()) if isinstance(result, tf.Tensor) else result

        tensor = tf.constant(x)
        if quantity == "value":
            return array_of(self.function(tensor))
        with tf.GradientTape() as outer:
            outer.watch(tensor)
            with tf.GradientTape() as inner:
                inner.watch(tensor)
                y = self.function(tensor)
            slope = inner.gradient(y, tensor, unconnected_gradients="zero")
        if quantity == "slope":
            return array_of(slope)
        return array_of(outer.gradient(slope, tensor, unconnected_gradients="zero"))


BACKENDS: dict[str, type[NumPyBackend]] = {
    "numpy": NumPyBackend,
    "torch": TorchBackend,
    "jax": JaxBackend,
    "tensorflow": TensorFlowBackend,
}
"""The backends of functions of arrays, by the package of the arrays."""
