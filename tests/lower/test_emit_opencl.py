"""Emitted OpenCL C, run by PoCL on the CPU, gives the bits of softgate's kernels.

PoCL has a compiler of its own, so it runs in another process, which is this file as a program:

    python test_emit_opencl.py FOLDER

FOLDER has the sources; what the device lacks and digests of results are printed as JSON.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import browser
import formulas
import numpy as np
import pytest
from places import SUPPORT

import softgate as sg
from softgate.lower.emit.opencl import LANGUAGE
from softgate.studies.reproducibility import digests
from softgate.studies.reproducibility.digests import DigestCase, digest

PLATFORM = "Portable Computing Language"
DRIVERS = Path("/etc/OpenCL/vendors")
PACKAGE = "pocl-opencl-icd"
NEEDED = ("DENORM", "INF_NAN", "CORRECTLY_ROUNDED_DIVIDE_SQRT")
"""Properties of float32 that the comment names."""
OPTIONS = re.findall(r"-cl-[^ \"]+", LANGUAGE.build)
DTYPES = ("float32", "float64")
QUANTITIES = ("value", "slope", "backward")
CATALOGUE: dict[str, Any] = digests.catalogue()
OWN: dict[str, Any] = {f.name: f for f in (formulas.snake, formulas.swish, formulas.tanhexp)}
FUNCTIONS = CATALOGUE | OWN
PATTERNS = 300_000

CASES = [
    case
    for case in digests.cases(CATALOGUE)
    if case.quantity in QUANTITIES and case.dtype in DTYPES and case.arithmetic is None
]
OWN_CASES = [DigestCase(n, q, d) for n in OWN for q in QUANTITIES for d in DTYPES]
GELU = DigestCase("gelu", "value", "float32")


def patterns(dtype: str, count: int) -> list[Any]:
    """Return operands of random bits: of every exponent, subnormal, infinite, NaN."""
    bits = np.random.default_rng(11).integers(0, 1 << 64, (count, PATTERNS), np.uint64)
    size = np.dtype(dtype).itemsize
    return [*(bits >> np.uint64(64 - 8 * size)).astype(f"u{size}").view(dtype)]


def operands(case: DigestCase, kind: str) -> list[Any]:
    fixed = digests.operands(FUNCTIONS[case.function], case.quantity, case.dtype)
    return list(fixed) if kind == "fixed" else patterns(case.dtype, len(fixed))


def jobs() -> list[tuple[str, DigestCase, str]]:
    """Return sources, what is computed of them, and where: parameters at fixed inputs only."""
    return [
        *(("catalogue", case, "fixed") for case in CASES),
        *(("catalogue", case, "patterns") for case in CASES if not case.parameters),
        *(("own", case, "fixed") for case in OWN_CASES),
        ("wrong", GELU, "fixed"),
    ]


def main(folder: Path) -> None:
    """Run every job, of which results overwrite the first operands, with two global sizes."""
    import pyopencl as cl

    (platform,) = (p for p in cl.get_platforms() if p.name == PLATFORM)
    (device,) = platform.get_devices()
    context = cl.Context([device])
    queue = cl.CommandQueue(context)

    def built(text: str, *options: str) -> Any:
        return cl.Program(context, text).build([*OPTIONS, *options], cache_dir=False)

    def run(kernel: Any, case: DigestCase, kind: str) -> str:
        arrays, parameters = operands(case, kind), []
        if case.parameters:
            for _, value in FUNCTIONS[case.function].check_parameters(dict(case.parameters)):
                near = np.dtype(case.dtype).type(value)
                parts = [near, np.float32(value - float(near))]
                parameters += parts if case.dtype == "float32" else parts[:1]
        results = 2 if case.function in sg.gated() and case.quantity != "value" else 1
        buffers = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x) for x in arrays]
        overwritten = [*buffers, *buffers[:results]]
        size = 16 if kind == "fixed" else 7
        kernel(queue, (size,), (1,), *overwritten, np.uint64(arrays[0].size), *parameters)
        outputs = [np.empty_like(x) for x in arrays[:results]]
        for output, buffer in zip(outputs, buffers, strict=False):
            cl.enqueue_copy(queue, output, buffer)
        return digest(*outputs)

    sources = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.cl")}
    lacks = [n for n in NEEDED if not device.single_fp_config & getattr(cl.device_fp_config, n)]
    if not device.double_fp_config:
        lacks.append("cl_khr_fp64")
    without = built(f"#undef cl_khr_fp64\n{sources['own']}{sources['catalogue']}")
    report: dict[str, Any] = {
        "lacks": lacks,
        "without float64": [kernel.function_name for kernel in without.all_kernels()],
    }
    try:
        built(sources["catalogue"], "-cl-fast-relaxed-math")
    except cl.RuntimeError as error:
        report["fast"] = str(error)
    kernels = {
        (name, kernel.function_name): kernel
        for name, text in sources.items()
        for kernel in built(text).all_kernels()
    }
    for source, case, kind in jobs():
        quantity = "" if case.quantity == "value" else f"_{case.quantity}"
        with_ = "_with" if case.parameters else ""
        name = f"{case.function}{quantity}{with_}_f{case.dtype[-2:]}"
        if (source, name) in kernels:
            report[f"{source} {case.name} {kind}"] = run(kernels[source, name], case, kind)
    print(json.dumps(report))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the device lacks, and the digests of all results; PoCL is installed if root runs it."""
    if find_spec("pyopencl") is None:
        pytest.skip("needs pyopencl: pip install pyopencl")
    apt = shutil.which("apt-get")
    if not any(DRIVERS.glob("pocl*.icd")) and apt and os.geteuid() == 0:
        for words in (["update"], [*browser.INSTALL[:-1], PACKAGE]):
            subprocess.run([apt, "--quiet", *words], check=False, capture_output=True, timeout=600)
    if not any(DRIVERS.glob("pocl*.icd")):
        pytest.skip(f"needs PoCL: apt-get install {PACKAGE}")
    folder = tmp_path_factory.mktemp("opencl")
    catalogue = sg.emit(CATALOGUE.values(), "opencl", quantity=QUANTITIES)
    gelu = sg.emit("gelu", "opencl", dtype="float32", quantity="value")
    sources = {
        "catalogue": catalogue,
        "own": sg.emit(OWN.values(), "opencl", quantity=QUANTITIES),
        "wrong": gelu.replace("-0x1p-64f", "-0x1.00001p-64f"),
    }
    for name, text in sources.items():
        (folder / f"{name}.cl").write_text(text, encoding="utf-8")
    caches = {"POCL_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, __file__, str(folder)],
        env=os.environ | caches | {"PYTHONPATH": str(SUPPORT)},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    if set(NEEDED) & set(result["lacks"]):
        pytest.skip(f"this device lacks {', '.join(result['lacks'])}")
    return result


def different(report: dict[str, Any], expected: dict[str, str], dtype: str) -> list[str]:
    """Return the results that differ, or are missing, in a format."""
    if dtype == "float64" and "cl_khr_fp64" in report["lacks"]:
        pytest.skip("this device lacks cl_khr_fp64")
    return [name for name, text in expected.items() if report.get(name) != text]


@pytest.mark.parametrize("dtype", DTYPES)
def test_emitted_opencl_has_the_published_bits(report: dict[str, Any], dtype: str) -> None:
    """Value, slope and backward of every function, with defaults and other parameters."""
    published = digests.read()["bits"]
    cases = [case for case in CASES if case.dtype == dtype]
    expected = {f"catalogue {case.name} fixed": published[case.name] for case in cases}
    assert different(report, expected, dtype) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_bits_give_the_bits_of_the_kernels(report: dict[str, Any], dtype: str) -> None:
    expected = {
        f"catalogue {case.name} patterns": digest(
            *digests.call(case, CATALOGUE[case.function], patterns(dtype, 3)[: arguments(case)])
        )
        for case in CASES
        if case.dtype == dtype and not case.parameters
    }
    assert different(report, expected, dtype) == []


def arguments(case: DigestCase) -> int:
    return 1 + (case.function in sg.gated()) + (case.quantity == "backward")


@pytest.mark.parametrize("dtype", DTYPES)
def test_formulas_of_the_user(report: dict[str, Any], dtype: str) -> None:
    """float32 is float64 rounded once, on a device that has float64."""
    expected = {
        f"own {case.name} fixed": digest(
            *digests.call(case, OWN[case.function], operands(case, "fixed"))
        )
        for case in OWN_CASES
        if case.dtype == dtype
    }
    assert different(report, expected, dtype) == []


def test_a_wrong_constant_is_found(report: dict[str, Any]) -> None:
    right, wrong = (report[f"{source} {GELU.name} fixed"] for source in ("catalogue", "wrong"))
    assert right == digests.read()["bits"][GELU.name] != wrong


def test_devices_without_float64_have_the_functions_in_float32(report: dict[str, Any]) -> None:
    names = {f"{case.function}_f32" for case in CASES if case.quantity == "value"}
    assert names <= set(report["without float64"])
    assert all(name.endswith("_f32") for name in report["without float64"])
    assert not any(name.startswith(tuple(OWN)) for name in report["without float64"])


def test_fast_math_is_refused(report: dict[str, Any]) -> None:
    assert "needs IEEE arithmetic" in report["fast"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
