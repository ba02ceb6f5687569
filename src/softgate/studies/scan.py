"""`scan`: every activation inside a model, identified by what it computes.

    module          reads                                          evaluates
    torch_model     a module, a Hugging Face folder, an exported   the model, once
                    or a scripted program, a factory
    onnx_model      an ONNX file                                   elementwise parts of its graph
    keras_model     a Keras model or a .keras file                 its activations

The readers are in `models`: `elementwise_subgraphs` cuts the elementwise functions out of a graph,
`probing` identifies them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from softgate.records.packages import require
from softgate.records.text import a_type

from .models import TARGETS, load_torch
from .models.record import Scan
from .subjects.worker import Worker

TIME_LIMIT_S = 60
"""The longest time that reading an ONNX file may take."""


def scan(
    target: Any,
    *,
    data: Any = None,
    trust: bool = False,
    allow_missing: bool = False,
) -> Scan:
    """Find every activation inside a model, and which function each one computes.

    Functions are identified by their values, not by the names of modules or operators. A PyTorch
    model is run once on a small input, and the operators that execute are examined. For an ONNX
    file the elementwise parts of its graph are evaluated, for a Keras model its activations.

    Parameters
    ----------
    target : object, str or path
        A `torch.nn.Module` or a Keras model; a Hugging Face folder (config.json and safetensors),
        an .onnx or a .keras file. With `trust`, also "module:factory", "file.py:factory",
        TorchScript (.pt) and .pt2.
    data : optional
        Inputs of a PyTorch model, as for `softgate.torch.diagnose`: a tensor, arguments, or a file.
        Without it, a small input is made from the model's configuration or first layer.
    trust : bool, default False
        Run code of the target.
    allow_missing : bool, default False
        Accept a folder whose checkpoint lacks weights of the model.

    Returns
    -------
    Scan
        A record: each activation with its path, function, parameters, operators and elements, and
        whether the configuration claims another function.

    Raises
    ------
    ValueError
        If the model cannot be read or run, or needs `trust`.

    Examples
    --------
    >>> import torch, softgate as sg
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(approximate="tanh"))
    >>> [(a.path, a.function, a.elements) for a in sg.scan(model).activations]
    [('1', 'gelu_tanh', 8)]
    """
    if not isinstance(target, str | os.PathLike):
        return _scan_object(target, data)
    text = os.fspath(target)
    path = Path(text)
    suffix = path.suffix.lower()
    if suffix in (".onnx", ".keras"):
        if not path.is_file():
            raise ValueError(f"there is no file {text}: expected {TARGETS}")
        refuse_data(data, text)
        if suffix == ".keras":
            from .models.keras_model import scan_keras

            return scan_keras(text)
        return scan_onnx(text)
    model = load_torch(text, trust=trust, allow_missing=allow_missing)
    from .models.torch_model import scan_torch

    return scan_torch(model, text, data)


def _scan_object(target: Any, data: Any) -> Scan:
    modules = {base.__module__.split(".")[0] for base in type(target).__mro__}
    if "keras" in modules:  # before torch, whose modules are its layers on that backend
        from .models.keras_model import scan_keras

        refuse_data(data, "a Keras model")
        return scan_keras(target)
    if "torch" in modules:
        from .models.torch_model import scan_torch

        return scan_torch(target, type(target).__name__, data)
    raise TypeError(f"the model is {a_type(target)}: expected {TARGETS}")


def refuse_data(data: Any, model: str) -> None:
    """Raise ValueError for inputs of a model that is not run."""
    if data is not None:
        raise ValueError(f"data (--data) is for PyTorch models: {model} is not run; omit it")


def scan_onnx(file: str) -> Scan:
    """Return the activations of an ONNX file, read in a worker process."""
    require("onnx", purpose="an ONNX file")
    require("onnxruntime", purpose="an ONNX file")
    with Worker("softgate.studies.models.onnx_model") as worker:
        worker.send({"file": file})
        try:
            reply = worker.receive(TIME_LIMIT_S)
        except TimeoutError:
            raise ValueError(f"{file}: reading it took more than {TIME_LIMIT_S} s") from None
        if reply is None:
            raise ValueError(f"{file} cannot be read: onnx failed ({worker.kill(1.0).reason})")
    if "mistake" in reply:
        raise ValueError(reply["mistake"])
    return Scan.from_json(json.dumps(reply["scan"]))
