"""The wheel and the source distribution: contents, metadata, and a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest
from places import ROOT

PACKAGES = ("formula", "catalogue", "lower", "runtime", "frameworks", "studies", "reporting", "cli")
UNREACHABLE = ("Failed to fetch", "from versions: none")
"""What uv and pip print if there is no package index."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both distributions; the wheel is built from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_twine_accepts_both(built: Path) -> None:
    files = sorted(map(str, built.iterdir()))
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_the_wheel_has_the_package_only(built: Path) -> None:
    with ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        metadata = message_from_bytes(
            wheel.read(next(n for n in names if n.endswith(".dist-info/METADATA")))
        )
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"softgate", next(top for top in tops if top.endswith(".dist-info"))}
    for package in PACKAGES:
        assert f"softgate/{package}/__init__.py" in names
    source = ROOT / "src" / "softgate"
    files = {
        f"softgate/{file.relative_to(source).as_posix()}"
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert files <= set(names)
    assert metadata["Name"] == "softgate"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert str(metadata.get_payload()).startswith("# softgate")


def test_the_source_distribution_has_tests_and_documentation(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for file in ("Makefile", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md",
                 "constraints.txt", "docs/guide.md", "tests/conftest.py", "tools/install.py",
                 "conftest.py", ".github/workflows/ci.yml", "notebooks/tutorial.ipynb",
                 "src/softgate/__init__.py"):  # fmt: skip
        assert file in names
    assert not any(name.startswith((".venv", "build/", ".git/")) for name in names)


def test_the_wheel_works_alone_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    wheel = str(next(built.glob("*.whl")))
    install = [sys.executable, str(ROOT / "tools/install.py"), "--python", str(python), wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0 and any(words in done.stderr for words in UNREACHABLE):
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    command = [str(python), "-m", "softgate", "table", "gelu", "--at=1", "--csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.8413447" in done.stdout
    command = [str(python), "-m", "softgate", "certify", "gelu", "--dtype=float16"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "model.onnx").touch()
    command = [str(python), "-m", "softgate", "identify", "model.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "softgate[onnx]" in done.stderr
