"""The activation inside a feed-forward layer: what is timed, counted and concluded."""

from __future__ import annotations

import json
import subprocess
import sys
from time import sleep

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import softgate as sg
from softgate.cli.bench import command
from softgate.runtime.registry import activations, gated
from softgate.studies.bench.flops import kernel_operations, linear_flops
from softgate.studies.bench.layer_measure import measure_layer
from softgate.studies.bench.layer_modules import (
    FeedForwardBlock,
    LayerShape,
    SharedLinears,
    make,
    runner,
)
from softgate.studies.bench.layer_record import OURS, REFERENCES, THEIRS, Layer
from softgate.torch import FeedForward, GatedFeedForward, saved_bytes

SHAPE = LayerShape(d_model=12, d_hidden=24, tokens=5, dtype="float32")
NAMES = ("gelu", "gelu_tanh", "relu", "silu", "tanh", "swiglu", "geglu", "reglu")
PAUSE_S = 0.02
ONCE = ("add", "sub", "mul", "div", "sqrt", "lt", "le", "eq")


def function(name):
    return (activations() | gated())[name]


def plain_torch(name, linears):
    """The same layer in torch's own words."""
    acts = {
        "gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh"), "relu": nn.ReLU(),
        "silu": nn.SiLU(), "tanh": nn.Tanh(), "swiglu": nn.SiLU(), "geglu": nn.GELU(),
        "reglu": nn.ReLU(),
    }  # fmt: skip
    if name not in gated():
        return nn.Sequential(*linears.before, acts[name], linears.after)

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            (self.gate, self.up), self.down = linears.before, linears.after

        def forward(self, x: Tensor) -> Tensor:
            return self.down(acts[name](self.gate(x)) * self.up(x))

    return Gate()


def our_block(name, linears):
    """The block that users make, with the same weights."""
    if name in gated():
        block = GatedFeedForward(SHAPE.d_model, linears.d_hidden, name)
        block.gate_proj, block.up_proj = linears.before
        block.down_proj = linears.after
        return block
    return FeedForward.from_linears(*linears.before, linears.after, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", [OURS, THEIRS])
def test_what_is_timed_is_the_layer(name, implementation):
    torch.manual_seed(1)
    linears = SharedLinears(SHAPE, name in gated())
    timed = make(function(name), linears, implementation)
    real = (our_block if implementation == OURS else plain_torch)(name, linears)
    x = torch.randn(SHAPE.tokens, SHAPE.d_model, requires_grad=True)
    grad = torch.randn(SHAPE.tokens, SHAPE.d_model)
    assert saved_bytes(timed, x) == saved_bytes(real, x)
    leaves = [x, *(p for m in (*linears.before, linears.after) for p in m.parameters())]
    for ours, theirs in zip(
        (timed(x), *torch.autograd.grad(timed(x), leaves, grad)),
        (real(x), *torch.autograd.grad(real(x), leaves, grad)),
        strict=True,
    ):
        assert torch.equal(ours, theirs)


class Slow(torch.autograd.Function):
    """The identity, slow there and back."""

    @staticmethod
    def forward(ctx, x):
        sleep(PAUSE_S)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        sleep(PAUSE_S)
        return grad


class SlowHidden:
    """A hidden layer whose way there and back is slow."""

    def value(self, *inputs):
        return Slow.apply(inputs[0])

    def pull(self, grad, needs, *inputs):
        sleep(PAUSE_S)
        return (grad,)

    def keeps_one(self):
        return False


@pytest.mark.parametrize(("ours", "passes"), [(True, {"forward": 1, "step": 3}),
                                              (False, {"forward": 1, "step": 2})])  # fmt: skip
def test_a_slow_activation_is_seen(ours, passes):
    linears = SharedLinears(SHAPE, gated=False)
    block = FeedForwardBlock(linears.before, SlowHidden(), linears.after, ours)
    x = torch.randn(SHAPE.tokens, SHAPE.d_model, requires_grad=True)
    for phase, times in passes.items():
        result = runner(block, phase, x, torch.ones_like(x))()
        assert result.whole_ns >= result.activation_ns >= times * PAUSE_S * 1e9


def test_a_slow_product_is_not_the_activation():
    class SlowLinear(nn.Linear):
        def forward(self, x):
            return Slow.apply(super().forward(x))

    linears = SharedLinears(SHAPE, gated=False)
    linears.before = (SlowLinear(SHAPE.d_model, SHAPE.d_hidden),)
    x = torch.randn(SHAPE.tokens, SHAPE.d_model, requires_grad=True)
    for implementation in (OURS, THEIRS):
        block = make(sg.gelu, linears, implementation)
        result = runner(block, "step", x, torch.ones_like(x))()
        assert result.activation_ns <= result.whole_ns - 2 * PAUSE_S * 1e9


@pytest.fixture(scope="module")
def small():
    shown = []
    result = measure_layer(
        ["gelu", "gelu_sigmoid", "tanh", "swiglu"], d_model=12, d_hidden=24, tokens=5,
        budget=0.05, progress=lambda *step: shown.append(step),
    )  # fmt: skip
    assert shown
    assert all(0 <= done <= total for _, done, total in shown)
    return result


def test_a_study_has_all_of_it(small):
    names = {item.activation for item in small}
    assert names == {"relu", "gelu", "gelu_sigmoid", "tanh", "reglu", "swiglu"}
    assert small.not_run == ("gelu_sigmoid in torch: torch has no operator for it",)
    for item in small:
        assert 0 < item.activation_ns < item.whole_ns
        assert item.runs >= 4
        assert (item.saved_bytes is None) == (item.phase == "forward")
        assert (item.activation_flops is None) == (item.implementation == THEIRS)
        assert item.activation in (*REFERENCES.values(), *names)
    assert Layer.from_json(small.to_json()) == small


def test_figures_that_are_no_times(small):
    elements = 5 * 24
    value = kernel_operations(sg.gelu.entry, "value", "float32", {}).flops
    back = kernel_operations(sg.gelu.entry, "backward", "float32", {}).flops
    step = small.find("gelu", OURS, "step")
    assert step.activation_flops == (2 * value + back) * elements
    assert step.saved_bytes == 4 * (5 * 12 + elements)
    assert small.find("gelu", THEIRS, "step").saved_bytes == 4 * (5 * 12 + 2 * elements)
    assert step.matmul_flops == 3 * linear_flops(5, [(12, 24), (24, 12)])
    relu = small.find("relu", OURS, "step")  # whose output gives the gradient: computed once
    back = kernel_operations(sg.relu.entry, "backward", "float32", {}).flops
    value = kernel_operations(sg.relu.entry, "value", "float32", {}).flops
    assert relu.activation_flops == (value + back) * elements
    assert small.find("swiglu", OURS, "step").d_hidden == 16


def test_torch_is_left_as_it_was():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    measure_layer("relu", d_model=4, d_hidden=4, tokens=1, threads=1, budget=0.01)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"tokens": 0}, "tokens = 0: expected a positive integer"),
        ({"d_model": -768}, "d_model = -768: expected a positive integer"),
        ({"d_hidden": 2.5}, "d_hidden = 2.5: expected a positive integer"),
        ({"tokens": 10**12}, "a training step needs about .* GiB, and .* are free"),
        ({"dtype": "float8"}, "dtype = 'float8': expected"),
        ({"threads": 10**6}, "threads '1000000': expected numbers from 1 to"),
        ({"budget": 0}, "budget = 0: expected a positive number of seconds"),
        ({"activations": ["geluu"]}, "unknown name 'geluu'; did you mean 'gelu'"),
        ({"activations": []}, "activations is empty"),
    ],
)
def test_bad_input(argument, message):
    with pytest.raises(ValueError, match=message):
        measure_layer(**argument)


TINY = ["--layer", "--d-model", "8", "--d-hidden", "16", "--tokens", "4", "--budget", "0.01"]


def test_the_command():
    result = CliRunner().invoke(command, ["gelu", "swiglu", *TINY, "--json"])
    assert result.exit_code == 0, result.output
    record = Layer.from_json(result.stdout)
    assert (record.d_model, record.d_hidden, record.tokens) == (8, 16, 4)
    assert json.loads(result.stdout)["schema"] == "softgate.layer"
    assert "replacing gelu by relu" in record.answers()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TINY, "--size", "L2"], "--layer cannot be combined with --size."),
        ([*TINY, "--full"], "--layer cannot be combined with --full."),
        ([*TINY, "--dtype", "float32,float64"], "--dtype float32,float64: with --layer give one."),
        (["--tokens", "4"], "--tokens: give --layer too."),
        (["swiglu"], "'swiglu' takes two arrays: give --layer"),
    ],
)
def test_options_that_do_not_go_together(arguments, message):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_without_torch_the_command_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; from softgate.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "bench", *TINY], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert 'needs PyTorch: pip install "softgate[torch]"' in result.stderr
