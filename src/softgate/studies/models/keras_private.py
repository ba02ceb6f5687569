"""Private names of Keras, and what replaces them; see `softgate.frameworks.capability`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from softgate.frameworks.capability import Changed, capability


def walk(model: Any, /) -> list[Any]:
    """Return the layers of a model, with those that layers have as attributes."""
    layers: dict[int, Any] = {}

    def add(owner: Any) -> None:
        parts = owner.layers if isinstance(owner, keras.Model) else list(vars(owner).values())
        for part in keras.tree.flatten(parts):
            if isinstance(part, keras.layers.Layer) and id(part) not in layers:
                layers[id(part)] = part
                add(part)

    add(model)
    return list(layers.values())


@capability(
    "keras",
    "keras.layers.Layer._flatten_layers",
    cost="layers are found by their attributes",
    otherwise=walk,
)
def all_layers(flatten_layers: Callable[..., Any]) -> Callable[[Any], list[Any]]:
    """Return a function that returns the layers of a model, with those inside them."""

    def listed(model: Any) -> list[Any]:
        return list(flatten_layers(model, include_self=False, recursive=True))

    # Named: Keras counts the layers that are not, and users' later ones would get other names.
    relu, tanh = (keras.layers.Activation(name, name=name) for name in ("relu", "tanh"))
    inner = keras.Sequential([keras.layers.TimeDistributed(relu, name="each")], name="inner")
    names = {layer.name for layer in listed(keras.Sequential([inner, tanh], name="outer"))}
    if names != {"inner", "each", "relu", "tanh"}:
        raise Changed(f"it finds {', '.join(sorted(names))} in a model of inner, each, relu, tanh")
    return listed


NO_BACKEND: Any = None


@capability(
    "keras",
    "keras.src.backend",
    cost="`scan` does not count the operators that Keras models call",
    otherwise=NO_BACKEND,
)
def backend(module: Any) -> Any:
    """Return the module whose functions layers and `keras.ops` call."""
    for part, name in (("nn", "relu"), ("numpy", "tanh"), ("math", "erf")):
        functions = getattr(module, part)
        original, called = getattr(functions, name), list[Any]()

        def observed(x: Any, called: list[Any] = called, original: Any = original) -> Any:
            called.append(x)
            return original(x)

        setattr(functions, name, observed)
        try:
            getattr(keras.ops, name)(keras.ops.zeros(1))
        finally:
            setattr(functions, name, original)
        if not called:
            raise Changed(f"keras.ops.{name} does not call its {part}.{name}")
    return module
