"""Cycles per element of kernels on CPUs that are not at hand, as llvm-mca models them.

    python benchmarks/cycles.py                          gelu, silu, sigmoid: float32 value
    python benchmarks/cycles.py --only relu,gelu --quantity value,backward --cpu znver4,haswell
    python benchmarks/cycles.py --only gelu --cpu znver4 --listing

The loop over whole vectors is cut out of a kernel's assembly and simulated with llvm-mca, which
comes with LLVM (Debian: `apt install llvm-19`; version 17 is the first with a model of Zen 4). The
model has no caches and no memory: it shows which of two forms needs less arithmetic, and nothing
about kernels that wait for memory. Two more limits: Zen 3 and 4 execute min and max beside the
adders, the models beside the multipliers; and the models of Ice Lake and Sapphire Rapids have one
unit for 512-bit fma, where most server parts have two.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

import softgate as sg
from softgate.formula.formats import FORMATS, Format
from softgate.lower.llvm import build
from softgate.lower.target import Target, optimise
from softgate.runtime import kernels

CPUS = ("znver3", "znver4", "icelake-server", "sapphirerapids", "neoverse-v2")
ARM = ("neoverse", "cortex", "apple")
ROUNDS = 200
WIDEST = ("zmm", "ymm", "xmm", "v")
"""What names of vector registers contain, the widest first; AArch64's come last."""


def target(cpu: str) -> Target:
    """Return the target that kernels are compiled for on `cpu`."""
    triple = "aarch64-linux-gnu" if cpu.startswith(ARM) else "x86_64-linux-gnu"
    return Target(cpu, triple=triple)


def simulator() -> str:
    """Return the path of the newest llvm-mca; raise SystemExit if there is none."""
    names = [*(f"llvm-mca-{version}" for version in range(30, 16, -1)), "llvm-mca"]
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise SystemExit("llvm-mca not found: install LLVM 17 or newer (Debian: apt install llvm-19)")


def loops(assembly: str) -> list[list[str]]:
    """Return the instructions of every loop that consists of one basic block."""
    labels: dict[str, int] = {}
    results: list[list[str]] = []
    lines: list[str] = []
    for line in assembly.splitlines():
        label = re.match(r"(\.?L\w+):", line)
        if label:
            labels[label[1]] = len(lines)
        instruction = line.split("//")[0].split("#" if "%" in line else "//")[0].rstrip()
        if not line.startswith("\t") or not instruction or instruction.lstrip().startswith("."):
            continue
        lines.append(instruction)
        jump = re.match(r"\s+(?:j\w+|b\.\w+|cbn?z|tbn?z).*?(\.?L\w+)$", instruction)
        if jump and jump[1] in labels:
            results.append(lines[labels[jump[1]] :])
    return results


def vector_loop(assembly: str) -> list[str]:
    """Return the instructions of the loop over whole vectors."""

    def width(body: list[str]) -> tuple[int, ...]:
        return tuple(sum(bool(re.search(rf"\b{r}\d", i)) for i in body) for r in WIDEST)

    return max(loops(assembly), key=width)


def kernel(name: str, quantity: str, fmt: Format, cpu: str) -> tuple[list[str], int]:
    """Return the vector loop of a kernel and the elements of one round, 0 if unknown."""
    arithmetic = kernels.native_arithmetic(quantity, fmt)
    specification = kernels.Specification(sg.activations()[name].entry, quantity, fmt, arithmetic)
    compiled_for = target(cpu)
    module = optimise(build(kernels.loop(specification), compiled_for), compiled_for)
    steps = re.findall(r"%index\.next\S* = add nuw i64 %index\S*, (\d+)", str(module))
    # Vectors of AArch64's SVE have no length that is known here.
    elements = max(map(int, steps), default=0)
    return vector_loop(compiled_for.machine.emit_assembly(module)), elements


def simulate(body: Sequence[str], cpu: str, *options: str) -> str:
    """Return what llvm-mca prints about `ROUNDS` rounds of a loop."""
    command = [simulator(), f"-mtriple={target(cpu).triple}", f"-mcpu={cpu}", *options]
    text = "\n".join([*body, ""])
    command.append(f"-iterations={ROUNDS}")
    result = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}: {result.stderr.strip()}")
    return result.stdout


def cycles(body: Sequence[str], cpu: str) -> float:
    """Return the cycles that one round of a loop takes."""
    text = simulate(body, cpu, "-resource-pressure=0", "-instruction-info=0")
    total = re.search(r"Total Cycles:\s+(\d+)", text)
    assert total is not None
    return int(total[1]) / ROUNDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row a kernel, one column a CPU."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="A,B", default="gelu,silu,sigmoid", help="activations")
    parser.add_argument("--quantity", metavar="A,B", default="value", help="value, slope, backward")
    parser.add_argument("--dtype", metavar="A,B", default="float32", help="float32, float16 …")
    parser.add_argument("--cpu", metavar="A,B", default=",".join(CPUS), help="as LLVM names them")
    parser.add_argument("--listing", action="store_true", help="print llvm-mca's full analysis")
    options = parser.parse_args(arguments)
    cpus = options.cpu.split(",")
    print("cycles per element".ljust(34) + "".join(f"{cpu:>16}" for cpu in cpus))
    for name in options.only.split(","):
        for quantity in options.quantity.split(","):
            for dtype in options.dtype.split(","):
                row = f"{name} {quantity} {dtype}".ljust(34)
                for cpu in cpus:
                    body, elements = kernel(name, quantity, FORMATS[dtype], cpu)
                    row += f"{cycles(body, cpu) / elements:16.3f}" if elements else f"{'-':>16}"
                    if options.listing:
                        print(simulate(body, cpu, "-bottleneck-analysis"))
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
