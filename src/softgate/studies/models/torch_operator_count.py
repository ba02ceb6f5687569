"""The activation operators that a PyTorch model dispatches, counted apart from what `scan` records.

This module imports nothing of softgate but the count itself, so that it shares no mistake with the
matcher, which reads `running` to tell which of its calls is which operator here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode

from .operator_count import CountedOperator

ATEN_OPERATORS = frozenset({
    "_prelu_kernel", "celu", "clamp", "clamp_max", "clamp_min", "elu", "erf", "erfc", "gelu", "glu",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid_forward",
    "mish", "prelu", "relu", "relu6", "rrelu", "rrelu_with_noise", "selu", "sigmoid", "silu",
    "softplus", "softshrink", "special_erfcx", "special_log_ndtr", "special_ndtr", "tanh",
    "threshold",
})  # fmt: skip
"""Activation operators of ATen, also those that overwrite their argument (relu_)."""
FUSED = {
    "_thnn_fused_gru_cell": 2, "_thnn_fused_lstm_cell": 3, "mkldnn_rnn_layer": 3,
    "_transformer_encoder_layer_fwd": 1,
}  # fmt: skip
"""Operators of ATen with activations inside, and how many."""
SUFFIXES = ("_relu", "_relu6", "_leaky_relu", "_tanh", "_gelu", "_hardtanh")
"""Ends of names in other namespaces of operators with an activation (quantized::linear_relu)."""


class AtenCount(TorchDispatchMode):
    """Counts the activation operators that are dispatched; `path` returns the module that runs.

    Operators on integers, such as the clamp of a position, are not activations.
    """

    supports_higher_order_operators = True

    def __init__(self, path: Callable[[], str]) -> None:
        super().__init__()
        self.operators: list[CountedOperator] = []
        self.running = 0
        """The number of the call that runs, the first part of the keys of its operators."""
        self.failure: Exception | None = None
        """What an operator raised; TorchScript raises an error without this message instead."""
        self._path, self._calls = path, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count and call an operator; torch.cond calls those of its branch."""
        if isinstance(func, HigherOrderOperator):
            return func(*args, **(kwargs or {}))
        self._calls += 1
        outer, number = self.running, self._calls
        self.running = number
        try:
            result = func(*args, **(kwargs or {}))
        except Exception as error:
            self.failure = error
            raise
        finally:
            self.running = outer
        namespace, _, name = str(func._schema.name).partition("::")
        if any(tensor.is_floating_point() or tensor.is_quantized for tensor in _tensors(result)):
            shown = name if namespace == "aten" else f"{namespace}.{name}"
            for i in range(activations(namespace, name)):
                self.operators.append(CountedOperator((number, i), shown, self._path()))
        return result


def activations(namespace: str, name: str) -> int:
    """Return how many activations an operator computes."""
    name = name.removesuffix("_")
    if namespace == "aten":
        return FUSED.get(name, int(name in ATEN_OPERATORS))
    if namespace == "softgate":
        return int(name != "at_module")
    return int(name.endswith(SUFFIXES) or name in ATEN_OPERATORS)


def _tensors(result: Any) -> Iterator[Tensor]:
    for item in result if isinstance(result, tuple | list) else (result,):
        if isinstance(item, torch.Tensor):
            yield item
