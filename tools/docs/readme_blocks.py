"""The tables of the README, each between <!-- begin name --> and <!-- end name -->.

`accuracy_page.py`, `readme_facts.py`, `speed_table.py` and `support_table.py` each write theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from softgate.studies.accuracy.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS
from softgate.studies.certify.record import Certificate

README = Path(__file__).resolve().parents[2] / "README.md"
DTYPES = ("float32", "float64", "float16", "bfloat16")
VERSIONS = ("torch", "jax", "tensorflow", "keras", "onnxruntime", "scipy", "numpy", "llvmlite")


def replace(name: str, text: str, file: Path = README) -> None:
    """Put `text` into the block `name` of `file`; ValueError where it has no such block."""
    old = file.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    result = re.search(f"(?s){re.escape(begin)}\n.*?{re.escape(end)}", old)
    if result is None:
        raise ValueError(f"{file.name} has no block between {begin} and {end}")
    new = old[: result.start()] + f"{begin}\n{text.strip()}\n{end}" + old[result.end() :]
    file.write_text(new, encoding="utf-8")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return Markdown: the first column names a row, the others are numbers."""
    header = list(header)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def versions(result: Mapping[str, str]) -> str:
    """Return the versions that matter to a reader."""
    return ", ".join(f"{name} {result[name]}" for name in VERSIONS if name in result)


def number(error_ulp: float) -> str:
    """Return an error as people read it."""
    if error_ulp == float("inf"):
        return "NaN or inf"
    return f"{error_ulp:.2f}" if error_ulp < 100 else f"{error_ulp:.2g}"


def normal_ulp(certificate: Certificate, dtype: str, quantity: str) -> float | None:
    """Return the largest error of normal inputs and results; None where it was not measured."""
    apart = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    for result in certificate:
        if (result.dtype, result.quantity) == (dtype, quantity):
            return max(region.max_ulp for region in result.ordinary if region.name not in apart)
    return None


def errors(certificate: Certificate, dtype: str) -> str:
    """Return value / slope, the largest errors on normal numbers."""
    both = [normal_ulp(certificate, dtype, quantity) for quantity in ("value", "slope")]
    if both == [None, None]:
        return "–"
    return " / ".join("–" if it is None else number(it) for it in both)


def worst_inputs() -> dict[str, dict[str, Any]]:
    """Return the worst float64 inputs known of each function, which `make accuracy` writes."""
    file = README.parent / "tests" / "catalogue" / "worst_inputs.json"
    content: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return content


def accuracy(gelu: Mapping[str, Certificate], named: Mapping[str, str]) -> str:
    """Return gelu in each implementation."""
    first = table(
        ("gelu, value / slope", *DTYPES),
        [
            (title, *(errors(certificate, dtype) for dtype in DTYPES))
            for title, certificate in gelu.items()
        ],
    )
    return f"""\
The largest error in ulps where input and result are normal numbers, each from a certificate (the
record of `softgate certify`) against arb; `make certificates` writes this table and
[docs/accuracy.md](docs/accuracy.md), which has the rest.
{versions(named)}.

{first}"""


def catalogue(rows: Mapping[str, Iterable[str]]) -> str:
    """Return the largest errors of our functions, from the rows of the page."""
    errors = [[float(cell) for cell in row] for row in rows.values()]
    float32, float64 = (max(max(row[i : i + 2]) for row in errors) for i in (0, 2))
    return f"""\
All {len(errors)} functions of the catalogue are within {float32:.2f} ulp in float32 and \
{float64:.2f} in
float64, value and slope: the largest errors found, measured and not proven. In float16 and bfloat16
they are correctly rounded on all 65,536 inputs. `make test` compares the bits of all 16-bit inputs
with published digests and a part of them with arb; `make exhaustive` compares all of them, and all
2^32 inputs of float32."""
