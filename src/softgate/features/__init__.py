"""What a function is like: range, kinks, roots, limits, moments, dead regions, all computed."""

from .extremes import Extreme
from .intervals import Interval
from .record import Properties, side_by_side
from .shape import Jump, Line
from .study import study

__all__ = ["Extreme", "Interval", "Jump", "Line", "Properties", "side_by_side", "study"]
