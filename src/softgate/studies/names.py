"""What names mean in each framework: the records of runtime/names.toml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softgate.runtime.lookup import UnknownName, records_of
from softgate.runtime.name_table import Names

from .subjects import resolved


def names(source: str | None = None, *, name: str | Callable[..., Any] | None = None) -> Names:
    """Return what names mean in PyTorch, Keras, TensorFlow, JAX, Hugging Face, timm and ONNX.

    Parameters
    ----------
    source : str, optional
        One framework ("torch", "keras", "tensorflow", "jax", "huggingface", "timm", "onnx"),
        "softgate", or a module of one, such as "keras.ops". All of them by default.
    name : str or callable, optional
        One name, in any spelling: leaky_relu, LeakyReLU. For a function that is written otherwise,
        as "elu:alpha=0.5", "file.py:function" or a callable, the names of what it computes. All of
        them by default.

    Returns
    -------
    Names
        A sequence of records; its string is a table.

    Examples
    --------
    >>> import softgate as sg
    >>> [record.path for record in sg.names("keras", name="gelu")]
    ['keras.activations.gelu', 'keras.ops.gelu']
    >>> {record.path: record.computes for record in sg.names(name="nn.gelu")}
    {'torch.nn.GELU': 'gelu', 'tf.nn.gelu': 'gelu', 'jax.nn.gelu': 'gelu_tanh'}
    """
    if name is None or isinstance(name, str):
        try:
            return records_of(source, name)
        except UnknownName:
            if ":" not in str(name):
                raise
    meant = resolved.function(name, by_values=True).name
    records = records_of(source).where(lambda record: record.function == meant)
    if not records:
        raise UnknownName(f"{meant} has no name in {source or 'any framework'}")
    return records
