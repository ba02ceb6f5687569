"""bench: plans, relations, records and what the command refuses, with figures made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import softgate as sg
from softgate.cli import bench as cli
from softgate.cli import softgate as commands
from softgate.runtime.machine import Machine, caches, this_machine
from softgate.studies.bench import plan
from softgate.studies.bench.baseline import compare, merged
from softgate.studies.bench.inputs import DTYPES, UNKNOWN, ArraySize, arrays
from softgate.studies.bench.inputs import size as size_of
from softgate.studies.bench.record import Bench, BenchRow, Settings, apart, related, warnings
from softgate.studies.bench.run import BenchRun, differs

MACHINE = Machine(
    cpu="A made-up CPU",
    architecture="none",
    features=(),
    cores=2,
    threads=2,
    memory_bytes=1 << 34,
    system="Nowhere",
    python="3.11",
    caches={"L1": 1 << 15, "L2": 1 << 19, "L3": 1 << 25},
    versions={"numpy": "2.0"},
)


def row(function: str, implementation: str, ns: float | None = None, **more: Any) -> BenchRow:
    known: dict[str, Any] = {
        "quantity": "value", "dtype": "float32", "count": 1024, "size": "L1", "threads": 1,
        "inputs": "randn", "buffers": "reused", "median_ns": ns, "spread": 0.0,
        "relative_uncertainty": 0.0,
    }  # fmt: skip
    return BenchRow(function=function, implementation=implementation, least_ns=ns, **(known | more))


ROWS = related(
    [
        row("gelu", "softgate", 0.6),
        row("gelu", "torch", 0.9, notes=("a note",)),
        row("gelu", "jax", None, error="ValueError: no"),
        row("copy", "numpy", 0.2),
        row("relu", "softgate", 0.3),
        row("relu", "torch", 0.1),
        row("copy", "numpy", 0.1),
    ]
)

SETTINGS = Settings(
    functions=("gelu",),
    implementations=("softgate", "torch", "jax"),
    quantities=("value",),
    dtypes=("float32",),
    sizes=("1K",),
    threads=(1,),
    inputs=("randn",),
    buffers=("reused",),
    budget_s=1.0,
    seed=0,
)

BENCH = Bench(MACHINE, SETTINGS, "2026-01-01T00:00:00+00:00", 1.0, ROWS, 0.02)


def test_multiples_of_the_least_copy_of_ones_own_relu_and_of_ours() -> None:
    results = {(item.function, item.implementation): item for item in ROWS}
    torch = results["gelu", "torch"]
    assert [element.function for element in ROWS].count("copy") == 1
    assert (torch.ratio_to_copy, torch.ratio_to_relu) == (pytest.approx(9), pytest.approx(9))
    assert torch.ratio_to_softgate == pytest.approx(1.5)
    assert results["gelu", "jax"].ratio_to_copy is None


def test_what_noise_hides_is_not_told_apart() -> None:
    assert apart(row("gelu", "a", 1.0), row("gelu", "b", 1.01))
    noisy = row("gelu", "a", 1.0, relative_uncertainty=0.2)
    assert not apart(noisy, row("gelu", "b", 1.1))
    assert apart(noisy, row("gelu", "b", 1.3))


def test_a_noisy_machine_is_warned_of() -> None:
    assert warnings(ROWS, 0.01, 1) == ()
    assert warnings(ROWS, None, 1) == ()
    message = warnings([row("gelu", "torch", 1.0, relative_uncertainty=0.5)], 0.6, 2)
    assert "60% of the cores" in message[0]
    assert "DO NOT TRUST" in message[0]
    assert "gelu in torch, 50%" in message[1]
    assert "too noisy" in message[1]


def test_the_table_has_limits_relatives_notes_and_errors() -> None:
    text = str(replace(BENCH, warnings=("so noisy",), not_run=("torch.compile: slow",)))
    lines = text.splitlines()
    assert any(line.split()[:3] == ["copy", "numpy", "0.100"] for line in lines)
    assert any(line.split()[:3] == ["torch", "0.900", "0.900"] for line in lines)
    for part in ("x copy", "A made-up CPU", "L2 512 KiB", "1,024 elements (L1)", "a note",
                 "ValueError: no", "so noisy", "torch.compile: slow"):  # fmt: skip
        assert part in text
    assert "<table>" in BENCH._repr_html_()


def test_of_many_functions_there_is_a_matrix() -> None:
    many = tuple(row(name, "softgate", 0.5) for name in sg.activations())
    settings = replace(SETTINGS, functions=tuple(sg.activations()))
    wide = replace(BENCH, rows=related((*ROWS, *many)), settings=settings)
    (line,) = (
        printed_line for printed_line in str(wide).splitlines() if "x fastest other" in printed_line
    )
    assert line.split()[:4] == ["function", "softgate", "torch", "jax"]
    gelu = next(item for item in str(wide).splitlines() if item.split()[:1] == ["gelu"])
    assert gelu.endswith("torch")


def test_json_both_ways_and_csv() -> None:
    assert Bench.from_json(BENCH.to_json()) == BENCH
    assert json.loads(BENCH.to_json())["schema"] == "softgate.bench"
    header, rows = BENCH.table()
    assert len(rows) == len(BENCH.rows)
    assert rows[1][header.index("notes")] == "a note"


def test_find_wants_exactly_one_row() -> None:
    assert BENCH.find("gelu").least_ns == 0.6
    assert BENCH.find("gelu", "torch", dtype="float32").least_ns == 0.9
    with pytest.raises(ValueError, match="0 rows have function='mish'"):
        BENCH.find("mish")


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_are_the_same_for_the_same_seed_and_the_mix_has_all_kinds(dtype: str) -> None:
    import numpy as np

    first, two = (arrays("mix", dtype, 1000, 7) for _ in range(2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, two, strict=True))
    x = first[0].astype(np.float64)
    assert np.isnan(x).any()
    assert np.isposinf(x).any()
    assert np.isneginf(x).any()
    tiny = float(sizes_of_smallest_normal(dtype))
    assert ((np.abs(x) < tiny) & (x != 0)).any()
    assert first[0].ctypes.data % 64 == 0


def sizes_of_smallest_normal(dtype: str) -> float:
    from softgate.studies.bench.inputs import dtype_of, finfo

    return float(finfo(dtype_of(dtype)).smallest_normal)


def test_sizes_follow_the_caches() -> None:
    results = {text: size_of(text, 4, MACHINE) for text in ("L1", "L2", "L3", "DRAM")}
    for level, size in results.items():
        held = MACHINE.caches.get(level)
        assert held is None or size.count * 4 * 3 <= held / 2
        assert size.label == level
    assert results["DRAM"].count * 4 * 3 >= 4 * MACHINE.caches["L3"]
    assert size_of("64k", 8, MACHINE) == ArraySize(1 << 16, "L3")
    assert size_of("1M", 4, replace(MACHINE, caches={})).label == UNKNOWN


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ({"size": "0"}, "at least 1 element"),
        ({"size": "-3"}, "expected L1"),
        ({"size": "L7"}, "expected L1"),
        ({"size": "9000G"}, "are free: give a smaller size"),
        ({"functions": "gelo"}, "did you mean"),
        ({"functions": ()}, "functions is empty"),
        ({"peers": "torhc"}, "did you mean 'torch'"),
        ({"dtype": "float31"}, "did you mean"),
        ({"quantity": ""}, "quantity is empty"),
        ({"threads": 0}, "expected numbers from 1 to"),
        ({"threads": "many"}, "expected numbers from 1 to"),
        ({"inputs": "rand"}, "did you mean 'randn'"),
        ({"buffers": "old"}, "expected some of reused, fresh"),
        ({"budget": 0}, "above 0"),
    ],
)
def test_mistakes_are_told_before_anything_starts(
    argument: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(self: BenchRun) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr(BenchRun, "run", started)
    monkeypatch.setattr("softgate.studies.bench.this_machine", lambda: MACHINE)
    with pytest.raises(ValueError, match=says):
        sg.bench(**({"functions": "gelu"} | argument))


def test_a_peer_that_is_not_installed_is_refused_by_name_and_left_out_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "absent", lambda name: "" if name == "softgate" else "not here")
    assert plan.choose_implementations(None) == ("softgate",)
    with pytest.raises(ValueError, match="'jax' cannot run here: not here"):
        plan.choose_implementations("jax")


def test_relu_is_in_every_plan_and_names_say_who_is_left_out() -> None:
    made = plan.make_plan(SETTINGS, plan.choose_functions("gelu"), MACHINE)
    assert [cell.function.name for cell in made.cells] == ["gelu", "relu"]
    assert any("torch.compile" in line for line in made.not_run)
    assert any(line == "textbook: has no relu" for line in plan.lacking([sg.relu], ("textbook",)))


def test_results_that_are_not_ours_are_noticed() -> None:
    ours = (0.0, 1.0, float("nan"), float("inf"))
    assert differs(ours, ours, "float32") == []
    assert differs((0.0, 1.0 + 1e-6, *ours[2:]), ours, "float32") == []
    assert "epsilons" in differs((0.0, 1.001, *ours[2:]), ours, "float32")[0]
    assert "NaN" in differs((0.0, 1.0, 0.0, float("inf")), ours, "float32")[0]
    assert "NaN" in differs((float("nan"), *ours[1:]), ours, "float32")[0]
    assert "2 results" in differs(ours[:2], ours, "float32")[0]


def test_against_an_older_one_both_ways() -> None:
    slower = replace(BENCH, rows=tuple(_slowed(item, "gelu", "softgate", 1.2) for item in ROWS))
    assert compare(BENCH, BENCH, 0.0).failures == ()
    assert compare(BENCH, slower, 0.1).failures == ()  # it got faster
    (failure,) = compare(slower, BENCH, 0.1).failures
    assert failure.startswith("gelu in softgate, value")
    assert "1.20 times" in failure
    assert compare(slower, BENCH, 0.25).failures == ()


def _slowed(item: BenchRow, function: str, implementation: str, factor: float) -> BenchRow:
    same = (item.function, item.implementation) == (function, implementation)
    return replace(item, least_ns=item.least_ns * factor) if same and item.least_ns else item


def test_of_two_runs_the_least_time_counts() -> None:
    noisy = replace(BENCH, rows=tuple(_slowed(item, "gelu", "torch", 3.0) for item in ROWS))
    once = merged(noisy, BENCH)
    assert (once.find("gelu", "torch").least_ns, once.find("gelu").least_ns) == (0.9, 0.6)
    assert merged(BENCH, noisy).rows == BENCH.rows
    assert compare(once, BENCH, 0.0).failures == ()


def test_a_time_that_is_lost_is_a_failure() -> None:
    lost = tuple(
        replace(item, least_ns=None, error="it threw") if item.implementation == "torch" else item
        for item in ROWS
    )
    failures = compare(replace(BENCH, rows=lost), BENCH, 0.5).failures
    assert len(failures) == 2
    assert all("has none now" in text for text in failures)


def test_another_machine_or_another_definition_is_refused_and_versions_are_said() -> None:
    elsewhere = replace(BENCH, machine=replace(MACHINE, cpu="Another"))
    with pytest.raises(ValueError, match=r"machine.*cpu: A made-up CPU here, Another there"):
        compare(BENCH, elsewhere, 0.1)
    longer = replace(BENCH, rows=tuple(replace(item, count=2048) for item in ROWS))
    with pytest.raises(ValueError, match="shares no row"):
        compare(BENCH, longer, 0.1)
    newer = replace(BENCH, machine=replace(MACHINE, versions={"numpy": "2.1"}))
    assert "numpy was 2.0, and is 2.1" in compare(newer, BENCH, 0.1).remarks
    part = replace(BENCH, rows=ROWS[:1])
    assert "4 times are in the old result only" in compare(part, BENCH, 0.1).remarks


def test_the_command_compares_and_says_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[dict[str, Any]] = []

    def timed(functions: Any, argument: dict[str, Any]) -> Bench:
        requests.append({"functions": [function.name for function in functions], **argument})
        return BENCH

    monkeypatch.setattr(cli, "_timed", timed)
    monkeypatch.setattr("softgate.runtime.machine.this_machine", lambda: MACHINE)
    old = tmp_path / "old.json"
    quick = replace(BENCH, rows=tuple(_slowed(item, "gelu", "torch", 0.5) for item in ROWS))
    for then, code in ((BENCH, 0), (quick, 1)):
        old.write_text(then.to_json(), encoding="utf-8")
        result = run("bench", "--baseline", str(old))
        assert result.return_value == code
        assert ("Failed: gelu in torch" in result.output) == bool(code)
        assert "ratio" in result.output
    assert requests[0]["functions"] == ["gelu"]
    assert requests[0]["size"] == ("1K",)
    assert run("bench", "--baseline", str(old), "--tolerance", "2").return_value == 0
    as_json = json.loads(run("bench", "--baseline", str(old), "--json").stdout)
    assert as_json["schema"] == "softgate.bench.comparison"


def test_the_command_refuses_another_machine_before_it_times_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(functions: Any, argument: dict[str, Any]) -> Bench:
        raise AssertionError("it was run")

    monkeypatch.setattr(cli, "_timed", timed)
    old = tmp_path / "old.json"
    old.write_text(BENCH.to_json(), encoding="utf-8")
    assert "another machine" in str(run("bench", "--baseline", str(old)).exception)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(commands, arguments, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gelo",), "gelu"),
        (("--json", "--csv"), "exclude each other"),
        (("--tolerance", "-1"), "from 0 on"),
        (("--baseline", "no-such-file.json"), "no-such-file"),
        (("gelu", "--quantity", "backward", "-o", "x.svg"), "the chart shows the value"),
        (("--layer", "-o", "x.svg"), "x.svg has the format .svg: expected .html, .json or .csv"),
        (("gelu", "--size", "0"), "at least 1"),
        (("gelu", "--budget", "inf"), "seconds above 0"),
    ],
)
def test_the_command_refuses_mistakes(arguments: tuple[str, ...], says: str) -> None:
    error = run("bench", *arguments).exception
    assert error is not None
    assert says in (getattr(error, "message", None) or str(error))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"schema": "softgate.names", "version": 1}', "expected softgate.bench"),
        ("[" * 200_000, "nested too deeply"),
        ('{"schema": "softgate.bench", "version": 1, "rows": NaN}', "NaN is not JSON"),
    ],
    ids=["names", "deep", "nan"],
)
def test_a_file_that_is_no_bench_is_refused(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content, encoding="utf-8")
    error = run("bench", "--baseline", str(file)).exception
    assert all(text in error.message for text in (says, "bench --json"))


@pytest.mark.parametrize(
    ("cpu", "architecture", "features", "processor"),
    [
        ("AMD EPYC", "znver3", ("avx", "avx2", "fma"), "AMD EPYC, Zen 3, AVX2"),
        ("AMD EPYC 9B14", "znver4", ("avx", "avx2", "avx512f"), "AMD EPYC 9B14, Zen 4, AVX-512"),
        ("Apple M1", "apple-m1", ("neon",), "Apple M1, NEON"),
        ("unknown", "a-new-one", (), "unknown, a-new-one"),
    ],
)
def test_a_machine_names_its_architecture_and_vectors(
    cpu: str, architecture: str, features: tuple[str, ...], processor: str
) -> None:
    machine = replace(MACHINE, cpu=cpu, architecture=architecture, features=features)
    assert machine.processor == processor
    assert str(machine).startswith(f"{processor}, 2 cores")


def test_this_machine_is_known(tmp_path: Path) -> None:
    here = this_machine()
    assert here.cpu
    assert here.versions["numpy"]
    assert here.differs(here) == ()
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n", encoding="utf-8")
    assert caches(tmp_path) == {"L1": 48 << 10, "L2": 2 << 20}
