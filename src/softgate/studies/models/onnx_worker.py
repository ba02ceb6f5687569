"""An ONNX file in a worker process (`onnx_edit`), since a file can crash onnx."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from softgate.formula.formats import FORMATS
from softgate.records.packages import require
from softgate.runtime.activation import Activation

from ..subjects.worker import Message, Worker
from .record import Scan, ScannedActivation

CPU_S, CPU_S_PER_MB = 8, 2
"""Seconds of CPU time for a file: at least, and for each MB of it and of its inputs."""
WAITING = 7
"""Seconds for a reply over seconds of CPU time: the machine may be busy."""


class OnnxModel:
    """An ONNX file that is read, edited and run in a worker process.

    Raises ValueError if the file cannot be read.
    """

    def __init__(self, file: str) -> None:
        require("onnx", "onnxruntime", purpose="an ONNX file")
        self.file = file
        if not Path(file).is_file():
            raise ValueError(f"there is no file {file}: expected an .onnx file")
        self._worker = Worker("softgate.studies.models.onnx_edit")
        try:
            self.description = self.request({"command": "open"})
        except BaseException:
            self._worker.kill()
            raise
        self.scan = _scan(self.description["scan"])
        self.activations = _scan(self.description["activations"]).activations

    @property
    def opset(self) -> int:
        """The version of its standard operators."""
        return int(self.description["opset"])

    def request(self, message: Message, input_bytes: int = 0) -> Message:
        """Return the reply to a message; raise ValueError if it is an error or if there is none.

        The time is limited by the size of the file and of the inputs with which it is run.
        """
        size = Path(self.file).stat().st_size + 5 * input_bytes
        cpu_s = CPU_S + CPU_S_PER_MB * size / 1e6
        self._worker.send({"file": self.file, "cpu_s": cpu_s, **message})
        try:
            reply = self._worker.receive(WAITING * cpu_s)
        except TimeoutError:
            raise ValueError(f"{self.file}: it took more than {WAITING * cpu_s:.0f} s") from None
        if reply is None:
            reason = self._worker.kill(1.0).reason
            if reason == "SIGXCPU":
                raise ValueError(f"{self.file}: it took more than {cpu_s:.0f} s of CPU time")
            raise ValueError(f"{self.file} cannot be read: onnx failed ({reason})")
        if "mistake" in reply:
            raise ValueError(reply["mistake"])
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.kill()


def _scan(content: Message) -> Scan:
    return Scan.from_json(json.dumps(content))


def encoded(graphs: Mapping[int, Any]) -> list[tuple[int, str]]:
    """Return graphs as text for a message, by the number of their activation."""
    return [(i, b64encode(graph.SerializeToString()).decode()) for i, graph in graphs.items()]


def replacement_form(
    scanned: ScannedActivation,
    new: Activation,
    opset: int,
    spelling: str | None = None,
    max_opset: int | None = None,
) -> Any:
    """Return the operators of a function that replaces an activation, scale and offset included.

    Raises `NoOnnxForm` if it cannot be written there.
    """
    from .onnx_forms import spell

    fmt = FORMATS[scanned.dtype]
    return spell(new, fmt, opset, spelling, max_opset, scanned.scale, scanned.offset)
