"""Whose implementations there are: libraries, and ways to use them, each a column of a table."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Implementation:
    """A column of a table: one library, or one way to use it."""

    label: str
    title: str
    home: str
    """Whose process it runs in: one framework does not disturb another."""
    needs: tuple[str, ...] = ()
    slow: str = ""
    """Why it is not among those that are timed unless asked for."""
    backward: bool = True
    """Whether it has derivatives."""


IMPLEMENTATIONS = {
    one.label: one
    for one in (
        Implementation("softgate", "softgate on NumPy arrays", "numpy"),
        Implementation("torch", "PyTorch, eager", "torch", ("torch",)),
        Implementation(
            "torch.compile", "PyTorch, compiled", "torch", ("torch",),
            "takes some 10 s to compile a function",
        ),
        Implementation("jax", "jax.jit", "jax", ("jax",)),
        Implementation("tensorflow", "TensorFlow, eager", "tensorflow", ("tensorflow",)),
        Implementation(
            "tensorflow.xla", "tf.function(jit_compile=True)", "tensorflow", ("tensorflow",),
            "compiles each function",
        ),
        Implementation("keras", "Keras, on the backend that it is set to", "keras", ("keras",)),
        Implementation(
            "onnxruntime", "onnxruntime", "onnxruntime", ("onnx", "onnxruntime"), backward=False
        ),
        Implementation("scipy", "NumPy and SciPy, in place", "scipy", ("scipy",)),
        Implementation(
            "textbook", "NumPy and scipy.stats, as articles print it", "scipy", ("scipy",)
        ),
        Implementation(
            "scipy.erf", "x/2 * (1 + erf(x/√2))", "scipy", ("scipy",), "is one more form of gelu"
        ),
        Implementation(
            "transformers", "Hugging Face's decomposed forms", "torch", ("torch", "transformers")
        ),
        Implementation(
            "transformers.fast", "FastGELUActivation", "torch", ("torch", "transformers"),
            "is one more form of gelu_tanh",
        ),
        Implementation(
            "softgate.torch", "softgate on torch tensors", "torch", ("torch",),
            "runs the kernels that softgate runs",
        ),
        Implementation(
            "softgate.jax", "softgate under jax.jit", "jax", ("jax",), "compiles each function"
        ),
    )
}  # fmt: skip
"""Every implementation, in the order of a table's columns."""


def absent(implementation: str) -> str:
    """Return why an implementation cannot run here, or nothing; no framework is imported."""
    known = IMPLEMENTATIONS[implementation]
    missing = [package for package in known.needs if find_spec(package) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    if implementation == "torch.compile" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return "no C++ compiler on the path"
    return ""
