"""All checks of softgate.keras on one backend, run with KERAS_BACKEND and the writer's directory.

In one process, for importing a backend takes as long as many a check. The first check of
keras_used.py wants softgate.keras not imported yet.
"""

from __future__ import annotations

from checking import run_checks

if __name__ == "__main__":
    run_checks("keras_used", "keras_read")
