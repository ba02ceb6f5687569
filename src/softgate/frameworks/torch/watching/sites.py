"""Where a model calls activations, found by what executes.

Hooks on the model's modules say which module is at work, a `TorchFunctionMode` hears of every
function of torch that it calls. A leaf module that computes an activation of the catalogue, however
it is written, is one site; elsewhere each call of an activation function is.

A site is named by the module and the how-manieth call of that name in one call of it: a module that
is used twice in a pass is two sites, a block that is used twice is one that is called twice.
What a checkpoint or a frugal block computes again during the backward pass is no call.
What was compiled runs as it was written, for as long as somebody watches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any
from weakref import ReferenceType, ref

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList
from torch.overrides import TorchFunctionMode

from . import functions, unobservable
from .functions import BEHIND, GATES, PRODUCTS, SCALING, USES
from .layout import Layout
from .recognition import Known, Recognition, unhooked
from .wrapping import eager, unwrapped

MOST_CALLS = 64
"""Calls of one name in one call of a module that are sites of their own; later ones join the last:
a loop over time must not make a site of every moment."""


@dataclass
class Call:
    """One call of an activation at a site."""

    site: str
    x: Tensor
    y: Tensor
    axis: int | None
    """Where the units are; None where all elements are inputs of one."""
    again: Callable[[Tensor], Tensor]
    known: Known | None
    source: Any
    """The node of autograd's graph that the input came from."""
    step: int
    recomputed: bool


@dataclass
class _Frame:
    """A module at work."""

    name: str
    calls: Counter[str] = field(default_factory=Counter)
    activation: Callable[[Tensor], Tensor] | None = None
    """What the module computes where it is an activation."""
    known: Known | None = None
    site: str = ""
    x: Tensor | None = None
    source: Any = None
    silent: bool = False
    """Whether it computes weights, and no values of units."""

    @property
    def whole(self) -> bool:
        """Whether nothing inside the module is a site."""
        return self.silent or (self.activation is not None and self.known is not None)


class Sites:
    """Watches a model between `open` and `close` and tells `observe` of every call.

    What `observe` returns, unless None, takes the place of the call's result.
    """

    def __init__(
        self,
        model: nn.Module,
        recognition: Recognition,
        observe: Callable[[Call], Tensor | None],
        began: Callable[[int], None],
        scaled: Callable[[Tensor, float], None],
        every: int,
    ) -> None:
        self.model, self.every = unwrapped(model), every
        self._recognition, self._observe = recognition, observe
        self._began, self._scaled = began, scaled
        self.names = {module: name for name, module in self.model.named_modules()}
        self.unseen = unobservable.Unseen()
        for module, name in self.names.items():
            if isinstance(module, torch.jit.ScriptModule):  # no hook says that it is called
                self.unseen.note(unobservable.SCRIPTED, name)
        self.step, self._layout = -1, Layout()
        self.gates: set[str] = set()
        """Sites whose value was multiplied with something."""
        self._last: tuple[str, ReferenceType[Tensor]] | None = None
        self._roots: set[str] = set()
        self._frames: list[_Frame] = []
        self._thread, self._busy = get_ident(), False
        self._module_sites: dict[nn.Module, Known | None] = {}
        self._stack = ExitStack()

    def open(self) -> None:
        """Put up hooks and mode."""
        with ExitStack() as stack:
            stack.enter_context(functions.announcing())
            for module in self.names:
                if isinstance(module, torch.jit.ScriptModule):
                    continue
                before = module.register_forward_pre_hook(self._enter, with_kwargs=True)
                stack.callback(before.remove)
                after = module.register_forward_hook(self._leave, always_call=True)
                stack.callback(after.remove)
            stack.enter_context(eager())
            stack.enter_context(_Listening(self))
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Take everything down."""
        self._stack.close()
        self._frames.clear()

    def __deepcopy__(self, memo: object) -> Sites:
        return self  # a model that is copied while it is watched takes its hooks with it

    def __reduce__(self) -> Any:
        return Blind, ()  # one that is saved does not

    @property
    def looking(self) -> bool:
        """Whether a call that is made now counts."""
        return (
            bool(self._frames)
            and not self._busy
            and not self._frames[-1].whole
            and self.step % self.every == 0
            and get_ident() == self._thread
        )

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling() or self._busy or module not in self.names:
            return  # a copy of a module brings our hooks along
        if get_ident() != self._thread:
            if unobservable.ELSEWHERE not in self.unseen.names and not recomputing():
                self.unseen.note(unobservable.ELSEWHERE, self.names[module])
            return
        silent = isinstance(module, ParametrizationList)
        if not self._frames and not recomputing() and not silent:
            self._begin(self.names[module])
        frame = _Frame(self.names[module])
        frame.silent = silent or (bool(self._frames) and self._frames[-1].silent)
        x = next(iter((*args, *kwargs.values())), None)
        if self.looking or not (self._frames or silent):
            self._enter_leaf(module, frame, x)
        self._frames.append(frame)

    def _begin(self, name: str) -> None:
        """Count a step when a module of the outermost level is called for the second time.

        One that has another inside, or is inside it, is the same again: a model may be trained by
        one of its parts and evaluated as a whole.
        """
        if not self._roots or any(_nested(name, other) for other in self._roots):
            self._roots.clear()
            self.step += 1
            self._layout = Layout()
            self._began(self.step)
        self._roots.add(name)

    def _enter_leaf(self, module: nn.Module, frame: _Frame, x: Any) -> None:
        if self.step % self.every:
            return
        self.unseen.note(unobservable.of_module(module), frame.name)
        if not unobservable.countable(x):
            return
        known = self._known_module(module)
        if known is None:
            return
        frame.activation, frame.known = unhooked(module), known if known.answer else None
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
        if frame.known is None and frame.calls:
            return None  # nobody knows the whole, but activations inside were seen
        known = frame.known
        if known is not None and any(True for _ in module.parameters()):
            known = Known(known.answer, None)  # it is learnt: what it was is not what it is
        parent = self._frames[-1] if self._frames else frame
        site = self._numbered(parent, frame.name or type(module).__name__)
        return self._tell(site, frame.x, output, frame.activation, known, frame.source)

    def heard(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call that a mode was told of; tell of it where it is that of an activation."""
        behind = BEHIND.get(function)
        if behind is not None:
            return self._layout.laid(function(*args, **kwargs), behind)
        if function is SCALING.announced:
            return self._scaling(function(*args, **kwargs), args[0])
        if function in GATES and self.looking:
            parts = GATES[function](args, kwargs)
            if parts is not None:  # act(gate)·other, of which act(gate) is the site
                value = self._activated(parts.act, parts.args, {}, parts.name)
                self._multiplied((value,))
                return value * parts.other
        if function in PRODUCTS:
            self._multiplied(args)
        if function not in USES or not self.looking:
            return function(*args, **kwargs)
        return self._activated(function, args, kwargs, functions.label(USES[function], args))

    def _multiplied(self, factors: tuple[Any, ...]) -> None:
        if self._last is not None:
            site, last = self._last
            value = last()
            if value is not None and any(factor is value for factor in factors):
                self.gates.add(site)

    def _scaling(self, loss: Any, scaler: Any) -> Any:
        if isinstance(loss, Tensor) and not self.step % self.every:
            with self._alone():
                self._scaled(loss, float(scaler.get_scale()))
        return loss

    def _activated(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
    ) -> Any:
        """Call an activation and tell of it."""
        use = USES[function]
        x = use.input_of(args, kwargs)
        if not unobservable.countable(x):
            self.unseen.note(unobservable.of_operand(x), self._named(name))
            return function(*args, **kwargs)
        again = use.again(function, args, kwargs)
        source = x.grad_fn
        before = x.detach().clone() if use.overwrites(args, kwargs) else x
        y = function(*args, **kwargs)
        if isinstance(y, Tensor) and y.shape == before.shape:
            with self._alone():
                known = self._recognition.of_call(function, args, kwargs, use, again)
            site = self._numbered(self._frames[-1], self._named(name))
            other = self._tell(site, before, y, again, known, source)
            return y if other is None else other
        return y

    def _tell(
        self,
        site: str,
        x: Tensor,
        y: Tensor,
        again: Callable[[Tensor], Tensor],
        known: Known | None,
        source: Any,
    ) -> Tensor | None:
        with self._alone():
            axis, again_now = self._layout.axis_of(x), recomputing()
            self._last = site, ref(y)
            return self._observe(Call(site, x, y, axis, again, known, source, self.step, again_now))

    def _named(self, name: str) -> str:
        """Return what a call of a function is called in the module that is at work."""
        module = self._frames[-1].name
        return f"{module}.{name}()" if module else f"{name}()"

    def _numbered(self, frame: _Frame, name: str) -> str:
        frame.calls[name] += 1
        number = min(frame.calls[name], MOST_CALLS)
        return name if number == 1 else f"{name}#{number}"

    def _known_module(self, module: nn.Module) -> Known | None:
        if module not in self._module_sites:
            with self._alone():
                self._module_sites[module] = self._recognition.of_module(module)
        return self._module_sites[module]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Do something of our own, of which nothing is a call of the model's."""
        before, self._busy = self._busy, True
        try:
            with torch._C.DisableTorchFunction():  # nor of anybody else's modes
                yield
        finally:
            self._busy = before


class Blind:
    """What the hooks of a model that was saved while it was watched have become: nothing."""

    def _enter(self, *_: object) -> None:
        return None

    _leave = _enter


class _Listening(TorchFunctionMode):
    """Hears of every function of torch that this thread calls."""

    def __init__(self, sites: Sites) -> None:
        super().__init__()
        self.sites = sites

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Let the call be made and told of; a compiler sees the call alone."""
        if torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))
        return self.sites.heard(func, args, kwargs or {})


def recomputing() -> bool:
    """Tell whether a backward pass is at work: what is computed now was computed before."""
    return bool(torch._C._current_graph_task_id() != -1)


def _nested(a: str, b: str) -> bool:
    """Tell whether one of two modules, by their names, is inside the other, or is it."""
    a, b = sorted((a, b), key=len)
    return not a or a == b or b.startswith(f"{a}.")
