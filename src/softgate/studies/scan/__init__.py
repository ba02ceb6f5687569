"""`scan`: every activation inside a model, identified by what it computes.

    module          reads                                          evaluates
    torch_model     a module, a Hugging Face folder, an exported   the model, once
                    or a scripted program, a factory
    onnx_model      an ONNX file                                   elementwise parts of its graph
    keras_model     a Keras model or a .keras file                 its activations

`graph` cuts the elementwise functions out of a graph, `probing` identifies them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from softgate.runtime import resolve
from softgate.runtime.activation import Activation
from softgate.runtime.names import function, get
from softgate.runtime.packages import require
from softgate.runtime.registry import label

from ..worker import Worker
from .elementwise_subgraphs import Subgraph
from .operator_count import OperatorCount
from .probing import IdentifiedPart
from .record import Scan as Scan
from .record import ScannedActivation as ScannedActivation

PROGRAMS = (".pt", ".pt2", ".ts", ".torchscript")
"""Extensions of exported (.pt2) and scripted programs."""
NEAR = 0.05
"""Two activations that differ by less than this are variants of one function, as GELU's are."""
EQUAL = 1e-6
"""Two activations that differ by less than this are the same function, as celu and elu are."""
CLAIMS = (
    "hidden_act", "hidden_activation", "activation_function", "dense_act_fn", "activation",
    "act_fn", "ffn_activation", "mlp_hidden_act",
)  # fmt: skip
"""Fields of a Hugging Face configuration that name the activation of the feed-forward layers."""
PREFIX = "softgate."
"""Prefix of the names of softgate's functions in configurations."""
TIME_LIMIT_S = 60
"""The longest time that reading an ONNX file may take."""
TARGETS = (
    "a model, a Hugging Face folder, an .onnx or .keras file; with trust (--trust) also "
    "module:factory, file.py:factory, TorchScript (.pt) and .pt2"
)


class IdentifiedGraph(Protocol):
    """A graph of a model whose elementwise functions were identified."""

    def parts(self) -> Iterable[IdentifiedPart]:
        """Yield the elementwise functions in the order of execution."""

    def path(self, subgraph: Subgraph) -> str:
        """Return the path of a function."""

    def operators(self, subgraph: Subgraph) -> str:
        """Return the operators that compute it."""

    def elements(self, subgraph: Subgraph) -> int | None:
        """Return the elements of its input."""

    def dtype(self, subgraph: Subgraph) -> str:
        """Return the dtype of its input."""

    def counted(self, subgraph: Subgraph) -> Mapping[Hashable, Hashable]:
        """Return the operations that compute it, each with its key in the operator count."""

    @property
    def skipped(self) -> int:
        """The number of functions that were not evaluated."""

    @property
    def several_slopes(self) -> list[str]:
        """Where a prelu with several slopes is computed, which is not a function of one value."""


def scan(
    target: Any,
    *,
    data: Any = None,
    trust: bool = False,
    allow_missing: bool = False,
) -> Scan:
    """Find every activation inside a model, and which function each one computes.

    Functions are identified by their values, not by the names of modules or operators. A PyTorch
    model is run once on a small input, and the operators that execute are examined. For an ONNX
    file the elementwise parts of its graph are evaluated, for a Keras model its activations.

    Parameters
    ----------
    target : object, str or path
        A `torch.nn.Module` or a Keras model; a Hugging Face folder (config.json and safetensors),
        an .onnx or a .keras file. With `trust`, also "module:factory", "file.py:factory",
        TorchScript (.pt) and .pt2.
    data : optional
        Inputs of a PyTorch model, as for `softgate.torch.diagnose`: a tensor, arguments, or a file.
        Without it, a small input is made from the model's configuration or first layer.
    trust : bool, default False
        Run code of the target.
    allow_missing : bool, default False
        Accept a folder whose checkpoint lacks weights of the model.

    Returns
    -------
    Scan
        A record: each activation with its path, function, parameters, operators and elements, and
        whether the configuration claims another function.

    Raises
    ------
    ValueError
        If the model cannot be read or run, or needs `trust`.

    Examples
    --------
    >>> import torch, softgate as sg
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(approximate="tanh"))
    >>> [(a.path, a.function, a.elements) for a in sg.scan(model).activations]
    [('1', 'gelu_tanh', 8)]
    """
    if not isinstance(target, str | os.PathLike):
        return _scan_object(target, data)
    text = os.fspath(target)
    path = Path(text)
    suffix = path.suffix.lower()
    if suffix in (".onnx", ".keras"):
        if not path.is_file():
            raise ValueError(f"there is no file {text}: expected {TARGETS}")
        refuse_data(data, text)
        if suffix == ".keras":
            from .keras_model import scan_keras

            return scan_keras(text)
        return scan_onnx(text)
    model = load_torch(text, trust=trust, allow_missing=allow_missing)
    from .torch_model import scan_torch

    return scan_torch(model, text, data)


def load_torch(text: str, *, trust: bool, allow_missing: bool) -> Any:
    """Return the PyTorch model of a folder or a program, or the one that a factory returns.

    Raises ValueError if there is no model, or if it needs `trust`.
    """
    path = Path(text)
    code = resolve.is_code(text)
    if not path.is_dir():
        if path.suffix.lower() not in PROGRAMS and not code:
            raise ValueError(f"{text!r} is not a model: expected {TARGETS}")
        if not code and not path.is_file():
            raise ValueError(f"there is no file {text}: expected {TARGETS}")
        if not trust:
            raise ValueError(
                f"{text} contains code, which is not run: pass trust=True (--trust) to run it"
            )
    require("torch", purpose="a PyTorch model")
    if path.is_dir() or code:
        from ..diagnose.loading import load_model

        return load_model(text, trust=trust, allow_missing=allow_missing)
    from .torch_programs import load_program

    return load_program(path)


def _scan_object(target: Any, data: Any) -> Scan:
    modules = {base.__module__.split(".")[0] for base in type(target).__mro__}
    if "keras" in modules:  # before torch, whose modules are its layers on that backend
        from .keras_model import scan_keras

        refuse_data(data, "a Keras model")
        return scan_keras(target)
    if "torch" in modules:
        from .torch_model import scan_torch

        return scan_torch(target, type(target).__name__, data)
    raise TypeError(f"the model is a {type(target).__name__}: expected {TARGETS}")


def refuse_data(data: Any, model: str) -> None:
    """Raise ValueError for inputs of a model that is not run."""
    if data is not None:
        raise ValueError(f"data (--data) is for PyTorch models: {model} is not run; omit it")


def scan_onnx(file: str) -> Scan:
    """Return the activations of an ONNX file, read in a worker process."""
    require("onnx", purpose="an ONNX file")
    require("onnxruntime", purpose="an ONNX file")
    with Worker("softgate.studies.scan.onnx_model") as worker:
        worker.send({"file": file})
        try:
            reply = worker.receive(TIME_LIMIT_S)
        except TimeoutError:
            raise ValueError(f"{file}: reading it took more than {TIME_LIMIT_S} s") from None
        if reply is None:
            raise ValueError(f"{file} cannot be read: onnx failed ({worker.kill(1.0).reason})")
    if "mistake" in reply:
        raise ValueError(reply["mistake"])
    return Scan.from_json(json.dumps(reply["scan"]))


def graph_notes(graph: IdentifiedGraph) -> list[str]:
    """Return notes on functions that were not evaluated, if there are any."""
    notes = [f"{path or 'the model'} computes a prelu with several slopes, which is not listed"
             for path in graph.several_slopes]  # fmt: skip
    if graph.skipped:
        notes.append(f"{graph.skipped} elementwise functions were not evaluated: too many")
    return notes


def collect(
    graph: IdentifiedGraph, units: int = 1, count: OperatorCount | None = None
) -> tuple[tuple[ScannedActivation, ...], tuple[ScannedActivation, ...]]:
    """Return the activations of a graph, and its other elementwise functions.

    A function that is computed several times in one place is one activation. `units` is the number
    of tokens or samples that were run. The operators of `count` are assigned to the rows.
    """
    activations, others = dict[Any, ScannedActivation](), dict[Any, ScannedActivation]()
    for part in graph.parts():
        if part.affine:
            continue
        activation = scanned_part(graph, part, units)
        if count is not None:
            activation = replace(activation, counted=count.assign(graph.counted(part.subgraph)))
        group = activations if part.is_activation else others
        key = (activation.path, activation.answer, activation.operators)
        group[key] = _merged(group[key], activation) if key in group else activation
    return tuple(activations.values()), tuple(others.values())


def scanned_part(graph: IdentifiedGraph, part: IdentifiedPart, units: int = 1) -> ScannedActivation:
    """Return the record of a part of a graph; its elements are those of one token or sample."""
    elements = graph.elements(part.subgraph)
    return ScannedActivation.of(
        graph.path(part.subgraph),
        part.identification,
        dtype=graph.dtype(part.subgraph),
        operators=graph.operators(part.subgraph),
        elements=None if elements is None or elements % units else elements // units,
    )


def _merged(first: ScannedActivation, second: ScannedActivation) -> ScannedActivation:
    sizes = [a.elements for a in (first, second)]
    elements = None if None in sizes else sum(size for size in sizes if size is not None)
    return replace(
        first,
        calls=first.calls + second.calls,
        elements=elements,
        counted=first.counted + second.counted,
    )


def with_claim(
    scanned: tuple[ScannedActivation, ...], field: str, name: str
) -> tuple[tuple[ScannedActivation, ...], str, list[str]]:
    """Return the activations with what a configuration claims, the claim as text, and notes.

    The claim is for the feed-forward layers; a tanh in a pooler does not contradict it. An
    activation contradicts the claim if it is a variant of the claimed function, as the forms of
    GELU are; if no activation computes the claimed function, the most frequent one contradicts it.
    """
    text = f"{field} = {name}"
    try:
        if name.startswith(PREFIX):  # registered by softgate.torch.register_huggingface
            claimed = function(name.removeprefix(PREFIX))
        else:
            claimed = get(name, source="huggingface")
    except ValueError as error:
        return scanned, text, [f"{text}: {error}"]
    if not isinstance(claimed, Activation):
        return scanned, text, []
    meant = label(claimed)
    same = [a for a in scanned if a.label == meant or distance(a, claimed) <= EQUAL]
    wrong = {a.answer for a in scanned if a not in same and distance(a, claimed) <= NEAR}
    if not same and not wrong and scanned:
        answers = [a.answer for a in scanned]
        wrong = {max(answers, key=answers.count)}
    marked = tuple(
        replace(a, claim=meant, mismatch=a.answer in wrong) if a in same or a.answer in wrong else a
        for a in scanned
    )
    count = sum(a.mismatch for a in marked)
    places = "1 activation computes" if count == 1 else f"{count} activations compute"
    notes = [f"{text} means {meant}, but {places} {', '.join(sorted(wrong))}"] if count else []
    return marked, text if meant == name else f"{text} ({meant})", notes


def distance(activation: ScannedActivation, claimed: Activation) -> float:
    """Return the largest difference between an identified activation and another one."""
    x = np.linspace(-8, 8, 161)
    y = activation.unscaled(x)
    return float(np.max(np.abs(activation.scale * y + activation.offset - claimed(x))))
