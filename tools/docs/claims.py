"""Statements of three articles on GELU, each with a computation and a verdict.

The statements are restated, not quoted. A check computes what decides the statement and returns a
verdict by a rule; `Claim.verdict` is the verdict that the page states, and a test requires both to
be equal.
Statements on history and on training results that need hours are left out.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import markdown_tables
import numpy as np

import softgate as sg
from softgate.reporting.sections.approximation import Approximation, approximations
from softgate.reporting.sections.tables import Articles, articles
from softgate.studies.bench.flops import kernel_operations
from softgate.studies.properties.record import Properties

RIGHT, WRONG, DEPENDS = "right", "wrong", "depends"
ARTICLES = {
    "1": "GELU Activation Function (a blog post with three tables and a program)",
    "2": "Why does BERT use the tanh activation function instead of GELU?",
    "3": "GELU Activation Function: Formula, Intuition, and Use in Deep Learning",
}
NORMAL, WEIGHTS = np.polynomial.hermite_e.hermegauss(200)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Points and weights for means over N(0,1)."""

Result = tuple[str, str]
"""A verdict, and the computed values as text."""


@dataclass(frozen=True)
class Claim:
    """A statement: in which articles it is, the verdict, and the check that computes it."""

    topic: str
    articles: str
    statement: str
    verdict: str
    check: Callable[[], Result]


CLAIMS: list[Claim] = []


def claim(
    topic: str, articles: str, statement: str, verdict: str
) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    """Return a decorator that adds a statement to the page; it decorates the check."""

    def add(check: Callable[[], Result]) -> Callable[[], Result]:
        CLAIMS.append(Claim(topic, articles, statement, verdict, check))
        return check

    return add


def right_if(condition: bool, measured: str) -> Result:
    """Return "right" if a condition holds, else "wrong"."""
    return (RIGHT if condition else WRONG), measured


def depends_if(first: bool, second: bool, measured: str) -> Result:
    """Return "depends" if exactly one of two readings of a statement holds."""
    return (DEPENDS if first != second else RIGHT if first else WRONG), measured


def at(quantity: Callable[..., Any], x: float) -> float:
    """Return a function at one number, in float64."""
    return float(quantity(np.float64(x)))


@cache
def known(name: str) -> Properties:
    """Return the properties of an activation."""
    properties: Properties = sg.activations()[name].properties
    return properties


@cache
def form() -> Approximation:
    """Return the comparison of the tanh form with GELU."""
    return next(it for it in approximations().functions if it.name == "gelu_tanh")


@cache
def printed() -> Articles:
    """Return the figures of the first article, checked."""
    return articles(approximations())


@cache
def presets() -> dict[str, dict[str, Any]]:
    """Return the facts about published models, which tests compare with Hugging Face's."""
    text = (files("softgate") / "torch" / "model_presets.toml").read_text(encoding="utf-8")
    models = tomllib.loads(text)
    return {
        name: {**models.get(facts.get("like", ""), {}), **facts} for name, facts in models.items()
    }


@cache
def times() -> dict[str, dict[str, float]]:
    """Return ns per element by function and implementation, from docs/speed.md."""
    result: dict[str, dict[str, float]] = {}
    for row in markdown_tables.rows("speed.md", "float32", "value"):
        cells = {name: cell.split(" ")[0] for name, cell in row.items() if name != "function"}
        result[row["function"]] = {
            name: float(cell)
            for name, cell in cells.items()
            if not name.startswith("x ") and cell.replace(".", "", 1).isdigit()
        }
    return result


@cache
def defaults() -> dict[str, str]:
    """Return what functions called gelu compute by default, by path."""
    return {record.path: record.computes for record in sg.names(name="gelu")}


def listed(values: Iterable[str]) -> str:
    """Return items as text."""
    return ", ".join(values)


GATE = "The gate and its values"


@claim(GATE, "1, 2, 3", "GELU is z·Φ(z), where Φ is the distribution function of N(0,1).", RIGHT)
def gelu_is_a_product() -> Result:
    z = np.linspace(-8, 8, 1001)
    difference = float(np.max(np.abs(sg.gelu(z) - z * sg.Phi(z))))
    return right_if(
        difference < 1e-15, f"Largest difference from z·Φ(z) on [-8, 8]: {difference:.1e}."
    )


@claim(GATE, "1", "The gate is the probability that the input “is positive” under N(0,1).", DEPENDS)
def gate_is_a_probability() -> Result:
    noise = np.random.default_rng(0).standard_normal(1_000_000)
    with_noise = float(np.mean(-1 + noise > 0))
    without = 1 - at(sg.Phi, 0)
    return depends_if(
        abs(with_noise - at(sg.Phi, -1)) < 2e-3,
        abs(without - at(sg.Phi, -1)) < 2e-3,
        f"P(z + ε > 0) with ε from N(0,1) is Φ(z): {with_noise:.4f} simulated at z = -1, Φ(-1) = "
        f"{at(sg.Phi, -1):.4f}. P(ε > 0) is {without:g} for every z.",
    )


@claim(GATE, "1", "Φ(0) = 0.5 and GELU(0) = 0.", RIGHT)
def at_zero() -> Result:
    half, zero = at(sg.Phi, 0), at(sg.gelu, 0)
    return right_if((half, zero) == (0.5, 0), f"Φ(0) = {half:g}, GELU(0) = {zero:g}.")


@claim(GATE, "1", "Φ(-1) is about 0.158.", DEPENDS)
def gate_at_minus_one() -> Result:
    value = at(sg.Phi, -1)
    truncated = math.floor(value * 1000) == 158
    return depends_if(
        truncated, round(value * 1000) == 158, f"{value:.6f}: 0.158 truncated, {value:.3f} rounded."
    )


@claim(GATE, "1", "Φ(3) is about 0.999, so GELU(3) is about 3.", RIGHT)
def gate_at_three() -> Result:
    gate, value = at(sg.Phi, 3), at(sg.gelu, 3)
    close = abs(gate - 0.999) < 5e-4 and abs(value - 3) < 0.01
    return right_if(close, f"Φ(3) = {gate:.6f}, GELU(3) = {value:.6f}.")


@claim(GATE, "1", "GELU passes z = -0.1 “slightly damped”.", WRONG)
def small_negative_input() -> Result:
    share = at(sg.gelu, -0.1) / -0.1
    return right_if(
        share > 0.9, f"GELU(-0.1) = {at(sg.gelu, -0.1):.6f}: {share:.1%} of it remains."
    )


@claim(GATE, "1, 3", "GELU passes large positive inputs almost unchanged.", RIGHT)
def large_inputs() -> Result:
    shares = {z: at(sg.Phi, z) for z in (3, 4, 5)}
    text = listed(f"Φ({z}) = {share:.6f}" for z, share in shares.items())
    return right_if(min(shares.values()) > 0.99, f"{text}.")


@claim(GATE, "3", "GELU scales an input by its magnitude.", WRONG)
def magnitude() -> Result:
    plus, minus = at(sg.Phi, 2), at(sg.Phi, -2)
    text = f"2 and -2 have the same magnitude; they are multiplied by {plus:.4f} and {minus:.4f}."
    return right_if(plus == minus, text)


@claim(GATE, "3", "Φ(x) tells how “expected” the input is.", WRONG)
def expected_input() -> Result:
    gates, densities = ([at(f, z) for z in (0, 3)] for f in (sg.Phi, sg.phi))
    return right_if(
        (gates[0] > gates[1]) == (densities[0] > densities[1]),
        f"The density falls from φ(0) = {densities[0]:.4f} to φ(3) = {densities[1]:.4f}, while "
        "Φ rises "
        f"from {gates[0]:g} to {gates[1]:.4f}: Φ is the share of smaller inputs.",
    )


@claim(GATE, "3", "Φ tends to 1 for large inputs and to 0 for very negative ones.", RIGHT)
def gate_limits() -> Result:
    limits = known("Phi").limits
    return right_if(limits == (0, 1), f"Limits: {limits[0]:g} at -∞ and {limits[1]:g} at +∞.")


@claim(GATE, "2", "GELU adds noise: it has “a stochastic element”.", WRONG)
def stochastic() -> Result:
    z = np.linspace(-4, 4, 100_001)
    same = bool(np.array_equal(sg.gelu(z), sg.gelu(z)))
    draws = np.random.default_rng(1).random(1_000_000) < at(sg.Phi, -0.5)
    mean = float(np.mean(-0.5 * draws))
    return right_if(
        not same,
        "Two calls on 100,001 inputs are equal in every bit. GELU is the mean of z times a "
        "random 0 or "
        f"1: simulated {mean:.4f} at z = -0.5, GELU(-0.5) = {at(sg.gelu, -0.5):.4f}.",
    )


@claim(GATE, "1", "ReLU is max(0, z); at z = -0.1 value and slope are 0.", RIGHT)
def relu_values() -> Result:
    z = np.linspace(-3, 3, 601)
    equal = bool(np.array_equal(sg.relu(z), np.maximum(z, 0)))
    value, slope = at(sg.relu, -0.1), at(sg.relu.slope, -0.1)
    return right_if(
        equal and value == slope == 0, f"ReLU(-0.1) = {value:g}, ReLU′(-0.1) = {slope:g}."
    )


@claim(GATE, "1", "GELU is never below about -0.17.", RIGHT)
def least_value() -> Result:
    least = known("gelu").minimum
    assert least is not None
    return right_if(
        abs(least.value + 0.17) < 0.005,
        f"Minimum {least.value:.12f} at z = {least.at[0].low:.12f}.",
    )


@claim(GATE, "2", "GELU's output is not bounded.", DEPENDS)
def bounds() -> Result:
    p = known("gelu")
    assert p.minimum is not None
    assert p.maximum is not None
    return depends_if(
        math.isinf(p.maximum.value),
        math.isinf(p.minimum.value),
        f"Unbounded above; bounded below by {p.minimum.value:.6f}.",
    )


@claim(GATE, "1", "GELU tends to 0 as z → -∞.", RIGHT)
def left_limit() -> Result:
    return right_if(known("gelu").limits[0] == 0, f"Limit 0; GELU(-10) = {at(sg.gelu, -10):.3e}.")


@claim(GATE, "1", "GELU's outputs are skewed to positive values, as ReLU's are.", RIGHT)
def skewed() -> Result:
    means = {name: known(name).mean for name in ("gelu", "relu", "tanh")}
    text = listed(f"{name} {mean:.4f}" for name, mean in means.items())
    return right_if((means["gelu"] or 0) > 0.1, f"Mean output for z from N(0,1): {text}.")


@claim(GATE, "1", "The 84 figures of three tables and a program's output are right.", WRONG)
def figures() -> Result:
    wrong = [figure for figure in printed().figures if not figure.right]
    return right_if(
        not wrong,
        f"{len(wrong)} of {len(printed().figures)} are wrong in the decimals that are printed; "
        "the table "
        "below has them.",
    )


TANH = "The tanh form"


@claim(TANH, "1", "The tanh form is 0.5z(1 + tanh(√(2/π)(z + 0.044715z³))).", RIGHT)
def tanh_formula() -> Result:
    z = np.linspace(-6, 6, 1201)
    written = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    difference = float(np.max(np.abs(sg.gelu_tanh(z) - written)))
    return right_if(
        difference < 1e-14, f"Largest difference from `sg.gelu_tanh`: {difference:.1e}."
    )


@claim(TANH, "1, 3", "PyTorch and TensorFlow compute the tanh form by default.", WRONG)
def frameworks() -> Result:
    paths = ("torch.nn.functional.gelu", "torch.nn.GELU", "tf.nn.gelu", "keras.activations.gelu")
    text = listed(f"`{path}` computes {defaults()[path]}" for path in paths)
    return right_if(all(defaults()[path] == "gelu_tanh" for path in paths), f"{text}.")


@claim(TANH, "3", "Frameworks use the tanh form.", DEPENDS)
def some_frameworks() -> Result:
    exact = [path for path, computes in defaults().items() if computes == "gelu"]
    tanh = [path for path, computes in defaults().items() if computes == "gelu_tanh"]
    shown = [path for path in exact if not path.startswith("softgate")]
    return depends_if(
        bool(tanh),
        not shown,
        f"By default {listed(map(_code, tanh))} do; {listed(map(_code, shown))} do not.",
    )


@claim(TANH, "1", "The tanh form equals GELU in four decimals for every input.", WRONG)
def four_decimals() -> Result:
    z = np.arange(-6000, 6001) / 1000
    differ = float(np.mean(np.round(sg.gelu(z), 4) != np.round(sg.gelu_tanh(z), 4)))
    return right_if(
        form().largest < 0.5e-4,
        f"Largest difference {form().largest:.4e} at |z| = {abs(form().largest_at):.4f}; the "
        "rounded "
        f"values differ at {differ:.1%} of a grid of step 0.001 on [-6, 6].",
    )


@claim(TANH, "1", "Its error is seen only with “extreme precision requirements”.", WRONG)
def visible_error() -> Result:
    relative = {z: at(sg.gelu_tanh, z) / at(sg.gelu, z) - 1 for z in (-1, -3, -5)}
    text = listed(f"{error:+.1%} at {z}" for z, error in relative.items())
    return right_if(
        max(map(abs, relative.values())) < 1e-3, f"Relative error in the negative tail: {text}."
    )


@claim(TANH, "1", "Near z = 0 its error is of the order of 1e-4.", WRONG)
def error_near_zero() -> Result:
    errors = {z: at(sg.gelu_tanh, z) - at(sg.gelu, z) for z in (0.0, 0.1, 0.5)}
    text = listed(f"{error:.1e} at {z:g}" for z, error in errors.items())
    return right_if(
        abs(errors[0.1]) > 1e-5, f"{text}. Errors above 1e-4 begin at |z| = {_first(1e-4):.2f}."
    )


def _first(size: float) -> float:
    """Return the least positive z at which the tanh form differs by `size`."""
    z = np.arange(0, 6, 1e-3)
    return float(z[np.abs(sg.gelu_tanh(z) - sg.gelu(z)) >= size][0])


@claim(TANH, "3", "Both forms are nearly identical where inputs are in practice.", DEPENDS)
def nearly_identical() -> Result:
    return depends_if(
        form().mean < 1e-3,
        abs(at(sg.gelu_tanh, -3) / at(sg.gelu, -3) - 1) < 1e-3,
        f"Absolute: mean difference {form().mean:.2e} for z from N(0,1), largest "
        f"{form().largest:.2e} "
        f"({form().largest_slope:.2e} in the slope). Relative: "
        f"{at(sg.gelu_tanh, -3) / at(sg.gelu, -3) - 1:+.1%} at -3.",
    )


@claim(TANH, "2", "3.14159 can stand for π in the tanh form.", DEPENDS)
def rounded_pi() -> Result:
    error = abs(math.sqrt(math.pi / 3.14159) - 1)
    return depends_if(
        error < 4.73e-4, error < 2.0**-24,
        f"The factor √(2/π) changes by {error:.1e}: less than the error of the form itself "
        f"({form().largest:.1e}), more than half an ulp of float32 (6.0e-08).",
    )  # fmt: skip


SLOPES = "Slopes and dead units"


@claim(SLOPES, "1", "GELU′(z) = Φ(z) + z·φ(z).", RIGHT)
def slope_formula() -> Result:
    z = np.linspace(-8, 8, 1001)
    difference = float(np.max(np.abs(sg.gelu.slope(z) - sg.Phi(z) - z * sg.phi(z))))
    return right_if(difference < 1e-15, f"Largest difference on [-8, 8]: {difference:.1e}.")


@claim(SLOPES, "1", "GELU′ is positive above about -0.75.", RIGHT)
def slope_root() -> Result:
    (root,) = known("gelu").slope_roots
    return right_if(abs(root + 0.75) < 0.005, f"GELU′ changes its sign at {root:.12f}.")


@claim(SLOPES, "1, 3", "GELU′ is not 0 for any z: there are no dead units.", WRONG)
def no_dead_zone() -> Result:
    (root,) = known("gelu").slope_roots
    values = listed(f"GELU′({z}) = {at(sg.gelu.slope, z):.1e}" for z in (-3, -5, -10))
    return (
        right_if(False, f"GELU′ is 0 at {root:.4f} and tends to 0: {values}.")
        if at(sg.gelu.slope, root) <= 1e-15
        else (RIGHT, values)
    )


@claim(SLOPES, "1", "GELU′(z) > 0 for all z.", WRONG)
def positive_slope() -> Result:
    p = known("gelu")
    assert p.smallest_slope is not None
    return right_if(
        not p.negative_slope_share,
        f"Negative for {p.negative_slope_share or 0:.2%} of inputs from N(0,1); least "
        f"{p.smallest_slope.value:.6f} at z = {p.smallest_slope.at[0].low:.6f}.",
    )


@claim(SLOPES, "1", "ReLU′(-0.5) = 0 and GELU′(-0.5) ≈ 0.133.", RIGHT)
def slopes_at_minus_half() -> Result:
    relu, gelu = at(sg.relu.slope, -0.5), at(sg.gelu.slope, -0.5)
    return right_if(
        relu == 0 and abs(gelu - 0.133) < 1e-3,
        f"Φ = {at(sg.Phi, -0.5):.4f}, φ = {at(sg.phi, -0.5):.4f}, GELU′ = {gelu:.6f}; ReLU′ = "
        f"{relu:g}.",
    )


@claim(SLOPES, "1", "GELU′(-3) is 0.004, “tiny but non-zero”.", WRONG)
def slope_at_minus_three() -> Result:
    value = at(sg.gelu.slope, -3)
    pair = value + at(sg.gelu.slope, 3)
    return right_if(
        abs(value - 0.004) < 5e-4,
        f"{value:.6f}: negative. GELU′(z) + GELU′(-z) = {pair:.1f} for every z.",
    )


@claim(SLOPES, "1", "At z = -1 a GELU unit stays alive, a ReLU unit does not.", DEPENDS)
def alive() -> Result:
    slope = at(sg.gelu.slope, -1)
    return depends_if(
        slope != 0, slope > 0,
        f"GELU′(-1) = {slope:.6f}: not 0, but negative, so descent that should raise the output "
        "lowers z.",
    )  # fmt: skip


def steps_to_recover(function: Any, start: float, limit: int = 5000) -> int | None:
    """Return the steps in which gradient descent moves the output to 0.9; None if it does not."""
    z = start
    for step in range(limit):
        value = at(function, z)
        if value > 0.9:
            return step
        z -= 0.1 * (value - 1) * at(function.slope, z)
    return None


@claim(SLOPES, "1, 3", "GELU avoids dying units.", DEPENDS)
def dying_units() -> Result:
    steps = {z: steps_to_recover(sg.gelu, z) for z in (-0.7, -0.8)}
    relu = steps_to_recover(sg.relu, -0.7)
    texts = listed(f"from {z}: {'never' if s is None else f'{s} steps'}" for z, s in steps.items())
    return depends_if(
        steps[-0.7] is not None and relu is None, steps[-0.8] is not None,
        "One unit, target 1, gradient descent with rate 0.1, at most 5,000 steps. GELU "
        f"{texts}; ReLU "
        f"from -0.7: {'never' if relu is None else f'{relu} steps'}. Below -0.7518 GELU′ is "
        "negative.",
    )  # fmt: skip


def dead_share(rate: float) -> float:
    """Return the share of ReLU units that are inactive on every input after training."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 8))
    y = np.sin(2 * x[:, :1]) + x[:, 1:2]
    first, second = rng.standard_normal((8, 128)) * 0.5, rng.standard_normal((128, 1)) / 8
    bias = np.zeros(128)
    for _ in range(200):
        hidden = x @ first + bias
        error = (sg.relu(hidden) @ second - y) / len(x)
        change = (error @ second.T) * sg.relu.slope(hidden)
        second -= rate * sg.relu(hidden).T @ error
        first -= rate * x.T @ change
        bias -= rate * change.sum(axis=0)
    return float(np.mean(np.all(x @ first + bias <= 0, axis=0)))


@claim(SLOPES, "1, 3", "ReLU can permanently switch off a part of the units.", RIGHT)
def relu_kills() -> Result:
    with np.errstate(over="ignore", invalid="ignore"):
        shares = {rate: dead_share(rate) for rate in (0.02, 0.1)}
    text = listed(f"{share:.0%} with learning rate {rate:g}" for rate, share in shares.items())
    return right_if(
        max(shares.values()) > 0.05,
        f"128 units, 200 steps on 256 inputs: {text} are 0 on every input afterwards.",
    )


@claim(SLOPES, "1", "Non-zero slopes make training with GELU converge faster in every case.", WRONG)
def always_faster() -> Result:
    shares = {name: signal_after(name, 24) for name in ("relu", "gelu")}
    text = listed(f"{name} {share:.2g}" for name, share in shares.items())
    return right_if(
        shares["gelu"] >= shares["relu"],
        "In a plain stack with He's initialisation the mean square of the signal after 24 "
        "layers is, "
        f"relative to the first: {text}.",
    )


def signal_after(name: str, layers: int) -> float:
    """Return the mean square of a wide layer's inputs after `layers` layers of He's variance."""
    function, square = sg.activations()[name], 1.0
    for _ in range(layers):
        square = 2 * float(WEIGHTS @ function(math.sqrt(square) * NORMAL) ** 2)
    return square


@claim(SLOPES, "3", "GELU has no sharp corner, ReLU has one.", RIGHT)
def corner() -> Result:
    gelu, relu = known("gelu"), known("relu")
    return right_if(
        gelu.smoothness == "smooth" and bool(relu.jumps),
        f"GELU is {gelu.smoothness}; ReLU's slope jumps by {relu.jumps[0].slope:g} at "
        f"{relu.jumps[0].at:g}.",
    )


OTHERS = "Other activations"


@claim(OTHERS, "1", "ELU saturates at -α.", RIGHT)
def elu_limit() -> Result:
    limit = known("elu").limits[0]
    return right_if(
        limit == -1, f"Limit at -∞ with α = 1: {limit:g}; ELU(-3) = {at(sg.elu, -3):.6f}."
    )


@claim(OTHERS, "1", "ELU has unbounded negative output.", WRONG)
def elu_bounded() -> Result:
    least = known("elu").minimum
    assert least is not None
    return right_if(math.isinf(least.value), f"ELU is bounded below by {least.value:g}.")


@claim(OTHERS, "1", "ELU helps to centre outputs.", RIGHT)
def elu_centres() -> Result:
    means = {name: known(name).mean or 0.0 for name in ("elu", "gelu", "relu")}
    text = listed(f"{name} {mean:.4f}" for name, mean in means.items())
    return right_if(means["elu"] == min(means.values()), f"Mean output for z from N(0,1): {text}.")


@claim(OTHERS, "3", "Sigmoid is in (0, 1), and its slope vanishes on both sides.", RIGHT)
def sigmoid_range() -> Result:
    p = known("sigmoid")
    assert p.largest_slope is not None
    return right_if(
        p.limits == (0, 1) and p.slope_limits == (0, 0),
        f"Largest slope {p.largest_slope.value:g}; sigmoid′(5) = {at(sg.sigmoid.slope, 5):.6f}.",
    )


@claim(OTHERS, "3", "With sigmoid the deeper layers stop learning.", WRONG)
def which_layers() -> Result:
    largest = known("sigmoid").largest_slope
    assert largest is not None
    factors = {layers: largest.value**layers for layers in (1, 5, 10)}
    shrinks = all(a > b for a, b in pairwise(factors.values()))
    text = listed(f"{factor:.0e} after {layers}" for layers, factor in factors.items())
    return right_if(
        not shrinks,
        "Gradients go from the output to the input; sigmoid's slopes multiply them by at most "
        f"{text} layers. The layers nearest the input stop learning.",
    )


@claim(OTHERS, "2, 3", "tanh is in (-1, 1), centred at 0, and saturates.", RIGHT)
def tanh_range() -> Result:
    p = known("tanh")
    return right_if(
        p.limits == (-1, 1) and abs(p.mean or 0) < 1e-12 and p.slope_limits == (0, 0),
        f"Limits -1 and 1, tanh′(3) = {at(sg.tanh.slope, 3):.6f}.",
    )


@claim(OTHERS, "2", "tanh's slope is between 0 and 1, GELU's varies more.", RIGHT)
def slope_range() -> Result:
    gelu, tanh = known("gelu"), known("tanh")
    assert gelu.smallest_slope is not None
    assert gelu.largest_slope is not None
    spread = {
        name: math.sqrt(WEIGHTS @ (slope - WEIGHTS @ slope) ** 2)
        for name, slope in (("gelu", sg.gelu.slope(NORMAL)), ("tanh", sg.tanh.slope(NORMAL)))
    }
    return right_if(
        spread["gelu"] > spread["tanh"] and tanh.monotone == "increasing",
        f"GELU′ is in [{gelu.smallest_slope.value:.4f}, {gelu.largest_slope.value:.4f}]; standard "
        f"deviation for z from N(0,1): {spread['gelu']:.3f}, tanh′ {spread['tanh']:.3f}.",
    )


@claim(OTHERS, "3", "GELU is smoother than tanh.", WRONG)
def smoother() -> Result:
    gelu, tanh = known("gelu"), known("tanh")
    assert gelu.largest_curvature is not None
    assert tanh.largest_curvature is not None
    curvatures = [abs(p.largest_curvature.value) for p in (gelu, tanh) if p.largest_curvature]
    return right_if(
        gelu.smoothness != tanh.smoothness or curvatures[0] < curvatures[1],
        f"Both are smooth; largest |curvature|: GELU {curvatures[0]:.4f}, tanh "
        f"{curvatures[1]:.4f}.",
    )


@claim(OTHERS, "3", "GELU has better gradient flow than tanh.", DEPENDS)
def flow() -> Result:
    squares = {name: known(name).mean_squared_slope or 0.0 for name in ("gelu", "tanh")}
    z = np.arange(-8, 8, 1e-3)
    larger = float(z[np.abs(sg.gelu.slope(z)) <= sg.tanh.slope(z)].max())
    return depends_if(
        at(sg.gelu.slope, 3) > at(sg.tanh.slope, 3), squares["gelu"] > squares["tanh"],
        f"|GELU′| is larger than tanh′ above z = {larger:.3f}. Mean squared slope for z from "
        "N(0,1): GELU "
        f"{squares['gelu']:.4f}, tanh {squares['tanh']:.4f}.",
    )  # fmt: skip


@claim(OTHERS, "3", "GELU's slope stays away from 0 in a wider range than sigmoid's.", DEPENDS)
def wider() -> Result:
    z = np.arange(-12, 12, 1e-3)
    below = float(z[(np.abs(sg.gelu.slope(z)) < sg.sigmoid.slope(z)) & (z < 0)].max())
    return depends_if(
        at(sg.gelu.slope, 5) > at(sg.sigmoid.slope, 5),
        abs(at(sg.gelu.slope, -5)) > at(sg.sigmoid.slope, -5),
        f"True for positive z. Below z = {below:.3f} it is smaller in magnitude: at -3 "
        f"{at(sg.gelu.slope, -3):.4f} and {at(sg.sigmoid.slope, -3):.4f}.",
    )


@claim(OTHERS, "3", "Leaky ReLU lets a small fraction of the negative inputs through.", DEPENDS)
def leaky() -> Result:
    z = -np.abs(np.random.default_rng(2).standard_normal(10_000))
    passed, scale = float(np.mean(sg.leaky_relu(z) != 0)), at(sg.leaky_relu, -1) / -1
    return depends_if(
        scale < 0.1,
        passed < 0.1,
        f"{passed:.0%} of the negative inputs pass, multiplied by {scale:g}.",
    )


@claim(OTHERS, "1", "SwiGLU multiplies a Swish of one projection by another projection.", RIGHT)
def swiglu() -> Result:
    a, b = np.random.default_rng(3).standard_normal((2, 1000))
    difference = float(np.max(np.abs(sg.swiglu(a, b) - sg.silu(a) * b)))
    return right_if(difference < 1e-14, f"Largest difference from silu(a)·b: {difference:.1e}.")


MODELS = "Models"


@claim(MODELS, "2", "BERT uses tanh in its feed-forward blocks.", WRONG)
def bert() -> Result:
    facts = presets()["bert-base"]
    return right_if(
        facts["activation"] == "tanh",
        f"`{facts['activation']}` in all {facts['n_blocks']} blocks; `{facts['pooler']}` in the "
        "pooler alone.",
    )


@claim(MODELS, "2", "The first Transformer had tanh or sigmoid in its feed-forward blocks.", WRONG)
def first_transformer() -> Result:
    activation = presets()["transformer"]["activation"]
    return right_if(activation in ("tanh", "sigmoid"), f"`{activation}`.")


@claim(MODELS, "1, 3", "BERT and GPT-2 use GELU.", RIGHT)
def bert_and_gpt() -> Result:
    used = {name: presets()[name]["activation"] for name in ("bert-base", "gpt2")}
    text = listed(f"{name} `{activation}`" for name, activation in used.items())
    return right_if(all(it.startswith("gelu") for it in used.values()), f"{text}.")


@claim(MODELS, "1", "BERT-base has d_model = 768 and d_ff = 3072.", RIGHT)
def widths() -> Result:
    facts = presets()["bert-base"]
    wide, hidden = facts["d_model"], facts["d_hidden"]
    count = 2 * wide * hidden + wide + hidden
    return right_if(
        (wide, hidden) == (768, 3072),
        f"{wide} and {hidden}: {count:,} parameters in a feed-forward block.",
    )


@claim(MODELS, "1", "BERT-base applies GELU 24 times in a forward pass, to 24 · 3072 units.", WRONG)
def applications() -> Result:
    base, large = presets()["bert-base"], presets()["bert-large"]
    units = base["n_blocks"] * base["d_hidden"]
    return right_if(
        base["n_blocks"] == 24,
        f"{base['n_blocks']} times, to {units:,} units per token; {large['n_blocks']} blocks "
        "are BERT-large's.",
    )


@claim(MODELS, "1, 3", "Every Transformer has GELU between two projections.", WRONG)
def every_transformer() -> Result:
    used = Counter(facts["activation"] for facts in presets().values())
    text = listed(f"{activation} {count}" for activation, count in used.most_common())
    return right_if(
        all(activation.startswith("gelu") for activation in used),
        f"Of {len(presets())} published models in softgate's presets: {text}. Gated blocks have "
        "three projections.",
    )


@claim(MODELS, "1", "LLaMA, Mistral and Gemma use SwiGLU.", WRONG)
def gated_models() -> Result:
    used = {name: presets()[name]["activation"] for name in ("llama", "mistral", "gemma")}
    text = listed(f"{name} `{activation}`" for name, activation in used.items())
    return right_if(set(used.values()) == {"swiglu"}, f"{text}.")


@claim(MODELS, "3", "BERT and GPT have dozens of layers.", DEPENDS)
def layers() -> Result:
    counts = {name: presets()[name]["n_blocks"] for name in ("bert-base", "bert-large", "gpt2")}
    text = listed(f"{name} {count}" for name, count in counts.items())
    return depends_if(max(counts.values()) >= 24, min(counts.values()) >= 24, f"{text}.")


COST = "Cost"


@claim(COST, "1", "GELU needs 3 to 4 times the operations of ReLU.", WRONG)
def operations() -> Result:
    counts = {name: _operations(name) for name in ("relu", "gelu", "gelu_tanh")}
    ratios = [counts[name] / counts["relu"] for name in ("gelu", "gelu_tanh")]
    text = listed(f"{name} {count}" for name, count in counts.items())
    return right_if(
        all(3 <= ratio <= 4 for ratio in ratios),
        f"Arithmetic operations per element in softgate's float32 kernels: {text}.",
    )


def _operations(name: str) -> int:
    counted = kernel_operations(sg.activations()[name].entry, "value", "float32", {})
    assert counted is not None
    return counted.flops


@claim(COST, "1, 3", "The tanh form is faster than the exact form.", DEPENDS)
def tanh_is_faster() -> Result:
    exact, tanh = times()["gelu"], times()["gelu_tanh"]
    shared = [
        name for name in ("softgate", "torch", "jax", "onnxruntime", "tensorflow") if name in tanh
    ]
    text = listed(f"{name} {exact[name]:g} and {tanh[name]:g}" for name in shared)
    return depends_if(
        any(tanh[name] < exact[name] for name in shared),
        all(tanh[name] < exact[name] for name in shared),
        f"ns per element, exact and tanh form: {text} ([Speed](speed.md)).",
    )


@claim(COST, "2", "GELU costs more than tanh.", DEPENDS)
def more_than_tanh() -> Result:
    gelu, tanh = times()["gelu"], times()["tanh"]
    shared = [
        name for name in ("softgate", "torch", "jax", "onnxruntime", "tensorflow") if name in tanh
    ]
    text = listed(f"{name} {gelu[name]:g} and {tanh[name]:g}" for name in shared)
    return depends_if(
        any(gelu[name] > tanh[name] for name in shared),
        all(gelu[name] > tanh[name] for name in shared),
        f"ns per element, GELU and tanh: {text} ([Speed](speed.md)).",
    )


@claim(COST, "3", "GELU costs more than ReLU.", RIGHT)
def more_than_relu() -> Result:
    gelu, relu = times()["gelu"], times()["relu"]
    text = listed(f"{name} {gelu[name] / relu[name]:.1f}" for name in ("softgate", "torch", "jax"))
    return right_if(
        all(gelu[name] > relu[name] for name in relu if name in gelu),
        f"Time as a multiple of the same library's ReLU: {text} ([Speed](speed.md)).",
    )


@claim(COST, "3", "The cost of GELU adds up in models with many layers.", DEPENDS)
def adds_up() -> Result:
    facts = presets()["bert-base"]
    products = 4 * facts["d_model"] * facts["d_hidden"]
    share = _operations("gelu") * facts["d_hidden"] / products
    return depends_if(
        True, share > 0.05,
        "It grows with the number of layers, and so does all else: in a feed-forward block of "
        "BERT-base "
        f"GELU has {share:.2%} of the operations of the two products, whatever the number of "
        "layers.",
    )  # fmt: skip


CODE = "Code of the second article"


def hand_written(z: np.ndarray) -> np.ndarray:
    """Return the article's derivative of the tanh form, which lacks a factor z."""
    root = math.sqrt(2 / math.pi)
    t = np.tanh(root * (z + 0.044715 * z**3))
    return 0.5 + 0.5 * t + root / 2 * (1 - t**2) * (1 + 3 * 0.044715 * z**2)


@claim(CODE, "2", "The derivative of tanh is 1 - tanh².", RIGHT)
def tanh_derivative() -> Result:
    z = np.linspace(-5, 5, 1001)
    difference = float(np.max(np.abs(sg.tanh.slope(z) - (1 - np.tanh(z) ** 2))))
    return right_if(
        difference < 1e-14, f"Largest difference from `sg.tanh.slope`: {difference:.1e}."
    )


@claim(CODE, "2", "The program's derivative of the tanh form is right.", WRONG)
def gelu_derivative() -> Result:
    z = np.linspace(-6, 6, 12_001)
    error = np.abs(hand_written(z) - sg.gelu_tanh.slope(z))
    worst = int(np.argmax(error))
    return right_if(
        error[worst] < 1e-6,
        f"A factor z is missing: off by up to {error[worst]:.4f} (at z = {z[worst]:.3f}); at 0 "
        "it gives "
        f"{hand_written(np.zeros(1))[0]:.4f} in place of {at(sg.gelu_tanh.slope, 0):g}.",
    )


@claim(CODE, "2", "The program's layer computes GELU of w·x + b.", WRONG)
def layer_forward() -> Result:
    w, b, x = 2.0, -1.0, 1.5
    z = w * x + b
    program = 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    return right_if(
        abs(program - at(sg.gelu_tanh, z)) < 1e-6,
        "It multiplies by x where w·x + b is needed: with w = 2, b = -1, x = 1.5 it returns "
        f"{program:.6f} "
        f"in place of {at(sg.gelu_tanh, z):.6f}.",
    )


@claim(
    CODE,
    "2",
    "In the example a layer with GELU has a wider range of outputs than one with tanh.",
    WRONG,
)
def wider_range() -> Result:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1000, 5, 10))
    limit = 1 / math.sqrt(10)
    weights, bias = (rng.uniform(-limit, limit, shape) for shape in ((1000, 10, 20), (1000, 1, 20)))
    z = (x @ weights + bias).reshape(1000, -1)
    spans = [np.ptp(function(z), axis=1) for function in (sg.gelu, sg.tanh)]
    share = float(np.mean(spans[0] > spans[1]))
    return right_if(
        share > 0.5,
        "10 inputs, 20 units, 5 rows, PyTorch's initialisation, 1,000 draws: wider in "
        f"{share:.0%}; median "
        f"widths {np.median(spans[0]):.2f} and {np.median(spans[1]):.2f}.",
    )


INTRODUCTION = """\
# Statements about GELU, checked

Which statements about GELU are right? This page takes three articles that explain GELU and restates
what they state, where it can be computed, beside the result and a verdict: *right*, *wrong*, or
*depends* where one reading holds and another does not. `tools/docs/claims.py` has the computation
and the rule of each verdict; a test runs all of them. Statements about history, and about results
of long training runs, are left out.
"""


def _code(text: str) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def wrong_figures() -> list[str]:
    """Return the lines of the table of wrong figures."""
    return [
        f"| {table.title} | {head} | {z:g} | {figure.printed} | {figure.value:.6f} |"
        for table in printed().tables
        for z, row in zip(table.points, table.rows, strict=True)
        for head, figure in zip(table.header, row, strict=True)
        if not figure.right
    ]


def pages() -> dict[str, str]:
    """Return the source of the page, by file name."""
    results = [(it, *it.check()) for it in CLAIMS]
    counts = Counter(verdict for _, verdict, _ in results)
    lines = [INTRODUCTION]
    lines += [f"{number}. {title}" for number, title in ARTICLES.items()]
    totals = listed(f"{counts[verdict]} {verdict}" for verdict in (RIGHT, WRONG, DEPENDS))
    lines += ["", f"Of {len(results)} statements: {totals}.", ""]
    for topic in dict.fromkeys(it.topic for it in CLAIMS):
        lines += [f"## {topic}", "", "| statement | article | verdict | computed |"]
        lines.append("| --- | --- | --- | --- |")
        for it, verdict, measured in results:
            if it.topic == topic:
                shown = f'<span class="verdict-{verdict}">**{verdict}**</span>'
                lines.append(
                    f"| {_cell(it.statement)} | {it.articles} | {shown} | {_cell(measured)} |"
                )
        lines.append("")
    lines += ["## Wrong figures of the first article", ""]
    lines += ["| table | column | z | printed | exact |", "| --- | --- | ---: | ---: | ---: |"]
    return {"claims.md": "\n".join([*lines, *wrong_figures()]) + "\n"}
