"""Activations of a model at work: where they are called, with what, and what comes back.

`functions` knows which of torch's functions are activations, `sites` finds the calls by what
executes, `wrapping` opens what models are wrapped in, `recognition` says what calls compute,
`layout` where units are, `counting` sums over tensors, `gradients` hears of what flows back,
`blindness` knows what cannot be seen.
"""

from . import functions
from .counting import Bounds, Counted, count, histogram_sample, slope_of, units
from .gradients import Gradients
from .recognition import Known, Recognition, of_each_element
from .sites import Call, Sites
from .unobservable import NEXT_STEPS

__all__ = [
    "NEXT_STEPS",
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
    "of_each_element",
    "slope_of",
    "units",
]
