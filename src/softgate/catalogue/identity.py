"""identity(x) = x, for layers without an activation."""

from .pieces import Slopes, pieces

entry = pieces(
    name="identity",
    formula="x",
    paper="Rosenblatt 1958, The perceptron: a probabilistic model for information storage and "
    "organization in the brain (its units' sums, before the threshold)",
    definition=lambda f, x: x,
    value=lambda f, x: x,
    slopes=lambda f, x: Slopes(otherwise=1),
    intervals=((-1.0, 1.0),),
    aliases=("linear",),
)
