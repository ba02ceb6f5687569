"""The counterparts of activations: the alignment of two sequences with the fewest changes."""

from __future__ import annotations

from collections.abc import Sequence

Sized = tuple[int | None, str]
"""The number of elements of an activation, if it was observed, and its function."""
MOST = 2000
"""The most activations that are aligned; longer sequences are paired by position."""
GAP, OTHER_FUNCTION = 2, 1
"""The costs of an activation without a counterpart, and of one with another function."""


def match(first: Sequence[Sized], second: Sequence[Sized]) -> list[tuple[int | None, int | None]]:
    """Return pairs of positions in the order of execution; None where there is no counterpart.

    Counterparts have the same number of elements; those with the same function are preferred.

    Examples
    --------
    >>> match([(8, "gelu"), (4, "tanh")], [(8, "gelu_tanh"), (8, "relu"), (4, "tanh")])
    [(0, 0), (None, 1), (1, 2)]
    """
    n, m = len(first), len(second)
    if max(n, m) > MOST:
        return [(i if i < n else None, i if i < m else None) for i in range(max(n, m))]
    # costs[i][j] is that of aligning what follows from i and j on, so that of equal alignments the
    # one with the earliest counterparts is taken.
    costs = [[GAP * (n - i + m - j) for j in range(m + 1)] for i in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            costs[i][j] = min(
                costs[i + 1][j + 1] + _cost(first[i], second[j]),
                costs[i + 1][j] + GAP,
                costs[i][j + 1] + GAP,
            )
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < n or j < m:
        if i < n and j < m and costs[i][j] == costs[i + 1][j + 1] + _cost(first[i], second[j]):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif i < n and costs[i][j] == costs[i + 1][j] + GAP:
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


def _cost(a: Sized, b: Sized) -> int:
    if a[0] is not None and b[0] is not None and a[0] != b[0]:
        return 2 * GAP + 1  # never chosen: two gaps cost less
    return 0 if a[1] == b[1] else OTHER_FUNCTION
