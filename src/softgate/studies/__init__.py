"""What softgate measures about functions and models: one package or module per public function."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called as `progress(label, done, total)`: the step that is running, and how many are done."""
