"""`swap`: the activations inside a model, replaced by other functions.

`selection` decides which ones by which functions; `record` is the result for all kinds of models.
For ONNX files, `onnx_swap` has the function `sg.swap`, `spelling` writes a function in operators,
`onnx_edit` edits, checks and runs a model in a worker process, and `onnx_client` sends requests to
that process.
"""

from __future__ import annotations

from .record import Swap as Swap
from .record import SwapError as SwapError
from .record import SwappedActivation as SwappedActivation
from .record import UnswappedActivation as UnswappedActivation
