"""Tables and sentences of two articles on GELU, as printed there: what the report checks.

The first, "GELU Activation Function", has three tables and the output of a program, all at the same
six points. The second, "GELU Activation Function: Formula, Intuition, and Use in Deep Learning",
sums up five activations; its own summary is a picture, so what is said in words is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

POINTS = (-3.0, -1.0, 0.0, 0.5, 1.0, 3.0)
SUMMED_UP = ("sigmoid", "tanh", "relu", "leaky_relu", "gelu")
"""The activations that the second article compares."""


@dataclass(frozen=True)
class Column:
    """What a column is called, what it is of, and what is printed at each of the points."""

    head: str
    function: str
    quantity: str
    printed: tuple[str, ...]


Z_GELU = ("-0.0040", "-0.1587", "0.0000", "0.3457", "0.8413", "2.9960")
Z_TANH = ("-0.0040", "-0.1588", "0.0000", "0.3457", "0.8412", "2.9960")
Z_SLOPE = ("0.0040", "0.0833", "0.5000", "0.8832", "1.0833", "1.0040")
Z_PHI = ("0.0013", "0.1587", "0.5000", "0.6915", "0.8413", "0.9987")
Z_ELU = ("-0.9502", "-0.6321", "0.0000", "0.5000", "1.0000", "3.0000")
Z_RELU = ("0", "0", "0", "0.5", "1", "3")

TABLES: tuple[tuple[str, tuple[Column, ...]], ...] = (
    (
        "The gate, GELU and its tanh form",
        (
            Column("Φ(z)", "Phi", "value", Z_PHI),
            Column("GELU", "gelu", "value", Z_GELU),
            Column("tanh form", "gelu_tanh", "value", Z_TANH),
        ),
    ),
    (
        "GELU and ReLU with their slopes",
        (
            Column("GELU", "gelu", "value", Z_GELU),
            Column("tanh form", "gelu_tanh", "value", Z_TANH),
            Column("GELU′", "gelu", "slope", Z_SLOPE),
            Column("ReLU", "relu", "value", Z_RELU),
            Column("ReLU′", "relu", "slope", ("0", "0", "0", "1", "1", "1")),
        ),
    ),
    (
        "ReLU, ELU and GELU",
        (
            Column("ReLU", "relu", "value", Z_RELU),
            Column("ELU (α = 1)", "elu", "value", Z_ELU),
            Column("GELU", "gelu", "value", Z_GELU),
        ),
    ),
    (
        "What the program there is said to print",
        (
            Column("GELU_exact", "gelu", "value", Z_GELU),
            Column("GELU_approx", "gelu_tanh", "value", Z_TANH),
            Column("GELU_grad", "gelu", "slope", Z_SLOPE),
        ),
    ),
)
"""Titles of the first article's tables, and their columns."""
