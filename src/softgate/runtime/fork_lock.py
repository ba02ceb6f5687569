"""One lock that a fork waits for: a child inherits no import, compiler or table half done.

It exists from the first import on, for what is registered while a fork already waits comes too late
for that fork.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
"""Held while kernels are compiled, tables made and modules loaded."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=BUILDING.acquire,
        after_in_parent=BUILDING.release,
        after_in_child=BUILDING.release,
    )
