"""bench as users run it, at small sizes: every implementation that is installed, in its process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import softgate as sg
from softgate.runtime.registry import label
from softgate.studies.bench import plan
from softgate.studies.bench.record import Bench
from softgate.studies.subjects.peers import IMPLEMENTATIONS, Peer, absent, peers, subject

COUNT = "2K"
ELU, LEAKY = sg.elu.bind(alpha=0.5), sg.leaky_relu.bind(slope=0.3)
"""Functions with other parameters than the default, passed to peers by keywords of names.toml."""

CHOSEN = [
    sg.gelu,
    sg.gelu_tanh,
    *(a for a in list(sg.activations().values())[1::16] if a not in (sg.gelu, sg.gelu_tanh)),
    ELU,
    LEAKY,
]
"""Some of the functions; test_names compares what all frameworks compute for all of them."""

COMPILED = (
    "tensorflow.function", "tensorflow.xla", "softgate.jax", "softgate.torch", "softgate.tensorflow"
)  # fmt: skip
"""Implementations that take long to compile, tested for one function."""

HERE = tuple(name for name in IMPLEMENTATIONS if not absent(name) and name != "torch.compile")
"""Installed implementations; torch's compiler would take longer than all others."""


def some(activation: sg.Activation, names: tuple[str, ...]) -> dict[str, Peer]:
    """Return all peers of gelu, and those that are quick for other functions."""
    known = peers(activation, names)
    return {k: v for k, v in known.items() if k not in COMPILED or activation is sg.gelu}


def measure(chosen: list[sg.Activation]) -> Bench:
    """Return times of functions in every implementation that is installed, value and backward."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_peers", some)
        patch.setenv("KERAS_BACKEND", "jax")  # which is imported sooner than TensorFlow
        return sg.bench(chosen, peers=HERE, size=COUNT, budget=0.1)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return measure(CHOSEN)


@pytest.mark.exhaustive
def test_every_peer_of_every_function() -> None:
    assert wrong(measure([*sg.activations().values()])) == []


def wrong(bench: Bench) -> list[tuple[str, str, str]]:
    """Return the implementations that compute another function."""
    return [
        (row.function, row.implementation, note)
        for row in bench
        for note in row.notes
        if "differs from softgate" in note
    ]


def test_every_peer_computes_the_function_it_is_listed_under(bench: Bench) -> None:
    assert wrong(bench) == []


def test_every_function_is_timed_wherever_it_is_listed(bench: Bench) -> None:
    timed = {(row.function, row.implementation, row.quantity): row for row in bench}
    for activation in CHOSEN:
        for name in some(activation, HERE):
            for quantity in ("value", "backward"):
                if quantity == "backward" and not IMPLEMENTATIONS[name].backward:
                    continue
                row = timed[label(activation), name, quantity]
                assert row.least_ns or expected(row.error), row
    assert bench.find("gelu", quantity="value").first_call_ms > 0
    assert all(row.ratio_to_copy and row.ratio_to_copy > 0 for row in bench if row.least_ns)


def expected(error: str) -> bool:
    return error.startswith(("is given without its derivative", "returns its input unchanged"))


def test_the_record_survives_json(bench: Bench) -> None:
    assert Bench.from_json(bench.to_json()) == bench
    assert "function" in str(bench)


def test_other_formats_fresh_memory_and_the_mix_run_in_ours() -> None:
    dtypes = ("float64", "float16", "bfloat16")
    benchmark = sg.bench(
        "relu", peers="none", dtype=dtypes, inputs="mix", buffers="fresh", size="1K",
        threads="all", budget=0.1,
    )  # fmt: skip
    assert all(row.least_ns and not row.error for row in benchmark)
    assert {row.dtype for row in benchmark} == set(dtypes)


def test_keywords_make_a_peer_of_a_function_with_parameters() -> None:
    result = peers(sg.leaky_relu.bind(slope=0.3))
    assert result["tensorflow"].keywords == {"alpha": 0.3}
    assert result["keras"].keywords == {"negative_slope": 0.3}
    assert result["onnxruntime"].keywords == {"alpha": 0.3}
    assert "scipy" not in result  # its formula has the usual slope


def test_a_formula_of_ones_own_is_ours_alone() -> None:
    @sg.activation
    def bent(f: Any, x: Any) -> Any:
        return x * f.sigmoid(2 * x)

    assert list(peers(bent)) == ["softgate"]


def test_an_onnx_peer_is_a_model_for_certify(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="not installed")
    pytest.importorskip("onnxruntime", reason="not installed")
    file = subject(peers("gelu_tanh")["onnxruntime"], tmp_path)
    assert sg.identify(file).function == "gelu_tanh"


RAISES = "def value(x):\n    raise RuntimeError('I will not')\n"
DIES = "import os\n\ndef value(x):\n    os._exit(3)\n"
LATE = """
calls = 0

def value(x):
    global calls
    calls += 1
    if calls > 5:
        raise RuntimeError('enough')
    return x
"""


BAD = {
    "gelu": ("bad_raises", RAISES, "RuntimeError: I will not"),
    "silu": ("bad_late", LATE, "RuntimeError: enough"),
    "mish": ("bad_dies", DIES, "its process ended with status 3"),
}


def test_a_peer_that_fails_gets_a_row_that_says_so_and_the_rest_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy", reason="its process is what the bad peers run in")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module, source, _ in BAD.values():
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")

    def listed(activation: sg.Activation, names: tuple[str, ...]) -> dict[str, Peer]:
        usual = peers(activation, ("softgate",))
        if activation.name not in BAD:
            return usual
        module = BAD[activation.name][0]
        return usual | {"textbook": Peer(activation.name, "textbook", "bad", f"{module}:value")}

    monkeypatch.setattr(plan, "_peers", listed)
    benchmark = sg.bench(BAD, peers="textbook", quantity="value", size=COUNT, budget=0.2)
    for function, (_, _, says) in BAD.items():
        assert benchmark.find(function, "textbook").error == says
        assert benchmark.find(function).least_ns > 0
    assert benchmark.find("relu").least_ns > 0


START = """
import os, signal, sys
os.environ["COMMAND"] = str(os.getpid())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
sys.argv[0] = "softgate"
from softgate.cli import main
main()
"""


def program(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, "bench", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, encoding="utf-8",
    )  # fmt: skip


def test_ones_own_formula_from_the_command_line_as_json(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import softgate as sg\n\n@sg.activation\ndef bent(f, x, a=0.5):\n"
        "    return a * x * f.sigmoid(x)\n",
        encoding="utf-8",
    )
    with program(
        "mine:bent", "--peers", "none", "--size", "1K", "--quantity", "value", "--budget", "0.1",
        "--json", cwd=tmp_path,
    ) as process:  # fmt: skip
        out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    content = json.loads(out)
    rows = {row["function"]: row for row in content["rows"]}
    (mine,) = set(rows) - {"relu", "copy"}
    assert mine == "bent"
    assert rows[mine]["least_ns"] > 0
    assert not rows[mine]["error"]
    assert content["remarks"] == []  # no worker is idle between its turns
    assert "starting softgate" in err


INTERRUPTS = """
import os, signal, threading
import softgate as sg

@sg.activation
def bent(f, x):
    return x * f.sigmoid(x)

if os.environ["COMMAND"] == str(os.getppid()):  # in a worker
    with open("worker", "w") as file:
        file.write(str(os.getpid()))
    os.kill(os.getppid(), signal.SIGINT)
    threading.Event().wait()
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(INTERRUPTS, encoding="utf-8")
    with program("mine:bent", "--peers", "none", cwd=tmp_path) as process:
        _, err = process.communicate()
    assert process.returncode == 130
    assert err.rstrip().endswith("Interrupted.")
    assert "Traceback" not in err
    worker = (tmp_path / "worker").read_text(encoding="utf-8")
    assert not Path("/proc", worker).exists()
