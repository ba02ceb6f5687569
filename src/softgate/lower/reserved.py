"""What no function can be called in an emitted file: a language's own words, and a file's."""

from __future__ import annotations

import keyword

C = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while",
})  # fmt: skip
"""With a format behind it such a name would do in C, and mislead."""

JAVASCRIPT = frozenset({
    "Float64Array", "HIGH", "Infinity", "Int32Array", "LOW", "Math", "NaN", "Uint16Array",
    "Uint8Array", "add_exponent", "arguments", "await", "break", "case", "catch", "class",
    "const", "continue", "copysign", "debugger", "default", "delete", "do", "else", "enum",
    "eval", "exponent_field", "exponent_only", "export", "extends", "false", "finally", "fma",
    "fma_scaled", "for", "function", "if", "implements", "import", "in", "instanceof",
    "interface", "let", "new", "null", "number", "package", "private", "protected", "public",
    "return", "softgate", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "undefined", "var", "void", "while", "with", "words", "yield",
})  # fmt: skip

TRITON = frozenset({
    "BLOCK", "TypeError", "_split", "float", "once_differentiable", "staticmethod", "tl",
    "torch", "triton",
} | {*keyword.kwlist})  # fmt: skip

RESERVED = {"C": C, "JavaScript": JAVASCRIPT, "Triton": TRITON}
