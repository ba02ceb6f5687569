"""The record of a feed-forward layer: the activation's share of its time, memory and arithmetic.

The gain of replacing an activation follows by Amdahl's law from its share of the time and from the
time of its replacement. The rest of the layer stays the same, so this is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from textwrap import fill
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.machine import Machine, in_bytes

from .. import counted
from .record import UNCERTAIN

OURS, THEIRS = "softgate", "torch"
PHASES = {"forward": "forward", "step": "training step"}
"""The phases that are timed, and their names in tables."""
REFERENCES = {"plain": "relu", "gated": "reglu"}
"""The activation of each kind that the others are compared with: the cheapest."""

NOTHING = "–"
SLOWER = "it is slower here"
FASTER = "it is faster here"
UNCLEAR = "the difference is within the noise here"
WIDTH = 96
"""Columns of a line of text."""


@dataclass(frozen=True)
class LayerRow:
    """One layer in one phase: times in ns of the layer and of the activation in it."""

    activation: str
    kind: str
    """"plain", or "gated" if one linear layer gates another."""
    implementation: str
    phase: str
    """"forward", or "step": forward and backward, to the input and to every weight."""
    d_hidden: int
    whole_ns: float
    whole_median_ns: float
    activation_ns: float
    activation_median_ns: float
    relative_uncertainty: float
    """Distance of the least times of every other run and of the rest, relative to the smaller; of
    the layer or of the activation, whichever is larger."""
    runs: int
    saved_bytes: int | None
    """Saved for backward, counted by autograd's hooks; None for a forward pass alone."""
    matmul_flops: int
    activation_flops: int | None
    """None if not counted: torch's operators, and results that are looked up in a table."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Activation, implementation and phase."""
        return self.activation, self.implementation, self.phase

    @property
    def share(self) -> float:
        """The activation's share of the layer's time, both at their least."""
        return self.activation_ns / self.whole_ns

    @property
    def gain_if_free(self) -> float:
        """Speed-up of the layer if its activation took no time."""
        return 1 / (1 - self.share)

    def gain(self, other: LayerRow) -> float:
        """Return the speed-up of the layer with another row's activation, by Amdahl's law."""
        return 1 / (1 - self.share * (1 - other.activation_ns / self.activation_ns))


@dataclass(frozen=True)
class Layer(Record):
    """Times of activations inside a feed-forward layer, torch's and softgate's."""

    schema: ClassVar[str] = "softgate.layer"
    machine: Machine
    d_model: int
    d_hidden: int
    tokens: int
    dtype: str
    threads: int
    seed: int
    when: str
    seconds: float
    rows: tuple[LayerRow, ...]
    background_load: float | None = None
    """Share of all cores that other processes used meanwhile."""
    warnings: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[LayerRow]:
        return iter(self.rows)

    def find(self, activation: str, implementation: str, phase: str) -> LayerRow:
        """Return one row; raise ValueError if it was not measured."""
        for row in self.rows:
            if row.key == (activation, implementation, phase):
                return row
        measured = ", ".join(
            dict.fromkeys(f"{row.activation} in {row.implementation}" for row in self)
        )
        raise ValueError(
            f"{activation} in {implementation}, {phase}: not measured; choose from {measured}, "
            f"each with {' and '.join(PHASES)}"
        )

    def reference(self, row: LayerRow) -> LayerRow:
        """Return the cheapest activation of the same kind in the same implementation."""
        return self.find(REFERENCES[row.kind], row.implementation, row.phase)

    def grids(self) -> tuple[Grid, ...]:
        """Return times, memory and operations, the gains of swaps, and the answers in words."""
        method = (
            "least and median of interleaved runs, the activation timed inside the layer; seed "
            f"{self.seed}, {self.seconds:.0f} s, {self.when}"
        )
        tables = [origin(self.machine, method), *(_times(self, phase) for phase in PHASES)]
        texts = {"In words": self.answers(), "Warnings": self.warnings, "Not run": self.not_run}
        tables += [_operations(self), *_swaps(self)]
        return (*tables, *(in_words(title, lines) for title, lines in texts.items() if lines))

    def answers(self) -> tuple[str, ...]:
        """Return the conclusions as sentences."""
        return (*_swap_answers(self), *_tanh_answers(self), *_flop_answers(self), *_memory(self))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every row with all digits."""
        header = (*(field.name for field in fields(LayerRow)), "share")
        return header, [tuple(getattr(row, name) for name in header) for row in self.rows]


def origin(machine: Machine, method: str) -> Grid:
    """Return a table of the machine, the versions, and the method."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    rows = (("versions", fill(versions, WIDTH)), ("method", fill(method, WIDTH)))
    return Grid("", ("machine", fill(str(machine), WIDTH)), rows, text=True)


def in_words(header: str, sentences: tuple[str, ...]) -> Grid:
    """Return a table of sentences."""
    rows = tuple((fill(sentence, WIDTH),) for sentence in sentences)
    return Grid("", (header,), rows, labels=0, text=True)


def _shape(layer: Layer) -> str:
    return (
        f"{layer.d_model} → {layer.d_hidden} → {layer.d_model}, {layer.tokens:,} tokens, "
        f"{layer.dtype}, {counted(layer.threads, 'thread')}"
    )


def _times(layer: Layer, phase: str) -> Grid:
    rows = tuple(
        (
            row.activation,
            row.implementation,
            f"{row.whole_ns / 1e6:.2f}",
            f"{row.whole_median_ns / 1e6:.2f}",
            f"{row.activation_ns / 1e6:.3f}",
            f"{row.activation_median_ns / 1e6:.3f}",
            f"{100 * row.share:.1f} %",
            f"{row.activation_ns / layer.reference(row).activation_ns:.2f}",
        )
        for row in layer
        if row.phase == phase
    )
    header = (
        "activation", "in", "layer ms", "median", "activation ms", "median", "share",
        "x relu, reglu",
    )  # fmt: skip
    return Grid(f"Feed-forward layer, {PHASES[phase]}: {_shape(layer)}", header, rows, 2)


def _operations(layer: Layer) -> Grid:
    rows = []
    for row in (row for row in layer if row.phase == "step"):
        forward = layer.find(row.activation, row.implementation, "forward")
        assert row.saved_bytes is not None
        rows.append(
            (
                row.activation,
                row.implementation,
                str(row.d_hidden),
                in_bytes(row.saved_bytes),
                _millions(forward.matmul_flops),
                _activation(forward),
                _each(layer, forward),
                _millions(row.matmul_flops),
                _activation(row),
            )
        )
    header = (
        "activation", "in", "hidden", "saved for backward", "products MFLOP\nforward",
        "activation MFLOP\nforward", "FLOP per element\nforward", "products MFLOP\nstep",
        "activation MFLOP\nstep",
    )  # fmt: skip
    title = "Memory and arithmetic: products by their shapes, softgate's kernels by their graphs"
    return Grid(title, header, tuple(rows), 2)


def _millions(flops: int) -> str:
    return f"{flops / 1e6:,.0f}" if flops >= 1e8 else f"{flops / 1e6:.3g}"


def _activation(row: LayerRow) -> str:
    if row.activation_flops is not None:
        return _millions(row.activation_flops)
    return "looked up" if row.implementation == OURS else NOTHING


def _each(layer: Layer, row: LayerRow) -> str:
    """Return the operations per element as text."""
    if row.activation_flops is None:
        return NOTHING
    return f"{row.activation_flops // (layer.tokens * row.d_hidden)}"


def _swaps(layer: Layer) -> list[Grid]:
    """Return the table of the gains of swaps, unless it would be empty."""
    rows = []
    for row in layer:
        if row.phase == "forward" and row.activation not in REFERENCES.values():
            phases = (row, layer.find(row.activation, row.implementation, "step"))
            gains = [f"{phase.gain(layer.reference(phase)):.3f}" for phase in phases]
            free = [f"{phase.gain_if_free:.3f}" for phase in phases]
            rows.append((row.activation, row.implementation, REFERENCES[row.kind], *gains, *free))
    header = (
        "replacing", "in", "by", "x as fast\nforward", "x as fast\ntraining step",
        "if it were free\nforward", "if it were free\ntraining step",
    )  # fmt: skip
    title = "Largest gain of a replacement (Amdahl's law, shares as above)"
    return [Grid(title, header, tuple(rows), 3)] if rows else []


def _measured(layer: Layer, *activations: str) -> Iterator[str]:
    """Yield the implementations in which all of these were measured."""
    for implementation in dict.fromkeys(row.implementation for row in layer):
        measured = {row.activation for row in layer if row.implementation == implementation}
        if measured.issuperset(activations):
            yield implementation


def _swap_answers(layer: Layer) -> Iterator[str]:
    """Yield the gain for gelu, or for the first that is not a reference; the table has the rest."""
    swapped = [row for row in layer if row.activation not in REFERENCES.values()]
    swapped.sort(key=lambda row: row.activation != "gelu")
    if not swapped:
        return
    activation, other = swapped[0].activation, REFERENCES[swapped[0].kind]
    parts = []
    for name in _measured(layer, activation, other):
        rows = [layer.find(activation, name, phase) for phase in PHASES]
        forward, step = (row.gain(layer.reference(row)) for row in rows)
        parts.append(f"{forward:.3f} x as fast forward and {step:.3f} x in training in {name}")
    uncertainty = max(
        row.relative_uncertainty for row in layer if row.activation in (activation, other)
    )
    noise = (
        f" These times are uncertain by up to {uncertainty:.0%}." if uncertainty > UNCERTAIN else ""
    )
    yield f"Largest gain of replacing {activation} by {other}: {', '.join(parts)}.{noise}"


def _tanh_answers(layer: Layer) -> Iterator[str]:
    """Yield a comparison of the times of gelu's tanh form and exact form in each implementation."""
    for name in _measured(layer, "gelu", "gelu_tanh"):
        parts, verdicts = [], []
        for phase, name_of_phase in PHASES.items():
            exact, tanh = (layer.find(a, name, phase) for a in ("gelu", "gelu_tanh"))
            ratio = tanh.activation_ns / exact.activation_ns
            times = f"{tanh.activation_ns / 1e6:.2f} against {exact.activation_ns / 1e6:.2f} ms"
            when = name_of_phase if phase == "forward" else f"in a {name_of_phase}"
            parts.append(f"{ratio:.2f} times the exact form's time {when} ({times})")
            clear = abs(ratio - 1) > max(exact.relative_uncertainty, tanh.relative_uncertainty)
            verdicts.append((SLOWER if ratio > 1 else FASTER) if clear else UNCLEAR)
        verdict = verdicts[0] if len(set(verdicts)) == 1 else UNCLEAR
        yield f"The tanh form of gelu takes {' and '.join(parts)} in {name}: {verdict}."


def _flop_answers(layer: Layer) -> Iterator[str]:
    for name in _measured(layer, "gelu", "relu"):
        gelu, relu = (layer.find(a, name, "forward") for a in ("gelu", "relu"))
        if gelu.activation_flops is None or not relu.activation_flops:
            continue
        times = gelu.activation_flops / relu.activation_flops
        yield (
            f"gelu takes {times:.0f} times the FLOPs of relu, counted in {name}'s kernels "
            "(articles state three to four), which is "
            f"{100 * gelu.activation_flops / gelu.matmul_flops:.2f} % of the matrix products'. "
            f"It takes {gelu.activation_ns / relu.activation_ns:.1f} times relu's time and "
            f"{100 * gelu.share:.1f} % of the layer's: FLOPs do not predict the time."
        )


def _memory(layer: Layer) -> Iterator[str]:
    """Yield the activations for which one implementation saves less than the other."""
    alike: dict[str, list[str]] = {}
    for activation in dict.fromkeys(row.activation for row in layer):
        saved = {
            row.implementation: row.saved_bytes
            for row in layer
            if row.phase == "step" and row.activation == activation and row.saved_bytes
        }
        if len(saved) == 2 and len(set(saved.values())) == 2:
            (more, most), (less, least) = sorted(saved.items(), key=lambda item: -item[1])
            sentence = (
                f"{less} saves {in_bytes(least)} for backward, {least / most:.2f} times {more}'s "
                f"{in_bytes(most)}."
            )
            alike.setdefault(sentence, []).append(activation)
    for sentence, activations in alike.items():
        yield f"With {', '.join(activations)}, {sentence}"
