"""The command line: quick help, data on stdout, exit codes, no traceback, completion."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import softgate as sg
from softgate import cli
from softgate.cli import doctor


def softgate(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, piped."""
    return subprocess.run(
        [sys.executable, "-m", "softgate", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=dict(os.environ) | {"PYTHONIOENCODING": "utf-8"} | environment,
        timeout=600,
        check=False,
    )


RunHere = Callable[..., subprocess.CompletedProcess[str]]


def test_help_names_every_command_and_loads_next_to_nothing() -> None:
    script = (
        "import sys; from softgate.cli import softgate;"
        "softgate(['--help'], standalone_mode=False);"
        "heavy = {'numpy', 'rich', 'flint', 'llvmlite'};"
        "print(*sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert result.stderr.split() == []
    assert all(f"  {name} " in result.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_has_help(name: str, run_here: RunHere) -> None:
    result = run_here(name, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: softgate {name}")


def test_no_arguments_show_the_help() -> None:
    result = softgate()
    assert result.returncode in (0, 2)
    assert "Commands:" in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tabel",), "Did you mean 'table'"),
        (("table", "gleu"), "gelu"),
        (("table", "--wat"), "--wat"),
        (("plot", "gelu", "-o", "x.bmp"), "bmp"),
        (("plot", "gelu", "-o", "no/such/folder/x.png"), "no/such/folder"),
        (("properties", "elu:beta=2"), "beta"),
        (("properties", "elu:alpha=x"), "alpha = 'x'"),
        (("properties", "json:dumps"), "softgate.activation"),
        (("properties", "nosuchmodule:f"), "nosuchmodule"),
        (("names", "gleu"), "gelu"),
        (("completion", "tcsh"), "tcsh"),
        (("identify",), "FUNCTION"),
        (("emit", "gelu", "--language", "cobol"), "cobol"),
    ],
    ids=" ".join,
)
def test_mistakes_exit_with_2_and_no_traceback(
    arguments: tuple[str, ...], message: str, run_here: RunHere
) -> None:
    result = run_here(*arguments)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_a_process_of_its_own_does_the_same(run_here: RunHere) -> None:
    for arguments in (("table", "gleu"), ("names", "--help")):
        alone, here = softgate(*arguments), run_here(*arguments)
        assert alone.returncode == here.returncode
        assert (alone.stdout, alone.stderr) == (here.stdout, here.stderr)


def test_debug_shows_the_traceback() -> None:
    result = softgate("--debug", "plot", "gelu", "-o", "no/such/folder/x.png")
    assert "Traceback" in result.stderr


def test_data_is_plain_when_piped() -> None:
    for arguments in (("table", "gelu"), ("properties", "relu"), ("names", "selu")):
        result = softgate(*arguments, FORCE_COLOR="")
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        assert "\x1b" not in result.stdout


def test_a_closed_pipe_is_no_error() -> None:
    # More output than a pipe holds, 64 KiB on Linux.
    command = f'"{sys.executable}" -m softgate table gelu --at -3:3:0.003 | head -n 1'
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert result.stderr == ""


def test_ones_own_formula_by_module_and_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import softgate as sg\n\n@sg.activation\ndef bent(f, x, a=0.5):\n"
        "    return a * x * f.sigmoid(x)\n",
        encoding="utf-8",
    )
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "table", "mine:bent", "--at", "0,1", "--json"],
        capture_output=True, text=True, cwd=tmp_path, timeout=600, check=True,
    )  # fmt: skip
    rows = json.loads(result.stdout)["rows"]
    value = next(r["value"] for r in rows if r["x"] == 1 and r["quantity"] == "value")
    assert float(value) == pytest.approx(0.36552928931500245)


def test_doctor_compares_each_dtype_of_every_function(tmp_path: Path, run_here: RunHere) -> None:
    files = [tmp_path / f"doctor.{kind}" for kind in ("json", "csv", "html")]
    result = run_here("doctor", "--json", *(word for file in files for word in ("-o", str(file))))
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert content == json.loads(texts[0])
    assert texts[1].startswith("item,finding\nsoftgate,")
    assert "<td>" in texts[2]
    assert all("reproduces the published bits" in text for text in texts[1:])
    assert content["reproducibility"]["ok"]
    comparisons = content["reproducibility"]["comparisons"]
    assert all(one["computed"] == one["published"] for one in comparisons)
    values = {one["dtype"] for one in comparisons if one["quantity"] == "value"}
    assert values == {"float16", "bfloat16", "float32", "float64"}
    assert {one["function"] for one in comparisons} == {*sg.activations(), *sg.gated()}
    assert content["packages"]["numpy"]
    assert content["machine"]["threads"] >= 1


def test_doctor_lists_every_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.records.packages import PACKAGES
    from softgate.runtime import machine
    from softgate.studies import reproducibility
    from softgate.studies.reproducibility import DigestComparison, Reproduction

    same = Reproduction(
        "a CPU", (DigestComparison("gelu", "value", "float32", "0" * 32, "0" * 32),)
    )
    monkeypatch.setattr(reproducibility, "check_bits", lambda **options: same)
    monkeypatch.setattr(machine, "installed", lambda name: None)
    lines = {line.split()[0]: line for line in run_doctor(monkeypatch, terminal=False)}
    for package in PACKAGES.values():
        extra = package.distribution if package.extra is None else f"softgate[{package.extra}]"
        assert lines[package.distribution].endswith(f'not installed: pip install "{extra}"')


@pytest.mark.parametrize("columns", [60, 100])
def test_doctor_fits_into_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.studies import reproducibility
    from softgate.studies.reproducibility import DigestComparison, Reproduction

    quantities = ("value", "slope", "curvature", "backward")
    formats = ("float16", "bfloat16", "float32", "float64", "float32 in float64")
    digest = "0" * 32
    comparisons = [
        DigestComparison(
            "gelu", quantity, dtype, digest, "1" * 32 if dtype == "float16" else digest
        )
        for dtype in formats
        for quantity in quantities[: 3 if dtype == "bfloat16" else 4]
    ]
    record = Reproduction("a CPU", tuple(comparisons))
    monkeypatch.setattr(reproducibility, "check_bits", lambda **options: record)
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = run_doctor(monkeypatch, terminal=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run_doctor(monkeypatch, terminal=True)
    assert not [line for line in piped if "\x1b" in line]
    assert max(map(len, shown)) <= columns
    assert " ".join(" ".join(shown).split()) == " ".join(" ".join(piped).split())
    assert sum(line.endswith(f"published {'1' * 32}") for line in piped) == len(quantities)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('noise'); print('[3, []]')", [("internals", "JAX: 3 of 3 capabilities in use")]),
        (
            "print('[3, [\"jax._f: slow\"]]')",
            [("internals", "JAX: 2 of 3 capabilities in use"), ("", "  jax._f: slow")],
        ),
        ("print('[0, []]')", []),
        ("1 / 0", [("internals", "JAX: not examined: ZeroDivisionError")]),
        ("import os; os._exit(3)", [("internals", "JAX: not examined: exit code 3")]),
    ],
    ids=["used", "missing", "none", "raises", "dies"],
)
def test_doctor_counts_private_names(code: str, expected: list[tuple[str, str]]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    rows = list(doctor._of_private("jax", process))
    assert [name for name, _ in rows] == [name for name, _ in expected]
    assert all(text.startswith(start) for (_, text), (_, start) in zip(rows, expected, strict=True))


def run_doctor(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> list[str]:
    """Return the lines that `softgate doctor --full` prints to a terminal or a pipe."""

    class Output(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    output = Output()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        patch.setattr(doctor, "PRIVATE", ())  # importing frameworks takes long
        doctor.command.main(["--full"], standalone_mode=False)
    return output.getvalue().splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = softgate("completion", shell)
    assert (result.returncode, result.stderr) == (0, "")
    assert "_SOFTGATE_COMPLETE" in result.stdout


@pytest.mark.parametrize(
    ("words", "index", "offered"),
    [("softgate pr", "1", "properties"), ("softgate table gelu_t", "2", "gelu_tanh")],
)
def test_completion_offers_commands_and_activations(words: str, index: str, offered: str) -> None:
    result = softgate(_SOFTGATE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=index)
    assert f"plain,{offered}" in result.stdout


def test_completion_without_its_variables_is_one_line(
    run_here: RunHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_SOFTGATE_COMPLETE", "bash_complete")
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    result = run_here("table", "gelu")
    assert result.returncode == 2
    assert result.stderr.startswith("Error: _SOFTGATE_COMPLETE is set without COMP_WORDS: unset it")
    monkeypatch.setenv("COMP_WORDS", "softgate")
    monkeypatch.setenv("COMP_CWORD", "x")
    assert run_here("table", "gelu").returncode == 2


def test_a_users_module_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "table", "boom:f"],
        capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    assert "boom.py, line 2: ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_closed_stdout_is_reported() -> None:
    command = f'"{sys.executable}" -m softgate table gelu >&-'
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False
    )
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
    assert "closed" in result.stderr


def test_an_interrupt_behind_an_import_error_is_an_interrupt() -> None:
    error = ImportError("half loaded")
    assert not cli.interrupted(error)
    error.__context__ = RuntimeError("on the way")
    error.__context__.__cause__ = KeyboardInterrupt()
    assert cli.interrupted(error)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_in_an_encoding_without_the_signs(encoding: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "compare", "--tasks"],
        capture_output=True, timeout=600, check=False,
        env=dict(os.environ) | {"PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
    assert ("8x8 pixels" if encoding == "ascii" else "8×8 pixels") in result.stdout.decode(encoding)


def test_json_is_escaped_in_an_encoding_without_the_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.cli.output import echo_json

    for encoding in ("ascii", "utf-8"):
        output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", output)
        echo_json({"name": "φ ≥ 1"})
        output.flush()
        text = output.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
        assert json.loads(text) == {"name": "φ ≥ 1"}
        assert ("\\u03c6" in text) == (encoding == "ascii")


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "gelu", "silu", "mish", "--columns", "value,slope,curvature"),
        ("properties", "gelu", "silu", "mish", "relu", "tanh", "elu"),
        ("names",),
        ("compare", "--tasks"),
        ("plot", "gelu", "relu"),
    ],
)
def test_text_fits_into_80_columns(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(cli.softgate, arguments, standalone_mode=False)
    assert result.exception is None
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_help_fits_into_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(cli.softgate, [name, "--help"])
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []


def test_long_paths_are_wrapped_to_the_window() -> None:
    from softgate.cli.output import fits_wrapped, wrapped
    from softgate.records.record import Grid

    path = "model/encoder.layer.0.intermediate.intermediate_act_fn/elementwise_function_1"
    grid = Grid("", ("path", "function", "operators"), ((path, "elu(alpha=0.5)", "Mul, " * 12),),
                text=True)  # fmt: skip
    assert fits_wrapped(grid, 60)
    narrow = wrapped(grid, 60)
    assert max(map(len, str(narrow).splitlines())) <= 60
    assert "".join(narrow.rows[0][0].split()) == path
    assert "layer.0." in narrow.rows[0][0]
    assert narrow.rows[0][1] == "elu(alpha=0.5)"


@pytest.mark.parametrize("budget", ["inf", "1e999", "nan", "-1", "0", "-inf"])
def test_a_budget_is_a_number_of_seconds(budget: str, run_here: RunHere, tmp_path: Path) -> None:
    result = run_here("report", "--budget", budget, "-o", str(tmp_path / "page.html"))
    assert (result.returncode, result.stdout) == (2, "")
    assert str(float(budget)) in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folder of a process")
@pytest.mark.parametrize("words", [("table", "gelu"), ("plot", "gelu", "-o", "x.svg"), ("doctor",)])
def test_a_deleted_working_folder_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import os, sys; os.rmdir(os.getcwd()); from softgate.__main__ import main;"
        f"sys.argv = ['softgate', *{words!r}]; main()"
    )
    (tmp_path / "deleted").mkdir()
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=False, cwd=tmp_path / "deleted",
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, "")
    assert "folder" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["re", "typing", "enum", "json", "html", "click", "numpy"])
def test_python_m_imports_no_module_of_the_working_folder(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("raise ImportError('shadowed')")
    for words in (["table", "gelu", "--at", "1"], ["table", "code.py:f", "--at", "1"]):
        (tmp_path / "code.py").write_text("import softgate as sg\nf = sg.gelu\n")
        result = subprocess.run(
            [sys.executable, "-m", "softgate", *words],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (result.returncode, result.stderr) == (0, "")
        assert "0.8413" in result.stdout
