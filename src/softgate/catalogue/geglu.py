"""geglu(a, b) = gelu(a)·b."""

from . import gelu
from .entry import ErrorBound
from .gated import SHAZEER, gated

entry = gated(
    name="geglu",
    activation=gelu.entry,
    both=gelu.both,
    value=gelu.fine_value,
    paper=SHAZEER,
    bounds={"float32": ErrorBound(3.95, 3.9), "float64": ErrorBound(4.9, 5.2)},
)
