# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from softgate import Phi as Phi
from softgate import clip as clip
from softgate import exponential as exponential
from softgate import geglu as geglu
from softgate import geglu_tanh as geglu_tanh
from softgate import gelu_10 as gelu_10
from softgate import gelu_sigmoid as gelu_sigmoid
from softgate import gelu_tanh as gelu_tanh
from softgate import hard_mish as hard_mish
from softgate import hard_sigmoid as hard_sigmoid
from softgate import hard_swish as hard_swish
from softgate import hard_tanh as hard_tanh
from softgate import identity as identity
from softgate import laplace as laplace
from softgate import log_ndtr as log_ndtr
from softgate import log_sigmoid as log_sigmoid
from softgate import phi as phi
from softgate import reglu as reglu
from softgate import sparse_plus as sparse_plus
from softgate import sparse_sigmoid as sparse_sigmoid
from softgate import sqrtsoftplus as sqrtsoftplus
from softgate import squared_relu as squared_relu
from softgate import squareplus as squareplus
from softgate import swiglu as swiglu
from softgate import xielu as xielu
from torch import Tensor

def Phi_(input: Tensor) -> Tensor:
    """Overwrite `input` with Phi(input) and return it."""

def celu(input: Tensor, alpha: float=1.0, inplace: bool=False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x/alpha) - 1); torch's operator if alpha <= 0."""

def celu_(input: Tensor, alpha: float=1.0) -> Tensor:
    """Overwrite `input` with celu(input) and return it."""

def clamped_swiglu(gate: Tensor, up: Tensor, limit: float=7.0, alpha: float=1.702) -> Tensor:
    """Return gpt-oss' g·sigmoid(alpha·g)·(u + 1), g and u clamped: g <= limit, |u| <= limit."""

def clip_(input: Tensor, low: float=0.0, high: float=1.0) -> Tensor:
    """Overwrite `input` with clip(input) and return it."""

def elu(input: Tensor, alpha: float=1.0, inplace: bool=False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x) - 1)."""

def elu_(input: Tensor, alpha: float=1.0) -> Tensor:
    """Overwrite `input` with elu(input) and return it."""

def exponential_(input: Tensor) -> Tensor:
    """Overwrite `input` with exponential(input) and return it."""

def gelu(input: Tensor, approximate: str='none') -> Tensor:
    """Return x·Phi(x), its tanh form, or its sigmoid form (`approximate="sigmoid"`)."""

def gelu_(input: Tensor) -> Tensor:
    """Overwrite `input` with gelu(input) and return it."""

def gelu_10_(input: Tensor) -> Tensor:
    """Overwrite `input` with gelu_10(input) and return it."""

def gelu_sigmoid_(input: Tensor) -> Tensor:
    """Overwrite `input` with gelu_sigmoid(input) and return it."""

def gelu_tanh_(input: Tensor) -> Tensor:
    """Overwrite `input` with gelu_tanh(input) and return it."""

def glu(input: Tensor, dim: int=-1) -> Tensor:
    """Return a·sigmoid(b), a and b the halves of x along `dim`."""

def hard_mish_(input: Tensor) -> Tensor:
    """Overwrite `input` with hard_mish(input) and return it."""

def hardshrink(input: Tensor, lambd: float=0.5) -> Tensor:
    """Return x where |x| > lambd, else 0."""

def hardshrink_(input: Tensor, lambd: float=0.5) -> Tensor:
    """Overwrite `input` with hardshrink(input) and return it."""

def hardsigmoid(input: Tensor, inplace: bool=False) -> Tensor:
    """Return x/6 + 1/2 between 0 and 1."""

def hardsigmoid_(input: Tensor, width: float=6.0) -> Tensor:
    """Overwrite `input` with hard_sigmoid(input) and return it."""

def hardswish(input: Tensor, inplace: bool=False) -> Tensor:
    """Return x·hardsigmoid(x)."""

def hardswish_(input: Tensor) -> Tensor:
    """Overwrite `input` with hard_swish(input) and return it."""

def hardtanh(input: Tensor, min_val: float=-1.0, max_val: float=1.0, inplace: bool=False) -> Tensor:
    """Return x clipped to [min_val, max_val]; torch's operator unless `min_val` < `max_val`."""

def hardtanh_(input: Tensor, min_val: float=-1.0, max_val: float=1.0) -> Tensor:
    """Overwrite `input` with hard_tanh(input) and return it."""

def identity_(input: Tensor) -> Tensor:
    """Overwrite `input` with identity(input) and return it."""

def laplace_(input: Tensor, mu: float=0.707107, sigma: float=0.282095) -> Tensor:
    """Overwrite `input` with laplace(input) and return it."""

def leaky_relu(input: Tensor, negative_slope: float=0.01, inplace: bool=False) -> Tensor:
    """Return x where x > 0, else negative_slope·x."""

def leaky_relu_(input: Tensor, negative_slope: float=0.01) -> Tensor:
    """Overwrite `input` with leaky_relu(input) and return it."""

def log_ndtr_(input: Tensor) -> Tensor:
    """Overwrite `input` with log_ndtr(input) and return it."""

def logsigmoid(input: Tensor) -> Tensor:
    """Return log(sigmoid(x))."""

def logsigmoid_(input: Tensor) -> Tensor:
    """Overwrite `input` with log_sigmoid(input) and return it."""

def mish(input: Tensor, inplace: bool=False) -> Tensor:
    """Return x·tanh(softplus(x))."""

def mish_(input: Tensor) -> Tensor:
    """Overwrite `input` with mish(input) and return it."""

def phi_(input: Tensor) -> Tensor:
    """Overwrite `input` with phi(input) and return it."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x where x > 0, else weight·x; torch's operator, since `weight` is trainable."""

def prelu_(input: Tensor, slope: float=0.25) -> Tensor:
    """Overwrite `input` with prelu(input) and return it."""

def relu(input: Tensor, inplace: bool=False) -> Tensor:
    """Return max(x, 0)."""

def relu6(input: Tensor, inplace: bool=False) -> Tensor:
    """Return min(max(x, 0), 6)."""

def relu6_(input: Tensor) -> Tensor:
    """Overwrite `input` with relu6(input) and return it."""

def relu_(input: Tensor) -> Tensor:
    """Overwrite `input` with relu(input) and return it."""

def rrelu(input: Tensor, lower: float=1 / 8, upper: float=1 / 3, training: bool=False, inplace: bool=False) -> Tensor:
    """Return x where x > 0, else a·x: in training a is random in [lower, upper], else the mean."""

def rrelu_(input: Tensor, lower: float=1 / 8, upper: float=1 / 3, training: bool=False) -> Tensor:
    """Overwrite `input` with its `rrelu` and return it."""

def selu(input: Tensor, inplace: bool=False) -> Tensor:
    """Return the self-normalising elu."""

def selu_(input: Tensor) -> Tensor:
    """Overwrite `input` with selu(input) and return it."""

def sigmoid(input: Tensor) -> Tensor:
    """Return 1/(1 + exp(-x))."""

def sigmoid_(input: Tensor) -> Tensor:
    """Overwrite `input` with sigmoid(input) and return it."""

def silu(input: Tensor, inplace: bool=False) -> Tensor:
    """Return x·sigmoid(x)."""

def silu_(input: Tensor, beta: float=1.0) -> Tensor:
    """Overwrite `input` with silu(input) and return it."""

def softplus(input: Tensor, beta: float=1.0, threshold: float=20.0) -> Tensor:
    """Return log(1 + exp(beta·x))/beta."""

def softplus_(input: Tensor, beta: float=1.0) -> Tensor:
    """Overwrite `input` with softplus(input) and return it."""

def softshrink(input: Tensor, lambd: float=0.5) -> Tensor:
    """Return x moved towards 0 by `lambd`, and 0 where |x| <= lambd."""

def softshrink_(input: Tensor, lambd: float=0.5) -> Tensor:
    """Overwrite `input` with softshrink(input) and return it."""

def softsign(input: Tensor) -> Tensor:
    """Return x/(1 + |x|)."""

def softsign_(input: Tensor) -> Tensor:
    """Overwrite `input` with softsign(input) and return it."""

def sparse_plus_(input: Tensor) -> Tensor:
    """Overwrite `input` with sparse_plus(input) and return it."""

def sparse_sigmoid_(input: Tensor) -> Tensor:
    """Overwrite `input` with sparse_sigmoid(input) and return it."""

def sqrtsoftplus_(input: Tensor) -> Tensor:
    """Overwrite `input` with sqrtsoftplus(input) and return it."""

def squared_relu_(input: Tensor) -> Tensor:
    """Overwrite `input` with squared_relu(input) and return it."""

def squareplus_(input: Tensor, b: float=4.0) -> Tensor:
    """Overwrite `input` with squareplus(input) and return it."""

def swish(input: Tensor, beta: float | Tensor=1.0) -> Tensor:
    """Return x·sigmoid(beta·x); `beta` may be a scalar tensor, which has a gradient, too."""

def tanh(input: Tensor) -> Tensor:
    """Return tanh(x)."""

def tanh_(input: Tensor) -> Tensor:
    """Overwrite `input` with tanh(input) and return it."""

def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""

def tanhshrink_(input: Tensor) -> Tensor:
    """Overwrite `input` with tanhshrink(input) and return it."""

def threshold(input: Tensor, threshold: float, value: float, inplace: bool=False) -> Tensor:
    """Return x where x > threshold, else `value`; torch's operator, since nothing is computed."""

def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Overwrite `input` with its `threshold` and return it."""

def xielu_(input: Tensor, alpha_p: float=0.8, alpha_n: float=0.8, beta: float=0.5, eps: float=0.0) -> Tensor:
    """Overwrite `input` with xielu(input) and return it."""
