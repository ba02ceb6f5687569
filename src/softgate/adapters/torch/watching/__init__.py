"""Activations of a model at work: where they are called, with what, and what comes back.

`functions` knows which of torch's functions are activations, `sites` finds the calls by what
executes, `recognition` what they compute, `counting` sums over tensors, `gradients` hears of what
flows back.
"""

from . import functions
from .counting import Bounds, Counted, count, histogram_sample, slope_of, units
from .gradients import Gradients
from .recognition import Known, Recognition
from .sites import Call, Sites

__all__ = [
    "Bounds",
    "Call",
    "Counted",
    "Gradients",
    "Known",
    "Recognition",
    "Sites",
    "count",
    "functions",
    "histogram_sample",
    "slope_of",
    "units",
]
