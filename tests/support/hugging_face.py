"""Hugging Face's layers with random weights, and their parameters under softgate's names.

`weights(layer, of)` takes from each parameter what `of` says, its value or its gradient, so that
one mapping serves to copy weights and to compare gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    T5Config,
    ViTConfig,
)
from transformers.models.bert import modeling_bert as bert
from transformers.models.gemma import modeling_gemma as gemma
from transformers.models.gpt2 import modeling_gpt2 as gpt2
from transformers.models.llama import modeling_llama as llama
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.t5 import modeling_t5 as t5
from transformers.models.vit import modeling_vit as vit

Of = Callable[[Tensor], Tensor]
Weights = dict[str, Tensor]


class BertFeedForward(nn.Module):
    """The dense parts of BertIntermediate and BertOutput, dropout included."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.intermediate, self.output = bert.BertIntermediate(config), bert.BertOutput(config)

    def forward(self, x: Tensor) -> Tensor:
        return self.output.dropout(self.output.dense(self.intermediate(x)))


def linear(name: str, layer: nn.Linear, of: Of) -> Weights:
    results = {f"{name}.weight": of(layer.weight)}
    return results if layer.bias is None else results | {f"{name}.bias": of(layer.bias)}


def conv1d(name: str, layer: Any, of: Of) -> Weights:
    """GPT-2 stores its matrices transposed."""
    return {f"{name}.weight": of(layer.weight).t(), f"{name}.bias": of(layer.bias)}


def prefixed(prefix: str, weights: Weights) -> Weights:
    return {f"{prefix}.{name}": weight for name, weight in weights.items()}


def bert_feed_forward(layer: Any, of: Of) -> Weights:
    return linear("fc1", layer.intermediate.dense, of) | linear("fc2", layer.output.dense, of)


def gpt2_feed_forward(layer: Any, of: Of) -> Weights:
    return conv1d("fc1", layer.c_fc, of) | conv1d("fc2", layer.c_proj, of)


def vit_feed_forward(layer: Any, of: Of) -> Weights:
    return linear("fc1", layer.fc1, of) | linear("fc2", layer.fc2, of)


def llama_feed_forward(layer: Any, of: Of) -> Weights:
    return {name: of(parameter) for name, parameter in layer.named_parameters()}


def t5_feed_forward(layer: Any, of: Of) -> Weights:
    if isinstance(layer, t5.T5DenseActDense):
        return linear("fc1", layer.wi, of) | linear("fc2", layer.wo, of)
    return (
        linear("gate_proj", layer.wi_0, of)
        | linear("up_proj", layer.wi_1, of)
        | linear("down_proj", layer.wo, of)
    )


def attention(query: Any, key: Any, value: Any, out: Any, of: Of) -> Weights:
    layers = (query, key, value)
    results = {"in_proj_weight": torch.cat([of(layer.weight) for layer in layers])}
    if query.bias is not None:
        results["in_proj_bias"] = torch.cat([of(layer.bias) for layer in layers])
    return prefixed("attention", results | linear("out_proj", out, of))


def norms(first: Any, second: Any, of: Of) -> Weights:
    return linear("norm1", first, of) | linear("norm2", second, of)


def bert_block(layer: Any, of: Of) -> Weights:
    their_attention, out = layer.attention.self, layer.attention.output
    return (
        attention(their_attention.query, their_attention.key, their_attention.value, out.dense, of)
        | norms(out.LayerNorm, layer.output.LayerNorm, of)
        | prefixed("feed_forward", bert_feed_forward(layer, of))
    )


def gpt2_block(layer: Any, of: Of) -> Weights:
    inputs = {
        "attention.in_proj_weight": of(layer.attn.c_attn.weight).t(),
        "attention.in_proj_bias": of(layer.attn.c_attn.bias),
    }
    return (
        inputs
        | prefixed("attention", conv1d("out_proj", layer.attn.c_proj, of))
        | norms(layer.ln_1, layer.ln_2, of)
        | prefixed("feed_forward", gpt2_feed_forward(layer.mlp, of))
    )


def vit_block(layer: Any, of: Of) -> Weights:
    their_attention = layer.attention
    return (
        attention(
            their_attention.q_proj,
            their_attention.k_proj,
            their_attention.v_proj,
            their_attention.o_proj,
            of,
        )
        | norms(layer.layernorm_before, layer.layernorm_after, of)
        | prefixed("feed_forward", vit_feed_forward(layer.mlp, of))
    )


def llama_block(layer: Any, of: Of) -> Weights:
    their_attention = layer.self_attn
    result = attention(
        their_attention.q_proj,
        their_attention.k_proj,
        their_attention.v_proj,
        their_attention.o_proj,
        of,
    )
    for name, norm in ("norm1", layer.input_layernorm), ("norm2", layer.post_attention_layernorm):
        result[f"{name}.weight"] = of(norm.weight)
    return result | prefixed("feed_forward", llama_feed_forward(layer.mlp, of))


def gemma_block(layer: Any, of: Of) -> Weights:
    """Gemma's norms multiply by 1 + weight; the gradient is the same."""
    result = llama_block(layer, of)
    for name in ("norm1.weight", "norm2.weight"):
        result[name] = result[name] + (1 if of is value_of else 0)
    return result


def t5_block(layer: Any, of: Of) -> Weights:
    first, last = layer.layer
    their_attention = first.SelfAttention
    result = attention(
        their_attention.q, their_attention.k, their_attention.v, their_attention.o, of
    )
    result |= {
        "norm1.weight": of(first.layer_norm.weight),
        "norm2.weight": of(last.layer_norm.weight),
    }
    return result | prefixed("feed_forward", t5_feed_forward(last.DenseReluDense, of))


def value_of(parameter: Tensor) -> Tensor:
    return parameter.detach()


def gradient_of(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def bare(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return layer(x, attention_mask=mask)


def first(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return layer(x, attention_mask=mask)[0]


def unrotated(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    """Call a layer with a rotation by 0, which changes nothing."""
    angle = x.new_zeros(1, x.shape[1], layer.self_attn.head_dim)
    return layer(x, attention_mask=mask, position_embeddings=(angle.cos(), angle.sin()))


@dataclass(frozen=True)
class Model:
    """A model's layers: a preset's name, how to make them, where their weights are."""

    config: Any
    feed_forward: Callable[[Any], nn.Module]
    feed_forward_weights: Callable[[Any, Of], Weights]
    block: Callable[[Any], nn.Module]
    block_weights: Callable[[Any, Of], Weights]
    call: Callable[[Any, Tensor, Tensor | None], Tensor]
    changes: tuple[tuple[str, int], ...] = ()
    """Arguments of the preset that are reduced, to save time."""


def eager(config: Any) -> Any:
    config._attn_implementation = "eager"
    return config


SMALL: Any = {
    "hidden_size": 48,
    "intermediate_size": 136,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 12,
}
SHRUNK = (("d_model", 48), ("d_hidden", 136), ("n_heads", 4))
T5_SMALL: Any = {"d_model": 48, "d_ff": 136, "num_heads": 4, "d_kv": 12}
VIT_SMALL: Any = {"hidden_size": 48, "intermediate_size": 136, "num_attention_heads": 4}


def _llama(config: Any, module: Any, name: str, weights: Any, *changes: tuple[str, int]) -> Model:
    mlp, layer = getattr(module, f"{name}MLP"), getattr(module, f"{name}DecoderLayer")
    make = lambda c: layer(c, layer_idx=0)  # noqa: E731
    return Model(
        eager(config), mlp, llama_feed_forward, make, weights, unrotated, (*SHRUNK, *changes)
    )


def _t5(**facts: Any) -> Model:
    config = eager(T5Config(**(T5_SMALL | facts)))
    gated = t5.T5DenseGatedActDense if config.is_gated_act else t5.T5DenseActDense
    return Model(config, gated, t5_feed_forward, t5.T5Block, t5_block, first, SHRUNK)


MODELS = {
    "bert-base": Model(
        eager(BertConfig()), BertFeedForward, bert_feed_forward, bert.BertLayer, bert_block, bare
    ),
    "gpt2": Model(
        eager(GPT2Config()),
        lambda config: gpt2.GPT2MLP(4 * config.n_embd, config),
        gpt2_feed_forward,
        lambda config: gpt2.GPT2Block(config, layer_idx=0),
        gpt2_block,
        bare,
    ),
    "vit": Model(
        eager(ViTConfig(**VIT_SMALL)),
        vit.ViTMLP,
        vit_feed_forward,
        vit.ViTLayer,
        vit_block,
        bare,
        SHRUNK,
    ),
    "llama": _llama(LlamaConfig(**SMALL), llama, "Llama", llama_block),
    "mistral": _llama(
        MistralConfig(**(SMALL | {"num_key_value_heads": 2, "rms_norm_eps": 1e-5})),
        mistral,
        "Mistral",
        llama_block,
        ("n_kv_heads", 2),
    ),
    "gemma": _llama(
        GemmaConfig(**(SMALL | {"head_dim": 20})), gemma, "Gemma", gemma_block, ("d_head", 20)
    ),
    "t5": _t5(),
    "t5-v1.1": _t5(feed_forward_proj="gated-gelu", dropout_rate=0.0),
}
