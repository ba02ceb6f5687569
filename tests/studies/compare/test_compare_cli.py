"""`softgate compare`: messages, progress, exit codes, resuming, scripts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from trained import trial

import softgate as sg
from softgate.cli import compare as compare_command
from softgate.cli import softgate
from softgate.cli.compare import Display, Pace, duration, head
from softgate.studies.compare import fingerprint
from softgate.studies.compare.execution import Event, RunningTrial
from softgate.studies.compare.plan import Arm, ComparisonPlan, Condition
from softgate.studies.compare.record import Comparison
from softgate.studies.compare.run import Update
from softgate.studies.compare.trial import Outcome, TrainingResult, TrialEnvironment

SCRIPT = """
from pathlib import Path

HERE = Path(__file__).parent

def run(activation, seed, report, hope=1.0):
    with (HERE / "journal").open("a") as journal:
        journal.write(f"{activation.name} {seed}\\n")
    if (HERE / "interrupt").exists() and seed == 2:
        raise KeyboardInterrupt
    for step in range(3):
        report(step, 1 / (step + 1))
    return float(activation(hope)) + seed

def tuned(activation, seed, report, lr, validation):
    with (HERE / "journal").open("a") as journal:
        journal.write(f"{activation.name} {seed} {lr} {validation}\\n")
    return 1 - abs(lr - (0.1 if activation.name == "gelu" else 0.2)) + seed % 7 / 100

def broken(activation, seed, report):
    raise KeyError("weights")

def unlucky(activation, seed, report):
    report(0, 1.0)
    if activation.name == "relu":
        report(7, float("nan"))
    return 1.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a user's script."""
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, script: str = "train.py:run") -> Result:
    """Run in this process, which is `--on here`."""
    words = ["compare", "gelu", "relu", "--on", "here", *arguments]
    if script:
        words += ["--script", script]
    return CliRunner().invoke(softgate, words, standalone_mode=False)


def fine(*arguments: str, script: str = "train.py:run") -> Result:
    result = run(*arguments, script=script)
    assert result.exception is None, result.exception
    assert result.return_value == 0
    return result


def unwrapped(text: str) -> str:
    """Messages are wrapped to the width of the terminal."""
    return " ".join(text.split())


def lines(folder: Path) -> list[str]:
    return (folder / "journal").read_text().splitlines()


def test_result_goes_to_stdout_and_messages_to_stderr(folder: Path) -> None:
    result = fine("--seeds", "5", "--json")
    record = Comparison.from_json(result.stdout)
    assert (record.arms, record.seeds) == (("gelu", "relu"), (0, 1, 2, 3, 4))
    assert [item.measured.score for item in record.outcomes if item.trial.arm == "relu"] == [
        1.0, 2.0, 3.0, 4.0, 5.0,
    ]  # fmt: skip
    for messages in (
        "10 trials; no tuning",
        "5 seeds: p >= 0.0625",
        "saved in softgate-trials",
        "[10/10 trials]",
        "10 trials in",
    ):
        assert messages in result.stderr
    before, after = result.stderr.index("p >= 0.0625"), result.stderr.index("[0/10 trials]")
    assert before < after
    assert len(list((folder / "softgate-trials").glob("*.json"))) == 10


def test_rerun_resumes_and_more_seeds_add_trials(folder: Path) -> None:
    first = fine("--seeds", "5", "--csv")
    assert len(lines(folder)) == 10
    again = fine("--seeds", "5", "--csv")
    assert len(lines(folder)) == 10
    assert again.stdout == first.stdout
    assert "0 trials in" in again.stderr
    assert "10 were stored already" in again.stderr
    more = fine("--seeds", "7", "--csv")
    assert sorted(lines(folder)[10:]) == ["gelu 5", "gelu 6", "relu 5", "relu 6"]
    assert set(first.stdout.splitlines()) < set(more.stdout.splitlines())
    fine("--seeds", "7", "--no-store")
    assert len(lines(folder)) == 28


OUTDATED = "store: {} computed by another version of softgate's code and {} not reused"


@pytest.mark.parametrize("earlier", ["0123456789abcdef-", ""], ids=["code", "format"])
def test_trials_of_other_code_are_reported(folder: Path, earlier: str) -> None:
    """Also those whose fingerprint has the format of an earlier version, one hash of everything."""
    fine("--seeds", "5")
    for file in (folder / "softgate-trials").glob("*.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["trial"]["fingerprint"] = earlier + "0123456789abcdef"
        file.with_stem(f"earlier{file.stem}").write_text(json.dumps(record), encoding="utf-8")
        file.unlink()
    expected = OUTDATED.format("8 trials were", "are")
    assert expected in unwrapped(fine("--seeds", "4", "--dry-run").stderr)
    for other in (["--no-store"], ["--set", "hope=2"]):
        result = fine("--seeds", "4", "--dry-run", *other)
        assert "computed by" not in unwrapped(result.stderr)
    result = fine("--seeds", "4", "--json")
    assert expected in unwrapped(result.stderr)
    assert Comparison.from_json(result.stdout).notes == (expected,)
    assert len(lines(folder)) == 10 + 8
    assert "computed by" not in unwrapped(fine("--seeds", "4").stderr)
    more = unwrapped(fine("--seeds", "5", "--dry-run").stderr)
    assert OUTDATED.format("2 trials were", "are") in more


def test_tuned_trials_of_other_code_are_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reported trials count whatever rate was chosen for them."""
    arguments = ("--seeds", "3", "--tuning-seeds", "1", "--rates", "0.1,0.2")
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "code", lambda: "0" * 64)
        fine(*arguments, script="train.py:tuned")
    again = fine(*arguments, "--dry-run", script="train.py:tuned")
    assert OUTDATED.format("10 trials were", "are") in unwrapped(again.stderr)


def test_interrupt_prints_how_to_resume(folder: Path) -> None:
    (folder / "interrupt").touch()
    result = run("--seeds", "4", "--store", "kept")
    assert isinstance(result.exception, click.Abort | KeyboardInterrupt)
    assert "4 of 8 trials" in result.stderr
    assert "saved in kept; rerun this command to resume" in result.stderr
    assert "Traceback" not in result.stderr
    (folder / "interrupt").unlink()
    assert "4 were stored already" in fine("--seeds", "4", "--store", "kept").stderr
    assert len(lines(folder)) == 9  # the one that was interrupted began twice


def test_a_rate_is_chosen_for_each(folder: Path) -> None:
    result = fine("--seeds", "3", "--rates", "0.1,0.2", "--tuning-seeds", "1", "--json",
                  script="train.py:tuned")  # fmt: skip
    assert "4 tuning trials choose learning rates from 0.1, 0.2" in result.stderr
    record = Comparison.from_json(result.stdout)
    assert {(choice.arm, choice.lr) for choice in record.choices} == {("gelu", 0.1), ("relu", 0.2)}
    kinds = [(int(seed) >= 1_000_000, kind) for _, seed, _, kind in map(str.split, lines(folder))]
    assert set(kinds) == {(True, "True"), (False, "False")}


def test_a_trial_that_fails_is_a_result(folder: Path) -> None:
    result = fine("--seeds", "7", "--json", script="train.py:unlucky")
    assert "relu seed 0: diverged at step 7" in result.stderr
    assert Comparison.from_json(result.stdout).differences[0].verdict == "worse"
    nothing = run("--seeds", "2", script="train.py:broken")
    assert nothing.return_value == 1
    assert "KeyError: 'weights' (train.py, line 21)" in nothing.stderr
    assert "not compared" in nothing.stdout


def test_tuning_that_fails_throughout_stops_there(folder: Path) -> None:
    text = SCRIPT.replace(
        "def broken(activation, seed, report)", "def broken(activation, seed, report, lr)"
    )
    (folder / "train.py").write_text(text)
    result = run("--seeds", "2", script="train.py:broken")
    assert "no trial could be trained; the first: KeyError" in str(result.exception)
    assert isinstance(result.exception, click.ClickException)
    assert result.exception.exit_code == 1
    assert "goes on" not in result.stderr.splitlines()[-1]


def test_gated_activations_take_parameters_and_print_a_note_first(folder: Path) -> None:
    errors = unwrapped(fine("swiglu:beta=2", "--task", "digits", "--dry-run", script="").stderr)
    assert "gelu, relu, swiglu:beta=2.0" in errors
    assert "all layers scale their inputs to a mean square of 1" in errors
    wrong = run("swiglu:gamma=2", "--task", "digits", "--dry-run", script="").exception
    assert isinstance(wrong, click.UsageError)
    assert "gamma" in str(wrong)


def test_the_plan_as_json(folder: Path) -> None:
    result = fine("--seeds", "3", "--lr", "0.1", "--dry-run", "--json", script="train.py:tuned")
    plan = json.loads(result.stdout)
    assert (plan["activations"], plan["seeds"], plan["rates"]) == (
        ["gelu", "relu"],
        [0, 1, 2],
        [0.1],
    )
    assert (plan["tuning_trials"], plan["reported_trials"]) == (0, 6)
    assert plan["attainable_p"]["seeds"] == 3
    for wrong in (("--csv",), ("-o", "plan.json")):
        error = run("--dry-run", *wrong).exception
        assert isinstance(error, click.UsageError)
        assert "--dry-run prints the plan" in str(error)


def test_settings_of_a_script_and_of_a_task(folder: Path) -> None:
    record = Comparison.from_json(fine("--seeds", "2", "--set", "hope=-1", "--json").stdout)
    assert record.outcomes[0].trial.settings == {"hope": -1}
    assert record.summaries[1].mean == 0.5
    errors = fine("--task", "digits", "--set", "layers=1,2", "--init", "fitted", "--dry-run",
                script="").stderr  # fmt: skip
    assert "each with layers=1 | layers=2" in errors
    assert "32 tuning trials choose" in errors


def test_a_task_from_the_command_line(folder: Path) -> None:
    pytest.importorskip("torch")
    small = ("--set", "epochs=1", "--set", "layers=1", "--set", "width=8")
    options = ("--seeds", "2", "--lr", "1e-3", "--baseline", "relu", "-o", "seen.svg")
    result = fine(*small, *options, script="")
    assert "Difference from relu" in result.stdout
    assert "4 trials, learning rate 0.001" in result.stderr
    assert (folder / "seen.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_dry_run_trains_nothing(folder: Path) -> None:
    result = fine("--seeds", "8", "--dry-run")
    assert "16 trials" in result.stderr
    assert not (folder / "journal").exists()
    assert not (folder / "softgate-trials").exists()


def test_tasks_are_listed() -> None:
    result = CliRunner().invoke(softgate, ["compare", "--tasks"], standalone_mode=False)
    from softgate.studies.compare.tasks import tasks

    for name, task in tasks().items():
        assert name in result.stdout
        assert all(option in result.stdout for option in task.options)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "digits"], "--task and --script"),
        (["--seeds", "0"], "seeds = 0"),
        (["--rates", "fast"], "--rates fast"),
        (["--rates", "0.1"], "no learning rate"),
        (["--json", "--csv"], "exclude each other"),
        (["--no-store", "--store", "x"], "--no-store and --store"),
        (["--set", "hope"], "NAME=VALUE"),
        (["--set", "wish=3"], "wish"),
        (["--baseline", "tanh"], "baseline 'tanh'"),
        (["-o", "picture.xyz"], "picture.xyz"),
        (["-o", "nowhere/picture.svg"], "no folder"),
        (["--alpha", "2"], "alpha"),
        (["--data", "train.py"], "reads its data itself"),
        (["--on", "mars"], "mars"),
        (["gelu"], "given twice"),
    ],
)
def test_usage_errors_are_one_line(folder: Path, words: list[str], said: str) -> None:
    result = run(*words)
    assert isinstance(result.exception, click.UsageError | ValueError | OSError)
    assert said in str(result.exception)
    assert not (folder / "journal").exists()


def test_a_store_that_cannot_be_used(folder: Path) -> None:
    (folder / "file").write_text("")
    result = run("--store", "file/trials")
    assert isinstance(result.exception, ValueError | OSError)
    assert "file" in str(result.exception)


@pytest.mark.parametrize("suffix", [".json", ".part"])
def test_a_folder_in_place_of_the_file_of_a_trial_is_named(folder: Path, suffix: str) -> None:
    words = ("--seeds", "1", "--store", "trials")
    assert run(*words).exception is None
    file, *_ = sorted((folder / "trials").glob("*.json"))
    file.unlink()
    replaced = file.with_suffix(suffix)
    replaced.mkdir()
    result = run(*words)
    assert isinstance(result.exception, ValueError | OSError)
    assert replaced.name in str(result.exception)
    assert replaced.is_dir()


def test_python_warns_if_seeds_are_too_few(folder: Path) -> None:
    with pytest.warns(UserWarning, match="5 seeds: p >= 0.0625"):
        comparison = sg.compare("train.py:run", activations=["gelu", "relu"], seeds=5, on="here")
    assert comparison.differences[0].verdict == "no detectable difference"
    assert not (folder / "softgate-trials").exists()


# What is shown meanwhile


def outcome(seed: int, status: str = "finished") -> Outcome:
    place = TrialEnvironment("host", "cpu", 1, "3", "2", "0")
    return Outcome(trial(seed), status, "", TrainingResult(score=0.5), None, 2.0, place)


def update(done: int, running: int = 2, stage: str = "training", **more: object) -> Update:
    arms = (Arm("gelu", "gelu"), Arm("relu", "relu"))
    plan = ComparisonPlan(None, arms, (Condition(),), tuple(range(10)), (100,), (0.1, 0.2))
    total = {"tuning": 4, "training": 20}[stage]
    now = tuple(RunningTrial(trial(100 + i), 5, 10, 0.25) for i in range(running))
    return Update(stage, plan, Event(done, total, 0, now, **more))


def test_time_left_covers_both_stages() -> None:
    pace = Pace()
    pace.update(update(0, stage="tuning"))
    assert pace.left_s is None
    pace.update(update(1, stage="tuning", ended=outcome(0), eta_s=3.0))
    assert pace.left_s == pytest.approx(3.0 + 20 * 2.0 / 2)
    pace.update(update(4, running=0, stage="tuning", ended=outcome(1), eta_s=0.0))
    pace.update(update(10, eta_s=10.0))
    assert (pace.done, pace.total) == (14, 24)
    assert pace.left_s == pytest.approx(10.0)
    assert head(update(10), pace, 75.0) == "training [14/24 trials] 1 min 15 s, about 10 s left"


def test_a_pipe_gets_lines_of_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(compare_command.time, "monotonic", lambda: now[0])
    display = Display()
    for done in range(20):
        now[0] += 1.0
        display(update(done, ended=outcome(done)))
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 4
    assert shown[-1].startswith("training [15/24 trials] 16 s")
    assert "gelu lr 0.001 seed" in shown[-1]
    display(update(20, running=0, ended=outcome(20, "diverged")))
    assert "[20/24 trials]" in capsys.readouterr().err


def test_a_terminal_has_bar_and_losses() -> None:
    display = Display()
    display.pace.update(update(4, running=0, stage="tuning"))
    display.pace.update(update(6, eta_s=4.0))
    text = io.StringIO()
    Console(file=text, width=90).print(display._picture(update(6, eta_s=4.0), 12.0))
    shown = text.getvalue()
    assert "training [10/24 trials] 12 s, about 4 s left" in shown
    assert shown.count("step 5/10  loss 0.25") == 2
    assert "━" in shown
    assert max(map(len, shown.splitlines())) <= 90


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.7, "1 min 0 s"), (3599, "59 min 59 s"), (86400, "24 h 0 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_json_is_strict(folder: Path) -> None:
    json.loads(fine("--seeds", "2", "--json", script="train.py:unlucky").stdout,
               parse_constant=pytest.fail)  # fmt: skip
