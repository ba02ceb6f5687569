"""Values and slopes against torch's own, kinks included: where a framework chooses, so do we.

Against arb everything is measured elsewhere; here the question is whether a name means the same
function, with the same slope at its corners. Torch's float64 is less exact in places (x - tanh(x)
cancels, a sixth is that of float32), so what is compared is the function, not the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import softgate as sg


class Peer(NamedTuple):
    """Torch's function, the points where it bends, and our parameters for it."""

    function: Callable[[torch.Tensor], torch.Tensor]
    kinks: tuple[float, ...] = (0.0,)
    parameters: dict[str, float] = {}  # noqa: RUF012
    tolerance: float = 1e-12


ROUNDING = 1e-14
SIXTH = 1e-7
"""torch's backward of hardsigmoid has 1/6 in float32 even for float64."""

PEERS: dict[str, list[Peer]] = {
    "gelu": [Peer(F.gelu)],
    "gelu_tanh": [Peer(lambda x: F.gelu(x, approximate="tanh"))],
    "silu": [Peer(F.silu)],
    "sigmoid": [Peer(torch.sigmoid)],
    "tanh": [Peer(torch.tanh)],
    "mish": [Peer(F.mish)],
    "softplus": [
        Peer(F.softplus),
        Peer(lambda x: F.softplus(x, beta=2, threshold=60), parameters={"beta": 2.0}),
    ],
    "elu": [Peer(F.elu), Peer(lambda x: F.elu(x, alpha=0.5), parameters={"alpha": 0.5})],
    "relu": [Peer(F.relu)],
    "leaky_relu": [
        Peer(F.leaky_relu),
        Peer(lambda x: F.leaky_relu(x, 0.3), parameters={"slope": 0.3}),
    ],
    "identity": [Peer(torch.nn.Identity())],
    "relu6": [Peer(F.relu6, (0.0, 6.0))],
    "squared_relu": [Peer(lambda x: F.relu(x).square())],
    "celu": [Peer(F.celu), Peer(lambda x: F.celu(x, alpha=2.5), parameters={"alpha": 2.5})],
    "selu": [Peer(F.selu)],
    "log_sigmoid": [Peer(F.logsigmoid)],
    "hard_sigmoid": [Peer(F.hardsigmoid, (-3.0, 3.0), tolerance=SIXTH)],
    "hard_swish": [Peer(F.hardswish, (-3.0, 0.0, 3.0))],
    "hard_tanh": [
        Peer(F.hardtanh, (-1.0, 1.0)),
        Peer(lambda x: F.hardtanh(x, -0.25, 2.0), (-0.25, 2.0), {"low": -0.25, "high": 2.0}),
    ],
    "softshrink": [
        Peer(F.softshrink, (-0.5, 0.0, 0.5)),
        Peer(lambda x: F.softshrink(x, 0.0), (0.0,), {"threshold": 0.0}),
    ],
    "hardshrink": [
        Peer(F.hardshrink, (-0.5, 0.0, 0.5)),
        Peer(lambda x: F.hardshrink(x, 0.0), (0.0,), {"threshold": 0.0}),
    ],
    "tanhshrink": [Peer(F.tanhshrink)],
    "softsign": [Peer(F.softsign)],
    "prelu": [Peer(lambda x: F.prelu(x, torch.tensor([0.25], dtype=x.dtype)), (0.0,))],
    "rrelu": [Peer(F.rrelu, (0.0,))],
    "threshold": [Peer(lambda x: F.threshold(x, 1.0, 0.0), (1.0,))],
}

CASES = [(name, peer) for name, peers in PEERS.items() for peer in peers]
EACH = pytest.mark.parametrize(("name", "peer"), CASES, ids=[name for name, _ in CASES])


def of_torch(peer: Peer, x: Any) -> tuple[Any, Any]:
    """Torch's values, and its slopes by autograd."""
    tensor = torch.from_numpy(np.array(x)).requires_grad_()
    values = peer.function(tensor)
    values.sum().backward()  # type: ignore[no-untyped-call]
    assert tensor.grad is not None
    return values.detach().numpy(), tensor.grad.numpy()


def points(peer: Peer) -> Any:
    """The kinks and their neighbours, -0 and what a layer sees."""
    kinks = np.array(peer.kinks)
    beside = [np.nextafter(kinks, side) for side in (-np.inf, np.inf)]
    return np.concatenate(
        [kinks, *beside, [-0.0], np.random.default_rng(9).standard_normal(4000) * 3]
    )


def compare(name: str, peer: Peer, shift: float = 0.0) -> None:
    """Hold values and slopes to torch's; `shift` moves the slopes, to see that it is seen."""
    x, activation = points(peer), sg.activations()[name]
    values, slopes = of_torch(peer, x)
    ours = activation(x, **peer.parameters)
    assert np.allclose(ours, values, rtol=1e-12, atol=ROUNDING)
    computed = activation.slope(x, **peer.parameters) + shift
    assert np.allclose(computed, slopes, rtol=peer.tolerance, atol=ROUNDING)
    grad = np.random.default_rng(10).standard_normal(x.size)
    backward = activation.backward(x, grad, **peer.parameters)
    assert np.allclose(backward, slopes * grad, rtol=peer.tolerance, atol=ROUNDING)


@EACH
def test_value_and_slope_are_torchs(name: str, peer: Peer) -> None:
    compare(name, peer)


@EACH
def test_at_a_kink_the_slope_is_torchs_exactly(name: str, peer: Peer) -> None:
    kinks = np.array(peer.kinks)
    slopes = of_torch(peer, kinks)[1]
    assert np.allclose(sg.activations()[name].slope(kinks, **peer.parameters), slopes, atol=0)


def test_another_slope_would_be_seen() -> None:
    for name, peer in CASES:
        with pytest.raises(AssertionError):
            compare(name, peer, shift=1e-6)


def test_another_function_would_be_seen() -> None:
    for name, other in (("celu", "selu"), ("softshrink", "hardshrink"), ("relu6", "relu")):
        with pytest.raises(AssertionError):
            compare(name, PEERS[other][0])


def test_everything_that_torch_has_is_compared() -> None:
    """A name or alias of ours that torch.nn.functional has too stands above."""
    for name, activation in sg.activations().items():
        known = (name, *activation.entry.aliases)
        if any(hasattr(F, alias) for alias in known):
            assert name in PEERS, f"{name} is in torch.nn.functional: compare it here"
    assert PEERS.keys() <= sg.activations().keys()
