"""Check the published digests and run the tests of the kernels on AArch64, emulated by QEMU.

    python tools/run_on_arm.py                 all of it, as `make arm` does
    python tools/run_on_arm.py --prepare       only what needs root and a network
    python tools/run_on_arm.py --pytest tests/runtime/test_numpy.py -k out     one run of pytest

A Debian for arm64 is unpacked in a cache folder by debootstrap, and wheels for AArch64 by pip. The
user mode of QEMU then runs that Python on this checkout, without a second system. The Debian
packages debootstrap and qemu-user-static are installed if they are missing and this runs as root.
Under emulation a process cannot start another: tests that do are skipped. Tests of frameworks are
left out, too. The end of the output lists what was left out, and why.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS, TOOLS = REPOSITORY / "tests", REPOSITORY / "tools"
SUPPORT = TESTS / "support"
SUITE, PYTHON = "bookworm", "3.11"
"""The Debian that is unpacked, and the Python that it has."""

QEMU = "qemu-aarch64-static"
PACKAGES = {"debootstrap": "debootstrap", QEMU: "qemu-user-static"}
"""Commands, and the Debian packages that have them."""

PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
TEST_NAMES = ("hypothesis>", "mpmath>", "pandas>", "pytest>")
"""What tests need, beside the dependencies."""

FILES = (
    "test_catalogue.py",
    "test_checks.py",
    "test_emulated.py",
    "test_exact.py",
    "test_explain.py",
    "test_fits.py",
    "test_formula.py",
    "test_formula_errors.py",
    "test_formula_random.py",
    "test_gated.py",
    "test_gated_arrays.py",
    "test_graph.py",
    "test_numpy.py",
    "test_threads.py",
    "test_without_fma.py",
)
"""Formulas, kernels, tables and the NumPy front end."""

OTHER_REASONS = {"test_targets.py": "compiles for other CPUs, which this one has no part in"}

DESELECTED = {
    "catalogue/test_catalogue.py::test_16_bits_are_correctly_rounded": (
        "half of all the time; the digests are of all 65,536 inputs, too"
    ),
}
"""Single tests that are not run, and why."""

DIGESTS = """
import sys, softgate
def show(done, total):
    if done % 50 == 0:
        print(f"{done} of {total} digests", flush=True)
result = softgate.check_bits(full=True, progress=show)
print(result)
sys.exit(not result.ok)
"""


def main() -> int:
    """Prepare what is missing, then run what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cache = Path.home() / ".cache" / "softgate" / "arm"
    parser.add_argument("--cache", type=Path, default=cache, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="runs of pytest side by side")
    parser.add_argument("--prepare", action="store_true", help="unpack what is needed, run nothing")
    parser.add_argument("--pytest", nargs=argparse.REMAINDER, help="run pytest with what follows")
    options = parser.parse_args()
    cache = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    emulator = Emulator(require(QEMU), unpacked_debian(cache), unpacked_wheels(cache), cache)
    if options.prepare:
        return 0
    if options.pytest:
        return emulator.start(*emulator.pytest(*options.pytest)).wait()
    digests = check_digests(emulator)
    return run_tests(emulator, options.jobs) or digests


class Emulator:
    """Python for AArch64 with softgate's dependencies, on this checkout."""

    def __init__(self, qemu: str, debian: Path, site: Path, cache: Path) -> None:
        self.site, self.cache = site, cache
        self.command = [qemu, "-L", str(debian), str(debian / "usr/bin" / f"python{PYTHON}"), "-s"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_"))}
        path = os.pathsep.join(map(str, (site, REPOSITORY / "src", TOOLS)))
        self.environment = clean | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *arguments: str, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Start Python with these arguments; its output goes to `log`, or is shown."""
        command, where = [*self.command, *arguments], REPOSITORY
        if log is None:
            return subprocess.Popen(command, cwd=where, env=self.environment)
        with log.open("wb") as out:
            return subprocess.Popen(
                command, cwd=where, env=self.environment, stdout=out, stderr=subprocess.STDOUT
            )

    @staticmethod
    def pytest(*arguments: str) -> list[str]:
        """Return the arguments of a run of pytest."""
        options = ("-p", "emulated_tests", "-p", "no:cacheprovider", "-q", "-rsfE", "--tb=short")
        return ["-m", "pytest", *options, *arguments]


def require(command: str) -> str:
    """Return the path of a command, after installing its Debian package as root if need be."""
    if shutil.which(command) is None:
        package = PACKAGES[command]
        install = ["apt-get", "install", "-y", "-qq", package]
        if os.geteuid() or shutil.which("apt-get") is None:
            raise SystemExit(f"{command} is missing: run `{' '.join(install)}` as root, then again")
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(install, check=True)
    return shutil.which(command) or command


def unpacked_debian(cache: Path) -> Path:
    """Return the folder with Debian for arm64, made if it is not there.

    A folder gets its name when it is complete. One that was interrupted is taken up again, with
    the packages that it has.
    """
    folder = cache / SUITE
    if folder.exists():
        return folder
    debootstrap = require("debootstrap")
    if os.geteuid():
        command = f"{sys.executable} {__file__} --prepare --cache {cache}"
        raise SystemExit(f"debootstrap runs as root only: run `{command}` as root, then again")
    print(f"unpacking Debian {SUITE} for arm64 in {folder}", flush=True)
    partial = cache / f"{SUITE}.partial"
    options = ["--arch=arm64", "--foreign", "--variant=minbase", "--include=python3"]
    subprocess.run(
        [debootstrap, *options, SUITE, str(partial)], check=True, stdout=subprocess.DEVNULL
    )
    packages = partial / "var/cache/apt/archives"
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(partial)], check=True)
    shutil.rmtree(packages)
    return partial.rename(folder)


def unpacked_wheels(cache: Path) -> Path:
    """Return the folder with the wheels that `pyproject.toml` asks for, made if need be."""
    needed, constraints = requirements(), REPOSITORY / "constraints.txt"
    key = "\n".join([*needed, constraints.read_text(encoding="utf-8")])
    folder = cache / f"site-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if folder.exists():
        return folder
    print(f"installing wheels for AArch64 in {folder}", flush=True)
    for old in cache.glob("site-*"):
        shutil.rmtree(old)
    partial = cache / f"{folder.name}.partial"
    platforms = [f"--platform={platform}_aarch64" for platform in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--python-version={PYTHON}"]
    options = ["--only-binary=:all:", f"--constraint={constraints}", f"--target={partial}"]
    # Not shown unless it fails: pip warns of conflicts with what is installed for this Python.
    run = subprocess.run(
        [*pip, *options, *platforms, *needed], check=False, text=True, stderr=subprocess.PIPE
    )
    if run.returncode:
        raise SystemExit(f"{run.stderr}\nThe wheels could not be installed.")
    return partial.rename(folder)


def requirements() -> list[str]:
    """Return what the emulated Python needs, as `pyproject.toml` has it."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    tested = {line for lines in extras.values() for line in lines if line.startswith(TEST_NAMES)}
    return [*project["dependencies"], *sorted(tested)]


def check_digests(emulator: Emulator) -> int:
    """Compare the bits of every function with the published digests; return an exit code."""
    start = time.monotonic()
    code = emulator.start("-c", DIGESTS).wait()
    print(f"digests: {verdict(code)} in {time.monotonic() - start:.0f} s\n", flush=True)
    return code


def run_tests(emulator: Emulator, jobs: int) -> int:
    """Run the tests of `FILES`, list what was left out and return an exit code."""
    left_out = dict(reasons(emulator.site))
    files = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if path.name not in left_out]
    files += [f"--deselect={TESTS.name}/{name}" for name in DESELECTED]
    start = time.monotonic()
    logs = [emulator.cache / f"tests-{part}.log" for part in range(1, jobs + 1)]
    runs = [
        emulator.start(*emulator.pytest(f"--shard={part}/{jobs}", *files), log=log)
        for part, log in enumerate(logs, start=1)
    ]
    print(f"running tests: see {', '.join(map(str, logs))}", flush=True)
    codes = [run.wait() for run in runs]
    for code, log in zip(codes, logs, strict=True):
        text = log.read_text(encoding="utf-8", errors="replace")
        print(text if code else text[text.rfind("short test summary") :], flush=True)
    print(f"tests: {verdict(max(codes))} in {time.monotonic() - start:.0f} s\n\nLeft out:")
    grouped = defaultdict(list)
    for name, reason in (left_out | DESELECTED).items():
        grouped[reason].append(name)
    for reason, names in sorted(grouped.items()):
        print(f"- {reason}: {', '.join(names)}")
    return max(codes)


def verdict(code: int) -> str:
    """Return an exit code in words."""
    return f"FAILED (exit code {code})" if code else "passed"


def reasons(site: Path) -> Iterator[tuple[str, str]]:
    """Yield each test file that is not run, with the reason."""
    for path in sorted(TESTS.rglob("test_*.py")):
        missing = sorted(name for name in imports(path) if not available(name, site))
        if missing:
            yield path.name, f"needs {', '.join(missing)}"
        elif path.name not in FILES:
            default = "not about formulas, kernels, tables or NumPy arrays"
            yield path.name, OTHER_REASONS.get(path.name, default)


def imports(path: Path) -> set[str]:
    """Return the packages that a test file and the files beside it import when they are loaded."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    support = {name for name in names if (SUPPORT / f"{name}.py").exists()}
    return (names - support).union(*(imports(SUPPORT / f"{name}.py") for name in support))


def available(name: str, site: Path) -> bool:
    """Return whether the emulated Python can import a package."""
    ours = name in sys.stdlib_module_names or (REPOSITORY / "src" / name).exists()
    return ours or (TOOLS / f"{name}.py").exists() or any(site.glob(f"{name}*"))


if __name__ == "__main__":
    sys.exit(main())
