"""Derive every fit of softgate.blocks, or check the stored ones against a new derivation.

    python tools/fits/derive_coefficients.py [--check] [gaussian exponential …]

Without `--check` it writes src/softgate/blocks/fits.toml. With `--check` it compares and
exits with status 1 on a difference. Names of families restrict it to these.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parents[2] / "src" / "softgate"
BLOCKS = SOURCE / "blocks"
STORED = BLOCKS / "fits.toml"
COMMAND = "python tools/fits/derive_coefficients.py"
HEADER = f"""\
# The approximations of the building blocks, which `{COMMAND}` derives and writes.
# `blocks/fits.py` says what each field is.
"""
FAMILIES = ("gaussian", "exponential", "logarithm", "hyperbolic", "erf", "trigonometry")

if __name__ == "__main__":
    # Other blocks may need a fit that is not written yet: import those of the targets only.
    for name, folder in (("softgate", SOURCE), ("softgate.blocks", BLOCKS)):
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package

from softgate.blocks.fits import Fit  # noqa: E402


def source(family: str, fits: dict[str, Fit]) -> str:
    """Return the tables of a family's fits."""
    parts = []
    for name, fit in fits.items():
        lines = [f"[{family}.{name}]", f'target = "{fit.target}"', f'form = "{fit.form}"']
        lines += [f"interval = {list(fit.interval)!r}", f"error_log2 = {fit.error_log2:.2f}"]
        for field in ("coefficients", "denominator"):
            values = getattr(fit, field)
            if values:
                lines += [f"{field} = [", *(f"    {value!r}," for value in values), "]"]
        parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


def stored() -> dict[str, str]:
    """Return the tables of each family in the stored file."""
    text = STORED.read_text(encoding="utf-8") if STORED.exists() else ""
    families: dict[str, str] = {}
    for part in re.split(r"(?m)^(?=\[)", text)[1:]:
        family = part[1:].partition(".")[0]
        families[family] = families.get(family, "") + part
    return {family: f"{text.rstrip()}\n" for family, text in families.items()}


def table(family: str, fits: dict[str, Fit]) -> list[str]:
    """Return one line per fit: where, which degrees, how exact."""
    rows = []
    for name, fit in fits.items():
        degree = str(len(fit.coefficients) - 1)
        if fit.denominator:
            degree += f"/{len(fit.denominator) - 1}"
        low, high = fit.interval
        where = f"[{low:.5g}, {high:.5g}]"
        rows.append(
            f"{family:12} {name:28} {where:22} {degree:>6} 2^{fit.error_log2:<8.2f}"
            f" {fit.target}  ~  {fit.form}"
        )
    return rows


def derive(family: str) -> dict[str, Fit] | None:
    """Return the fits of `family`, or None where its targets are not there."""
    name = f"targets.{family}"
    if find_spec(name) is None:
        return None
    fits: dict[str, Fit] = import_module(name).derive()
    return fits


def main(arguments: list[str] | None = None) -> int:
    """Derive, print the table, and write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", default=FAMILIES, metavar="family")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    print(f"{'family':12} {'fit':28} {'interval':22} {'degree':>6} {'error':10} target  ~  form")
    different: list[str] = []
    texts = stored()
    for family in options.families:
        fits = derive(family)
        if fits is None:
            print(f"{family:12} has no tools/fits/targets/{family}.py")
            continue
        print("\n".join(table(family, fits)), flush=True)
        text = source(family, fits)
        if texts.get(family) != text:
            different.append(family)
            texts[family] = text
    if not options.check:
        ordered = [texts[family] for family in FAMILIES if family in texts]
        STORED.write_text("\n".join([HEADER, *ordered]), encoding="utf-8")
        return 0
    for family in different:
        print(f"the stored {family} fits differ: run `{COMMAND}`", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
