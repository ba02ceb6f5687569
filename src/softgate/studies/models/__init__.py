"""Models of PyTorch, ONNX and Keras: loaded, run on small inputs, and their activations found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgate.records.packages import require

from ..subjects.user_code import is_code

PROGRAMS = (".pt", ".pt2", ".ts", ".torchscript")
"""Extensions of exported (.pt2) and scripted programs."""
TARGETS = (
    "a model, a Hugging Face folder, an .onnx or .keras file; with trust (--trust) also "
    "module:factory, file.py:factory, TorchScript (.pt) and .pt2"
)


def load_torch(text: str, *, trust: bool, allow_missing: bool) -> Any:
    """Return the PyTorch model of a folder or a program, or the one that a factory returns.

    Raises ValueError if there is no model, or if it needs `trust`.
    """
    path = Path(text)
    code = is_code(text)
    if not path.is_dir():
        if path.suffix.lower() not in PROGRAMS and not code:
            raise ValueError(f"{text!r} is not a model: expected {TARGETS}")
        if not code and not path.is_file():
            raise ValueError(f"there is no file {text}: expected {TARGETS}")
        if not trust:
            raise ValueError(
                f"{text} contains code, which is not run: pass trust=True (--trust) to run it"
            )
    require("torch", purpose="a PyTorch model")
    if path.is_dir() or code:
        from .loading import load_model

        return load_model(text, trust=trust, allow_missing=allow_missing)
    from .torch_programs import load_program

    return load_program(path)
