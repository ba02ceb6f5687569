"""Implementations of softgate's functions in other libraries, for bench, certify and report."""

from .registry import IMPLEMENTATIONS, Implementation, Peer, absent, peers, subject

__all__ = ["IMPLEMENTATIONS", "Implementation", "Peer", "absent", "peers", "subject"]
