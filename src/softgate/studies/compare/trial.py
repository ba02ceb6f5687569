"""A trial: everything that decides how one training run ends, and nothing that does not.

Its key is a hash of all of it, so what is found under a key need not be run again, and a trial that
differs in anything is another one. How fast it runs, where, and beside what others, is no part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from softgate.runtime.records import plain

Setting = float | int | str | bool | None
Role = Literal["tuning", "reported"]


@dataclass(frozen=True)
class Trial:
    """One training run.

    Attributes
    ----------
    task : str
        The task's name; "build" or "script" for a user's own.
    arm : str
        What is compared, by the name that tables show: mostly the activation's own.
    activation : str
        The activation by a name that `softgate.torch.make` or a gated block understands, with its
        parameters, as in "elu:alpha=0.5".
    condition : str
        The circumstances under which arms are compared with each other, such as "layers=48"; empty
        where there are no others.
    settings : mapping
        All else that the task lets one choose (epochs, batch, width, …), also where it is as usual.
    lr : float
        The learning rate.
    seed : int
        Of the initial weights and the order of the data, so that arms are paired by it.
    role : {"tuning", "reported"}
        A tuning trial is scored on validation data alone and never sees test data.
    fingerprint : str
        A hash of code, data and versions: of the task, of a user's functions, of torch.
    """

    task: str
    arm: str
    activation: str
    condition: str
    settings: Mapping[str, Setting]
    lr: float
    seed: int
    role: Role
    fingerprint: str

    @cached_property
    def key(self) -> str:
        """A hash of all that decides the outcome: the name that it is kept under."""
        text = json.dumps(plain(self), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]
