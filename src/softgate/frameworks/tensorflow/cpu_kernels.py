"""softgate's kernels on the CPU: as an op of TensorFlow, or over the memory of eager tensors.

There is an op with one result, and of functions of two operands one with two for first derivatives
and one with three for second ones, registered through TensorFlow's C API. Eagerly they are called;
their gradients are registered. A graph never contains them, because XLA cannot compile them and a
file with them could not be loaded elsewhere. A graph calls a function in operators of TensorFlow,
and a second function with the op implements the same interface on CPUs: Grappler's implementation
selector replaces the first by the second when the runtime prepares a graph for a CPU. Everything
else processes the operators: XLA, SavedModel, TFLite, vectorized_map, tf.data, other devices.

Kernels that TensorFlow may call are never freed: when it drops them from its caches cannot be
observed.

Without the op, kernels run over a tensor's memory without copies: a tensor exposes it as an array,
and TensorFlow imports an array's memory through DLPack, which requires an alignment that NumPy does
not guarantee.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np
import tensorflow as tf

from softgate.formula.formats import BYTE_FORMATS, dtype_of
from softgate.lower import native
from softgate.lower.target import Symbols, address_of
from softgate.runtime import kernels
from softgate.runtime.arrays import Array
from softgate.runtime.registry import functions
from softgate.runtime.routes import Route, Runner
from softgate.runtime.threads import MIN_CHUNK_BYTES, available, chunk_loop
from softgate.runtime.ufunc import over_arrays

from ..capability import Changed, capability
from . import private

DTYPES: dict[Any, np.dtype[Any]] = {
    tf.float16: np.dtype(np.float16),
    tf.bfloat16: np.dtype(ml_dtypes.bfloat16),
    tf.float32: np.dtype(np.float32),
    tf.float64: np.dtype(np.float64),
    **{
        getattr(tf.dtypes.experimental, name): dtype_of(fmt)
        for name, fmt in BYTE_FORMATS.items()
        if hasattr(tf.dtypes.experimental, name)
    },
}
ACCEPTED = "float16, bfloat16, float32 or float64; float8 and float4 in eager mode on the CPU"
ALIGNMENT = 64

OPS = ("Softgate>Evaluate", "Softgate>EvaluatePair", "Softgate>EvaluateTriple")
"""The ops with one result, two and three."""
INTERFACE, DEVICE = "api_implements", "api_preferred_device"
"""Attributes of functions that Grappler's implementation selector reads."""
ENUMS = {
    dtype: dtype.as_datatype_enum for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64)
}

MOST_EAGER = 512
"""Kernels called eagerly at most, since TensorFlow never frees the function of a set of
parameters; further ones run over the tensor's memory."""

PROCESS = int.from_bytes(os.urandom(7), "little")
"""Identifies this process, whose addresses nodes hold, and its children."""

Gradient = Callable[..., Sequence[Any]]


class OpKernel(NamedTuple):
    """A kernel that nodes refer to by its address."""

    words: ctypes.Array[ctypes.c_int64]
    runner: Runner
    gradient: Gradient
    """Returns the gradients of the operands from those and the gradients of the results."""
    op: str

    @property
    def address(self) -> int:
        """The attribute `kernel` of a node."""
        return ctypes.addressof(self.words)


_kernels: dict[int, OpKernel] = {}
_eager: set[int] = set()
_functions: WeakKeyDictionary[Any, set[GraphFunction]] = WeakKeyDictionary()
"""The functions that each graph calls: TensorFlow frees those that Python does not refer to."""
_interfaces = itertools.count()


def unavailable(in_graphs: bool) -> str | None:
    """Return why no op runs kernels, or why graphs have none; None if they run."""
    if platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"):
        return f"the op is not implemented for {platform.machine()}"
    devices = tf.config.list_logical_devices()
    others = sorted({device.device_type for device in devices} - {"CPU"})
    if others:
        return f"a {others[0]} is visible"
    if len({device.name.rpartition("/device:")[0] for device in devices}) > 1:
        return "other processes run parts of graphs"
    if not tf.compat.v1.executing_eagerly_outside_functions():
        return "eager execution is disabled"
    options = tf.config.optimizer.get_experimental_options()
    if options.get("disable_meta_optimizer") or not options.get("implementation_selector", True):
        return "tf.config.optimizer disables the implementation selector"
    with kernels.BUILDING:
        return kernel_op.reason or (in_graphs and kernels_in_graphs.reason) or None


def threads(moved: int | None) -> int:
    """Return how many threads compute results with `moved` bytes read and written."""
    size = 1 + _workers()
    return size if moved is None else max(1, min(size, moved // MIN_CHUNK_BYTES))


def kernel_of(route: Route, dtype: Any, gradient: Gradient) -> OpKernel:
    """Return the kernel of a route for tensors of a dtype."""
    runner = route.runner()
    chunks = address_of(chunk_loop(len(route.inputs) + route.results))
    sizes = (len(route.inputs), route.results, dtype.size, ENUMS[dtype])
    words = (runner.code, runner.address, chunks, *sizes)
    op = OPS[route.results - 1]
    kernel = OpKernel((ctypes.c_int64 * len(words))(*words), runner, gradient, op)
    _kernels[kernel.address] = kernel
    return kernel


def may_run_eagerly(kernel: OpKernel | None) -> bool:
    """Return whether a kernel, or a new one, is called as an op eagerly; see `MOST_EAGER`."""
    if private.eager_op.get() is None:
        return False
    return len(_eager) < MOST_EAGER or (kernel is not None and kernel.address in _eager)


def evaluate(kernel: OpKernel, *operands: Any) -> Any:
    """Return the result, or results, of a kernel at eager CPU tensors of one shape.

    They are differentiable.
    """
    _eager.add(kernel.address)
    call = private.eager_op.get()
    assert call is not None  # `may_run_eagerly`
    return call(kernel.op, list(operands), "kernel", kernel.address, "process", PROCESS)


class GraphFunction:
    """A function in operators that graphs call, traced once.

    A kernel replaces the operators where a CPU runs the graph.
    """

    def __init__(
        self,
        name: str,
        operators: Callable[..., Any],
        operands: Sequence[Any],
        kernel: OpKernel | None = None,
    ) -> None:
        def portable(*operands: Any) -> Any:
            return operators(*operands)

        portable.__name__ = name
        attributes = {}
        if kernel is not None:
            attributes[INTERFACE] = f"softgate_{PROCESS:x}_{next(_interfaces)}"
        spec = [tf.TensorSpec(None, x.dtype) for x in operands]
        with tf.init_scope(), tf.device(None):
            self._portable = _traced(portable, spec, attributes)
            if kernel is not None:
                self._native = _traced(_op(kernel), spec, attributes | {DEVICE: "CPU"})

    def __call__(self, *operands: Any) -> Any:
        """Return the results as tensors of the graph that is being built."""
        dtypes = [result.dtype for result in self._portable.outputs]
        results = tf.raw_ops.PartitionedCall(args=operands, Tout=dtypes, f=self._portable)
        for result in results:
            result.set_shape(operands[0].shape)
        _functions.setdefault(tf.compat.v1.get_default_graph(), set()).add(self)
        return tuple(results)


def _traced(function: Callable[..., Any], spec: Sequence[Any], attributes: dict[str, str]) -> Any:
    options: dict[str, Any] = {"experimental_attributes": attributes} if attributes else {}
    return tf.function(function, autograph=False, **options).get_concrete_function(*spec)


def _op(kernel: OpKernel) -> Callable[..., Any]:
    def nodes(*operands: Any) -> Any:
        dtype, value = operands[0].dtype, tf.compat.v1.AttrValue
        attributes = {
            "T": value(type=dtype.as_datatype_enum),
            "N": value(i=len(operands)),
            "kernel": value(i=kernel.address),
            "process": value(i=PROCESS),
        }
        results = [dtype] * (OPS.index(kernel.op) + 1)
        graph = tf.compat.v1.get_default_graph()
        return graph.create_op(kernel.op, operands, results, attrs=attributes).outputs

    return nodes


@capability(
    "tensorflow",
    "tensorflow.sysconfig.get_lib",
    cost="graphs run TensorFlow's operators, and kernels run over the memory of eager tensors",
    otherwise=None,
)
def kernel_op(folder: Callable[[], str]) -> None:
    """Register the ops."""
    _register(folder())


@capability(
    "tensorflow",
    "tensorflow.function",
    cost="graphs run TensorFlow's operators",
    otherwise=None,
)
def kernels_in_graphs(_: Any) -> None:
    """Compare what Grappler selects with kernels at `PROBE`, once for each op."""
    if kernel_op.reason:
        raise Changed("there is no op that runs kernels")
    for name, quantity in (("silu", "value"), ("swiglu", "backward")):
        _compare(functions()[name].route(quantity, np.dtype(np.float32)), f"{name} ({quantity})")


PROBE = np.array(
    [
        -np.inf, -3e38, -104, -88, -20, -1.5, -1e-40, -0.0,
        0, 1e-45, 1e-38, 0.3, 17, 90, np.inf, np.nan,
    ],
    np.float32,
)  # fmt: skip
"""Where TensorFlow could differ from a kernel: it flushes subnormal operands and results."""


def _compare(route: Route, name: str) -> None:
    """Raise if a graph that a CPU runs does not return a kernel's bits."""
    inputs = [np.roll(PROBE, 5 * i) for i in range(len(route.inputs))]
    kernel = kernel_of(route, tf.float32, lambda *_: ())
    wanted = [np.empty_like(PROBE) for _ in range(route.results)]
    over_arrays(route.runner(), (*wanted, *inputs))
    with tf.init_scope(), tf.device(None):
        operands = tuple(map(tf.constant, inputs))
        graph = GraphFunction("probe", lambda x, *_: (-x,) * route.results, operands, kernel)
        call = tf.function(graph, autograph=False).get_concrete_function(*operands)
        results = [y.numpy() for y in call(*operands)]
    for y, exact in zip(results, wanted, strict=True):
        differs = y.view(np.uint32) != exact.view(np.uint32)
        if differs.any():
            i = int(np.argmax(differs))
            text = f"{name} of {', '.join(str(x[i]) for x in inputs)}"
            raise Changed(f"in a graph {text} is {y[i]}, and the kernel's {exact[i]}")


def _register(folder: str) -> None:
    libraries = sorted(Path(folder).glob("libtensorflow_framework*"))
    if not libraries:
        raise Changed("there is no library with the C API")
    library = _Library(ctypes.CDLL(str(libraries[0])))
    symbols = {name: address_of(library.functions[name]) for name in native.called("TF_")}
    pool = _pool()
    if pool is not None:
        process = ctypes.CDLL(None)
        symbols |= {name: address_of(getattr(process, name)) for name in native.THREAD_FUNCTIONS}
    callbacks = native.compile_callbacks(symbols, PROCESS, pool)
    _callbacks.extend(callbacks)
    create, compute, *shapes = map(address_of, callbacks)
    for op, results, shape in zip(OPS, ("y", "yz", "yzw"), shapes, strict=True):
        if not _is_defined(op):
            library.define(op, results, shape)
        library.implement(op, create, compute)
        with suppress(KeyError):  # registered before an interrupt
            tf.RegisterGradient(op)(_gradient)
    if pool is not None:
        _start_workers(pool, symbols)


def _is_defined(op: str) -> bool:
    """Return whether an op is registered: TensorFlow ends the process if it is registered again."""
    try:
        tf.Graph().create_op(op, [], [])
    except RuntimeError as error:
        return "not registered" not in str(error)
    except ValueError:  # without operands
        pass
    return True


_serving: list[threading.Thread] = []
"""The threads beside the caller's, one for each slot."""
_callbacks: list[Any] = []
"""Compiled functions that TensorFlow and threads call."""


def _gradient(op: Any, *grads: Any) -> Sequence[Any]:
    return _kernels[op.get_attr("kernel")].gradient(*op.inputs, *grads)


class _Library:
    """TensorFlow's C API."""

    def __init__(self, functions: ctypes.CDLL) -> None:
        self.functions = functions

    def _call(self, name: str, *arguments: Any, returns: Any = None) -> Any:
        function = self.functions[name]
        function.restype = returns
        pointers = (ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments)
        return function(*pointers)

    def define(self, op: str, results: Sequence[str], shape: int) -> None:
        """Register an op."""
        pointer = ctypes.c_void_p
        status = self._call("TF_NewStatus", returns=pointer)
        builder = self._call("TF_NewOpDefinitionBuilder", op.encode(), returns=pointer)
        for attribute in (
            b"T: {half, bfloat16, float, double}",
            b"N: int >= 1",
            b"kernel: int",
            b"process: int",
        ):
            self._call("TF_OpDefinitionBuilderAddAttr", builder, attribute)
        self._call("TF_OpDefinitionBuilderAddInput", builder, b"x: N * T")
        for result in results:
            self._call("TF_OpDefinitionBuilderAddOutput", builder, f"{result}: T".encode())
        self._call("TF_OpDefinitionBuilderSetShapeInferenceFunction", builder, shape)
        self._call("TF_RegisterOpDefinition", builder, status)
        self._check(op, status)

    def implement(self, op: str, create: int, compute: int) -> None:
        """Register an op's kernel for CPUs, once: its status tells whether that was done."""
        pointer, name = ctypes.c_void_p, op.encode()
        if op not in _statuses:
            status = self._call("TF_NewStatus", returns=pointer)
            self._call("TF_SetStatus", status, ctypes.c_int(UNKNOWN), b"not registered")
            _statuses[op] = status
        if self._call("TF_GetCode", _statuses[op], returns=ctypes.c_int) == UNKNOWN:
            functions = (create, compute, 0)
            kernel = self._call("TF_NewKernelBuilder", name, b"CPU", *functions, returns=pointer)
            self._call("TF_RegisterKernelBuilder", name, kernel, _statuses[op])
        self._check(op, _statuses[op])

    def _check(self, op: str, status: int) -> None:
        """Raise if a call failed."""
        if self._call("TF_GetCode", status, returns=ctypes.c_int):
            message = self._call("TF_Message", status, returns=ctypes.c_char_p).decode()
            raise Changed(f"{op} is not registered: {message}")


UNKNOWN = 2
"""A status of TensorFlow."""
_statuses: dict[str, int] = {}
"""The status of the registration of each op's kernel: an interrupt may be before or after it."""


@cache
def _workers() -> int:
    """Return the number of threads besides the caller: as many as TensorFlow's own."""
    if sys.platform != "linux":  # elsewhere semaphores have other names
        return 0
    return (tf.config.threading.get_intra_op_parallelism_threads() or available()) - 1


@cache
def _pool() -> native.WorkerMemory | None:
    """Return the memory that callers and threads share; None if there is one thread."""
    workers = _workers()
    if workers < 1:
        return None
    memory = (ctypes.c_char * ((workers + 2) * native.SLOT))()
    _callbacks.append(memory)
    start = ctypes.addressof(memory)
    return native.WorkerMemory(start + -start % native.LINE, MIN_CHUNK_BYTES)


def _start_workers(pool: native.WorkerMemory, symbols: Symbols) -> None:
    serve = native.compile_serve(symbols)
    _callbacks.append(serve)
    process = ctypes.CDLL(None)
    for i in range(len(_serving), _workers()):
        slot = pool.address + (i + 1) * native.SLOT
        process.sem_init(ctypes.c_void_p(slot + native.LINE), 0, 0)
        name = "softgate-tensorflow"
        # Appended first, for an interrupt here: two threads never share a slot.
        _serving.append(threading.Thread(target=serve, args=(slot,), name=name, daemon=True))
        _serving[-1].start()
    count = ctypes.c_int64.from_address(pool.address)
    count.value = _workers()
    # A forked child has no threads.
    os.register_at_fork(after_in_child=lambda: setattr(count, "value", 0))


def on_cpu(x: Any) -> bool:
    """Return whether a tensor is eager and in the CPU's memory."""
    return not tf.is_symbolic_tensor(x) and tf.executing_eagerly() and "CPU" in x.device


def array_of(x: Any) -> Array:
    """Return the memory of an eager CPU tensor as an array, not to be written to."""
    return np.asarray(x.__array__())


def run_over_memory(runner: Runner, results: int, *inputs: Any) -> tuple[Any, ...]:
    """Return new tensors with a kernel's results for tensors of one shape and dtype."""
    arrays = [array_of(x) for x in inputs]
    outs = [aligned_like(arrays[0]) for _ in range(results)]
    over_arrays(runner, (*outs, *arrays))
    return tuple(map(tensor_of, outs))


def aligned_like(x: Array) -> Array:
    """Return new memory in C order with the alignment that TensorFlow requires."""
    raw = np.empty(x.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    out: Array = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    return out


def tensor_of(x: Array) -> Any:
    """Return the memory of an aligned array as a tensor; the array must not be written to again."""
    if x.itemsize == 1:  # neither DLPack nor bitcast has float8
        return tf.constant(x)
    if not x.size:
        return tf.zeros(x.shape, tf.dtypes.as_dtype(x.dtype))
    if x.dtype == DTYPES[tf.bfloat16]:  # NumPy cannot export bfloat16
        words = tf.experimental.dlpack.from_dlpack(x.view(np.uint16).__dlpack__())
        return tf.bitcast(words, tf.bfloat16)
    return tf.experimental.dlpack.from_dlpack(x.__dlpack__())
