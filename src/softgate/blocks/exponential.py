"""exp(-b) as a tail."""
from __future__ import annotations

from .scaled import Scaled


class Exponential(Scaled):
    """placeholder"""
