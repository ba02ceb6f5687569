"""Compiled functions that call functions of a C library by their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from .target import BYTE, INDEX, POINTER

Symbols = Mapping[str, int]
"""Addresses of C functions by name."""


def address_of(function: Any) -> int:
    """Return the address of a function of a C library, or of a compiled one."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


class FunctionBuilder:
    """A function under construction that calls C functions by their addresses."""

    def __init__(self, symbols: Symbols, result: ir.Type, pointers: int, counts: int = 0) -> None:
        self.symbols, self.module = symbols, ir.Module("softgate")
        kind = ir.FunctionType(result, [POINTER] * pointers + [INDEX] * counts)
        function = ir.Function(self.module, kind, "kernel")
        entry = function.append_basic_block("entry")
        body = function.append_basic_block("body")
        self._entry = ir.IRBuilder(entry)
        self._entry.branch(body)
        self._entry.position_at_start(entry)
        self.builder = ir.IRBuilder(body)
        self.arguments = list(function.args)

    def call(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Emit a call of a C function."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        address = INDEX(self.symbols[name])
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), arguments)

    def slot(self, kind: ir.Type, count: int = 1) -> ir.Value:
        """Return memory on the stack, allocated once at the start of the function."""
        return self._entry.alloca(kind, size=count)

    def text(self, text: str) -> ir.Value:
        """Return the address of a string constant."""
        data = bytearray(text.encode() + b"\0")
        constant = ir.Constant(ir.ArrayType(BYTE, len(data)), data)
        name = f"text{len(self.module.globals)}"
        place = ir.GlobalVariable(self.module, constant.type, name)
        place.initializer, place.linkage = constant, "internal"
        return place

    def place(self, base: ir.Value, index: ir.Value) -> ir.Value:
        """Return the address of a 64-bit word, an integer or a pointer."""
        return self.builder.gep(base, [self.builder.mul(index, INDEX(8))], source_etype=BYTE)

    def word(self, base: ir.Value, index: int) -> ir.Value:
        """Return a 64-bit word of memory."""
        return self.builder.load(self.place(base, INDEX(index)), typ=INDEX)
