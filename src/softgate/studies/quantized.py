"""`quantized`: an activation of 8-bit integers as a table, each entry rounded once.

An integer q stands for the number scale·(q - zero). The table has the exact function of that
number, divided by the output's scale and rounded to the nearest integer, ties to even, as ONNX's
QuantizeLinear rounds. Integers beyond the range are saturated.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softgate.formula.graph import Node
from softgate.records.record import Cell, Grid, Record
from softgate.records.text import a_type
from softgate.runtime.registry import label

from .subjects import resolved

DTYPES = ("int8", "uint8")
BITS = 256
"""The precision at which the definition is evaluated."""
TINY = 2.0**-1000
"""In place of smaller results."""
NEAR = Fraction(1, 1 << 100)
"""Closer to the middle of two integers than this, the definition is evaluated with more bits."""


@dataclass(frozen=True)
class Quantized(Record):
    """A table of an activation for 8-bit integers, and its error. Calling it looks results up."""

    schema: ClassVar[str] = "softgate.quantized"

    function: str
    """The activation's name, with the parameters that are not its defaults."""
    dtype: str
    in_scale: float
    in_zero: int
    out_scale: float
    out_zero: int
    entries: tuple[int, ...]
    """The 256 results, in the order of the inputs: from -128 for int8, from 0 for uint8."""
    values: tuple[float, ...]
    """The exact results, rounded to float64."""
    saturated: int
    """How many entries are limited to the range of the dtype."""
    max_error_steps: float
    """The largest error of the other entries in steps of the output, at most 0.5."""
    max_error: float
    """The same error in real units: times `out_scale`."""
    max_saturation_error: float
    """The largest error of the saturated entries in real units; 0 if there are none."""

    @property
    def lowest(self) -> int:
        """The input of the first entry."""
        return int(np.iinfo(self.dtype).min)

    @cached_property
    def array(self) -> np.ndarray[Any, Any]:
        """The entries as a read-only NumPy array of the dtype."""
        array = np.array(self.entries, self.dtype)
        array.flags.writeable = False
        return array

    def __call__(self, x: Any, /) -> Any:
        """Return the entry for each integer of `x`, in its array type and dtype.

        Parameters
        ----------
        x : numpy.ndarray, torch.Tensor or jax.Array
            Integers of the table's dtype. A quantized tensor of torch must have the scale and the
            zero point of the table's input; the result has those of its output.

        Raises
        ------
        TypeError
            If `x` is of another type or dtype.
        ValueError
            If a quantized tensor has another scale or zero point.
        """
        if isinstance(x, np.ndarray | np.generic):
            self._check_dtype(x.dtype.name)
            return self.array[x.astype(np.intp) - self.lowest]
        torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
        if torch is not None and isinstance(x, torch.Tensor):
            return self._of_quantized(torch, x) if x.is_quantized else self._of_tensor(x)
        if jax is not None and isinstance(x, jax.Array):
            self._check_dtype(x.dtype.name)
            return jax.numpy.asarray(self.array)[x.astype(np.int32) - self.lowest]
        raise TypeError(
            f"x is {a_type(x)}: expected a NumPy array, a torch tensor or a JAX array of "
            f"{self.dtype}"
        )

    def _check_dtype(self, name: str) -> None:
        if name != self.dtype:
            raise TypeError(
                f"x has dtype {name}: this table is for {self.dtype}; convert x, or pass "
                f"dtype={name!r} to quantized"
                if name in DTYPES
                else f"x has dtype {name}: expected {self.dtype}, as quantization gives it"
            )

    def _of_tensor(self, x: Any) -> Any:
        self._check_dtype(str(x.dtype).removeprefix("torch."))
        return x.new_tensor(self.entries)[x.int() - self.lowest]

    def _of_quantized(self, torch: Any, x: Any) -> Any:
        if x.qscheme() is not torch.per_tensor_affine:
            raise TypeError(f"x is quantized as {x.qscheme()}: expected one scale for all of it")
        if (x.q_scale(), x.q_zero_point()) != (self.in_scale, self.in_zero):
            raise ValueError(
                f"x has scale {x.q_scale()} and zero point {x.q_zero_point()}: this table is for "
                f"{self.in_scale} and {self.in_zero}"
            )
        steps = self._of_tensor(x.int_repr()).double() - self.out_zero
        # torch rounds these multiples of the scale to the same integers.
        numbers = (steps * self.out_scale).float()
        return torch.quantize_per_tensor(numbers, self.out_scale, self.out_zero, x.dtype)

    def grids(self) -> tuple[Grid, ...]:
        """Return the parameters of the table and its error."""
        rows = (
            ("input", _number(self.in_scale, self.in_zero)),
            ("output", _number(self.out_scale, self.out_zero)),
            ("largest error, steps", f"{self.max_error_steps:.4f}"),
            ("largest error", f"{self.max_error:.4g}"),
            ("saturated entries", f"{self.saturated} of {len(self.entries)}"),
            ("largest error there", f"{self.max_saturation_error:.4g}"),
        )
        title = f"{self.function}, 8-bit table, each entry rounded once"
        return (Grid(title, ("integers q", self.dtype), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return the input, its number, the entry, its number and the exact value, row by row."""
        rows: list[tuple[Cell, ...]] = []
        for q, (entry, value) in enumerate(zip(self.entries, self.values, strict=True)):
            x = self.in_scale * (q + self.lowest - self.in_zero)
            y = self.out_scale * (entry - self.out_zero)
            rows.append((q + self.lowest, x, entry, y, value))
        return ("q", "x", "entry", "result", "exact"), rows


def quantized(
    function: str | Callable[..., Any],
    in_scale: float,
    in_zero: int,
    out_scale: float,
    out_zero: int,
    *,
    dtype: str = "int8",
    **parameters: float,
) -> Quantized:
    """Return the table of an activation for 8-bit integers: the exact function, rounded once.

    Parameters
    ----------
    function : str or callable
        The activation: "gelu", "torch.nn.functional.gelu", "file.py:function", or a callable.
    in_scale, in_zero : float, int
        An input q stands for in_scale·(q - in_zero). Scales are taken as exact: pass a float32
        scale as `float(scale)`.
    out_scale, out_zero : float, int
        The same for the output.
    dtype : {"int8", "uint8"}
        The integers, in and out.
    **parameters : float
        Parameters of the activation.

    Returns
    -------
    Quantized
        A record: the 256 entries, the largest error and the number of saturated entries. It is
        called with arrays and tensors of the dtype.

    Raises
    ------
    ValueError
        If a scale is not positive and finite, a zero point is out of range, or the function has no
        real value at an input.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> gelu8 = sg.quantized(sg.gelu, 0.05, 0, 0.03, -100)
    >>> gelu8(np.array([-20, 0, 20], np.int8))
    array([-105, -100,  -72], dtype=int8)
    >>> gelu8.saturated, round(gelu8.max_error_steps, 3)
    (0, 0.486)
    """
    activation = resolved.activation(function)
    name = getattr(dtype, "__name__", None) or str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise ValueError(f"dtype = {dtype!r}: choose from {', '.join(DTYPES)}")
    limits = np.iinfo(name)
    low, high = int(limits.min), int(limits.max)
    in_step, out_step = _scale("in_scale", in_scale), _scale("out_scale", out_scale)
    in_zero = _zero("in_zero", in_zero, low, high)
    out_zero = _zero("out_zero", out_zero, low, high)
    activation = activation.bind(**parameters)
    numbers = activation.parameters
    root = activation.entry.define()
    entries, values, errors, beyond = [], [], [0.0], [0.0]
    for q in range(low, high + 1):
        x = in_step * (q - in_zero)
        exact = _exact(root, x, numbers)
        if isinstance(exact, float):
            if math.isnan(exact):
                raise ValueError(f"{label(activation)} is not real at {float(x):g}, for q = {q}")
            steps = high + 1 if exact > 0 else low - 1
        else:
            steps = _nearest(root, exact, out_step, x, numbers) + out_zero
        entry = min(max(steps, low), high)
        entries.append(entry)
        values.append(float(exact))
        result = out_step * (entry - out_zero)
        # An infinite value has no fraction: its error is infinite.
        error = math.inf if isinstance(exact, float) else float(abs(result - exact))
        (errors if steps == entry else beyond).append(error)
    return Quantized(
        function=label(activation),
        dtype=name,
        in_scale=float(in_step),
        in_zero=in_zero,
        out_scale=float(out_step),
        out_zero=out_zero,
        entries=tuple(entries),
        values=tuple(values),
        saturated=len(beyond) - 1,
        max_error_steps=max(errors) / float(out_step),
        max_error=max(errors),
        max_saturation_error=max(beyond),
    )


def _number(scale: float, zero: int) -> str:
    return f"{scale:g}·(q {'+' if zero < 0 else '-'} {abs(zero)})" if zero else f"{scale:g}·q"


def _exact(root: Node, x: Fraction, parameters: Mapping[str, float]) -> Fraction | float:
    """Return the definition at x with `BITS` bits; a float if it is infinite or not real."""
    from softgate.lower import exact

    value = exact.number(root, BITS, x=x, **parameters)
    number = float(value)
    if value != 0 and abs(number) < TINY:  # the fraction of exp(-1e9) would fill the memory
        return Fraction(TINY if value > 0 else -TINY)
    return exact.fraction(value) if math.isfinite(number) else number


def _nearest(
    root: Node, exact: Fraction, step: Fraction, x: Fraction, parameters: Mapping[str, float]
) -> int:
    """Return the definition at x divided by `step`, rounded to an integer, ties to even."""
    from softgate.lower.exact import signs_of_differences

    below = math.floor(exact / step)
    middle = (below + Fraction(1, 2)) * step
    if abs(exact - middle) > NEAR * (abs(exact) + step):
        return below + (exact > middle)
    (side,) = signs_of_differences(root, [x], [middle], **parameters)
    return below + (below % 2 if side == 0 else side > 0)


def _scale(name: str, value: Any) -> Fraction:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {a_type(value)}: expected a positive number") from None
    if not 0 < number < math.inf:
        raise ValueError(f"{name} = {value!r}: expected a positive finite number")
    return Fraction(number)


def _zero(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, float) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {a_type(value)}: expected an integer")
    number = int(value)
    if not low <= number <= high:
        raise ValueError(f"{name} = {number}: expected an integer from {low} to {high}")
    return number
