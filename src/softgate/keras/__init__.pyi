# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from softgate.frameworks.block_arguments import matched_width as matched_width
from softgate.keras.activation import Activation as Activation
from softgate.keras.activation import GatedActivation as GatedActivation
from softgate.keras.activation import get as get
from softgate.keras.block_parts import load_state_dict as load_state_dict
from softgate.keras.feed_forward import FeedForward as FeedForward
from softgate.keras.feed_forward import GatedFeedForward as GatedFeedForward
from softgate.keras.transformer import SelfAttention as SelfAttention
from softgate.keras.transformer import TransformerBlock as TransformerBlock
from softgate.studies.diagnose.keras_watch import Watch as Watch
from softgate.studies.swap.keras_model import swap as swap

__all__ = [
    "Activation", "FeedForward", "GatedActivation", "GatedFeedForward", "Phi", "SelfAttention",
    "TransformerBlock", "Watch", "celu", "clamped_swiglu", "clip", "elu", "exponential", "geglu",
    "geglu_tanh", "gelu", "gelu_10", "gelu_sigmoid", "gelu_tanh", "get", "glu", "hard_mish",
    "hard_sigmoid", "hard_swish", "hard_tanh", "hardshrink", "identity", "laplace", "leaky_relu",
    "load_state_dict", "log_ndtr", "log_sigmoid", "matched_width", "mish", "phi", "prelu", "reglu",
    "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softplus", "softshrink", "softsign",
    "sparse_plus", "sparse_sigmoid", "sqrtsoftplus", "squared_relu", "squareplus", "swap",
    "swiglu", "tanh", "tanhshrink", "threshold", "xielu",
]

celu: Activation
"""celu(x) = x where x > 0, else alpha*(exp(x/alpha) - 1), applied to each element."""

clip: Activation
"""clip(x) = min(max(x, low), high), applied to each element."""

elu: Activation
"""elu(x) = x where x > 0, else alpha*(exp(x) - 1), applied to each element."""

exponential: Activation
"""exponential(x) = exp(x), applied to each element."""

gelu: Activation
"""gelu(x) = x*Phi(x), applied to each element."""

gelu_10: Activation
"""gelu_10(x) = min(max(x*Phi(x), -10), 10), applied to each element."""

gelu_sigmoid: Activation
"""gelu_sigmoid(x) = x*sigmoid(1.702*x), applied to each element."""

gelu_tanh: Activation
"""gelu_tanh(x) = x*sigmoid(sqrt(8/pi)*(x + 0.044715*x**3)), applied to each element."""

hard_mish: Activation
"""hard_mish(x) = x/2*min(max(x + 2, 0), 2), applied to each element."""

hard_sigmoid: Activation
"""hard_sigmoid(x) = min(max(x/width + 1/2, 0), 1), applied to each element."""

hard_swish: Activation
"""hard_swish(x) = x*min(max(x/6 + 1/2, 0), 1), applied to each element."""

hard_tanh: Activation
"""hard_tanh(x) = min(max(x, low), high), applied to each element."""

hardshrink: Activation
"""hardshrink(x) = x where abs(x) > threshold, else 0, applied to each element."""

identity: Activation
"""identity(x) = x, applied to each element."""

laplace: Activation
"""laplace(x) = Phi((x - mu)/sigma), applied to each element."""

leaky_relu: Activation
"""leaky_relu(x) = x where x > 0, else slope*x, applied to each element."""

log_ndtr: Activation
"""log_ndtr(x) = log(Phi(x)), applied to each element."""

log_sigmoid: Activation
"""log_sigmoid(x) = -log(1 + exp(-x)), applied to each element."""

mish: Activation
"""mish(x) = x*tanh(log(1 + exp(x))), applied to each element."""

Phi: Activation
"""Phi(x) = Phi(x), applied to each element."""

phi: Activation
"""phi(x) = exp(-x**2/2)/sqrt(2*pi), applied to each element."""

prelu: Activation
"""prelu(x) = x where x > 0, else slope*x, applied to each element."""

relu: Activation
"""relu(x) = max(x, 0), applied to each element."""

relu6: Activation
"""relu6(x) = min(max(x, 0), 6), applied to each element."""

rrelu: Activation
"""rrelu(x) = x where x > 0, else (lower + upper)/2*x, applied to each element."""

selu: Activation
"""selu(x) = scale*(x where x > 0, else alpha*(exp(x) - 1)), scale = 1.0507009873554804934..., alpha = 1.6732632423543772848..., applied to each element."""

sigmoid: Activation
"""sigmoid(x) = 1/(1 + exp(-x)), applied to each element."""

silu: Activation
"""silu(x) = x*sigmoid(beta*x), applied to each element."""

softplus: Activation
"""softplus(x) = log(1 + exp(beta*x))/beta, applied to each element."""

softshrink: Activation
"""softshrink(x) = x - threshold where x > threshold, x + threshold where x < -threshold, else 0, applied to each element."""

softsign: Activation
"""softsign(x) = x/(1 + abs(x)), applied to each element."""

sparse_plus: Activation
"""sparse_plus(x) = 0 where x <= -1, x where x >= 1, else (x + 1)**2/4, applied to each element."""

sparse_sigmoid: Activation
"""sparse_sigmoid(x) = min(max((x + 1)/2, 0), 1), applied to each element."""

sqrtsoftplus: Activation
"""sqrtsoftplus(x) = sqrt(log(1 + exp(x))), applied to each element."""

squared_relu: Activation
"""squared_relu(x) = max(x, 0)**2, applied to each element."""

squareplus: Activation
"""squareplus(x) = (x + sqrt(x**2 + b))/2, applied to each element."""

tanh: Activation
"""tanh(x) = tanh(x), applied to each element."""

tanhshrink: Activation
"""tanhshrink(x) = x - tanh(x), applied to each element."""

threshold: Activation
"""threshold(x) = x where x > threshold, else value, applied to each element."""

xielu: Activation
"""xielu(x) = alpha_p*x**2 + beta*x where x > 0, else alpha_n*(exp(min(x, eps)) - 1 - x) + beta*x, applied to each element."""

clamped_swiglu: Activation
"""clamped_swiglu(a, b) = g*sigmoid(alpha*g)*(1 + clip(b, -limit, limit)), g = min(a, limit), applied to each pair of elements."""

geglu: Activation
"""geglu(a, b) = gelu(a)*b, applied to each pair of elements."""

geglu_tanh: Activation
"""geglu_tanh(a, b) = gelu_tanh(a)*b, applied to each pair of elements."""

glu: Activation
"""glu(a, b) = a*sigmoid(b), applied to each pair of elements."""

reglu: Activation
"""reglu(a, b) = relu(a)*b, applied to each pair of elements."""

swiglu: Activation
"""swiglu(a, b) = silu(a)*b, applied to each pair of elements."""
