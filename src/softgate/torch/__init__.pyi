# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from softgate.frameworks.block_arguments import matched_width as matched_width
from softgate.frameworks.torch.decompositions import prefer_torch_operators as prefer_torch_operators
from softgate.studies.diagnose.run import diagnose as diagnose
from softgate.studies.diagnose.run import what_if as what_if
from softgate.studies.diagnose.watch import Watch as Watch
from softgate.studies.diagnose.watch import watch as watch
from softgate.studies.swap.torch_model import swap as swap
from softgate.torch import functional as functional
from softgate.torch.feed_forward import FeedForward as FeedForward
from softgate.torch.feed_forward import GatedFeedForward as GatedFeedForward
from softgate.torch.feed_forward import saved_bytes as saved_bytes
from softgate.torch.huggingface import register_huggingface as register_huggingface
from softgate.torch.model_presets import Preset as Preset
from softgate.torch.model_presets import known_presets as known_presets
from softgate.torch.model_presets import preset as preset
from softgate.torch.modules import Activation as Activation
from softgate.torch.modules import CELU as CELU
from softgate.torch.modules import ELU as ELU
from softgate.torch.modules import GELU as GELU
from softgate.torch.modules import GLU as GLU
from softgate.torch.modules import Hardshrink as Hardshrink
from softgate.torch.modules import Hardsigmoid as Hardsigmoid
from softgate.torch.modules import Hardswish as Hardswish
from softgate.torch.modules import Hardtanh as Hardtanh
from softgate.torch.modules import Identity as Identity
from softgate.torch.modules import LeakyReLU as LeakyReLU
from softgate.torch.modules import LogSigmoid as LogSigmoid
from softgate.torch.modules import Mish as Mish
from softgate.torch.modules import PReLU as PReLU
from softgate.torch.modules import RReLU as RReLU
from softgate.torch.modules import ReLU as ReLU
from softgate.torch.modules import ReLU6 as ReLU6
from softgate.torch.modules import SELU as SELU
from softgate.torch.modules import SiLU as SiLU
from softgate.torch.modules import Sigmoid as Sigmoid
from softgate.torch.modules import Softplus as Softplus
from softgate.torch.modules import Softshrink as Softshrink
from softgate.torch.modules import Softsign as Softsign
from softgate.torch.modules import Swish as Swish
from softgate.torch.modules import Tanh as Tanh
from softgate.torch.modules import Tanhshrink as Tanhshrink
from softgate.torch.modules import Threshold as Threshold
from softgate.torch.modules import make as make
from softgate.torch.transformer import SelfAttention as SelfAttention
from softgate.torch.transformer import Stack as Stack
from softgate.torch.transformer import TransformerBlock as TransformerBlock

__all__ = [
    "Activation", "CELU", "ELU", "FeedForward", "GELU", "GLU", "GatedFeedForward", "Hardshrink",
    "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU", "LogSigmoid", "Mish", "PReLU",
    "Preset", "RReLU", "ReLU", "ReLU6", "SELU", "SelfAttention", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Stack", "Swish", "Tanh", "Tanhshrink", "Threshold",
    "TransformerBlock", "Watch", "diagnose", "functional", "known_presets", "make",
    "matched_width", "prefer_torch_operators", "preset", "register_huggingface", "saved_bytes",
    "swap", "watch", "what_if",
]
