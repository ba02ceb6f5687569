"""What keras_read.py compares with: torch's blocks and their gradients, and saved models.

Run with KERAS_BACKEND=torch and a directory (checking.py).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import keras
import keras_blocks
import numpy as np
import torch

import softgate as sg
import softgate.keras
import softgate.torch


def reference(kind: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The weights of a block in torch, its output and every gradient."""
    torch.manual_seed(7)
    block = getattr(softgate.torch, kind)(*arguments, **options).eval()
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.4)
    x = torch.from_numpy(keras_blocks.inputs()).requires_grad_()
    masks = {k: torch.from_numpy(v) for k, v in keras_blocks.masks(kind, options).items()}
    y = block(x, **masks)
    y.backward(torch.from_numpy(keras_blocks.upstream()))
    results = {f"weight {name}": value.numpy() for name, value in block.state_dict().items()}
    results |= {f"grad {name}": p.grad.numpy() for name, p in block.named_parameters()}
    return results | {"y": y.detach().numpy(), "grad x": x.grad.numpy()}


def check_what_is_written() -> None:
    """Write the files; the other backends read them in their processes."""
    folder = Path(sys.argv[1])
    for name, (kind, arguments, options) in keras_blocks.BLOCKS.items():
        np.savez(folder / f"{name}.npz", **reference(kind, arguments, options))
    keras.utils.set_random_seed(3)
    answers = {}
    for name, model in keras_blocks.models().items():
        model.save(folder / f"{name}.keras")
        x = keras_blocks.features(model.input_shape)
        answers[name] = np.asarray(model(x).detach()).tolist()
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    assert sg.gelu is softgate.keras.gelu.activation
