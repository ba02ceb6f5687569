"""ONNX models that are edited and run in the process of a test, in place of a worker process."""

from __future__ import annotations

import json
from typing import Any

from softgate.studies.swap.onnx_edit import EditableModel


class HereWorker:
    """A worker in this process."""

    def __init__(self, _: str) -> None:
        self.model: EditableModel | None = None
        self.answer: dict[str, Any] = {}

    def send(self, message: dict[str, Any]) -> None:
        try:
            self.model = self.model or EditableModel(message["file"])
            answer = self.model.reply(json.loads(json.dumps(message)))
        except ValueError as error:
            answer = {"mistake": str(error)}
        self.answer = json.loads(json.dumps(answer))

    def receive(self, _: float) -> dict[str, Any]:
        return self.answer

    def kill(self) -> None:
        pass
