"""Subjects in processes of their own: peers, ONNX, C, and what misbehaves there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certifying import without_threads_check

import softgate as sg
from softgate.studies.certify.record import Certificate
from softgate.studies.subjects import (
    InvalidSubjectError,
    Subject,
    SubjectFailure,
    describe,
    open_session,
)

X = np.array([-2.0, -0.5, 0.0, 3.0], np.float32)


def peer(subject: Any, function: str, **how: Any) -> Certificate:
    usual = {"dtype": "float32", "quantity": "value", "samples": 20_000}
    return sg.certify(subject, function, **(usual | how))


@pytest.fixture(scope="module")
def torch_gelu() -> Certificate:
    """torch's gelu without oneDNN's kernel for AVX-512, which overflows from 1.7e38 on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
        return peer("torch.nn.functional:gelu", "gelu", quantity="value,slope,curvature")


@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_the_lost_tail_of_torchs_gelu_is_found(torch_gelu: Certificate, quantity: str) -> None:
    measurement = torch_gelu.find(quantity, "float32")
    tail = {region.name: region for region in measurement.regions}["left tail"]
    assert measurement.worst is tail
    assert tail.max_ulp > 1e6
    assert tail.lost > 500
    assert tail.worst < -5
    assert any("left tail" in line for line in torch_gelu.failures(4.0))


def reports_overflow(certificate: Certificate) -> bool:
    """Return whether a certificate reports inf for a large number, and NaN at inf."""
    lines = certificate.failures(4.0)
    large = any("right tail: inf ulp" in line and "(inf for " in line for line in lines)
    assert large == any("f(inf) is nan" in line for line in lines)
    return large


def test_an_overflow_is_reported() -> None:
    """A stand-in for oneDNN's gelu with AVX-512, on every CPU."""
    import torch

    def overflowing(x: Any) -> Any:
        y = torch.where(x > 1.7014e38, torch.inf, sg.gelu(x))
        return torch.where(x.isposinf(), torch.nan, y)

    here = {"framework": "torch", "isolated": False, "samples": 4_000}
    assert reports_overflow(peer(overflowing, "gelu", **here))
    assert not reports_overflow(peer(sg.gelu, "gelu", **here))


def test_torchs_gelu_is_reported_to_overflow_where_it_does() -> None:
    """As on CPUs with AVX-512; the process that is measured has the same CPU and settings."""
    import torch

    overflows = torch.nn.functional.gelu(torch.full((1024,), 1.8e38)).isinf()
    assert bool(overflows.all()) == bool(overflows.any())
    certificate = peer("torch.nn.functional:gelu", "gelu", samples=2_000)
    assert reports_overflow(certificate) == bool(overflows.any())


def test_torch_is_named_with_its_version(torch_gelu: Certificate) -> None:
    assert torch_gelu.versions["torch"] == metadata.version("torch")
    assert torch_gelu.findings == ()
    assert torch_gelu.find("curvature", "float32").total("not_numbers") >= 0
    assert "torch.nn.functional:gelu measured as gelu" in str(torch_gelu)


def test_the_tail_of_jaxs_exact_gelu_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    without_threads_check(monkeypatch)
    result = peer("jax.nn:gelu", "gelu", parameters={"approximate": False}, samples=5_000)
    measurement = result.find("value", "float32")
    regions = {region.name: region for region in measurement.regions}
    assert regions["left tail"].max_ulp > 50
    assert regions["subnormal results"].flushed > 0
    assert not result.findings
    assert any("left tail" in line for line in result.failures(4.0))


def test_a_module_is_sent_to_its_process() -> None:
    import torch

    result = peer(torch.nn.GELU(approximate="tanh"), "gelu_tanh", dtype="bfloat16")
    assert result.find("value", "bfloat16").inputs == 65536
    assert result.framework == "torch"


def test_a_class_is_made_with_its_keywords() -> None:
    leaky = describe("torch.nn:LeakyReLU", {"negative_slope": 0.5})
    with open_session(leaky, isolated=False) as session:
        assert session.evaluate("value", X).tolist() == [-1.0, -0.25, 0.0, 3.0]
        assert session.evaluate("slope", X)[[0, 3]].tolist() == [0.5, 1.0]
        assert session.information.quantities == ("value", "slope", "curvature")


@pytest.mark.parametrize("names", [("X",), ("N", 4), (3,)], ids=["free", "rows", "fixed"])
def test_an_onnx_file(tmp_path: Path, names: tuple[Any, ...]) -> None:
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Gelu", ["x"], ["y"], approximate="none")
    argument, result = (helper.make_tensor_value_info(n, TensorProto.FLOAT, names) for n in "xy")
    graph = helper.make_graph([node], "gelu", [argument], [result])
    opset = [helper.make_opsetid("", 20)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=10)
    onnx.save(model, tmp_path / "gelu.onnx")
    x = np.linspace(-3, 3, 41).astype(np.float32)
    with open_session(describe(str(tmp_path / "gelu.onnx"))) as session:
        assert session.information.dtypes == ("float32",)
        assert np.allclose(session.evaluate("value", x), sg.gelu(x), 1e-4, 1e-7)
        assert session.evaluate("value", x[:0]).size == 0
        assert session.information.lengths == (names != (3,))


def test_a_fixed_length_is_not_said_to_be_tested(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (500,)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    opset = [helper.make_opsetid("", 20)]
    file = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), file)
    result = peer(str(file), "relu", samples=2000)
    outcomes = {d.on: (d.outcome, d.detail) for d in result.find("value", "float32").dependences}
    assert (
        outcomes["length"]
        == outcomes["empty array"]
        == ("not tested", "the model has a fixed length")
    )
    assert outcomes["place"][0] == "same bits"
    if sg.get_threads() > 1:  # in a second process
        assert outcomes["thread count"] == ("same bits", "")


SOURCE = r"""
#include <math.h>
#include <stddef.h>
#define LOOP(name, first, last, result) \
    void name(const float *x, float *y, size_t n) \
    { for (size_t i = first; i < n + last; i++) y[i] = result; }
LOOP(half_f32, 0, 0, x[i] / 2)
LOOP(slope_f32, 0, 0, 0.5f)
LOOP(beyond_f32, 0, 1, 1.0f)
LOOP(lazy_f32, 1, 0, x[i] / 2)
void half_f64(const double *x, double *y, size_t n)
    { for (size_t i = 0; i < n; i++) y[i] = x[i] / 2; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("library")
    (folder / "half.c").write_text(SOURCE)
    target = folder / "libhalf.so"
    command = [compiler, "-O2", "-shared", "-fPIC", str(folder / "half.c"), "-o", str(target)]
    subprocess.run(command, check=True)
    return str(target)


def test_a_c_symbol_and_its_slope(library: str) -> None:
    half = sg.leaky_relu.bind(slope=0.5)
    certificate = sg.certify(
        f"{library}:half_f32", half, slope=f"{library}:slope_f32", samples=2000
    )
    assert [(item.dtype, item.quantity) for item in certificate] == [
        ("float32", "value"),
        ("float32", "slope"),
    ]
    errors = {
        region.name: region.max_ulp for region in certificate.find("value", "float32").regions
    }
    assert errors["left tail"] == errors["negative"] == 0
    assert errors["right tail"] > 1e6  # x/2 is no leaky relu there
    assert any("curvature" in line for line in certificate.untested)


def test_identify_reads_the_type_of_a_c_function_from_its_name(library: str) -> None:
    identification = sg.identify(f"{library}:half_f64", isolated=True)
    assert (identification.dtype, identification.function, identification.scale) == (
        "float64",
        "identity",
        0.5,
    )
    with pytest.raises(InvalidSubjectError, match="give the format"):
        sg.identify(f"{library}:half", isolated=True)


def test_a_c_function_that_writes_too_much_or_too_little(library: str) -> None:
    with (
        open_session(describe(f"{library}:beyond_f32")) as session,
        pytest.raises(SubjectFailure, match="wrote beyond"),
    ):
        session.evaluate("value", X)
    with open_session(describe(f"{library}:lazy_f32")) as session:
        assert np.isnan(session.evaluate("value", X)).tolist() == [True, False, False, False]


def test_mistakes_in_naming_a_subject(library: str, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_text("no model")
    for text, message in (
        (f"{library}:nosuch_f32", "has no symbol 'nosuch_f32'"),
        (str(tmp_path / "bad.onnx"), "is not a model"),
        (str(tmp_path / "none.onnx"), "there is no file"),
        ("faulty:nosuch", "faulty has no 'nosuch'"),
        ("nosuchmodule:f", "there is no module 'nosuchmodule'"),
        ("faulty:LOW", "expected a callable"),
        ("softgate:gleu", "did you mean 'glu' .* or 'gelu'"),
        ("gleu", "did you mean 'glu' .* or 'gelu'"),
        ("a-b:f", "can't interpret 'a-b:f'"),
        ("swiglu", "takes two arrays"),
        ("ai.onnx.Gelu", "is an operator of ONNX"),
    ):
        with pytest.raises(InvalidSubjectError, match=message), open_session(describe(text)):
            pass
    with pytest.raises(InvalidSubjectError, match="give the format"):
        sg.certify(f"{library}:half_f32".replace("half_f32", "half"), "gelu")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("crash", "crashed"),
        ("hang", "hung"),
        ("other_shape", "wrong shape"),
        ("other_dtype", "wrong dtype"),
        ("changes_its_input", "changed its input"),
        ("no_array", "wrong result"),
    ],
)
def test_misbehaviour_is_a_finding(name: str, kind: str) -> None:
    result = peer(f"faulty:{name}", "gelu", time_limit=5.0 if name == "hang" else 600.0)
    assert [finding.kind for finding in result.findings] == [kind]
    assert result.measurements == ()
    assert len(result.failures()) == 1
    assert kind in str(result)


def test_a_crash_on_some_inputs_is_a_finding_and_the_rest_is_not_tested() -> None:
    result = peer("faulty:crash_far_out", "gelu", samples=2000)
    assert [finding.kind for finding in result.findings] == ["crashed"]
    assert "SIGSEGV" in result.findings[0].message or "exit code" in result.findings[0].message
    assert result.untested == ("float32 value: crashed before all was measured",)


def test_a_child_is_started_again_after_a_crash() -> None:
    far = np.array([200.0], np.float32)
    with open_session(describe("faulty:crash_far_out")) as session:
        for _ in range(2):
            with pytest.raises(SubjectFailure, match="crashed"):
                session.evaluate("value", far)
        assert np.array_equal(session.evaluate("value", X), sg.gelu(X))


@pytest.mark.parametrize("limit", [np.inf, 1e300])
def test_no_time_limit(limit: float) -> None:
    with open_session(describe("faulty:right"), time_limit=limit) as session:
        assert np.array_equal(session.evaluate("value", X), sg.gelu(X))


def test_what_a_subject_prints_is_no_answer() -> None:
    with open_session(describe("faulty:prints")) as session:
        assert np.array_equal(session.evaluate("value", X), sg.gelu(X))


def test_arrays_longer_than_the_shared_memory() -> None:
    x = np.linspace(-20, 20, (1 << 20) + 5).astype(np.float64)
    with open_session(describe("faulty:right")) as session:
        assert np.array_equal(session.evaluate("value", x), sg.gelu(x))
        assert np.array_equal(session.evaluate("value", x[:99], step=3, offset=1), sg.gelu(x[:99]))


def test_a_function_that_takes_other_arrays_is_a_mistake_until_it_is_said() -> None:
    with pytest.raises(InvalidSubjectError, match="could not be called"):
        sg.certify("faulty:wants_tensors", "relu", samples=2000)
    tensors = describe("faulty:wants_tensors", framework="torch")
    with open_session(tensors, isolated=False) as session:
        assert session.evaluate("value", X).tolist() == [0.0, 0.0, 0.0, 3.0]


def test_what_cannot_be_sent_is_said() -> None:
    with pytest.raises(InvalidSubjectError, match="isolated=False"):
        sg.certify(lambda x: x, "gelu")
    result = peer(partial(np.multiply, np.float32(1)), "identity", isolated=False, samples=2000)
    assert result.find("value", "float32").max_ulp == 0


def inside(folder: Path, text: str) -> Subject:
    """A subject whose module lies in a folder."""
    plain = describe(text)
    return replace(plain, path=(*plain.path, str(folder)))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import os\nos._exit(7)\n", "cannot be loaded: crashed: exit code 7"),
        ("import time\ntime.sleep(1000)\n", "hung: its loading.* 2 s.*--time-limit"),
        ("\ndef f(x):\n    return x +\n", r"broken.py, line 3: SyntaxError: invalid syntax$"),
        ("\nraise OSError('one\\ntwo')\n", r"broken.py, line 2: OSError: one$"),
        ("class f:\n    def __init__(self):\n        1/0\n", "made: ZeroDivisionError: division"),
        ("def f():\n    return 3\n", "makes an int: expected a callable"),
    ],
    ids=["dies", "hangs", "syntax", "raises", "class", "factory"],
)
def test_what_fails_while_it_is_loaded_is_said_in_one_line(
    tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "broken.py").write_text(source)
    with pytest.raises(InvalidSubjectError, match=message) as raised:
        open_session(inside(tmp_path, "broken:f"), time_limit=2.0 if "sleep" in source else 600.0)
    assert "\n" not in str(raised.value)


def test_modules_of_ones_own_are_made_and_handed_their_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\n\n\nclass Half(torch.nn.Module):\n"
        "    def forward(self, x):\n        return x / 2\n\n\n"
        "def make(layers=1):\n    return torch.nn.Sequential(*[Half() for _ in range(layers)])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, isolated in (("Half", True), ("make", False)):
        with open_session(inside(tmp_path, f"mine:{name}"), isolated=isolated) as session:
            assert session.information.framework == "torch"
            assert session.evaluate("slope", X).tolist() == [0.5] * 4
    monkeypatch.delitem(sys.modules, "mine")


def test_the_name_of_a_module_is_one_line() -> None:
    import torch

    small = describe(torch.nn.Sequential(torch.nn.GELU(), torch.nn.Identity())).text
    assert small == "Sequential( (0): GELU(approximate='none') (1): Identity() )"
    many = describe(torch.nn.Sequential(*[torch.nn.GELU() for _ in range(99)])).text
    assert len(many) == 160
    assert many.endswith("…")


def test_a_slope_of_ones_own_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text("def slope(x):\n    return x * 0 + 1\n")
    monkeypatch.chdir(tmp_path)
    certificate = sg.certify(sg.identity, slope="own:slope", dtype="float32", samples=2000)
    assert [item.quantity for item in certificate] == ["value", "slope", "curvature"]
    assert certificate.find("slope", "float32").max_ulp == 0


def test_junk_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "junk.onnx").write_text("junk")
    for text in ("junk.onnx", "junk.onnx:node"):
        with pytest.raises(InvalidSubjectError, match=r"not an? .*model"):
            open_session(describe(f"{tmp_path}/{text}"), isolated=False)


def test_an_onnx_model_without_elements_is_a_mistake(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [0, 3]) for name in "xy"]
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "empty", ends[:1], ends[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
         tmp_path / "empty.onnx")  # fmt: skip
    with pytest.raises(InvalidSubjectError, match=r"shape \[0, 3\]: expected sizes above 0"):
        open_session(describe(f"{tmp_path}/empty.onnx"), isolated=False)


def test_a_state_belongs_to_the_code_it_was_made_with(tmp_path: Path) -> None:
    """Under the same name a rebuilt library is another subject."""
    library = tmp_path / "lib.so"
    library.write_bytes(b"first")
    before = describe(f"{library}:gelu_f32").fingerprint
    library.write_bytes(b"second")
    assert describe(f"{library}:gelu_f32").fingerprint != before
    assert describe("numpy:tanh").fingerprint == describe("numpy:sinh").fingerprint != ""


def test_what_gives_the_slope_is_named_and_told_apart(tmp_path: Path) -> None:
    (library := tmp_path / "lib.so").write_bytes(b"first")
    name = f"{library}:slope_f32"
    assert describe("numpy:tanh", slope=name).shown == f"numpy:tanh, slope {name}"
    before = describe("numpy:tanh", slope=name).fingerprint
    library.write_bytes(b"second")
    after = describe("numpy:tanh", slope=name).fingerprint
    assert len({before, after, describe("numpy:tanh").fingerprint}) == 3


def test_a_state_is_named_without_an_import(tmp_path: Path) -> None:
    """A package above a module runs code of its own, which may crash."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise SystemExit\n")
    (tmp_path / "package" / "part.py").write_text("def f(x): return x\n")
    before = inside(tmp_path, "package.part:f").fingerprint
    (tmp_path / "package" / "part.py").write_text("def f(x): return -x\n")
    assert "" != before != inside(tmp_path, "package.part:f").fingerprint
    assert inside(tmp_path, "package.none:f").fingerprint == ""
