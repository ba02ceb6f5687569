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
from softgate.runtime.function_types import Gated
from softgate.runtime.function_types import GatedWithAlphaLimit
from softgate.runtime.function_types import GatedWithBeta
from softgate.runtime.function_types import GatedWithoutParameters
from softgate.runtime.function_types import WithAlpha
from softgate.runtime.function_types import WithAlphaPAlphaNBetaEps
from softgate.runtime.function_types import WithB
from softgate.runtime.function_types import WithBeta
from softgate.runtime.function_types import WithLowHigh
from softgate.runtime.function_types import WithLowHighOfHardTanh
from softgate.runtime.function_types import WithLowerUpper
from softgate.runtime.function_types import WithMuSigma
from softgate.runtime.function_types import WithSlope
from softgate.runtime.function_types import WithSlopeOfPrelu
from softgate.runtime.function_types import WithThreshold
from softgate.runtime.function_types import WithThresholdValue
from softgate.runtime.function_types import WithWidth
from softgate.runtime.function_types import WithoutParameters
from softgate.runtime.names import names as names
from softgate.runtime.threads import get_threads as get_threads
from softgate.runtime.threads import set_threads as set_threads
from softgate.studies.bench import bench as bench
from softgate.studies.certify import certify as certify
from softgate.studies.compare import compare as compare
from softgate.studies.emit import emit as emit
from softgate.studies.identify import identify as identify
from softgate.studies.parity import parity as parity
from softgate.studies.properties import properties as properties
from softgate.studies.quantized import quantized as quantized
from softgate.studies.reproducibility import check_bits as check_bits
from softgate.studies.scan import scan as scan
from softgate.studies.swap.onnx_model import swap as swap
from softgate.studies.table import table as table
from typing import Any
from typing import overload

celu: WithAlpha
"""celu(x) = x where x > 0, else alpha*(exp(x/alpha) - 1), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
alpha : float, default 1
    Minus the limit at -inf, and how far the bend reaches. Accepted: > 1e-11 and < 1e+11.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Barron 2017, Continuously differentiable exponential linear units (arXiv:1704.07483).
float32: value within 1 ulp, slope within 1.1; with other parameters 4 and 4.
float64: value within 1.3 ulp, slope within 1.1; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

clip: WithLowHigh
"""clip(x) = min(max(x, low), high), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
low : float, default 0
    The smallest value. Accepted: > -1e+38 and < 1e+38.
high : float, default 1
    The largest value. Accepted: > -1e+38 and < 1e+38 and > low.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Cai, He, Sun & Vasconcelos 2017, Deep learning with low precision by half-wave Gaussian quantization (arXiv:1702.00953).
float32: value within 0 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

elu: WithAlpha
"""elu(x) = x where x > 0, else alpha*(exp(x) - 1), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
alpha : float, default 1
    Minus the limit at -inf. Accepted: > -1e+11 and < 1e+11.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Clevert, Unterthiner & Hochreiter 2016, Fast and accurate deep network learning by exponential linear units (ELUs).
float32: value within 1 ulp, slope within 1.1; with other parameters 4 and 4.
float64: value within 1.3 ulp, slope within 1.1; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

exponential: WithoutParameters
"""exponential(x) = exp(x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Euler 1748, Introductio in analysin infinitorum.
Results beyond the largest number of a format are infinite, as they round.
float32: value within 1.1 ulp, slope within 1.1.
float64: value within 1.1 ulp, slope within 1.1.
These bounds are measured, not proven.
"""

gelu: WithoutParameters
"""gelu(x) = x*Phi(x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415).
float32: value within 3.3 ulp, slope within 3.1.
float64: value within 4.1 ulp, slope within 2.7.
These bounds are measured, not proven.
"""

gelu_10: WithoutParameters
"""gelu_10(x) = min(max(x*Phi(x), -10), 10), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Wu, Judd, Zhang, Isaev & Micikevicius 2020, Integer quantization for deep learning inference: principles and empirical evaluation (arXiv:2004.09602).
float32: value within 3.3 ulp, slope within 3.1.
float64: value within 4.1 ulp, slope within 2.7.
These bounds are measured, not proven.
"""

gelu_sigmoid: WithoutParameters
"""gelu_sigmoid(x) = x*sigmoid(1.702*x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415).
float32: value within 2 ulp, slope within 3.3.
float64: value within 2.3 ulp, slope within 4.4.
These bounds are measured, not proven.
"""

gelu_tanh: WithoutParameters
"""gelu_tanh(x) = x*sigmoid(sqrt(8/pi)*(x + 0.044715*x**3)), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415).
float32: value within 2.3 ulp, slope within 3.6.
float64: value within 2.6 ulp, slope within 4.9.
These bounds are measured, not proven.
"""

hard_mish: WithoutParameters
"""hard_mish(x) = x/2*min(max(x + 2, 0), 2), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Howard et al. 2019, Searching for MobileNetV3 (arXiv:1905.02244), its hard_swish with the corners of mish (timm).
float32: value within 1.6 ulp, slope within 0.5.
float64: value within 1.7 ulp, slope within 0.5.
These bounds are measured, not proven.
"""

hard_sigmoid: WithWidth
"""hard_sigmoid(x) = min(max(x/width + 1/2, 0), 1), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
width : float, default 6
    How far the corners are apart: 6 in PyTorch, JAX and Keras 3, 5 in ONNX and Keras 2 (where 0.2*x + 0.5 is the line), 2 in the paper. Accepted: > 1e-30 and < 1e+30.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Courbariaux, Bengio & David 2015, BinaryConnect: training deep neural networks with binary weights during propagations (arXiv:1511.00363).
float32: value within 1.1 ulp, slope within 0.4; with other parameters 4 and 4.
float64: value within 1.1 ulp, slope within 0.4; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

hard_swish: WithoutParameters
"""hard_swish(x) = x*min(max(x/6 + 1/2, 0), 1), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Howard et al. 2019, Searching for MobileNetV3 (arXiv:1905.02244).
float32: value within 2 ulp, slope within 2.1.
float64: value within 2.1 ulp, slope within 2.2.
These bounds are measured, not proven.
"""

hard_tanh: WithLowHighOfHardTanh
"""hard_tanh(x) = min(max(x, low), high), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
low : float, default -1
    The smallest value. Accepted: > -1e+38 and < 1e+38.
high : float, default 1
    The largest value. Accepted: > -1e+38 and < 1e+38 and > low.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Collobert 2004, Large scale machine learning (thesis, Université Paris 6).
float32: value within 0 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

hardshrink: WithThreshold
"""hardshrink(x) = x where abs(x) > threshold, else 0, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
threshold : float, default 0.5
    Up to where magnitudes become 0, PyTorch's `lambd`. Accepted: >= 0 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Donoho & Johnstone 1994, Ideal spatial adaptation by wavelet shrinkage.
float32: value within 0 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

identity: WithoutParameters
"""identity(x) = x, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Rosenblatt 1958, The perceptron: a probabilistic model for information storage and organization in the brain (its units' sums, before the threshold).
float32: value within 0 ulp, slope within 0.
float64: value within 0 ulp, slope within 0.
These bounds are measured, not proven.
"""

laplace: WithMuSigma
"""laplace(x) = Phi((x - mu)/sigma), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
mu : float, default 0.707107
    The centre. Accepted: > -1e+30 and < 1e+30.
sigma : float, default 0.282095
    The width. Accepted: > 1e-11 and < 1e+11.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Ma et al. 2022, Mega: moving average equipped gated attention (arXiv:2209.10655).
Hugging Face computes 0.5*(1 + erf(…)), which cancels where x < mu.
float32: value within 3.5 ulp, slope within 3.1; with other parameters 4 and 4 where |mu| <= 2**20*sigma.
float64: value within 4.3 ulp, slope within 3.3; with other parameters 4.3 and 4.
These bounds are measured, not proven.
"""

leaky_relu: WithSlope
"""leaky_relu(x) = x where x > 0, else slope*x, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
slope : float, default 0.01
    The slope where x <= 0. Accepted: > -1e+38 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Maas, Hannun & Ng 2013, Rectifier nonlinearities improve neural network acoustic models.
float32: value within 1 ulp, slope within 0.3; with other parameters 4 and 4.
float64: value within 0.5 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

log_ndtr: WithoutParameters
"""log_ndtr(x) = log(Phi(x)), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2.12.
Results beyond the largest number of a format are infinite, as they round.
float32: value within 3.9 ulp, slope within 3.3.
float64: value within 4.8 ulp, slope within 3.9.
These bounds are measured, not proven.
"""

log_sigmoid: WithoutParameters
"""log_sigmoid(x) = -log(1 + exp(-x)), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Mikolov, Sutskever, Chen, Corrado & Dean 2013, Distributed representations of words and phrases and their compositionality (arXiv:1310.4546).
float32: value within 2.1 ulp, slope within 2.5.
float64: value within 2.3 ulp, slope within 2.8.
These bounds are measured, not proven.
"""

mish: WithoutParameters
"""mish(x) = x*tanh(log(1 + exp(x))), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Misra 2019, Mish: a self regularized non-monotonic activation function (arXiv:1908.08681).
float32: value within 2.2 ulp, slope within 2.5.
float64: value within 3 ulp, slope within 3.
These bounds are measured, not proven.
"""

Phi: WithoutParameters
"""Phi(x) = Phi(x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2.
float32: value within 3 ulp, slope within 1.4.
float64: value within 4 ulp, slope within 1.4.
These bounds are measured, not proven.
"""

phi: WithoutParameters
"""phi(x) = exp(-x**2/2)/sqrt(2*pi), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2.
float32: value within 1.4 ulp, slope within 2.1.
float64: value within 1.4 ulp, slope within 2.5.
These bounds are measured, not proven.
"""

prelu: WithSlopeOfPrelu
"""prelu(x) = x where x > 0, else slope*x, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
slope : float, default 0.25
    The slope where x <= 0. Accepted: > -1e+38 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: He, Zhang, Ren & Sun 2015, Delving deep into rectifiers: surpassing human-level performance on ImageNet classification (arXiv:1502.01852).
float32: value within 0.5 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0.5 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

relu: WithoutParameters
"""relu(x) = max(x, 0), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Nair & Hinton 2010, Rectified linear units improve restricted Boltzmann machines.
float32: value within 0 ulp, slope within 0.
float64: value within 0 ulp, slope within 0.
These bounds are measured, not proven.
"""

relu6: WithoutParameters
"""relu6(x) = min(max(x, 0), 6), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Krizhevsky 2010, Convolutional deep belief networks on CIFAR-10.
float32: value within 0 ulp, slope within 0.
float64: value within 0 ulp, slope within 0.
These bounds are measured, not proven.
"""

rrelu: WithLowerUpper
"""rrelu(x) = x where x > 0, else (lower + upper)/2*x, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
lower : float, default 0.125
    The smallest slope in training. Accepted: > -1e+37 and < 1e+37.
upper : float, default 0.333333
    The largest slope in training. Accepted: > -1e+37 and < 1e+37.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Xu, Wang, Chen & Li 2015, Empirical evaluation of rectified activations in convolutional network (arXiv:1505.00853).
float32: value within 1 ulp, slope within 0.5; with other parameters 4 and 4 where |lower + upper| >= 2**-20*|upper|.
float64: value within 1.1 ulp, slope within 0.5; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

selu: WithoutParameters
"""selu(x) = scale*(x where x > 0, else alpha*(exp(x) - 1)), scale = 1.0507009873554804934..., alpha = 1.6732632423543772848..., applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Klambauer, Unterthiner, Mayr & Hochreiter 2017, Self-normalizing neural networks (arXiv:1706.02515).
float32: value within 2 ulp, slope within 1.3.
float64: value within 2 ulp, slope within 1.4.
These bounds are measured, not proven.
"""

sigmoid: WithoutParameters
"""sigmoid(x) = 1/(1 + exp(-x)), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Rumelhart, Hinton & Williams 1986, Learning representations by back-propagating errors.
float32: value within 1.6 ulp, slope within 2.1.
float64: value within 1.9 ulp, slope within 2.3.
These bounds are measured, not proven.
"""

silu: WithBeta
"""silu(x) = x*sigmoid(beta*x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
beta : float, default 1
    Steepness of the gate; 0 gives x/2. Accepted: > -1e+38 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Elfwing, Uchibe & Doya 2018, Sigmoid-weighted linear units (arXiv:1702.03118).
With beta = 1 float32 errs by at most 2.0 and 2.8 ulp; the bounds are for other betas.
float32: value within 2.2 ulp, slope within 2.8; with other parameters 4 and 4.
float64: value within 2.7 ulp, slope within 3.6; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

softplus: WithBeta
"""softplus(x) = log(1 + exp(beta*x))/beta, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
beta : float, default 1
    How sharply it bends at 0. Accepted: > 1e-11 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Dugas, Bengio, Belisle, Nadeau & Garcia 2001, Incorporating second-order functional knowledge for better option pricing.
Computed as defined everywhere. torch.nn.Softplus returns x itself where beta*x is above its `threshold` of 20: the same in float32, but in float64 off by up to 2e-9/beta.
float32: value within 2.1 ulp, slope within 2.5; with other parameters 4 and 4.
float64: value within 2.2 ulp, slope within 2.8; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

softshrink: WithThreshold
"""softshrink(x) = x - threshold where x > threshold, x + threshold where x < -threshold, else 0, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
threshold : float, default 0.5
    What magnitudes lose, PyTorch's `lambd`. Accepted: >= 0 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Donoho & Johnstone 1994, Ideal spatial adaptation by wavelet shrinkage.
float32: value within 0.5 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0.5 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

softsign: WithoutParameters
"""softsign(x) = x/(1 + abs(x)), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Turian, Bergstra & Bengio 2009, Quadratic features and deep architectures for chunking.
float32: value within 2 ulp, slope within 1.1.
float64: value within 2.2 ulp, slope within 1.1.
These bounds are measured, not proven.
"""

sparse_plus: WithoutParameters
"""sparse_plus(x) = 0 where x <= -1, x where x >= 1, else (x + 1)**2/4, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Martins & Astudillo 2016, From softmax to sparsemax (arXiv:1602.02068).
float32: value within 0.6 ulp, slope within 0.5.
float64: value within 0.6 ulp, slope within 0.5.
These bounds are measured, not proven.
"""

sparse_sigmoid: WithoutParameters
"""sparse_sigmoid(x) = min(max((x + 1)/2, 0), 1), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Martins & Astudillo 2016, From softmax to sparsemax (arXiv:1602.02068).
float32: value within 0.5 ulp, slope within 0.
float64: value within 0.5 ulp, slope within 0.
These bounds are measured, not proven.
"""

sqrtsoftplus: WithoutParameters
"""sqrtsoftplus(x) = sqrt(log(1 + exp(x))), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: DeepSeek-AI 2026, DeepSeek-V4 (the score of its routers).
float32: value within 1.8 ulp, slope within 3.4.
float64: value within 1.8 ulp, slope within 3.7.
These bounds are measured, not proven.
"""

squared_relu: WithoutParameters
"""squared_relu(x) = max(x, 0)**2, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: So, Mańke, Liu, Dai, Shazeer & Le 2021, Primer: searching for efficient transformers for language modeling (arXiv:2109.08668).
Squares beyond the largest number of a format are infinite, as they round.
float32: value within 0.5 ulp, slope within 0.
float64: value within 0.5 ulp, slope within 0.
These bounds are measured, not proven.
"""

squareplus: WithB
"""squareplus(x) = (x + sqrt(x**2 + b))/2, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
b : float, default 4
    How round the bend is. With 0 it is relu, whose slope at 0 is 0. Accepted: >= 0 and < 1e+30.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Barron 2021, Squareplus: a softplus-like algebraic rectifier (arXiv:2112.11687).
float32: value within 2.1 ulp, slope within 2.7; with other parameters 4 and 4.
float64: value within 2.2 ulp, slope within 3; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

tanh: WithoutParameters
"""tanh(x) = tanh(x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: LeCun, Bottou, Orr & Müller 1998, Efficient BackProp.
float32: value within 2.5 ulp, slope within 2.1.
float64: value within 2.5 ulp, slope within 2.5.
These bounds are measured, not proven.
"""

tanhshrink: WithoutParameters
"""tanhshrink(x) = x - tanh(x), applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Collobert, Kavukcuoglu & Farabet 2011, Torch7: a Matlab-like environment for machine learning.
float32: value within 2.2 ulp, slope within 2.1.
float64: value within 2.5 ulp, slope within 2.4.
These bounds are measured, not proven.
"""

threshold: WithThresholdValue
"""threshold(x) = x where x > threshold, else value, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
threshold : float, default 1
    Up to where x is replaced, ONNX' `alpha`. PyTorch and Keras have no default. Accepted: > -1e+38 and < 1e+38.
value : float, default 0
    What replaces x. Accepted: > -1e+38 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Konda, Memisevic & Krueger 2014, Zero-bias autoencoders and the benefits of co-adapting features (arXiv:1402.3337).
float32: value within 0 ulp, slope within 0; with other parameters 4 and 4.
float64: value within 0 ulp, slope within 0; with other parameters 4 and 4.
These bounds are measured, not proven.
"""

xielu: WithAlphaPAlphaNBetaEps
"""xielu(x) = alpha_p*x**2 + beta*x where x > 0, else alpha_n*(exp(min(x, eps)) - 1 - x) + beta*x, applied to each element.

Parameters
----------
x : number, list or array
    Where to evaluate.
alpha_p : float, default 0.8
    Half the curvature where x > 0. Hugging Face trains its inverse softplus. Accepted: > 0 and < 1e+11.
alpha_n : float, default 0.8
    The curvature left of 0. Hugging Face trains the inverse softplus of alpha_n - beta. Accepted: > 0 and < 1e+11.
beta : float, default 0.5
    The slope at 0. Accepted: >= 0 and < 1e+11.
eps : float, default 0
    The largest argument of the exponential: 0 in the paper, -1e-6 in Hugging Face, where the value therefore jumps at 0. Accepted: > -1 and < 1.
out : numpy.ndarray, optional
    Where results go; may be `x` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Huang & Schlag 2024, Deriving activation functions using integration (arXiv:2411.13010).
It has a root where x < 0 if alpha_n > beta. Its errors are measured in ulps of the larger summand, alpha_n*(exp(x) - 1 - x) or beta*x; between eps and 0, where the first is alpha_n*(exp(eps) - 1) - alpha_n*x, of the largest of these.
float32: value within 2.2 ulp, slope within 1.1; with other parameters 4 and 4 where alpha_n <= 2*beta.
float64: value within 2.2 ulp, slope within 1.1; with other parameters 4 and 4 where alpha_n <= 2*beta.
These bounds are measured, not proven.
"""

glu: GatedWithoutParameters
"""glu(a, b) = a*sigmoid(b), applied to each pair of elements.

The second operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Dauphin, Fan, Auli & Grangier 2017, Language modeling with gated convolutional networks.
float32: value within 2.9 ulp, slopes within 3.2.
float64: value within 3.2 ulp, slopes within 3.7.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far
left, times an infinite other is NaN.
"""

reglu: GatedWithoutParameters
"""reglu(a, b) = relu(a)*b, applied to each pair of elements.

The first operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202).
float32: value within 0.5 ulp, slopes within 0.5.
float64: value within 0.5 ulp, slopes within 0.5.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far
left, times an infinite other is NaN.
"""

geglu: GatedWithoutParameters
"""geglu(a, b) = gelu(a)*b, applied to each pair of elements.

The first operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202).
float32: value within 3.95 ulp, slopes within 3.9.
float64: value within 4.9 ulp, slopes within 5.2.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far
left, times an infinite other is NaN.
"""

geglu_tanh: GatedWithoutParameters
"""geglu_tanh(a, b) = gelu_tanh(a)*b, applied to each pair of elements.

The first operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202).
float32: value within 3.2 ulp, slopes within 3.95.
float64: value within 3.6 ulp, slopes within 4.7.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far
left, times an infinite other is NaN.
"""

swiglu: GatedWithBeta
"""swiglu(a, b) = silu(a)*b, applied to each pair of elements.

The first operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
beta : float, default 1
    Steepness of the gate; 0 gives x/2. Accepted: > -1e+38 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202).
float32: value within 3.15 ulp, slopes within 3.95; with other parameters 4 and 4.
float64: value within 3.5 ulp, slopes within 4.6; with other parameters 4 and 4.6.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far
left, times an infinite other is NaN.
"""

clamped_swiglu: GatedWithAlphaLimit
"""clamped_swiglu(a, b) = g*sigmoid(alpha*g)*(1 + clip(b, -limit, limit)), g = min(a, limit), applied to each pair of elements.

The first operand is the gate. One array is cut in two halves, a and b.

Parameters
----------
a, b : number, list or array
    The operands, broadcast against each other; or `a` alone, to be cut in two.
axis : int, default -1
    Where one array is cut.
alpha : float, default 1.702
    Steepness of the gate. Accepted: > 0 and < 1e+38.
limit : float, default 7
    Largest gate, and largest absolute value of the other operand. Accepted: > 0 and < 1e+38.
out : numpy.ndarray, optional
    Where results go; may be `a` or `b` itself.
arithmetic : {"float64"}, optional
    Compute float32 in float64, round once.
gate : {"first", "second"}, optional
    Which operand is the gate.

Methods
-------
slope, curvature, backward : its derivatives.

Notes
-----
Source: OpenAI 2025, gpt-oss-120b & gpt-oss-20b model card (arXiv:2508.10925).
float32: value within 3.05 ulp, slopes within 3.7; with other parameters 4 and 4.
float64: value within 3.5 ulp, slopes within 4.4; with other parameters 4 and 4.4.
These bounds are measured, not proven.
They hold where the gate's activation is a normal number of the format (in 16-bit formats,
of float32); where it is subnormal, its own rounding times |other| comes on top.
The slope of a clamped operand is 1 at the limit, as that of torch.clamp, and 0 beyond it.
"""

__version__: str

__all__ = [
    "Activation",
    "FormulaError",
    "Phi",
    "activation",
    "activations",
    "bench",
    "celu",
    "certify",
    "check_bits",
    "clamped_swiglu",
    "clip",
    "compare",
    "elu",
    "emit",
    "explain",
    "exponential",
    "gated",
    "geglu",
    "geglu_tanh",
    "gelu",
    "gelu_10",
    "gelu_sigmoid",
    "gelu_tanh",
    "get",
    "get_threads",
    "glu",
    "hard_mish",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "hardshrink",
    "identify",
    "identity",
    "laplace",
    "leaky_relu",
    "log_ndtr",
    "log_sigmoid",
    "mish",
    "names",
    "parity",
    "phi",
    "plot",
    "prelu",
    "properties",
    "quantized",
    "reglu",
    "relu",
    "relu6",
    "report",
    "rrelu",
    "scan",
    "selu",
    "set_threads",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sqrtsoftplus",
    "squared_relu",
    "squareplus",
    "swap",
    "swiglu",
    "table",
    "tanh",
    "tanhshrink",
    "threshold",
    "xielu",
]

@overload
def activation(function: Callable[..., Any], /) -> Activation:
    """Make an activation from a formula: kernels in every format, slope and curvature included.

    The function is called once, with an arithmetic `f`, a symbolic `x` and symbolic keywords.
    Python's operators work, including `x**3`, and `f` has exp, expm1, log, log1p, sqrt, tanh,
    sigmoid, softplus, erf, erfc, Phi, phi, sin, cos, atan, abs, where, maximum, minimum, clip,
    relu, sign, square and pi. Write f.where(x > 0, a, b) instead of `if`. Keywords with a default
    are parameters, and may be any finite number.

    Parameters
    ----------
    function : callable
        `function(f, x, **parameters)`, returning an expression.
    name : str, optional
        The name of the activation; by default that of the function.
    formula, paper : str, optional
        Shown in the docstring; by default the formula is that of the traced expression.
    fast : bool
        Compute float32 in float32. Otherwise it is computed in float64 and rounded once.

    Returns
    -------
    Activation
        Called like those of the catalogue, but not added to it.

    Raises
    ------
    FormulaError
        If Python branches or loops on a value, or a function is not one of `f`; the message has the
        file, the line and what to write instead.

    Notes
    -----
    The formula is computed as written, except for identities that avoid cancellation or overflow
    in terms such as 1/(1 + exp(-x)), log(1 + exp(x)) and 1 + erf(x). Other differences may cancel,
    which reduces the accuracy of float64. Results at ±inf are the formula's limits, NaN where it
    has none. If a part of the formula overflows at a finite x (float64: above 1e308), the result is
    that of IEEE arithmetic. sin and cos are accurate up to 3.5e13 (with `fast` in float32: 1.3e5);
    beyond that they are only guaranteed to be between -1 and 1.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> @sg.activation
    ... def snake(f, x, a=1.0):
    ...     return x + (1 - f.cos(2 * a * x)) / (2 * a)
    >>> snake
    <...snake(x, a=1) = x + (1 - cos(2*a*x))/(2*a)>
    >>> snake(np.array([-np.inf, 0.0, 1.0], np.float32))
    array([     -inf, 0.       , 1.7080734], dtype=float32)
    >>> snake.slope([0.0, 1.0], a=0.5)
    array([1.        , 1.84147098])
    """

@overload
def activation(*, name: str | None=None, formula: str | None=None, paper: str='', fast: bool=False) -> Callable[[Callable[..., Any]], Activation]:
    """Make an activation from a formula: kernels in every format, slope and curvature included.

    The function is called once, with an arithmetic `f`, a symbolic `x` and symbolic keywords.
    Python's operators work, including `x**3`, and `f` has exp, expm1, log, log1p, sqrt, tanh,
    sigmoid, softplus, erf, erfc, Phi, phi, sin, cos, atan, abs, where, maximum, minimum, clip,
    relu, sign, square and pi. Write f.where(x > 0, a, b) instead of `if`. Keywords with a default
    are parameters, and may be any finite number.

    Parameters
    ----------
    function : callable
        `function(f, x, **parameters)`, returning an expression.
    name : str, optional
        The name of the activation; by default that of the function.
    formula, paper : str, optional
        Shown in the docstring; by default the formula is that of the traced expression.
    fast : bool
        Compute float32 in float32. Otherwise it is computed in float64 and rounded once.

    Returns
    -------
    Activation
        Called like those of the catalogue, but not added to it.

    Raises
    ------
    FormulaError
        If Python branches or loops on a value, or a function is not one of `f`; the message has the
        file, the line and what to write instead.

    Notes
    -----
    The formula is computed as written, except for identities that avoid cancellation or overflow
    in terms such as 1/(1 + exp(-x)), log(1 + exp(x)) and 1 + erf(x). Other differences may cancel,
    which reduces the accuracy of float64. Results at ±inf are the formula's limits, NaN where it
    has none. If a part of the formula overflows at a finite x (float64: above 1e308), the result is
    that of IEEE arithmetic. sin and cos are accurate up to 3.5e13 (with `fast` in float32: 1.3e5);
    beyond that they are only guaranteed to be between -1 and 1.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> @sg.activation
    ... def snake(f, x, a=1.0):
    ...     return x + (1 - f.cos(2 * a * x)) / (2 * a)
    >>> snake
    <...snake(x, a=1) = x + (1 - cos(2*a*x))/(2*a)>
    >>> snake(np.array([-np.inf, 0.0, 1.0], np.float32))
    array([     -inf, 0.       , 1.7080734], dtype=float32)
    >>> snake.slope([0.0, 1.0], a=0.5)
    array([1.        , 1.84147098])
    """

def activations() -> dict[str, Activation]:
    """Return every activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.activations()["gelu"] is sg.gelu
    True
    """

def gated() -> dict[str, Gated]:
    """Return every gated activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.gated()["swiglu"] is sg.swiglu
    True
    """

def get(name: str, source: str | None=None, **parameters: Any) -> Activation | Any:
    """Return softgate's function called `name`, else the one that a framework calls so.

    A name of softgate means softgate's function unless a source is given: "gelu" is x·Phi(x), which
    PyTorch, Keras, TensorFlow and Hugging Face call so too. In JAX and keras.ops it means gelu_tanh
    by default: get("gelu", source="jax"). `softgate names gelu` lists all of its meanings.

    Parameters
    ----------
    name : str
        softgate's name, or a framework's name or full path: "gelu", "gelu_new", "LeakyReLU",
        "torch.nn.GELU", "com.microsoft.FastGelu".
    source : str, optional
        The framework of the name, as in `names`. Needed if softgate has no function of this name
        and frameworks use it for several.
    **parameters
        softgate's parameters, or with a source also those of the framework: `negative_slope=0.2`,
        `approximate="tanh"`.

    Returns
    -------
    Activation or Gated
        With the parameters bound. Few names refer to gated functions, so the annotation is
        Activation.

    Raises
    ------
    ValueError
        If the name is unknown, is none of softgate's and means several functions, or one that
        softgate does not implement.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.get("gelu").name, sg.get("gelu_new").name
    ('gelu', 'gelu_tanh')
    >>> sg.get("gelu", source="jax").name, sg.get("keras.ops.gelu").name
    ('gelu_tanh', 'gelu_tanh')
    >>> sg.get("gelu", source="torch", approximate="tanh").name
    'gelu_tanh'
    >>> sg.get("leaky_relu", source="tensorflow")
    <softgate.leaky_relu(x, slope=0.2) = x where x > 0, else slope*x>
    """
