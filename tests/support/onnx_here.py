"""ONNX models that are edited and run in the process of a test instead of a worker process."""

from __future__ import annotations

import json
from typing import Any

from softgate.studies.models.onnx_edit import EditableModel


class InProcessWorker:
    """The interface of `Worker` without a process."""

    def __init__(self, _: str) -> None:
        self.model: EditableModel | None = None
        self.reply: dict[str, Any] = {}

    def send(self, message: dict[str, Any]) -> None:
        try:
            self.model = self.model or EditableModel(message["file"])
            reply = self.model.reply(json.loads(json.dumps(message)))
        except ValueError as error:
            reply = {"mistake": str(error)}
        self.reply = json.loads(json.dumps(reply))

    def receive(self, _: float) -> dict[str, Any]:
        return self.reply

    def kill(self) -> None:
        pass
