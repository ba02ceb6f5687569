"""DTensor and tensor parallelism: two processes, each with a shard of every tensor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import SUPPORT


def test_sharded_tensors_have_the_bits_of_whole_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "sharded.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
