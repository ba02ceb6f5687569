"""prelu(x) = x where x > 0, else slope·x: leaky_relu with a slope that is learnt, from 0.25 on."""

from dataclasses import replace

from . import leaky_relu
from .entry import ErrorBound

(parameter,) = leaky_relu.entry.parameters

entry = replace(
    leaky_relu.entry,
    name="prelu",
    tensor_slope="slope",
    special_case_of="leaky_relu",
    paper="He, Zhang, Ren & Sun 2015, Delving deep into rectifiers: surpassing human-level "
    "performance on ImageNet classification (arXiv:1502.01852)",
    bounds={"float32": ErrorBound(0.5, 0.0), "float64": ErrorBound(0.5, 0.0)},
    parameters=(replace(parameter, default=0.25),),
)
