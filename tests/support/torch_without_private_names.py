"""Results of torch tensors where one private name of torch is missing or has another meaning.

Standard input has lines of a capability's name and "missing" or "stale". For each, a fork of this
process, which has imported torch but not its adapter, changes the name, computes, and writes a line
of JSON: the capabilities that are not used, what is wrong, and the lines of `sg.explain`.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch._decomp.decompositions_for_jvp  # imported by the first tangent, for seconds
import torch._dynamo
import torch._inductor.compile_fx
import torch._inductor.lowering
import torch.export
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import softgate as sg
from softgate.frameworks import capability

Tensor = torch.Tensor
X = torch.tensor([*np.linspace(-6, 6, 59), 0.0, -0.0, math.inf, -math.inf, 1e-310])
X = X.double()
FINITE = X[:60]
ORDINARY = FINITE.clone()


# ---- what is computed ------------------------------------------------------------------------


class Wrong(Exception):
    """A result is not what it must be."""


def same(result: Tensor, expected: Any, *, exact: bool = False) -> None:
    """Raise Wrong unless a result has the expected values, or bits."""
    values, right = result.detach().numpy(), np.asarray(expected)
    if exact and values.tobytes() != right.tobytes():
        raise Wrong("other bits")
    if values.shape != right.shape or not np.allclose(values, right, 1e-9, 1e-12, equal_nan=True):
        raise Wrong(f"{values.ravel()[:4]}, expected {right.ravel()[:4]}")


def eager() -> None:
    for x in (X, X.float(), X.repeat(300), X[::2], X.reshape(4, -1).T, X.half()):
        same(sg.gelu(x), sg.gelu(x.numpy()), exact=True)
    negated = torch.complex(ORDINARY, ORDINARY).conj().imag
    same(sg.gelu(negated), sg.gelu(-ORDINARY.numpy()))
    same(sg.swiglu(X, X.flip(0)), sg.swiglu(X.numpy(), X.flip(0).numpy()), exact=True)
    same(sg.gelu.backward(X, X), sg.gelu.backward(X.numpy(), X.numpy()))
    same(sg.gelu(torch._efficientzerotensor((4,))), np.zeros(4))
    same(sg.gelu(ORDINARY.to_sparse().to_dense()), sg.gelu(ORDINARY.numpy()))


def autograd() -> None:
    for function in (sg.gelu, sg.tanh, sg.elu):
        for x in (FINITE, FINITE.repeat(300)):
            leaf = x.clone().requires_grad_()
            value = function(leaf)
            same(value, function(x.numpy()))
            (slope,) = torch.autograd.grad(value.sum(), leaf, create_graph=True)
            same(slope, function.slope(x.numpy()))
            (curvature,) = torch.autograd.grad(slope.sum(), leaf)
            same(curvature, function.curvature(x.numpy()))
    gate, up = FINITE.clone().requires_grad_(), FINITE.flip(0).clone().requires_grad_()
    slopes = torch.autograd.grad(sg.swiglu(gate, up).sum(), (gate, up))
    for slope, right in zip(slopes, sg.swiglu.slope(*both(gate, up)), strict=True):
        same(slope, right)
    beta = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    leaf = FINITE.clone().requires_grad_()
    of_x, of_beta = torch.autograd.grad(sg.torch.functional.swish(leaf, beta).sum(), (leaf, beta))
    same(of_x, sg.silu.slope(FINITE.numpy(), beta=1.5))
    sigmoid = torch.sigmoid(1.5 * FINITE)
    same(of_beta, (FINITE**2 * sigmoid * (1 - sigmoid)).sum())


def both(*tensors: Tensor) -> tuple[Any, ...]:
    """Return tensors as arrays."""
    return tuple(x.detach().numpy() for x in tensors)


def forward_mode() -> None:
    for x in (FINITE, FINITE.repeat(300)):
        with forward_ad.dual_level():
            value = sg.gelu(forward_ad.make_dual(x, 2 * torch.ones_like(x)))
            primal, tangent = forward_ad.unpack_dual(value)
            same(primal, sg.gelu(x.numpy()))
            if tangent is None:
                raise Wrong("the tangent is lost")
            same(tangent, 2 * sg.gelu.slope(x.numpy()))
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            _, tangent = forward_ad.unpack_dual(sg.swiglu(dual, x))
            same(tangent, sg.swiglu.slope(*both(x, x))[0])
        leaf = x.clone().requires_grad_()  # forward over reverse
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(leaf, torch.ones_like(leaf))
            (slope,) = torch.autograd.grad(sg.gelu(dual).sum(), dual, create_graph=True)
            same(forward_ad.unpack_dual(slope).tangent, sg.gelu.curvature(x.numpy()))


def transforms() -> None:
    x = FINITE
    same(torch.func.vmap(sg.gelu)(x.reshape(6, 10)), sg.gelu(x.numpy()).reshape(6, 10))
    same(torch.func.vmap(torch.func.grad(sg.gelu))(x), sg.gelu.slope(x.numpy()))
    second = torch.func.grad(torch.func.grad(sg.gelu))
    same(torch.func.vmap(second)(x), sg.gelu.curvature(x.numpy()))
    value, tangent = torch.func.jvp(sg.gelu, (x,), (torch.ones_like(x),))
    same(value, sg.gelu(x.numpy()))
    same(tangent, sg.gelu.slope(x.numpy()))
    _, tangent = torch.func.jvp(torch.func.vmap(torch.func.grad(sg.gelu)), (x,), (x * 0 + 1,))
    same(tangent, sg.gelu.curvature(x.numpy()))
    same(torch.func.functionalize(sg.gelu)(x), sg.gelu(x.numpy()))
    vector = torch.func.vmap(sg.swiglu)
    same(vector(x, x.flip(0)), sg.swiglu(*both(x, x.flip(0))))


class Recorder(TorchDispatchMode):
    """A mode that counts operators."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def modes() -> None:
    with Recorder() as recorder:
        same(sg.gelu(FINITE), sg.gelu(FINITE.numpy()))
    if not recorder.count:
        raise Wrong("a dispatch mode sees no operator")
    with FakeTensorMode():
        fake = sg.gelu(torch.empty(3, 4))
        if fake.shape != (3, 4) or type(fake).__name__ != "FakeTensor":
            raise Wrong("the result of a fake tensor is not fake")
        sg.explain(torch.empty(3, 4))
    if sg.gelu(torch.empty(3, 4, device="meta")).shape != (3, 4):
        raise Wrong("meta tensors have another shape")


def in_place() -> None:
    functional = sg.torch.functional
    for function, changed in ((functional.gelu_, sg.gelu), (functional.relu_, sg.relu)):
        leaf = FINITE.clone().requires_grad_()
        inner = leaf * 2
        result = function(inner)
        if result is not inner:
            raise Wrong("the result in place is another tensor")
        same(result, changed(2 * FINITE.numpy()))
        result.sum().backward()
        same(leaf.grad, 2 * changed.slope(2 * FINITE.numpy()))
        leaf = FINITE.clone().requires_grad_()
        whole = leaf * 2
        function(whole[::2])
        whole.sum().backward()
        slopes = np.full(60, 2.0)
        slopes[::2] *= changed.slope(2 * FINITE.numpy()[::2])
        same(leaf.grad, slopes)
        leaf = FINITE.clone().requires_grad_()
        with torch.no_grad():
            part = (leaf * 2)[:30]
            view = leaf.view(-1)
        for kind, x in {
            "a leaf": leaf,
            "a view of a leaf": leaf[:3],
            "a part of several": (leaf * 2).chunk(2)[0],
            "a view without autograd": view,
        }.items():
            before = x.detach().clone()
            refused(kind, lambda x=x, function=function: function(x))
            same(x, before, exact=True)
        function(part)
        inner = leaf * 2
        square = inner * inner
        function(inner)
        refused("a saved tensor", lambda square=square: square.sum().backward())
    x = FINITE.clone()
    functional.gelu_(x)
    same(x, sg.gelu(FINITE.numpy()), exact=True)


def refused(kind: str, call: Callable[[], object]) -> None:
    """Raise Wrong unless a call raises RuntimeError."""
    try:
        call()
    except RuntimeError:
        return
    raise Wrong(f"{kind} is overwritten")


def blocks() -> None:
    torch.manual_seed(0)
    block = sg.torch.FeedForward(8, 16, activation="gelu").double()
    x = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)

    def composed(x: Tensor) -> Tensor:
        layers = [m for m in block.modules() if isinstance(m, torch.nn.Linear)]
        return layers[1](sg.gelu(layers[0](x)))

    expected = composed(x)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    result = block(x)
    same(result, expected.detach().numpy())
    same(torch.autograd.grad(result.sum(), x)[0], slope.numpy())
    batched = torch.func.vmap(torch.func.grad(lambda row: block(row).sum()))(x.detach())
    same(batched, slope.numpy())
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), torch.ones_like(x))
        tangent = forward_ad.unpack_dual(block(dual)).tangent
        right = forward_ad.unpack_dual(composed(dual)).tangent
        same(tangent, right.detach().numpy())
    seen = []
    for module in block.modules():
        module.register_forward_hook(lambda module, *_: seen.append(type(module).__name__))
    same(block(x), expected.detach().numpy())
    if seen.count("Linear") != 2:
        raise Wrong(f"hooks have seen {seen}")


def graphs() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return sg.gelu(x) + sg.swiglu(x, x)

    right = sg.gelu(FINITE.numpy()) + sg.swiglu(*both(FINITE, FINITE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(torch.jit.trace(Model(), FINITE)(FINITE), right)
    program = torch.export.export(Model(), (FINITE,))
    same(program.module()(FINITE), right)
    if "softgate" in str(program.graph):
        raise Wrong("an exported graph needs softgate")


def compiled(backend: str = "aot_eager") -> None:
    def step(x: Tensor, alpha: float) -> Tensor:
        return sg.gelu(x) * 2 + sg.elu(x, alpha=alpha)

    function = torch.compile(step, backend=backend)
    for alpha in (0.5, 1.5):  # the second one is a symbol of the compiler
        leaf = FINITE.clone().requires_grad_()
        value = function(leaf, alpha)
        same(value, 2 * sg.gelu(FINITE.numpy()) + sg.elu(FINITE.numpy(), alpha=alpha))
        value.sum().backward()
        slopes = 2 * sg.gelu.slope(FINITE.numpy()) + sg.elu.slope(FINITE.numpy(), alpha=alpha)
        same(leaf.grad, slopes)


CHECKS = (eager, autograd, forward_mode, transforms, modes, in_place, blocks, graphs, compiled)


# ---- private names that have another meaning -------------------------------------------------


def names_replaced(replacements: dict[str, Any]) -> None:
    """Let the lookup of names return other objects; it raises where the object is `Changed`."""
    find = capability.find

    def find_other(name: str) -> Any:
        if replacements.get(name) is capability.Changed:
            raise capability.Changed(f"there is no {name}")
        return replacements[name] if name in replacements else find(name)

    capability.find = find_other


class WithoutForwardLevel(ModuleType):
    """torch.autograd.forward_ad with a level that does not change."""

    _current_level = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(forward_ad, name)


class Unrecorded:
    """The base of Function whose apply records no gradient."""

    @classmethod
    def apply(cls, *operands: Any) -> Any:
        context = type("Context", (), dict.fromkeys(("save_for_backward", "mark_dirty"), id))
        return cls.forward(context, *operands)  # type: ignore[attr-defined]


class Printed:
    """inductor's C++, with another fma."""

    def __getattr__(self, kind: str) -> Any:
        from torch._inductor.codegen import cpp

        vectors = getattr(cpp, kind)
        return type(kind, (vectors,), {"fma": staticmethod(lambda a, b, c: f"{a} * {b} + {c}")})


@contextmanager
def nothing(*_: Any) -> Iterator[None]:
    yield


def stale_forward_mode() -> None:
    torch.autograd.forward_ad = WithoutForwardLevel("forward_ad")  # type: ignore[misc]


def stale_source() -> None:
    read = Path.read_text

    def read_other(path: Path, *arguments: Any, **options: Any) -> str:
        return read(path, *arguments, **options).replace("_dynamo_marked_constant", "_constant")

    Path.read_text = read_other  # type: ignore[assignment, method-assign]


def missing_source() -> None:
    read = Path.read_text

    def read_other(path: Path, *arguments: Any, **options: Any) -> str:
        if path.name == "decorators.py":
            raise FileNotFoundError(path)
        return read(path, *arguments, **options)

    Path.read_text = read_other  # type: ignore[assignment, method-assign]


def missing_library() -> None:
    from softgate.frameworks.torch import small_tensors

    small_tensors._library = lambda: None  # type: ignore[assignment]


def stale_stack() -> None:
    """Let the operators find their tensors on the stack in another order."""
    from softgate.lower import torch_c_abi

    operands = torch_c_abi._operands

    def in_another_order(*arguments: Any) -> Any:
        tensors, table = operands(*arguments)
        return tensors[::-1], table

    torch_c_abi._operands = in_another_order


PLAIN_KEYS = torch._C._dispatch_keys(torch.empty(0))
NO_MODES = torch._C._dispatch_tls_local_include_set()
STALE: dict[str, dict[str, Any] | Callable[[], None]] = {
    "dispatch_keys": {
        "torch._C._dispatch_keys": lambda x: PLAIN_KEYS,
        "torch._C._dispatch_tls_local_include_set": lambda: NO_MODES,
    },
    "forward_mode": stale_forward_mode,
    "transformed": {"torch._C._are_functorch_transforms_active": lambda: False},
    "functionalizing": {"torch._C._functorch.get_interpreter_stack": lambda: None},
    "fake_tensor": {"torch._subclasses.FakeTensor": Tensor},
    "is_zero_tensor": {"torch.Tensor._is_zerotensor": lambda x: False},
    "straight": {"torch._C._FunctionBase": Unrecorded},
    "derivatives": {
        "torch._functorch.autograd_function.enable_single_level_autograd_function": nothing
    },
    "views": {"torch.Tensor._is_view": lambda x: False},
    "has_kernel": {"torch._C._dispatch_has_kernel_for_dispatch_key": lambda name, key: True},
    "without_python": {"torch.ops.aten.neg.default._op": lambda x: x},
    "hooked": {"torch.nn.modules.module._has_any_global_hook": lambda: False},
    "constant_marker": stale_source,
    "guard_scalar": {"torch.fx.experimental.symbolic_shapes.guard_scalar": lambda x: 1.0},
    "inductor": {"torch._inductor.codegen.cpp": Printed()},
    "operators": stale_stack,
}
"""For each capability, names with another meaning, or a function that gives them one."""
MISSING = {"constant_marker": missing_source, "operators": missing_library}


def change(name: str, how: str, names: tuple[str, ...]) -> None:
    """Change the names of a capability."""
    if how == "stale":
        replacements = STALE[name]
    else:
        replacements = MISSING.get(name, dict.fromkeys(names, capability.Changed))
    if callable(replacements):
        replacements()
    else:
        names_replaced(replacements)


def compute(name: str, how: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what a fork finds."""
    if name != "none":
        change(name, how, names)
    wrong = {}
    for check in CHECKS:
        try:
            if name == "inductor" and check is compiled:
                compiled("inductor")
            else:
                check()
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            wrong[check.__name__] = f"{type(error).__name__}: {error} (line {line})"
    x = ORDINARY.clone().requires_grad_()
    block = sg.torch.FeedForward(8, 16).double()
    explained = [str(sg.explain(x)), str(sg.explain((x, x), sg.swiglu))]
    explained.append(str(block.explain(torch.ones(3, 8).double())))
    if name == "inductor":
        explained.append(str(sg.explain(x, compiled=True)))
    missing = {each.name: each.reason for each in capability.missing("torch")}
    return {"missing": missing, "wrong": wrong, "explained": explained}


def main() -> None:
    """Answer each line of standard input."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        name, how, *names = line.split()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)
            try:
                result = compute(name, how, tuple(names))
            except BaseException:
                result = {"missing": {}, "wrong": {"": traceback.format_exc()}, "explained": []}
            os.write(write, json.dumps(result).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        print(answer.decode() or json.dumps({"missing": {}, "wrong": {"": "it died"}}), flush=True)


if __name__ == "__main__":
    main()
