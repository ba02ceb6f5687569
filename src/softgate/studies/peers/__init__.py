"""Other people's implementations of our functions: one registry for whoever compares with them."""

from .implementations import IMPLEMENTATIONS, Implementation, absent
from .peer import Node, Peer
from .registry import peers, subject

__all__ = ["IMPLEMENTATIONS", "Implementation", "Node", "Peer", "absent", "peers", "subject"]
