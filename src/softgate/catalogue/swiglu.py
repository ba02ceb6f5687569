"""swiglu(a, b) = silu(a)·b, of LLaMA."""

from . import silu
from .entry import ErrorBound
from .gated import SHAZEER, gated

entry = gated(
    name="swiglu",
    activation=silu.entry,
    both=silu.both,
    paper=SHAZEER,
    bounds={"float32": ErrorBound(3.15, 3.95), "float64": ErrorBound(3.5, 4.6)},
)
