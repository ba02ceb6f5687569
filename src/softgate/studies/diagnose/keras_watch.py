"""`softgate.keras.Watch`: statistics of a Keras model's activations while it trains.

While a batch runs, the activations of the layers are replaced by functions that pass their tensors
on. The statistics and the record are those of `softgate.torch.watch`. Keras runs eagerly meanwhile:
compiled code has no calls to observe. JAX computes gradients from traced values, whose numbers
arrive by `jax.debug.callback`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import keras
import numpy as np
import torch

from softgate.records.text import visible
from softgate.runtime.registry import label

from ..identify import UNKNOWN
from ..models.keras_model import all_layers, is_elementwise, operations_of, sites
from ..models.record import ScannedActivation
from ..models.torch_recognition import RecognisedFunction
from .measure import norm
from .observer import ActivationCall
from .record import Diagnosis, UnobservedCalls
from .statistics import diagnosis
from .watch import SiteStatistics

STEPS = ("train_step", "test_step")
"""Methods of a model that run one batch."""
EAGER = {
    "run_eagerly": True, "jit_compile": False, "train_function": None, "test_function": None,
}  # fmt: skip
"""Attributes of a model that runs eagerly; Keras then compiles its functions again."""
NOT_IDENTIFIED = "the functions are elementwise, but not in softgate's catalogue"
USE_ONE = "define them with @softgate.activation, or use a function of softgate"

Observe = Callable[[Any], None]


class Watch(keras.callbacks.Callback, SiteStatistics):
    """Observe a Keras model's activations while it trains or is evaluated, on any backend.

    Pass it as a callback to `fit` or `evaluate`; `report()` returns the record of
    `softgate.torch.watch` and `diagnose`. A step is a batch; during `fit`, batches of the
    validation data are not counted. The model runs eagerly meanwhile, and slower.

    Parameters
    ----------
    every : int
        Observe one step out of this many.
    gradients : bool
        Also measure the gradients of each activation.
    **thresholds : float
        Limits above which a figure is reported as a finding: flat=0.01, dead=0.01, … (see
        `softgate.studies.diagnose.record.Thresholds`).

    Notes
    -----
    The statistics are computed with PyTorch, on every backend. Gradients of a loss that a
    LossScaleOptimizer scales include its scale. After `fit` was interrupted by an exception,
    `close()` makes the model run compiled again.

    Examples
    --------
    >>> import keras, numpy as np, softgate.keras
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu")])
    >>> model.compile("sgd", "mse")
    >>> watch = softgate.keras.Watch()
    >>> _ = model.fit(np.ones((32, 4)), np.ones((32, 8)), verbose=0, callbacks=[watch])
    >>> [(site.function, site.units) for site in watch.report().sites]
    [('relu', 8)]
    """

    def __init__(self, *, every: int = 1, gradients: bool = True, **thresholds: float) -> None:
        keras.callbacks.Callback.__init__(self)
        SiteStatistics.__init__(self, every, thresholds)
        self.every, self.gradients = every, gradients
        self.steps = 0
        self._name, self._training = "", False
        self._places: list[tuple[Any, str, ScannedActivation]] = []
        self._unseen: list[str] = []
        self._restore: list[Callable[[], None]] = []
        self._order: dict[str, None] = {}
        """Paths in the order of their first calls: JAX may report the calls in another one."""
        self._lock = Lock()

    def set_model(self, model: Any) -> None:
        """Prepare a model: Keras calls this before it makes the function that runs a batch."""
        super().set_model(model)
        if self._restore:
            return  # `fit` evaluates its validation data with the same callbacks
        self._name = model.name
        self._places, self._unseen = [], []
        for layer, field, scanned in sites(all_layers(model), operations_of(model)):
            if scanned.function not in (UNKNOWN, "identity"):
                self._places.append((layer, field, scanned))
            elif scanned.function == UNKNOWN and is_elementwise(getattr(layer, field)):
                self._unseen.append(scanned.path)
        before = {name: getattr(model, name) for name in EAGER}
        for name, value in EAGER.items():
            setattr(model, name, value)
        for name in STEPS:
            _set(model, name, partial(self._step, getattr(model, name), name))
        self._restore.append(partial(self._reset, model, before))

    @staticmethod
    def _reset(model: Any, before: Mapping[str, Any]) -> None:
        for name in STEPS:
            vars(model).pop(name)
        for name, value in before.items():
            setattr(model, name, value)

    def on_train_begin(self, logs: Any = None) -> None:
        """Count the batches of the training data from here on."""
        self._training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Stop observing."""
        self._training = False
        self.close()

    def on_test_end(self, logs: Any = None) -> None:
        """Stop observing, unless this is the validation during training."""
        if not self._training:
            self.close()

    def close(self) -> None:
        """Restore the model; a second call does nothing."""
        while self._restore:
            self._restore.pop()()

    def report(self) -> Diagnosis:
        """Return the record of what was observed until now."""
        unseen = (
            [UnobservedCalls(NOT_IDENTIFIED, USE_ONE, tuple(self._unseen))] if self._unseen else []
        )
        order = [visible(path, one_line=True) for path in self._order]
        return diagnosis(
            [self._sites[key] for key in sorted(self._sites, key=lambda k: order.index(k[0]))],
            self.thresholds,
            model=self._name,
            steps=self.steps,
            every=self.every,
            unseen=unseen,
        )

    def _step(self, run: Callable[..., Any], name: str, *args: Any) -> Any:
        """Run one batch; one in `every` is observed."""
        if self._training and name != "train_step":
            return run(*args)
        self.steps += 1
        if (self.steps - 1) % self.every:
            return run(*args)
        with self._observed(self.steps - 1):
            result = run(*args)
            if keras.backend.backend() == "jax":
                import jax

                jax.effects_barrier()  # the callbacks have run
        return result

    @contextmanager
    def _observed(self, step: int) -> Iterator[None]:
        """Replace the activations of the layers by functions that also count."""
        before = []
        for layer, field, scanned in self._places:
            function = getattr(layer, field)
            before.append((layer, field, field in vars(layer), function))
            _set(layer, field, partial(self._called, step, layer, scanned, function))
        try:
            yield
        finally:
            for layer, field, was_set, function in reversed(before):
                if was_set:
                    _set(layer, field, function)
                else:
                    vars(layer).pop(field)

    def _called(
        self,
        step: int,
        layer: Any,
        scanned: ScannedActivation,
        function: Any,
        x: Any,
        **options: Any,
    ) -> Any:
        """Return the value of an activation, and observe the call."""
        if isinstance(x, keras.KerasTensor):
            return function(x, **options)
        self._order.setdefault(scanned.path)
        axis = 1 if getattr(layer, "data_format", None) == "channels_first" else -1
        if self.gradients:
            x = _with_gradient(x, partial(self._gradient, step, scanned, axis, "input"))
        y = function(x, **options)
        if self.gradients:
            y = _with_gradient(y, partial(self._gradient, step, scanned, axis, "output"))
        _with_values(partial(self._count_call, step, scanned, axis), x, y)
        return y

    def _call(
        self, step: int, scanned: ScannedActivation, axis: int, x: torch.Tensor, y: torch.Tensor
    ) -> ActivationCall:
        activation = scanned.unscaled
        name = label(activation) if scanned.scale == 1 else scanned.answer
        recognised = RecognisedFunction(name, activation, scanned.scale)
        path = visible(scanned.path, one_line=True)
        place = axis if x.dim() > 1 else None
        return ActivationCall(path, x, y, place, activation, recognised, None, step, False)

    def _count_call(self, step: int, scanned: ScannedActivation, axis: int, x: Any, y: Any) -> None:
        call = self._call(step, scanned, axis, _tensor(x), _tensor(y))
        with self._lock:
            self._count(call, self._site(call))

    def _gradient(
        self, step: int, scanned: ScannedActivation, axis: int, which: str, gradient: Any
    ) -> None:
        tensor = _tensor(gradient)
        call = self._call(step, scanned, axis, tensor, tensor)
        with self._lock:
            self._site(call).add_gradient(which, norm(tensor), step)


def _set(layer: Any, field: str, function: Any) -> None:
    """Set a function of a layer without Keras' tracking, which built layers refuse."""
    object.__setattr__(layer, field, function)


def _tensor(x: Any) -> torch.Tensor:
    """Return a tensor of any backend as one of torch's on the CPU."""
    if isinstance(x, torch.Tensor):
        return x.detach()
    array = np.asarray(keras.ops.convert_to_numpy(x))
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def _with_values(observe: Callable[..., None], *tensors: Any) -> None:
    """Call `observe` with the numbers of tensors, also where JAX traces them."""
    if keras.backend.backend() == "jax":
        import jax

        jax.debug.callback(observe, *tensors)
    else:
        observe(*tensors)


def _with_gradient(x: Any, observe: Observe) -> Any:
    """Return a tensor; `observe` is called with the gradient of the loss in it."""
    backend = keras.backend.backend()
    if backend == "torch":
        if not x.requires_grad:
            return x
        x = x.view_as(x)  # only this use of the tensor
        x.register_hook(observe)
        return x
    if backend == "tensorflow":
        import tensorflow as tf

        @tf.custom_gradient  # type: ignore[untyped-decorator,unused-ignore]
        def observed(value: Any) -> Any:
            def gradient(upstream: Any) -> Any:
                observe(upstream)
                return upstream

            return tf.identity(value), gradient

        return observed(x)
    import jax

    @jax.custom_vjp
    def identity(value: Any) -> Any:
        return value

    def backward(_: None, upstream: Any) -> tuple[Any]:
        jax.debug.callback(observe, upstream)
        return (upstream,)

    identity.defvjp(lambda value: (value, None), backward)
    return identity(x)
