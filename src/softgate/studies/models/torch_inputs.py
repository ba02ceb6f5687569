"""Small inputs of PyTorch models: from a program, a configuration of transformers, or a layer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from .loading import named_arguments
from .torch_programs import EXAMPLE, SIDE, TOKENS, program_inputs

PARTS = ("text_config", "vision_config", "audio_config", "encoder", "decoder")
"""Fields of a configuration that may be configurations."""
FRAMES = 12
"""The frames of an example of sound, after its convolutions."""
TEXT = ("input_ids", "decoder_input_ids")


def example_inputs(model: nn.Module, name: str) -> Any:
    """Return a small input of a model; raise ValueError if none can be derived."""
    if EXAMPLE in vars(model):
        args, kwargs = vars(model)[EXAMPLE]
        names = [parameter.name for parameter in named_arguments(model)]
        return {**dict(zip(names, args, strict=False)), **kwargs} if kwargs else args
    if isinstance(model, torch.jit.ScriptModule):
        return program_inputs(model, name)
    floats = (p.dtype for p in model.parameters() if p.is_floating_point())
    dtype = next(floats, torch.float32)
    if getattr(model, "config", None) is not None and isinstance(
        getattr(model, "main_input_name", None), str
    ):
        return configured_inputs(model, name, dtype)
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            return torch.linspace(-1, 1, layer.in_features, dtype=dtype).unsqueeze(0)
        if isinstance(layer, nn.Embedding):
            return torch.arange(TOKENS).remainder(layer.num_embeddings).unsqueeze(0)
        if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
            sides = (SIDE,) * len(layer.kernel_size)
            return torch.zeros(1, layer.in_channels, *sides, dtype=dtype)
        if isinstance(layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            break
    if not any(True for _ in model.parameters()):
        return torch.linspace(-1, 1, TOKENS).unsqueeze(0)
    raise ValueError(f"{name}: an input cannot be derived from its layers; pass data= (--data)")


def configured_inputs(model: Any, name: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return a small input of a model of transformers, from its configuration.

    Raises ValueError, with the names that the model takes, if it has inputs of another kind.
    """
    configuration, main = model.config, model.main_input_name
    parameters = inspect.signature(model.forward).parameters
    required = [p.name for p in parameters.values() if p.default is p.empty]
    wanted = [n for n in required if parameters[n].kind is not inspect.Parameter.VAR_KEYWORD]
    wanted += [main]
    fields = _Fields(configuration)
    if "input_ids" in parameters and fields.has("text_config", "vision_config"):
        # Models of two towers take both; where a text has tokens for images, they may be left out.
        tokens = any("image_token" in field for field in vars(configuration))
        wanted += ["input_ids"] if tokens else ["input_ids", "pixel_values"]
    if getattr(configuration, "is_encoder_decoder", False) and "decoder_input_ids" in parameters:
        wanted += ["decoder_input_ids"]
    inputs = {n: _input(n, fields, dtype) for n in dict.fromkeys(wanted)}
    missing = [n for n, tensor in inputs.items() if tensor is None]
    if missing:
        raise ValueError(
            f"{name}: {', '.join(missing)} cannot be made from its configuration; pass data= "
            f"(--data), an .npz with {', '.join(inputs)}"
        )
    return {n: tensor for n, tensor in inputs.items() if tensor is not None}


class _Fields:
    """The fields of a configuration and of those inside it, the outermost first."""

    def __init__(self, configuration: Any) -> None:
        self._all = list(self._with_parts(configuration))

    def _with_parts(self, configuration: Any) -> Iterator[Any]:
        yield configuration
        for part in PARTS:
            inner = getattr(configuration, part, None)
            if hasattr(inner, "to_dict"):
                yield from self._with_parts(inner)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the first value of a field that is not None."""
        values = (getattr(part, name, None) for part in self._all)
        return next((value for value in values if value is not None), default)

    def has(self, *names: str) -> bool:
        """Return whether all fields have a value."""
        return all(self.get(name) is not None for name in names)


def _input(name: str, fields: _Fields, dtype: torch.dtype) -> Tensor | None:
    """Return an example of an input of transformers; None for inputs of other kinds."""
    if name in TEXT:
        return torch.arange(1, 1 + TOKENS).remainder(int(fields.get("vocab_size", 2))).unsqueeze(0)
    if name == "attention_mask":
        return torch.ones(1, TOKENS, dtype=torch.long)
    if name == "bbox":
        return torch.zeros(1, TOKENS, 4, dtype=torch.long)
    if name == "pixel_values":
        size = fields.get("image_size", 224)
        sides = list(size) if isinstance(size, tuple | list) else [size, size]
        frames = [int(fields.get("num_frames"))] if fields.has("num_frames") else []
        return torch.zeros(1, *frames, int(fields.get("num_channels", 3)), *sides, dtype=dtype)
    if name == "input_features":
        if fields.has("num_mel_bins", "max_source_positions"):
            shape = [int(fields.get("num_mel_bins")), 2 * int(fields.get("max_source_positions"))]
            return torch.zeros(1, *shape, dtype=dtype)
        width = fields.get("input_feat_per_channel", fields.get("feature_projection_input_dim"))
        return None if width is None else torch.zeros(1, 4 * FRAMES, int(width), dtype=dtype)
    if name == "input_values":
        if fields.has("num_mel_bins", "max_length"):  # a spectrogram
            shape = [int(fields.get("max_length")), int(fields.get("num_mel_bins"))]
            return torch.zeros(1, *shape, dtype=dtype)
        if fields.has("conv_stride"):
            samples = FRAMES * prod(fields.get("conv_stride"))
            return torch.linspace(-1, 1, samples, dtype=dtype).unsqueeze(0)
        if fields.has("audio_channels"):
            shape = [int(fields.get("audio_channels")), 4 * SIDE**2]
            return torch.zeros(1, *shape, dtype=dtype)
    return None
