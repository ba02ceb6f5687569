"""Small records with chosen numbers, so that the sentences of the report are known."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import compare_outcomes
import diagnosed

import softgate as sg
from softgate.records.record import Record
from softgate.reporting import MissingRecord, Results
from softgate.reporting.sections.about import About
from softgate.reporting.sections.accuracy import AccuracyStudy, TitledCertificate
from softgate.reporting.sections.approximation import approximations
from softgate.reporting.sections.curves import curves
from softgate.reporting.sections.playground import playground
from softgate.reporting.sections.speed import pareto
from softgate.reporting.sections.tables import articles
from softgate.runtime.machine import Machine
from softgate.studies.bench.layer_record import Layer, LayerRow
from softgate.studies.bench.record import Bench, BenchRow, Settings
from softgate.studies.certify.record import (
    Certificate,
    ErrorProfile,
    Measurement,
    RegionErrors,
    SpecialResult,
)

NAMES = ("gelu", "gelu_tanh", "relu", "silu", "hardshrink")
NS = {
    ("gelu", "softgate"): 0.5,
    ("gelu", "torch"): 0.8,
    ("gelu_tanh", "softgate"): 0.6,
    ("gelu_tanh", "torch"): 4.0,
    ("silu", "softgate"): 0.4,
    ("relu", "softgate"): 0.1,
}
"""Nanoseconds per element for the value; backward takes twice as long."""
SHARES = {"relu": 0.01, "gelu": 0.04}


def machine(cpu: str = "a processor") -> Machine:
    return Machine(cpu, "x86-64", ("avx2",), 2, 1, 1 << 33, "Linux x86_64", "3.12", {"L1": 32768},
                   {"numpy": "2.0"})  # fmt: skip


INSIDE = {
    ("relu", "softgate"): 0.1,
    ("gelu", "softgate"): 0.5,
    ("gelu", "torch"): 1.0,
    ("gelu", "softgate.torch"): 0.6,
    ("gelu", "tensorflow.function"): 4.0,
    ("gelu", "softgate.tensorflow"): 1.0,
}
"""The times of gelu inside frameworks, without JAX."""


def speed(times: dict[tuple[str, str], float] = NS, name: str = "gelu") -> Bench:
    settings = Settings((name,), ("softgate", "torch"), ("value", "backward"), ("float32",),
                        ("64K",), (1,), ("randn",), ("reused",), 1.0, 0)  # fmt: skip
    rows = [
        BenchRow(
            name if function == "gelu" else function, implementation, quantity, "float32", 65536,
            "L2", 1, "randn", "reused", least_ns=factor * ns, median_ns=factor * ns,
            relative_uncertainty=0.01,
            ratio_to_relu=ns / times["relu", "softgate"],
        )
        for quantity, factor in (("value", 1.0), ("backward", 2.0))
        for (function, implementation), ns in times.items()
    ]  # fmt: skip
    copy = BenchRow("copy", "softgate", "value", "float32", 65536, "L2", 1, "randn", "reused",
               least_ns=0.05)  # fmt: skip
    return Bench(machine(), settings, "2026-01-01", 1.0, (*rows, copy), warnings=("noisy",))


def layer(shares: dict[str, float] = SHARES, relative_uncertainty: float = 0.01) -> Layer:
    rows = tuple(
        LayerRow(
            activation=name, kind="plain", implementation=implementation, phase=phase, d_hidden=64,
            whole_ns=100.0, whole_median_ns=100.0, activation_ns=100 * share,
            activation_median_ns=100 * share, relative_uncertainty=relative_uncertainty, runs=10,
            saved_bytes=1024 if phase == "step" else None, matmul_flops=1000, activation_flops=10,
        )
        for implementation in ("torch", "softgate")
        for phase in ("forward", "step")
        for name, share in shares.items()
    )  # fmt: skip
    return Layer(
        machine=machine(), d_model=16, d_hidden=64, tokens=8, dtype="float32", threads=1, seed=0,
        when="2026-01-01", seconds=1.0, rows=rows,
    )  # fmt: skip


def certificate(subject: str, worst_ulp: float, quantity: str = "value") -> Certificate:
    counts = ("undecided", "not_numbers", "wrong_signs", "wrong_zeros", "lost", "flushed", "breaks")
    region = RegionErrors(
        name="negative", low=-4.0, high=-0.125, inputs=100, max_ulp=worst_ulp, worst=-3.5,
        computed=0.0, expected=-1e-9, mean_ulp=0.3, rounded=90, largest_break_ulp=0.0,
        **dict.fromkeys(counts, 0),
    )  # fmt: skip
    profile = ErrorProfile((-4.0, -2.0, 0.0, 2.0, 4.0), (worst_ulp, 0.5, None, math.inf))
    measured = Measurement(
        quantity=quantity, dtype="float32", inputs=100, exhaustive=False, truth="arb",
        margin_ulp=0.0, kernel_ulp=None, kernel_points=0, stated_ulp=4.0, digest=None,
        regions=(region,), specials=(SpecialResult("0", "0", "0", True),), dependences=(),
        profile=profile,
    )  # fmt: skip
    return replace(_any_certificate(), subject=subject, measurements=(measured,))


@cache
def _any_certificate() -> Certificate:
    return sg.certify(sg.gelu, dtype="float16", quantity="value")


def accuracy(title: str = "torch.nn.functional.gelu") -> AccuracyStudy:
    return AccuracyStudy(
        (
            TitledCertificate(
                "gelu", "softgate", "softgate.gelu", certificate("softgate:gelu", 2.5)
            ),
            TitledCertificate("gelu", "torch", title, certificate(title, 1e7)),
        ),
        ("jax: jax not installed",),
        20_000,
    )


def records(own: tuple[sg.Activation, ...] = ()) -> dict[str, Record | MissingRecord]:
    """Return a record of every study."""
    return dict(_records(own))


@cache
def _records(own: tuple[sg.Activation, ...]) -> dict[str, Record | MissingRecord]:
    known = [sg.activations()[name] for name in NAMES]
    approximation = approximations(own)
    times, exactness = speed(), accuracy()
    return {
        "curves": curves([*known, *own]),
        "properties": sg.properties(*known),
        **({"formulas": sg.properties(*own)} if own else {}),
        "approximation": approximation,
        "articles": articles(approximation, own),
        "speed": times,
        "inside": speed(INSIDE),
        "layer": layer(),
        "units": diagnosed.study(),
        "training": compare_outcomes.trained(),
        "accuracy": exactness,
        "pareto": pareto(times, exactness),
        "playground": playground(own),
        "about": About(machine(), "0.1", "softgate report", "2026-01-01", {"speed": 1.0}),
    }


def results(**changed: Any) -> Results:
    """Return the results, with some records replaced."""
    return Results(records() | changed)
