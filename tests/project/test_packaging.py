"""What an installation promises (version, types, dependencies, extras) and CONTRIBUTING shows."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata, resources
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any

import checks
import numpy as np
import pytest
from places import ROOT

import softgate
from softgate.formula.formats import FLOAT16, FLOAT32, FLOAT64, FORMATS
from softgate.runtime.activation import Activation

DEPENDENCIES = {"click", "llvmlite", "ml-dtypes", "numpy", "python-flint", "rich"}
EXTRAS = {
    "torch", "jax", "keras", "onnx", "ray", "plot", "tensorflow", "triton", "test", "docs",
    "test-core", "all", "compare", "report",
}  # fmt: skip


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    """Return what is required, by the normalised names of the packages."""
    result = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in result if match}


def test_the_version_is_one(project: dict[str, Any]) -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert softgate.__version__ == project["version"] == metadata.version("softgate")
    assert f"\nversion: {softgate.__version__}\n" in citation


def test_the_package_is_typed() -> None:
    package = resources.files("softgate")
    assert package.joinpath("py.typed").is_file()
    assert package.joinpath("__init__.pyi").is_file()


def test_dependencies_are_few(project: dict[str, Any]) -> None:
    assert names(project["dependencies"]) == DEPENDENCIES
    assert all(">=" in requirement for requirement in project["dependencies"])


def test_extras_are_the_documented_ones(project: dict[str, Any]) -> None:
    assert set(project["optional-dependencies"]) == EXTRAS
    assert set(metadata.metadata("softgate").get_all("Provides-Extra") or ()) == EXTRAS


def test_all_means_every_extra_for_users(project: dict[str, Any]) -> None:
    (requirement,) = project["optional-dependencies"]["all"]
    apart = {
        "all",
        "docs",
        "test",
        "test-core",
        "triton",
    }  # Triton and TensorFlow abort in one process
    assert requirement == f"softgate[{','.join(sorted(EXTRAS - apart))}]"


def test_declared_pythons_are_those_of_the_support_table(project: dict[str, Any]) -> None:
    """A version is declared once tests have run in it."""
    declared = {line.rsplit(" ", 1)[-1] for line in project["classifiers"] if ":: 3." in line}
    runs = tomllib.loads((ROOT / "docs" / "support.toml").read_text(encoding="utf-8"))["run"]
    assert declared == {run["python"] for run in runs}


@pytest.fixture(scope="module")
def worked_example() -> ModuleType:
    """CONTRIBUTING's new activation, as if its file stood in the catalogue."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    spec = spec_from_loader("softgate.catalogue._contributing", loader=None)
    assert spec is not None
    module = module_from_spec(spec)
    module.__package__ = "softgate.catalogue"
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_the_worked_example_passes_the_checks(worked_example: ModuleType, quantity: str) -> None:
    """The very checks that `make test` would put it through."""
    activation = Activation(worked_example.entry)
    for fmt in (FLOAT32, FLOAT64):
        checks.check_against_arb(activation, quantity, fmt, 2500)
    checks.check_float32_sample(activation, quantity, 200_000)
    checks.check_rounded_once(activation, quantity, 500)
    checks.check_16bit(activation, quantity, FLOAT16)


@pytest.mark.parametrize("quantity", ["value", "slope", "curvature"])
def test_the_worked_example_keeps_its_limits(worked_example: ModuleType, quantity: str) -> None:
    activation = Activation(worked_example.entry)
    for fmt in FORMATS.values():
        checks.check_specials(activation, quantity, fmt)
    checks.check_same_bits(activation, quantity, np.float32)


def test_hosted_ci_runs_the_targets_and_pythons_of_the_project(project: dict[str, Any]) -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"run: make PYTHON=python (\w+)", workflow)
    assert set(targets) == {"check", "test", "docs"}
    assert all(re.search(f"(?m)^{target}:", makefile) for target in targets)
    (pythons,) = re.findall(r"python: \[(.*)\]", workflow)
    for version in re.findall(r"[\d.]+", pythons):
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]
