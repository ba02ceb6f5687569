"""What people see of a `Layer`: tables, and the answers in words."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from softgate.runtime.machine import Machine, in_bytes
from softgate.runtime.records import Grid

from .layer import OURS, PHASES, REFERENCES, Layer, LayerRow
from .ratios import DOUBTFUL

NOTHING = "–"
SLOWER = "it is no way to save time here"
FASTER = "it saves time here"
UNCLEAR = "whether it saves time cannot be told here"
WIDTH = 96
"""Of a line of words."""


def grids(layer: Layer) -> tuple[Grid, ...]:
    """Return every grid that there is something for."""
    method = (
        "least and median of interleaved runs, the activation timed inside the layer; seed "
        f"{layer.seed}, {layer.seconds:.0f} s, {layer.when}"
    )
    made = [origin(layer.machine, method), *(_times(layer, phase) for phase in PHASES)]
    made += [_operations(layer)]
    if swaps := _swaps(layer):
        made.append(swaps)
    made.append(_words("In words", answers(layer)))
    if layer.warnings:
        made.append(_words("Warnings", layer.warnings))
    if layer.not_run:
        made.append(_words("Not run", layer.not_run))
    return tuple(made)


def origin(machine: Machine, method: str) -> Grid:
    """Return what figures come from: machine, versions, and how they were measured."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    rows = (("versions", fill(versions, WIDTH)), ("method", fill(method, WIDTH)))
    return Grid("", ("machine", fill(str(machine), WIDTH)), rows, text=True)


def _words(header: str, sentences: tuple[str, ...]) -> Grid:
    rows = tuple((fill(sentence, WIDTH),) for sentence in sentences)
    return Grid("", (header,), rows, labels=0, text=True)


def _shape(layer: Layer) -> str:
    return (
        f"{layer.d_model} → {layer.d_hidden} → {layer.d_model}, {layer.tokens:,} tokens, "
        f"{layer.dtype}, {_threads(layer.threads)}"
    )


def _threads(count: int) -> str:
    return f"{count} thread" + ("s" if count > 1 else "")


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
        "activation MFLOP\nforward", "FLOP an element\nforward", "products MFLOP\nstep",
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
    """Return the operations of one element."""
    if row.activation_flops is None:
        return NOTHING
    return f"{row.activation_flops // (layer.tokens * row.d_hidden)}"


def _swaps(layer: Layer) -> Grid | None:
    rows = []
    for row in layer:
        if row.phase == "forward" and row.activation not in REFERENCES.values():
            both = (row, layer.find(row.activation, row.implementation, "step"))
            gains = [f"{one.gain(layer.reference(one)):.3f}" for one in both]
            free = [f"{one.gain_if_free:.3f}" for one in both]
            rows.append((row.activation, row.implementation, REFERENCES[row.kind], *gains, *free))
    if not rows:
        return None
    header = (
        "swapping", "in", "for", "x as fast\nforward", "x as fast\ntraining step",
        "if it were free\nforward", "if it were free\ntraining step",
    )  # fmt: skip
    return Grid("The most that a swap can gain (Amdahl's law, shares as above)", header,
                tuple(rows), 3)  # fmt: skip


def answers(layer: Layer) -> tuple[str, ...]:
    """Return in sentences what the figures say."""
    return (*_swap_answers(layer), *_tanh_answers(layer), *_flop_answers(layer), *_memory(layer))


def _measured(layer: Layer, *activations: str) -> Iterator[str]:
    """Yield the implementations in which all of these were measured."""
    for implementation in dict.fromkeys(row.implementation for row in layer):
        found = {row.activation for row in layer if row.implementation == implementation}
        if found.issuperset(activations):
            yield implementation


def _swap_answers(layer: Layer) -> Iterator[str]:
    """Answer for gelu, or for the first that is no reference itself; the table has the others."""
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
    doubt = max(row.doubt for row in layer if row.activation in (activation, other))
    noise = f" But these times are in doubt by up to {doubt:.0%}." if doubt > DOUBTFUL else ""
    yield f"What can swapping {activation} for {other} gain at most? {', '.join(parts)}.{noise}"


def _tanh_answers(layer: Layer) -> Iterator[str]:
    """Say what the tanh form, known as the fast one, takes here."""
    for name in _measured(layer, "gelu", "gelu_tanh"):
        parts, verdicts = [], []
        for phase, said in PHASES.items():
            exact, tanh = (layer.find(a, name, phase) for a in ("gelu", "gelu_tanh"))
            ratio = tanh.activation_ns / exact.activation_ns
            times = f"{tanh.activation_ns / 1e6:.2f} against {exact.activation_ns / 1e6:.2f} ms"
            parts.append(f"{ratio:.2f} times the exact form's time {_in(said)} ({times})")
            told = abs(ratio - 1) > max(exact.doubt, tanh.doubt)
            verdicts.append((SLOWER if ratio > 1 else FASTER) if told else UNCLEAR)
        verdict = verdicts[0] if len(set(verdicts)) == 1 else UNCLEAR
        yield f"The tanh form of gelu takes {' and '.join(parts)} in {name}: {verdict}."


def _in(phase: str) -> str:
    return phase if phase == "forward" else f"in a {phase}"


def _flop_answers(layer: Layer) -> Iterator[str]:
    for name in _measured(layer, "gelu", "relu"):
        gelu, relu = (layer.find(a, name, "forward") for a in ("gelu", "relu"))
        if gelu.activation_flops is None or not relu.activation_flops:
            continue
        times = gelu.activation_flops / relu.activation_flops
        yield (
            f"gelu has {times:.0f} times the FLOPs of relu, counted in {name}'s kernels (claimed "
            "are three to four), which is "
            f"{100 * gelu.activation_flops / gelu.matmul_flops:.2f} % of the products'. It takes "
            f"{gelu.activation_ns / relu.activation_ns:.1f} times relu's time and "
            f"{100 * gelu.share:.1f} % of the layer's: FLOPs do not tell the time."
        )


def _memory(layer: Layer) -> Iterator[str]:
    """Say where one implementation keeps less than the other, for those that do so alike."""
    alike: dict[str, list[str]] = {}
    for activation in dict.fromkeys(row.activation for row in layer):
        found = {
            row.implementation: row.saved_bytes
            for row in layer
            if row.phase == "step" and row.activation == activation and row.saved_bytes
        }
        if len(found) == 2 and len(set(found.values())) == 2:
            (more, most), (less, least) = sorted(found.items(), key=lambda item: -item[1])
            said = (
                f"{less} keeps {in_bytes(least)} for the way back, {more} {in_bytes(most)}: "
                f"{least / most:.2f} of it."
            )
            alike.setdefault(said, []).append(activation)
    for said, activations in alike.items():
        yield f"With {', '.join(activations)}, {said}"
