"""Types of the public modules: the stubs are current, and checkers read them as users expect.

`typing/user_code.py` is checked with mypy and pyright, with mypy as if no framework were installed;
`typing/framework_code.py` with the types of PyTorch and JAX. Both are run, too, to compare the
declared types with those of the results.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import softgate as sg
from softgate.runtime.dispatch import UFUNC_OPTIONS

ROOT = Path(__file__).resolve().parents[2]
CODE = Path(__file__).with_name("typing")
FACADES = {"jax", "keras", "torch"}
MODULES = ("softgate", "softgate.jax", "softgate.torch", "softgate.torch.functional")
"""Not softgate.keras, which takes seconds to import: test_public_names has loaded it."""

WITHOUT_FRAMEWORKS = """
follow_imports = skip
[mypy-softgate,softgate.jax,softgate.keras.*,softgate.runtime.*,softgate.torch.*,numpy.*]
follow_imports = silent
"""
"""Every other import is `Any`, as that of a missing framework is."""

WITH_FRAMEWORKS = f"""
{WITHOUT_FRAMEWORKS}
[mypy-torch,torch._C.*,torch._tensor,torch.nn,torch.nn.modules.*,torch.nn.parameter]
follow_imports = silent
[mypy-jax,jax.numpy,jax._src.api,jax._src.basearray,jax._src.traceback_util,jax._src.typing]
follow_imports = silent
"""
"""Only the modules that define the types in question: mypy needs a minute for all of PyTorch."""


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    return load(ROOT / "tools" / "write_stubs.py")


@pytest.mark.parametrize(
    "name", ["function_types", "top_level", "jax", "keras", "torch", "functional"]
)
def test_the_stubs_are_current(writer: ModuleType, name: str) -> None:
    if name == "functional":
        pytest.importorskip("torch")
    stub = getattr(writer, name)()
    current = stub.path.exists() and stub.path.read_text(encoding="utf-8") == stub.text()
    assert current, f"{stub.path.relative_to(ROOT)} is not current: run `make stubs`"


def test_every_stub_is_tested(writer: ModuleType) -> None:
    written = {make().path for make in writer.STUBS if make.__name__ != "functional"}
    files = {p for p in (ROOT / "src").rglob("*.pyi") if p.name != "functional.pyi"}
    assert written == files


def declared(module: str) -> set[str]:
    """Return the public names that a stub declares."""
    path = ROOT.joinpath("src", *module.split("."))
    file = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names |= {a.asname for a in node.names if a.asname == a.name}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(ast.unparse(node.target))
    return {name for name in names if name is not None and not name.startswith("_")}


@pytest.mark.parametrize("module", MODULES)
def test_dir_shows_exactly_the_public_names(module: str) -> None:
    if module != "softgate":
        pytest.importorskip(module.split(".")[1])
    loaded = importlib.import_module(module)
    # dir(sg) leaves the facades out: help(sg) would import every framework
    facades = FACADES if module == "softgate" else set()
    assert set(dir(loaded)) == declared(module) - facades
    assert not [name for name in dir(loaded) if not hasattr(loaded, name)]


def test_the_stubs_show_formula_and_parameters() -> None:
    stub = (ROOT / "src" / "softgate" / "__init__.pyi").read_text(encoding="utf-8")
    shown = {n.name: n for n in ast.parse(stub).body if isinstance(n, ast.FunctionDef)}
    for name, function in {**sg.activations(), **sg.gated()}.items():
        documentation = ast.get_docstring(shown[name])
        assert documentation is not None, name
        assert function.entry.formula in documentation, name
        arguments = shown[name].args
        keywords = {
            option.arg: ast.literal_eval(default)
            for option, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        }
        options = {"axis", "out", "arithmetic", "gate", *UFUNC_OPTIONS}
        assert {k: v for k, v in keywords.items() if k not in options} == function.parameters, name


def expected(code: Path) -> list[int]:
    """Return the lines in which a type checker must report an error."""
    lines = code.read_text(encoding="utf-8").splitlines()
    return [i for i, line in enumerate(lines, 1) if line.endswith("  # error")]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    source = str(ROOT / "src")
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "MYPYPATH": source}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=environment,
    )


@pytest.mark.parametrize("name", ["user_code", "framework_code"])
def test_mypy_finds_the_mistakes_and_nothing_else(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    if name == "framework_code":
        pytest.importorskip("torch")
        pytest.importorskip("jax")
    sections = WITH_FRAMEWORKS if name == "framework_code" else WITHOUT_FRAMEWORKS
    cache = ROOT / ".mypy_cache" / "users"  # one for both, which share most of the modules
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        f"[mypy]\nstrict = true\nignore_missing_imports = true\ncache_dir = {cache}\n{sections}",
        encoding="utf-8",
    )
    code = CODE / f"{name}.py"
    result = run("mypy", "--config-file", str(settings), str(code))
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    places = [re.match(rf".*{name}\.py:(\d+): error:", line) for line in errors]
    assert result.stderr == ""
    assert sorted({int(p[1]) if p else 0 for p in places}) == expected(code), "\n".join(errors)


def test_pyright_finds_the_mistakes_and_nothing_else() -> None:
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed: pip install 'pyright[nodejs]'")
    frameworks = find_spec("torch") is not None and find_spec("jax") is not None
    names = ("user_code", "framework_code") if frameworks else ("user_code",)
    codes = [CODE / f"{name}.py" for name in names]
    result = run("pyright", "--pythonpath", sys.executable, "--outputjson", *map(str, codes))
    assert result.stdout.startswith("{"), result.stdout + result.stderr
    content = json.loads(result.stdout)["generalDiagnostics"]
    errors = [error for error in content if error["severity"] == "error"]
    for code in codes:
        here = [error for error in errors if Path(error["file"]) == code]
        lines = {error["range"]["start"]["line"] + 1 for error in here}
        messages = "\n".join(f"{e['range']}: {e['message']}" for e in here)
        assert sorted(lines) == expected(code), messages
    assert {Path(error["file"]) for error in errors} == set(codes)


def check_type(value: Any, declared: Any) -> Any:
    """Raise if a result is not of the type that the stubs declare: `assert_type` at run time."""
    origin = get_origin(declared) or declared
    if hasattr(origin, "__value__"):  # an alias by a `type` statement, as NumPy's NDArray may be
        return check_type(value, origin.__value__[get_args(declared)])
    if origin is not Any:
        assert isinstance(value, origin), f"{type(value)} is not {declared}"
    if origin is tuple:
        for part, kind in zip(value, get_args(declared), strict=True):
            check_type(part, kind)
    elif origin is np.ndarray:
        (scalar,) = get_args(get_args(declared)[1])
        assert scalar is Any or value.dtype == np.dtype(scalar), f"{value.dtype} is not {declared}"
    return value


def test_results_have_the_declared_types() -> None:
    code = load(CODE / "user_code.py")
    code.assert_type = check_type
    x = np.array([-1.0, 2.0], np.float32)
    code.numbers()
    code.arrays(x, x.astype(np.float64), np.array([1, 2]), x.reshape(1, 2))
    code.functions(x)


def test_a_wrong_type_is_noticed() -> None:
    check_type(sg.gelu(1.0), float)
    with pytest.raises(AssertionError):
        check_type(sg.gelu(np.float32(1.0)), float)
    with pytest.raises(AssertionError):
        check_type(sg.gelu([1.0]), np.ndarray[Any, np.dtype[np.float32]])
    with pytest.raises(AssertionError):
        check_type((1.0, 1), tuple[float, float])


def test_tensors_have_the_declared_types() -> None:
    torch = pytest.importorskip("torch")
    code = load(CODE / "framework_code.py")
    code.assert_type, code.torch = check_type, torch
    code.torch_tensors(torch.tensor([-1.0, 2.0]), torch.nn.Parameter(torch.tensor([1.0, 2.0])))


def test_jax_arrays_have_the_declared_types() -> None:
    jax = pytest.importorskip("jax")
    code = load(CODE / "framework_code.py")
    code.assert_type, code.jax, code.jnp = check_type, jax, jax.numpy
    code.jax_arrays(jax.numpy.array([-1.0, 2.0]))
