"""Threaded calls with two and three interrupts, from chosen events of Python's tracing on.

    python interrupted_calls.py numpy 8    calls over NumPy arrays, at every eighth event
    python interrupted_calls.py halves 8   gated calls over the halves of an array
    python interrupted_calls.py torch 8    of a tensor, in a forked child, without OpenMP's threads

Events are the lines, calls and returns of a call. Python raises a pending interrupt where it next
looks for signals. The events are counted by a compiled function, because Python stops tracing when
a trace function raises, and here a second interrupt follows the first at once.

After an interrupted call its output is filled with a mark, which no thread must overwrite.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import softgate as sg

MARK, SIZE = 7.0, 1 << 19
Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

# The first word counts events; an interrupt is pending from the events on whose numbers follow.
WORDS = (ctypes.c_int64 * 4)()
TRACER = """
define i32 @tracer(ptr %object, ptr %frame, i32 %kind, ptr %argument) {{
  %count = inttoptr i64 {words} to ptr
  %before = load i64, ptr %count
  %event = add i64 %before, 1
  store i64 %event, ptr %count
  %first = getelementptr i64, ptr %count, i64 1
  %second = getelementptr i64, ptr %count, i64 2
  %third = getelementptr i64, ptr %count, i64 3
  %a = load i64, ptr %first
  %b = load i64, ptr %second
  %c = load i64, ptr %third
  %is_a = icmp eq i64 %event, %a
  %is_b = icmp eq i64 %event, %b
  %is_c = icmp eq i64 %event, %c
  %is_ab = or i1 %is_a, %is_b
  %is_any = or i1 %is_ab, %is_c
  br i1 %is_any, label %interrupt, label %end
interrupt:
  %set = inttoptr i64 {interrupt} to ptr
  call void %set()
  br label %end
end:
  ret i32 0
}}
"""


def compiled_tracer() -> tuple[Any, int]:
    """Return the compiled code, to be kept, and the address of the trace function in it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    set_interrupt = ctypes.cast(ctypes.pythonapi.PyErr_SetInterrupt, ctypes.c_void_p).value
    text = TRACER.format(words=ctypes.addressof(WORDS), interrupt=set_interrupt)
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine, engine.get_function_address("tracer")


ENGINE, ADDRESS = compiled_tracer()
trace = ctypes.pythonapi.PyEval_SetTrace
trace.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
trace.restype = None


def events_of(call: Call) -> int:
    """Return how many events a call has."""
    WORDS[:] = 0, 0, 0, 0
    trace(ADDRESS, None)
    call()
    trace(None, None)
    return WORDS[0]


def interrupted(call: Call, events: tuple[int, ...]) -> bool:
    """Return whether a call with interrupts from these events on was ended by one."""
    WORDS[:] = 0, *events, *(0,) * (3 - len(events))
    try:
        trace(ADDRESS, None)
        call()
    except KeyboardInterrupt:
        return True
    finally:
        trace(None, None)
    return False


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt in the call; an interrupt of this module's code is dropped."""
    if frame is not None and frame.f_code.co_filename != __file__:
        raise KeyboardInterrupt


def over_numpy() -> tuple[Call, Array, Array]:
    """Return a call, the array that it overwrites, and what it writes there."""
    x = np.linspace(-4, 4, SIZE)
    out = np.empty_like(x)
    return lambda: sg.gelu(x, out=out), out, sg.gelu(x)


def over_halves() -> tuple[Call, Array, Array]:
    x = np.linspace(-4, 4, 2 * SIZE).reshape(2, -1)
    out = np.empty((2, SIZE // 2))
    return lambda: sg.swiglu(x, out=out), out, sg.swiglu(x)


def over_tensor() -> tuple[Call, Array, Array]:
    import torch

    torch.set_num_threads(2)
    x = torch.linspace(-4, 4, SIZE, dtype=torch.float64)
    out = x.numpy()
    return lambda: sg.torch.functional.gelu_(x), out, sg.gelu(out)


CALLS = {"numpy": over_numpy, "halves": over_halves, "torch": over_tensor}
FOLLOWING = 25
"""Events after the first interrupt from which the second one is pending."""


def main(name: str, step: int) -> None:
    sg.set_threads(2)
    call, out, expected = CALLS[name]()
    start = out.copy()
    call()  # compiles
    count = events_of(call)
    signal.signal(signal.SIGINT, interrupt)
    pairs = itertools.product(range(1, count + 1, step), range(FOLLOWING))
    ended, failures = 0, []
    for first, after in pairs:
        events = (first, first + after, first + after + 3 * (after % 5))
        if not interrupted(call, events):
            continue
        ended += 1
        out.fill(MARK)
        sg.gelu(start)
        untouched = bool((out == MARK).all())
        out[:] = start
        call()
        if not untouched or not np.array_equal(out, expected):
            failures.append(events)
    print(f"{name}: {count} events, {ended} calls ended by interrupts, {len(failures)} failures")
    print(*failures[:20])
    sys.exit(bool(failures) or ended < count // step)


if __name__ == "__main__":
    if sys.argv[1] == "torch" and os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    main(sys.argv[1], int(sys.argv[2]))
