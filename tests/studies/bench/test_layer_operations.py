"""Floating-point operations of kernels, counted twice: from graphs, and in what LLVM is given."""

from __future__ import annotations

import re

import pytest

import softgate as sg
from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Graph, Node, walk
from softgate.lower.llvm import build
from softgate.runtime import kernels
from softgate.runtime.registry import activations, gated
from softgate.studies.bench.flops import count, kernel_operations, linear_flops

ONCE = ("add", "sub", "mul", "div", "sqrt", "lt", "le", "eq")


def function(name):
    return (activations() | gated())[name]


def independent_count(specification):
    """Operations in the code that LLVM is given, less what the compiler folds."""
    text = str(build(kernels.loop(specification)))
    once = len(re.findall(r"= (?:fadd|fsub|fmul|fdiv|fcmp)\b|call \w+ @\"?llvm\.sqrt", text))
    fused = len(re.findall(r"call \w+ @\"?llvm\.fma", text))
    constant: set[Node] = set()
    folded = 0
    for node in walk(*kernels.traced(specification)):
        if node.op != "input" and constant.issuperset(node.args):
            constant.add(node)
            folded += {"fma": 2}.get(node.op, node.op in ONCE)
        elif node.op == "fma" and str(node.args[2]) in ("0", "neg(0)"):
            folded += 1
    return once + 2 * fused - folded


@pytest.mark.parametrize("name", [*activations(), *gated()])
def test_operations_are_those_of_the_compiled_code(name):
    for quantity in ("value", "backward"):
        specification = kernels.Specification(function(name).entry, quantity, FLOAT32, FLOAT32)
        counted = count(*kernels.traced(specification))
        assert counted.flops == independent_count(specification)


def test_operations_of_one_formula_by_hand():
    graph = Graph()
    x, unit_node = graph.input("x"), graph.const(1)
    shared = graph.node("fma", x, x, unit_node)
    folded = graph.node("fma", unit_node, unit_node, unit_node)
    product = graph.node("fma", shared, folded, graph.const(0))
    result = count(graph.node("where", x < 0, product, shared / product))
    assert (result.flops, result.moves) == (2 + 1 + 1 + 1, 1)
    with pytest.raises(ValueError, match="Phi is not an operation of a kernel"):
        count(graph.node("Phi", x))


def test_tables_have_no_operations():
    assert kernel_operations(sg.gelu.entry, "value", "bfloat16", {}) is None
    assert kernel_operations(sg.relu.entry, "value", "bfloat16", {}).flops == 1
    assert linear_flops(3, [(5, 7), (7, 5)]) == 2 * 3 * 5 * 7 * 2
