"""Feed-forward blocks as Keras layers: linear - activation - linear, and gated.

Arguments, defaults, errors and results are those of `softgate.torch`; a kernel is torch's weight
transposed.
"""

from __future__ import annotations

from typing import Any

import keras

from softgate.frameworks.block_arguments import (
    check_choice,
    check_share,
    check_widths,
    gate_of_block,
    gated_width,
    with_gate,
)
from softgate.frameworks.keras import Config

from .activation import NAME_SOURCES, get
from .block_parts import (
    SAVE,
    ActivationArgument,
    BlockLayer,
    as_callable,
    dropout_layer,
    dropped,
    function_of,
    repeatable,
)


class _FeedForward(BlockLayer):
    """Base of the plain and the gated block: options, call, serialisation."""

    act: Any

    d_hidden: int

    def _set_up(
        self, d_model: int, d_hidden: int, bias: bool, shares: tuple[float, float], save: str
    ) -> None:
        """Check and set the options that both blocks have."""
        self.d_model, self.d_hidden, self.bias = d_model, d_hidden, bias
        self.save = check_choice("save", save, SAVE)
        self.dropout = check_share("dropout", shares[0])
        self.hidden_dropout = check_share("hidden_dropout", shares[1])
        self._drop = dropout_layer(self.dropout, "dropout", self.dtype_policy)
        self._drop_hidden = dropout_layer(self.hidden_dropout, "hidden_dropout", self.dtype_policy)

    def _linears(self) -> tuple[tuple[Any, ...], Any]:
        """Return the layers before the hidden layer and the one after it."""
        raise NotImplementedError

    def _hidden(self, *inputs: Any) -> Any:
        """Return the hidden layer."""
        return self.act(*inputs)

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        self._build(input_shape, *self._linears(), self.d_hidden)
        if isinstance(self.act, keras.layers.Layer) and not self.act.built:
            self.act.build((*input_shape[:-1], self.d_hidden))

    def call(self, x: Any, training: bool | None = None) -> Any:
        """Return the block's output for the last axis of `x`."""
        firsts, last = self._linears()
        inputs = [layer(x) for layer in firsts]
        recomputes = self.save == "preactivation" and not self.hidden_dropout
        if training and recomputes and repeatable(self.act):
            y = keras.remat(lambda *inputs: last(self._hidden(*inputs)))(*inputs)
        else:
            y = last(dropped(self._drop_hidden, self._hidden(*inputs), training))
        return dropped(self._drop, y, training)

    def get_config(self) -> Config:
        """Return the arguments; the activation by its name, or as a serialised layer."""
        names = ("d_model", "d_hidden", "bias", "dropout", "save", "hidden_dropout")
        arguments = {name: getattr(self, name) for name in names}
        act = keras.saving.serialize_keras_object(self.act)
        return super().get_config() | arguments | {"activation": act}


@keras.saving.register_keras_serializable(package="softgate")
class FeedForward(_FeedForward):
    """linear - activation - linear, as in BERT, GPT-2 and ViT.

    Parameters
    ----------
    d_model, d_hidden : int
        Width of input and output, and of the hidden layer.
    activation : str, Activation or keras.layers.Layer
        A name, an activation of softgate, or a layer.
    bias, dropout, hidden_dropout
        As in `softgate.torch.FeedForward`.
    save : {"preactivation", "all"}
        What is saved for the gradient in training: the input and the pre-activation, from which the
        hidden layer is recomputed, or everything the backend saves. Everything is saved with
        `hidden_dropout`, and if the activation is a layer with state, a seed or a `training`
        argument.
    name, dtype, trainable
        As in every Keras layer.
    **parameters
        Parameters of the activation, such as `slope` for leaky_relu.

    Notes
    -----
    The layers are `fc1`, `act` and `fc2`.

    Examples
    --------
    >>> import keras
    >>> block = FeedForward(768, 3072)
    >>> block(keras.Input((10, 768))).shape
    (None, 10, 768)
    >>> block.count_params()
    4722432
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int,
        activation: ActivationArgument = "gelu",
        bias: bool = True,
        dropout: float = 0.0,
        save: str = "preactivation",
        *,
        hidden_dropout: float = 0.0,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **parameters: float,
    ) -> None:
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        d_model, d_hidden = check_widths(d_model=d_model, d_hidden=d_hidden)
        self._set_up(d_model, d_hidden, bias, (dropout, hidden_dropout), save)
        self.fc1 = self._linear(d_hidden, "fc1")
        self.act = as_callable(activation, parameters)
        self.fc2 = self._linear(d_model, "fc2")

    def _linears(self) -> tuple[tuple[Any, ...], Any]:
        return (self.fc1,), self.fc2


@keras.saving.register_keras_serializable(package="softgate")
class GatedFeedForward(_FeedForward):
    """down(activation(gate(x))·up(x)): SwiGLU, GEGLU, ReGLU and GLU blocks.

    Parameters
    ----------
    d_model, d_hidden, match, multiple_of
        As in `softgate.torch.GatedFeedForward`.
    activation : {"swiglu", "geglu", "geglu_tanh", "reglu", "glu", "clamped_swiglu"} or \
Activation
        The gated activation, or the activation of the gate.
    bias, dropout, save, hidden_dropout, name, dtype, trainable, **parameters
        As in `FeedForward`; the pre-activations are gate and up.

    Notes
    -----
    The layers are `gate_proj`, `up_proj`, `act` and `down_proj`.

    Examples
    --------
    >>> GatedFeedForward(4096, match="parameters", multiple_of=256).d_hidden
    11008
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int | None = None,
        activation: ActivationArgument = "swiglu",
        bias: bool = False,
        dropout: float = 0.0,
        save: str = "preactivation",
        *,
        hidden_dropout: float = 0.0,
        match: str | None = None,
        multiple_of: int = 1,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **parameters: float,
    ) -> None:
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        (d_model,) = check_widths(d_model=d_model)
        width = gated_width(d_model, d_hidden, bias, match, multiple_of)
        self._set_up(d_model, width, bias, (dropout, hidden_dropout), save)
        self.gate_proj = self._linear(width, "gate_proj")
        self.up_proj = self._linear(width, "up_proj")
        self.act = get(gate_of_block(function_of(activation), NAME_SOURCES, **parameters))
        self.down_proj = self._linear(d_model, "down_proj")

    def _linears(self) -> tuple[tuple[Any, ...], Any]:
        return (self.gate_proj, self.up_proj), self.down_proj

    def _hidden(self, *inputs: Any) -> Any:
        if self.act.activation.nin == 2:  # a function that changes both operands
            return self.act(*inputs)
        gate, up = inputs
        function = with_gate(self.act.activation)
        return self.act(gate) * up if function is None else function(gate, up)
