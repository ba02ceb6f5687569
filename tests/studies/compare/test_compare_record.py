"""Comparisons of outcomes: verdicts, sentences, tables."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import compare_outcomes as made
import pytest
from compare_outcomes import ACCURACY, DIVERGED, LOSS, RAISED, comparison, outcome, reported

from softgate.studies.compare.plan import ChosenRate
from softgate.studies.compare.record import Comparison

BASE = (0.90, 0.91, 0.92, 0.90, 0.91, 0.93, 0.92, 0.90)
BETTER = tuple(score + 0.02 + 0.001 * k for k, score in enumerate(BASE))
LIKE = tuple(score + 0.01 * (-1) ** k for k, score in enumerate(BASE))


def test_an_effect_is_detected_and_a_null_is_not():
    record = comparison({"gelu": BASE, "silu": BETTER, "relu": LIKE})
    silu, relu = record.differences
    assert (silu.arm, silu.other, silu.verdict) == ("silu", "gelu", "better")
    assert silu.p == 2 / 2**8
    assert silu.corrected == 2 * silu.p
    assert silu.mean == pytest.approx(0.0235)
    assert (silu.won, silu.tied, silu.lost) == (8, 0, 0)
    pairs = [(a > b) + (a == b) / 2 for a in BETTER for b in BASE]
    assert silu.improvement == sum(pairs) / 64
    assert silu.interval.low < silu.mean < silu.interval.high
    assert (relu.verdict, relu.p) == ("no detectable difference", 1.0)
    text = "\n".join(record.summary)
    assert "silu is better than gelu: test accuracy 2.35 points higher (95 % interval" in text
    assert "p = 0.0156 after correction for 2 comparisons" in text
    assert "No detectable difference from gelu: relu. Differences of up to" in text


def test_identical_runs_give_a_warning():
    same = comparison({"gelu": BASE, "relu": BASE, "silu": BETTER})
    (line,) = [line for line in same.summary if "used at all" in line]
    assert line.startswith("relu: losses and scores identical to gelu at every seed")
    assert (
        "No detectable difference from gelu: relu. A small difference is possible." in same.summary
    )
    outcomes = reported({"gelu": BASE, "relu": BASE})
    other = replace(outcomes[-1], measured=replace(outcomes[-1].measured, loss=0.5))
    record = Comparison.of([*outcomes[:-1], other], measure=ACCURACY)
    assert not any("used at all" in line for line in record.summary)


def test_a_swap_reports_scores_before_and_after():
    outcomes = reported({"gelu": BASE, "gelu→relu": LIKE})
    more = {"validation_score_before_swap": 0.95, "validation_score_after_swap": 0.25}
    swapped = [
        replace(
            item,
            trial=replace(item.trial, activation="relu", settings={"before": "gelu"}),
            measured=replace(item.measured, extra_metrics=more),
        )
        for item in outcomes[8:]
    ]
    text = Comparison.of([*outcomes[:8], *swapped], measure=ACCURACY).summary
    assert (
        "gelu→relu: mean validation score 95.00 before the swap, 25.00 right after it, 90.00 at "
        "the end."
    ) in text


def test_less_can_be_better():
    record = comparison({"gelu": BASE, "silu": BETTER}, LOSS)
    (compared,) = record.differences
    assert compared.verdict == "worse"
    assert compared.mean == pytest.approx(0.0235)
    assert (compared.won, compared.lost) == (0, 8)
    assert compared.improvement < 0.1
    assert "silu is worse than gelu: test loss 0.0235 higher" in record.summary[0]


def test_too_few_seeds_are_reported():
    record = comparison({"gelu": BASE[:5], "silu": BETTER[:5]})
    assert record.differences[0].p == 0.0625
    assert record.differences[0].verdict == "no detectable difference"
    assert any("5 seeds cannot show a difference at 0.05" in line for line in record.summary)
    assert any("6 seeds can" in line for line in record.summary)
    assert (
        "Better than gelu at every seed: silu. More seeds are needed to decide." in record.summary
    )
    lenient = comparison({"gelu": BASE[:5], "silu": BETTER[:5]}, alpha=0.1)
    assert lenient.differences[0].verdict == "better"
    assert lenient.level == "90 % interval"


def test_all_comparisons_of_a_run_are_corrected_together():
    scores = {
        (condition, arm): BETTER if arm == "silu" else BASE
        for condition in ("layers=8", "layers=48")
        for arm in ("gelu", "relu", "silu")
    }
    record = comparison(scores)
    assert len(record.differences) == 4
    assert record.differences[1].corrected == pytest.approx(4 * 2 / 2**8)
    assert record.conditions == ("layers=8", "layers=48")
    assert any(line.startswith("layers=48: silu is better than gelu") for line in record.summary)
    assert str(record).count("layers=48") > 4


def test_all_pairs():
    record = comparison({"gelu": BASE, "silu": BETTER, "relu": BASE}, pairs="all")
    pairs = [(difference.arm, difference.other) for difference in record.differences]
    assert pairs == [("silu", "gelu"), ("relu", "gelu"), ("relu", "silu")]
    assert record.differences[2].verdict == "worse"
    assert "relu - silu" in str(record)


def test_a_baseline_can_be_named():
    record = comparison({"gelu": BASE, "silu": BETTER}, baseline="silu")
    assert [(difference.arm, difference.verdict) for difference in record.differences] == [
        ("gelu", "worse")
    ]
    assert record.arms == ("gelu", "silu")


def test_divergence_makes_an_activation_worse():
    often = (0.99, *[DIVERGED] * 7)
    record = comparison({"gelu": BASE, "relu": often})
    (compared,) = record.differences
    assert (compared.verdict, compared.by, compared.won, compared.lost) == ("worse", "ranks", 1, 7)
    assert compared.each == (pytest.approx(0.09), *[None] * 7)
    assert compared.improvement == 1 / 8
    relu = record.summaries[1]
    assert (relu.diverged, relu.finished, relu.mean) == (tuple(range(1, 8)), 1, 0.99)
    assert relu.median is None
    text = "\n".join(record.summary)
    assert "relu is worse than gelu: better at 1 and worse at 7 of 8 seeds" in text
    assert "Both have a score at 1 seed: test accuracy 9.0 points higher." in text
    assert "Diverged: relu at 7 of 8 seeds. A diverged run counts as worse than any score" in text
    assert "1 of 8" in str(record)


def test_divergence_of_the_baseline_counts_for_the_other():
    record = comparison({"gelu": (DIVERGED,) * 8, "relu": BASE})
    (compared,) = record.differences
    assert (compared.verdict, compared.mean, compared.won) == ("better", None, 8)
    assert "Diverged: gelu at every seed" in "\n".join(record.summary)


def test_two_that_diverge_are_equal():
    record = comparison({"gelu": (DIVERGED,) * 8, "relu": (DIVERGED,) * 8})
    (compared,) = record.differences
    assert (compared.verdict, compared.p, compared.tied) == ("no detectable difference", 1.0, 8)


def test_one_divergence_can_undo_a_verdict():
    once = (*BETTER[:7], DIVERGED)
    assert comparison({"gelu": BASE, "silu": BETTER}).differences[0].verdict == "better"
    record = comparison({"gelu": BASE, "silu": once})
    assert record.differences[0].verdict == "no detectable difference"
    assert any("The interval of silu to gelu excludes 0" in line for line in record.summary)


def test_an_exception_is_no_evidence():
    record = comparison({"gelu": BASE, "relu": (RAISED,) * 8, "silu": (*BETTER[:7], RAISED)})
    relu, silu = record.differences
    assert (relu.verdict, relu.p, relu.unknown) == ("not compared", None, 8)
    assert (silu.verdict, silu.unknown, silu.won) == ("no detectable difference", 1, 7)
    text = "\n".join(record.summary)
    assert "Not compared with gelu: relu." in text
    assert "No score: relu at every seed; silu at 1 of 8 seeds (7) (ValueError: no)" in text


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_a_divergence(score):
    odd = outcome("relu", 0.9, 7)
    odd = replace(odd, measured=replace(odd.measured, score=score))
    outcomes = [*reported({"gelu": BASE, "relu": BETTER[:7]}), odd]
    record = Comparison.of(outcomes, measure=ACCURACY)
    assert record.summaries[1].diverged == (7,)
    assert record.differences[0].by == "ranks"


def test_a_run_without_a_score_is_unknown():
    odd = outcome("relu", 0.9, 7)
    odd = replace(odd, measured=replace(odd.measured, score=None))
    outcomes = [*reported({"gelu": BASE, "relu": BETTER[:7]}), odd]
    assert Comparison.of(outcomes, measure=ACCURACY).summaries[1].raised == (7,)


@pytest.mark.parametrize(
    "scores",
    [{"gelu": (0.9,), "relu": (0.8,)}, {"gelu": BASE, "relu": BASE}, {"gelu": (0.5,) * 12},
     {"gelu": (0.5,) * 12, "relu": (0.6,) * 12}, {"gelu": (RAISED,), "relu": (DIVERGED,)}],
)  # fmt: skip
def test_little_data_prints_no_nan_or_inf(scores):
    record = comparison(scores)
    shown = str(record)
    assert "nan" not in shown
    assert "inf" not in shown
    assert Comparison.from_json(record.to_json()) == record


def test_a_record_survives_json():
    scores = {"gelu": BASE, "relu": (*LIKE[:6], DIVERGED, RAISED)}
    outcomes = [*reported(scores), *made.tuning("gelu", {1e-3: [0.9, 0.8], 1e-2: [0.7, DIVERGED]})]
    record = Comparison.of(outcomes, measure=ACCURACY, about="a line", notes=["a note"])
    again = Comparison.from_json(record.to_json())
    assert again == record
    assert str(again) == str(record)
    assert again.summary[-1] == "a note"
    assert again.outcomes[0].trial.key == outcomes[0].trial.key
    assert again.settings == {"epochs": 3, "width": 8, "bias": True}


def test_reading_a_record_needs_no_framework():
    text = comparison({"gelu": BASE, "silu": BETTER}).to_json()
    code = (
        "import sys; from softgate.studies.compare.record import Comparison\n"
        "record = Comparison.from_json(sys.stdin.read()); str(record)\n"
        "print(sorted({'torch', 'scipy', 'statsmodels', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_table_has_a_row_for_each_trial():
    outcomes = [*reported({"gelu": BASE, "relu": LIKE}), *made.tuning("gelu", {1e-3: [0.9, 0.8]})]
    header, rows = Comparison.of(outcomes, measure=ACCURACY).table()
    assert len(rows) == 18
    last = dict(zip(header, rows[-1], strict=True))
    assert (last["role"], last["validation_score"], last["score"]) == ("tuning", 0.8, None)
    assert all(len(row) == len(header) for row in rows)


def test_outcomes_must_be_complete():
    outcomes = reported({"gelu": BASE, "relu": LIKE})
    with pytest.raises(ValueError, match="relu at seed 7 has 0 reported outcomes"):
        Comparison.of(outcomes[:-1], measure=ACCURACY)
    with pytest.raises(ValueError, match="relu at seed 7 has 2 reported outcomes"):
        Comparison.of([*outcomes, outcomes[-1]], measure=ACCURACY)
    with pytest.raises(ValueError, match="relu at seed 0 has 1 reported outcomes"):
        Comparison.of(outcomes, measure=ACCURACY, arms=["gelu"])
    with pytest.raises(ValueError, match="no reported outcomes"):
        Comparison.of([], measure=ACCURACY)


@pytest.mark.parametrize(
    "wrong", [{"baseline": "tanh"}, {"pairs": "some"}, {"alpha": 0.0}, {"alpha": math.nan}]
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ValueError, match=str(next(iter(wrong)))):
        comparison({"gelu": BASE, "relu": LIKE}, **wrong)


def choice(values, measure=ACCURACY):
    return ChosenRate.of("gelu", "", made.tuning("gelu", values), measure)


def test_the_best_rate_is_chosen():
    assert choice({1e-4: [0.7, 0.8], 1e-3: [0.9, 0.9], 1e-2: [0.95, 0.8]}).lr == 1e-3
    assert choice({1e-4: [0.7, 0.8], 1e-3: [0.9, 0.9]}, LOSS).lr == 1e-4
    assert choice({1e-3: [0.9], 1e-4: [0.9]}).lr == 1e-4
    assert choice({1e-4: [0.5, 0.5], 1e-2: [0.99, DIVERGED]}).lr == 1e-4
    assert choice({1e-2: [DIVERGED], 1e-1: [RAISED]}).lr == 1e-2
    assert choice({1e-4: [0.5, DIVERGED], 1e-2: [DIVERGED, DIVERGED]}).lr == 1e-4


def test_a_rate_at_the_edge_is_reported():
    assert choice({1e-4: [0.7], 1e-3: [0.9], 1e-2: [0.8]}).edge is None
    assert choice({1e-4: [0.7], 1e-3: [0.9]}).edge == "largest"
    assert choice({1e-4: [0.7]}).edge is None
    tried = [*made.tuning("gelu", {1e-4: [0.7], 1e-3: [0.9]}),
             *made.tuning("relu", {1e-4: [DIVERGED], 1e-3: [DIVERGED]})]  # fmt: skip
    outcomes = [*reported({"gelu": BASE, "relu": LIKE}), *tried]
    text = "\n".join(Comparison.of(outcomes, measure=ACCURACY).summary)
    assert "the largest that was tried for gelu: a larger one may do better" in text
    assert "relu finished with none of the learning rates: the smallest was used." in text
    assert "not tuned" in "\n".join(comparison({"gelu": BASE, "relu": LIKE}).summary)


def test_a_choice_takes_only_its_own_trials():
    with pytest.raises(ValueError, match="no tuning trials"):
        choice({})
    with pytest.raises(ValueError, match="a reported trial of 'gelu'"):
        ChosenRate.of("gelu", "", reported({"gelu": BASE}), ACCURACY)
    blind = [replace(item, measured=replace(item.measured, validation_score=None,
                                           validation_loss=None))
             for item in made.tuning("gelu", {1e-3: [0.9]})]  # fmt: skip
    with pytest.raises(ValueError, match="no tuning trial of gelu has a validation score or loss"):
        ChosenRate.of("gelu", "", blind, ACCURACY)


def test_rates_are_chosen_by_loss_where_there_is_no_score():
    some = made.tuning("gelu", {1e-3: [0.9], 1e-2: [0.9]})
    losses = (0.3, 0.2)
    some = [
        replace(item, measured=replace(item.measured, validation_score=None, validation_loss=loss))
        for item, loss in zip(some, losses, strict=True)
    ]
    result = ChosenRate.of("gelu", "", some, ACCURACY)
    assert (result.lr, result.by) == (1e-2, "validation loss")


def test_different_cpus_are_reported():
    outcomes = reported({"gelu": BASE, "relu": LIKE})
    outcomes[3] = replace(outcomes[3], environment=replace(made.PLACE, cpu="another processor"))
    text = Comparison.of(outcomes, measure=ACCURACY).summary[-1]
    assert "different CPUs (a processor; another processor)" in text


def test_costs_of_training():
    outcomes = reported({"gelu": BASE, "relu": LIKE})
    outcomes[8:] = [replace(item, step_ms=3.0) for item in outcomes[8:]]
    gelu, relu = Comparison.of(outcomes, measure=ACCURACY).summaries
    assert (gelu.step_ratio, relu.step_ratio, relu.step_ms) == (1.0, 1.5, 3.0)
    assert (relu.dead, relu.gradient_ratio) == (0.25, 0.5)
    assert (relu.parameters, relu.flops, relu.seconds) == (100, 200.0, 24.0)
    assert relu.median == pytest.approx(0.915)
