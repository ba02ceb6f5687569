"""Processes forked and spawned by one that has loaded torch: run by test_torch_adapter.py.

One program for all, since each new process takes seconds to import torch. Prints the exit codes as
JSON. A spawned worker imports this file, hence nothing but what it needs is imported here.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset[torch.Tensor]):
    """Rows that a worker passes through an activation."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        import softgate as sg

        result: torch.Tensor = sg.gelu(torch.full((70_000,), float(index) - 3))
        return result[:2]


def status_of_child(check: Callable[[], bool]) -> int:
    """Return the exit code of a forked process: 0 if the check passes."""
    child = os.fork()
    if not child:
        signal.alarm(300)  # a child that waits for threads that are gone is killed
        try:
            os._exit(0 if check() else 3)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def without_temporary_folder() -> bool:
    """Check tensors where no temporary folder is found; torch's compiler would need one."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError("No usable temporary directory found")

    for name in ("gettempdir", "mkdtemp", "mkstemp", "_get_default_tempdir", "NamedTemporaryFile",
                 "TemporaryDirectory"):  # fmt: skip
        setattr(tempfile, name, refuse)
    import softgate as sg

    x = torch.ones(5, requires_grad=True)
    sg.gelu(x).sum().backward()
    (sg.swiglu(x, x) + sg.torch.GELU()(x) + sg.torch.functional.relu(x)).sum().backward()
    sg.torch.FeedForward(5, 7, activation="gelu")(x[None]).sum().backward()
    sg.gelu(torch.ones(3).to(torch.float8_e4m3fn))
    sg.gelu(torch.ones(3, dtype=torch.int64))
    assert x.grad is not None
    return bool(x.grad.isfinite().all())


def loaded(start: str, workers: int) -> int:
    """Return 0 if the rows of a DataLoader are right, else 3."""
    import softgate as sg

    loader = DataLoader(Numbers(), batch_size=3, num_workers=workers, multiprocessing_context=start)
    rows = torch.cat(list(loader))
    return 0 if torch.equal(rows[:, 0], sg.gelu(torch.arange(6.0) - 3)) else 3


def main() -> None:
    statuses = {"no temporary folder": status_of_child(without_temporary_folder)}
    torch.set_num_threads(2)
    x = torch.linspace(-8, 8, 1 << 20)
    torch.exp(x)  # OpenMP's threads are there now

    def last_is_right() -> bool:
        import softgate as sg

        return abs(sg.gelu(x)[-1].item() - 8) < 1e-3

    statuses["before softgate is imported"] = status_of_child(last_is_right)
    import softgate as sg

    statuses["before the first tensor"] = status_of_child(last_is_right)
    expected = sg.gelu(x).numpy()
    statuses["after the first tensor"] = status_of_child(
        lambda: bool((sg.gelu(x).numpy() == expected).all())  # torch.equal would wait
    )
    statuses["forked DataLoader"] = loaded("fork", 2)
    statuses["spawned DataLoader"] = loaded("spawn", 1)
    print(json.dumps(statuses))


if __name__ == "__main__":
    main()
