"""The activation operators that a Keras model calls, counted apart from what `scan` knows.

The functions of Keras' backend are replaced by ones that count while the model runs, so that an
activation is counted wherever it is called: in a layer, in an operation, or in code of a user. This
module imports nothing of softgate but the count itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from inspect import getfile
from pathlib import Path
from types import FrameType
from typing import Any

import keras

from .keras_private import backend
from .operator_count import CountedOperator

KERAS_OPERATORS = {
    "nn": (
        "celu", "elu", "gelu", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh",
        "leaky_relu", "log_sigmoid", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink",
        "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh",
        "tanh_shrink", "threshold",
    ),
    "numpy": ("clip", "tanh"),
    "math": ("erf",),
}  # fmt: skip
"""Activation operators of Keras by the part of its backend."""
OPS = Path(getfile(keras.ops.relu)).parent
LIBRARY = (
    str(OPS),
    str(OPS.with_name("backend")),
    str(Path(getfile(keras.activations.relu)).parent),
    str(Path(__file__).parent),
)
"""Folders of functions that layers call, and of those that observe these calls."""


class KerasCount:
    """The activation operators that were called: one for each place in the code of each layer."""

    def __init__(self) -> None:
        self.operators: dict[Any, CountedOperator] = {}
        self.calls: list[Any] = []
        """The key of each call, in their order."""
        self.owners: dict[Any, Any] = {}
        """The layer or operation of each key."""
        self._depth, self._thread = 0, threading.get_ident()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the calls of this thread."""
        functions = backend.get()
        if functions is None:
            raise RuntimeError(backend.reason)
        softgate = sys.modules.get("softgate.keras.activation")
        with ExitStack() as stack:
            for part, names in KERAS_OPERATORS.items():
                module = getattr(functions, part)
                for name in names:
                    if hasattr(module, name):
                        stack.callback(setattr, module, name, getattr(module, name))
                        setattr(module, name, self._counted(name, getattr(module, name)))
            if softgate:
                kind = softgate.Activation
                stack.callback(setattr, kind, "__call__", kind.__call__)
                kind.__call__ = self._counted("softgate", kind.__call__)
            yield

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            if self._depth or threading.get_ident() != self._thread:
                return function(*args, **kwargs)
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth -= 1
            if "float" in keras.backend.standardize_dtype(result.dtype):
                self._add(name)
            return result

        return counted

    def _add(self, name: str) -> None:
        """Add a call by the innermost layer or operation that runs, and the line that calls it."""
        frame: FrameType | None = sys._getframe(2)
        line, owner = ("", 0), None
        while frame is not None and owner is None:
            code, caller = frame.f_code, frame.f_locals.get("self")
            if not line[0] and not code.co_filename.startswith(LIBRARY):
                line = code.co_filename, frame.f_lineno
            if code.co_name == "__call__" and isinstance(caller, keras.Operation):
                owner = caller
            frame = frame.f_back
        key = id(owner), name, line
        path = getattr(owner, "path", None) or getattr(owner, "name", "")
        self.operators[key] = CountedOperator(key, name, str(path))
        self.owners[key] = owner
        self.calls.append(key)
