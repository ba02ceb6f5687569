"""The playground: activations to try out in the page, computed with emitted JavaScript.

`study` says what can be picked and holds the emitted code, `body` is the HTML, `script` joins the
code with the files in `assets/`: quadrature and crossings (mesh, statistics), a random network and
its mean field (layers), the gate (gate), charts, controls and the three panels.
"""

from __future__ import annotations

from .body import body
from .script import script
from .study import Playground, playground

__all__ = ["Playground", "body", "playground", "script"]
