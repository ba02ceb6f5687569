"""Bytes that an implementation keeps for its gradient, an element: asked of the framework itself.

PyTorch tells by its hooks of saved tensors, JAX by the leaves of a pullback. Others do not tell,
and what has no automatic derivative keeps nothing by itself: both give None, never a guess. Each
framework is asked in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..peers import IMPLEMENTATIONS, Peer
from ..peers.loading import loaded

COUNT = 4096
"""Elements of the array that is asked for: enough that scalars kept beside do not count."""
LIMIT_S = 300.0
EAGER = ("torch", "transformers", "softgate.torch")
TRACED = ("jax", "softgate.jax")
START = (
    "import sys; sys.path[:] = {path!r}; "
    "from softgate.studies.bench.saved_bytes import main; main()"
)


def kept_bytes(peers: Iterable[Peer]) -> dict[str, float | None]:
    """Return by implementation what is kept for each float32 element, None where nobody can say."""
    asked = [peer for peer in peers if peer.implementation in EAGER + TRACED]
    found: dict[str, float | None] = {}
    for home in dict.fromkeys(IMPLEMENTATIONS[peer.implementation].home for peer in asked):
        chosen = [peer for peer in asked if IMPLEMENTATIONS[peer.implementation].home == home]
        found |= _ask(chosen)
    return found


def _ask(peers: list[Peer]) -> dict[str, float | None]:
    answer = subprocess.run(
        [sys.executable, "-c", START.format(path=sys.path)],
        input=json.dumps([peer.message() for peer in peers]),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=False,
    )
    if answer.returncode:  # a framework that cannot be imported, or that crashes, does not tell
        return {peer.implementation: None for peer in peers}
    last: dict[str, float | None] = json.loads(answer.stdout.splitlines()[-1])
    return last


def main() -> None:
    """Read peers from standard input and write what each keeps, as the last line."""
    messages: list[Mapping[str, Any]] = json.load(sys.stdin)
    found: dict[str, float | None] = {}
    for peer in map(Peer.of, messages):
        try:
            found[peer.implementation] = _measured(peer)
        except Exception:  # whatever a peer throws: then it cannot be asked
            found[peer.implementation] = None
    sys.stdout.write("\n" + json.dumps(found) + "\n")


def _measured(peer: Peer) -> float:
    function = loaded(peer)
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
