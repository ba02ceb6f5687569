"""Runs emitted Triton kernels in Triton's interpreter: started by test_emit_triton.py.

    TRITON_INTERPRET=1 python interpret_triton.py FOLDER

FOLDER has jobs.json, a list of [module, function, parameters, dtype], and for job i the arrays i.x,
i.grad and, for a gated function, i.b; the value and the gradient by torch.autograd, of a gated
function both gradients as rows, are written beside them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import torch


@cache
def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(folder: Path) -> None:
    jobs = json.loads((folder / "jobs.json").read_text(encoding="utf-8"))
    for i, (file, name, parameters, dtype) in enumerate(jobs):
        names = [n for n in ("x", "b", "grad") if (folder / f"{i}.{n}.npy").exists()]
        *operands, grad = (torch.from_numpy(np.load(folder / f"{i}.{n}.npy")) for n in names)
        operands = [x.to(getattr(torch, dtype)).requires_grad_() for x in operands]
        y = getattr(loaded(folder / file), name)(*operands, **parameters)
        assert y.dtype == operands[0].dtype
        y.backward(grad.to(y.dtype))
        gradients = [x.grad for x in operands if x.grad is not None]
        assert len(gradients) == len(operands)
        rows = gradients[0] if len(gradients) == 1 else torch.stack(gradients)
        np.save(folder / f"{i}.value.npy", y.detach().double().numpy())
        np.save(folder / f"{i}.backward.npy", rows.double().numpy())


if __name__ == "__main__":
    with np.errstate(all="ignore"):  # the interpreter computes with NumPy
        main(Path(sys.argv[1]))
