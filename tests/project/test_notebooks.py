"""The notebooks run, and print what is stored in them."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytest.importorskip("nbclient", reason="the extra docs is not installed")
pytest.importorskip("torch")
import nbformat
from IPython.lib.pretty import pretty
from nbformat.v4 import new_code_cell, new_notebook, new_output

FOLDER = str(ROOT / "tools" / "docs")
sys.path.insert(0, FOLDER)
import notebooks  # noqa: E402

sys.path.remove(FOLDER)


def executed_here(file: Path) -> nbformat.NotebookNode:
    """Return a notebook executed in this process, into which other tests have imported torch."""
    notebook = notebooks.read(file)
    names: dict[str, Any] = {"__name__": file.stem}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs(cell.source, names)
    return notebook


def outputs(source: str, names: dict[str, Any]) -> list[nbformat.NotebookNode]:
    """Return what a cell prints, and its last expression as IPython shows it."""
    *statements, last = ast.parse(source).body
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        else:
            exec(compile(source, "<cell>", "exec"), names)
    result = [new_output("stream", text=printed.getvalue())]
    if value is not None:
        result.append(new_output("execute_result", data={"text/plain": pretty(value)}))
    return result


@pytest.mark.usefixtures("one_torch_thread")  # as `notebooks.execute` has
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", notebooks.files(), ids=lambda file: file.stem)
def test_a_notebook_prints_what_is_stored(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert notebooks.differences(notebooks.read(file), executed_here(file)) == []


@pytest.mark.filterwarnings("ignore")  # of Jupyter's
def test_notebooks_are_executed_in_a_kernel(tmp_path: Path) -> None:
    """What `make notebooks` stores is what the test of each notebook computes."""
    file = tmp_path / "short.ipynb"
    sources = ("x = (1, 'a')\nprint('φ')\nx", "import numpy as np\nnp.ones(2)", "y = 1")
    cells = [new_code_cell(source) for source in sources]
    nbformat.write(new_notebook(cells=cells), file)
    executed = notebooks.execute(file)
    texts = ["".join(map(notebooks.text, cell.outputs)) for cell in executed.cells]
    assert texts == ["φ\n(1, 'a')", "array([1., 1.])", ""]
    assert notebooks.differences(executed_here(file), executed) == []
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), file)
    with pytest.raises(ZeroDivisionError):
        executed_here(file)


def test_all_notebooks_are_there() -> None:
    stems = [file.stem for file in notebooks.files()]
    assert stems == ["comparing_two_activations", "tutorial", "which_gelu"]


def test_another_output_is_noticed() -> None:
    (file,) = (file for file in notebooks.files() if file.stem == "tutorial")
    stored, changed = notebooks.read(file), notebooks.read(file)
    cells = [cell for cell in changed.cells if cell.cell_type == "code" and cell.outputs]
    cells[0].outputs[0].data["text/plain"] = "array([0.])"
    (message,) = notebooks.differences(stored, changed)
    assert "sg.Phi(z)" in message
    varying = next(cell for cell in cells if "varies" in cell.metadata.get("tags", ()))
    varying.outputs = []
    assert notebooks.differences(stored, changed) == [message]
