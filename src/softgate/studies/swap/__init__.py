"""`swap`: the activations inside a model, replaced by other functions.

`selection` decides which ones by which functions; `record` is the result for all kinds of models.
For ONNX files, `onnx_model` has the function `sg.swap`; `models/onnx_forms` writes a function in
operators, and `models/onnx_edit` edits, checks and runs a model in a worker process.
"""

from __future__ import annotations

from .record import Swap as Swap
from .record import SwapError as SwapError
from .record import SwappedActivation as SwappedActivation
from .record import UnswappedActivation as UnswappedActivation
