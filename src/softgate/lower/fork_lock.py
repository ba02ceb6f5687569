"""A lock that a fork acquires, so that a child inherits no unfinished import, kernel or table.

It is registered at the first import: hooks registered while a fork is already waiting do not apply
to that fork.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
"""Held while kernels are compiled, tables computed and modules imported."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=BUILDING.acquire,
        after_in_parent=BUILDING.release,
        after_in_child=BUILDING.release,
    )
