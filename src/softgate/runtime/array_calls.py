"""How NumPy computes a call: operands in one format, the ufunc, and what it does better in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from softgate.records.text import a_type

from . import arrays
from .arrays import Array, check_call, iterated, overlap, same_memory
from .dispatch import Call, Explanation, Plan
from .halves import Halves
from .parameters import has_tiny, is_array
from .routes import Route
from .threads import MIN_CHUNK_BYTES, POOL, run_rows

SEVERAL_THREADS = MIN_CHUNK_BYTES // 4
"""Arrays of fewer elements are not worth a second thread, whatever their format."""
SHORT_ROW = 16
"""Rows of fewer elements are copied first: the call of a loop takes as long as 50 elements."""


def plan(call: Call) -> Plan:
    """Return how NumPy computes a call; raise if an argument is invalid."""
    function = call.function
    if call.gate is not None:
        call = call._replace(function=function.bind(gate=call.gate), gate=None)
    if call.splits:
        return _plan_of_halves(call)
    call.check_axis()
    planned = ArrayCall.of(call)
    return Plan(partial(planned.run, call.out), partial(planned.describe, call.out))


def _plan_of_halves(call: Call) -> Plan:
    """Return the plan of a call with the halves of one array as operands.

    Slope and backward return one array of its shape.
    """
    x, *gradients = call.operands
    by_others = any(map(arrays.is_duck_array, call.operands))
    if not by_others:
        names = ("x", "grad")[: len(call.operands)]
        x, *gradients = arrays.same_format(dict(zip(names, call.operands, strict=True)))
    elif not hasattr(x, "shape"):  # a list with a grad of another library
        x = np.asarray(x)
    halves = Halves.of(x.shape, call.axis, call.function.name)
    for grad in gradients:
        halves.check_grad(np.shape(grad))
    planned = ArrayCall.of(call._replace(operands=(*halves.views(x), *gradients), axis=None))
    describe = partial(planned.describe, whole=x)
    if call.quantity not in ("slope", "backward"):
        return Plan(partial(planned.run, call.out), partial(describe, call.out))
    if call.out is None and (by_others or type(x) is not np.ndarray):
        return Plan(lambda: halves.joined(planned.run(None), x), describe)
    if by_others:
        raise TypeError(
            f"out with one {type(x).__name__} is not supported for the {call.quantity} of "
            f"{call.function.name}: assign the result instead"
        )

    def run() -> Any:
        out = np.empty(x.shape, x.dtype.newbyteorder("=")) if call.out is None else call.out
        if isinstance(out, tuple):
            if len(out) != 1:
                raise ValueError(f"out has {len(out)} arrays: there is one result")
            (out,) = out
        planned.run(halves.views_of_out(out, x))
        return out

    return Plan(run, describe)


@dataclass(frozen=True)
class ArrayCall:
    """A call of ufuncs; `route` is the kernel where NumPy arrays have one for all elements.

    Arrays of other libraries allow for one result, so each of several has a ufunc of its own.
    """

    call: Call
    ufuncs: tuple[np.ufunc, ...]
    inputs: tuple[Any, ...]
    parameters: tuple[Array, ...]
    options: dict[str, Any]
    route: Route | None

    @classmethod
    def of(cls, call: Call) -> ArrayCall:
        """Return the ufunc of a call and its operands; raise if an argument is invalid."""
        function, quantity, arithmetic = call.function, call.quantity, call.arithmetic
        arrays.check_arithmetic(arithmetic)
        parameters: tuple[Any, ...] = function.parameter_arrays(call.parameters)
        varying = any(map(is_array, call.parameters.values()))
        outs = call.out if isinstance(call.out, tuple) else (call.out,)
        route = None
        if any(map(arrays.overrides, (*call.operands, *outs))):
            inputs = arrays.beside_others(call.operands)
            if not varying:  # dask would evaluate other values of an array
                parameters = tuple(float(x) for x in parameters)
        else:
            inputs = arrays.same_format(dict(zip(call.names, call.operands, strict=True)))
            numbers = {} if varying else call.parameters
            route = function.route(quantity, inputs[0].dtype, arithmetic, numbers)
        if arithmetic is None and any(map(has_tiny, call.parameters.values())):
            arithmetic = "float64"
        results = function.entry.results(quantity)
        parts = range(results) if route is None and results > 1 and not varying else (None,)
        key = quantity, arithmetic
        ufuncs = tuple(function.ufunc_of(*key, part, bool(parameters)) for part in parts)
        options = dict(call.options)
        if parameters and "dtype" in options:  # not of the parameters
            dtype, nout = options.pop("dtype"), ufuncs[0].nout
            kinds = [dtype] * len(inputs) + [np.float64] * len(parameters) + [dtype] * nout
            options["signature"] = tuple(kinds)
        route = None if varying else route
        return cls(call, ufuncs, tuple(inputs), parameters, options, route)

    def run(self, out: Any) -> Any:
        """Return what a ufunc returns."""
        if self.route is not None and not self.options:
            results = self._over_memory(out)
            if results is not None:
                return results
        operands, results = (*self.inputs, *self.parameters), len(self.ufuncs)
        if results > 1:
            outs = (None,) * results if out is None else out
            pairs = zip(self.ufuncs, outs, strict=True)
            return tuple(ufunc(*operands, out=part, **self.options) for ufunc, part in pairs)
        (ufunc,) = self.ufuncs
        options = self.options if out is None else {**self.options, "out": out}
        try:
            return ufunc(*operands, **options)
        except (TypeError, ValueError):
            if all(isinstance(x, np.ndarray) for x in self.inputs):
                names = (
                    *self.call.names,
                    *(self.call.function.parameters if self.parameters else ()),
                )
                check_call(dict(zip(names, operands, strict=True)), out, ufunc.nout)
            raise

    def _over_memory(self, out: Any) -> Any:
        """Return results for operands that the ufunc would compute slowly; None for all others.

        It computes rows one after the other, on one thread. Large ones are divided among threads,
        and rows of few elements are copied first.
        """
        assert self.route is not None
        count, first = self.route.results, self.inputs[0]
        outs = out if isinstance(out, tuple) else (None,) * count if out is None else (out,)
        targets = [x for x in outs if x is not None]
        operands = [*self.inputs, *targets]
        if len(outs) != count or not all(_is_plain(x, first) for x in operands):
            return None
        if self.route.storage.itemsize != first.itemsize:  # the loop converts
            return None
        if len(targets) > 1 and targets[0].size and same_memory(*targets):
            shape = targets[0].shape
            raise ValueError(f"out has one array twice, of shape {shape}: expected two arrays")
        if overlap(self.inputs, targets):
            return None
        if all(x.flags.c_contiguous and x.shape == first.shape for x in operands):
            return None
        try:
            iterator = iterated(self.inputs, outs)
        except ValueError:  # the ufunc raises it too
            return None
        views, results = iterator.itviews, iterator.operands[len(self.inputs) :]
        if views[0].ndim < 2 or not views[0].size:
            return None
        if views[0].shape[-1] < SHORT_ROW:
            return self._of_copies(results)
        item = first.itemsize
        large = POOL.size > 1 and first.size >= SEVERAL_THREADS
        rows = all(x.strides[1] == item and x.strides[0] % item == 0 for x in views)
        if not large or views[0].ndim > 2 or not rows:
            return None
        ordered = [*views[len(self.inputs) :], *views[: len(self.inputs)]]
        addresses = [x.ctypes.data for x in ordered]
        distances = [x.strides[0] // item for x in ordered]
        kernel = self.route.runner().kernel
        run_rows(POOL.start, POOL.plan, kernel, views[0].shape, item, distances, addresses)
        return results[0] if count == 1 else tuple(results)

    def _of_copies(self, results: Sequence[Array]) -> Any:
        """Return results, written by way of dense copies of all operands."""
        shape = results[0].shape
        copies = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in self.inputs]
        computed = self.ufuncs[0](*copies, *self.parameters)
        parts = computed if isinstance(computed, tuple) else (computed,)
        for result, part in zip(results, parts, strict=True):
            result[...] = part
        return results[0] if len(results) == 1 else tuple(results)

    def describe(self, out: Any = None, whole: Array | None = None) -> Explanation:
        """Return how the call is computed; `whole` is the array that was split."""
        call, function = self.call, self.call.function
        other = next((type(x).__name__ for x in call.operands if arrays.overrides(x)), None)
        inputs: Sequence[Array] = self.inputs
        if other is not None:
            operands = dict(zip(call.names, map(np.asarray, call.operands), strict=True))
            inputs = arrays.same_format(operands)
        varying = [name for name, x in call.parameters.items() if is_array(x)]
        numbers = {name: x for name, x in call.parameters.items() if name not in varying}
        route = function.route(call.quantity, inputs[0].dtype, call.arithmetic, numbers)
        outs = out if isinstance(out, tuple) else (out,) * route.results
        for array in outs:
            if not isinstance(array, np.ndarray | None):
                raise TypeError(f"out is {a_type(array)}: expected a numpy.ndarray")
        check_call(dict(zip(call.names, inputs, strict=True)), outs, route.results)
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        first = arrays.as_array(call.operands[0]) if other is None else inputs[0]
        computed_by = route.describe()
        if varying:
            if route.uses_table:
                computed_by = f"the float64 kernel, correctly rounded to {route.storage.name}"
            computed_by += f", {' and '.join(varying)} per element"
        memory = arrays.memory(call.operands, inputs, outs) if other is None else ""
        return Explanation(
            activation=function.name,
            quantity=call.quantity,
            shape=shape if whole is None else whole.shape,
            dtype=first.dtype.name,
            computed_by=computed_by,
            memory=f"called by the {other}" if other else memory,
            threads=POOL.plan(prod(shape), first.itemsize * (len(route.inputs) + route.results)),
        )


def _is_plain(x: Any, like: Any) -> bool:
    """Return whether `x` is an array of NumPy itself, in the native format of `like`."""
    return type(x) is np.ndarray and x.dtype == like.dtype and x.dtype.isnative and x.flags.aligned
