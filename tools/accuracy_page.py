"""Certify softgate and every peer that is installed, and write docs/accuracy.md.

    python tools/accuracy_page.py [--check] [--samples 200000] [-o docs/accuracy.md]

Each row is a certificate of `softgate certify`; the page has no figure that is not from one. Takes
some minutes. `--check` only says whether all certificates can be had, with few inputs.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import softgate as sg
from softgate.certification.certificate import Certificate, Measurement
from softgate.certification.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "accuracy.md"
FEW = 20_000


@dataclass(frozen=True)
class Peer:
    """One implementation: what people call it, the subject, and what it needs to be installed."""

    title: str
    subject: str
    needs: str = ""
    keywords: dict[str, Any] = field(default_factory=dict)
    framework: str | None = None


def onnx_model(folder: Path, approximate: str) -> str:
    """Write a model of one Gelu and return its path."""
    from onnx import TensorProto, checker, helper, save

    node = helper.make_node("Gelu", ["x"], ["y"], approximate=approximate)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"]
    graph = helper.make_graph([node], "gelu", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    checker.check_model(model)
    file = folder / f"gelu_{approximate}.onnx"
    save(model, str(file))
    return str(file)


def peers(folder: Path) -> dict[str, list[Peer]]:
    """Return the implementations of each function."""
    tanh = {"approximate": "tanh"}
    return {
        "gelu": [
            Peer("softgate (NumPy, torch)", "softgate:gelu"),
            Peer("softgate in JAX", "softgate.jax:gelu", "jax", framework="jax"),
            Peer("torch.nn.functional.gelu", "torch.nn.functional:gelu", "torch"),
            Peer("jax.nn.gelu, exact", "jax.nn:gelu", "jax", {"approximate": False}),
            Peer("tf.nn.gelu, exact", "tensorflow.nn:gelu", "tensorflow", {"approximate": False}),
            Peer("keras.activations.gelu", "keras.activations:gelu", "keras"),
            Peer("onnxruntime Gelu", onnx_model(folder, "none"), "onnxruntime"),
            Peer("x * scipy.special.ndtr(x)", "peers:gelu_ndtr", "scipy"),
            Peer("x/2 * (1 + erf(x/√2)), SciPy", "peers:gelu_erf", "scipy"),
        ],
        "gelu_tanh": [
            Peer("softgate (NumPy, torch)", "softgate:gelu_tanh"),
            Peer("softgate in JAX", "softgate.jax:gelu_tanh", "jax", framework="jax"),
            Peer("torch.nn.functional.gelu, tanh", "torch.nn.functional:gelu", "torch", tanh),
            Peer("jax.nn.gelu, its default", "jax.nn:gelu", "jax"),
            Peer("tf.nn.gelu, approximate", "tensorflow.nn:gelu", "tensorflow",
                 {"approximate": True}),
            Peer("onnxruntime Gelu, tanh", onnx_model(folder, "tanh"), "onnxruntime"),
        ],
        "silu": [
            Peer("softgate (NumPy, torch)", "softgate:silu"),
            Peer("softgate in JAX", "softgate.jax:silu", "jax", framework="jax"),
            Peer("torch.nn.functional.silu", "torch.nn.functional:silu", "torch"),
            Peer("jax.nn.silu", "jax.nn:silu", "jax"),
            Peer("tf.nn.silu", "tensorflow.nn:silu", "tensorflow"),
        ],
    }  # fmt: skip


def certificates(
    function: str, chosen: list[Peer], samples: int | None
) -> Iterator[tuple[Peer, Certificate]]:
    """Yield the certificates of what is installed."""
    for peer in chosen:
        if peer.needs and find_spec(peer.needs) is None:
            print(f"{peer.title}: {peer.needs} is not installed", file=sys.stderr)
            continue
        print(f"{function}: {peer.title}", file=sys.stderr)
        yield (
            peer,
            sg.certify(
                peer.subject,
                function,
                keywords=peer.keywords,
                framework=peer.framework,
                quantities=("value", "slope"),
                samples=samples,
            ),
        )


def number(value: float) -> str:
    """Return an error as people read it."""
    if value == float("inf"):
        return "no number"
    return f"{value:.2f}" if value < 100 else f"{value:.2g}"


def row(peer: Peer, found: Measurement) -> str:
    """Return one line of a table."""
    wrong = sum(not special.right for special in found.specials)
    apart = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    normal = [region for region in found.ordinary if region.name not in apart]
    cells = [
        peer.title,
        found.dtype,
        found.quantity,
        number(found.max_ulp),
        f"{found.worst.worst:.6g}",
        number(max(region.max_ulp for region in normal)),
        f"{100 * found.rounded_share:.1f} %",
        f"{found.total('wrong_signs'):,}",
        f"{found.total('lost'):,}",
        f"{found.total('flushed'):,}",
        "all right" if not wrong else f"{wrong} wrong",
        f"{found.inputs:,}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADER = (
    "implementation", "dtype", "quantity", "max ulp", "at x =", "max ulp, normal numbers",
    "correctly rounded",
    "wrong signs", "0 for a normal number", "0 for a subnormal", "±0, ±inf, NaN", "inputs",
)  # fmt: skip

INTRODUCTION = """# How exact is it?

Written by `python tools/accuracy_page.py`; every row is a certificate, as `softgate certify` prints
it, on {system}. Versions: {versions}.

- The truth is the definition in arb balls; for the large samples our float64 kernel, itself
  measured against arb in the same run. float16 and bfloat16 are measured at all 65,536 inputs,
  float32 and float64 at a stratified sample: every exponent, both signs, borders, roots, extrema.
- An ulp is the spacing of the format at the exact result. For a slope of x·g it is the spacing at
  max(|g|, |x·g'|): beside a root an ulp of the result means nothing. "no number": NaN or infinity
  where the truth is a number.
- "0 for a normal number" counts results that are lost altogether. JAX and TensorFlow flush
  subnormal numbers on a CPU, inputs and results: that is counted too, and nothing is left out;
  "normal numbers" is the largest error where neither is subnormal.
- A slope is the framework's own automatic derivative. What has none shows values only.
"""


def write(file: Path, samples: int | None) -> None:
    """Certify all and write the page."""
    versions: dict[str, str] = {}
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        for function, chosen in peers(Path(folder)).items():
            lines = [f"## {function}", "", "| " + " | ".join(HEADER) + " |"]
            lines.append("| --- |" * 1 + " --- |" * (len(HEADER) - 1))
            for peer, found in certificates(function, chosen, samples):
                versions.update(found.versions)
                lines += [row(peer, measurement) for measurement in found]
                for finding in found.findings:
                    print(f"  {finding}", file=sys.stderr)
            sections.append("\n".join(lines))
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    page = "\n\n".join([INTRODUCTION.format(system=system, versions=named).rstrip(), *sections])
    file.write_text(page + "\n", encoding="utf-8")
    print(f"Wrote {file}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    parser.add_argument("--samples", type=int, help="inputs of float32 and float64")
    parser.add_argument("--check", action="store_true", help="few inputs, and nothing is written")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    if options.check:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "accuracy.md", options.samples or FEW)
    else:
        write(options.output, options.samples)


if __name__ == "__main__":
    main()
