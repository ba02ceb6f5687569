"""An activation's derivatives of every order, each with the next as its gradient.

Value and slope have stable forms and kernels, the curvature one in float64; from the third on they
are the definition's derivatives. Without them TensorFlow would return a wrong slope of |x| at 0,
and NaN gradients where the branch of a `where` that is not taken is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from softgate.catalogue.entry import LIMITS
from softgate.formula.derivative import derivative
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.lower.tensorflow import definition_form, stable_form
from softgate.runtime import kernels
from softgate.runtime.routes import Route, Runner

from ..asymptotes import asymptotes
from . import cpu_kernels
from .cpu_kernels import DTYPES, GraphFunction, OpKernel, has_tangent, on_cpu

if TYPE_CHECKING:
    from softgate.formula.graph import Node
    from softgate.runtime.activation import Activation

Form = Callable[..., Any]
Parameters = tuple[tuple[str, float], ...]
STABLE = ("value", "slope", "curvature")
"""The quantities with a stable form, by order of derivative."""


class Derivatives:
    """An activation with fixed parameters: its derivatives at tensors, eager or symbolic."""

    def __init__(
        self, activation: Activation, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.activation, self.parameters, self.arithmetic = activation, parameters, arithmetic
        self._graphs: list[Node] = []
        self._forms: dict[tuple[str | int, Format], Form] = {}
        self._runners: dict[tuple[str, Any], Runner] = {}
        self._kernels: dict[tuple[str, Any], OpKernel] = {}
        self._functions: dict[tuple[str, Any, bool], GraphFunction] = {}

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

    def gradients(self, quantity: str, x: Any, *grads: Any) -> tuple[Any, ...]:
        """Return the gradients of a kernel's operands.

        The arguments are these operands, x and for "backward" grad, and the result's gradient.
        """
        if quantity == "backward":
            return self._pull_pair(0, x, *grads)
        return (self.pull(STABLE.index(quantity), x, *grads),)

    def _pull_pair(self, order: int, x: Any, grad: Any, again: Any) -> tuple[Any, Any]:
        """Return the gradients of both operands of `pull`, given that of its result."""
        return self.pull(order + 1, x, again * grad), self.pull(order, x, again)

    def _evaluate(self, order: int, x: Any) -> Any:
        if order >= len(STABLE):
            return self._computed(order, FLOAT64, x)
        return self._run(STABLE[order], x)

    def _times_next(self, order: int, x: Any, grad: Any) -> Any:
        if order > 0:
            return self._evaluate(order + 1, x) * grad
        return self._run("backward", x, grad)

    def _run(self, quantity: str, *operands: Any) -> Any:
        dtype = operands[0].dtype
        if all(map(on_cpu, operands)):
            return cpu_kernels.run_over_memory(self._runner(quantity, dtype), *operands)
        operators = partial(self._computed, quantity, self.computed_in(quantity, dtype))
        if tf.executing_eagerly() or not tf.compat.v1.executing_eagerly_outside_functions():
            return operators(*operands)
        return self._function(quantity, operators, operands)(*operands)

    def _eager_op(self, quantity: str, *operands: Any) -> OpKernel | None:
        """Return the kernel that computes a quantity of eager CPU tensors as an op, or None."""
        dtype = operands[0].dtype
        if dtype not in cpu_kernels.ENUMS or not all(map(on_cpu, operands)):
            return None
        kernel = self._kernels.get((quantity, dtype))
        if not cpu_kernels.may_run_eagerly(kernel):
            return None
        if kernel is None and cpu_kernels.unavailable() is None:
            kernel = self._kernel(quantity, dtype)
        return kernel

    def _kernel(self, quantity: str, dtype: Any) -> OpKernel:
        kernel = self._kernels.get((quantity, dtype))
        if kernel is None:
            # Kernels are never freed: this one must not refer to traced functions.
            key = (self.activation, self.parameters, self.arithmetic)

            def gradient(*operands: Any) -> tuple[Any, ...]:
                return derivatives(*key).gradients(quantity, *operands)

            kernel = cpu_kernels.kernel_of(self.route(quantity, dtype), dtype, gradient)
            self._kernels[quantity, dtype] = kernel
        return kernel

    def _function(self, quantity: str, operators: Form, operands: tuple[Any, ...]) -> GraphFunction:
        dtype, replaced = operands[0].dtype, cpu_kernels.unavailable() is None
        function = self._functions.get((quantity, dtype, replaced))
        if function is None:
            name = f"{self.activation.name}_{quantity}_{dtype.name}"
            kernel = self._kernel(quantity, dtype) if replaced else None
            function = GraphFunction(name, operators, operands, kernel)
            self._functions[quantity, dtype, replaced] = function
        return function

    def route(self, quantity: str, dtype: Any) -> Route:
        """Return the kernel or table for a quantity of tensors of a dtype."""
        return self.activation.route(
            quantity, DTYPES[dtype], self.arithmetic, dict(self.parameters)
        )

    def _runner(self, quantity: str, dtype: Any) -> Runner:
        runner = self._runners.get((quantity, dtype))
        if runner is None:
            runner = self._runners[quantity, dtype] = self.route(quantity, dtype).runner()
        return runner

    def computed_in(self, quantity: str, dtype: Any) -> Format:
        """Return the arithmetic of the operators for a tensor; tables are not used."""
        storage = DTYPES[dtype]
        if storage.itemsize == 2:
            storage = np.dtype(np.float32)
        values = dict(self.parameters)
        return self.activation.route(quantity, storage, self.arithmetic, values).computed_in

    def _computed(self, what: str | int, fmt: Format, *operands: Any) -> Any:
        """Compute in TensorFlow operators in one format; return results in that of the operands."""
        dtype = operands[0].dtype
        wide = tf.float32 if fmt is FLOAT32 else tf.float64
        form = self._forms.get((what, fmt))
        if form is None:
            form = self._forms[what, fmt] = self._form(what, fmt)
        return tf.cast(form(*(tf.cast(x, wide) for x in operands)), dtype)

    def _form(self, what: str | int, fmt: Format) -> Form:
        entry, values = self.activation.entry, dict(self.parameters)
        if isinstance(what, int):
            return self._defined(what, fmt)
        traced = kernels.Specification(entry, what, fmt, fmt, constants=self.parameters)
        names: tuple[str, ...] = LIMITS if entry.user is not None else ()
        limits = kernels.pack(entry, values, fmt, what).tolist()
        if fmt.bits < 64:
            names = tuple(part for name in names for part in (name, f"{name}.lo"))
        limits = limits[len(limits) - len(names) :]
        made = stable_form(kernels.trace(traced, fused=False), fmt, names, traced.inputs)
        return lambda *operands: made(*operands, *limits)

    def _defined(self, order: int, fmt: Format) -> Form:
        """Return a derivative of the definition, with its limits where the formula is NaN."""
        values, root = dict(self.parameters), self._graph(order)
        made, limits = definition_form(root, fmt, tuple(values)), asymptotes(root, values)

        def form(x: Any) -> Any:
            result = made(x, *values.values())
            for start, limit in limits:
                far = x <= start if start < 0 else x >= start
                result = tf.where(far, tf.constant(limit, result.dtype), result)
            return result

        return form

    def _graph(self, order: int) -> Node:
        while len(self._graphs) <= order:
            last = self._graphs[-1] if self._graphs else None
            self._graphs.append(
                self.activation.entry.define_in_operators() if last is None else derivative(last)
            )
        return self._graphs[order]


def _here(x: Any) -> Any:
    """Return a tensor captured in the graph that is being built.

    A gradient is traced into a second graph, and the gradient's gradient into a third, which can
    access tensors of the second only: a gradient must not refer to those of the first.
    """
    if tf.executing_eagerly():
        return x
    if has_tangent(x):
        raise NotImplementedError(
            "tf.autodiff.ForwardAccumulator in a tf.function: TensorFlow ignores custom gradients "
            "there; call the function eagerly, or use tf.GradientTape"
        )
    return tf.identity(x)


@lru_cache(maxsize=256)
def derivatives(
    activation: Activation, parameters: Parameters, arithmetic: str | None
) -> Derivatives:
    """Return the derivatives of an activation with these parameters, each form built once."""
    return Derivatives(activation, parameters, arithmetic)
