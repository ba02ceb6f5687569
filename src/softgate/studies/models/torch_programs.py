"""TorchScript and exported programs (.pt2): how they are read, called, and where their calls are.

Modules inside a program are not called as modules, so that hooks do not see them. Calls of an
operator without an effect, `at_module`, are written into a copy of a scripted program, and into the
graph of an exported one while it runs: they name the module of the operators that follow.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx, nn

from softgate.frameworks.torch.registration import define, implement
from softgate.records.text import first_line

EXAMPLE = "_softgate_example"
"""The attribute of an exported program's module with the inputs that it was exported with."""
TOKENS, SIDE = 8, 64
"""The tokens of an example text, and the length of the sides of an example image."""


def at_module() -> Any:
    """Return the operator that names the module of the calls that follow; None ends its calls.

    A path is relative to the module that calls it, or begins with a slash.
    """
    define("at_module(str? path) -> ()", alias_analysis="CONSERVATIVE")
    implement("at_module", lambda path: None, "CompositeExplicitAutograd")
    return torch.ops.softgate.at_module.default


def load_program(file: Path) -> nn.Module:
    """Return an exported program (.pt2) or a scripted one; code in it runs."""
    messages = logging.getLogger("torch.export")  # torch also logs the error, with a traceback
    level = messages.level
    messages.setLevel(logging.CRITICAL + 1)
    try:
        if file.suffix.lower() == ".pt2":
            exported: nn.Module = module_of(torch.export.load(str(file)))
            return exported
        program: nn.Module = torch.jit.load(str(file), map_location="cpu")
        return program
    except Exception as error:  # torch may raise anything on a damaged file
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise ValueError(f"{file} cannot be loaded: {reason}") from None
    finally:
        messages.setLevel(level)


def module_of(model: Any) -> Any:
    """Return the module of an exported program, with its example inputs; others as they are."""
    if not isinstance(model, torch.export.ExportedProgram):
        return model
    module = model.module()
    vars(module)[EXAMPLE] = model.example_inputs
    return module


def is_exported(model: nn.Module) -> bool:
    """Return whether a module is that of an exported program."""
    return isinstance(model, fx.GraphModule) and hasattr(model, "_in_spec")


def call_arguments(
    model: nn.Module, names: Sequence[str], tensors: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return named tensors as the arguments of a call; an exported program takes them as exported.

    `names` are those of all arguments of the model.
    """
    if not is_exported(model):
        return (), dict(tensors)
    specification: Any = model._in_spec
    keywords = list(specification.child(1).context or ())
    positional = tuple(tensors[n] for n in names if n in tensors and n not in keywords)
    return positional, {n: tensors[n] for n in keywords if n in tensors}


def program_inputs(model: Any, name: str) -> Any:
    """Return a small input of a scripted program, from the weights of its first layer.

    Raises ValueError if it has several inputs, or no layer that tells their shape.
    """
    arguments = [a for a in model.forward.schema.arguments[1:] if not a.has_default_value()]
    names = [a.name for a in arguments]
    if len(names) != 1 or str(arguments[0].type) != "Tensor":
        raise ValueError(
            f"{name} takes {', '.join(names) or 'no input'}: pass data= (--data), an .npz with them"
        )
    graph = model.inlined_graph
    for node in _nodes(graph):
        kind = node.kind().removeprefix("aten::").strip("_")
        if kind not in ("linear", "embedding", "convolution", "conv1d", "conv2d", "conv3d"):
            continue
        weight = _constant(node.namedInput("weight"), model)
        if not isinstance(weight, Tensor):
            continue
        if kind == "linear":
            return torch.linspace(-1, 1, weight.shape[1], dtype=weight.dtype).unsqueeze(0)
        if kind == "embedding":
            return torch.arange(TOKENS).remainder(len(weight)).unsqueeze(0)
        groups = _constant(node.namedInput("groups"), model)
        sides = (SIDE,) * (weight.dim() - 2)
        channels = weight.shape[1] * (groups if isinstance(groups, int) else 1)
        return torch.zeros(1, channels, *sides, dtype=weight.dtype)
    if not any(True for _ in model.parameters()):
        return torch.linspace(-1, 1, TOKENS).unsqueeze(0)
    raise ValueError(
        f"{name}: an input cannot be derived from its layers; pass data= (--data), an .npz with "
        f"{names[0]}"
    )


def _nodes(block: Any) -> Iterator[Any]:
    """Yield the nodes of a graph of TorchScript, also those of branches and loops."""
    for node in list(block.nodes()):
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _constant(value: Any, model: Any) -> Any:
    """Return a constant or an attribute of a program; None for other values."""
    if value.node().kind() == "prim::Constant":
        return value.toIValue()
    path = _attribute_path(value, model.inlined_graph)
    for part in path.split(".") if path else ():
        model = getattr(model, part, None)
    return model if path else None


def _attribute_path(value: Any, graph: Any) -> str:
    """Return the attribute of a graph's first input that a value is; empty if it is none."""
    names: list[str] = []
    self = next(graph.inputs()).debugName()
    while value.debugName() != self:
        node = value.node()
        if node.kind() != "prim::GetAttr":
            return ""
        names.append(node.s("name"))
        value = next(node.inputs())
    return ".".join(reversed(names))


@contextmanager
def located(model: nn.Module) -> Iterator[Callable[..., Any]]:
    """Yield what to call in place of a model, so that programs in it name their modules.

    Programs are restored afterwards, and scripted ones run as they are written, without torch's
    optimiser, which could move or merge operators.
    """
    with ExitStack() as stack:
        if isinstance(model, torch.jit.ScriptModule):
            model = _marked_copy(model, "")
        for path, parent in list(model.named_modules()):
            if isinstance(parent, torch.jit.ScriptModule):
                continue
            if isinstance(parent, fx.GraphModule):
                stack.enter_context(_marked_graph(parent))
            for name, child in list(parent._modules.items()):
                if isinstance(child, torch.jit.ScriptModule):
                    stack.callback(parent._modules.__setitem__, name, child)
                    parent._modules[name] = _marked_copy(child, f"{path}.{name}".strip("."))
        stack.enter_context(torch.jit.optimized_execution(False))
        yield model


def _marked_copy(program: Any, path: str) -> Any:
    """Return a copy of a scripted program whose calls of modules are between calls of `at_module`.

    `path` is that of the program. The program itself is returned if it cannot be saved.
    """
    at_module()
    file = io.BytesIO()
    try:
        torch.jit.save(program, file)
        file.seek(0)
        copy = torch.jit.load(file)
    except Exception:  # classes of C++ that cannot be saved
        return program
    if hasattr(program, "training"):
        copy.train(program.training)
    methods = [
        (module is copy, module._c._get_method(method).graph)
        for module in copy.modules()
        for method in module._c._method_names()
    ]
    for outermost, graph in methods:
        if graph.findNode("softgate::at_module") is not None:
            continue  # modules of one type share a graph
        for node in list(_nodes(graph)):
            if node.kind() == "prim::CallMethod":
                inner = _attribute_path(next(node.inputs()), graph)
                _mark(graph, inner).moveBefore(node)
                _mark(graph, None).moveAfter(node)
        if outermost and path:
            _mark(graph, f"/{path}")
            _mark(graph, None).moveBefore(graph.return_node())
    return copy


def _mark(graph: Any, path: str | None) -> Any:
    graph.setInsertPoint(next(graph.nodes()))
    constant = graph.insertConstant(path)
    return graph.insertNode(graph.create("softgate::at_module", [constant], 0))


@contextmanager
def _marked_graph(module: fx.GraphModule) -> Iterator[None]:
    """Put calls of `at_module` into a traced graph that knows the modules of its operators."""
    added = []
    for node in list(module.graph.nodes):
        stack = node.meta.get("nn_module_stack") if node.op == "call_function" else None
        path = str(next(reversed(stack.values()))[0]) if stack else ""
        if path:
            with module.graph.inserting_before(node):
                added.append(module.graph.call_function(at_module(), (path,)))
            with module.graph.inserting_after(node):
                added.append(module.graph.call_function(at_module(), (None,)))
    if added:
        module.recompile()
    try:
        yield
    finally:
        for node in reversed(added):
            module.graph.erase_node(node)
        if added:
            module.recompile()
