"""Implementations of our functions in other libraries, for bench, certify and the report."""

from .registry import IMPLEMENTATIONS, Implementation, Node, Peer, absent, peers, subject

__all__ = ["IMPLEMENTATIONS", "Implementation", "Node", "Peer", "absent", "peers", "subject"]
