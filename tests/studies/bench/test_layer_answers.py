"""What is concluded from a layer's figures: shares, gains, sentences."""

from __future__ import annotations

import pytest

from softgate.runtime.machine import this_machine
from softgate.studies.bench.layer_record import OURS, THEIRS, Layer, LayerRow


def row(activation, phase, whole, inside, implementation=THEIRS, **more):
    settings = {"saved_bytes": 100 if phase == "step" else None, "activation_flops": None, **more}
    return LayerRow(
        activation=activation, kind="plain", implementation=implementation, phase=phase,
        d_hidden=24, whole_ns=whole, whole_median_ns=whole, activation_ns=inside,
        activation_median_ns=inside, relative_uncertainty=0.0, runs=4, matmul_flops=1000,
        **settings,
    )  # fmt: skip


def layer(*rows):
    return Layer(this_machine(), 12, 24, 5, "float32", 1, 0, "now", 1.0, rows)


MEASURED = layer(
    row("relu", "forward", 80.0e6, 5.0e6),
    row("relu", "step", 240.0e6, 10.0e6),
    row("gelu", "forward", 100.0e6, 25.0e6),
    row("gelu", "step", 300.0e6, 70.0e6),
    row("gelu_tanh", "forward", 175.0e6, 100.0e6),
    row("gelu_tanh", "step", 400.0e6, 170.0e6),
)


def test_the_gain_is_amdahls():
    gelu, relu = (MEASURED.find(name, THEIRS, "forward") for name in ("gelu", "relu"))
    assert gelu.share == 0.25
    assert gelu.gain(relu) == pytest.approx(100 / 80)
    assert gelu.gain_if_free == pytest.approx(100 / 75)
    assert relu.gain(relu) == 1
    assert MEASURED.reference(gelu) is relu


def test_the_answers_say_what_was_measured():
    swap, tanh = MEASURED.answers()
    assert "Largest gain of replacing gelu by relu: 1.250 x as fast forward and 1.250 x" in swap
    assert "takes 4.00 times the exact form's time forward (100.00 against 25.00 ms)" in tanh
    assert tanh.endswith("in torch: it is slower here.")
    quick = layer(
        *(item for item in MEASURED if item.activation != "gelu_tanh"),
        row("gelu_tanh", "forward", 90.0e6, 10.0e6),
        row("gelu_tanh", "step", 250.0e6, 30.0e6),
    )
    assert quick.answers()[1].endswith("in torch: it is faster here.")
    noisy = layer(
        *(
            quick_row
            for quick_row in quick
            if (quick_row.activation, quick_row.phase) != ("gelu", "step")
        ),
        LayerRow(**{**vars(quick.find("gelu", THEIRS, "step")), "relative_uncertainty": 0.9}),
    )
    assert noisy.answers()[1].endswith("the difference is within the noise here.")


def test_operations_and_memory_in_words():
    result = layer(
        row("relu", "forward", 80.0, 5.0, OURS, activation_flops=10),
        row("relu", "step", 80.0, 5.0, OURS, activation_flops=20),
        row("gelu", "forward", 80.0, 10.0, OURS, activation_flops=540),
        row("gelu", "step", 80.0, 10.0, OURS, activation_flops=900, saved_bytes=50),
        row("relu", "forward", 80.0, 5.0),
        row("relu", "step", 80.0, 5.0),
        row("gelu", "forward", 80.0, 10.0),
        row("gelu", "step", 80.0, 10.0),
    )
    _, flops, memory = result.answers()
    assert "gelu takes 54 times the FLOPs of relu, counted in softgate's kernels" in flops
    assert "54.00 % of the matrix products'" in flops
    assert memory == (
        "With gelu, softgate saves 50 bytes for backward, 0.50 times torch's 100 bytes."
    )


def test_a_record_goes_through_json_and_is_shown():
    assert Layer.from_json(MEASURED.to_json()) == MEASURED
    header, rows = MEASURED.table()
    assert dict(zip(header, rows[2], strict=True))["share"] == 0.25
    text = str(MEASURED)
    assert "25.0 %" in text
    assert "In words" in text
    assert "<table>" in MEASURED._repr_html_()
    with pytest.raises(
        ValueError, match="mish in torch, forward: not measured; choose from relu in"
    ):
        MEASURED.find("mish", THEIRS, "forward")
