"""torch.compile fuses softgate's functions with their neighbours, with the bits of the kernels."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import softgate as sg
from softgate.frameworks.torch import private
from softgate.frameworks.torch.compiled import key_for
from softgate.frameworks.torch.operators import FINGERPRINT, bind, bound_of
from softgate.lower import inductor

# torch's compiler itself uses what torch deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

compiled: Any = sys.modules[key_for.__module__]  # a function of that name hides the module
BITS = {torch.float32: torch.int32, torch.float64: torch.int64, torch.float16: torch.int16}


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Iterator[None]:
    """Compile in this process: a graph from the cache on disk would not run the lowering."""
    from torch._functorch import config as autograd_config
    from torch._inductor import config

    torch.compiler.reset()
    with config.patch(fx_graph_cache=False), autograd_config.patch(enable_autograd_cache=False):
        yield
    torch.compiler.reset()


@pytest.fixture
def _fuses() -> None:
    if (reason := compiled._unavailable()) is not None:
        pytest.skip(reason)


def hard_inputs(dtype: torch.dtype) -> Tensor:
    """Return ordinary, tiny and huge numbers, with special ones in and after the last vector."""
    generator = torch.Generator().manual_seed(0)
    tiny = torch.finfo(dtype).tiny
    normal = torch.randn(2048, generator=generator, dtype=torch.float64).to(dtype)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, tiny / 8, -tiny / 8, 88.8, -110.0, 1e30]
    ends = torch.tensor(special, dtype=dtype)
    return torch.cat([ends, normal * 4, normal * tiny, normal / tiny, ends, -ends])


def assert_same_bits(result: Tensor, expected: Tensor) -> None:
    assert result.dtype is expected.dtype
    words = BITS[expected.dtype]
    same = (result.view(words) == expected.view(words)) | (result.isnan() & expected.isnan())
    assert same.all()


def code_of(function: Callable[..., Any], *operands: Tensor) -> tuple[Any, str]:
    """Return the results of a compiled function, and the code that inductor wrote for it."""
    from torch._inductor.utils import run_and_get_code

    results, codes = run_and_get_code(torch.compile(function, fullgraph=True), *operands)
    return results, "\n".join(codes)


@sg.activation
def bent(f: Any, x: Any, strength: float = 0.5) -> Any:
    """A user's formula with a parameter."""
    return x * f.sigmoid(strength * x) + f.tanh(x)


def several(x: Tensor, y: Tensor, wide: Tensor) -> list[Tensor]:
    """Values of neighbours; x·1 and + 0 would change no bits by themselves."""
    return [
        sg.gelu(x) * 2,
        sg.gelu.slope(x) + 1,
        sg.gelu.backward(x, y),
        sg.gelu.curvature(x),
        sg.elu(x, alpha=1.7) - 1,
        sg.silu(x, arithmetic="float64"),
        sg.swiglu(x, y) * 2,
        bent(x, strength=2.0),
        sg.mish(wide) / 2,
        sg.log_sigmoid.backward(wide, wide),
    ]


@pytest.mark.usefixtures("_fuses")
def test_the_bits_are_those_of_the_kernels() -> None:
    x, wide = hard_inputs(torch.float32), hard_inputs(torch.float64)
    y = x.flip(0)
    results, code = code_of(several, x, y, wide)
    assert "torch.ops.softgate" not in code
    assert "fmadd" in code
    for result, expected in zip(results, several(x, y, wide), strict=True):
        assert_same_bits(result, expected)


@pytest.mark.usefixtures("_fuses")
def test_gradients_are_fused_too() -> None:
    def step(x: Tensor, y: Tensor) -> Tensor:
        return sg.gelu(x + 1) + sg.tanh(y) + sg.geglu(x, y) * 2

    x, y = (torch.randn(3, 37).requires_grad_() for _ in range(2))
    grad = torch.randn(3, 37)

    def both(function: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        value = function(x, y)
        return value, *torch.autograd.grad(value, (x, y), grad)

    from torch._inductor.utils import run_and_get_code

    compiled = torch.compile(step, fullgraph=True)
    results, codes = run_and_get_code(both, compiled)
    assert len(codes) == 2  # forward and backward
    assert all("torch.ops.softgate" not in code for code in codes)
    for result, expected in zip(results, both(step), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("_fuses")
def test_narrow_formats_are_not_fused() -> None:
    x = torch.randn(64).half()
    result, code = code_of(sg.gelu, x)
    assert "torch.ops.softgate.evaluate" in code
    assert_same_bits(result, sg.gelu(x))


@pytest.mark.usefixtures("_fuses")
def test_settings_that_change_bits_disable_it() -> None:
    from torch._inductor import config

    x = torch.randn(64)
    sg.gelu(x)
    for setting in (
        {"cpp.enable_floating_point_contract_flag": "fast"},
        {"cpp.enable_unsafe_math_opt_flag": True},
        {"cpu_backend": "halide"},
    ):
        with config.patch(setting):
            assert compiled._unavailable() is not None
            assert FINGERPRINT not in key_for(bind(sg.gelu, None, {}))
            assert "as an operator: inductor" in str(sg.explain(x, compiled=True))
    with config.patch({"cpp.enable_floating_point_contract_flag": "fast"}):
        torch.compiler.reset()
        result, code = code_of(sg.gelu, x)
    assert "torch.ops.softgate.evaluate" in code
    assert_same_bits(result, sg.gelu(x))


def test_other_internals_disable_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What inductor prints is checked, not its version."""
    from torch._inductor import lowering
    from torch._inductor.codegen import cpp

    def check() -> str:
        return replace(private.inductor).reason

    if reason := check():
        pytest.skip(reason)
    with monkeypatch.context() as patch:
        patch.setattr(cpp.CppVecOverrides, "fma", staticmethod(lambda a, b, c: f"{a} * {b} + {c}"))
        assert "prints fma differently" in check()
    with monkeypatch.context() as patch:
        patch.delattr(cpp.CppOverrides, "copysign")
        assert "copysign" in check()
    with monkeypatch.context() as patch:
        patch.delattr(lowering, "make_pointwise")
        assert "there is no torch._inductor.lowering.make_pointwise" in check()
    with monkeypatch.context() as patch:
        patch.setattr(inductor.platform, "machine", lambda: "riscv64")
        assert "riscv64" in check()
    assert check() == ""


@pytest.mark.usefixtures("_fuses")
@pytest.mark.parametrize("quantity", ["value", "backward"])
def test_other_bits_disable_it(quantity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop is compared with the kernels at fixed points before the first one is used."""
    emit = inductor.emit

    def wrong(ops: Any, loop: Any, *arguments: Any) -> Any:
        """Return the result with subnormal ones flushed to zero."""
        result = emit(ops, loop, *arguments)
        dtype = inductor.DTYPES[loop.storage.name][0]
        if ("grad" in loop.inputs) is not (quantity == "backward"):
            return result
        tiny = ops.constant(torch.finfo(dtype).tiny, dtype)
        return ops.where(ops.lt(ops.abs(result), tiny), ops.constant(0.0, dtype), result)

    x = hard_inputs(torch.float32)
    assert compiled.differs() is None
    compiled.differs.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(inductor, "emit", wrong)
        (result, slope), code = code_of(lambda x: (sg.gelu(x), sg.gelu.backward(x, x)), x)
        assert "torch.ops.softgate.evaluate" in code
        reason = compiled.differs()
        assert reason is not None
        assert "has other bits at" in reason
        assert reason in str(sg.explain(x, compiled=True))
    compiled.differs.cache_clear()
    assert_same_bits(result, sg.gelu(x))
    assert_same_bits(slope, sg.gelu.backward(x, x))


@pytest.mark.usefixtures("_fuses")
def test_a_fingerprint_identifies_the_formulas() -> None:
    """inductor's cache on disk finds loops by the operator's arguments."""
    named = sg.activation(name="scaled")
    twice, thrice = named(lambda f, x: 2 * f.tanh(x)), named(lambda f, x: 3 * f.tanh(x))
    x = torch.ones(3)
    keys = []
    for function in (twice, thrice, sg.gelu, sg.swiglu):
        bound = bind(function, None, function.parameters)
        key = key_for(bound)
        assert key.startswith(f"{bound.key}{FINGERPRINT}")
        assert bound_of(key, bound.values, "").function is function
        keys.append(key.partition(FINGERPRINT)[2])
    assert len(set(keys)) == 4
    again = bind(sg.gelu, None, {})
    again.fingerprint = None
    assert key_for(again).endswith(keys[2])
    assert torch.ops.softgate.evaluate(x, f"gelu#{keys[2]}", [0], [], "").equal(sg.gelu(x))


@pytest.mark.usefixtures("_fuses")
def test_explain() -> None:
    x = torch.ones(3)
    for operand, name in ((x, "gelu"), (x.double(), "mish"), ((x, x), "swiglu")):
        explanation = sg.explain(operand, name, compiled=True)
        assert explanation.computed_by.endswith("fused by torch.compile with its neighbours")
    explanation = sg.explain(x.half(), compiled=True)
    assert "inductor does not round float16" in explanation.computed_by
    with pytest.raises(TypeError, match="compiled=True with a ndarray: expected a torch tensor"):
        sg.explain(x.numpy(), compiled=True)
