"""One implementation of one function, as plain data that goes through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Node:
    """An ONNX operator: it has no Python name, so a model of it is made."""

    operator: str
    domain: str
    opset: int


@dataclass(frozen=True)
class Peer:
    """An implementation of a function: whose it is, what it is called, how it is reached.

    `subject`, `keywords` and `framework` are what `softgate.certify` takes; see
    `registry.subject` for ONNX operators.
    """

    function: str
    """What it computes, as commands take it: "gelu", "elu:alpha=0.5"."""
    implementation: str
    """A key of `IMPLEMENTATIONS`."""
    title: str
    subject: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict, hash=False)
    framework: str | None = None
    node: Node | None = None
    usual: bool = True
    """Whether the function's parameters are the catalogue's own."""

    def message(self) -> dict[str, Any]:
        """Return it as what JSON has."""
        return asdict(self)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """Return the peer that a message is of."""
        node = message["node"]
        return cls(**{**message, "node": None if node is None else Node(**node)})
