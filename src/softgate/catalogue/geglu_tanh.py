"""geglu_tanh(a, b) = gelu_tanh(a)·b, of Gemma and T5 v1.1."""

from . import gelu_tanh
from .entry import ErrorBound
from .gated import SHAZEER, gated

entry = gated(
    name="geglu_tanh",
    activation=gelu_tanh.entry,
    both=gelu_tanh.both,
    value=gelu_tanh.value,
    paper=SHAZEER,
    bounds={"float32": ErrorBound(3.2, 3.95), "float64": ErrorBound(3.6, 4.7)},
)
