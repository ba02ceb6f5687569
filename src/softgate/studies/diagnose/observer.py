"""Observation of a running model: which activations it calls, where, and with which tensors.

Hooks on the modules show which module runs; a `TorchFunctionMode` receives every torch function
that it calls. A leaf module that computes an activation of the catalogue, however it is written, is
one site; elsewhere each call of an activation function is a site.

A site is named by its module and the call's index within one forward of the module: a module that
is used twice in a forward pass is two sites, a block that is used twice is one site that is called
twice. Calls that a checkpoint or a memory-saving block repeats in the backward pass are marked as
recomputed. While a model is observed, compiled code runs eagerly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, cast
from weakref import ReferenceType, ref

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from softgate.frameworks.torch.cpu_kernels import has_memory
from softgate.records.text import a_type, visible

from ..models.torch_calls import (
    ACTIVATIONS,
    LAYERS,
    PRODUCTS,
    SCALING,
    of_two,
    patched_calls,
    split_gated,
)
from ..models.torch_recognition import (
    QUANTISED,
    SCRIPTED,
    Function,
    RecognisedFunction,
    Unobservable,
    module_problem,
    recognise_call,
    recognise_module,
    without_hooks,
)
from .measure import GradientHooks

MOST_CALLS = 64
"""Maximum number of sites of one name in one forward of a module; later calls belong to the last
site, so that a loop over time does not make a site for each step."""
MOST_NAMES = 1000
"""Maximum number of names recorded for each kind of `Unobservable`."""


COMPLEX = Unobservable(
    "a complex value is neither positive nor negative",
    "watch real and imaginary parts in a module of their own",
)
SPARSE = Unobservable(
    "a sparse or nested tensor has no rows of units", "watch the model on dense tensors"
)
WRAPPED = Unobservable(
    "the tensor is a wrapper of other tensors",
    "watch the model before it is distributed or its tensors are wrapped",
)
WITHOUT_MEMORY = Unobservable(
    "a tensor without memory has no values", "watch the model on a device with real memory"
)
TRANSFORMED = Unobservable(
    "torch.func calls the model with traced tensors",
    "also call the model itself, on the same inputs, inside the watch",
)
OTHER_THREAD = Unobservable(
    "another thread than the one that began to watch called the model",
    "begin to watch in the thread that calls the model",
)


def operand_problem(x: Any) -> Unobservable | None:
    """Return why the operand of an activation cannot be counted, or None."""
    if not isinstance(x, Tensor):
        return None
    if torch._C._are_functorch_transforms_active():
        return TRANSFORMED
    if x.is_complex():
        return COMPLEX
    if x.is_quantized:
        return QUANTISED
    if x.layout is not torch.strided or x.is_nested:
        return SPARSE
    wrapper = type(x) is not Tensor and is_traceable_wrapper_subclass(x)
    if wrapper:
        return WRAPPED
    return None if has_memory(x) else WITHOUT_MEMORY


def countable(x: Any) -> bool:
    """Return whether an operand is a floating-point tensor that can be observed."""
    return isinstance(x, Tensor) and x.is_floating_point() and operand_problem(x) is None


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model inside a DataParallel, DistributedDataParallel or compiled module."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is {a_type(model)}: expected a torch.nn.Module")
    inner: Any = model
    while True:
        if isinstance(inner, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = inner.module
        elif isinstance(getattr(inner, "_orig_mod", None), nn.Module):
            inner = inner._orig_mod
        elif getattr(inner, "_compiled_call_impl", None) is not None and _set_stance() is None:
            raise ValueError(
                "the model is compiled, and compiled code cannot be observed before torch 2.6: "
                "watch a model that is not compiled"
            )
        else:
            return cast("nn.Module", inner)


def _eager() -> AbstractContextManager[Any]:
    """Return a context in which compiled code runs eagerly, so that it can be observed."""
    set_stance = _set_stance()
    if set_stance is None:
        return nullcontext()
    return cast("AbstractContextManager[Any]", set_stance("force_eager"))


def _set_stance() -> Any:
    return getattr(torch.compiler, "set_stance", None)


class UnitAxis:
    """The axis and the number of units of the last layer that was called."""

    def __init__(self) -> None:
        self.axis, self.width = -1, 0

    def update(self, y: Any, axes_behind: int) -> Any:
        """Record the axis of the units in a layer's result, and return the result."""
        if isinstance(y, Tensor) and y.dim() > axes_behind:
            # Channel axes count from the front, because axes behind them may be flattened later.
            self.axis = y.dim() - 1 - axes_behind if axes_behind else -1
            self.width = y.shape[self.axis]
        return y

    def axis_of(self, x: Tensor) -> int | None:
        """Return the axis of the units in a tensor; None if all elements are of one unit."""
        axis = self.axis if self.axis < x.dim() else -1
        if not x.dim() or (x.dim() == 1 and len(x) != self.width):
            return None  # a batch of one unit with the unit axis squeezed
        return None if self.width == 1 != x.shape[axis] else axis


@dataclass
class ActivationCall:
    """One call of an activation at a site."""

    site: str
    x: Tensor
    y: Tensor
    axis: int | None
    """The axis of the units; None if all elements are of one unit."""
    function: Function
    """The activation as a function of its input alone."""
    recognised: RecognisedFunction | None
    source: Any
    """The autograd node that made the input."""
    step: int
    recomputed: bool


@dataclass
class _Frame:
    """A module whose forward is running."""

    name: str
    calls: Counter[str] = field(default_factory=Counter)
    activation: Function | None = None
    """What the module computes, if it is an activation."""
    recognised: RecognisedFunction | None = None
    x: Tensor | None = None
    source: Any = None
    ignored: bool = False
    """Whether it computes weights instead of values of units."""

    @property
    def whole(self) -> bool:
        """Whether calls inside the module are ignored: it is one site, or ignored itself."""
        return self.ignored or (self.activation is not None and self.recognised is not None)


class Observer:
    """Passes every call of an activation in a model to `observe`, between `open` and `close`.

    A tensor that `observe` returns replaces the result of the call.
    """

    def __init__(
        self,
        model: nn.Module,
        observe: Callable[[ActivationCall], Tensor | None],
        gradients: GradientHooks | None,
        every: int,
    ) -> None:
        self.model, self.every = unwrapped(model), every
        self._observe, self._gradients = observe, gradients
        self.names = {
            module: visible(name, one_line=True) for name, module in self.model.named_modules()
        }
        self.unseen: dict[Unobservable, dict[str, None]] = {}
        for module, name in self.names.items():
            if isinstance(module, torch.jit.ScriptModule):  # its hooks are not called
                self._note(SCRIPTED, name)
        self.step, self._layout = -1, UnitAxis()
        self.gates: set[str] = set()
        """Sites with a value that was a factor of a product."""
        self._last: tuple[str, ReferenceType[Tensor]] | None = None
        self._roots: set[str] = set()
        self._frames: list[_Frame] = []
        self._thread, self._busy = get_ident(), False
        self._modules: dict[nn.Module, RecognisedFunction | None] = {}
        self._stack = ExitStack()

    def open(self) -> None:
        """Register the hooks and enter the mode."""
        with ExitStack() as stack:
            stack.enter_context(patched_calls())
            for module in self.names:
                if isinstance(module, torch.jit.ScriptModule):
                    continue
                before = module.register_forward_pre_hook(self._enter, with_kwargs=True)
                stack.callback(before.remove)
                after = module.register_forward_hook(self._leave, always_call=True)
                stack.callback(after.remove)
            stack.enter_context(_eager())
            stack.enter_context(_CallMode(self))
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Remove the hooks and leave the mode."""
        self._stack.close()
        self._frames.clear()

    def __deepcopy__(self, memo: object) -> Observer:
        return self  # hooks are copied with a model

    def __reduce__(self) -> Any:
        return RemovedObserver, ()  # the pickle of a model has hooks that do nothing

    @property
    def active(self) -> bool:
        """Whether calls are observed at this point of the forward pass."""
        return (
            bool(self._frames)
            and not self._busy
            and not self._frames[-1].whole
            and self.step % self.every == 0
            and get_ident() == self._thread
        )

    def _note(self, problem: Unobservable | None, name: str) -> None:
        """Record a name as unobservable, unless `problem` is None."""
        if problem is not None:
            names = self.unseen.setdefault(problem, {})
            if len(names) < MOST_NAMES:
                names[name] = None

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling() or self._busy or module not in self.names:
            return  # a copied module has the same hooks
        if get_ident() != self._thread:
            if OTHER_THREAD not in self.unseen and not recomputing():
                self._note(OTHER_THREAD, self.names[module])
            return
        ignored = isinstance(module, ParametrizationList)
        if not self._frames and not recomputing() and not ignored:
            self._begin(self.names[module])
        frame = _Frame(self.names[module])
        frame.ignored = ignored or (bool(self._frames) and self._frames[-1].ignored)
        if self.active or not (self._frames or ignored):
            self._enter_leaf(module, frame, next(iter((*args, *kwargs.values())), None))
        self._frames.append(frame)

    def _begin(self, name: str) -> None:
        """Start a new step when an outermost module is called again.

        Nested modules count as the same module, since training may call a part of the model and
        evaluation the whole.
        """
        if not self._roots or any(_nested(name, other) for other in self._roots):
            self._roots.clear()
            self.step += 1
            self._layout = UnitAxis()
            if self._gradients is not None:
                self._gradients.forget()
        self._roots.add(name)

    def _enter_leaf(self, module: nn.Module, frame: _Frame, x: Any) -> None:
        if self.step % self.every:
            return
        self._note(module_problem(module), frame.name)
        if not countable(x):
            return
        if module not in self._modules:
            with self._unobserved():
                self._modules[module] = recognise_module(module)
        recognised = self._modules[module]
        if recognised is None:
            return
        frame.activation = without_hooks(module)
        frame.recognised = recognised if recognised.name else None
        frame.x = x.detach().clone() if getattr(module, "inplace", False) else x
        frame.source = x.grad_fn

    def _leave(self, module: nn.Module, args: Any, output: Any) -> Tensor | None:
        if torch.compiler.is_compiling() or self._busy or get_ident() != self._thread:
            return None
        if not self._frames or module not in self.names:
            return None
        frame = self._frames.pop()
        if frame.activation is None or not isinstance(output, Tensor) or frame.x is None:
            return None
        recognised = frame.recognised
        if recognised is None and frame.calls:
            return None  # activations inside the module were recorded
        if recognised is not None and any(True for _ in module.parameters()):
            recognised = RecognisedFunction(recognised.name, None)  # training changes its values
        parent = self._frames[-1] if self._frames else frame
        name = frame.name or visible(type(module).__name__, one_line=True)
        site = self._numbered(parent, name)
        return self._pass_on(site, frame.x, output, frame.activation, recognised, frame.source)

    def handle(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call received by the mode; observe it if it is an activation."""
        axes_behind = LAYERS.get(function)
        if axes_behind is not None:
            return self._layout.update(function(*args, **kwargs), axes_behind)
        if function is SCALING.wrapper:
            return self._scaled(function(*args, **kwargs), args[0])
        gated = split_gated(function, args, kwargs) if self.active else None
        if gated is not None:  # act(gate)·other: act(gate) is the site
            value = self._activated(gated.act, gated.args, {}, gated.name)
            self._multiplied((value,))
            return value * gated.other
        if function in PRODUCTS:
            self._multiplied(args)
        if function not in ACTIVATIONS or not self.active or of_two(function, args):
            return function(*args, **kwargs)
        return self._activated(function, args, kwargs, ACTIVATIONS[function].label(args))

    def _multiplied(self, factors: tuple[Any, ...]) -> None:
        if self._last is not None:
            site, last = self._last
            value = last()
            if value is not None and any(factor is value for factor in factors):
                self.gates.add(site)

    def _scaled(self, loss: Any, scaler: Any) -> Any:
        if isinstance(loss, Tensor) and self._gradients is not None and not self.step % self.every:
            with self._unobserved():
                self._gradients.scaled(loss, float(scaler.get_scale()))
        return loss

    def _activated(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
    ) -> Any:
        """Call an activation, pass the call to `observe`, and return the result."""
        form = ACTIVATIONS[function]
        module = self._frames[-1].name
        name = f"{module}.{name}()" if module else f"{name}()"
        x = form.input_of(args, kwargs)
        if not countable(x):
            self._note(operand_problem(x), name)
            return function(*args, **kwargs)
        plain = form.as_function(function, args, kwargs)
        source = x.grad_fn
        before = x.detach().clone() if form.overwrites(args, kwargs) else x
        y = function(*args, **kwargs)
        if not isinstance(y, Tensor) or y.shape != before.shape:
            return y
        with self._unobserved():
            recognised = recognise_call(function, args, kwargs, form, plain)
        site = self._numbered(self._frames[-1], name)
        replaced = self._pass_on(site, before, y, plain, recognised, source)
        return y if replaced is None else replaced

    def _pass_on(
        self,
        site: str,
        x: Tensor,
        y: Tensor,
        function: Function,
        recognised: RecognisedFunction | None,
        source: Any,
    ) -> Tensor | None:
        with self._unobserved():
            axis = self._layout.axis_of(x)
            self._last = site, ref(y)
            return self._observe(
                ActivationCall(
                    site, x, y, axis, function, recognised, source, self.step, recomputing()
                )
            )

    def _numbered(self, frame: _Frame, name: str) -> str:
        frame.calls[name] += 1
        number = min(frame.calls[name], MOST_CALLS)
        return name if number == 1 else f"{name}#{number}"

    @contextmanager
    def _unobserved(self) -> Iterator[None]:
        """Disable all torch function modes, for calls that are not part of the model."""
        before, self._busy = self._busy, True
        try:
            with torch._C.DisableTorchFunction():
                yield
        finally:
            self._busy = before


class RemovedObserver:
    """Does nothing; replaces the observer in the pickle of an observed model."""

    def _enter(self, *_: object) -> None:
        return None

    _leave = _enter


class _CallMode(TorchFunctionMode):
    """Passes every torch function that this thread calls to an observer."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Return the result of the call, through the observer unless a compiler is tracing."""
        if torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))
        return self.observer.handle(func, args, kwargs or {})


def recomputing() -> bool:
    """Return whether a backward pass is running: calls are then recomputations."""
    return bool(torch._C._current_graph_task_id() != -1)


def _nested(a: str, b: str) -> bool:
    """Return whether two module names are equal or one module is inside the other."""
    a, b = sorted((a, b), key=len)
    return not a or a == b or b.startswith(f"{a}.")
