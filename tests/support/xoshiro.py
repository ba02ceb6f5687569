"""The page's random numbers (xoshiro128**) with Python integers, and the network made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from softgate.runtime.activation import Activation

MASK = 0xFFFFFFFF


def _started(seed: int) -> Iterator[int]:
    state = seed
    while True:
        state = (state + 0x9E3779B9) & MASK
        z = state ^ (state >> 16)
        z = (z * 0x21F0AAAD) & MASK
        z = ((z ^ (z >> 15)) * 0x735A2D97) & MASK
        yield z ^ (z >> 15)


def _turned(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & MASK


def uniforms(seed: int) -> Iterator[float]:
    """Yield numbers from [0, 1) with 53 bits."""
    start = _started(seed)
    s = [next(start) for _ in range(4)]

    def word() -> int:
        result = (_turned((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 9) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _turned(s[3], 11)
        return result

    while True:
        high, low = word() >> 5, word() >> 6
        yield (high * 67108864 + low) / 9007199254740992


def normals(uniform: Iterator[float], count: int) -> list[float]:
    """Standard normal numbers, `count` being even."""
    results = []
    for _ in range(count // 2):
        radius = math.sqrt(-2 * math.log(1 - next(uniform)))
        angle = 2 * math.pi * next(uniform)
        results += [radius * math.cos(angle), radius * math.sin(angle)]
    return results


def network(chosen: Activation, settings: dict[str, Any]) -> dict[str, list[float]]:
    """Return the result of the page's `simulate`, with NumPy matrix products."""
    n, widest = settings["width"], 128
    uniform = uniforms(settings["seed"])
    start, above = (np.array(normals(uniform, widest))[:n] for _ in range(2))
    h = settings["mean"] + settings["sd"] * start
    variance, slopes, weights = [np.mean((h - settings["mean"]) ** 2)], [], []
    for _ in range(settings["depth"]):
        w = np.array(normals(uniform, widest**2)).reshape(widest, widest)[:n, :n]
        weights.append(settings["gain"] / np.sqrt(n) * w)
        slopes.append(chosen.slope(h))
        h = weights[-1] @ chosen(h)
        variance.append(np.mean(h**2))
    d, gradient = above, [1.0]
    for w, s in zip(weights[::-1], slopes[::-1], strict=True):
        d = s * (w.T @ d)
        gradient.insert(0, np.mean(d**2) / np.mean(above**2))
    return {"variance": variance, "gradient": gradient}
