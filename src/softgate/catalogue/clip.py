"""clip(x) = min(max(x, low), high). At low and at high the slope is 1, as of torch.clamp.

hard_tanh computes the same values; its slope at low and at high is 0.
"""

from . import hard_tanh
from .entry import Parameter
from .pieces import Slopes, pieces

entry = pieces(
    name="clip",
    formula="min(max(x, low), high)",
    paper="Cai, He, Sun & Vasconcelos 2017, Deep learning with low precision by half-wave Gaussian "
    "quantization (arXiv:1702.00953)",
    definition=lambda f, x, low, high: f.where(x < low, low, f.where(x > high, high, x)),
    value=hard_tanh.value,
    slopes=lambda f, x, low, high: Slopes(
        (f.exceeds(x, high), 0), (f.reaches(x, low), 1), otherwise=0
    ),
    intervals=((-2.0, 0.0), (0.0, 1.0), (1.0, 7.0)),
    aliases=("clamp",),
    parameters=(
        Parameter("low", 0.0, -1e38, 1e38, "The smallest value.", tested=(-0.7,)),
        Parameter("high", 1.0, -1e38, 1e38, "The largest value.", tested=(6.0,), exceeds="low"),
    ),
    special_case_of="hard_tanh",
)
