"""Bytes that an implementation keeps for its gradient, an element: asked of the framework itself.

PyTorch tells by its hooks of saved tensors, JAX by the leaves of a pullback. Others do not tell,
and what has no automatic derivative keeps nothing by itself: both give None, never a guess. Each
framework is asked in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..peers import IMPLEMENTATIONS, Peer
from ..peers.timed_call import load
from ..worker import Parent, Worker

COUNT = 4096
"""Elements of the array that is asked for: enough that scalars kept beside do not count."""
LIMIT_S = 300.0
EAGER = ("torch", "transformers", "softgate.torch")
TRACED = ("jax", "softgate.jax")


def kept_bytes(peers: Iterable[Peer]) -> dict[str, float | None]:
    """Return by implementation what is kept for each float32 element, None where nobody can say."""
    asked = [peer for peer in peers if peer.implementation in EAGER + TRACED]
    found: dict[str, float | None] = {}
    for home in dict.fromkeys(IMPLEMENTATIONS[peer.implementation].home for peer in asked):
        chosen = [peer for peer in asked if IMPLEMENTATIONS[peer.implementation].home == home]
        found |= _measure_in_worker(chosen)
    return found


def _measure_in_worker(peers: list[Peer]) -> dict[str, float | None]:
    with Worker("softgate.studies.bench.saved_bytes") as worker:
        worker.send({"peers": [peer.message() for peer in peers]})
        answer = worker.receive(LIMIT_S)
    if answer is None:  # the framework cannot be imported, or it crashes
        return {peer.implementation: None for peer in peers}
    return answer


def main() -> None:
    """Answer a list of peers with the bytes that each saves."""
    parent = Parent()
    for message in parent.messages():
        saved: dict[str, float | None] = {}
        for peer in map(Peer.of, message["peers"]):
            try:
                saved[peer.implementation] = _measured(peer)
            except Exception:  # a peer may raise anything: its bytes cannot be measured then
                saved[peer.implementation] = None
        parent.send(saved)


def _measured(peer: Peer) -> float:
    function = load(peer)
    return (_by_pullback if peer.implementation in TRACED else _by_hooks)(function) / COUNT


def _by_hooks(function: Callable[[Any], Any]) -> int:
    import torch

    from softgate.torch import saved_bytes

    return saved_bytes(function, torch.linspace(-3, 3, COUNT, requires_grad=True))


def _by_pullback(function: Callable[[Any], Any]) -> int:
    import jax

    _, pullback = jax.vjp(jax.jit(function), jax.numpy.linspace(-3, 3, COUNT))
    leaves = {id(leaf): leaf for leaf in jax.tree_util.tree_leaves(pullback)}
    return sum(int(leaf.nbytes) for leaf in leaves.values() if hasattr(leaf, "nbytes"))
