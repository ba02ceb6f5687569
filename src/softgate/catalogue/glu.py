"""glu(a, b) = a·sigmoid(b): the second operand is the gate, as in torch, JAX and Keras."""

from . import sigmoid
from .entry import ErrorBound
from .gated import DAUPHIN, gated

entry = gated(
    name="glu",
    activation=sigmoid.entry,
    both=sigmoid.both,
    value=sigmoid.value,
    gate="second",
    paper=DAUPHIN,
    bounds={"float32": ErrorBound(2.9, 3.2), "float64": ErrorBound(3.2, 3.7)},
)
