"""How wide initial weights are drawn: by He's rule for all, or as an activation's formula wants it.

A layer whose weights have variance g²/fan_in gives numbers of variance g²·E h², h its inputs. With
h = f(z), z from N(0,1), and g = 1/√E f(z)² that is 1 again: an activation's own gain keeps signals
at the scale at which it was computed. He's √2 is relu's.
"""

from __future__ import annotations

import math

from softgate.frameworks.block_arguments import gate_activation
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

INITS = ("he", "fitted", "rows")
"""√2 for every activation; its own gain; each unit's weights with a norm of 1, as the GELU paper
has them."""


def gain(function: Activation | Gated, init: str) -> float:
    """Return the factor of the weights that read an activation's outputs.

    Of a gated one, f(gate)·up with both from N(0,1), E (f·up)² = E f²: the gate's own gain.

    Examples
    --------
    >>> import softgate as sg
    >>> round(gain(sg.relu, "fitted") ** 2, 6), round(gain(sg.gelu, "fitted"), 4)
    (2.0, 1.5335)
    >>> gain(sg.gelu, "he") ** 2
    2.0000000000000004
    """
    if init == "he":
        return math.sqrt(2)
    if init == "rows":
        return 1.0
    activation = gate_activation(function) if isinstance(function, Gated) else function
    found = activation.properties.gain
    if found is None:
        raise ValueError(
            f"{activation.name} has no gain: E f(z)² is 0, or no number; use init='he'"
        )
    return found
