"""Calls that compiled code serves in place of `__call__`, and what it leaves to Python."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.cli import doctor
from softgate.lower import native
from softgate.runtime import vectorcall
from softgate.runtime.activation import METHOD, Activation, without_compiled_calls

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
SLOTS = "_value", "fast_path_types", "fast_path"


def frames(function: Callable[..., Any], *operands: Any) -> list[str]:
    """Return the names of the Python functions that a call runs."""
    names = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*operands)
    finally:
        sys.setprofile(before)
    return names


@pytest.fixture
def elu() -> Activation:
    """Return a function of its own, with its ufunc."""
    function = Activation(sg.elu.entry)
    function(X)
    return function


def test_it_is_in_use_here() -> None:
    sg.gelu(X)
    assert without_compiled_calls() == ""
    assert vectorcall._vectorcall(METHOD) != vectorcall._vectorcall(frames)  # type: ignore[arg-type]
    assert Activation.__call__ is METHOD


@pytest.mark.parametrize(
    ("x", "compiled"),
    [
        (X, True), (X.T, True), (X[:1], True), (X[2:2], True), (np.array(2.0), True),
        (np.arange(3), True), (np.array([True]), True), (X.astype(">f4"), True),
        (X[:, ::2], False), (X[0, ::-1], False), (X.view(np.recarray), False),
        (np.ma.masked_less(X, 0), False), (np.float32(1), False), (1.5, False), ([1.0], False),
    ],
)  # fmt: skip
def test_results_are_those_of_the_code(x: Any, compiled: bool, elu: Activation) -> None:
    result, expected = elu(x), elu._compute("value", (x,), None, None, {})
    assert type(result) is type(expected)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    assert ("__call__" not in frames(elu, x)) == compiled


def test_other_calls_run_the_code(elu: Activation) -> None:
    def runs_code(**keywords: Any) -> bool:
        return "__call__" in frames(lambda: elu(X, **keywords))

    assert not runs_code()
    assert runs_code(alpha=0.5)
    assert runs_code(out=np.empty_like(X))
    assert runs_code(where=X > 0, out=np.empty_like(X))
    for operands in ((X,), (X, X)):
        sg.swiglu(*operands)
        assert "__call__" in frames(sg.swiglu, *operands)
    for operands in ((), (X, X, X)):
        with pytest.raises(TypeError, match=f"elu was called with {len(operands)} operands"):
            elu(*operands)


def test_errors_name_what_was_given(elu: Activation) -> None:
    for x in (np.array("text"), np.zeros(2, complex), np.array([object()])):
        with pytest.raises(TypeError, match=r"x has dtype .*: expected float16"):
            elu(x)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, MemoryError, TypeError])
def test_exceptions_in_the_ufunc(kind: type[BaseException], elu: Activation) -> None:
    def fail(_: Any) -> Any:
        raise kind("broken")

    made, elu._value = elu._value, np.frompyfunc(fail, 1, 1)
    if kind is TypeError:  # by other ways the same call succeeds
        assert np.array_equal(elu(X), made(X))
    else:
        with pytest.raises(kind, match="broken"):
            elu(X)


def test_subclasses(elu: Activation) -> None:
    class Doubled(Activation):
        def __call__(self, *operands: Any, **keywords: Any) -> Any:
            return 2 * super().__call__(*operands, **keywords)

    class Plain(Activation):
        pass

    assert np.array_equal(Doubled(sg.elu.entry)(X), 2 * elu(X))
    assert np.array_equal(Plain(sg.elu.entry)(X), elu(X))


def test_a_patch_is_called_and_then_compiled_code_again(elu: Activation) -> None:
    expected = elu(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Activation, "__call__", lambda self, *operands: ("patched", *operands))
        assert elu(X)[0] == "patched"
        patch.setattr(Activation, "__call__", lambda self, *operands: METHOD(self, *operands) + 1)
        assert np.array_equal(elu(X), expected + 1)
    assert frames(elu, X) == []


def test_objects_that_are_no_functions(elu: Activation) -> None:
    bare = Activation.__new__(Activation)
    for self in (bare, SimpleNamespace(), None, 3):
        with pytest.raises(AttributeError):
            Activation.__call__(self, X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'self'"):
        Activation.__call__()  # type: ignore[call-arg]
    del elu._value
    with pytest.raises(AttributeError):
        elu(X)


def test_the_method_stays_a_python_function(elu: Activation) -> None:
    assert type(Activation.__call__) is FunctionType
    parameters = inspect.signature(Activation.__call__).parameters
    assert list(parameters) == ["self", "operands", "out", "arithmetic", "keywords"]
    assert "Return the value" in (Activation.__call__.__doc__ or "")
    assert copy.copy(elu) is copy.deepcopy(elu) is elu
    assert pickle.loads(pickle.dumps(sg.elu)) is sg.elu
    assert np.array_equal(elu.__call__(X), elu(X))
    assert np.array_equal(next(map(elu, [X])), elu(X))


def test_a_million_calls_keep_references_and_memory(elu: Activation) -> None:
    x, text = np.ones(8, np.float32), np.array("text")
    objects = (x, text, x.dtype, elu, elu._value, np.ndarray, Activation, METHOD, TypeError, None)

    def failing() -> None:
        with suppress(TypeError):
            elu(text)

    for _ in range(1000):
        elu(x), failing()
    gc.collect()
    before, blocks = [sys.getrefcount(y) for y in objects], sys.getallocatedblocks()
    for _ in range(1_000_000):
        elu(x)
    for _ in range(1000):
        failing()
    gc.collect()
    after = [sys.getrefcount(y) for y in objects]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True))
    assert abs(sys.getallocatedblocks() - blocks) < 1000


def test_the_ufunc_may_be_replaced_while_threads_call(elu: Activation) -> None:
    made, expected, wrong, done = elu.ufunc, elu(X), [], threading.Event()

    def call() -> None:
        while not done.is_set():
            if not np.array_equal(elu(X), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        elu._value = None
        elu._value = made
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


# A class of its own, on which installation fails.


def fresh() -> type:
    """Return a class whose method compiled code may serve."""

    class Callee:
        __slots__ = SLOTS

        def __call__(self, *operands: Any) -> Any:
            return "code"

    return Callee


def install(kind: type) -> str:
    return vectorcall.install(kind.__call__, kind, SLOTS)


def instance_of(kind: type) -> Any:
    instance = kind()
    instance._value, instance.fast_path_types, instance.fast_path = np.negative, (int,), str
    return instance


def test_tensors_are_passed_to_the_fast_path() -> None:
    kind = fresh()
    assert install(kind) == ""
    callee = instance_of(kind)
    assert callee(3) == "3"
    assert np.array_equal(callee(X), -X)
    assert callee(True) == callee(3.0) == callee(3, 3) == callee() == callee(None) == "code"
    callee.fast_path_types = (float, int)
    assert (callee(3), callee(3.0)) == ("3", "3.0")
    for types, function in ((None, str), ((), str), ((int,), None)):
        callee.fast_path_types, callee.fast_path = types, function
        assert callee(3) == "code"
    callee.fast_path = lambda x: 1 / x
    with pytest.raises(ZeroDivisionError):
        callee(0)


def wrong_constants(**changes: int) -> Callable[..., Any]:
    compile_call_method = native.compile_call_method
    return lambda constants, code: compile_call_method({**constants, **changes}, code)


@pytest.mark.parametrize(
    ("owner", "name", "value", "reason"),
    [
        (vectorcall, "HEAD", 32, "expected CPython of 64 bits"),
        (sys, "implementation", SimpleNamespace(name="pypy"), "expected CPython of 64 bits"),
        (vectorcall, "FLAGS", vectorcall.FLAGS - 8, "arrays have their flags at another place"),
        (vectorcall, "_word", lambda owner, place: 0, "a field of Callee objects is at 0 places"),
        (vectorcall, "_set_vectorcall", lambda f, address: None, "remains as it was"),
        (native, "compile_call_method", wrong_constants(NONE=id(np.negative)), "other results"),
        (native, "compile_call_method", wrong_constants(FUNCTIONS=id(int)), "other results"),
        (native, "compile_call_method", wrong_constants(ARRAYS=id(int)), "other results"),
    ],
)
def test_what_differs_leaves_the_code(
    owner: Any, name: str, value: Any, reason: str, monkeypatch: Any
) -> None:
    kind = fresh()
    before = vectorcall._vectorcall(kind.__call__)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, value)
        found = install(kind)
    assert reason in found
    assert "\n" not in found
    assert vectorcall._vectorcall(kind.__call__) == before
    assert instance_of(kind)(X) == instance_of(kind)(3) == "code"


def test_types_at_another_place(monkeypatch: Any) -> None:
    word = vectorcall._word
    moved = lambda owner, place: word(owner, place) + (place == vectorcall.HEAD - 8)  # noqa: E731
    monkeypatch.setattr(vectorcall, "_word", moved)
    assert install(fresh()) == "objects have their type at another place"


def test_functions_that_pythons_interface_lacks(monkeypatch: Any) -> None:
    class Interface:
        def __init__(self, missing: str) -> None:
            self.missing = missing

        def __getattr__(self, name: str) -> Any:
            if name == self.missing:
                raise AttributeError(f"undefined symbol: {name}")
            return getattr(ctypes.pythonapi, name)

    for missing in ("PyTuple_GetItem", "PyObject_Vectorcall"):
        with monkeypatch.context() as patch:
            patch.setattr(native, "ctypes", SimpleNamespace(pythonapi=Interface(missing)))
            assert install(fresh()) == f"undefined symbol: {missing}"


def test_a_word_that_an_object_has_at_several_places() -> None:
    kind = fresh()
    instance = kind()
    instance._value = instance.fast_path = str
    with pytest.raises(vectorcall.Unknown, match="a field of Callee objects is at 2 places"):
        vectorcall._place(instance, id(str))
    with pytest.raises(vectorcall.Unknown, match="a field of function objects is at 0 places"):
        vectorcall._place(fresh().__call__, id(instance))


def test_a_class_without_slots() -> None:
    class Dynamic:
        def __call__(self, *operands: Any) -> Any:
            return "code"

    assert install(Dynamic) == "a field of Dynamic objects is at 0 places"


def test_doctor_says_why(monkeypatch: Any, capsys: Any) -> None:
    from softgate.runtime import activation
    from softgate.studies import reproducibility
    from softgate.studies.reproducibility import DigestComparison, Reproduction

    same = DigestComparison("gelu", "value", "float32", "0" * 32, "0" * 32)
    record = Reproduction("a CPU", (same,))
    monkeypatch.setattr(reproducibility, "check_bits", lambda **options: record)
    monkeypatch.setattr(doctor, "PRIVATE", ())  # importing frameworks takes long
    for why, lines in (("", 0), ("undefined symbol: PyVectorcall_Function", 1)):
        monkeypatch.setattr(activation, "without_compiled_calls", lambda why=why: why)
        doctor.command.main([], standalone_mode=False)
        output = " ".join(capsys.readouterr().out.split())
        assert output.count("calls take about 0.5 µs longer than they could") == lines
        assert why in output
