"""NumPy ufuncs whose inner loops call kernels, made through NumPy's C API without a compiler.

A ufunc has the function's parameters at their defaults, or takes them as float64 operands after the
others. Kernels are compiled when a loop first runs, so a ufunc that another library keeps works at
any time.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from softgate.catalogue import Entry
from softgate.formula.formats import BYTE_FORMATS, FLOAT64, FORMATS, Format, dtype_of

from . import kernels, tables
from .arrays import Array
from .routes import Parameters, Route, Runner
from .threads import MIN_CHUNK_BYTES, POOL, SERIAL, THREADS, address_of, run_rows, share

KNOWN_ABI = 0x2000000
"""The version of NumPy's C ABI, of which the layout of a ufunc and the table's places are part."""
FROM_FUNCTIONS, REGISTER_LOOP = 1, 2
"""The places of PyUFunc_FromFuncAndData and PyUFunc_RegisterLoopForType in the table."""
MOST_RECORDS = 128
"""Records of parameters that a loop keeps; one of a 16-bit format may hold a table of 128 kB."""


class _Ufunc(ctypes.Structure):
    """The fields after the head of NumPy's PyUFuncObject, up to the object that it owns."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *((name, ctypes.c_void_p) for name in ("functions", "data")),
        *((name, ctypes.c_int) for name in ("ntypes", "reserved")),
        *((name, ctypes.c_void_p) for name in ("name", "types", "doc", "ptr", "obj")),
    )


@cache
def _numpy() -> tuple[Callable[..., Any], Callable[..., int]]:
    """Return PyUFunc_FromFuncAndData and PyUFunc_RegisterLoopForType of NumPy's C API.

    Raises ImportError if its ABI is not known.
    """
    umath: Any = import_module("numpy._core._multiarray_umath")

    def pointers(capsule: Any) -> Any:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))

    version = ctypes.CFUNCTYPE(ctypes.c_uint)(pointers(umath._ARRAY_API)[0])()
    if version != KNOWN_ABI:
        raise ImportError(
            f"NumPy {np.__version__} has version {version:#x} of its C ABI: expected "
            f"{KNOWN_ABI:#x}, which every NumPy 2 has; install numpy>=2,<3"
        )
    table = pointers(umath._UFUNC_API)
    address, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    from_functions = ctypes.PYFUNCTYPE(
        ctypes.py_object, *[address] * 3, *[integer] * 4, *[text] * 2, integer
    )
    register = ctypes.PYFUNCTYPE(integer, ctypes.py_object, integer, *[address] * 3)
    return from_functions(table[FROM_FUNCTIONS]), register(table[REGISTER_LOOP])


class _Owned(NamedTuple):
    """The object that a ufunc owns."""

    arguments: tuple[Any, ...]
    memory: tuple[Any, ...]


class Record:
    """A kernel and the parameters that it holds for, as an inner loop reads them."""

    def __init__(self, runner: Runner, values: Sequence[float] = ()) -> None:
        self.runner = runner
        self._words = np.array([*runner.kernel, *np.array(values, np.float64).view(np.int64)])
        self.address: int = self._words.ctypes.data


class Loop:
    """The inner loop of a ufunc for one format, and the kernels that it has called."""

    def __init__(
        self,
        storage: Format,
        entry: Entry,
        quantity: str,
        arithmetic: str | None,
        result: int | None,
        parameters: bool,
    ) -> None:
        self.storage, self.entry, self.quantity = storage, entry, quantity
        self.arithmetic = arithmetic
        self.defaults = {p.name: p.default for p in entry.parameters}
        self.names = list(self.defaults) if parameters else []
        self.inputs = len(entry.inputs(quantity))
        self.results = 1 if result is not None else entry.results(quantity)
        self.result = result
        """The only result of the kernel, if it has several."""
        from softgate.lower.native import DATA

        moved = storage.itemsize * (self.inputs + self.results)
        self.words = (ctypes.c_int64 * len(DATA))()
        self.place = DATA.index
        self.words[self.place("item")] = storage.itemsize
        self.words[self.place("large")] = 4 * MIN_CHUNK_BYTES // moved
        self.words[self.place("threads")] = ctypes.addressof(THREADS)
        self.failure = KeyboardInterrupt
        self.address = ctypes.addressof(self.words)
        self.code = address_of(_inner_loop(self.inputs, self.results, len(self.names)))
        self._records: OrderedDict[Parameters, Record] = OrderedDict()
        self._varying: Record | None = None
        self._retired: list[Record] = []
        _loops[self.address] = self

    @property
    def failure(self) -> type[BaseException]:
        """The exception that is raised where `_serve` is interrupted."""
        return self._failure

    @failure.setter
    def failure(self, kind: type[BaseException]) -> None:
        self._failure, self.words[self.place("failed")] = kind, -id(kind)

    @property
    def types(self) -> list[int]:
        """NumPy's numbers of the operands' dtypes."""
        number: int = dtype_of(self.storage).num
        scalars = [np.dtype(np.float64).num] * len(self.names)
        return [number] * self.inputs + scalars + [number] * self.results

    def uniform(self, args: Any, steps: Any, count: int) -> int | None:
        """Return the address of the record for the parameters in `args`, or compute."""
        places = args[self.inputs : self.inputs + len(self.names)]
        values = [ctypes.c_double.from_address(place).value for place in places]
        key = tuple((self.defaults | dict(zip(self.names, values, strict=True))).items())
        with kernels.BUILDING:
            record = self._records.get(key)
            if record is None:
                try:
                    self.entry.check(dict(key))
                except ValueError:  # functions check parameters; libraries try values of their own
                    self._without_value(args, steps, count)
                    return None
                wider = FLOAT64 if self.arithmetic else None
                route = Route(
                    self.entry, self.quantity, self.storage, wider, key, result=self.result
                )
                record = self._records[key] = Record(route.runner(), values)
            self._records.move_to_end(key)
            self.words[self.place("current")] = record.address
            if len(self._records) > MOST_RECORDS:
                self._retired.append(self._records.popitem(last=False)[1])
            if self.words[self.place("active")] == 1:  # this thread alone is in the loop
                self._retired.clear()
        return record.address

    def varying(self, args: Any, steps: Any, count: int) -> int | None:
        """Return the address of the record for varying parameters, or compute."""
        if self.storage.bits < 32 and self.entry.nin == 1:
            self._rounded(args, steps, count)
            return None
        with kernels.BUILDING:
            if self._varying is None:
                route = self._route_of_varying(self.quantity, self.storage)
                self._varying = Record(route.runner())
                self.words[self.place("varying")] = self._varying.address
        return self._varying.address

    def _route_of_varying(self, quantity: str, storage: Format) -> Route:
        wider = FLOAT64 if self.arithmetic else None
        return Route(self.entry, quantity, storage, wider, varying=True, result=self.result)

    def _without_value(self, args: Any, steps: Any, count: int) -> None:
        """Fill the results with NaN."""
        *_, outs = self._operands(args, steps, count)
        for out in outs:
            out[...] = np.nan

    def _rounded(self, args: Any, steps: Any, count: int) -> None:
        """Compute what tables for the parameters of each element would contain."""
        inputs, values, (out,) = self._operands(args, steps, count)
        with np.errstate(all="ignore"):  # signalling NaNs
            x, *grads, _ = (*(np.ascontiguousarray(y, np.float64) for y in inputs), None)
            numbers = {n: np.ascontiguousarray(v) for n, v in zip(self.names, values, strict=True)}

            def computed(quantity: str, *arrays: Array) -> Array:
                runner, result = self._route_of_varying(quantity, FLOAT64).runner(), np.empty(count)
                over_arrays(runner, [result, *arrays, *numbers.values()])
                return result

            exact = computed("slope" if grads else self.quantity, x)
            if grads:
                operands = x, grads[0], exact, computed("backward", x, grads[0]), numbers
                result = tables.backward_at(self.entry, self.storage, *operands)
            else:
                result = tables.rounded_at(
                    self.entry, self.quantity, self.storage, x, exact, numbers
                )
            out[...] = result.astype(out.dtype)

    def _operands(self, args: Any, steps: Any, count: int) -> tuple[list[Array], ...]:
        """Return the inputs, parameters and results of a call as arrays."""
        dtypes = [dtype_of(self.storage), np.dtype(np.float64), dtype_of(self.storage)]
        parts, start = [], 0
        for dtype, length in zip(dtypes, (self.inputs, len(self.names), self.results), strict=True):
            places = range(start, start + length)
            parts.append([_elements(args[i], steps[i], count, dtype) for i in places])
            start += length
        return tuple(parts)


_loops: WeakValueDictionary[int, Loop] = WeakValueDictionary()
_raised: deque[type[BaseException]] = deque(maxlen=1000)


class _Memory:
    """Elements at an address, as NumPy reads them."""

    def __init__(self, address: int, step: int, count: int, item: int) -> None:
        self.__array_interface__ = {
            "data": (address, False), "shape": (count,), "strides": (step,),
            "typestr": f"|V{item}", "version": 3,
        }  # fmt: skip


def _elements(address: int, step: int, count: int, dtype: np.dtype[Any]) -> Array:
    return np.asarray(_Memory(address, step, count, dtype.itemsize)).view(dtype)


def _serve(reason: int, data: int, args: int, steps: int, count: int, place: int) -> None:
    """Write the answer to an inner loop, as `lower/native.c` describes."""
    answer = ctypes.c_int64.from_address(place)
    try:
        from softgate.lower.native import DONE, SHARE, VARYING

        words = ctypes.cast(args, ctypes.POINTER(ctypes.c_int64))
        loop, record = _loops[data], None
        if reason == SHARE:
            _share(loop, words, count)
        else:
            strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
            record = (loop.varying if reason == VARYING else loop.uniform)(words, strides, count)
        loop.failure = KeyboardInterrupt
        answer.value = DONE if record is None else record
    except BaseException as error:
        _loops[data].failure = kind = _class_of(error)
        answer.value = -id(kind)


def _class_of(error: BaseException) -> type[BaseException]:
    """Return a class whose instances, made without arguments, are like `error`."""
    kind = type(error)
    if error.args:
        original, arguments, name = kind, error.args, kind.__name__
        space = {
            "__init__": lambda self, *_: original.__init__(self, *arguments),
            "__module__": kind.__module__,
        }
        kind = type(name, (original,), space)
    _raised.append(kind)
    return kind


def over_arrays(runner: Runner, arrays: Sequence[Array]) -> None:
    """Run a kernel over dense arrays of one size, results first."""
    addresses = [x.ctypes.data for x in arrays]
    count, item = arrays[0].size, arrays[0].itemsize
    threads = 1 if count < SERIAL else POOL.plan(count, item * len(arrays))
    if threads == 1:
        runner.run(*addresses, runner.address, count)
    else:
        share(POOL.start, threads, runner.kernel, count, item, addresses)


def _share(loop: Loop, words: Any, count: int) -> None:
    """Divide dense operands among threads, results first and varying parameters last.

    One thread computes all in order if a result overlaps the start of an input, as NumPy allows.
    """
    code, constants, operands = words[0:3]
    kernel, addresses, item = (code, constants), words[3 : 3 + operands], loop.storage.itemsize
    varying = operands - loop.results - loop.inputs
    sizes = [item] * (operands - varying) + [8] * varying
    inputs = list(zip(addresses, sizes, strict=True))[loop.results :]
    overlapping = any(
        x < out + count * item and out < x + count * size and (x, size) != (out, item)
        for out in addresses[: loop.results]
        for x, size in inputs
    )
    plan = _one_thread if overlapping else POOL.plan
    if not varying:
        share(POOL.start, plan(count, item * operands), kernel, count, item, addresses)
        return
    rest = count % ROW
    for start, rows, columns in ((0, count // ROW, ROW), (count - rest, 1, rest)):
        distances = [columns * size // item for size in sizes]
        places = [x + start * size for x, size in zip(addresses, sizes, strict=True)]
        run_rows(POOL.start, plan, kernel, (rows, columns), item, distances, places)


ROW = 4096
"""Elements of the parts that are divided among threads where operands have several sizes."""


def _one_thread(_count: int, _item: int) -> int:
    return 1


SERVE = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 6)(_serve)


@cache
def _inner_loop(inputs: int, results: int, parameters: int) -> Callable[..., None]:
    from softgate.lower.native import InnerLoop, compile_ufunc_loop

    serve = ctypes.cast(SERVE, ctypes.c_void_p).value or 0
    return compile_ufunc_loop(InnerLoop(inputs, results, parameters), serve)


def name_of(
    function: str, quantity: str, arithmetic: str | None, result: int | None, parameters: bool
) -> str:
    """Return the name of a ufunc."""
    parts = [function] if quantity == "value" else [function, quantity]
    parts += [part for part in (arithmetic, None if result is None else str(result)) if part]
    return "_".join([*parts, "of_parameters"] if parameters else parts)


def make(
    entry: Entry,
    quantity: str,
    arithmetic: str | None,
    result: int | None,
    parameters: bool,
    name: str,
    documentation: str,
) -> np.ufunc:
    """Return a ufunc of the operands of a function; its kernels live as it does.

    With `result`, of one result among several. With `parameters`, these are operands too.
    """
    from_functions, register = _numpy()
    builtin = [fmt for fmt in FORMATS.values() if dtype_of(fmt).isbuiltin == 1]
    if len(entry.inputs(quantity)) == 1 and not parameters:
        builtin.reverse()  # NumPy takes the first into which integers fit
    others = [fmt for fmt in FORMATS.values() if fmt not in builtin]
    others += BYTE_FORMATS.values() if entry.nin == 1 else ()
    first, rest = (
        [Loop(fmt, entry, quantity, arithmetic, result, parameters) for fmt in formats]
        for formats in (builtin, others)
    )
    pointers = ctypes.c_void_p * len(first)
    functions, data = pointers(*(x.code for x in first)), pointers(*(x.address for x in first))
    codes = bytes(number for loop in first for number in loop.types)
    types = ctypes.create_string_buffer(codes, len(codes))
    texts = name.encode(), documentation.encode()
    ufunc: np.ufunc = from_functions(
        ctypes.addressof(functions), ctypes.addressof(data), ctypes.addressof(types), len(first),
        first[0].inputs + len(first[0].names), first[0].results, -1, *texts, 0,
    )  # fmt: skip
    fields = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (fields.nargs, fields.functions) != (ufunc.nargs, ctypes.addressof(functions)):
        raise ImportError(
            f"NumPy {np.__version__} has ufuncs of an unknown layout: install numpy>=2,<3"
        )
    for loop in rest:
        numbers = (ctypes.c_int * ufunc.nargs)(*loop.types)  # NumPy copies them
        arguments = loop.code, ctypes.addressof(numbers), loop.address
        if register(ufunc, dtype_of(loop.storage).num, *arguments):
            raise RuntimeError(f"NumPy did not register a loop for {loop.storage.name}")
    key = entry, quantity, arithmetic, result, parameters
    owned = _Owned(key, (first, rest, functions, data, types, texts))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))
    fields.obj = id(owned)  # freed with the ufunc
    return ufunc


def arguments_of(ufunc: np.ufunc) -> tuple[Any, ...] | None:
    """Return the arguments with which `make` made a ufunc; None for one of another library."""
    if not _loops:  # the layout of a ufunc has not been checked
        return None
    address = _Ufunc.from_address(id(ufunc) + object.__basicsize__).obj
    owned = ctypes.cast(address, ctypes.py_object).value if address else None
    return owned.arguments if isinstance(owned, _Owned) else None
