"""Checks of softgate.keras on one backend, with the directory that torch has written to.

Every function called check_… is one check (checking.py).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import keras_blocks
import ml_dtypes
import numpy as np
from checking import raises

import softgate as sg
import softgate.keras as sk

BACKEND = keras.backend.backend()
FOLDER = Path(sys.argv[1])
CLOSE = 1e-5
POINTS = np.linspace(-6, 6, 97, dtype=np.float32)


def numbers(x: Any) -> np.ndarray:
    return np.asarray(keras.ops.convert_to_numpy(x))


def distance(result: Any, wanted: Any) -> float:
    """The largest difference, relative to |wanted| + 1."""
    wanted = np.asarray(wanted, np.float64)
    result = numbers(result).astype(np.float64)
    assert result.shape == wanted.shape, f"shape {result.shape}, expected {wanted.shape}"
    return float(np.max(np.abs(result - wanted) / (1 + np.abs(wanted)), initial=0.0))


def differentiated(
    call: Callable[[Any], Any], x: np.ndarray, upstream: np.ndarray, layer: Any = None
) -> tuple[Any, Any, list[Any]]:
    """Return call(x), and the gradients of (call(x)·upstream).sum() by x and a layer's weights."""
    weights = [] if layer is None else layer.trainable_variables
    if BACKEND == "tensorflow":
        import tensorflow as tf

        point = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(point)
            y = call(point)
            total = tf.reduce_sum(y * upstream)
        return y, *tape.gradient(total, [point, [w.value for w in weights]])
    if BACKEND == "jax":
        import jax

        def total_and_value(point: Any, values: list[Any]) -> tuple[Any, Any]:
            with keras.StatelessScope(list(zip(weights, values, strict=True))):
                y = call(point)
            return (y * upstream).sum(), y

        differentiate = jax.jit(jax.grad(total_and_value, (0, 1), has_aux=True))
        by_all, y = differentiate(x, [w.value for w in weights])
        return y, *by_all
    import torch

    point = torch.from_numpy(x).requires_grad_()
    for w in weights:
        w.value.grad = None
    y = call(point)
    (y * torch.from_numpy(upstream)).sum().backward()
    return y, point.grad, [w.value.grad for w in weights]


def variants() -> list[sk.Activation]:
    """Every activation, and with each parameter at another value that every format holds."""
    results = []
    for name, function in sg.activations().items():
        ours = getattr(sk, name)
        assert ours is sk.get(name, **function.parameters) is sk.get(function), name
        results.append(ours)
        for p in function.entry.parameters:
            values = (float(ml_dtypes.bfloat16(value)) for value in p.tested[:1])
            results += [ours.bind(**{p.name: value}) for value in values]
    return results


def check_every_activation() -> None:
    """Each is evaluated on one backend, in turn: tests of the frameworks evaluate it on all."""
    known = variants()
    assert len(known) > len(sg.activations())
    evaluated = known[("jax", "tensorflow", "torch").index(BACKEND) :: 3]
    values_and_slopes(evaluated, [ours.activation for ours in evaluated])
    for ours in known:
        config = json.loads(json.dumps(keras.activations.serialize(ours)))
        assert keras.activations.get(config) is ours, ours


def values_and_slopes(result: list[sk.Activation], wanted: list[sg.Activation]) -> None:
    """Value and gradient are NumPy's: row i of the points goes through the i-th activation."""
    rows = np.tile(POINTS, (len(result), 1))

    def call(x: Any) -> Any:
        return keras.ops.stack([ours(x[i]) for i, ours in enumerate(result)])

    values, slopes, _ = differentiated(call, rows, np.ones_like(rows))
    values, slopes = numbers(values), numbers(slopes)
    for i, function in enumerate(wanted):
        assert distance(values[i], function(POINTS)) < 2e-6, function
        wanted_slopes = function.backward(POINTS, np.ones_like(POINTS))
        assert distance(slopes[i], wanted_slopes) < 2e-6, f"slope of {function}"


def check_the_check_of_activations_can_fail() -> None:
    raises(AssertionError, "gelu", lambda: values_and_slopes([sk.gelu_tanh], [sg.gelu]))


def check_formats() -> None:
    for dtype in ("float16", "bfloat16", "float32"):
        x = keras.ops.convert_to_tensor(POINTS, dtype)
        y = sk.gelu(x)
        assert keras.backend.standardize_dtype(y.dtype) == dtype
        exact = sg.gelu(numbers(keras.ops.cast(x, "float32")).astype(np.float64))
        step = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-22}[dtype]
        assert distance(keras.ops.cast(y, "float32"), exact) <= step
    assert keras.backend.standardize_dtype(sk.gelu([1, 2]).dtype) == keras.config.floatx()


def check_blocks_equal_torchs() -> None:
    for name in keras_blocks.BLOCKS:
        compare(name)


def check_the_check_of_blocks_can_fail() -> None:
    raises(AssertionError, "y of post", lambda: compare("post", shift=1e-3))


def compare(name: str, shift: float = 0.0) -> None:
    """Outputs with torch's weights, in training and otherwise, and the gradients of their mean."""
    kind, arguments, options = keras_blocks.BLOCKS[name]
    wanted = np.load(FOLDER / f"{name}.npz")
    x, upstream = keras_blocks.inputs(), keras_blocks.upstream()
    made = getattr(sk, kind)(*arguments, **options)
    layer = type(made).from_config(json.loads(json.dumps(made.get_config())))
    layer.build(x.shape)
    state = {key[7:]: wanted[key] + shift for key in wanted.files if key.startswith("weight ")}
    sk.load_state_dict(layer, state)
    masks = keras_blocks.masks(kind, options)

    thorough = name == "post" or BACKEND != "jax"  # compiling takes long in JAX
    modes = (True, False) if thorough else (True,)

    def call(x: Any) -> Any:
        return keras.ops.stack([layer(x, training=training, **masks) for training in modes])

    total = np.stack([upstream / len(modes)] * len(modes))
    outputs, by_x, by_weights = differentiated(call, x, total, layer)
    for y in [*numbers(outputs), *([layer(x, **masks)] if thorough else [])]:
        assert distance(y, wanted["y"]) < CLOSE, f"y of {name}"
    assert distance(by_x, wanted["grad x"]) < CLOSE, f"gradient of {name}"
    theirs = torch_gradients(layer, wanted)
    for variable, by_variable in zip(layer.trainable_variables, by_weights, strict=True):
        assert distance(by_variable, theirs[variable.path]) < CLOSE, f"{variable.path} of {name}"


def torch_gradients(layer: Any, wanted: Any) -> dict[str, np.ndarray]:
    """torch's gradients under the paths of Keras' variables: loaded as weights, and read there."""
    saved = [numbers(w) for w in layer.weights]
    sk.load_state_dict(layer, {k[5:]: wanted[k] for k in wanted.files if k[:5] == "grad " != k[:6]
                               and k != "grad x"})  # fmt: skip
    results = {w.path: numbers(w) for w in layer.trainable_variables}
    layer.set_weights(saved)
    return results


def check_saved_models_load() -> None:
    answers = json.loads((FOLDER / "answers.json").read_text("utf-8"))
    for name, wanted in answers.items():
        model = keras.models.load_model(FOLDER / f"{name}.keras")
        x = keras_blocks.features(model.input_shape)
        assert distance(model(x), wanted) < CLOSE, name
        again = Path(tempfile.mkdtemp(dir=FOLDER)) / "again.keras"
        model.save(again)
        assert distance(keras.models.load_model(again)(x), wanted) < CLOSE, name
    for written_on in {"torch", BACKEND}:
        loads_plain_functions(written_on)
    first, second, third, *_ = keras.models.load_model(FOLDER / "sequence.keras").layers
    assert first.activation is sk.gelu
    assert second.activation is sk.get("leaky_relu", slope=0.3)
    assert third.activation is sk.get(keras_blocks.wave, a=2.0)


def loads_plain_functions(written_on: str) -> None:
    """Load what keras_used.py has saved; torch's model was saved by another process."""
    path = FOLDER / f"plain_{written_on}.keras"
    model = keras.models.load_model(path, compile=written_on == BACKEND)  # optimizers are torch's
    stored = np.load(FOLDER / f"plain_{written_on}.npz")
    first, second, _, third = (layer.activation for layer in model.layers)
    assert first is sg.gelu
    assert second is sg.elu.bind(alpha=0.5)
    assert third is sg.swiglu.bind(gate="second")
    assert distance(model(stored["x"]), stored["y"]) < CLOSE


def check_a_file_imports_nothing() -> None:
    config = sk.get(keras_blocks.wave).get_config() | {"module": "antigravity"}
    raises(ValueError, "`import antigravity` first", lambda: sk.Activation.from_config(config))
    assert "antigravity" not in sys.modules
    config = {"function": "gelo", "parameters": {}}
    raises(ValueError, "which softgate lacks", lambda: sk.Activation.from_config(config))

    @sg.activation
    def local(f: Any, x: Any) -> Any:
        return x * f.Phi(x)

    raises(TypeError, "cannot be pickled", sk.get(local).get_config)


def check_training() -> None:
    keras.utils.set_random_seed(5)
    attending = sk.TransformerBlock(16, 4, 24, "swiglu", norm="pre", batch_first=True, dropout=0.1)
    for policy, block in (("float32", attending), ("mixed_float16", None)):
        keras.mixed_precision.set_global_policy(policy)
        model = keras.Sequential(
            [
                keras.Input((5, 16)),
                keras.layers.Dense(16, activation=sk.gelu),
                block or sk.FeedForward(16, 24, "leaky_relu", slope=0.2, hidden_dropout=0.1),
                keras.layers.Dense(1, activation=sk.get("softplus"), dtype="float32"),
            ]
        )
        # tensorflow_native.py trains under XLA with mixed precision.
        jit = {"torch": False, "tensorflow": policy == "float32", "jax": True}[BACKEND]
        model.compile(keras.optimizers.SGD(0.05), "mse", jit_compile=jit)
        x = keras_blocks.features((None, 5, 16))
        y = np.abs(x[..., :1])
        losses = model.fit(x, y, batch_size=6, epochs=12, verbose=0).history["loss"]
        assert np.all(np.isfinite(losses)), (policy, losses)
        assert losses[-1] < losses[0], (policy, losses)
    keras.mixed_precision.set_global_policy("float32")


def check_symbolic_tensors() -> None:
    x = keras.Input((6,))
    for y in (sk.gelu(x), sg.gelu(x), sg.gelu.slope(x), sk.gelu(keras.Input((6,), dtype="int32"))):
        assert (tuple(y.shape), y.dtype) == ((None, 6), "float32")
    assert tuple(sk.glu(x).shape) == tuple(sk.glu(x, x)[:, :3].shape) == (None, 3)
    assert "an operation of a Keras model" in str(sg.explain(x))
    slope = keras.Model(x, [sg.elu.slope(x, alpha=0.5), sg.gelu.backward(x, 2.0 * x)])
    again = keras.Model.from_config(slope.get_config())
    points = POINTS[:96].reshape(-1, 6)
    first, second = again(points)
    assert distance(first, sg.elu.slope(points, alpha=0.5)) < 2e-6
    assert distance(second, sg.gelu.backward(points, 2 * points)) < 2e-6
    variable = keras.Variable(POINTS)
    assert distance(sg.gelu(variable), sg.gelu(POINTS)) < 2e-6
    assert sg.explain(variable).dtype == "float32"
    raises(TypeError, "int32 tensor", lambda: sg.gelu(keras.Input((6,), dtype="int32")))
    raises(TypeError, "out=", lambda: sg.gelu(x, out=POINTS))
    raises(
        ValueError,
        "glu splits x in two equal halves, and x has the odd length 5",
        lambda: sg.glu(keras.Input((5,))),
    )


def check_the_articles_snippets() -> None:
    """Activation("gelu") after a layer, "gelu" as its argument, and ours in their place."""
    keras.utils.set_random_seed(11)
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((64,)), layers.Dense(256), layers.Activation("gelu"), layers.Dense(64)
    ])  # fmt: skip
    x = np.random.default_rng(8).normal(size=(8, 64)).astype(np.float32)
    output = numbers(model(x))
    assert output.shape == (8, 64)
    for hidden in (
        [layers.Dense(256, activation="gelu")],
        [layers.Dense(256, activation=sk.gelu)],
        [layers.Dense(256), layers.Activation(sk.gelu)],
        [layers.Dense(256), layers.Activation(sk.get("gelu", source="keras"))],
    ):
        other = keras.Sequential([keras.Input((64,)), *hidden, layers.Dense(64)])
        other.set_weights(model.get_weights())
        assert distance(other(x), output) < CLOSE
    if BACKEND == "tensorflow":
        from tensorflow import keras as theirs

        same = theirs.Sequential(
            [
                theirs.Input((64,)),
                theirs.layers.Dense(256),
                theirs.layers.Activation(sk.gelu),
                theirs.layers.Dense(64),
            ]
        )
        same.set_weights(model.get_weights())
        assert distance(same(x), output) < CLOSE
    block = sk.FeedForward(64, 256)
    block.build((None, 64))
    block.set_weights(model.get_weights())
    assert distance(block(x), output) < CLOSE


def check_masks() -> None:
    """Keras' own mask hides keys as a padding mask does; who sees nothing gets zeros."""
    x = keras_blocks.inputs()
    attention = sk.SelfAttention(16, 4, bias=False, batch_first=True)
    hidden = np.array([[False, False, True]] * 5)
    wanted = numbers(attention(x, key_padding_mask=hidden))
    assert distance(attention(x, mask=~hidden), wanted) < 1e-6
    masked = keras.layers.Masking(0.0)(np.where(hidden[..., None], 0, x))
    assert distance(attention(masked)[:, :2], wanted[:, :2]) < 1e-6
    blind = np.zeros((3, 3), bool)
    blind[1] = True
    y = numbers(attention(x, blind))
    assert not y[:, 1].any()
    assert y[:, 0].any()
    _, by_x, _ = differentiated(
        lambda x: attention(x, blind), x, keras_blocks.upstream(), attention
    )
    assert np.isfinite(numbers(by_x)).all()
    alone = sk.SelfAttention(16, 4)
    together = numbers(alone(x[:, :1]))[:, 0]
    assert distance(alone(x[:, 0]), together) < 1e-6
    assert distance(alone(x[:, 0], key_padding_mask=np.zeros(5, bool)), together) < 1e-6
    raises(ValueError, "attn_mask has shape (4, 4)", lambda: attention(x, np.zeros((4, 4))))
    raises(TypeError, "expected bool", lambda: attention(x, np.zeros((3, 3), np.int64)))
    raises(ValueError, "4 axes", lambda: sk.SelfAttention(16, 4)(np.zeros((1, 1, 2, 16))))


def check_wrong_arguments() -> None:
    for error, text, call in (
        (ValueError, "did you mean 'gelu'", lambda: sk.get("gelo")),
        (AttributeError, "did you mean 'gelu'", lambda: sk.gelo),
        (TypeError, "has no parameter", lambda: sk.gelu.bind(slope=1.0)),
        (TypeError, "needs a name as a string", lambda: sk.get(sg.gelu, "keras")),
        (ValueError, "did you mean 'gelu'", lambda: sk.FeedForward(8, 24, "gelo")),
        (ValueError, "use GatedFeedForward", lambda: sk.FeedForward(8, 24, sk.swiglu)),
        (TypeError, "activation is 3", lambda: sk.FeedForward(8, 24, 3)),
        (ValueError, "it is 'geglu'", lambda: sk.GatedFeedForward(8, 24, "gelu")),
        (ValueError, "match = 'speed'", lambda: sk.GatedFeedForward(8, 24, match="speed")),
        (ValueError, "save = 'nothing'", lambda: sk.FeedForward(8, 24, save="nothing")),
        (ValueError, "dropout = -0.1", lambda: sk.FeedForward(8, 24, dropout=-0.1)),
        (ValueError, "d_hidden = 2.5", lambda: sk.FeedForward(8, 2.5)),
        (ValueError, "not a multiple of n_heads", lambda: sk.SelfAttention(8, 3)),
        (ValueError, "norm = 'both'", lambda: sk.TransformerBlock(8, 2, 16, norm="both")),
        (
            ValueError,
            'expected "layer" or "rms"',
            lambda: sk.TransformerBlock(8, 2, 16, normalization="batch"),
        ),
        (ValueError, "x has 5 features", lambda: sk.FeedForward(8, 24)(np.zeros((2, 5)))),
        (ValueError, "no weights yet", lambda: sk.load_state_dict(sk.FeedForward(8, 24), {})),
        (ValueError, "lacks ['fc1.bias'", lambda: sk.load_state_dict(built(), {})),
        (
            TypeError,
            "give the parameters to the layer",
            lambda: sk.FeedForward(8, 24, keras.layers.ReLU(), slope=0.1),
        ),
    ):
        raises(error, text, call)


def built() -> sk.FeedForward:
    layer = sk.FeedForward(8, 24)
    layer.build((None, 8))
    return layer
