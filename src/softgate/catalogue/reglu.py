"""reglu(a, b) = relu(a)·b."""

from . import relu
from .entry import ErrorBound
from .gated import SHAZEER, gated

entry = gated(
    name="reglu",
    activation=relu.entry,
    both=relu.both,
    paper=SHAZEER,
    bounds={"float32": ErrorBound(0.5, 0.5), "float64": ErrorBound(0.5, 0.5)},
)
