"""One grammar: a function, a model and data are written alike in every command and Python call."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import softgate as sg
from softgate import cli
from softgate.cli.arguments import FunctionParamType
from softgate.runtime.registry import label
from softgate.studies.compare.trial_functions import trial_name
from softgate.studies.subjects import (
    InvalidSubjectError,
    describe,
    open_session,
    resolved,
    user_code,
)

CODE = """
import numpy as np
import softgate as sg


@sg.activation
def bent(f, x, a=2.0):
    return f.sqrt(x * x + a) + x


def soft(x):
    return x / (1 + abs(x))


def odd(x):
    return np.sin(3 * x)


def two(x, y):
    return x + y
"""

SPELLINGS = {
    "gelu": "gelu",
    "elu:alpha=0.5": "elu:alpha=0.5",
    "gelu_new": "gelu_tanh",
    "swish": "silu",
    "Hardswish": "hard_swish",
    "softgate:gelu": "gelu",
    "softgate.elu:alpha=0.5": "elu:alpha=0.5",
    "torch.nn.functional.gelu": "gelu",
    "torch.nn.functional:gelu": "gelu",
    "torch.nn.functional.gelu:approximate=tanh": "gelu_tanh",
    "torch.nn.LeakyReLU:negative_slope=0.2": "leaky_relu:slope=0.2",
    "jax.nn:gelu": "gelu_tanh",
    "tf.nn.leaky_relu": "leaky_relu:slope=0.2",
    'transformers.activations.ACT2FN["gelu_new"]': "gelu_tanh",
    "com.microsoft.FastGelu": "gelu_tanh",
    "{module}:bent": "bent",
    "{module}.bent": "bent",
    "{module}.py:bent": "bent",
    "./{module}.py:bent:a=3": "bent:a=3.0",
}
"""Texts, and the function that each means."""

REFUSED: dict[str, tuple[list[str], str]] = {
    "bench": (["{}", "--tolerance", "-1"], "--tolerance"),
    "compare": (["{}", "--baseline", "{}", "--no-store", "--store", "x"], "--no-store and --store"),
    "diagnose": (["nowhere", "--data", "x.npz", "--what-if", "{}", "--limit", "0"], "--limit 0"),
    "certify": (["gelu", "--reference", "{}", "--max-ulp", "0"], "--max-ulp 0"),
    "report": (["--formula", "{}", "--budget", "0"], "--budget 0"),
    "swap": (["model.onnx", "--from", "a", "--from", "b", "--to", "{}"], "2 --from and 1 --to"),
}
"""Commands that take long: arguments of which only the last is refused, after the function."""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a module in the current folder."""
    name = f"grammar_code_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def run(command: str, *arguments: str) -> Any:
    return CliRunner().invoke(cli.softgate, [command, *arguments], standalone_mode=False)


def test_every_spelling_means_the_same_function_everywhere(module: str) -> None:
    for spelling, meant in SPELLINGS.items():
        text = spelling.format(module=module)
        assert label(resolved.activation(text)) == meant, text
        result = run("emit", text, "--language", "js", "--quantity", "value")
        assert result.exception is None, result.exception
        assert f"export function {meant.partition(':')[0]}(" in result.stdout
        for command, (arguments, refused) in REFUSED.items():
            result = run(command, *(argument.format(text) for argument in arguments))
            assert isinstance(result.exception, click.UsageError), (command, text)
            assert result.exception.format_message().startswith(refused), (command, text)


@pytest.mark.parametrize("text", ["elu:alpha=0.5", "{module}:bent"])
def test_commands_that_draw_and_study(module: str, text: str) -> None:
    text = text.format(module=module)
    meant = label(resolved.activation(text))
    for arguments in (["plot", text, "--width", "60"], ["properties", text]):
        result = run(*arguments)
        assert result.exception is None, result.exception
        assert meant in result.stdout
    assert trial_name(text)[0].startswith(meant.partition(":")[0])


def test_names_of_what_code_computes(module: str) -> None:
    computed = [record for record in sg.names() if record.function == "softsign"]
    assert list(sg.names(name=f"{module}.py:soft")) == computed
    assert "jax.nn.soft_sign" in run("names", f"{module}:soft").stdout
    assert "jax.nn.elu" in run("names", "elu:alpha=0.5").stdout
    assert [r.path for r in sg.names(name="torch.nn.functional:gelu")] == [
        "torch.nn.functional.gelu"
    ]
    assert {r.function for r in sg.names("jax", name=np.tanh)} == {"tanh"}
    result = run("names", f"{module}:bent")
    assert "bent has no name in any framework" in str(result.exception)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gleu", "did you mean 'glu' .* or 'gelu'"),
        ("elu:alpha", "write elu:parameter=value"),
        ("elu:alpha=1,alpha=2", "gives 'alpha' twice"),
        ("elu:alpha=x", "alpha = 'x' is a str: expected a real number"),
        ("elu:beta=1", "elu has no parameter 'beta'"),
        ("{module}:nosuch", "has no 'nosuch'"),
        ("{module}.py", r"write grammar_code_\d+\.py:function"),
        ("{module}.py:", r"write grammar_code_\d+\.py:function"),
        ("nosuch.py:f", "there is no file 'nosuch.py'"),
        ("nosuchmodule:f", "there is no module 'nosuchmodule'"),
        ("nosuchmodule.f", "unknown name 'nosuchmodule.f'"),
        ("a-b:f", "expected a name .*, module:function or file.py:function"),
        ("{module}:odd", "computes no function of the catalogue .*@softgate.activation"),
        ("{module}:soft", "code without a formula: its values are those of softsign"),
        ("{module}.py:soft", "code without a formula: its values are those of softsign"),
        ("numpy:tanh", "code without a formula: its values are those of tanh"),
        ("{module}:two", "is not a function of one array .*@softgate.activation"),
        ("torch.nn.functional.softmax", "softgate does not have it"),
        ("swiglu", "takes two arrays"),
    ],
)
def test_wrong_functions(module: str, text: str, message: str) -> None:
    text = text.format(module=module)
    with pytest.raises((ValueError, TypeError), match=message):
        resolved.activation(text)
    for command in ("emit", "properties"):
        result = run(command, text)
        assert isinstance(result.exception, click.UsageError), command
        assert result.exception.exit_code == 2
    with pytest.raises(TypeError, match="3 is an int: expected a callable, or a name"):
        sg.table(3)  # type: ignore[arg-type]


def test_callables_modules_and_classes() -> None:
    torch = pytest.importorskip("torch")
    objects = {
        "gelu": [sg.gelu, torch.nn.functional.gelu, torch.nn.GELU, torch.nn.GELU(), "gelu"],
        "gelu_tanh": [torch.nn.GELU(approximate="tanh"), "jax.nn.gelu"],
        "relu": [lambda x: np.maximum(x, 0), torch.relu, torch.nn.Sequential(torch.nn.ReLU())],
    }
    for name, spelled in objects.items():
        meant = [resolved.activation(one, by_values=True).name for one in spelled]
        assert meant == [name] * len(spelled)
        assert [sg.identify(one).function for one in spelled] == [name] * len(spelled)
    assert sg.properties(torch.nn.ReLU)[0].function == "relu"
    assert sg.emit(torch.nn.GELU, "c") == sg.emit("gelu", "c")
    assert trial_name(torch.nn.GELU()) == ("gelu", None)
    reference = sg.certify("relu", torch.nn.ReLU, dtype="float16", quantity="value")
    assert reference.function == "relu"


def test_functions_under_test_are_the_code_itself(module: str) -> None:
    expected = {
        "gelu": ("softgate", "softgate:gelu"),
        "gelu_new": ("softgate", "softgate:gelu_tanh"),
        "softgate:elu:alpha=0.5": ("softgate", "softgate:elu:alpha=0.5"),
        "torch.nn.functional.gelu": ("python", "torch.nn.functional:gelu"),
        "torch.nn.functional:gelu:approximate=tanh":
            ("python", "torch.nn.functional:gelu (approximate='tanh')"),
        "tf.nn.gelu": ("python", "tensorflow.nn:gelu"),
        "numpy.tanh": ("python", "numpy:tanh"),
        'transformers.activations.ACT2FN["gelu_new"]':
            ("python", 'transformers.activations:ACT2FN["gelu_new"]'),
        f"{module}:soft": ("python", f"{module}:soft"),
        f"{module}.py:soft": ("python", f"{module}.py:soft"),
    }  # fmt: skip
    for text, (kind, shown) in expected.items():
        subject = describe(text)
        assert (subject.kind, subject.shown) == (kind, shown)
    file = describe(f"{module}.py:soft")
    assert file.fingerprint == describe(f"{module}:soft").fingerprint != ""
    x = np.array([-1.0, 3.0], np.float32)
    with open_session(file, isolated=False) as session:
        assert session.evaluate("value", x).tolist() == [-0.5, 0.75]
    with pytest.raises(InvalidSubjectError, match="gives 'alpha' twice"):
        describe("elu:alpha=0.5", {"alpha": 1.0})


def test_code_runs_on_the_arrays_of_the_framework_that_it_imports(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    for name, code, framework in (
        ("a", "import torch\ndef f(x):\n    return torch.relu(x)", "torch"),
        ("b", "def f(x):\n    import jax\n    return jax.nn.relu(x)", "jax"),
        ("c", "from torch.nn.functional import relu\nclass f:\n    def __call__(self, x):\n"
              "        return relu(x)", "torch"),
        ("d", "import torch\ndef f(x):\n    return x * (x > 0)", "numpy"),
        ("e", "import torch\ndef f(x):\n    raise KeyError('x')", "torch"),
    ):  # fmt: skip
        file = tmp_path / f"imports_{name}_{abs(hash(str(tmp_path)))}.py"
        file.write_text(code)
        with open_session(describe(f"{file}:f"), isolated=False) as session:
            assert session.information.framework == framework, code
        sys.modules.pop(file.stem, None)
        sys.path.remove(str(tmp_path))


def test_torch_code_in_a_file_is_identified_in_a_worker(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "in_worker.py"
    file.write_text("import torch\ndef f(x):\n    return torch.nn.functional.gelu(x)")
    result = run("identify", f"{file}:f")
    assert result.exception is None, result.exception
    assert "in_worker.py:f in float32: gelu" in " ".join(result.stdout.split())
    assert "in_worker" not in sys.modules


def test_a_file_shadows_no_module(module: str, tmp_path: Path) -> None:
    """`json.py` beside the code of a user is not imported in place of Python's."""
    (tmp_path / "json.py").write_text(CODE)
    bent = resolved.activation(f"{module}:bent")
    assert sys.path[-1] == str(tmp_path)
    shadowed = resolved.activation("json.py:bent")
    assert shadowed.entry.formula == bent.entry.formula
    import json

    assert json.loads("1") == 1
    # Other processes, those of `bench` for example, import it by its path.
    packed = pickle.dumps(shadowed)
    del sys.modules[shadowed.__module__]
    assert pickle.loads(packed).entry.formula == bent.entry.formula
    assert json.loads("1") == 1
    (tmp_path / "html.py").write_text("raise ImportError('shadowed')")
    done = subprocess.run(
        [sys.executable, "-m", "softgate", "table", f"{module}:bent", "--at", "1"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "bent" in done.stdout


@pytest.mark.parametrize(
    ("name", "meant"),
    [("swish", "silu"), ("GELU", "gelu"), ("LeakyReLU", "leaky_relu"),
     ("quick_gelu", "gelu_sigmoid"), ("gleu", "glu or softgate.gelu"), ("certfy", "certify")],
)  # fmt: skip
def test_a_missing_attribute_suggests_what_it_means(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=rf"no '{name}'; did you mean softgate\.{meant}\?"):
        getattr(sg, name)


def test_an_unlike_attribute_has_no_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"no 'zzzz'; softgate\.activations\(\) lists all"):
        _ = sg.zzzz  # type: ignore[attr-defined]


CODE_OPTIONS = {
    "names": {"names"},
    "identify": {"subject"},
    "certify": {"subject", "slope"},
    "compare": {"script", "model"},
    "diagnose": {"only"},
}
"""Parameters with a FUNCTION that the study itself resolves."""


@pytest.mark.parametrize("name", [n for n in cli.COMMANDS if n not in ("completion", "doctor")])
def test_help_texts_call_functions_by_one_word(name: str) -> None:
    command = cli.softgate.get_command(click.Context(cli.softgate), name)
    assert command is not None
    context = click.Context(command)
    for parameter in command.params:
        is_function = isinstance(parameter.type, FunctionParamType)
        is_function |= parameter.name in CODE_OPTIONS.get(name, ())
        shown = parameter.make_metavar(context) if click_takes_context() else (
            parameter.make_metavar()  # type: ignore[call-arg]
        )  # fmt: skip
        assert ("FUNCTION" in shown) == is_function, parameter.name
    if name not in ("scan", "parity"):  # they take models, and no function
        assert "A FUNCTION is" in (command.epilog or "")


def click_takes_context() -> bool:
    import inspect

    return "ctx" in inspect.signature(click.Parameter.make_metavar).parameters


MODELS = """
import numpy as np
import torch
from torch import nn


def build(activation):
    return nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 2))


class Network(nn.Module):
    def __init__(self, activation=None):
        super().__init__()
        self.layers = build(activation or nn.GELU())

    def forward(self, x):
        return self.layers(x)


network = Network()


def data():
    x = np.random.default_rng(0).normal(size=(50, 4))
    return x, x[:, 0] > 0


def batches():
    return [torch.ones(20, 4), torch.zeros(20, 4)]


def batch():
    return torch.ones(40, 4)


def run(activation, seed, report):
    report(0, 1.0)
    return seed


def broken():
    raise KeyError("no data")
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a module of models and data in the current folder, beside xy.npz."""
    pytest.importorskip("torch")
    name = f"grammar_models_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODELS)
    x = np.random.default_rng(0).normal(size=(50, 4))
    np.savez(tmp_path / "xy.npz", x=x, y=x[:, 0] > 0)
    np.savez(tmp_path / "parts.npz", train_x=x, train_y=x[:, 0] > 0, test_x=x, test_y=x[:, 0] > 0)
    np.savez(tmp_path / "other.npz", x=x, z=x)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def test_models_and_batches(models: str) -> None:
    from softgate.reporting.sections.units import load_user_model
    from softgate.torch import diagnose, what_if

    code = user_code.import_source(models)
    expected = diagnose(code.network, code.batches(), gradients=False)
    forms = [f"{models}:network", f"{models}.py:Network", f"{models}.Network", code.Network]
    data_forms = [f"{models}:batches", f"{models}.py:batch", code.batches, [code.batch()]]
    for model, data in zip(forms, data_forms, strict=True):
        found = diagnose(model, data, gradients=False)
        assert found.sites[0].function == expected.sites[0].function == "gelu"
        assert found.sites[0].inputs == 40
    effect = what_if(f"{models}:Network", code.batches, "torch.nn.ReLU", only="torch.nn.GELU")
    assert (effect.replacement, effect.sites[0].before) == ("relu", "gelu")
    user_model = load_user_model(f"{models}.py:Network", f"{models}:batches")
    assert user_model is not None
    assert (len(user_model.batches), user_model.data) == (2, f"{models}:batches")
    for model, data, message in (
        (3, [], "the model is an int"),
        ("nowhere", [], "neither a folder nor a function"),
        (f"{models}:batches", [], "returned a list: expected a torch.nn.Module"),
        (f"{models}:network", 3, "data is an int"),
        (f"{models}:network", "none.npz", "there is no file none.npz"),
        (f"{models}:network", f"{models}:broken", "returned no batches: KeyError"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            diagnose(model, data)


def test_models_and_data_of_compare(models: str) -> None:
    pytest.importorskip("sklearn")
    from softgate.studies.compare.request import find_trainable
    from softgate.studies.compare.scripts import UserTrainingLoop

    code = user_code.import_source(models)
    expected = find_trainable(code.build, code.data())
    for what in (f"{models}:build", f"{models}.py:build", code.build):
        assert find_trainable(what, "xy.npz").fingerprint == expected.fingerprint
    for data in (f"{models}:data", f"{models}.py:data", code.data):
        assert find_trainable(code.build, data).fingerprint == expected.fingerprint
    network: Any = find_trainable(f"{models}.py:Network", "parts.npz")
    assert network.examples.sizes == "30 for training, 20 for validation, 50 for testing"
    scripts = [find_trainable(text) for text in (f"{models}:run", f"{models}.py:run")]
    assert all(isinstance(script, UserTrainingLoop) for script in scripts)
    assert scripts[0].fingerprint == scripts[1].fingerprint
    for what, data, message in (
        (f"{models}:build", None, "no data: compare"),
        (f"{models}:build", "none.npz", "there is no file none.npz"),
        (f"{models}:build", "other.npz", "has x, z: expected x and y, or train_x"),
        (f"{models}:run", "xy.npz", "a script reads its data itself"),
        (f"{models}:nosuch", "xy.npz", "defines no function 'nosuch'; it has: build, data"),
        ("nosuchmodule:build", "xy.npz", "there is no module 'nosuchmodule'"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            find_trainable(what, data)
    for option, name, message in (
        ("--script", "build", "expected a function run"),
        ("--model", "run", "expected a function build"),
    ):
        result = run("compare", "gelu", "relu", option, f"{models}:{name}", "--dry-run")
        assert message in str(result.exception)


def test_a_model_in_a_file_with_a_taken_name_is_sent_by_value(models: str, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    from softgate.studies.compare.execution.run_trial import pack, unpack
    from softgate.studies.compare.request import find_trainable

    (tmp_path / "json.py").write_text(MODELS)
    trainable = find_trainable("json.py:build", "xy.npz")
    packed = pack(trainable)
    name = next(n for n in sys.modules if n.startswith(user_code.PRIVATE))
    del sys.modules[name]  # as in another process
    assert unpack(packed).fingerprint == trainable.fingerprint
