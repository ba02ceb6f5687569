"""Private names of torch: how each is checked, and what replaces it.

Checks run in a thread of their own: adapters may be imported while a tracer, a mode or a transform
is active in the importing thread, and it would record the tensors of the checks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from softgate.lower import inductor as inductor_lowering

from ..capability import Capability, Changed, capability

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def in_new_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Return function(*arguments), called where no mode, tracer or transform is active."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, function(*arguments)))
        except BaseException as error:
            outcome.extend((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    succeeded, result = outcome
    if not succeeded:
        raise result
    returned: T = result
    return returned


def _capability(
    *names: str, cost: str, otherwise: Any
) -> Callable[[Callable[..., T]], Capability[T]]:
    """Return the decorator of a capability whose check runs in a thread of its own."""

    def define(build: Callable[..., T]) -> Capability[T]:
        @wraps(build)
        def apart(*found: Any) -> T:
            return in_new_thread(build, *found)

        return capability("torch", *names, cost=cost, otherwise=otherwise)(apart)

    return define


def _require(holds: object, change: str) -> None:
    """Raise Changed unless a check holds."""
    if not holds:
        raise Changed(change)


def costs(*capabilities: Capability[Any]) -> str:
    """Return what is slower because private names cannot be used, to be appended to a text."""
    return "".join(f" ({each})" for each in capabilities if each.reason)


# ---- whether a tensor is plain ---------------------------------------------------------------


class DispatchKeys(NamedTuple):
    """Functions that return the dispatch keys of a tensor and of this thread, and plain ones."""

    of: Callable[[Tensor], Any]
    included: Callable[[], Any]
    plain: frozenset[int]
    """The keys of a strided CPU tensor that is no subclass, no negated view and not wrapped by
    functorch: one comparison checks all of these."""
    no_modes: frozenset[int]
    """The keys that a thread includes when no mode, tracer or functorch transform is active."""


class Observed(Tensor):
    """A tensor whose operators torch passes to Python, for a check."""

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise AssertionError("no operator of this tensor is called")


@_capability(
    "torch._C._dispatch_keys",
    "torch._C._dispatch_tls_local_include_set",
    cost="kernels are called through operators, which takes longer for small tensors",
    otherwise=DispatchKeys(
        lambda x: SimpleNamespace(raw_repr=lambda: 0),
        lambda: SimpleNamespace(raw_repr=lambda: 0),
        frozenset(),
        frozenset(),
    ),
)
def dispatch_keys(of: Callable[[Tensor], Any], included: Callable[[], Any]) -> DispatchKeys:
    """Return what tells plain tensors: of others, a kernel would read memory that is not theirs."""
    from torch.utils._python_dispatch import TorchDispatchMode  # documented

    plain, no_modes = set(), set()
    for context in (nullcontext(), torch.inference_mode()):
        with context:
            plain.add(of(torch.empty(0)).raw_repr())
            no_modes.add(included().raw_repr())
    ones = torch.ones(1)
    others = {
        "a negated view": torch.ones(1, dtype=torch.complex64).conj().imag,
        "a meta tensor": torch.empty(1, device="meta"),
        "a sparse tensor": ones.to_sparse(),
        "a subclass": ones.as_subclass(Observed),
    }
    for kind, x in others.items():
        _require(of(x).raw_repr() not in plain, f"{kind} has the keys of a plain tensor")

    def wrapped(x: Tensor) -> Tensor:
        _require(of(x).raw_repr() not in plain, "a wrapped tensor has the keys of a plain one")
        _require(included().raw_repr() not in no_modes, "a transform includes no key")
        return x.sum()

    torch.func.vmap(wrapped)(ones)
    torch.func.functionalize(wrapped)(ones)
    torch.func.vjp(wrapped, ones)  # torch.func.grad would import torch's compiler
    with TorchDispatchMode():
        _require(included().raw_repr() not in no_modes, "a dispatch mode includes no key")
    return DispatchKeys(of, included, frozenset(plain), frozenset(no_modes))


@_capability(
    "torch.autograd.forward_ad._current_level",
    cost="kernels are called through operators, which takes longer for small tensors",
    otherwise=SimpleNamespace(_current_level=0),
)
def forward_mode(level: int) -> Any:
    """Return what has the attribute `_current_level`, negative outside of forward mode."""
    if level < 0:  # else forward mode is active, and cannot be entered twice
        with forward_ad.dual_level():
            _require(forward_ad._current_level >= 0, "it is negative in forward mode")
        _require(forward_ad._current_level < 0, "it is not negative after forward mode")
    return forward_ad


@_capability(
    "torch._C._are_functorch_transforms_active",
    cost="feed-forward blocks save all of their intermediate tensors",
    otherwise=lambda: True,
)
def transformed(active: Callable[[], bool]) -> Callable[[], bool]:
    """Return whether a transform of torch.func is active."""

    def inside(x: Tensor) -> Tensor:
        _require(active(), "it is False inside of vmap")
        return x

    _require(not active(), "it is True outside of transforms")
    torch.func.vmap(inside)(torch.ones(1))
    return active


def _modes_active() -> bool:
    keys = dispatch_keys.get()
    return keys.included().raw_repr() not in keys.no_modes


@_capability(
    "torch._C._functorch.get_interpreter_stack",
    "torch._C._functorch.TransformType.Functionalize",
    cost="torch's operators compute under torch.func, and in graphs",
    otherwise=_modes_active,
)
def functionalizing(stack: Callable[[], Any], functionalize: Any) -> Callable[[], bool]:
    """Return whether torch.func.functionalize is active, which supports no Python Function."""

    def active() -> bool:
        return any(level.key() == functionalize for level in stack() or ())

    def require_active(x: Tensor) -> Tensor:
        _require(active(), "functionalize is not among the active transforms")
        return x * 2

    def require_inactive(x: Tensor) -> Tensor:
        _require(not active(), "functionalize is among the active transforms in vmap")
        return x * 2

    _require(not active(), "functionalize is active outside of transforms")
    torch.func.functionalize(require_active)(torch.ones(1))
    torch.func.vmap(require_inactive)(torch.ones(1))
    return active


@_capability(
    "torch._subclasses.FakeTensor",
    cost="sg.explain describes a fake tensor as if it had elements",
    otherwise=(),
)
def fake_tensor(kind: type) -> Any:
    """Return the class of tensors that have a shape and no elements."""
    _require(issubclass(kind, Tensor), "it is no Tensor")
    _require(not isinstance(torch.empty(0), kind), "it is the class of other tensors")
    return kind


def _without_memory(x: Tensor) -> bool:
    try:
        return x.numel() > 0 and x.data_ptr() == 0
    except RuntimeError:  # a tensor wrapped by functorch
        return False


@_capability(
    "torch.Tensor._is_zerotensor",
    "torch._efficientzerotensor",
    cost="zeros without memory are recognised by their address",
    otherwise=_without_memory,
)
def is_zero_tensor(
    is_zero: Callable[[Tensor], bool], zeros: Callable[..., Tensor]
) -> Callable[[Tensor], bool]:
    """Return whether a tensor is zeros without memory, as derivatives of constants are."""
    _require(is_zero(zeros((1,))), "it is False for zeros without memory")
    _require(not is_zero(torch.zeros(1)), "it is True for zeros in memory")
    return is_zero


# ---- autograd --------------------------------------------------------------------------------


def _inherited_apply(base: type, function: type) -> Callable[..., Any]:
    """Return `function.apply` as `base` defines it, which torch.autograd.Function overrides."""
    apply: Callable[..., Any] = vars(base)["apply"].__get__(None, function)
    return apply


class Cube(torch.autograd.Function):
    """x³ with its context in `forward`, for a check."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class Doubled(torch.autograd.Function):
    """2·x in the memory of x, for a check."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x.data.mul_(2)  # as a kernel does: autograd does not notice
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * grad


def _apply(function: Any) -> Callable[..., Any]:
    apply: Callable[..., Any] = function.apply
    return apply


@_capability(
    "torch._C._FunctionBase",
    cost="autograd looks for functorch in every call, half as long again as a small tensor's",
    otherwise=_apply,
)
def straight(base: type) -> Callable[[Any], Callable[..., Any]]:
    """Return what returns `function.apply` without its check for functorch.

    It is only for operands that functorch has not wrapped.
    """

    def apply_of(function: Any) -> Callable[..., Any]:
        return _inherited_apply(base, function)

    with torch.enable_grad():
        leaf = torch.full((1,), 2.0, requires_grad=True)
        (slope,) = torch.autograd.grad(apply_of(Cube)(leaf), leaf, create_graph=True)
        _require(slope.item() == 12, "the gradient of x³ differs")
        (curvature,) = torch.autograd.grad(slope, leaf)
        _require(curvature.item() == 12, "the second derivative of x³ differs")
        inner = leaf * 3
        square = inner * inner  # saves what is then overwritten
        doubled = apply_of(Doubled)(inner)
        _require(doubled is inner and inner.item() == 12, "a result in place is another tensor")
        (slope,) = torch.autograd.grad(doubled, leaf, retain_graph=True)
        _require(slope.item() == 6, "the gradient of a result in place differs")
        try:
            torch.autograd.grad(square, leaf)
        except RuntimeError:  # as torch's in-place operators have it
            return apply_of
    raise Changed("autograd does not notice that a saved tensor was overwritten")


class Derivatives(NamedTuple):
    """How an operator's derivatives are registered so that each level of functorch gets its own."""

    below: Callable[[], AbstractContextManager[Any]]
    """Calls operators below this level of autograd, with the levels of functorch below it
    recording: `apply` turns off gradients in both modes, which only its own level should not
    record."""
    one_level: Callable[[Any], Callable[..., Any]]
    """Returns `function.apply` as functorch's levels call it, one after the other: the dispatcher
    calls the kernel once a level; `apply` itself would start from the first again."""


@_capability(
    "torch._C._FunctionBase",
    "torch._C._AutoDispatchBelowAutograd",
    "torch._C._is_fwd_grad_enabled",
    "torch.autograd.forward_ad._set_fwd_grad_enabled",
    "torch._functorch.autograd_function.enable_single_level_autograd_function",
    cost="torch's operators compute in graphs, under torch.func and in dispatch modes",
    otherwise=None,
)
def derivatives(
    base: type, below_autograd: Any, records_forward: Any, forward_enabled: Any, single_level: Any
) -> Derivatives | None:
    """Return what registers the derivatives of operators, checked with x³."""

    @contextmanager
    def below() -> Any:
        with below_autograd(), torch.enable_grad(), forward_enabled(True):
            yield

    def one_level(function: Any) -> Callable[..., Any]:
        apply = _inherited_apply(base, function)

        def kernel(*arguments: Any) -> Any:
            with single_level():
                return apply(*arguments)

        return kernel

    with forward_enabled(False):
        _require(not records_forward(), "forward mode is not disabled")
        with below():
            _require(records_forward(), "forward mode is not enabled below autograd")
    library = torch.library.Library("softgate_check", "FRAGMENT")  # removed with this variable
    library.define("cube(Tensor x) -> Tensor")
    cube = torch.ops.softgate_check.cube

    class CubeOfLevel(Cube):
        @staticmethod
        def forward(x: Any) -> Any:  # type: ignore[override]
            with below():
                return cube(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

    library.impl("cube", lambda x: x**3, "CPU")
    library.impl("cube", one_level(CubeOfLevel), "Autograd")

    def slope(x: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(cube(x), x, create_graph=True)
        return gradient

    with torch.enable_grad():
        x = torch.tensor(2.0, requires_grad=True)
        _require(cube(x).item() == 8, "the value of x³ differs")
        # The slope by autograd, and by functorch's; torch.func.grad would import torch's compiler.
        for gradient in (slope(x), torch.func.vjp(slope, x)[0]):
            _require(gradient.item() == 12, "the gradient of x³ differs")
            (curvature,) = torch.autograd.grad(gradient, x)
            _require(curvature.item() == 12, "the second derivative of x³ differs")
    return Derivatives(below, one_level)


class Views(NamedTuple):
    """What autograd forbids for views."""

    is_view: Callable[[Tensor], bool]
    base: Callable[[Tensor], Tensor | None]
    forbidden: Callable[[Tensor], bool]
    """Whether a view may not be overwritten: it was made by a function of several views, as chunk
    and split are, or without autograd."""


@_capability(
    "torch.Tensor._is_view",
    "torch.Tensor._base",
    "torch._C._autograd._get_creation_meta",
    "torch._C._autograd.CreationMeta.DEFAULT",
    cost="functions in place compute into a new tensor, which is copied, while autograd records",
    otherwise=None,
)
def views(is_view: Any, base: Any, creation: Any, default: Any) -> Views | None:
    """Return what autograd knows of views."""
    known = Views(is_view, base.__get__, lambda x: bool(creation(x) != default))
    with torch.enable_grad():
        whole = torch.ones(2, requires_grad=True) * 1
        part = whole[:1]
        _require(is_view(part) and not is_view(whole), "views and others are not told apart")
        _require(known.base(part) is whole, "the base of a view is another tensor")
        _require(not known.forbidden(part), "a view by an index may not be overwritten")
        _require(known.forbidden(whole.chunk(2)[0]), "a view of several may be overwritten")
        with torch.no_grad():
            part = whole[:1]
        _require(known.forbidden(part), "a view made without autograd may be overwritten")
    return known


# ---- registration ----------------------------------------------------------------------------


@_capability(
    "torch._C._dispatch_has_kernel_for_dispatch_key",
    cost="an import that is repeated after an interrupt has no operators",
    otherwise=lambda name, key: False,
)
def has_kernel(has: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    """Return whether the dispatcher has a kernel of an operator for a dispatch key."""
    _require(has("aten::silu", "CPU"), "there is no kernel of silu on a CPU")
    _require(not has("aten::silu", "SparseCPU"), "there is a kernel of silu of sparse tensors")
    return has


def _unchanged(overload: Any) -> Any:
    return overload


@_capability(
    "torch.ops.aten.neg.default._op",
    cost="calls of small tensors take a quarter longer",
    otherwise=_unchanged,
)
def without_python(neg: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    """Return what returns an operator without a layer of Python."""
    _require(neg(torch.ones(1)).item() == -1, "it computes something else")

    def compiled_part(overload: Any) -> Any:
        return overload._op

    return compiled_part


@_capability(
    "torch.nn.modules.module._has_any_global_hook",
    cost="feed-forward blocks call their layers one by one",
    otherwise=lambda module: True,
)
def hooked(any_global_hook: Callable[[], Any]) -> Callable[[nn.Module], bool]:
    """Return whether hooks observe the calls of a module."""

    def has_hooks(module: nn.Module) -> bool:
        return bool(
            any_global_hook()
            or module._forward_hooks
            or module._forward_pre_hooks
            or module._backward_hooks
            or module._backward_pre_hooks
        )

    layer = nn.Identity()
    before = has_hooks(layer)  # a user may have a hook of all modules
    for register in (
        layer.register_forward_hook,
        layer.register_forward_pre_hook,
        layer.register_full_backward_hook,
        layer.register_full_backward_pre_hook,
        nn.modules.module.register_module_forward_hook,
    ):
        handle = register(lambda *_: None)
        try:
            _require(has_hooks(layer), f"{register.__name__} is not noticed")
        finally:
            handle.remove()
    _require(has_hooks(layer) == before, "hooks that were removed are noticed")
    return has_hooks


# ---- compilers -------------------------------------------------------------------------------

MARK = "_dynamo_marked_constant"


def _mark(function: F) -> F:
    setattr(function, MARK, True)
    return function


def _constant_by_compiler(function: F) -> F:
    return torch.compiler.assume_constant_result(function)


@capability(
    "torch",
    f"torch._dynamo.decorators ({MARK})",
    imported=False,
    cost="the first call imports torch's compiler, for seconds",
    otherwise=_constant_by_compiler,
)
def constant_marker() -> Callable[[F], F]:
    """Return what marks a function: torch.compile treats its results as constants during tracing.

    As `torch.compiler.assume_constant_result` does, without importing torch's compiler: that takes
    seconds and imports torch.distributed, and an eager call needs neither. So
    what that function does is looked up in its source.
    """
    folder = Path(torch.__file__).parent / "_dynamo"
    source = (folder / "decorators.py").read_text(encoding="utf-8")
    _, _, body = source.partition("\ndef assume_constant_result(")
    body = body.partition("\ndef ")[0]
    _require(f"fn.{MARK} = True" in body, "assume_constant_result sets another attribute")
    return _mark


constant_when_compiled = constant_marker.get()


@capability(
    "torch",
    "torch.fx.experimental.symbolic_shapes.guard_scalar",
    cost="a graph of torch.compile ends at a parameter that changes between calls",
    otherwise=None,
)
def guard_scalar(guard: Callable[[Any], float]) -> Callable[[Any], float] | None:
    """Return what returns the number of a symbol, with a guard that recompiles if it differs."""
    _require(guard(2.5) == 2.5, "it changes a number")
    return guard


@constant_when_compiled
def guards_numbers() -> bool:
    """Return whether `numbers` can be traced; every compiler of torch has imported what it needs.

    That module imports sympy for half a second.
    """
    return guard_scalar.get() is not None


def numbers(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Return parameters with a number for each symbol of the compiler that traces this."""
    symbols = torch.fx.experimental.symbolic_shapes
    return {name: symbols.guard_scalar(value) for name, value in parameters.items()}


class Inductor(NamedTuple):
    """The parts of inductor, torch's compiler, with which operators are fused."""

    config: Any
    is_gcc: Callable[[], bool]
    ops: Any
    make_pointwise: Callable[..., Any]
    register_lowering: Callable[..., Any]
    fallback_handler: Callable[..., Any]
    compile: Callable[..., Any]
    tracing: Callable[..., AbstractContextManager[Any]]
    tracing_context: Callable[..., Any]
    fake_mode: Callable[[], Any]

    def compiled(self, graph: torch.fx.GraphModule, *examples: Tensor) -> Callable[..., Any]:
        """Return the compiled form of a graph of operators, as torch.compile makes it."""
        mode = self.fake_mode()
        fakes = [mode.from_tensor(x) for x in examples]
        with self.tracing(self.tracing_context(mode)):
            run = self.compile(graph, fakes)
        return lambda *operands: run(list(operands))


@capability(
    "torch",
    "torch._inductor.config",
    "torch._inductor.codegen.cpp",
    "torch._inductor.cpp_builder.is_gcc",
    "torch._inductor.virtualized.ops",
    "torch._inductor.lowering.make_pointwise",
    "torch._inductor.lowering.register_lowering",
    "torch._inductor.lowering.fallback_handler",
    "torch._inductor.compile_fx.compile_fx_inner",
    "torch._guards.tracing",
    "torch._guards.TracingContext",
    "torch._subclasses.FakeTensorMode",
    cost="torch.compile calls softgate's operators, and does not fuse them with their neighbours",
    otherwise=None,
)
def inductor(config: Any, cpp: Any, is_gcc: Any, ops: Any, *others: Any) -> Inductor | None:
    """Return the parts of inductor, if it prints operations that have the kernels' bits."""
    reason = inductor_lowering.differs(cpp)
    if reason is not None:
        raise Changed(reason)
    inductor_lowering.unsafe_setting(config, is_gcc)  # raises if there is no such setting
    _require(callable(ops.to_dtype_bitcast), "it has no casts of bits")
    return Inductor(config, is_gcc, ops, *others)
