"""The statistics of comparisons, against counts by hand and simulated training runs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from softgate.records import packages
from softgate.studies.compare import statistics
from softgate.studies.compare.statistics import (
    attainable_p,
    count_comparisons,
    holm,
    improvement,
    interval,
    sign_flip_test,
)

INF, NAN = math.inf, math.nan


def flipped(values):
    """Return the fraction of sign flips whose sum is as far from 0, by enumeration."""
    flips = [abs(math.fsum(s * v for s, v in zip(signs, values, strict=True)))
             for signs in product((-1, 1), repeat=len(values))]  # fmt: skip
    seen = abs(math.fsum(values))
    return sum(flip >= seen - 1e-9 for flip in flips) / len(flips)


def ranked(gains):
    """Return signed ranks, by counting: ties share theirs."""
    sizes = [abs(gain) for gain in gains]
    ranks = [sum(s < size for s in sizes) + (1 + sizes.count(size)) / 2 for size in sizes]
    return [math.copysign(rank, gain) if gain else 0.0
            for rank, gain in zip(ranks, gains, strict=True)]  # fmt: skip


def step_down(ps):
    """Return p-values corrected as in Holm's paper."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    values, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        values[i] = highest
    return values


def allowed(share, trials):
    """Return an upper bound on the count of an event, exceeded in 1 of 1000 runs."""
    return share + 3.1 * math.sqrt(share * (1 - share) / trials)


@pytest.mark.parametrize("seeds", range(1, 11))
def test_p_is_the_share_of_sign_flips(seeds):
    rng = np.random.default_rng(seeds)
    for scale in (1.0, 1e-6):
        values = (scale * rng.normal(0.5, 1, seeds)).tolist()
        assert sign_flip_test(values).p == pytest.approx(flipped([v / scale for v in values]))


@pytest.mark.parametrize(
    "values",
    [[1.0], [0.0], [0.0] * 6, [1.0] * 6, [1.0, -1.0], [0.1, 0.2, -0.3], [0.0, 0.0, 2.0, 1.0, 1.0],
     [0.002, 0.002, -0.002, 0.004, 0.0, 0.006, 0.002]],
)  # fmt: skip
def test_ties_zeros_and_single_seeds(values):
    result = sign_flip_test(values)
    assert result.p == pytest.approx(flipped(values))
    assert result.exact
    assert result.by == "values"


def test_a_difference_points_where_its_sum_does():
    assert sign_flip_test([0.2, 0.1, -0.05]).direction == 1
    assert sign_flip_test([-0.2, -0.1, 0.05]).direction == -1
    assert sign_flip_test([0.0, 0.0]).direction == 0


@pytest.mark.parametrize(
    "gains",
    [[-INF] * 8, [INF, 0.1, 0.2, 0.1], [-INF, 0.1, 0.2, 0.3, 0.25, 0.5], [INF, -INF, 0.3],
     [0.0, 0.0, -INF, -INF, 0.1], [-INF, -INF, -INF, -INF, -INF, -INF, 0.1, 0.2]],
)  # fmt: skip
def test_a_seed_that_diverged_has_the_largest_rank(gains):
    result = sign_flip_test(gains)
    assert result.by == "ranks"
    assert result.p == pytest.approx(flipped(ranked(gains)))
    assert result.direction == np.sign(math.fsum(ranked(gains)))


def test_divergence_is_not_left_out():
    saved = [0.02, 0.03, 0.01, 0.02, 0.04, 0.03]
    assert sign_flip_test(saved).p < 0.05 < sign_flip_test([*saved, -INF, -INF]).p
    assert sign_flip_test([*saved[:1], *[-INF] * 7]).direction == -1


@pytest.mark.parametrize("known", [[0.3, 0.1, 0.2, 0.4, 0.15] * 2, [-0.3, -0.1, -0.2] * 4])
def test_a_seed_that_raised_counts_against_any_verdict(known):
    result = sign_flip_test([*known, NAN])
    for unknown in (-INF, -0.25, 0.0, 0.05, 0.25, INF):
        whatever = sign_flip_test([*known, unknown])
        assert whatever.direction == result.direction
        ranks = statistics._signed_ranks(np.array([*known, unknown]))
        assert flipped(ranks.tolist()) <= result.p + 1e-12


def test_unknown_seeds_give_no_verdict():
    assert sign_flip_test([NAN, NAN]) is None
    assert sign_flip_test([NAN, 0.5]).p == 1.0
    assert sign_flip_test([0.1, -0.1, NAN]).direction == 0


def test_many_seeds_are_sampled(monkeypatch):
    values = np.random.default_rng(0).normal(0.4, 1, 12).tolist()
    exact = sign_flip_test(values)
    monkeypatch.setattr(statistics, "MAX_EXACT", 11)
    drawn = sign_flip_test(values)
    assert exact.exact
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=4 * math.sqrt(0.25 / statistics.SAMPLED))
    assert drawn == sign_flip_test(values)


def test_holm_against_its_definition():
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 12):
        ps = (rng.random(count) ** 3).tolist()
        corrected, stands = holm(ps, 0.05)
        assert corrected == pytest.approx(step_down(ps))
        assert stands == [p <= 0.05 for p in corrected]
    assert holm([], 0.05) == ([], [])


def results(rng, runs, arms, diverging=0.0, heavy=False):
    """Return scores of activations that do not differ: correlated by seed, some diverged."""
    seeds = rng.normal(0, 1, (runs, 1, 8))
    samples = rng.standard_t(2, (runs, arms, 8)) if heavy else rng.normal(0, 1, (runs, arms, 8))
    result = np.round(seeds + samples, 1)  # so that there are ties
    result[rng.random(result.shape) < diverging] = -INF
    return result


def gains(arm, other):
    with np.errstate(invalid="ignore"):
        return np.where(arm == other, 0.0, arm - other)


@pytest.mark.parametrize(("diverging", "heavy"), [(0.0, False), (0.0, True), (0.25, False)])
def test_where_nothing_differs_few_verdicts_are_wrong(diverging, heavy):
    runs = 400
    rng = np.random.default_rng(17)
    values = [sign_flip_test(gains(a, b)).p for a, b in results(rng, runs, 2, diverging, heavy)]
    wrong = np.mean([p <= 0.05 for p in values])
    assert 0.01 < wrong <= allowed(0.05, runs)
    # A test whose p were a third of it would not pass here.
    assert np.mean([p / 3 <= 0.05 for p in values]) > allowed(0.05, runs)


def test_the_correction_holds_for_all_comparisons_of_a_run():
    runs = 150
    wrong, alone = [], []
    for arms in results(np.random.default_rng(5), runs, 5):
        ps = [sign_flip_test(gains(arm, arms[0])).p for arm in arms[1:]]
        wrong.append(any(p <= 0.05 for p in step_down(ps)))
        alone.append(any(p <= 0.05 for p in ps))
    assert np.mean(wrong) <= allowed(0.05, runs)
    assert np.mean(alone) > allowed(0.05, runs)


def test_a_real_effect_is_found():
    rng = np.random.default_rng(3)
    values = [sign_flip_test(rng.normal(2.0, 1, 8)) for _ in range(200)]
    assert np.mean([value.p <= 0.05 and value.direction == 1 for value in values]) > 0.95


@pytest.mark.parametrize(("count", "kind", "runs"), [(5, "t", 1000), (12, "BCa", 150)])
def test_intervals_hold_the_mean_about_as_often_as_they_say(count, kind, runs):
    rng = np.random.default_rng(count)
    values = [interval(rng.normal(3.0, 1, count)) for _ in range(runs)]
    assert {value.kind for value in values} == {kind}
    share = np.mean([item.low <= 3.0 <= item.high for item in values])
    # A bootstrap of a dozen values is known to be a few percent short.
    low = 0.95 if kind == "t" else 0.92
    assert 2 * low - allowed(low, runs) <= share <= allowed(0.95, runs)


def test_intervals_of_too_few_values():
    assert interval([]) is None
    assert interval([0.5]) is None
    assert interval([0.5] * 12) is None
    assert interval([0.5] * 3) is None
    few = interval([0.5] * 11 + [0.6])
    assert few.low <= 0.5 + 0.1 / 12 <= few.high
    assert interval([1.0, 2.0, 3.0], 0.5).high < interval([1.0, 2.0, 3.0]).high


def test_a_bootstrap_without_a_correction_is_students(monkeypatch):
    nowhere = statistics.ConfidenceInterval(NAN, NAN, "BCa")
    monkeypatch.setattr(statistics, "_bootstrap", lambda data, level: nowhere)
    assert interval(list(range(12))).kind == "t"


def test_probability_of_improvement():
    assert improvement([3.0, 1.0], [2.0, 1.0]) == (1 + 1 + 0 + 0.5) / 4
    assert improvement([1.0, -INF], [-INF, -INF]) == (1 + 1 + 0.5 + 0.5) / 4
    assert improvement([], [1.0]) is None


@pytest.mark.parametrize(
    ("seeds", "comparisons", "p", "corrected", "needed"),
    [(1, 1, 1.0, 1.0, 6), (5, 1, 0.0625, 0.0625, 6), (6, 1, 0.03125, 0.03125, 6),
     (8, 5, 0.0078125, 0.0390625, 8), (7, 5, 0.015625, 0.078125, 8), (2, 15, 0.5, 1.0, 10)],
)  # fmt: skip
def test_least_p_by_number_of_seeds(seeds, comparisons, p, corrected, needed):
    best = attainable_p(seeds, comparisons)
    assert (best.p, best.corrected, best.needed) == (p, corrected, needed)
    assert best.enough == (corrected <= 0.05)
    ps = [sign_flip_test([1.0 + k for k in range(seeds)]).p, *[1.0] * (comparisons - 1)]
    assert min(holm(ps, 0.05)[0]) == pytest.approx(corrected)
    assert ("seeds can" in str(best)) == (not best.enough)


def test_invalid_arguments():
    with pytest.raises(ValueError, match=r"alpha = 1\.5"):
        attainable_p(5, 1, 1.5)
    with pytest.raises(ValueError, match="0 seeds"):
        attainable_p(0)


def test_comparisons_are_counted():
    assert count_comparisons(3, 4) == 8
    assert count_comparisons(3, 4, "all") == 12


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(packages, "_is_installed", lambda package: package != "statsmodels")
    with pytest.raises(ImportError, match=r'needs statsmodels: pip install "softgate\[compare\]"'):
        holm([0.5, 0.5], 0.05)
