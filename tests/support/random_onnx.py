"""Random ONNX models whose activations are known, and what scan and swap must say about them.

A model is a chain of blocks of [4, 16] values: layers, convolutions, heads behind means, weighted
channels, norms, gates, quantisation, branches, loops and recurrent layers. The same functions must
be found in the file, in what onnxruntime saves at each level of its optimiser, and after a swap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import softgate as sg

ROWS, WIDTH = 4, 16
MICROSOFT = "com.microsoft"
LEVELS = ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
CLAMPS = ("Relu", "Max", "Clip")
"""How the limit of a variance is written; it is no activation."""


class RandomModel:
    """A random model; `functions` are the activations that it computes."""

    def __init__(self, random: Random, blocks: int) -> None:
        self.random = random
        self.values = np.random.default_rng(random.getrandbits(32))
        self.functions: Counter[str] = Counter()
        self.limits = 0
        """Clamps of variances that are activation operators."""
        self.tensors: list[Any] = []
        self.nodes: list[Any] = []
        self.local: list[Any] = []
        self._count = 0
        x = "x"
        for _ in range(blocks):
            x = random.choice(BLOCKS)(self, x)
        self.add("MatMul", x, self.weights(WIDTH, WIDTH), out="y")

    def name(self, kind: str) -> str:
        self._count += 1
        return f"{kind.lower()}_{self._count}"

    def add(self, kind: str, *inputs: Any, out: str = "", domain: str = "", **more: Any) -> str:
        """Add a node, sometimes without a name; return its first output."""
        names = [self.number(i) if isinstance(i, float) else i for i in inputs]
        out = out or self.name(kind)
        label = f"/{out}" if self.random.random() < 0.7 else ""
        outputs = ["", out] if kind in ("LSTM", "GRU", "RNN") else [out]
        self.nodes.append(helper.make_node(kind, names, outputs, name=label, domain=domain, **more))
        return out

    def tensor(self, array: Any) -> str:
        name = self.name("c")
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self, value: float) -> str:
        if self.random.random() < 0.5:
            return self.tensor(np.float32(value))
        return self.add("Constant", value=helper.make_tensor("", 1, [], [value]))

    def weights(self, *shape: int) -> str:
        return self.tensor(self.values.normal(0, 0.4, shape).astype(np.float32))

    def layer(self, x: str) -> str:
        if self.random.random() < 0.5:
            return self.add("Gemm", x, self.weights(WIDTH, WIDTH), self.weights(WIDTH))
        h = self.add("MatMul", x, self.weights(WIDTH, WIDTH))
        return self.add("Add", h, self.weights(WIDTH)) if self.random.random() < 0.5 else h

    def activation(self, x: str, among: Sequence[str] | None = None) -> str:
        """Add an activation in one of its spellings, sometimes in a local function."""
        function = self.random.choice(among or list(SPELLINGS))
        self.functions[function] += 1
        spell = self.random.choice(SPELLINGS[function])
        if self.random.random() < 0.85:
            return spell(self, x)
        outer, self.nodes = self.nodes, []
        tensors, self.tensors = self.tensors, []
        out = spell(self, "a")
        body = [helper.make_node("Constant", [], [t.name], value=t) for t in self.tensors]
        body += self.nodes
        self.nodes, self.tensors = outer, tensors
        name = self.name("Act")
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        self.local.append(helper.make_function("local", name, ["a"], [out], body, opsets))
        return self.add(name, x, domain="local")

    @contextmanager
    def body(self) -> Iterator[list[Any]]:
        """Collect nodes for a graph inside a node."""
        outer, self.nodes = self.nodes, []
        inner = self.nodes
        yield inner
        self.nodes = outer

    def model(self) -> Any:
        shape = [ROWS, WIDTH]
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info("x", 1, shape)],
            [helper.make_tensor_value_info("y", 1, shape)],
            self.tensors,
        )  # fmt: skip
        opsets = [helper.make_opsetid(d, v) for d, v in (("", 20), (MICROSOFT, 1), ("local", 1))]
        return helper.make_model(graph, opset_imports=opsets, functions=self.local, ir_version=10)


Spelling = Callable[[RandomModel, str], str]


def operator(kind: str, domain: str = "", **attributes: Any) -> Spelling:
    return lambda m, x: m.add(kind, x, domain=domain, **attributes)


def erf_form(m: RandomModel, x: str) -> str:
    a = m.add("Add", m.add("Erf", m.add("Div", x, 2.0**0.5)), 1.0)
    if m.random.random() < 0.5:
        return m.add("Mul", m.add("Mul", x, a), 0.5)
    return m.add("Mul", m.add("Mul", x, 0.5), a)


def tanh_form(m: RandomModel, x: str) -> str:
    cube = m.add("Mul", m.add("Mul", x, x), x)
    inner = m.add("Mul", m.add("Add", x, m.add("Mul", cube, 0.044715)), (2 / np.pi) ** 0.5)
    return m.add("Mul", m.add("Mul", x, 0.5), m.add("Add", m.add("Tanh", inner), 1.0))


def silu_form(m: RandomModel, x: str) -> str:
    return m.add("Mul", x, m.add("Sigmoid", x))


def hard_swish_form(m: RandomModel, x: str) -> str:
    return m.add("Div", m.add("Mul", x, m.add("Clip", m.add("Add", x, 3.0), 0.0, 6.0)), 6.0)


def mish_form(m: RandomModel, x: str) -> str:
    return m.add("Mul", x, m.add("Tanh", m.add("Softplus", x)))


def leaky_form(m: RandomModel, x: str) -> str:
    return m.add("Where", m.add("Greater", x, 0.0), x, m.add("Mul", x, 0.1))


SPELLINGS: dict[str, list[Spelling]] = {
    "gelu": [erf_form, erf_form, operator("Gelu"), operator("Gelu", MICROSOFT)],
    "gelu_tanh": [tanh_form, operator("Gelu", approximate="tanh"), operator("FastGelu", MICROSOFT)],
    "gelu_sigmoid": [operator("QuickGelu", MICROSOFT, alpha=1.702)],
    "silu": [silu_form, silu_form, operator("QuickGelu", MICROSOFT, alpha=1.0)],
    "relu": [operator("Relu"), lambda m, x: m.add("Max", x, 0.0)],
    "relu6": [lambda m, x: m.add("Clip", x, 0.0, 6.0)],
    "tanh": [operator("Tanh")],
    "sigmoid": [operator("Sigmoid")],
    "hard_swish": [operator("HardSwish"), hard_swish_form],
    "hard_sigmoid": [operator("HardSigmoid", alpha=1 / 6, beta=0.5)],
    "leaky_relu(slope=0.1)": [operator("LeakyRelu", alpha=0.1), leaky_form],
    "elu": [operator("Elu")],
    "selu": [operator("Selu")],
    "softplus": [operator("Softplus")],
    "softsign": [operator("Softsign")],
    "mish": [operator("Mish"), mish_form],
}


def plain(m: RandomModel, x: str) -> str:
    return m.activation(m.layer(x))


def residual(m: RandomModel, x: str) -> str:
    return m.add("Add", x, m.layer(m.activation(m.layer(x))))


def gated(m: RandomModel, x: str) -> str:
    return m.add("Mul", m.activation(m.layer(x)), m.layer(x))


def two_of_one(m: RandomModel, x: str) -> str:
    h, names = m.layer(x), list(SPELLINGS)  # onnxruntime would join two equal ones
    first = m.activation(h, names[::2])
    return m.add("Add", m.layer(first), m.layer(m.activation(h, names[1::2])))


def convolution(m: RandomModel, x: str) -> str:
    image = m.add("Reshape", x, m.tensor(np.array([ROWS, WIDTH, 1, 1])))
    h = m.activation(m.add("Conv", image, m.weights(WIDTH, WIDTH, 1, 1), m.weights(WIDTH)))
    return m.add("Reshape", h, m.tensor(np.array([ROWS, WIDTH])))


def pooled(m: RandomModel, x: str) -> str:
    split = m.add("Reshape", x, m.tensor(np.array([ROWS, 4, 4])))
    h = m.add("ReduceMean", split, m.tensor(np.array([2])), keepdims=0)
    if m.random.random() < 0.3:
        h = m.activation(h)
    return m.activation(m.layer(m.add("MatMul", h, m.weights(4, WIDTH))))


def weighted(m: RandomModel, x: str) -> str:
    """Squeeze and excitation."""
    mean = m.add("ReduceMean", x, m.tensor(np.array([1])), keepdims=1)
    h = m.activation(m.add("MatMul", mean, m.weights(1, 8)))
    m.functions["sigmoid"] += 1
    return m.add("Mul", x, m.add("Sigmoid", m.add("MatMul", h, m.weights(8, WIDTH))))


def norm(m: RandomModel, x: str) -> str:
    axes = m.tensor(np.array([1]))
    apart = m.add("Sub", x, m.add("ReduceMean", x, axes))
    variance = m.add("ReduceMean", m.add("Mul", apart, apart), axes)
    clamp = m.random.choice(CLAMPS)
    m.limits += clamp != "Max"
    variance = m.add(clamp, variance, *([0.0] if clamp != "Relu" else []))
    if clamp == "Max":  # as jax2tf writes it
        variance = m.add("Expand", variance, m.add("Shape", x))
    return m.add("Div", apart, m.add("Sqrt", m.add("Add", variance, 1e-5)))


def quantised(m: RandomModel, x: str) -> str:
    def through(value: str) -> str:
        scale, zero = m.tensor(np.float32(0.03)), m.tensor(np.uint8(128))
        value = m.add("QuantizeLinear", value, scale, zero)
        return m.add("DequantizeLinear", value, scale, zero)

    return through(m.activation(through(m.layer(x))))


def branch(m: RandomModel, x: str) -> str:
    """Both branches may use the same names."""
    axes = m.tensor(np.array([0, 1]))
    condition = m.add("Greater", m.add("ReduceSum", x, axes, keepdims=0), 0.0)
    graphs, first = {}, m._count
    for side in ("then_branch", "else_branch"):
        m._count, last = (first, m._count) if m.random.random() < 0.5 else (m._count, m._count)
        known = len(m.tensors)
        with m.body() as nodes:
            out = m.activation(m.layer(x))
        result = [helper.make_tensor_value_info(out, 1, [ROWS, WIDTH])]
        graphs[side] = helper.make_graph(nodes, side, [], result, m.tensors[known:])
        del m.tensors[known:]
        m._count = max(m._count, last)
    return m.add("If", condition, **graphs)


def loop(m: RandomModel, x: str) -> str:
    state, out_k = m.name("state"), m.name("k")
    with m.body() as nodes:
        out = m.activation(m.layer(state))
        m.add("Identity", f"{out_k}_in", out=out_k)
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes, "body",
        [info(f"{out_k}_i", 7, []), info(f"{out_k}_in", 9, []), info(state, 1, [ROWS, WIDTH])],
        [info(out_k, 9, []), info(out, 1, [ROWS, WIDTH])],
    )  # fmt: skip
    return m.add("Loop", m.tensor(np.array(2)), "", x, body=body)


def scanned(m: RandomModel, x: str) -> str:
    row = m.name("row")
    with m.body() as nodes:
        out = m.activation(m.add("MatMul", row, m.weights(WIDTH, WIDTH)))
    info = helper.make_tensor_value_info
    body = helper.make_graph(nodes, "b", [info(row, 1, [WIDTH])], [info(out, 1, [WIDTH])])
    return m.add("Scan", x, num_scan_inputs=1, body=body)


def recurrent(m: RandomModel, x: str) -> str:
    kind, gates, functions = m.random.choice([
        ("LSTM", 4, {"sigmoid": 1, "tanh": 2}), ("GRU", 3, {"sigmoid": 1, "tanh": 1}),
        ("RNN", 1, {"tanh": 1}),
    ])  # fmt: skip
    m.functions.update(functions)
    sequence = m.add("Reshape", x, m.tensor(np.array([1, ROWS, WIDTH])))
    weights = (m.weights(1, gates * WIDTH, WIDTH) for _ in range(2))
    h = m.add(kind, sequence, *weights, hidden_size=WIDTH)
    return m.add("Reshape", h, m.tensor(np.array([ROWS, WIDTH])))


BLOCKS = [
    plain, residual, gated, two_of_one, convolution, pooled, weighted, norm, quantised, branch,
    loop, scanned, recurrent,
]  # fmt: skip


def functions(scan: Any) -> Counter[str]:
    """Return the activations of a scan; each operator must be in one row or be named."""
    rows = (*scan.activations, *scan.unidentified)
    assert sum(r.counted for r in rows) + sum(o.count for o in scan.unlisted) == scan.operators
    found: Counter[str] = Counter()
    for row in scan.activations:
        found[row.answer] += row.calls
    return found


def optimised(file: Path, level: str) -> Path:
    """Write the model as onnxruntime saves it at a level of its optimiser."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(file.with_suffix(f".{level}.onnx"))
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return Path(options.optimized_model_filepath)


def check(seed: object, folder: Path, blocks: int = 8) -> int:
    """Examine a random model, its optimised forms, and one of them after a swap.

    Returns the number of files that were examined.
    """
    random = Random(str(seed))
    model = RandomModel(random, blocks)
    file = folder / "m.onnx"
    onnx.save(model.model(), file)
    files = [file, *(optimised(file, level) for level in LEVELS)]
    counts = []
    for saved in files:
        scan = sg.scan(saved)
        counts.append(functions(scan))
        found: Counter[str] = Counter()
        for answer, times in counts[-1].items():  # a scale may have moved to the next MatMul
            found[answer if saved == file else answer.partition("·")[2] or answer] += times
        assert found == model.functions, (seed, saved.name, found - model.functions,
                                          model.functions - found, scan.closing)  # fmt: skip
        assert scan.unlisted == (), (seed, saved.name, scan.closing)
        if saved == file:
            assert sum(row.counted for row in scan.unidentified) == model.limits
    source = random.randrange(len(files))
    selectable = sorted(f for f in counts[source] if "·" not in f)
    if not selectable:
        return len(files)
    check_swap(seed, files[source], counts[source], random.choice(selectable), folder / "new.onnx")
    return len(files) + 1


def check_swap(seed: object, file: Path, before: Counter[str], old: str, output: Path) -> None:
    """Replace one function of a file, and examine the result."""
    new = "gelu_10" if old == "squareplus" else "squareplus"
    key = old.replace("(slope=", ":slope=").rstrip(")")
    record = sg.swap(file, {key: new}, partial=True, output=output)
    done, left = len(record.swapped), len(record.unswapped)
    assert done + left == before[old], (seed, file.name, old, done, left)
    if done:
        wanted = before - Counter({old: done}) + Counter({new: done})
        found = functions(sg.scan(output))
        assert found == wanted, (seed, file.name, found - wanted, wanted - found)
    others = [u for u in record.unchanged or () if "selected" in u.reason]
    assert len(others) == before.total() - done - left, (seed, file.name)
