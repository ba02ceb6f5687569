"""The kernels of torch operators for small tensors, compiled against libtorch's stable C ABI.

An operator takes one or two tensors and the address of a table of loops by dtype. Its kernel
allocates the result and runs the loop, without Python. Where that is not enough, the result is an
undefined tensor, which is None in Python: the caller then takes another path. `compile_decline`
returns a kernel that always does so, for the dispatch keys of modes, tracers and transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llvmlite import ir

from .target import INDEX, POINTER, WORD, FunctionBuilder, Symbols, compile_module

VOID = ir.VoidType()
FUNCTIONS = (
    "aoti_torch_delete_tensor_object",
    "aoti_torch_empty_strided",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_dtype",
    "aoti_torch_get_numel",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_is_contiguous",
    "aoti_torch_new_uninitialized_tensor",
)
"""The functions of libtorch that the kernels call. Each returns an error code and writes its result
to its last argument."""

MOST_DTYPES = 64
"""torch numbers its dtypes from 0; a table has a loop and its constants for each number below."""
CPU, NO_INDEX = 0, -1


def compile_small(symbols: Symbols, inputs: int, limit: int) -> Callable[..., None]:
    """Compile kernel(stack, ...) for contiguous tensors with fewer than `limit` elements.

    All have one dtype, for which the table has a loop, and one number of elements.
    """
    code = FunctionBuilder(symbols, VOID, 1, counts=2)
    b, stack = code.builder, code.arguments[0]
    tensors, table = _operands(code, stack, inputs)
    count, dtype = _read(code, "numel", tensors[0]), _read(code, "dtype", tensors[0])
    sources = [_read(code, "data_ptr", tensor) for tensor in tensors]
    conditions = [b.icmp_unsigned("<", count, INDEX(limit))]
    conditions.append(b.icmp_unsigned("<", dtype, INDEX(MOST_DTYPES)))
    for tensor, source in zip(tensors, sources, strict=True):
        contiguous = _result(code, "aoti_torch_is_contiguous", tensor)
        conditions += [b.icmp_unsigned("!=", word, INDEX(0)) for word in (contiguous, source)]
        for field, expected in (("numel", count), ("dtype", dtype)):
            if tensor is not tensors[0]:
                conditions.append(b.icmp_unsigned("==", _read(code, field, tensor), expected))
    suitable = conditions[0]
    for condition in conditions[1:]:
        suitable = b.and_(suitable, condition)
    with b.if_then(suitable):
        entry = code.place(table, b.mul(dtype, INDEX(2)))
        loop, constants = code.word(entry, 0), code.word(entry, 1)
        with b.if_then(b.icmp_unsigned("!=", loop, INDEX(0))):
            layout = [_read(code, field, tensors[0]) for field in ("dim", "sizes", "strides")]
            layout[1:] = [b.inttoptr(address, POINTER) for address in layout[1:]]
            kind = (b.trunc(dtype, WORD), WORD(CPU), WORD(NO_INDEX))
            result = _result(code, "aoti_torch_empty_strided", *layout, *kind)
            with b.if_then(b.icmp_unsigned("!=", result, INDEX(0))):
                target = _read(code, "data_ptr", b.inttoptr(result, POINTER))
                places = [b.inttoptr(word, POINTER) for word in (target, *sources, constants)]
                signature = ir.FunctionType(VOID, [POINTER] * len(places) + [INDEX])
                b.call(b.inttoptr(loop, signature.as_pointer()), [*places, count])
                _return(code, stack, tensors, result)
    _return(code, stack, tensors, _result(code, "aoti_torch_new_uninitialized_tensor"))
    return compile_module(code.module, pointers=1, counts=2)


def compile_decline(symbols: Symbols, inputs: int) -> Callable[..., None]:
    """Compile kernel(stack, ...) that returns an undefined tensor."""
    code = FunctionBuilder(symbols, VOID, 1, counts=2)
    stack = code.arguments[0]
    tensors, _ = _operands(code, stack, inputs)
    _return(code, stack, tensors, _result(code, "aoti_torch_new_uninitialized_tensor"))
    return compile_module(code.module, pointers=1, counts=2)


def _operands(
    code: FunctionBuilder, stack: ir.Value, inputs: int
) -> tuple[list[ir.Value], ir.Value]:
    """Return the handles of the tensors on the stack, and the address of the table after them."""
    words = [code.builder.inttoptr(code.word(stack, i), POINTER) for i in range(inputs + 1)]
    return words[:-1], words[-1]


def _result(code: FunctionBuilder, name: str, *arguments: ir.Value) -> ir.Value:
    """Emit a call; return what it wrote as a 64-bit word, 0 if it failed."""
    slot = code.slot(INDEX)
    code.builder.store(INDEX(0), slot)
    code.call(name, WORD, *arguments, slot)
    return code.builder.load(slot, typ=INDEX)


def _read(code: FunctionBuilder, field: str, tensor: ir.Value) -> ir.Value:
    return _result(code, f"aoti_torch_get_{field}", tensor)


def _return(
    code: FunctionBuilder, stack: ir.Value, tensors: list[ir.Value], result: ir.Value
) -> None:
    """Emit the end of a kernel: release the operands, which it owns, and return one tensor."""
    for tensor in tensors:
        code.call("aoti_torch_delete_tensor_object", WORD, tensor)
    code.builder.store(result, code.place(stack, INDEX(0)))
    code.builder.ret_void()


def table(loops: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return the words of a table: the addresses of a loop and of its constants by dtype number."""
    words = [0] * (2 * MOST_DTYPES)
    for number, pair in loops.items():
        words[2 * number : 2 * number + 2] = pair
    return words
