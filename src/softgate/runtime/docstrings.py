"""The help text of an activation, from what its entry says."""

from __future__ import annotations

from softgate.catalogue import Entry


def document(entry: Entry) -> str:
    """Return what `help` shows."""
    if entry.user is not None and entry.user.doc:
        return entry.user.doc
    lines = [f"{entry.name}(x) = {entry.formula}, applied to each element.", ""]
    lines += ["Parameters", "----------", "x : number, list or array", "    Where to evaluate."]
    for p in entry.parameters:
        accepted = f"    {p.doc} Accepted: {p.range or 'any number'}."
        lines += [f"{p.name} : float, default {p.default:g}", accepted]
    lines += ["out : numpy.ndarray, optional", "    Where results go; may be `x` itself."]
    lines += [
        'arithmetic : {"float64"}, optional',
        "    Compute float32 in float64, round once.",
        "",
    ]
    lines += ["Methods", "-------", "slope, curvature, backward : its derivatives.", ""]
    lines += ["Notes", "-----", f"Source: {entry.paper or 'a formula of your own'}."]
    if entry.notes:
        lines.append(entry.notes)
    for name, bound in entry.bounds.items():
        lines.append(f"{name}: value within {bound.value:g} ulp, slope within {bound.slope:g}.")
    return "\n".join(lines)
