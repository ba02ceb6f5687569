"""The machine of a measurement: CPU, caches, memory, versions, threads.

Times depend on it, so every record of times includes one. Fields that the operating system does not
report are empty, never guessed.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from .threads import available, get_threads

ALSO_CALLED = {"tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tf-nightly")}
PACKAGES = (
    "numpy", "llvmlite", "scipy", "torch", "jax", "jaxlib", "tensorflow", "keras", "onnxruntime",
    "transformers",
)  # fmt: skip
"""Packages with versions that are recorded with a measurement."""

FEATURES = ("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "neon", "sve")
ARCHITECTURES = {
    "znver1": "Zen", "znver2": "Zen 2", "znver3": "Zen 3", "znver4": "Zen 4", "znver5": "Zen 5",
    "nehalem": "Nehalem", "westmere": "Westmere", "sandybridge": "Sandy Bridge",
    "ivybridge": "Ivy Bridge", "haswell": "Haswell", "broadwell": "Broadwell",
    "skylake": "Skylake", "skylake-avx512": "Skylake-SP", "cascadelake": "Cascade Lake",
    "cooperlake": "Cooper Lake", "cannonlake": "Cannon Lake", "icelake-client": "Ice Lake",
    "icelake-server": "Ice Lake-SP", "tigerlake": "Tiger Lake", "rocketlake": "Rocket Lake",
    "alderlake": "Alder Lake", "raptorlake": "Raptor Lake", "meteorlake": "Meteor Lake",
    "sapphirerapids": "Sapphire Rapids", "emeraldrapids": "Emerald Rapids",
    "graniterapids": "Granite Rapids", "neoverse-n1": "Neoverse N1", "neoverse-n2": "Neoverse N2",
    "neoverse-v1": "Neoverse V1", "neoverse-v2": "Neoverse V2", "apple-m1": "M1",
    "apple-m2": "M2", "apple-m3": "M3", "apple-m4": "M4",
}  # fmt: skip
"""The vendors' names of LLVM's architectures."""
VECTORS = {
    "avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4.2": "SSE4.2", "sve": "SVE",
    "neon": "NEON",
}  # fmt: skip
"""Vector instructions by LLVM's names, the widest of each kind of CPU first."""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SYSCTL = {"L1": "hw.l1dcachesize", "L2": "hw.l2cachesize", "L3": "hw.l3cachesize"}


@dataclass(frozen=True)
class Machine:
    """The machine and the packages of a measurement.

    `cpu` is the processor's model name, `architecture` LLVM's name of its target; `caches` the
    bytes per level that one core can use; `versions` those of installed packages.
    """

    cpu: str
    architecture: str
    features: tuple[str, ...]
    cores: int
    threads: int
    memory_bytes: int | None
    system: str
    python: str
    caches: Mapping[str, int] = field(default_factory=dict, hash=False)
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def processor(self) -> str:
        """The processor with its architecture and vector instructions: AMD EPYC, Zen 3, AVX2."""
        architecture = ARCHITECTURES.get(self.architecture, self.architecture)
        vectors = next((VECTORS[name] for name in VECTORS if name in self.features), "")
        parts = (self.cpu, "" if architecture in self.cpu else architecture, vectors)
        return ", ".join(part for part in parts if part)

    def __str__(self) -> str:
        caches = ", ".join(f"{name} {in_bytes(size)}" for name, size in self.caches.items())
        cores = f"{self.cores} core" + ("s" if self.cores > 1 else "")
        parts = (self.processor, cores, caches or "caches unknown")
        return ", ".join((*parts, self.system, f"Python {self.python}"))

    def differs(self, other: Machine) -> tuple[str, ...]:
        """Return a line for each difference that makes times incomparable; versions are ignored."""
        return tuple(
            f"{name}: {mine} here, {theirs} there"
            for name in ("cpu", "architecture", "cores", "system", "caches")
            if (mine := getattr(self, name)) != (theirs := getattr(other, name))
        )


def this_machine() -> Machine:
    """Return the machine that this runs on.

    Examples
    --------
    >>> this_machine().cores >= 1
    True
    """
    from softgate.lower.target import host

    architecture, features = host()
    versions = {name: version for name in PACKAGES if (version := installed(name)) is not None}
    return Machine(
        cpu=cpu_name(),
        architecture=architecture,
        features=tuple(name for name in FEATURES if name in features),
        cores=available(),
        threads=get_threads(),
        memory_bytes=memory_bytes(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        caches=caches(),
        versions=versions,
    )


def installed(package: str) -> str | None:
    """Return a package's version, or None; does not import it."""
    for name in ALSO_CALLED.get(package, (package,)):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def cpu_name() -> str:
    """Return the processor's model name."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return _sysctl("machdep.cpu.brand_string") or platform.processor() or platform.machine()


def caches(folder: Path = CACHES) -> dict[str, int]:
    """Return the bytes of each data cache of a core, L1 first."""
    sizes: dict[str, int] = {}
    for cache in sorted(folder.glob("index*")):
        try:
            level, kind, size = (
                (cache / name).read_text(encoding="utf-8").strip()
                for name in ("level", "type", "size")
            )
        except OSError:  # some kernels report only some caches
            continue
        if kind != "Instruction" and size[:-1].isdigit() and size[-1] in UNITS:
            sizes[f"L{level}"] = int(size[:-1]) * UNITS[size[-1]]
    if sizes or folder != CACHES:
        return sizes
    answers = {level: _sysctl(name) for level, name in SYSCTL.items()}
    return {level: int(size) for level, size in answers.items() if size.isdigit() and int(size)}


def memory_bytes() -> int | None:
    """Return the memory of the machine, or None where it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def free_bytes() -> int | None:
    """Return the memory available without swapping, or None where it is unknown."""
    path = Path("/proc/meminfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return memory_bytes()


def in_bytes(size: int) -> str:
    """Return a number of bytes as text with a unit.

    Examples
    --------
    >>> in_bytes(32768), in_bytes(3 << 29)
    ('32 KiB', '1.5 GiB')
    """
    for unit, bytes_ in reversed(UNITS.items()):
        if size >= bytes_:
            number = size / bytes_
            return f"{number:,.0f} {unit}iB" if number >= 100 else f"{number:.3g} {unit}iB"
    return f"{size} bytes"


def _sysctl(name: str) -> str:
    """Return the value of a macOS system variable, or an empty string."""
    if platform.system() != "Darwin":
        return ""
    try:
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=False
        )
    except OSError:  # starting programs may be forbidden
        return ""
    return answer.stdout.strip()
