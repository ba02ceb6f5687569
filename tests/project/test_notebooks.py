"""The notebooks run, and print what is stored in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from places import ROOT

pytest.importorskip("nbclient", reason="the extra docs is not installed")
pytest.importorskip("torch")

FOLDER = str(ROOT / "tools" / "docs")
sys.path.insert(0, FOLDER)
import notebooks  # noqa: E402

sys.path.remove(FOLDER)


@pytest.mark.filterwarnings("ignore")  # of Jupyter's
@pytest.mark.parametrize("file", notebooks.files(), ids=lambda file: file.stem)
def test_a_notebook_prints_what_is_stored(file: Path) -> None:
    assert notebooks.differences(notebooks.read(file), notebooks.execute(file)) == []


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
