"""relu6(x) = min(max(x, 0), 6). At 0 and at 6 the slope is 0, as in PyTorch."""

from .pieces import Slopes, pieces

entry = pieces(
    name="relu6",
    formula="min(max(x, 0), 6)",
    paper="Krizhevsky 2010, Convolutional deep belief networks on CIFAR-10",
    definition=lambda f, x: f.where(x > 0, f.where(x < 6, x, 6), 0),
    value=lambda f, x: f.where(x < 0, 0, f.where(x > 6, 6, x)),
    slopes=lambda f, x: Slopes((x >= 6, 0), (x > 0, 1), otherwise=0),
    intervals=((-1.0, 1.0), (5.0, 7.0)),
    backward_from_output=True,
)
