"""native.c: its LLVM IR is up to date, and its structures are those that Python fills."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from places import ROOT

from softgate.lower import native

SOURCE = (ROOT / "src" / "softgate" / "lower" / "native.c").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("compile_native", ROOT / "tools" / "compile_native.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_text_is_up_to_date(tool: ModuleType) -> None:
    assert f" sha256 {tool.digest()}," in tool.TEXT.read_text(encoding="utf-8").splitlines()[0]


def test_the_source_compiles_to_the_text(tool: ModuleType) -> None:
    """With the offsets of the installed jaxlib, and the same for both architectures."""
    known, written = tool.compilers(), tool.version_of_text()
    if not known:
        pytest.skip("clang is not installed")
    if tool.headers() is None:
        pytest.skip("jaxlib, whose header native.c includes, is not installed")
    text = tool.compiled(written if written in known else max(known))
    assert written not in known or text == tool.TEXT.read_text(encoding="utf-8")


def test_the_text_names_no_cpu(tool: ModuleType) -> None:
    text = tool.TEXT.read_text(encoding="utf-8")
    assert not re.search(r"(?m)^target |^attributes |^!|x86|aarch64", text)


def fields(structure: str) -> tuple[str, ...]:
    """The names of the fields of a structure in native.c."""
    body = re.findall(r"(?s)typedef struct \{([^{}]*)\} (\w+);", SOURCE)
    (text,) = (text for text, name in body if name == structure)
    text = re.sub(r"(?s)/\*.*?\*/", "", text)
    declared = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", text).split(";")
    lists = (re.sub(r"^\s*(const )?\w+ ", "", line.strip()) for line in declared if line.strip())
    return tuple(re.sub(r"[\s*]|\[.*\]", "", name) for line in lists for name in line.split(","))


def enumeration(first: str) -> tuple[str, ...]:
    (text,) = re.findall(rf"(?s)enum {{ ({first}\b.*?)}};", SOURCE)
    return tuple(name.strip().lower() for name in text.split(","))


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ("Chunks", native.CHUNK_FIELDS),
        ("Slot", native.SLOT_FIELDS),
        ("TfKernel", native.KERNEL_FIELDS),
        ("Data", native.DATA),
        ("Record", (*native.RECORD, "values")),
        ("Settings", native.SETTINGS),
    ],
)
def test_structures_are_those_that_python_fills(structure: str, expected: tuple[str, ...]) -> None:
    assert fields(structure) == expected


def test_numbers_are_those_of_python() -> None:
    assert enumeration("SHIFT") == ("shift", *native.FIELDS, "rows")
    assert (native.UNIFORM, native.VARYING, native.SHARE, native.DONE) == (0, 1, 2, 1)
    assert enumeration("UNIFORM")[:4] == ("uniform", "varying", "share", "done = 1")
    assert f"STUBS = {native.STUBS} }}" in SOURCE
    assert f"LINE = {native.LINE} }}" in SOURCE
    offsets = dict(re.findall(r"\bAPI\((\w+), (\d+)\)", SOURCE))
    assert {name: int(place) for name, place in offsets.items()} == native.API_FUNCTIONS


def test_foreign_functions_are_declared_once() -> None:
    errors = {"PyGILState_Ensure", "PyGILState_Release", "PyThreadState_SetAsyncExc"}
    errors |= {"PyThread_get_thread_ident", "PyErr_ExceptionMatches", "PyErr_Clear"}
    calls = {"PyObject_Vectorcall", "PyTuple_Size", "PyTuple_GetItem", "Py_IncRef", "Py_DecRef"}
    assert set(native.called("Py")) == errors | calls
    assert len(native.called("TF_")) == 18
