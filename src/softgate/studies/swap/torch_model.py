"""`swap` for PyTorch: modules, callables in attributes and calls are replaced.

    stage       what is replaced                                          how it is verified
    1           a module that computes the function and nothing else;     the model is scanned again
                a function that a module has as an attribute
    2           a call in the forward of a module (`redirect`)            it is scanned once more,
                                                                          and the calls are counted

An activation that the last scan still shows was not replaced. Everything is undone then, unless
the caller allows a partial swap.
"""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import nn

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label
from softgate.torch import modules as softgate_modules
from softgate.torch.modules import make

from ..identify import UNKNOWN
from ..models.record import Scan, ScannedActivation
from ..models.torch_model import scan_torch
from ..models.torch_programs import is_exported, module_of
from ..models.torch_recognition import module_problem, recognise, recognise_module
from .huggingface_config import update_configurations
from .record import Swap, SwapError, SwappedActivation, UnswappedActivation
from .selection import NOT_SELECTED, OURS_ALREADY, Replacements, computed, left_unchanged, select

OURS = "softgate."
"""Part of the names of softgate's operators in a scan."""
TORCH_OPERATORS = ("_prelu_kernel",)
"""Operators of torch that softgate's function of that name also calls."""
HOOKS = tuple(name for name in vars(nn.Module()) if "hook" in name)
"""Attributes of a module that hold its hooks."""

Key = tuple[str, str, str]
"""Path, function and operators of a scanned activation."""
FUNCTIONS = (FunctionType, BuiltinFunctionType, functools.partial, Activation)
"""Types of functions that modules have as attributes."""


class TorchSwap(Swap):
    """What was replaced in a PyTorch model; `undo` restores it."""

    _changes: Changes

    def undo(self) -> None:
        """Restore the modules, attributes, hooks and the configuration of the model.

        A second call does nothing.
        """
        self._changes.undo()


class Changes:
    """Changes of a model, each with a function that reverts it."""

    def __init__(self) -> None:
        self._reverts: list[Callable[[], None]] = []

    def add(self, revert: Callable[[], None]) -> None:
        """Add a change that was made."""
        self._reverts.append(revert)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute; undo sets the old value."""
        self.add(functools.partial(setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def set_module(self, parent: nn.Module, name: str, module: nn.Module) -> None:
        """Replace a module of a module; the order of modules is unchanged."""
        self.add(functools.partial(parent._modules.__setitem__, name, parent._modules[name]))
        parent._modules[name] = module

    def undo(self) -> None:
        """Revert all changes, the last one first."""
        while self._reverts:
            self._reverts.pop()()


def swap(
    model: nn.Module,
    replacements: Replacements | None = None,
    *,
    data: Any = None,
    partial: bool = False,
) -> TorchSwap:
    """Replace the activations of a PyTorch model, in place, by other functions.

    The activations are those that `softgate.scan` identifies by their values. A module is replaced
    by a module of softgate, a function in an attribute by one of softgate's functions, and a
    call in a forward is redirected. Then the model is scanned again: what still computes the old
    function was not replaced.

    Parameters
    ----------
    model : torch.nn.Module
        The model, also inside DistributedDataParallel. Compile it after the swap.
    replacements : mapping, str or callable, optional
        New functions by keys. A key is a function ("gelu", "elu:alpha=0.5", any name or callable
        that softgate accepts), the path of a module, which includes all modules inside it, or a
        pattern of paths (`"encoder.*.act"`). A path takes precedence over a pattern, a pattern over
        a function. A value is a function, written likewise, or one of yours
        (`@softgate.activation`). One function instead of a mapping replaces the activations of a
        model that has only one. By default each activation is replaced by softgate's version of the
        same function.
    data : optional
        Inputs of the model, as for `softgate.scan`. Without it, a small input is made.
    partial : bool, default False
        Replace what can be replaced, and list the rest in the result.

    Returns
    -------
    TorchSwap
        A record: `swapped`, `unswapped` and `notes`. Its `undo()` restores the model.

    Raises
    ------
    SwapError
        If an activation cannot be replaced and `partial` is False; the model is unchanged. It is a
        ValueError and lists them. Such are: expressions in a forward that is not the forward of an
        activation module, modules with parameters (unless replaced by the same function),
        recurrent layers, scripted modules.
    ValueError
        If a key is unknown or selects nothing, a value is not a function of one tensor, or the
        model cannot be run.

    Notes
    -----
    A Hugging Face configuration is updated if it can name the new function: with transformers' name
    of it, or with one that `register_huggingface` registers; `notes` has what was written, and what
    `from_pretrained` will not restore.

    The names and values of the state dict do not change. The swap survives `copy.deepcopy`,
    `torch.save` of the model, and DistributedDataParallel. Modules compile as softgate's modules
    do; a module with redirected calls runs eagerly in a compiled model. In a module that
    checkpoints a part of its own forward, redirected calls raise RuntimeError.

    Examples
    --------
    >>> import torch, softgate as sg, softgate.torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU())
    >>> swap = sg.torch.swap(model, {"gelu": "gelu_tanh"})
    >>> swap.counts, model[1]
    ({'gelu -> gelu_tanh': 1}, GELU(approximate='tanh'))
    >>> swap.undo()
    >>> model[1]
    GELU(approximate='none')
    """
    inner, name = _plain_model(model), type(model).__name__
    scan = _scan(inner, data)
    fused = tuple(_fused(inner, {a.path for a in scan.activations}))
    scanned = scan.activations + fused
    if replacements is None:
        scanned = tuple(a for a in scanned if not _is_ours(inner, a))
        chosen = [computed(a) for a in scanned]
    else:
        chosen = select(scanned, replacements, name, shared=_paths(inner))
    targets = [SwapSite(a, new) for a, new in zip(scanned, chosen, strict=True) if new is not None]
    changes = Changes()
    try:
        _replace(inner, targets, data, changes, same=replacements is None)
        _without_fast_path(inner, [t.path for t in targets if t.how], changes)
        left = [t.scanned for t in targets if not t.how]
        if replacements is None:
            left += [a for a in scanned if computed(a) is None]
            left += [a for a in scan.unidentified if _is_unknown_module(inner, a)]
        unswapped = tuple(_unswapped(inner, a) for a in left)
        if unswapped and not partial:
            raise SwapError(name, len(unswapped) + sum(bool(t.how) for t in targets), unswapped)
        new = {_key(t.scanned): t.new for t in targets if t.how}
        replaced = [(a, new.get(_key(a))) for a in scanned]
        notes = update_configurations(inner, replaced, changes.set)
    except BaseException:
        changes.undo()
        raise
    swapped = tuple(
        SwappedActivation(t.path, t.scanned.label, label(t.new), t.how) for t in targets if t.how
    )
    # A scan begins with the note on a mismatch, which is of the model as it was.
    notes += scan.notes[bool(scan.mismatches) :]
    reason = OURS_ALREADY if replacements is None else NOT_SELECTED
    accounted = [*(t.scanned for t in targets), *left]
    unchanged = left_unchanged(scan, accounted, reason, fused)
    record = TorchSwap(name, "torch", swapped, unswapped, tuple(notes), unchanged=unchanged)
    object.__setattr__(record, "_changes", changes)
    return record


@dataclass
class SwapSite:
    """An activation that is to be replaced; `how` is empty unless it was."""

    scanned: ScannedActivation
    new: Activation
    how: str = ""

    @property
    def path(self) -> str:
        """The path of the module in which it is computed."""
        return self.scanned.path

    @property
    def key(self) -> Key:
        """Its key in a scan."""
        return _key(self.scanned)


def _key(scanned: ScannedActivation) -> Key:
    return scanned.path, scanned.answer, scanned.operators


def _is_unknown_module(model: nn.Module, scanned: ScannedActivation) -> bool:
    """Return whether a module computes an elementwise function that is not in the catalogue."""
    recognised = recognise_module(dict(model.named_modules())[scanned.path])
    return recognised is not None and not recognised.name


def _plain_model(model: Any) -> nn.Module:
    """Return the model inside a wrapper for several processes; raise if there is none."""
    model = module_of(model)
    if not isinstance(model, nn.Module):
        raise TypeError(f"the model is {a_type(model)}: expected a torch.nn.Module")
    while isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        model = model.module
    if hasattr(model, "_orig_mod") or getattr(model, "_compiled_call_impl", None) is not None:
        raise ValueError("the model is compiled: swap its activations first, then compile it")
    if is_exported(model):
        raise ValueError(
            "the model is an exported program, whose operators are fixed: swap activations first, "
            "then export it"
        )
    plain: nn.Module = model
    return plain


def _scan(model: nn.Module, data: Any) -> Scan:
    return scan_torch(model, type(model).__name__, data)


def _paths(model: nn.Module) -> dict[str, list[str]]:
    """Return all paths of each module by its first path."""
    paths: dict[nn.Module, list[str]] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        paths.setdefault(module, []).append(path)
    return {aliases[0]: aliases for aliases in paths.values()}


def _fused(model: nn.Module, paths: Collection[str]) -> Iterator[ScannedActivation]:
    """Yield the activations inside operators of recurrent layers, which a scan does not show.

    It shows those of the layers at `paths`, for which torch has no such operator.
    """
    for path, module in model.named_modules():
        if path in paths or not isinstance(module, nn.RNNBase | nn.RNNCellBase):
            continue
        functions: tuple[str, ...] = ("sigmoid", "tanh")
        if isinstance(module, nn.RNN | nn.RNNCell):
            functions = (str(module.nonlinearity),)
        for function in functions:
            kind = type(module).__name__
            yield ScannedActivation(path, function, {}, 1.0, 0.0, "", None, kind, 1, None)


def _is_ours(model: nn.Module, scanned: ScannedActivation) -> bool:
    """Return whether an activation is softgate's, or an operator of torch that softgate calls."""
    kind = type(dict(model.named_modules())[scanned.path])
    if OURS in scanned.operators or kind in _subclasses().values():
        return True
    return scanned.operators in TORCH_OPERATORS and kind not in _subclasses()


@functools.cache
def _subclasses() -> dict[type, type]:
    """Return softgate's subclasses of torch's activation modules, by these."""
    classes = (value for value in vars(softgate_modules).values() if isinstance(value, type))
    return {
        c.__bases__[0]: c
        for c in classes
        if issubclass(c, nn.Module) and c.__bases__[0].__module__ == nn.GELU.__module__
    }


def _replace(
    model: nn.Module, targets: list[SwapSite], data: Any, changes: Changes, same: bool
) -> None:
    """Replace what can be replaced, and set `how` of these targets."""
    modules = dict(model.named_modules())
    new_modules: dict[nn.Module, nn.Module] = {}
    for target in targets:
        module = modules[target.path]
        if isinstance(module, torch.jit.ScriptModule):
            continue
        if module not in new_modules and target.path:
            new = _new_module(module, target, same)
            if new is not None:
                new_modules[module] = new
        if module in new_modules:
            target.how = "module"
        elif _set_attributes(module, target, changes):
            target.how = "attribute"
    _exchange(model, new_modules, changes)
    scan = _scan(model, data)
    after = {_key(a): a for a in scan.activations}
    times = Counter[str]()
    for activation in (*scan.activations, *scan.unidentified):
        times[activation.path] += activation.calls
    before = Counter[str]()
    for target in targets:
        before[target.path] += target.scanned.calls
    calls: dict[tuple[str, str], list[tuple[SwapSite, int]]] = {}
    """The targets that remain, and how often each is computed, by path and function."""
    for target in targets:
        path, module = target.path, modules[target.path]
        if target.how == "module":
            new = new_modules[module]
            if not _overwrites(module) or _overwrites(new) or times[path] >= before[path]:
                continue
            # The result of an in-place module was not used, only the tensor that it overwrote.
            _exchange(model, {new: module}, changes)
        elif target.key not in after:
            continue
        target.how = ""
        count = after.get(target.key, target.scanned).calls
        calls.setdefault((path, target.scanned.label), []).append((target, count))
    _redirect(model, calls, data, changes)


def _new_module(module: nn.Module, target: SwapSite, same: bool) -> nn.Module | None:
    """Return the module that replaces a module; None if it is not the activation alone."""
    if same and type(module) in _subclasses():
        new = copy.copy(module)  # with its parameters, if it has any
        new.__class__ = _subclasses()[type(module)]
        return new
    recognised = recognise_module(module)
    if recognised is None or recognised.name != target.scanned.label or _has_state(module):
        return None
    new = make(target.new)
    new.training = module.training
    for name in HOOKS:
        vars(new)[name] = vars(module)[name]
    if _overwrites(module) and hasattr(new, "inplace"):
        vars(new)["inplace"] = True
    return new


def _overwrites(module: nn.Module) -> bool:
    return getattr(module, "inplace", False) is True


def _has_state(module: nn.Module) -> bool:
    return any(True for _ in (*module.parameters(), *module.buffers()))


def _exchange(model: nn.Module, new: Mapping[nn.Module, nn.Module], changes: Changes) -> None:
    """Replace modules wherever they are in a model."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child is not None and child in new:
                changes.set_module(parent, name, new[child])


def _set_attributes(module: nn.Module, target: SwapSite, changes: Changes) -> bool:
    """Replace the functions that a module has as attributes; return whether there were any."""
    names = []
    for name, value in vars(module).items():
        if isinstance(value, FUNCTIONS):
            recognised = recognise(value)
            if recognised is not None and recognised.name == target.scanned.label:
                names.append(name)
    for name in names:
        changes.set(module, name, target.new)
    return bool(names)


def _redirect(
    model: nn.Module,
    calls: Mapping[tuple[str, str], list[tuple[SwapSite, int]]],
    data: Any,
    changes: Changes,
) -> None:
    """Redirect calls in the forwards of modules; those that have no effect are removed again."""
    if not calls or _redirect_problem():
        return
    from .redirect import Redirect, counted, redirect_of

    modules = dict(model.named_modules())
    rules: dict[tuple[str, str], list[str]] = {}
    """The functions that are called, by path and by the function that is computed."""
    original: dict[str, Mapping[str, Activation]] = {}
    for (path, function), targets in calls.items():
        module = modules[path]
        if isinstance(module, torch.jit.ScriptModule):
            continue
        redirect = redirect_of(module)
        if redirect is None:
            redirect = Redirect({})
            redirect.attach(module)
            changes.add(functools.partial(redirect.detach, module))
        # A call that an earlier swap redirected computes the function that it is redirected to.
        called = [old for old, new in redirect.functions.items() if label(new) == function]
        called += [] if function in redirect.functions else [function]
        changes.add(functools.partial(setattr, redirect, "functions", redirect.functions))
        original.setdefault(path, redirect.functions)
        redirect.functions = redirect.functions | dict.fromkeys(called, targets[0][0].new)
        rules[path, function] = called
    with counted() as counts:
        after = {_key(a) for a in _scan(model, data).activations}
    for (path, function), called in rules.items():
        module, targets = modules[path], calls[path, function]
        # More calls than activations: one is a part of another function, as in x·sigmoid(1.7·x).
        complete = sum(counts[module, old] for old in called) == sum(n for _, n in targets)
        if complete and not any(target.key in after for target, _ in targets):
            for target, _ in targets:
                target.how = "call"
        else:
            redirect = redirect_of(module)
            assert redirect is not None
            others = {old: n for old, n in redirect.functions.items() if old not in called}
            old_ones = {old: n for old, n in original[path].items() if old in called}
            redirect.functions = others | old_ones
            if not redirect.functions:
                redirect.detach(module)


def _redirect_problem() -> str | None:
    """Return why calls cannot be redirected, or None; loads torch's compiler."""
    try:
        from . import redirect  # noqa: F401
    except ImportError as error:  # private functions of the compiler
        return f"calls are not redirected with torch {torch.__version__}: {error}"
    return None


def _without_fast_path(model: nn.Module, paths: Sequence[str], changes: Changes) -> None:
    """Disable the fused operators of Transformer encoders, which have torch's activations."""
    encoders = []
    for path, module in model.named_modules():
        if not any(p == path or p.startswith(f"{path}.") or not path for p in paths):
            continue
        if isinstance(module, nn.TransformerEncoder):
            encoders.append(module)
        if isinstance(module, nn.TransformerEncoderLayer):
            changes.set(module, "activation_relu_or_gelu", 0)
    for encoder in encoders:  # makes nested tensors for the fused operator
        if getattr(encoder, "use_nested_tensor", False):
            changes.set(encoder, "use_nested_tensor", False)


def _unswapped(model: nn.Module, scanned: ScannedActivation) -> UnswappedActivation:
    """Return the record of an activation that was not replaced."""
    module = dict(model.named_modules())[scanned.path]
    problem = module_problem(module)
    if problem is not None:
        reason = problem.why
    elif OURS in scanned.operators:
        reason = "the forward calls softgate's function, which is not redirected"
    elif recognise_module(module) is not None and _has_state(module):
        reason = "the module has parameters, which the state dict would lose"
    elif scanned.function == UNKNOWN:
        reason = "no function of softgate has its values"
    elif computed(scanned) is None:
        reason = "it is scaled or shifted in the same expression"
    else:
        expression = "it is an expression in a forward, or a part of another function"
        reason = _redirect_problem() or expression
    return UnswappedActivation(scanned.path, scanned.label, scanned.operators, reason)
