"""Runs emitted Triton kernels in Triton's interpreter: started by test_emit_triton.py.

    TRITON_INTERPRET=1 python interpret_triton.py FOLDER

FOLDER has jobs.json, a list of [module, function, parameters, dtype], and for job i the arrays i.x
and i.grad; the value and the gradient, by torch.autograd, are written beside them.
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
        x, grad = (torch.from_numpy(np.load(folder / f"{i}.{n}.npy")) for n in ("x", "grad"))
        x = x.to(getattr(torch, dtype)).requires_grad_()
        y = getattr(loaded(folder / file), name)(x, **parameters)
        y.backward(grad.to(x.dtype))
        assert x.grad is not None
        assert y.dtype == x.dtype
        np.save(folder / f"{i}.value.npy", y.detach().double().numpy())
        np.save(folder / f"{i}.backward.npy", x.grad.double().numpy())


if __name__ == "__main__":
    with np.errstate(all="ignore"):  # the interpreter computes with NumPy
        main(Path(sys.argv[1]))
