"""How NumPy computes a call: operands in one format, the ufunc, and what it does better in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.records.text import a_type

from . import arrays
from .arrays import Array, check_call, iterated, overlap, same_memory
from .dispatch import Call, Explanation, Plan
from .halves import Halves
from .parameters import has_tiny, is_array
from .routes import Route
from .threads import POOL, run_blocks

if TYPE_CHECKING:
    from .activation import Activation


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


def over_halves(function: Activation, quantity: str, operands: Sequence[Array], out: Any) -> Any:
    """Return value, slope or backward of the halves of an array; None for what needs a plan.

    The operands are of one format. A plan takes as long as the kernel over 50,000 elements.
    """
    x, item, length = operands[0], operands[0].itemsize, operands[0].shape[-1]
    route, half = function.route(quantity, x.dtype), (*x.shape[:-1], length // 2)
    if length % 2 or not x.size:
        return None
    shape = half if quantity == "value" else x.shape
    result = np.empty(shape, x.dtype) if out is None else out
    if out is not None and (
        type(out) is not np.ndarray
        or (out.shape, out.dtype) != (shape, x.dtype)
        or not out.flags.writeable
        or any(np.may_share_memory(out, y) for y in operands)
    ):
        return None
    addresses: list[int] = []
    layouts: list[int] = []
    width = length // 2 * item
    for i, array in enumerate((result, *operands)):
        if not array.flags.c_contiguous or not array.flags.aligned:
            return None
        address = array.ctypes.data
        if i == 1 or (i == 0 and quantity != "value"):
            addresses += address, address + width
            layouts += 2 * (2 * width, item)
        elif array.shape == half:
            addresses.append(address)
            layouts += width, item
        else:
            return None
    rows = x.size // length, length // 2
    run_blocks(route.runner().kernel, rows, route.results, layouts, addresses)
    return result


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
    """A call of ufuncs; `route` is the kernel where NumPy arrays have one, with their parameters.

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
        if route is not None and varying:
            route = function.varying_route(quantity, inputs[0].dtype, arithmetic)
        results = function.entry.results(quantity)
        parts = range(results) if route is None and results > 1 and not varying else (None,)
        key = quantity, arithmetic
        ufuncs = tuple(function.ufunc_of(*key, part, bool(parameters)) for part in parts)
        options = dict(call.options)
        if parameters and "dtype" in options:  # not of the parameters
            dtype, nout = options.pop("dtype"), ufuncs[0].nout
            kinds = [dtype] * len(inputs) + [np.float64] * len(parameters) + [dtype] * nout
            options["signature"] = tuple(kinds)
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

        It copies rows to buffers, on one thread. Here short rows are copied faster, long ones are
        not, and large arrays are divided among threads.
        """
        assert self.route is not None
        count, first = self.route.results, self.inputs[0]
        inputs = [*self.inputs, *self.parameters] if self.route.varying else self.inputs
        outs = out if isinstance(out, tuple) else (None,) * count if out is None else (out,)
        targets = [x for x in outs if x is not None]
        operands = [*inputs, *targets]
        if len(outs) != count or not all(map(_is_plain, operands)):
            return None
        if any(x.dtype != first.dtype for x in (*self.inputs, *targets)):
            return None
        if len(targets) > 1 and targets[0].size and same_memory(*targets):
            shape = targets[0].shape
            raise ValueError(f"out has one array twice, of shape {shape}: expected two arrays")
        if overlap(inputs, targets):
            return None
        if all(x.flags.c_contiguous and x.shape == first.shape for x in operands):
            return None
        if first.flags.c_contiguous and len({x.shape[-1:] for x in inputs}) > 1:
            return None  # an operand is broadcast within rows
        try:
            iterator = iterated(inputs, outs)
        except ValueError:  # the ufunc raises it too
            return None
        views, results = iterator.itviews, iterator.operands[len(inputs) :]
        if views[0].ndim != 2 or not views[0].size:
            return None
        if any(x.strides[1] != x.itemsize for x in views):
            return None
        ordered = [*views[len(inputs) :], *views[: len(inputs)]]
        layouts = [size for x in ordered for size in (x.strides[0], x.itemsize)]
        kernel, addresses = self.route.runner().kernel, [x.ctypes.data for x in ordered]
        run_blocks(kernel, views[0].shape, count, layouts, addresses)
        return results[0] if count == 1 else tuple(results)

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


def _is_plain(x: Any) -> bool:
    """Return whether `x` is an array of NumPy itself, aligned and in native byte order."""
    return type(x) is np.ndarray and x.dtype.isnative and x.flags.aligned
