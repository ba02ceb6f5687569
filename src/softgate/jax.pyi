# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from softgate import Activation
from softgate import Phi as Phi
from softgate import celu as celu
from softgate import clamped_swiglu as clamped_swiglu
from softgate import clip as clip
from softgate import elu as elu
from softgate import exponential as exponential
from softgate import geglu as geglu
from softgate import geglu_tanh as geglu_tanh
from softgate import gelu as gelu
from softgate import gelu_10 as gelu_10
from softgate import gelu_sigmoid as gelu_sigmoid
from softgate import gelu_tanh as gelu_tanh
from softgate import glu as glu
from softgate import hard_mish as hard_mish
from softgate import hard_sigmoid as hard_sigmoid
from softgate import hard_swish as hard_swish
from softgate import hard_tanh as hard_tanh
from softgate import hardshrink as hardshrink
from softgate import identity as identity
from softgate import laplace as laplace
from softgate import leaky_relu as leaky_relu
from softgate import log_ndtr as log_ndtr
from softgate import log_sigmoid as log_sigmoid
from softgate import mish as mish
from softgate import phi as phi
from softgate import prelu as prelu
from softgate import reglu as reglu
from softgate import relu as relu
from softgate import relu6 as relu6
from softgate import rrelu as rrelu
from softgate import selu as selu
from softgate import sigmoid as sigmoid
from softgate import silu as silu
from softgate import softplus as softplus
from softgate import softshrink as softshrink
from softgate import softsign as softsign
from softgate import sparse_plus as sparse_plus
from softgate import sparse_sigmoid as sparse_sigmoid
from softgate import sqrtsoftplus as sqrtsoftplus
from softgate import squared_relu as squared_relu
from softgate import squareplus as squareplus
from softgate import swiglu as swiglu
from softgate import tanh as tanh
from softgate import tanhshrink as tanhshrink
from softgate import threshold as threshold
from softgate import xielu as xielu
from softgate.frameworks.jax.cpu_kernels import prefer_operators as prefer_operators
from typing import Any

def get(name: str, source: str | None=None, **parameters: Any) -> Activation | Any:
    """Return a function by name: softgate's, else JAX's, else any framework's."""
