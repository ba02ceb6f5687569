"""A definition in torch operators, as the source of a Python function that torch.compile can read.

Every order of derivative is a graph of its own. Left to autograd, the branch of a `where` that is
not taken would put NaN into gradients, and |x| has a wrong slope at 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..graph import Node
from . import framework

Form = Callable[..., torch.Tensor]

SOURCE = {
    **framework.ARITHMETIC,
    "abs": "torch.abs({})",
    "where": "torch.where({}, {}, {})",
    "exp": "torch.exp({})",
    "expm1": "torch.expm1({})",
    "log": "torch.log({})",
    "log1p": "torch.log1p({})",
    "sqrt": "torch.sqrt({})",
    "tanh": "torch.tanh({})",
    "sin": "torch.sin({})",
    "cos": "torch.cos({})",
    "atan": "torch.atan({})",
    "sigmoid": "torch.sigmoid({})",
    # torch's own softplus returns x beyond a threshold; its logaddexp overflows in ONNX.
    "softplus": "torch.relu({0}) + torch.log1p(torch.exp(-torch.abs({0})))",
    "erf": "torch.erf({})",
    "erfc": "torch.erfc({})",
    "phi": "torch.exp({0} * {0} * -0.5) * 0.3989422804014327",
    "Phi": "torch.special.ndtr({})",
}
"""Each operation as torch has it; Python numbers keep the format of the tensors beside them."""

DIALECT = framework.Dialect(
    modules={"torch": torch},
    operations=SOURCE,
    whole="torch.full_like(x, {})",
    scalar="x.new_full((), {})",  # of two numbers torch.where would make the default format
)


def source(root: Node, parameters: tuple[str, ...] = ()) -> str:
    """Return the Python source of `form(x, *parameters)`, which computes `root` in torch.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> print(source(x * f.sigmoid(1.702 * x)))
    def form(x):
        t0 = 1.702 * x
        t1 = torch.sigmoid(t0)
        t2 = x * t1
        return t2
    """
    return framework.source(root, DIALECT, parameters)


def form(root: Node, parameters: tuple[str, ...] = ()) -> Form:
    """Return the function whose source is `source(root, parameters)`."""
    found: Form = framework.form(root, DIALECT, parameters)
    return found
