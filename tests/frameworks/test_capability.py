"""A private name is looked up once; one that is missing or differs is replaced, and named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from softgate.frameworks import capability
from softgate.frameworks.capability import CAPABILITIES, Changed


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Yield the names of a framework, to be filled, and forget its capabilities afterwards."""
    framework = SimpleNamespace(__version__="1.2")
    monkeypatch.setitem(capability.sys.modules, "nosuch", framework)
    yield framework.__dict__
    CAPABILITIES.pop("nosuch", None)


def doubling(builds: list[int]) -> capability.Capability[Callable[[int], int]]:
    """Define a capability whose check requires that nosuch._double doubles."""

    @capability.capability("nosuch", "nosuch._double", cost="sums", otherwise=lambda x: x + x)
    def double(found: Callable[[int], int]) -> Callable[[int], int]:
        builds.append(1)
        if found(1) != 2:
            raise Changed("1 is not doubled")
        return found

    return double


def test_a_name_is_looked_up_and_checked_once(names: dict[str, Any]) -> None:
    names["_double"] = found = lambda x: 2 * x
    builds: list[int] = []
    double = doubling(builds)
    assert (double.get(), double.get(), double.reason) == (found, found, "")
    assert len(builds) == 1
    assert CAPABILITIES["nosuch"] == {"double": double}
    assert capability.missing("nosuch") == []
    assert str(double) == "nosuch._double: in use"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "there is no nosuch._double"),
        (lambda x: x, "1 is not doubled"),
        (lambda x: 1 // 0, "ZeroDivisionError: integer division or modulo by zero"),
    ],
    ids=["missing", "changed", "raises"],
)
def test_a_missing_or_changed_name_is_replaced(found: Any, why: str, names: dict[str, Any]) -> None:
    if found is not None:
        names["_double"] = found
    double = doubling([])
    assert double.get()(4) == 8
    assert capability.missing("nosuch") == [double]
    assert str(double) == f"nosuch._double of nosuch 1.2 cannot be used ({why}): sums"


def test_an_interrupted_lookup_is_repeated(names: dict[str, Any]) -> None:
    def interrupted(x: int) -> int:
        raise KeyboardInterrupt

    names["_double"] = interrupted
    double = doubling([])
    with pytest.raises(KeyboardInterrupt):
        double.get()
    names["_double"] = found = lambda x: 2 * x
    assert double.get() is found


def test_warnings_raised_as_errors_do_not_disable_it(names: dict[str, Any]) -> None:
    def deprecated(x: int) -> int:
        warnings.warn("use another", DeprecationWarning, stacklevel=1)
        return 2 * x

    names["_double"] = deprecated
    assert doubling([]).reason == ""


def test_modules_are_imported_on_the_way() -> None:
    from os import path

    assert capability.find("os.path.join") is path.join
    assert capability.find("xml.dom.minidom.Node").__name__ == "Node"
    with pytest.raises(Changed, match=r"there is no xml\.dom\.nosuch"):
        capability.find("xml.dom.nosuch.name")
