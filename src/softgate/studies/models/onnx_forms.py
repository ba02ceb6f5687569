"""Activations in operators: one of ONNX, primitives, or one of com.microsoft.

Each form is run once on a few numbers by the installed onnxruntime; one that fails is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import onnx

from softgate.formula.formats import FLOAT32, FORMATS, Format, dtype_of
from softgate.lower.onnx_operators import (
    INPUT,
    Operator,
    definition_graph,
    operator_graph,
    scaled_graph,
)
from softgate.runtime.activation import Activation
from softgate.runtime.name_table import Name, catalogue_of_names
from softgate.runtime.registry import activations, label

from ..emit import emit
from .onnx_model import inference_session

MICROSOFT = "com.microsoft"
UNIVERSAL = 6
"""Operators of this opset and earlier ones are primitives: every runtime has them."""
BIASED = "BiasGelu"
"""Takes a second input: written only where the model has one."""
CLIPPED = {"relu6": (0.0, 6.0)}
STABLE_SINCE = 12
"""The first opset that has all operators of stable forms."""


class NoOnnxForm(ValueError):
    """A function cannot be written in a model."""


@dataclass(frozen=True)
class OnnxForm:
    """A function as a graph from `x` to `y`."""

    graph: Any
    opset: int
    """The opset that the model must have, or a later one."""


def spell(
    activation: Activation,
    fmt: Format,
    opset: int,
    spelling: str | None = None,
    max_opset: int | None = None,
    scale: float = 1.0,
    offset: float = 0.0,
) -> OnnxForm:
    """Return the first form of a function that the installed onnxruntime runs.

    Parameters
    ----------
    activation : Activation
        The function.
    fmt, opset
        The format of its input, and the opset of the model.
    spelling : {"op", "primitives", "microsoft"}, optional
        The preferred form; by default an operator of the opset, or primitives.
    max_opset : int, optional
        The highest opset that an operator may need, if it is above that of the model.
    scale, offset : float
        The factor of the values, and the number that is added to the product.

    Raises
    ------
    NoOnnxForm
        If no form can be written in this format and opset.
    """
    values = tuple(sorted(activation.parameters.items()))
    return _spelled(activation, values, fmt.name, opset, spelling, max_opset, scale, offset)


@lru_cache(maxsize=256)
def _spelled(
    activation: Activation,
    values: tuple[tuple[str, float], ...],
    format_name: str,
    opset: int,
    spelling: str | None,
    max_opset: int | None,
    scale: float,
    offset: float,
) -> OnnxForm:
    fmt = FORMATS[format_name]
    for form in _forms(activation, fmt, opset, spelling, max_opset):
        spelled = form
        if scale != 1.0 or offset != 0.0:
            graph = scaled_graph(form.graph, scale, offset, fmt, form.opset)
            spelled = OnnxForm(graph, form.opset)
        if _is_correct(spelled, activation, fmt, scale, offset):
            return spelled
    raise NoOnnxForm(f"{label(activation)} in {fmt.name} has no form in opset {opset} that runs")


def _forms(
    activation: Activation, fmt: Format, opset: int, spelling: str | None, max_opset: int | None
) -> Iterator[OnnxForm]:
    """Yield the forms of a function, the preferred one first."""
    limit = opset if spelling != "op" else max(opset, max_opset or onnx.defs.onnx_opset_version())
    if spelling == "primitives":
        limit = min(opset, UNIVERSAL)
    operators = [] if activation.entry.user else list(_operators(activation))
    operators.sort(key=lambda o: (spelling == "microsoft") != (o.domain == MICROSOFT))
    for operator in operators:
        if operator.domain and spelling != "microsoft":
            continue
        if operator.domain or operator.since <= limit:
            needed = opset if operator.domain else max(opset, operator.since)
            graph = operator_graph(operator, fmt, needed)
            if graph is not None:
                yield OnnxForm(graph, needed)
    root = activation.entry.define_in_operators()
    graph = definition_graph(root, activation.parameters, fmt, opset)
    if graph is not None:
        yield OnnxForm(graph, opset)
    if opset >= STABLE_SINCE and fmt.name != "bfloat16":
        model = emit(activation, "onnx", dtype=fmt.name)
        yield OnnxForm(model.graph, opset)


def _operators(activation: Activation) -> Iterator[Operator]:
    """Yield the operators of ONNX and onnxruntime that compute a function, from names.toml."""
    bounds = CLIPPED.get(activation.name)
    if activation.name in ("clip", "hard_tanh"):
        low, high = (activation.parameters[name] for name in ("low", "high"))
        bounds = (low, high)
    if bounds is not None:
        yield Operator("Clip", numbers=bounds)
    for name in catalogue_of_names():
        if name.source != "onnx" or name.gated or name.required or not name.implemented:
            continue
        domain, _, kind = name.path.rpartition(".")
        if kind == BIASED:
            continue
        attributes = _attributes(name, activation)
        if attributes is not None:
            domain = domain if domain == MICROSOFT else ""
            yield Operator(kind, domain, attributes, since=name.since or 1)


def _attributes(name: Name, activation: Activation) -> dict[str, Any] | None:
    """Return the attributes with which an operator computes an activation; None if it does not."""
    attributes: dict[str, Any] = {}
    selected = name.function == activation.name
    for attribute, forms in name.forms.items():
        for value, function in forms:
            if function == activation.name:
                attributes[attribute], selected = value, True
                break
    rest = dict(activation.parameters)
    for attribute, target in name.takes.items():
        function, _, parameter = target.rpartition(".")
        if function and function != activation.name:
            continue
        selected = selected or bool(function)
        reciprocal = parameter.startswith("1/")
        value = rest.pop(parameter.removeprefix("1/"), None)
        if value is not None:
            attributes[attribute] = 1 / value if reciprocal else value
    if not selected:
        return None
    defaults = {**activations()[activation.name].parameters, **name.parameters}
    return attributes if all(defaults[n] == value for n, value in rest.items()) else None


def _is_correct(
    spelled: OnnxForm, activation: Activation, fmt: Format, scale: float, offset: float
) -> bool:
    """Return whether a form runs and computes the function; bfloat16 is checked in float32."""
    x = np.linspace(-8, 8, 65).astype(dtype_of(fmt))
    expected = scale * np.asarray(activation(x.astype(np.float64))) + offset
    try:
        y = run_graph(spelled.graph, spelled.opset, x)
    except RuntimeError:
        return fmt.name == "bfloat16"  # onnxruntime has few kernels for it on the CPU
    allowed = 1e-5 if fmt.bits >= FLOAT32.bits else 4 * 2.0**-fmt.mantissa_bits
    return bool(np.allclose(y.astype(np.float64), expected, rtol=allowed, atol=allowed))


def run_graph(graph: Any, opset: int, x: Any) -> Any:
    """Return the output of a graph of one input; raise RuntimeError if it cannot be run."""
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid(MICROSOFT, 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = onnx.helper.find_min_ir_version_for(opsets, True)
    try:
        (y,) = inference_session(model).run(None, {INPUT: x})
    except Exception as error:  # onnxruntime's exceptions have no common base class
        raise RuntimeError(str(error)) from None
    return np.asarray(y)
