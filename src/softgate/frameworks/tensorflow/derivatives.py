"""A function's derivatives of every order, each with the next as its gradient.

Of an activation, value and slope have stable forms and kernels, the curvature one in float64; from
the third on they are the definition's derivatives. Without them TensorFlow would return a wrong
slope of |x| at 0, and NaN gradients where the branch of a `where` that is not taken is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.formula.trace import LIMITS
from softgate.lower.tensorflow import definition_form, stable_form
from softgate.runtime import kernels
from softgate.runtime.dispatch import Call
from softgate.runtime.routes import Route

from ..asymptotes import asymptotes
from ..gated import Operators, compute_gated
from . import cpu_kernels, private
from .cpu_kernels import DTYPES, GraphFunction, OpKernel, array_of, on_cpu

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

Form = Callable[..., Any]
Parameters = tuple[tuple[str, float], ...]
STABLE = ("value", "slope", "curvature")
"""The quantities with a stable form, by order of derivative."""
OPERATORS = Operators(
    split=lambda x, axis: tf.split(x, 2, axis),
    join=tf.concat,
    zeros_like=tf.zeros_like,
    broadcast_like=lambda x, like: tf.broadcast_to(x, tf.shape(like)),
)


class Quantities:
    """A function with fixed parameters at tensors, eager or symbolic: kernels or operators."""

    def __init__(
        self, function: Activation, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.parameters, self.arithmetic = parameters, arithmetic
        self.function = function if function.nin == 1 else function.bind(gate="first")
        self._forms: dict[tuple[str | int, Format], Form] = {}
        self._kernels: dict[tuple[str, Any], OpKernel] = {}
        self._graph_functions: dict[tuple[str, Any, bool], GraphFunction] = {}

    def gradients(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the gradients of a kernel's operands.

        The arguments are these operands and the gradients of its results.
        """
        raise NotImplementedError

    def route(self, quantity: str, dtype: Any) -> Route:
        """Return the kernel or table for a quantity of tensors of a dtype."""
        parameters = dict(self.parameters)
        return self.function.route(quantity, DTYPES[dtype], self.arithmetic, parameters)

    def computed_in(self, quantity: str, dtype: Any) -> Format:
        """Return the arithmetic of the operators for a tensor; tables are not used."""
        storage = DTYPES[dtype]
        if storage.itemsize == 2:
            storage = np.dtype(np.float32)
        values = dict(self.parameters)
        return self.function.route(quantity, storage, self.arithmetic, values).computed_in

    def _run(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the results for operands of one shape, without gradients."""
        dtype = operands[0].dtype
        if all(map(on_cpu, operands)):
            route = self.route(quantity, dtype)
            return cpu_kernels.run_over_memory(route.runner(), route.results, *operands)
        operators = partial(self._computed, quantity, self.computed_in(quantity, dtype))
        if tf.executing_eagerly() or not tf.compat.v1.executing_eagerly_outside_functions():
            return operators(*operands)
        return self._graph_function(quantity, operators, operands)(*operands)

    def _eager_op(self, quantity: str, *operands: Any) -> OpKernel | None:
        """Return the kernel that computes a quantity of eager CPU tensors as an op, or None."""
        dtype = operands[0].dtype
        if dtype not in cpu_kernels.ENUMS or not all(map(on_cpu, operands)):
            return None
        kernel = self._kernels.get((quantity, dtype))
        if not cpu_kernels.may_run_eagerly(kernel):
            return None
        if kernel is None and cpu_kernels.unavailable(in_graphs=False) is None:
            kernel = self._kernel(quantity, dtype)
        return kernel

    def _kernel(self, quantity: str, dtype: Any) -> OpKernel:
        kernel = self._kernels.get((quantity, dtype))
        if kernel is None:
            # Kernels are never freed: this one must not refer to traced functions.
            key = (self.function, self.parameters, self.arithmetic)

            def gradient(*operands: Any) -> tuple[Any, ...]:
                return derivatives(*key).gradients(quantity, *operands)

            kernel = cpu_kernels.kernel_of(self.route(quantity, dtype), dtype, gradient)
            self._kernels[quantity, dtype] = kernel
        return kernel

    def _graph_function(
        self, quantity: str, operators: Form, operands: tuple[Any, ...]
    ) -> GraphFunction:
        dtype, replaced = operands[0].dtype, cpu_kernels.unavailable(in_graphs=True) is None
        function = self._graph_functions.get((quantity, dtype, replaced))
        if function is None:
            name = f"{self.function.name}_{quantity}_{dtype.name}"
            kernel = self._kernel(quantity, dtype) if replaced else None
            function = GraphFunction(name, operators, operands, kernel)
            self._graph_functions[quantity, dtype, replaced] = function
        return function

    def _computed(self, what: str | int, fmt: Format, *operands: Any) -> tuple[Any, ...]:
        """Compute in TensorFlow operators in one format; return results in that of the operands."""
        dtype = operands[0].dtype
        wide = tf.float32 if fmt is FLOAT32 else tf.float64
        form = self._forms.get((what, fmt))
        if form is None:
            form = self._forms[what, fmt] = self._form(what, fmt)
        return tuple(tf.cast(y, dtype) for y in form(*(tf.cast(x, wide) for x in operands)))

    def _form(self, what: str | int, fmt: Format) -> Form:
        entry, values = self.function.entry, dict(self.parameters)
        traced = kernels.Specification(entry, str(what), fmt, fmt, constants=self.parameters)
        names: tuple[str, ...] = LIMITS if entry.user is not None else ()
        limits = kernels.pack(entry, values, fmt, str(what)).tolist()
        if fmt.bits < 64:
            names = tuple(part for name in names for part in (name, f"{name}.lo"))
        limits = limits[len(limits) - len(names) :]
        made = stable_form(kernels.traced(traced, fused=False), fmt, names, traced.inputs)
        return lambda *operands: made(*operands, *limits)


class Derivatives(Quantities):
    """An activation: its derivatives of every order."""

    function: Activation

    def __call__(self, order: int, x: Any) -> Any:
        """Return a derivative (0: the value), differentiable."""
        if order < len(STABLE) and (kernel := self._eager_op(STABLE[order], x)):
            return cpu_kernels.evaluate(kernel, x)
        x = _here(x)

        @tf.custom_gradient
        def run(x: Any) -> Any:
            return self._evaluate(order, x), lambda grad: self.pull(order, x, grad)

        return run(x)

    def pull(self, order: int, x: Any, grad: Any) -> Any:
        """Return `grad` times the derivative of order `order + 1`, differentiable in both."""
        if order == 0 and (kernel := self._eager_op("backward", x, grad)):
            return cpu_kernels.evaluate(kernel, x, grad)
        x, grad = _here(x), _here(grad)

        @tf.custom_gradient
        def run(x: Any, grad: Any) -> Any:
            def pulled(again: Any) -> Any:
                return self._pull_pair(order, x, grad, again)

            return self._times_next(order, x, grad), pulled

        return run(x, grad)

    def gradients(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the gradients of a kernel's operands."""
        if quantity == "backward":
            return self._pull_pair(0, *operands)
        return (self.pull(STABLE.index(quantity), *operands),)

    def _pull_pair(self, order: int, x: Any, grad: Any, again: Any) -> tuple[Any, Any]:
        """Return the gradients of both operands of `pull`, given that of its result."""
        return self.pull(order + 1, x, again * grad), self.pull(order, x, again)

    def _evaluate(self, order: int, x: Any) -> Any:
        results = (
            self._run(STABLE[order], x)
            if order < len(STABLE)
            else self._computed(order, FLOAT64, x)
        )
        return results[0]

    def _times_next(self, order: int, x: Any, grad: Any) -> Any:
        if order > 0:
            return self._evaluate(order + 1, x) * grad
        return self._run("backward", x, grad)[0]

    def _form(self, what: str | int, fmt: Format) -> Form:
        return super()._form(what, fmt) if isinstance(what, str) else self._defined(what, fmt)

    def _defined(self, order: int, fmt: Format) -> Form:
        """Return a derivative of the definition, with its limits where the formula is NaN."""
        values = dict(self.parameters)
        root = self.function.entry.derivative(*["x"] * order, in_operators=True)
        made, limits = definition_form(root, fmt, tuple(values)), asymptotes(root, values)

        def form(x: Any) -> Any:
            result = made(x, *values.values())
            for start, limit in limits:
                far = x <= start if start < 0 else x >= start
                result = tf.where(far, tf.constant(limit, result.dtype), result)
            return (result,)

        return form


class GatedDerivatives(Quantities):
    """A gated function of the gate and the other operand, tensors of one shape.

    The gradient of the value is one kernel; derivatives of higher order are those of a composition
    of the activation's derivatives and products.
    """

    function: Activation

    def __call__(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the results of a quantity, differentiable: one or two."""
        if kernel := self._eager_op(quantity, *operands):
            results = cpu_kernels.evaluate(kernel, *operands)
            return (results,) if quantity == "value" else tuple(results)
        operands = tuple(map(_here, operands))

        @tf.custom_gradient
        def run(*operands: Any) -> Any:
            return self._run(quantity, *operands), lambda *grads: self.gradients(
                quantity, *operands, *grads
            )

        return tuple(run(*operands))

    def gradients(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the gradients of a kernel's operands."""
        if quantity == "value":
            return self("backward", *operands)
        count = len(self.route(quantity, operands[0].dtype).inputs)
        grads = operands[count:]
        operands = tuple(map(tf.identity, operands[:count]))  # one tensor may be both operands
        with tf.GradientTape() as tape:
            tape.watch(operands)
            results = self._composed(quantity, *operands)
        return tuple(tape.gradient(results, operands, grads, tf.UnconnectedGradients.ZERO))

    def _eager_op(self, quantity: str, *operands: Any) -> OpKernel | None:
        narrow = self._is_narrow(quantity, operands[0].dtype)
        return None if narrow else super()._eager_op(quantity, *operands)

    def _run(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        dtype = operands[0].dtype
        if not self._is_narrow(quantity, dtype):
            return super()._run(quantity, *operands)
        if all(map(on_cpu, operands)):
            call = self._call(quantity, *map(array_of, operands))
            results = call.method(*call.operands, **call.keywords)
            return tuple(map(tf.constant, (results,) if quantity == "value" else results))
        wide = super()._run(quantity, *(tf.cast(x, tf.float64) for x in operands))
        return tuple(tf.cast(y, dtype) for y in wide)

    def _is_narrow(self, quantity: str, dtype: Any) -> bool:
        """Return whether 16 bits are computed in float64: kernels do not convert between them."""
        return self.route(quantity, dtype).storage.itemsize != dtype.size

    def _call(self, quantity: str, *operands: Any) -> Call:
        arithmetic = None if quantity == "curvature" else self.arithmetic
        parameters = dict(self.parameters)
        return Call(self.function, quantity, operands, None, arithmetic, parameters, gate="first")

    def _composed(self, quantity: str, *operands: Any) -> list[Any]:
        """Return the results of "slope", "curvature" or "backward" by those of the activation."""
        return list(compute_gated(self._call(quantity, *operands), OPERATORS))


def _here(x: Any) -> Any:
    """Return a tensor captured in the graph that is being built.

    A gradient is traced into a second graph, and the gradient's gradient into a third, which can
    access tensors of the second only: a gradient must not refer to those of the first.
    """
    if tf.executing_eagerly():
        return x
    if private.has_tangent.get()(x):
        raise NotImplementedError(
            "tf.autodiff.ForwardAccumulator in a tf.function: TensorFlow ignores custom gradients "
            "there; call the function eagerly, or use tf.GradientTape"
        )
    return tf.identity(x)


@lru_cache(maxsize=256)
def derivatives(function: Activation, parameters: Parameters, arithmetic: str | None) -> Any:
    """Return the derivatives of a function with these parameters, each form built once."""
    made: Any = GatedDerivatives if function.nin == 2 else Derivatives
    return made(function, parameters, arithmetic)
