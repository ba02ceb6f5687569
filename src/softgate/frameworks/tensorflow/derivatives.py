"""A function's derivatives of every order, each with the next as its gradient.

Value and slope have stable forms and kernels, the curvature one in float64; from the third order on
derivatives are those of the definition, and of gated functions products of those of the activation
and the factor. Without them TensorFlow would return a wrong slope of |x| at 0, and NaN gradients
where the branch of a `where` that is not taken is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.formula.trace import LIMITS
from softgate.lower.tensorflow import definition_form, stable_form
from softgate.runtime import kernels
from softgate.runtime.routes import Route

from ..asymptotes import asymptotes
from . import cpu_kernels, private
from .cpu_kernels import DTYPES, GraphFunction, OpKernel, on_cpu

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

Form = Callable[..., Any]
Parameters = tuple[tuple[str, float], ...]
Tensors = Sequence[Any]
STABLE = ("value", "slope", "curvature")
"""The quantities with a stable form, by order of derivative."""


class Derivatives:
    """A function with fixed parameters at tensors of one shape, eager or symbolic.

    f(x) has one derivative D[0] of each order, f(a, b) has order + 1: D[i] is by b i times and by a
    the other times. All that gradients need is a sum over k of D[i + k]·factors[k], for each i:
    `backward` is that of order 1 with grad as the only factor. Its gradients are of the same kind.
    """

    def __init__(
        self, function: Activation, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.function, self.parameters, self.arithmetic = function, parameters, arithmetic
        # All are cleared with this object, which `derivatives` keeps. By what is computed, a
        # quantity or orders, and the format of the operators:
        self._forms: dict[tuple[str | tuple[int, ...], Format], Form] = {}
        # By quantity and dtype; for graphs also whether a kernel replaces operators.
        self._kernels: dict[tuple[str, Any], OpKernel] = {}
        self._graph_functions: dict[tuple[str, Any, bool], GraphFunction] = {}

    def __call__(self, order: int, operands: Tensors, factors: Tensors = ()) -> tuple[Any, ...]:
        """Return the derivatives of an order, or their sums with factors, differentiable."""
        tensors = (*operands, *factors)
        quantity = _quantity(order, len(factors))
        if quantity is not None and (kernel := self._eager_op(quantity, *tensors)):
            results = cpu_kernels.evaluate(kernel, *tensors)
            return tuple(results) if isinstance(results, list) else (results,)

        @tf.custom_gradient
        def run(*tensors: Any) -> Any:
            results = self._evaluate(order, tensors)
            return results, lambda *grads: self.gradients(order, tensors, grads)

        return tuple(run(*map(_here, tensors)))

    def gradients(self, order: int, tensors: Tensors, grads: Tensors) -> tuple[Any, ...]:
        """Return the gradients of operands and factors, from those of the results."""
        operands, factors = tensors[: self.function.nin], tensors[self.function.nin :]
        if not factors:
            return self(order + 1, operands, grads)
        products = [
            _sum(x * grads[i - k] for k, x in enumerate(factors) if 0 <= i - k < len(grads))
            for i in range(len(factors) + len(grads) - 1)
        ]
        return *self(order + 1, operands, products), *self(order, operands, grads)

    def route(self, quantity: str, dtype: Any) -> Route:
        """Return the kernel or table for a quantity of tensors of a dtype."""
        values = dict(self.parameters)
        return self.function.route(quantity, DTYPES[dtype], self.arithmetic, values)

    def computed_in(self, quantity: str, dtype: Any) -> Format:
        """Return the arithmetic of the operators for a tensor; tables are not used."""
        storage = DTYPES[dtype]
        if storage.itemsize == 2:
            storage = np.dtype(np.float32)
        values = dict(self.parameters)
        return self.function.route(quantity, storage, self.arithmetic, values).computed_in

    def _evaluate(self, order: int, tensors: Tensors) -> tuple[Any, ...]:
        """Return the results of a call, without gradients."""
        operands, factors = tensors[: self.function.nin], tensors[self.function.nin :]
        quantity = _quantity(order, len(factors))
        if quantity is not None:
            return self._run(quantity, *tensors)
        if order < len(STABLE):
            derivatives = self._run(STABLE[order], *operands)
        else:
            results = 1 + order * (len(operands) - 1)
            by_each = [(order - i, i)[: len(operands)] for i in range(results)]
            derivatives = tuple(self._higher(orders, operands) for orders in by_each)
        if not factors:
            return derivatives
        return tuple(
            _sum(derivatives[i + k] * factor for k, factor in enumerate(factors))
            for i in range(len(derivatives) - len(factors) + 1)
        )

    def _run(self, quantity: str, *operands: Any) -> tuple[Any, ...]:
        """Return the results of a quantity, without gradients."""
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
            route = self.route(quantity, dtype)
            order, count = STABLE.index(quantity) if quantity in STABLE else 1, len(route.inputs)

            def gradient(*tensors: Any) -> tuple[Any, ...]:
                return derivatives(*key).gradients(order, tensors[:count], tensors[count:])

            kernel = cpu_kernels.kernel_of(route, dtype, gradient)
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

    def _higher(self, orders: tuple[int, ...], operands: Tensors) -> Any:
        """Return a derivative by how often each operand is differentiated by, without a kernel."""
        act, factor = self.function.gate_activation, self.function.factor
        gating = self.function.entry.gating
        if act is None or gating is None:
            return self._computed(orders, FLOAT64, *operands)[0]
        places = (0, 1) if gating.gate == "first" else (1, 0)
        (of_gate, gate), (of_other, other) = ((orders[i], operands[i]) for i in places)
        if of_other > 1:  # a factor is piecewise linear
            return tf.zeros_like(gate)
        (result,) = derivatives(act, self.parameters, None)._evaluate(of_gate, (gate,))
        if factor is not None:
            (other,) = derivatives(factor, self.parameters, None)._evaluate(of_other, (other,))
        elif of_other:
            return result
        return result * other

    def _computed(
        self, what: str | tuple[int, ...], fmt: Format, *operands: Any
    ) -> tuple[Any, ...]:
        """Compute in TensorFlow operators in one format; return results in that of the operands.

        That is a quantity, or a derivative by how often each operand is differentiated by.
        """
        dtype = operands[0].dtype
        wide = tf.float32 if fmt is FLOAT32 else tf.float64
        form = self._forms.get((what, fmt))
        if form is None:
            make = self._stable if isinstance(what, str) else self._defined
            form = self._forms[what, fmt] = make(what, fmt)
        return tuple(tf.cast(y, dtype) for y in form(*(tf.cast(x, wide) for x in operands)))

    def _stable(self, quantity: Any, fmt: Format) -> Form:
        entry, values = self.function.entry, dict(self.parameters)
        traced = kernels.Specification(entry, quantity, fmt, fmt, constants=self.parameters)
        names: tuple[str, ...] = LIMITS if kernels.has_limits(entry) else ()
        limits = kernels.pack(entry, values, fmt, quantity).tolist()
        if fmt.bits < 64:
            names = tuple(part for name in names for part in (name, f"{name}.lo"))
        limits = limits[len(limits) - len(names) :]
        made = stable_form(kernels.traced(traced, fused=False), fmt, names, traced.inputs)
        return lambda *operands: made(*operands, *limits)

    def _defined(self, orders: Any, fmt: Format) -> Form:
        """Return a derivative of the definition; of one operand with its limits where it is NaN."""
        entry, values = self.function.entry, dict(self.parameters)
        variables = [x for x, n in zip(entry.operands, orders, strict=True) for _ in range(n)]
        root = entry.derivative(*variables, in_operators=True)
        made = definition_form(root, fmt, tuple(values), entry.operands)
        limits = asymptotes(root, values) if entry.nin == 1 else ()

        def form(*operands: Any) -> Any:
            # A derivative may depend on no operand.
            result = tf.broadcast_to(made(*operands, *values.values()), tf.shape(operands[0]))
            for start, limit in limits:
                far = operands[0] <= start if start < 0 else operands[0] >= start
                result = tf.where(far, tf.constant(limit, result.dtype), result)
            return (result,)

        return form


def _quantity(order: int, factors: int) -> str | None:
    """Return the quantity with a kernel for derivatives of an order and their factors, or None."""
    if factors:
        return "backward" if order == factors == 1 else None
    return STABLE[order] if order < len(STABLE) else None


def _sum(terms: Iterable[Any]) -> Any:
    return reduce(add, terms)


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
def derivatives(
    function: Activation, parameters: Parameters, arithmetic: str | None
) -> Derivatives:
    """Return the derivatives of a function with these parameters, each form built once."""
    return Derivatives(function, parameters, arithmetic)
