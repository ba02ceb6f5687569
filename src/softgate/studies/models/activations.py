"""The activations of a model as rows: collected from a graph, compared with what is claimed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.lookup import lookup
from softgate.runtime.registry import label

from .elementwise_subgraphs import Subgraph
from .operator_count import OperatorCount
from .probing import IdentifiedPart
from .record import ScannedActivation

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
        if count is not None and part.identification is not None:
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
            claimed = lookup(name.removeprefix(PREFIX))
        else:
            claimed = lookup(name, source="huggingface")
    except (TypeError, ValueError) as error:
        return scanned, text, [f"{text}: {error}"]
    if claimed.nin > 1:
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
