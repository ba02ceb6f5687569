"""Certify softgate and every peer that is installed: docs/accuracy.md and the README's table.

    python tools/docs/accuracy_page.py [--missing | --check] [--samples N] [-o docs/accuracy.md]

Each row is a certificate of `softgate certify`; the page has no figure that is not from one. Takes
some minutes. `--missing` only adds functions of ours that the page lacks; `--check` only checks
that every certificate can be made, with few inputs.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import readme_blocks

import softgate as sg
from softgate.studies.accuracy.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS
from softgate.studies.certify.record import Certificate, Measurement
from softgate.studies.subjects.peers import Peer, absent, peers, subject

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
FEW = 20_000


FUNCTIONS = ("gelu", "gelu_tanh", "silu")
IMPLEMENTATIONS = (
    "softgate", "softgate.jax", "torch", "jax", "tensorflow", "keras", "onnxruntime", "scipy",
    "scipy.erf",
)  # fmt: skip
"""Whom the page has: torch.compile and Hugging Face's forms compute what others here do."""


def certificates(
    function: str, folder: Path, samples: int | None
) -> Iterator[tuple[Peer, Certificate]]:
    """Yield the certificates of what is installed."""
    for peer in peers(function, IMPLEMENTATIONS).values():
        if why := absent(peer.implementation):
            print(f"{peer.title}: {why}", file=sys.stderr)
            continue
        print(f"{function}: {peer.title}", file=sys.stderr)
        yield (
            peer,
            sg.certify(
                subject(peer, folder),
                function,
                parameters=peer.keywords,
                framework=peer.framework,
                quantity=("value", "slope"),
                samples=samples,
            ),
        )


def catalogue(known: dict[str, list[str]], samples: int | None) -> dict[str, list[str]]:
    """Return the largest errors of every function of ours, of those certified that are not known.

    In the formats that are not tables.
    """
    worst, rows = readme_blocks.worst_inputs(), {}
    for function in sg.activations():
        if function in known:
            rows[function] = known[function]
            continue
        print(f"catalogue: {function}", file=sys.stderr)
        certificate = sg.certify(
            f"softgate:{function}", function, dtype=("float32", "float64"),
            quantity=("value", "slope"), samples=samples,
        )  # fmt: skip
        errors = [item.max_ulp for item in certificate]
        recorded = [worst[function][quantity]["error_ulp"] for quantity in ("value", "slope")]
        errors[2:] = map(max, errors[2:], recorded)
        # Rounded up, as the README says that they are within the largest.
        rows[function] = [readme_blocks.number(float(np.ceil(100 * e) / 100)) for e in errors]
    return rows


def bounds(rows: dict[str, list[str]]) -> str:
    """Return the largest error of each function of ours, and the bounds above 4 ulp."""
    header = ["function", *(f"{dtype} {what}" for dtype, what in COLUMNS)]
    above = [
        f"{name} {quantity} {bound:g}"
        for name, function in (sg.activations() | sg.gated()).items()
        for quantity in ("value", "slope")
        if (bound := getattr(function.entry.bounds["float64"], quantity)) > 4
    ]
    text = CATALOGUE.format(above=", ".join(above) or "none")
    return f"{text}\n{readme_blocks.table(header, ((name, *row) for name, row in rows.items()))}"


def add_missing(file: Path, samples: int | None, readme: Path) -> None:
    """Add the functions of ours that the page lacks, and update the README's sentence."""
    page, _, section = file.read_text(encoding="utf-8").partition(TITLE)
    cells = (line.strip("| ").split(" | ") for line in section.splitlines() if "| " in line)
    known = {name: row for name, *row in cells if name in sg.activations()}
    rows = catalogue(known, samples)
    file.write_text(f"{page}{bounds(rows)}\n", encoding="utf-8")
    readme_blocks.replace("catalogue", readme_blocks.catalogue(rows), readme)


def row(peer: Peer, result: Measurement) -> str:
    """Return one line of a table."""
    wrong = sum(not special.right for special in result.specials)
    apart = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    normal = [region for region in result.ordinary if region.name not in apart]
    cells = [
        peer.title,
        result.dtype,
        result.quantity,
        readme_blocks.number(result.max_ulp),
        f"{result.worst.worst:.6g}",
        readme_blocks.number(max(region.max_ulp for region in normal)),
        f"{100 * result.rounded_share:.1f} %",
        f"{result.total('wrong_signs'):,}",
        f"{result.total('lost'):,}",
        f"{result.total('flushed'):,}",
        "all correct" if not wrong else f"{wrong} wrong",
        f"{result.inputs:,}",
    ]
    return "| " + " | ".join(cells) + " |"


COLUMNS = [(dtype, what) for dtype in ("float32", "float64") for what in ("value", "slope")]
HEADER = (
    "implementation", "dtype", "quantity", "max ulp", "at x =", "max ulp, normal numbers",
    "correctly rounded",
    "wrong signs", "0 for a normal number", "0 for a subnormal", "±0, ±inf, NaN", "inputs",
)  # fmt: skip

TITLE = "## The whole catalogue: max ulp"
CATALOGUE = f"""{TITLE}

The columns of float32 are from certificates. Those of float64 are the largest errors that `make
accuracy` has found in searches with arb; `tests/catalogue/worst_inputs.json` has their inputs, and
tests evaluate them.

The bounds that softgate states are measured, not proven: in float32 by `make exhaustive` at all
2^32 inputs; in float64 they are the largest error found times 1.1, rounded up to a tenth, since no
search reaches all 2^64 inputs. They are at most 4 ulp, except in float64: {{above}}.
"""

INTRODUCTION = """# Accuracy

The largest errors of softgate's functions, and of the same functions in other libraries. Every row
is a certificate, the record that [`softgate certify`](certify.md) prints. `make certificates`
(`tools/docs/accuracy_page.py`) wrote this page on {system}. Versions: {versions}.

- An *ulp* is the spacing of the format's numbers at the exact result: a correctly rounded value is
  within 0.5 ulp. For a slope (the derivative) of x·g the ulp is the spacing at max(|g|, |x·g'|),
  because near a root of the slope the spacing at the result is arbitrarily small; a correctly
  rounded slope is therefore within 1 ulp.
- The reference is the definition of the function, evaluated by [arb](https://flintlib.org) with
  proven error bounds. For the large samples it is softgate's float64 kernel, which is measured
  against arb in the same run. float16 and bfloat16 are measured at all 65,536 inputs, float32 and
  float64 at a stratified sample: every exponent, both signs, borders, roots, extrema. In float64
  the neighbourhoods of the sample's largest errors are searched for larger ones.
- "0 for a normal number" counts results that are 0 in place of a normal number. Operators of JAX
  and TensorFlow flush subnormal inputs and results to 0 on a CPU, which is counted too; "normal
  numbers" is the largest error where neither is subnormal. "NaN or inf" is a result that is not
  finite where the exact one is.
- A slope is the framework's automatic derivative; functions without one have values only.
"""


def write(file: Path, samples: int | None, readme: Path | None = None) -> None:
    """Certify all and write the page, and the table of the README."""
    versions: dict[str, str] = {}
    sections = []
    gelu: dict[str, Certificate] = {}
    with tempfile.TemporaryDirectory() as folder:
        for function in FUNCTIONS:
            lines = [f"## {function}", "", "| " + " | ".join(HEADER) + " |"]
            lines.append("| --- |" * 1 + " --- |" * (len(HEADER) - 1))
            for peer, certificate in certificates(function, Path(folder), samples):
                versions.update(certificate.versions)
                lines += [row(peer, measurement) for measurement in certificate]
                if function == "gelu":
                    gelu[peer.title] = certificate
                for finding in certificate.findings:
                    print(f"  {finding}", file=sys.stderr)
            sections.append("\n".join(lines))
    ours = catalogue({}, samples)
    sections.append(bounds(ours))
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    page = "\n\n".join([INTRODUCTION.format(system=system, versions=named).rstrip(), *sections])
    file.write_text(page + "\n", encoding="utf-8")
    print(f"Wrote {file}", file=sys.stderr)
    if readme is not None:
        readme_blocks.replace("accuracy", readme_blocks.accuracy(gelu, versions), readme)
        readme_blocks.replace("catalogue", readme_blocks.catalogue(ours), readme)
        print(f"Wrote {readme}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    parser.add_argument("--samples", type=int, help="inputs of float32 and float64")
    parser.add_argument("--check", action="store_true", help="few inputs, and nothing is written")
    parser.add_argument("--missing", action="store_true", help="add functions that it lacks")
    options = parser.parse_args()
    if options.missing:
        add_missing(options.output, options.samples, readme_blocks.README)
    elif options.check:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "accuracy.md", options.samples or FEW)
    else:
        write(options.output, options.samples, readme_blocks.README)


if __name__ == "__main__":
    main()
