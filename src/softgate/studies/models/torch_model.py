"""The operators that a PyTorch model executes, recorded in one run on a small input.

What executes is recorded, not what the model's modules are called: functional calls, shared
modules, classes of other libraries, scripted and exported programs are all operators of ATen here.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.weak import WeakTensorKeyDictionary

from softgate.formula.formats import FORMATS, Format
from softgate.records.text import a_type

from .activations import CLAIMS, collect, graph_notes, with_claim
from .elementwise_subgraphs import ElementwiseGraph, Operation, Subgraph, Value
from .loading import load_batches, model_errors, named_arguments
from .operator_count import CountedOperator, OperatorCount
from .probing import Array, IdentifiedPart, ProbeError, Prober
from .record import SHOWN, Scan
from .torch_inputs import TEXT, example_inputs
from .torch_operator_count import FUSED, AtenCount
from .torch_programs import at_module, call_arguments, is_exported, located, module_of

UNTAGGED = frozenset(
    {"_prelu_kernel", "_to_copy", "alias", "clone", "detach", "gelu_", "hardswish", "hardswish_"}
    | {"log_sigmoid_forward", "masked_fill", "mish_", "threshold_"}
)
"""Elementwise operators of ATen that do not have torch's tag for them."""
REARRANGING = frozenset({"_unsafe_view", "gather", "index", "index_select"})
"""Operators of ATen that move, select or repeat elements of a tensor and are no views."""
FILLED = frozenset(
    {"full", "full_like", "new_full", "new_ones", "new_zeros", "ones", "ones_like"}
    | {"zeros", "zeros_like"}
)
"""Operators of ATen whose result is one number in every element."""
DIVISOR = {"div": 1, "log": 0, "pow": 0, "reciprocal": 0, "rsqrt": 0, "sqrt": 0}
"""The argument by which an operator divides, or of which it computes a root or a logarithm."""
MOST_OPERATORS = 200_000
OTHER_INPUTS = ("pixel_values", "input_features", "input_values")
"""Inputs of transformers that are no text, and are counted as samples."""
MADE = "a small input that scan made (pass data=, --data for another)"
"""What a model failed on if there is no data."""
MOST_ROWS = 2**31
"""More rows than a file of inputs has."""


class TensorReference:
    """A tensor argument of a recorded call: the number of the value that it was."""

    def __init__(self, value: int) -> None:
        self.value = value


class OperatorCall:
    """One call of an operator: tensors are `TensorReference`s, scalar constants are tensors."""

    def __init__(
        self, function: Any, arguments: list[Any], layout: Any, path: str, number: int
    ) -> None:
        self.function, self.arguments, self.layout, self.path = function, arguments, layout, path
        self.number = number
        """The number of the call in the operator count."""

    @property
    def name(self) -> str:
        """The name of the operator, as torch writes it."""
        namespace, _, name = str(self.function._schema.name).partition("::")
        return name if namespace == "aten" else f"{namespace}.{name}"

    def signature(self, numbers: Mapping[int, int]) -> Hashable:
        """Return the operator and its constants; values by their position in the subgraph."""
        return self.function, tuple(
            ("value", numbers.get(argument.value))
            if isinstance(argument, TensorReference)
            else (str(argument.dtype), argument.tolist())
            if isinstance(argument, Tensor)
            else repr(argument)
            for argument in self.arguments
        )

    def run(self, values: Mapping[int, Tensor]) -> Any:
        """Call the operator with other values."""
        mutable = self.function._schema.is_mutable
        arguments = [
            (values[argument.value].clone() if mutable else values[argument.value])
            if isinstance(argument, TensorReference)
            else argument
            for argument in self.arguments
        ]
        args, kwargs = tree_unflatten(arguments, self.layout)
        return self.function(*args, **kwargs)


class Recorder(TorchDispatchMode):
    """Records the operators that are called on values that depend on the model's input."""

    supports_higher_order_operators = True

    def __init__(self, inputs: Any) -> None:
        super().__init__()
        self.calls: list[OperatorCall] = []
        self.operations: list[Operation] = []
        self.dtypes: dict[Value, torch.dtype] = {}
        self.sizes: dict[Value, int] = {}
        self.paths: list[str] = [""]
        self.several_slopes: list[str] = []
        self._numbers = WeakTensorKeyDictionary()
        """Numbers of values by their tensors, not by ids, which later tensors may reuse."""
        self._alive: list[Tensor] = []
        self._filled = WeakTensorKeyDictionary()
        """Tensors with one number in every element, and that number as a tensor."""
        self._views = WeakTensorKeyDictionary()
        """Tensors that do not depend on the input and have views, which may be written to."""
        self._written = WeakTensorKeyDictionary()
        """Tensors whose memory was written to through others, and the numbers that were written."""
        self.count = AtenCount(lambda: self.paths[-1])
        self.unused: list[str] = []
        """The modules and branches that did not run, although they may compute activations."""
        self._at_module = at_module()
        for tensor in tree_flatten(inputs)[0]:
            if isinstance(tensor, Tensor):
                self._alive.append(tensor)
                self._new(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator and record it; a gated linear unit is recorded as its parts."""
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return self._branch(func, args)
        if func is self._at_module:
            if args[0] is None:
                self.paths.pop()
            else:
                parent = "" if args[0].startswith("/") else self.paths[-1]
                self.paths.append(".".join(filter(None, (parent, args[0].removeprefix("/")))))
            return None
        if func is torch.ops.aten.glu.default:
            with self:
                value, gate = args[0].chunk(2, *(args[1:] or (-1,)))
                return value * torch.sigmoid(gate)
        if isinstance(kwargs.get("out"), Tensor) and (plain := _without_out(func)) is not None:
            with self:
                result = plain(*args, **{n: a for n, a in kwargs.items() if n != "out"})
                return kwargs["out"].resize_(result.shape).copy_(result)
        flat, layout = tree_flatten((args, kwargs))
        if func.is_view or func._schema.is_mutable:
            self._forget_filled(flat)
        numbers = [
            self._number(a) if isinstance(a, Tensor) and a not in self._filled else None
            for a in flat
        ]
        if func.is_view and numbers[0] is None:
            self._views[flat[0]] = True
        result = func(*args, **kwargs)
        results = [r for r in tree_flatten(result)[0] if isinstance(r, Tensor)]
        if func._schema.name.removeprefix("aten::") in FILLED and result.numel():
            self._filled[result] = result.flatten()[0].detach().clone()
            if any(number is not None for number in numbers):
                self._new(result)  # what is written to it later may depend on the input
            return result
        if all(number is None for number in numbers):
            return result
        if len(self.calls) >= MOST_OPERATORS:
            raise ValueError(f"the model calls more than {MOST_OPERATORS:,} operators")
        inputs = tuple(dict.fromkeys(number for number in numbers if number is not None))
        arguments = [
            TensorReference(number)
            if number is not None
            else self._filled.get(a, a)
            if isinstance(a, Tensor) and a.numel() != 1
            else a.detach().reshape(()).clone()
            if isinstance(a, Tensor)
            else a
            for a, number in zip(flat, numbers, strict=True)
        ]
        plain = not any(isinstance(argument, Tensor) and argument.dim() for argument in arguments)
        if func is torch.ops.aten.log_sigmoid_forward.default:
            results = results[:1]  # the other one is a buffer for the backward
        elementwise = plain and len(results) == 1 and _is_elementwise(func)
        self.calls.append(
            OperatorCall(
                func, arguments if elementwise else [], layout, self.paths[-1], self.count.running
            )
        )
        outputs = tuple(map(self._new, results))
        for written in results if func._schema.is_mutable else ():
            self._write(written)
        name = self.calls[-1].name
        if name == "_prelu_kernel" and not plain:
            self.several_slopes.append(self.paths[-1])
        self.operations.append(
            Operation(
                name,
                inputs,
                outputs,
                elementwise,
                reduction=torch.Tag.reduction in func.tags,
                rearranges=func.is_view or name in REARRANGING,
                divisors=_divisors(name, numbers),
            )
        )
        return result

    def _branch(self, operator: HigherOrderOperator, args: Any) -> Any:
        """Run the branch that torch.cond chooses; raise ValueError for other control flow."""
        if operator.name() != "cond":
            raise ValueError(
                f"the model calls torch's {operator.name()}, which cannot be examined: write it in "
                "Python, or export the model to ONNX"
            )
        condition, first, second, operands = args
        with self, self.count:
            chosen = bool(condition)
            result = (first if chosen else second)(*operands)
        path = f"{self.paths[-1]}: " if self.paths[-1] else ""
        self.unused.append(f"{path}the {'second' if chosen else 'first'} branch of torch.cond")
        return result

    def _forget_filled(self, arguments: Sequence[Any]) -> None:
        """Other numbers may be written to these arguments, or to views of them."""
        for argument in arguments:
            if isinstance(argument, Tensor):
                self._filled.pop(argument, None)

    def _write(self, written: Tensor) -> None:
        """Note that the tensors that share memory with this one have another value now."""
        memory = _memory(written)
        for tensor in [*self._numbers.keys(), *self._views.keys()]:
            if tensor is not written and memory is not None and _memory(tensor) == memory:
                self._forget_filled([tensor])
                self._written.setdefault(tensor, []).append(self._numbers[written])

    def _number(self, tensor: Tensor) -> int | None:
        """Return the number of a tensor's value, or None if it does not depend on the input."""
        written = self._written.pop(tensor, None)
        if written is not None:
            before = self._numbers.get(tensor)
            inputs = (*written, *(() if before is None else (before,)))
            function = torch.ops.aten.copy_.default
            self.calls.append(OperatorCall(function, [], None, self.paths[-1], self.count.running))
            outputs = (self._new(tensor),)
            self.operations.append(Operation("copy_", inputs, outputs, elementwise=False))
        return self._numbers.get(tensor)

    def _new(self, tensor: Tensor) -> int:
        self._written.pop(tensor, None)
        number = len(self.dtypes)
        self._numbers[tensor] = number
        self.dtypes[number], self.sizes[number] = tensor.dtype, tensor.numel()
        return number

    def results(self, output: Any) -> set[int]:
        """Return the numbers of the tensors that the model returned."""
        flat = [self._number(t) for t in tree_flatten(output)[0] if isinstance(t, Tensor)]
        return {number for number in flat if number is not None}


def _divisors(name: str, numbers: Sequence[int | None]) -> tuple[int, ...]:
    """Return the values by which a call divides, and by which it does nothing else."""
    place = DIVISOR.get(name.removesuffix("_"))
    value = None if place is None or place >= len(numbers) else numbers[place]
    return () if value is None or numbers.count(value) > 1 else (value,)


def _memory(tensor: Tensor) -> int | None:
    """Return what identifies the memory of a tensor; None if it has none of its own."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse tensors
        return None


def _without_out(function: Any) -> Any:
    """Return the variant of an operator of ATen that returns what this one writes to `out`."""
    name = function._overloadname.removesuffix("out").removesuffix("_") or "default"
    return getattr(function._overloadpacket, name, None)


def _is_elementwise(function: Any) -> bool:
    if torch.Tag.nondeterministic_seeded in function.tags:
        return False
    namespace, _, name = str(function._schema.name).partition("::")
    return (
        torch.Tag.pointwise in function.tags
        or (namespace == "aten" and name in UNTAGGED)
        or namespace == "softgate"
    )


@contextmanager
def _paths(model: nn.Module, recorder: Recorder) -> Iterator[None]:
    """Keep the path of the module that runs in `recorder.paths`."""
    names = {module: name for name, module in model.named_modules()}
    ran = set[nn.Module]()

    def enter(module: nn.Module, _: Any) -> None:
        ran.add(module)
        recorder.paths.append(names.get(module, recorder.paths[-1]))

    def leave(*_: Any) -> None:
        recorder.paths.pop()

    with ExitStack() as stack:
        for module in names:
            if not isinstance(module, torch.jit.ScriptModule):
                stack.callback(module.register_forward_pre_hook(enter).remove)
                stack.callback(module.register_forward_hook(leave, always_call=True).remove)
        yield
    recorder.unused += _unused(model, "", ran)


def _unused(module: nn.Module, path: str, ran: Collection[nn.Module]) -> Iterator[str]:
    """Yield the outermost modules that did not run and are more than a layer with weights."""
    if isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
        return
    if module in ran or any(inner in ran for inner in module.modules()):
        for name, child in module.named_children():
            yield from _unused(child, f"{path}.{name}".lstrip("."), ran)
    elif type(module).__module__ == nn.GELU.__module__ or any(True for _ in module.children()):
        yield path


def record_run(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], recorder: Recorder
) -> Any:
    """Run a model once in evaluation mode under a recorder; return its output."""
    modules = (m for m in model.modules() if hasattr(m, "training"))  # a frozen program has none
    training = {module: module.training for module in modules}
    fast_path = torch.backends.mha.get_fastpath_enabled()
    for module in training:  # an exported program has no `eval`
        module.training = False
    # The fast path of nn.TransformerEncoderLayer is one operator with the activation inside.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        # The count is entered last, so that it sees each call as the model made it.
        with ExitStack() as stack:
            called = stack.enter_context(located(model))
            for context in (_paths(model, recorder), torch.no_grad(), recorder, recorder.count):
                stack.enter_context(context)
            return called(*args, **kwargs)
    except RuntimeError as error:
        if recorder.count.failure is None or "TorchScript interpreter" not in str(error):
            raise
        raise recorder.count.failure from None
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
        for module, mode in training.items():
            module.training = mode


class TorchGraph:
    """The operators of one run of a model, and the functions that they compute.

    Parameters
    ----------
    model : nn.Module
        The model, run once in evaluation mode.
    args, kwargs : tuple and mapping
        Its arguments.
    """

    def __init__(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._recorder = recorder = Recorder((args, dict(kwargs)))
        output = record_run(model, args, kwargs, recorder)
        self._graph = ElementwiseGraph(recorder.operations, recorder.results(output))
        self._prober = Prober(self._graph, self._evaluate, self.format_of, self._signature)

    def parts(self) -> Iterator[IdentifiedPart]:
        """Yield the elementwise functions, in the order of execution."""
        return self._prober.parts()

    def dtype(self, subgraph: Subgraph) -> str:
        """Return the dtype of a subgraph's input."""
        return str(self._recorder.dtypes[subgraph.input]).removeprefix("torch.")

    def counted(self, subgraph: Subgraph) -> Mapping[Hashable, Hashable]:
        """Return the calls of a subgraph, each with its key in the operator count."""
        return {i: (self._recorder.calls[i].number, 0) for i in subgraph.operations}

    @property
    def count(self) -> list[CountedOperator]:
        """The activation operators of the run, counted apart from its graph."""
        return self._recorder.count.operators

    @property
    def unused(self) -> list[str]:
        """The modules and branches that did not run."""
        return self._recorder.unused

    def why_unlisted(self, key: Any) -> str:
        """Return why the operator with this key is in no row."""
        calls = self._recorder.calls
        place = next((i for i, call in enumerate(calls) if call.number == key[0]), None)
        if place is None:
            return "it does not depend on the input of the model"
        operation = self._recorder.operations[place]
        if operation.kind == "_prelu_kernel" and not operation.elementwise:
            return "it has several slopes, which no function of one value has"
        if operation.kind in FUSED or ("." in operation.kind and not operation.elementwise):
            return f"it is computed inside {operation.kind}"
        if not self._graph.is_function(operation.outputs[0]):
            return "an input besides its argument is not a scalar constant"
        if not self._graph.is_used(operation.outputs[0]):
            return "its result is not used"
        kind = str(self._recorder.dtypes[operation.inputs[0]]).removeprefix("torch.")
        if kind not in FORMATS:
            return f"its argument is {kind}"
        return self._prober.unevaluated.get(place, "it is linear or constant between -4 and 4")

    @property
    def skipped(self) -> int:
        """The number of functions that were not evaluated."""
        return self._prober.skipped

    @property
    def executed(self) -> list[str]:
        """The operators of the run, in their order."""
        return [operation.kind for operation in self._recorder.operations]

    @property
    def several_slopes(self) -> list[str]:
        """The modules that compute a prelu with several slopes."""
        return self._recorder.several_slopes

    def format_of(self, subgraph: Subgraph) -> Format | None:
        """Return the format of a subgraph's input and result, or None if they are not floats."""
        dtypes = self._recorder.dtypes
        if not dtypes[subgraph.output].is_floating_point:
            return None
        name = str(dtypes[subgraph.input]).removeprefix("torch.")
        return FORMATS.get(name)

    def elements(self, subgraph: Subgraph) -> int:
        """Return the number of elements of a subgraph's input."""
        return self._recorder.sizes[subgraph.input]

    def path(self, subgraph: Subgraph) -> str:
        """Return the path of the innermost module in which all operators of a subgraph ran."""
        paths = [self._recorder.calls[i].path.split(".") for i in subgraph.operations]
        shared = []
        for parts in zip(*paths, strict=False):
            if len(set(parts)) > 1:
                break
            shared.append(parts[0])
        return ".".join(shared)

    def operators(self, subgraph: Subgraph) -> str:
        """Return the names of the operators of a subgraph."""
        return ", ".join(self._recorder.calls[i].name for i in subgraph.operations)

    def _signature(self, subgraph: Subgraph) -> Hashable:
        operations = [self._recorder.operations[i] for i in subgraph.operations]
        values = [subgraph.input, *(op.outputs[0] for op in operations)]
        numbers: dict[Any, int] = {value: i for i, value in enumerate(values)}
        calls = tuple(self._recorder.calls[i].signature(numbers) for i in subgraph.operations)
        return self._recorder.dtypes[subgraph.input], calls

    def _evaluate(self, subgraph: Subgraph, x: Array) -> Array:
        dtype = self._recorder.dtypes[subgraph.input]
        start = torch.from_numpy(x.astype(np.float64)).to(dtype)
        values: dict[Any, Tensor] = {subgraph.input: start}
        try:
            with torch.no_grad():
                for i in subgraph.operations:
                    result = self._recorder.calls[i].run(values)
                    first = result[0] if isinstance(result, tuple) else result
                    values[self._recorder.operations[i].outputs[0]] = first
        except (RuntimeError, TypeError, ValueError, KeyError, IndexError) as error:
            raise ProbeError(str(error)) from None
        return values[subgraph.output].double().numpy().astype(x.dtype)


def scan_torch(model: Any, name: str, data: Any = None) -> Scan:
    """Return the activations that a model computes in one run; `name` is for messages."""
    model = module_of(model)
    if not isinstance(model, nn.Module):
        raise TypeError(f"{name} is {a_type(model)}: expected a torch.nn.Module")
    batch, unit, count = _batch(model, name, data)
    with model_errors(name, MADE if data is None else "its data"):
        args, kwargs = _arguments(batch, model)
        graph = TorchGraph(model, args, kwargs)
    operators = OperatorCount(graph.count)
    identified, others = collect(graph, count, operators)
    notes = graph_notes(graph)
    if graph.unused:
        shown = ", ".join(graph.unused[:SHOWN]) + (", …" if len(graph.unused) > SHOWN else "")
        notes.append(
            f"not run on {MADE if data is None else 'its data'}, and not examined: {shown}"
        )
    unlisted = operators.unlisted(graph.why_unlisted)
    configuration = getattr(model, "config", None)
    field = next((n for n in CLAIMS if isinstance(getattr(configuration, n, None), str)), None)
    if field is None:
        return Scan(
            name, "torch", unit, None, identified, others, tuple(notes), operators.total, unlisted
        )
    identified, claim, mismatches = with_claim(identified, field, getattr(configuration, field))
    notes = [*mismatches, *notes]
    return Scan(
        name, "torch", unit, claim, identified, others, tuple(notes), operators.total, unlisted
    )


def _arguments(batch: Any, model: nn.Module) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(batch, Mapping):
        names = [parameter.name for parameter in named_arguments(model)]
        return call_arguments(model, names, batch)
    return (tuple(batch), {}) if isinstance(batch, tuple | list) else ((batch,), {})


def _batch(model: nn.Module, name: str, data: Any) -> tuple[Any, str, int]:
    """Return a small batch, the unit that elements are counted for, and the number of units."""
    if data is None:
        batch = example_inputs(model, name)
    elif isinstance(data, Tensor | Mapping | tuple | list):
        batch = data
    else:
        # Programs may take only as many rows as they were exported with.
        program = isinstance(model, torch.jit.ScriptModule) or is_exported(model)
        batches, _ = load_batches(data, model, name, MOST_ROWS if program else 1)
        batch = batches[0]
    from .loading import target_of

    if target_of(model, batch) is not None:
        batch = batch[:-1]  # a batch (x, y) of a data loader
    args, kwargs = _arguments(batch, model)
    tokens = next((kwargs[key] for key in TEXT if key in kwargs), None)
    if isinstance(tokens, Tensor) and not any(key.startswith(OTHER_INPUTS) for key in kwargs):
        return batch, "token", tokens.numel()
    first = next((t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)), None)
    return batch, "sample", len(first) if first is not None and first.dim() else 1
