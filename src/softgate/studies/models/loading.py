"""Loading of models and data: a Hugging Face folder or a function of the user, and a file.

A folder has `config.json` and safetensors and is read with `transformers.AutoModel`, never from a
network; Python files in it are run only if the caller trusts them. A function or a class is written
as in `studies.subjects.user_code`: `module:function` or `file.py:function`, without arguments.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softgate.records.files import check_expansion, read_arrays
from softgate.records.packages import require
from softgate.records.text import a_type, first_line

from ..subjects import user_code
from .arrays import GENERIC
from .huggingface_folder import FolderError, load_folder, load_tokenizer

TOKENS = 128
"""Tokens of a text in one row, unless the model takes fewer."""
MODELS = (
    "a torch.nn.Module, a folder with config.json and safetensors, or a function or class that "
    "makes a model, as module:function or file.py:function"
)
ARRAYS = (".npz", ".safetensors")
TOKENIZERS = ("tokenizer.json", "vocab.*", "*.model", "merges.txt", "*.tiktoken", "*.py")
"""Files of a folder that may hold the vocabulary of a tokenizer."""
SAVE_TOKENIZER = (
    "save one there (tokenizer.save_pretrained), or give token ids as input_ids in an .npz"
)
TARGETS = ("target", "targets", "labels", "y")
"""Names of an array that a loss compares the output with."""

FORWARDING = {
    Path(__file__).parents[1] / name
    for name in (
        "diagnose/measure.py",
        "diagnose/observer.py",
        "models/torch_calls.py",
        "models/torch_recognition.py",
    )
}
"""Modules of softgate that call functions of the model."""

Batch = Any
Loss = Callable[[Any, Any], Tensor]
"""A function of a model's output and of its batch."""


def load_model(target: Any, *, trust: bool = False, allow_missing: bool = False) -> nn.Module:
    """Return a model; raise ValueError or TypeError if it cannot be loaded.

    Parameters
    ----------
    target : str, path, callable or torch.nn.Module
        A folder written by `save_pretrained`, `module:function` or `file.py:function`; a function
        or a class, which is called without arguments; or the model itself.
    trust : bool, default False
        Whether code in a folder may run (`auto_map` in its config.json).
    allow_missing : bool, default False
        Accept a folder whose checkpoint lacks weights of the model; they are random then.

    Examples
    --------
    >>> load_model("torch.nn:Identity")
    Identity()
    """
    if isinstance(target, nn.Module):
        return target
    if callable(target):
        return _call_factory(target_name(target), target)
    if not isinstance(target, str | os.PathLike):
        raise TypeError(f"the model is {a_type(target)}: expected {MODELS}")
    text = os.fspath(target)
    if Path(text).is_dir():
        return _from_folder(Path(text), trust, allow_missing)
    place, name = user_code.split(text) if user_code.is_code(text) else user_code.split_path(text)
    if not place:
        raise ValueError(f"{text!r} is neither a folder nor a function: expected {MODELS}")
    return _call_factory(text, user_code.load(place, name))


def target_name(target: Any) -> str:
    """Return a model or data as text, for messages."""
    if isinstance(target, str | os.PathLike):
        return os.fspath(target)
    return str(getattr(target, "__qualname__", type(target).__name__))


def _from_folder(folder: Path, trust: bool, allow_missing: bool) -> nn.Module:
    """Return the model of the class that its configuration names, or the base model."""
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"{folder} has no config.json: expected a folder written by save_pretrained"
        )
    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"{folder} has no .safetensors: save it again with save_pretrained")
    try:
        model, missing = load_folder(folder, trust)
    except FolderError as error:
        raise ValueError(f"{folder}: {error}") from None
    except Exception as error:  # transformers may raise anything
        _raise_for_code(folder, error)
        raise ValueError(f"{folder} cannot be read: {_line(error)}") from error
    if missing and not allow_missing:
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise ValueError(
            f"{folder}: the checkpoint lacks {len(missing)} weights of {type(model).__name__} "
            f"({shown}); allow_missing (--allow-missing) accepts random ones"
        )
    module: nn.Module = model.float()
    return module


def _raise_for_code(folder: Path, error: Exception) -> None:
    """Raise ValueError if transformers raised an error because the code in a folder may not run."""
    if "trust_remote_code" in str(error):
        raise ValueError(
            f"{folder} needs Python code in that folder, which is not run: read the code, then add "
            "--trust (trust=True) to run it"
        ) from error


def _call_factory(target: str, factory: Any) -> nn.Module:
    """Return the model that a function or a class makes, or a model itself."""
    if isinstance(factory, nn.Module):
        return factory
    if not callable(factory):
        raise ValueError(f"{target} is {a_type(factory)}: expected a function that returns a model")
    try:
        model = factory()
    except Exception as error:  # a user's function may raise anything
        raise ValueError(f"{target}() failed: {_line(error)}") from error
    if not isinstance(model, nn.Module):
        raise ValueError(f"{target}() returned {a_type(model)}: expected a torch.nn.Module")
    return model


@contextmanager
def model_errors(target: str, data: str) -> Iterator[None]:
    """Raise an error of a user's model as a ValueError that names the model and the data."""
    try:
        yield
    except Exception as error:
        frames = _frames(error)
        if isinstance(error, ValueError | TypeError) and _is_ours(frames[-1]):
            raise  # raised by softgate, with a complete message
        raise ValueError(f"{target} failed on {data}: {_line(error)}") from error


def _frames(error: Exception) -> list[traceback.FrameSummary]:
    """Return the frames of an error, without the last ones that only forward a call."""
    frames = list(traceback.extract_tb(error.__traceback__))
    while len(frames) > 1 and Path(frames[-1].filename) in FORWARDING:
        frames.pop()
    return frames


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return Path(__file__).parents[2] in Path(frame.filename).parents


def _line(error: Exception) -> str:
    frames = [frame for frame in _frames(error) if not _is_ours(frame)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {first_line(error)}{where}"


def load_inputs(
    model: Any, data: Any, loss: Loss | None = None, *, trust: bool = False
) -> tuple[nn.Module, Iterable[Batch], Loss | None]:
    """Return a model, its batches and a loss; the model and the data may be written as text.

    A loss that is passed takes precedence over that of the targets in a file. `trust` is that of
    `load_model`.
    """
    module = load_model(model, trust=trust)
    if isinstance(data, Tensor | Mapping):
        return module, [data], loss  # one batch, not one for each row
    if isinstance(data, Iterable) and not isinstance(data, str):
        return module, data, loss
    batches, file_loss = load_batches(data, module, target_name(model), trust=trust)
    return module, batches, loss or file_loss


def load_batches(
    data: Any, model: nn.Module, target: str, size: int = 32, *, trust: bool = False
) -> tuple[list[Batch], Loss | None]:
    """Return the batches of a file or of a function, and a loss if a file has targets.

    A function, also written as `module:function` or `file.py:function`, is called without arguments
    and returns batches, or a tensor or mapping, which is one batch.

    In an .npz or .safetensors file, arrays have the names of the arguments of `forward`; that of a
    model with one argument may also be called x, input, inputs, data or arr_0. Floats are converted
    to the dtype of the model's first parameter. An array called target, targets, labels or y is
    compared with the output, if it is not an argument: integers by cross entropy, floats by mean
    squared error. Any other file is a text, for a folder with a tokenizer; `trust` is that of
    `load_model`.
    """
    if size < 1:
        raise ValueError(f"a batch of {size}: expected at least 1 row")
    if callable(data):
        return _call_loader(target_name(data), data), None
    if not isinstance(data, str | os.PathLike):
        raise TypeError(f"data is {a_type(data)}: expected a file, a function or batches")
    text = os.fspath(data)
    if user_code.is_code(text):
        return _call_loader(text, user_code.load(*user_code.split(text))), None
    file = Path(text)
    if not file.is_file():
        raise ValueError(
            f"there is no file {file}: expected .npz, .safetensors, a text, or module:function"
        )
    if file.suffix not in ARRAYS:
        return _from_text(file, target, size, trust), None
    floats = (p.dtype for p in model.parameters() if p.is_floating_point())
    arrays = _read(file, next(floats, torch.float32))
    inputs, targets = _arguments(file, arrays, model)
    rows = {len(array) for array in arrays.values()}
    if len(rows) != 1:
        shapes = ", ".join(f"{name} {tuple(array.shape)}" for name, array in arrays.items())
        raise ValueError(f"{file}: arrays have different numbers of rows: {shapes}")
    (count,) = rows
    if not count:
        raise ValueError(f"{file} has no rows")
    parts = [slice(start, start + size) for start in range(0, count, size)]
    batches: list[Batch] = [{n: array[part] for n, array in inputs.items()} for part in parts]
    if "" in inputs:
        batches = [batch[""] for batch in batches]
    if targets is None:
        return batches, None
    expected = {id(batch): targets[part] for batch, part in zip(batches, parts, strict=True)}
    return batches, lambda output, batch: target_loss(output, expected[id(batch)])


def _call_loader(name: str, function: Any) -> list[Batch]:
    """Return the batches that a function returns, or an object itself if it is not callable."""
    try:
        batches = function() if callable(function) else function
        if isinstance(batches, Tensor | Mapping):
            return [batches]
        return list(batches)
    except Exception as error:  # a user's function may raise anything
        raise ValueError(f"{name} returned no batches: {_line(error)}") from error


def tensors(output: Any) -> Iterator[Tensor]:
    """Yield the floating-point tensors in a model's output, without its loss."""
    if isinstance(output, Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, Mapping):
        for key, value in output.items():
            if key != "loss":
                yield from tensors(value)
    elif isinstance(output, tuple | list):
        for value in output:
            yield from tensors(value)


def _read(file: Path, floats: torch.dtype) -> dict[str, Tensor]:
    arrays: dict[str, Tensor]
    if file.suffix == ".safetensors":
        require("safetensors", purpose="a .safetensors file")
        from safetensors.torch import load_file

        try:
            check_expansion(file)
            arrays = load_file(str(file))
        except Exception as error:  # safetensors raises its own exception types
            raise ValueError(f"{file} cannot be read: {_line(error)}") from error
    else:
        arrays = {name: torch.from_numpy(array) for name, array in read_arrays(file).items()}
    if not arrays or any(array.dim() == 0 for array in arrays.values()):
        names = ", ".join(arrays) or "no arrays"
        raise ValueError(f"{file} has {names}: expected arrays with rows")
    return {
        name: array.to(floats) if array.is_floating_point() else array
        for name, array in arrays.items()
    }


def named_arguments(model: nn.Module) -> list[inspect.Parameter]:
    """Return the parameters of a model's forward, without *args and **kwargs."""
    if isinstance(model, torch.jit.ScriptModule):
        forward: Any = model.forward
        return [
            inspect.Parameter(
                argument.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=argument.default_value if argument.has_default_value() else inspect._empty,
            )
            for argument in forward.schema.arguments[1:]
        ]
    parameters = inspect.signature(model.forward).parameters.values()
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _arguments(
    file: Path, arrays: Mapping[str, Tensor], model: nn.Module
) -> tuple[dict[str, Tensor], Tensor | None]:
    """Return the arguments of the model, and the targets of its output."""
    names = [parameter.name for parameter in named_arguments(model)]
    inputs = {name: array for name, array in arrays.items() if name in names}
    others = {name: array for name, array in arrays.items() if name not in names}
    target = next((name for name in others if name in TARGETS), None)
    targets = others.pop(target) if target is not None and len(arrays) > 1 else None
    if not inputs and len(others) == 1 and len(names) <= 1 and others.keys() <= GENERIC:
        return {"": next(iter(others.values()))}, targets
    if others or not inputs:
        raise ValueError(
            f"{file} has {', '.join(arrays)}: the model's forward takes "
            f"{', '.join(names) or 'one array named x'}; name the arrays so"
        )
    return inputs, targets


def target_loss(output: Any, target: Tensor) -> Tensor:
    """Return the cross entropy of the first tensor of an output, or its mean squared error."""
    y = next(tensors(output), None)
    if y is None:
        raise ValueError(f"the model returned {a_type(output)}: expected a tensor")
    shapes = f"the target is {tuple(target.shape)}, the output {tuple(y.shape)}"
    if target.is_floating_point():
        if target.numel() != y.numel():
            raise ValueError(f"{shapes}: expected as many numbers, for their mean squared error")
        return F.mse_loss(y, target.reshape(y.shape))
    if target.numel() != y[..., 0].numel():
        raise ValueError(
            f"{shapes}: expected a class for each row of outputs, for their cross entropy; give "
            "numbers as floats"
        )
    if int(target.max()) >= y.shape[-1]:
        raise ValueError(f"the target has class {int(target.max())}, and {shapes}")
    return F.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1).long())


def _from_text(file: Path, target: str, size: int, trust: bool) -> list[Batch]:
    if not Path(target).is_dir():
        raise ValueError(
            f"{file} is not {' or '.join(ARRAYS)}: a text is for a folder with a tokenizer, and "
            f"{target} is not a folder"
        )
    try:
        check_expansion(file)
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is neither {', '.join(ARRAYS)} nor a text in UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    if not any(file for pattern in TOKENIZERS for file in Path(target).glob(pattern)):
        # transformers would make one without a vocabulary, for which every word is unknown.
        raise ValueError(f"{target} has no tokenizer for a text: {SAVE_TOKENIZER}")
    try:
        tokenizer = load_tokenizer(Path(target), trust)
    except Exception as error:  # transformers may raise anything
        _raise_for_code(Path(target), error)
        raise ValueError(
            f"{target} has no tokenizer for a text: {_line(error)}; {SAVE_TOKENIZER}"
        ) from error
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    if not ids:
        raise ValueError(f"{file} has no tokens")
    length = min(TOKENS, len(ids), int(tokenizer.model_max_length))
    # Rows of one length and no padding: padding would count as input.
    whole = [ids[i : i + length] for i in range(0, len(ids) - length + 1, length)]
    rows = torch.tensor(whole)
    return [{"input_ids": rows[i : i + size]} for i in range(0, len(rows), size)]


def target_of(model: nn.Module, batch: Any) -> Tensor | None:
    """Return the target in a batch (x, y) of a data loader, which the model does not take.

    None if the model takes all of them, or if the batch is not a tuple or list.
    """
    if not isinstance(batch, tuple | list) or len(batch) < 2 or not isinstance(batch[-1], Tensor):
        return None
    positional = [p for p in named_arguments(model) if p.kind is not p.KEYWORD_ONLY]
    if not isinstance(model, torch.jit.ScriptModule):
        parameters = inspect.signature(model.forward).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return None
    target: Tensor | None = batch[-1] if len(positional) == len(batch) - 1 else None
    return target
