"""`sg.swap`: other activations inside an ONNX file, or the same ones in other operators.

The model is read, edited and run in a worker process (`models/onnx_edit`): a file can crash onnx.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from filecmp import cmp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from softgate.records.files import check_writable, output_path, write_file
from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..models.arrays import inputs_file, load_arrays
from ..models.onnx_worker import OnnxModel, encoded, replacement_form
from ..models.record import ScannedActivation
from .record import OutputDifference, Swap, SwapError, SwappedActivation, UnswappedActivation
from .selection import NOT_SELECTED, Replacements, left_unchanged, select

SPELLINGS = ("op", "primitives", "microsoft")


def swap(
    model: str | os.PathLike[str],
    replacements: Replacements | None = None,
    *,
    spell: str | None = None,
    opset: int | None = None,
    inputs: Any = None,
    output: str | os.PathLike[str] | None = None,
    partial: bool = False,
) -> Swap:
    """Replace activations inside an ONNX file, or write them in other operators.

    Activations are identified by their values, as in `scan`. Their nodes are replaced; weights and
    all other nodes are unchanged. The new model is checked by onnx; onnxruntime runs it and the
    original one, and their outputs are compared. For models in memory there are
    `softgate.torch.swap` and `softgate.keras.swap`.

    Parameters
    ----------
    model : str or path
        An .onnx file. It is never overwritten.
    replacements : str, callable or mapping, optional
        A function that replaces all activations, if they compute one function; or a mapping from
        functions ("gelu"), paths ("/encoder/0") or patterns of paths (`"/encoder/*"`) to functions,
        as in `softgate.torch.swap`. A path takes precedence over a pattern, a pattern over a
        function. Functions are written as in `softgate.get`: "gelu_tanh", "elu:alpha=0.5",
        "file.py:function", or a callable.
    spell : {"op", "primitives", "microsoft"}, optional
        Rewrite every activation: as the operator of ONNX, such as Gelu, for which the opset is
        raised if needed; in operators that every runtime has, such as Erf, Tanh and Sigmoid; or in
        those of onnxruntime: com.microsoft Gelu, FastGelu and QuickGelu. A function without such
        an operator is written in primitives.
    opset : int, optional
        The highest opset that `spell="op"` may raise the model to; by default what it needs.
    inputs : path, mapping or array, optional
        Inputs on which the outputs are compared, in addition to random ones: an .npz file or
        arrays.
    output : str or path, optional
        The .onnx file to write. Without it, nothing is written.
    partial : bool, default False
        Replace what can be replaced; otherwise an activation that cannot be is an error.

    Returns
    -------
    Swap
        A record: each activation with its replacement, those that could not be replaced with the
        reason, and the difference of each output.

    Raises
    ------
    ValueError
        If the file cannot be read, an activation cannot be replaced, or `output` is `model`.

    Examples
    --------
    >>> import softgate as sg
    >>> import onnx, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "model.onnx")
    >>> onnx.save(sg.emit("relu", "onnx"), file)
    >>> record = sg.swap(file, {"relu": "silu"}, output=file.replace(".onnx", "_silu.onnx"))
    >>> record.swapped[0].after, record.swapped[0].new_operators
    ('silu', 'Sigmoid, Mul')
    >>> folder.cleanup()
    """
    if not isinstance(model, str | os.PathLike):
        raise TypeError(
            f"the model is {a_type(model)}: expected an .onnx file; for a model in memory, use "
            "softgate.torch.swap or softgate.keras.swap"
        )
    file = os.fspath(model)
    if Path(file).suffix.lower() != ".onnx":
        raise ValueError(f"the model is {file}: expected an .onnx file")
    if spell is not None and spell not in SPELLINGS:
        raise ValueError(f"spell = {spell!r}: choose from {', '.join(SPELLINGS)}")
    if replacements is None and spell is None:
        raise ValueError(
            "nothing to do: pass replacements such as {'gelu': 'gelu_tanh'} (--to), or spell "
            "(--spell)"
        )
    path = None if output is None else _checked_output(Path(file), output)
    with ExitStack() as stack:
        data = None
        if inputs is not None:
            data = stack.enter_context(inputs_file(load_arrays(inputs)))
        opened = stack.enter_context(OnnxModel(file))
        return _swap(opened, replacements, spell, opset, data, path, partial)


def _checked_output(original: Path, output: str | os.PathLike[str]) -> Path:
    path = output_path(output, ("onnx",), "output")
    if os.path.realpath(path) == os.path.realpath(original) or (
        path.exists() and original.exists() and path.samefile(original)
    ):
        raise ValueError(f"{path} is the original model: name another file")
    check_writable(path)
    return path


def _swap(
    model: OnnxModel,
    replacements: Replacements | None,
    spell: str | None,
    opset: int | None,
    data: str | None,
    output: Path | None,
    partial: bool,
) -> Swap:
    chosen: Sequence[Activation | None] = [None] * len(model.activations)
    if replacements is not None:
        chosen = select(model.activations, replacements, model.file, separator="/")
    plan = _Plan(model, chosen, spell, opset)
    if plan.unswapped and not partial:
        raise SwapError(model.file, plan.wanted, tuple(plan.unswapped))
    if not plan.graphs:
        return Swap(
            target=model.file,
            kind="onnx",
            swapped=(),
            unswapped=tuple(plan.unswapped),
            notes=model.scan.notes,
            unchanged=tuple(plan.unchanged),
        )
    with TemporaryDirectory() as folder:
        staged = Path(folder, "model.onnx")
        reply = model.request({
            "command": "swap",
            "replacements": encoded(plan.graphs),
            "opset": plan.opset,
            "inputs": data,
            "staged": None if output is None else str(staged),
        })  # fmt: skip
        if output is not None:
            _copy_external(model, output)
            write_file(output, staged.read_bytes())
    raised = [f"opset {model.opset} -> {plan.opset}"] if plan.opset != model.opset else []
    return Swap(
        target=model.file,
        kind="onnx",
        swapped=tuple(
            SwappedActivation(
                model.activations[i].path,
                model.activations[i].label,
                plan.labels[i],
                "nodes",
                model.activations[i].operators,
                operators,
            )
            for i, operators in reply["operators"]
        ),
        unswapped=tuple(plan.unswapped),
        notes=(*raised, *model.scan.notes, *reply["notes"]),
        output=None if output is None else str(output),
        differences=tuple(
            OutputDifference(**{**row, "shape": tuple(row["shape"])})
            for row in reply["differences"]
        ),
        unchanged=tuple(plan.unchanged),
    )


class _Plan:
    """The graph that replaces each activation, and what cannot be replaced."""

    def __init__(
        self,
        model: OnnxModel,
        chosen: Sequence[Activation | None],
        spell: str | None,
        max_opset: int | None,
    ) -> None:
        self.graphs: dict[int, Any] = {}
        self.labels: dict[int, str] = {}
        self.unswapped: list[UnswappedActivation] = []
        self.unchanged: list[UnswappedActivation] = []
        self.opset, self.wanted = model.opset, 0
        self._spell, self._max_opset = spell, max_opset
        for i, (scanned, wanted) in enumerate(zip(model.activations, chosen, strict=True)):
            same = wanted is not None and label(wanted) == scanned.label
            new = None if same else wanted
            why = model.description["reasons"][i]
            if new is None and (spell is None or why):
                reason = "it already is that function" if same else NOT_SELECTED
                self._leave(scanned, reason if spell is None else why)
                continue
            self.wanted += 1
            why = why or self._add(i, scanned, new)
            if why:
                self.unswapped.append(_unswapped(scanned, why))
        # What the scan does not list as an activation.
        self.unchanged += left_unchanged(model.scan, model.scan.activations, NOT_SELECTED)

    def _leave(self, scanned: ScannedActivation, reason: str) -> None:
        self.unchanged.append(_unswapped(scanned, reason))

    def _add(self, i: int, scanned: ScannedActivation, new: Activation | None) -> str:
        """Add the graph of one activation; return why it cannot be written, or an empty text."""
        from ..models.onnx_forms import NoOnnxForm

        same = scanned.unscaled
        try:
            form = replacement_form(scanned, new or same, self.opset, self._spell, self._max_opset)
        except NoOnnxForm as error:
            return str(error)
        operators = ", ".join(n.op_type for n in form.graph.node if n.op_type != "Constant")
        domains = {node.domain for node in form.graph.node}
        if new is None and operators == scanned.operators and domains == {""}:
            self.wanted -= 1
            self._leave(scanned, "it is already written so")
            return ""
        self.graphs[i], self.labels[i] = form.graph, label(new or same)
        self.opset = max(self.opset, form.opset)
        return ""


def _unswapped(scanned: ScannedActivation, reason: str) -> UnswappedActivation:
    return UnswappedActivation(scanned.path, scanned.label, scanned.operators, reason)


def _copy_external(model: OnnxModel, output: Path) -> None:
    """Copy the files with external data to the folder of the output, unless they are there."""
    source, target = Path(model.file).resolve().parent, output.resolve().parent
    if source == target:
        return
    for location in model.description["external"]:
        new = target / location
        if new.exists():
            if new.samefile(source / location) or cmp(source / location, new, shallow=False):
                continue
            raise ValueError(f"{new} exists and differs from the model's data: name another folder")
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / location, new)
