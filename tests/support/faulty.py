"""Functions of NumPy arrays that are gelu but for one fault each, and some that misbehave.

In a module of its own, so that a child process can import it.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

import softgate as sg

LOW, HIGH = -1.85, -1.84
PATTERN = -1.8125


def right(x: Any) -> Any:
    return sg.gelu(x)


def right_slope(x: Any) -> Any:
    return sg.gelu.slope(x)


def few_ulp_off(x: Any) -> Any:
    y = sg.gelu(x)
    here = (x > LOW) & (x < HIGH)
    y[here] += 6 * np.spacing(y[here])
    return y


def flipped_slope(x: Any) -> Any:
    y = sg.gelu.slope(x)
    here = (x > LOW) & (x < HIGH)
    y[here] = -y[here]
    return y


def without_negative_zero(x: Any) -> Any:
    return sg.gelu(x) + x.dtype.type(0)


def nan_for_one_pattern(x: Any) -> Any:
    y = sg.gelu(x)
    y[x == PATTERN] = np.nan
    return y


def by_place(x: Any) -> Any:
    y = sg.gelu(x)
    y[5::7] = np.nextafter(y[5::7], x.dtype.type(1))
    return y


def by_length(x: Any) -> Any:
    y = sg.gelu(x)
    return y if x.size > 100 else np.nextafter(y, x.dtype.type(1))


def by_stride(x: Any) -> Any:
    y = sg.gelu(x)
    return y if x.flags.c_contiguous else np.nextafter(y, x.dtype.type(1))


def by_alignment(x: Any) -> Any:
    y = sg.gelu(x)
    return np.nextafter(y, x.dtype.type(1)) if x.ctypes.data % 16 else y


def flushed(x: Any) -> Any:
    y = sg.gelu(x)
    y[np.abs(y) < np.finfo(y.dtype).smallest_normal] = 0
    return y


def early_zero(x: Any) -> Any:
    return np.where(x < -5.5, x.dtype.type(-0.0), sg.gelu(x))


def not_empty(x: Any) -> Any:
    if not x.size:
        raise IndexError("no elements")
    return sg.gelu(x)


def crash(x: Any) -> Any:
    return ctypes.string_at(0)


def crash_far_out(x: Any) -> Any:
    return ctypes.string_at(0) if x.size and np.nanmax(x) > 100 else sg.gelu(x)


def hang(x: Any) -> Any:
    time.sleep(1000)


def other_shape(x: Any) -> Any:
    return sg.gelu(x)[:-1]


def other_dtype(x: Any) -> Any:
    return sg.gelu(x).astype(np.float64)


def changes_its_input(x: Any) -> Any:
    y = sg.gelu(x)
    x[...] = 0
    return y


def no_array(x: Any) -> Any:
    return None


def prints(x: Any) -> Any:
    print("printed text must not be read as a reply")
    return sg.gelu(x)


def wants_tensors(x: Any) -> Any:
    return x.clamp(min=0)
