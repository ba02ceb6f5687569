"""DTensor and tensor parallelism: two processes, each with a shard of every tensor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import SUPPORT


def test_sharded_tensors_have_the_bits_of_whole_ones(tmp_path: Path) -> None:
    script = SUPPORT / "sharded.py"
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        printed = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(printed)
