"""The largest error along the number line: sixteen steps a binade where activations bend.

Further out and nearer to 0 a step is a whole binade (eight in float64), so that every region takes
part of the picture and none takes all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import Format

Float64s = npt.NDArray[np.float64]
FINE_BITS = 4
FIRST, LAST = -8, 8
"""Exponents of the finely drawn binades."""


class Profile:
    """The largest error in each step of one format's inputs."""

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        self.shift = fmt.mantissa_bits - FINE_BITS
        self.max_ulp = np.full(1 << (fmt.bits - self.shift), -1.0)

    def add(self, bits: npt.NDArray[np.unsignedinteger], error: Float64s) -> None:
        """Take in errors at inputs given by their bit patterns."""
        np.maximum.at(self.max_ulp, (bits >> bits.dtype.type(self.shift)).astype(np.int64), error)

    def add_run(self, first: int, largest: float) -> None:
        """Take in the largest error of neighbouring patterns that share a step."""
        index = first >> self.shift
        self.max_ulp[index] = max(self.max_ulp[index], largest)

    def merge(self, other: Profile) -> None:
        """Take in what another part found."""
        np.maximum(self.max_ulp, other.max_ulp, out=self.max_ulp)

    def steps(self) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
        """Return the ends of the steps from left to right, and the largest error in each."""
        sides = np.split(self.max_ulp, 2)  # the sign is the first bit
        edges, right = self._side(sides[0])
        _, left = self._side(sides[1])
        places = [-edge for edge in reversed(edges[1:])] + edges
        return tuple(places), (*reversed(left), *right)

    def _side(self, values: Float64s) -> tuple[list[float], list[float | None]]:
        fmt, fine = self.fmt, 1 << FINE_BITS
        bias = fmt.max_exponent
        coarse = 8 if fmt.bits == 64 else 1
        edges, found = [0.0], list[float | None]()
        field, top = 0, 2 * bias + 1
        largest = (2.0 - 2.0**-fmt.mantissa_bits) * 2.0**bias
        while field < top:
            exponent = field - bias
            if field > 0 and FIRST <= exponent < LAST:
                cells = values[field * fine : (field + 1) * fine]
                found += [_shown(float(cell)) for cell in cells]
                edges += [2.0**exponent * (1 + (k + 1) / fine) for k in range(fine)]
                field += 1
                continue
            stop = min(field + coarse, top, FIRST + bias if exponent < FIRST else top)
            found.append(_shown(float(values[field * fine : stop * fine].max())))
            edges.append(largest if stop == top else 2.0 ** (max(stop, 1) - bias))
            field = stop
        return edges, found


def _shown(value: float) -> float | None:
    """Return an error with the digits a picture needs, None where nothing was measured."""
    return None if value < 0 else float(f"{value:.4g}")
