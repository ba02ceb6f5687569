"""Results of softgate in JAX under its transformations, compared with those of NumPy arrays.

As a program, `python jax_results.py MODULE.NAME…`, it removes names of JAX before softgate's
adapter is imported, and compares on two devices.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np

import softgate as sg

X = np.array([[-20.0, -2.5, -0.5, 0.0], [0.7, 2.0, 30.0, np.inf]], np.float32)
GRAD = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def results(x: Any, grad: Any) -> dict[str, Any]:
    """Return results of JAX arrays or tracers, of functions that XLA compiles in little time."""
    import jax

    def scaled(x: Any) -> Any:
        return sg.leaky_relu(x, slope=0.2)

    return {
        "value": sg.hard_swish(x),
        "backward": sg.hard_swish.backward(x, grad),
        "parameter": scaled(x),
        "vjp": jax.vjp(scaled, x)[1](grad)[0],
        "jvp": jax.jvp(sg.hard_swish, (x,), (grad,))[1],
        "jvp of backward": jax.jvp(sg.hard_swish.backward, (x, grad), (grad, grad))[1],
        "vmap of grad": jax.vmap(jax.vmap(jax.grad(sg.hard_swish)))(x),
        "vmap of backward": jax.vmap(sg.hard_swish.backward, (1, None), 1)(x, grad[:, 0]),
        "vmap of value": jax.vmap(sg.hard_swish, 1, 1)(x),
        "gated": sg.reglu(x, grad),
        "vjp of gated": jax.vjp(sg.reglu, x, grad)[1](grad),
        "jvp of gated": jax.jvp(lambda x: sg.reglu(x, grad), (x,), (grad,))[1],
        "by a parameter": jax.grad(lambda slope: sg.leaky_relu(x, slope=slope).sum())(0.2),
    }


def expected() -> dict[str, Any]:
    """Return the same of NumPy arrays."""
    x, grad = X, GRAD
    by_x = sg.hard_swish.curvature(x) * grad * grad
    return {
        "value": sg.hard_swish(x),
        "backward": sg.hard_swish.backward(x, grad),
        "parameter": sg.leaky_relu(x, slope=0.2),
        "vjp": sg.leaky_relu.backward(x, grad, slope=0.2),
        "jvp": sg.hard_swish.backward(x, grad),
        "jvp of backward": by_x + sg.hard_swish.backward(x, grad),
        "vmap of grad": sg.hard_swish.slope(x),
        "vmap of backward": sg.hard_swish.backward(x, np.broadcast_to(grad[:, :1], x.shape)),
        "vmap of value": sg.hard_swish(x),
        "gated": sg.reglu(x, grad),
        "vjp of gated": sg.reglu.backward(x, grad, grad),
        "jvp of gated": sg.reglu.backward(x, grad, grad)[0],
        "by a parameter": np.minimum(x, 0).sum(),
    }


def compare(found: dict[str, Any], what: str) -> None:
    """Raise unless results are those of NumPy arrays, but for rounding."""
    for name, wanted in expected().items():
        np.testing.assert_allclose(
            found[name], wanted, rtol=1e-5, atol=1e-6, err_msg=f"{name}, {what}"
        )


def check(devices: int = 1) -> None:
    """Raise unless results are right: called, under jit, in `shard_map`, on devices, exported."""
    import jax

    spec: Any = jax.sharding.PartitionSpec
    mesh: Any = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("i",))
    sharded = jax.sharding.NamedSharding(mesh, spec(None, "i"))
    compare(results(jax.numpy.asarray(X), jax.numpy.asarray(GRAD)), "called")
    compiled: Any = jax.jit(results)
    compare(compiled(X, GRAD), "compiled")
    compare(compiled(*(jax.device_put(array, sharded) for array in (X, GRAD))), "sharded")
    exported = jax.export.export(compiled)(X, GRAD)
    assert "custom_call" not in exported.mlir_module()
    compare(exported.call(X, GRAD), "exported")
    part = GRAD[:, : X.shape[1] // devices]  # does not vary over the mesh
    axes = {"in_specs": (spec(None, "i"), spec()), "out_specs": spec(None, "i")}
    mapped = jax.jit(jax.shard_map(sg.hard_swish.backward, mesh=mesh, **axes))
    backward = sg.hard_swish.backward(X, np.tile(part, devices))
    np.testing.assert_allclose(mapped(X, part), backward, rtol=1e-5, atol=1e-6)


def remove(name: str) -> None:
    """Delete an attribute of a module."""
    module, _, attribute = name.rpartition(".")
    delattr(importlib.import_module(module), attribute)


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    for name in sys.argv[1:]:
        remove(name)
    import jax

    import softgate.jax  # imports the adapter

    check(devices=2)
    print(sg.explain(jax.numpy.ones(3)))
