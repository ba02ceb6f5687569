# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from . import jax as jax
from . import keras as keras
from . import torch as torch
from collections.abc import Callable
from softgate.formula.graph import FormulaError as FormulaError
from softgate.plotting.plot import plot as plot
from softgate.reporting import report as report
from softgate.runtime.explain import explain as explain
from softgate.runtime.function_types import Activation as Activation
from softgate.runtime.function_types import GatedWithAlphaLimit
from softgate.runtime.function_types import GatedWithBeta
from softgate.runtime.function_types import GatedWithoutParameters
from softgate.runtime.function_types import Number, OptionalOut
from softgate.runtime.function_types import WithAlpha
from softgate.runtime.function_types import WithAlphaPAlphaNBetaEps
from softgate.runtime.function_types import WithB
from softgate.runtime.function_types import WithBeta
from softgate.runtime.function_types import WithLowHigh
from softgate.runtime.function_types import WithLowerUpper
from softgate.runtime.function_types import WithMuSigma
from softgate.runtime.function_types import WithSlope
from softgate.runtime.function_types import WithThreshold
from softgate.runtime.function_types import WithThresholdValue
from softgate.runtime.function_types import WithWidth
from softgate.runtime.function_types import WithoutParameters
from softgate.runtime.threads import get_threads as get_threads
from softgate.runtime.threads import set_threads as set_threads
from softgate.studies.bench import bench as bench
from softgate.studies.certify import certify as certify
from softgate.studies.compare import compare as compare
from softgate.studies.emit import emit as emit
from softgate.studies.identify import identify as identify
from softgate.studies.names import names as names
from softgate.studies.parity import parity as parity
from softgate.studies.properties import properties as properties
from softgate.studies.quantized import quantized as quantized
from softgate.studies.reproducibility import check_bits as check_bits
from softgate.studies.scan import scan as scan
from softgate.studies.swap.onnx_model import swap as swap
from softgate.studies.table import table as table
from typing import Any
from typing import overload

@WithAlpha
def celu(*, alpha: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """celu(x) = x where x > 0, else alpha*(exp(x/alpha) - 1), applied to each element."""

@WithLowHigh
def clip(*, low: Number = 0.0, high: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """clip(x) = min(max(x, low), high), applied to each element."""

@WithAlpha
def elu(*, alpha: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """elu(x) = x where x > 0, else alpha*(exp(x) - 1), applied to each element."""

@WithoutParameters
def exponential(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """exponential(x) = exp(x), applied to each element."""

@WithoutParameters
def gelu(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """gelu(x) = x*Phi(x), applied to each element."""

@WithoutParameters
def gelu_10(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """gelu_10(x) = min(max(x*Phi(x), -10), 10), applied to each element."""

@WithoutParameters
def gelu_sigmoid(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """gelu_sigmoid(x) = x*sigmoid(1.702*x), applied to each element."""

@WithoutParameters
def gelu_tanh(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """gelu_tanh(x) = x*sigmoid(sqrt(8/pi)*(x + 0.044715*x**3)), applied to each element."""

@WithoutParameters
def hard_mish(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """hard_mish(x) = x/2*min(max(x + 2, 0), 2), applied to each element."""

@WithWidth
def hard_sigmoid(*, width: Number = 6.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """hard_sigmoid(x) = min(max(x/width + 1/2, 0), 1), applied to each element."""

@WithoutParameters
def hard_swish(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """hard_swish(x) = x*min(max(x/6 + 1/2, 0), 1), applied to each element."""

@WithLowHigh
def hard_tanh(*, low: Number = -1.0, high: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """hard_tanh(x) = min(max(x, low), high), applied to each element."""

@WithThreshold
def hardshrink(*, threshold: Number = 0.5, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """hardshrink(x) = x where abs(x) > threshold, else 0, applied to each element."""

@WithoutParameters
def identity(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """identity(x) = x, applied to each element."""

@WithMuSigma
def laplace(*, mu: Number = 0.707107, sigma: Number = 0.282095, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """laplace(x) = Phi((x - mu)/sigma), applied to each element."""

@WithSlope
def leaky_relu(*, slope: Number = 0.01, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """leaky_relu(x) = x where x > 0, else slope*x, applied to each element."""

@WithoutParameters
def log_ndtr(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """log_ndtr(x) = log(Phi(x)), applied to each element."""

@WithoutParameters
def log_sigmoid(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """log_sigmoid(x) = -log(1 + exp(-x)), applied to each element."""

@WithoutParameters
def mish(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """mish(x) = x*tanh(log(1 + exp(x))), applied to each element."""

@WithoutParameters
def Phi(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """Phi(x) = Phi(x), applied to each element."""

@WithoutParameters
def phi(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """phi(x) = exp(-x**2/2)/sqrt(2*pi), applied to each element."""

@WithSlope
def prelu(*, slope: Number = 0.25, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """prelu(x) = x where x > 0, else slope*x, applied to each element."""

@WithoutParameters
def relu(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """relu(x) = max(x, 0), applied to each element."""

@WithoutParameters
def relu6(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """relu6(x) = min(max(x, 0), 6), applied to each element."""

@WithLowerUpper
def rrelu(*, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """rrelu(x) = x where x > 0, else (lower + upper)/2*x, applied to each element."""

@WithoutParameters
def selu(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """selu(x) = scale*(x where x > 0, else alpha*(exp(x) - 1)), scale = 1.0507009873554804934..., alpha = 1.6732632423543772848..., applied to each element."""

@WithoutParameters
def sigmoid(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """sigmoid(x) = 1/(1 + exp(-x)), applied to each element."""

@WithBeta
def silu(*, beta: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """silu(x) = x*sigmoid(beta*x), applied to each element."""

@WithBeta
def softplus(*, beta: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """softplus(x) = log(1 + exp(beta*x))/beta, applied to each element."""

@WithThreshold
def softshrink(*, threshold: Number = 0.5, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """softshrink(x) = x - threshold where x > threshold, x + threshold where x < -threshold, else 0, applied to each element."""

@WithoutParameters
def softsign(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """softsign(x) = x/(1 + abs(x)), applied to each element."""

@WithoutParameters
def sparse_plus(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """sparse_plus(x) = 0 where x <= -1, x where x >= 1, else (x + 1)**2/4, applied to each element."""

@WithoutParameters
def sparse_sigmoid(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """sparse_sigmoid(x) = min(max((x + 1)/2, 0), 1), applied to each element."""

@WithoutParameters
def sqrtsoftplus(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """sqrtsoftplus(x) = sqrt(log(1 + exp(x))), applied to each element."""

@WithoutParameters
def squared_relu(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """squared_relu(x) = max(x, 0)**2, applied to each element."""

@WithB
def squareplus(*, b: Number = 4.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """squareplus(x) = (x + sqrt(x**2 + b))/2, applied to each element."""

@WithoutParameters
def tanh(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """tanh(x) = tanh(x), applied to each element."""

@WithoutParameters
def tanhshrink(*, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """tanhshrink(x) = x - tanh(x), applied to each element."""

@WithThresholdValue
def threshold(*, threshold: Number = 1.0, value: Number = 0.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """threshold(x) = x where x > threshold, else value, applied to each element."""

@WithAlphaPAlphaNBetaEps
def xielu(*, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: OptionalOut = None, arithmetic: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """xielu(x) = alpha_p*x**2 + beta*x where x > 0, else alpha_n*(exp(min(x, eps)) - 1 - x) + beta*x, applied to each element."""

@GatedWithAlphaLimit
def clamped_swiglu(*, alpha: Number = 1.702, limit: Number = 7.0, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """clamped_swiglu(a, b) = g*sigmoid(alpha*g)*(1 + clip(b, -limit, limit)), g = min(a, limit), applied to each pair of elements."""

@GatedWithoutParameters
def geglu(*, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """geglu(a, b) = gelu(a)*b, applied to each pair of elements."""

@GatedWithoutParameters
def geglu_tanh(*, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """geglu_tanh(a, b) = gelu_tanh(a)*b, applied to each pair of elements."""

@GatedWithoutParameters
def glu(*, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """glu(a, b) = a*sigmoid(b), applied to each pair of elements."""

@GatedWithoutParameters
def reglu(*, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """reglu(a, b) = relu(a)*b, applied to each pair of elements."""

@GatedWithBeta
def swiglu(*, beta: Number = 1.0, out: OptionalOut = None, arithmetic: str | None = None, axis: int | None = None, gate: str | None = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None, subok: bool = True) -> Any:
    """swiglu(a, b) = silu(a)*b, applied to each pair of elements."""

__version__: str

__all__ = [
    "Activation", "FormulaError", "Phi", "activation", "activations", "bench", "celu", "certify",
    "check_bits", "clamped_swiglu", "clip", "compare", "elu", "emit", "explain", "exponential",
    "gated", "geglu", "geglu_tanh", "gelu", "gelu_10", "gelu_sigmoid", "gelu_tanh", "get",
    "get_threads", "glu", "hard_mish", "hard_sigmoid", "hard_swish", "hard_tanh", "hardshrink",
    "identify", "identity", "laplace", "leaky_relu", "log_ndtr", "log_sigmoid", "mish", "names",
    "parity", "phi", "plot", "prelu", "properties", "quantized", "reglu", "relu", "relu6",
    "report", "rrelu", "scan", "selu", "set_threads", "sigmoid", "silu", "softplus", "softshrink",
    "softsign", "sparse_plus", "sparse_sigmoid", "sqrtsoftplus", "squared_relu", "squareplus",
    "swap", "swiglu", "table", "tanh", "tanhshrink", "threshold", "xielu",
]

@overload
def activation(function: Callable[..., Any], /) -> Activation:
    """Make an activation from a formula: kernels in every format, slope and curvature included."""

@overload
def activation(*, name: str | None=None, formula: str | None=None, paper: str='', fast: bool=False) -> Callable[[Callable[..., Any]], Activation]:
    """Make an activation from a formula: kernels in every format, slope and curvature included."""

def activations() -> dict[str, Activation]:
    """Return every activation by its name."""

def gated() -> dict[str, Activation]:
    """Return every gated activation by its name."""

def get(name: str, source: str | None=None, **parameters: Any) -> Activation | Any:
    """Return softgate's function called `name`, else the one that a framework calls so."""
