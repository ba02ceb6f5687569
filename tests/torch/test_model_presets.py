"""Presets compared with Hugging Face's configurations and models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    GemmaConfig,
    GPT2Config,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    PretrainedConfig,
    T5Config,
    ViTConfig,
)
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss

import softgate as sg
import softgate.torch.functional as F
from softgate.torch import GatedFeedForward, Preset, Stack, known_presets, preset

BERT_LARGE: Any = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
T5_BASE: Any = {"d_model": 768, "num_layers": 12, "num_heads": 12}
CONFIGS: dict[str, PretrainedConfig] = {
    "bert-base": BertConfig(),
    "bert-large": BertConfig(**BERT_LARGE),
    "gpt2": GPT2Config(n_inner=4 * 768),  # what None means there
    "llama": LlamaConfig(),
    "mistral": MistralConfig(rms_norm_eps=1e-5),  # the checkpoint's; the class has 1e-6
    "gemma": GemmaConfig(),
    "t5": T5Config(d_ff=3072, **T5_BASE),
    "t5-v1.1": T5Config(d_ff=2048, feed_forward_proj="gated-gelu", dropout_rate=0.0, **T5_BASE),
    "vit": ViTConfig(),
}
SPELLINGS = {
    "n_blocks": ("num_hidden_layers", "n_layer", "num_layers"),
    "d_model": ("hidden_size", "n_embd", "d_model"),
    "n_heads": ("num_attention_heads", "n_head", "num_heads"),
    "n_kv_heads": ("num_key_value_heads",),
    "d_head": ("head_dim", "d_kv"),
    "d_hidden": ("intermediate_size", "n_inner", "d_ff"),
    "eps": ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"),
    "dropout": ("hidden_dropout_prob", "resid_pdrop", "dropout_rate"),
    "attention_dropout": ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout"),
}
"""What configurations call a fact."""


def fact(config: PretrainedConfig, name: str) -> Any:
    values = [value for s in SPELLINGS[name] if (value := getattr(config, s, None)) is not None]
    return values[0] if values else None


def meant(model: Preset, name: str) -> Any:
    """Return a fact, with the default that None means."""
    value = getattr(model, name)
    if value is not None:
        return value
    return {
        "n_kv_heads": model.n_heads,
        "d_head": model.d_model // model.n_heads,
        "attention_dropout": model.dropout,
    }[name]


@pytest.mark.parametrize("name", CONFIGS)
def test_facts_are_the_configurations(name: str) -> None:
    for what in SPELLINGS:
        expected = fact(CONFIGS[name], what)
        if expected is None:
            assert what in ("n_kv_heads", "d_head", "dropout", "attention_dropout")
        else:
            assert meant(preset(name), what) == expected, what


@pytest.mark.parametrize("name", CONFIGS)
def test_activations_are_the_configurations(name: str) -> None:
    config = CONFIGS[name]
    spellings = ("hidden_act", "activation_function", "dense_act_fn")
    (spelled,) = [v for s in spellings if (v := getattr(config, s, None)) is not None]
    activation = preset(name).feed_forward(device="meta").act.activation
    assert activation is sg.get(spelled, "huggingface")
    gated = name in ("llama", "mistral", "gemma") or bool(getattr(config, "is_gated_act", False))
    assert isinstance(preset(name).feed_forward(device="meta"), GatedFeedForward) == gated


def test_only_the_original_has_no_configuration() -> None:
    assert [p.name for p in known_presets() if p.name not in CONFIGS] == ["transformer"]
    original = preset("transformer")
    theirs = torch.nn.TransformerEncoderLayer(512, 8, device="meta")
    assert (original.d_hidden, original.dropout) == (2048, theirs.dropout.p)
    assert theirs.activation is torch.nn.functional.relu
    assert original.activation == "relu"


def test_berts_tanh_is_in_the_pooler_alone() -> None:
    stack = preset("bert-base").stack(device="meta")
    used = [b.feed_forward.act.activation.name for b in stack.blocks]
    assert used == ["gelu"] * 12
    assert preset("bert-base").pooler == "tanh"


@pytest.mark.parametrize("model", known_presets(), ids=lambda p: p.name)
def test_a_preset_builds_what_it_says(model: Preset) -> None:
    stack = model.stack(device="meta")
    assert len(stack.blocks) == model.n_blocks
    block = stack.blocks[0]
    assert (block.norm, block.attention.causal) == (model.norm, model.causal)
    assert (stack.norm is not None) == (model.norm == "pre")
    biased = any("bias" in name for name, _ in stack.named_parameters())
    assert biased == model.bias
    assert len(model.stack(n=2, device="meta").blocks) == 2
    assert model.source
    assert model.note


@pytest.mark.parametrize("model", known_presets(), ids=lambda p: p.name)
def test_a_small_model_of_it_runs(model: Preset) -> None:
    size = {"d_model": 16, "n_heads": 4, "d_hidden": 24}
    stack = model.stack(n=1, batch_first=True, **size)
    x = torch.randn(2, 5, 16)
    assert isinstance(stack, Stack)
    assert stack(x).shape == x.shape
    stack(x).square().sum().backward()
    assert all(p.grad is not None for p in stack.parameters())


@pytest.mark.parametrize("model", known_presets(), ids=lambda p: p.name)
def test_any_fact_may_be_changed(model: Preset) -> None:
    facts: dict[str, Any] = {
        "n_blocks": 2, "d_model": 32, "n_heads": 8, "d_hidden": 24, "activation": "tanh",
        "norm": "post", "normalization": "layer", "eps": 1e-3, "bias": True, "causal": True,
        "dropout": 0.3, "attention_dropout": 0.2, "hidden_dropout": 0.1, "n_kv_heads": 2,
        "d_head": 6, "scale": 0.5,
    }  # fmt: skip
    stack = model.stack(device="meta", **facts)
    assert repr(stack) == repr(Stack(2, 32, 8, 24, **dict(list(facts.items())[4:])))
    assert repr(model.block(device="meta", **facts)) == repr(stack.blocks[0])
    assert repr(model.feed_forward(device="meta", **facts)) == repr(stack.blocks[0].feed_forward)
    with pytest.raises(TypeError, match="n and n_blocks have the same meaning"):
        model.stack(3, n_blocks=2)


def test_facts_follow_from_those_that_are_changed() -> None:
    """Four queries share a key in Mistral; Gemma's width of a head is its own, not d_model's."""
    small: Any = {"d_model": 16, "n_heads": 4, "d_hidden": 32}
    mistral = preset("mistral").block(**small).attention
    assert (mistral.n_kv_heads, mistral.d_head) == (1, 4)
    assert preset("mistral").block(**small, n_kv_heads=2).attention.n_kv_heads == 2
    assert preset("gemma").block(**small).attention.d_head == 4
    assert preset("gemma").block(**small, d_head=6).attention.d_head == 6
    with pytest.raises(ValueError, match=r"n_heads = 6 is not a multiple of 4.*give n_kv_heads"):
        preset("mistral").block(d_model=36, n_heads=6)


def test_the_whole_stack_of_berts_encoder() -> None:
    """768·768·4 + 2·768·3072 weights a block, biases and norms besides: 85,054,464 in 12 blocks."""
    stack = preset("bert-base").stack(device="meta")
    assert sum(p.numel() for p in stack.parameters()) == 85_054_464


def test_json_and_text() -> None:
    for model in known_presets():
        assert Preset.from_json(model.to_json()) == model
        assert model.source in str(model)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown preset 'gpt-2'; did you mean 'gpt2'\? Choose from"
    ):
        preset("gpt-2")
    with pytest.raises(TypeError, match="expected a string"):
        preset(12)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="n_haeds"):
        preset("gpt2").block(n_haeds=3)


def test_clamped_swiglu_is_that_of_gpt_oss() -> None:
    """`GptOssExperts` has gate and up interleaved in one tensor: two views of it are passed."""
    experts = gpt_oss.GptOssExperts(
        GptOssConfig(hidden_size=4, intermediate_size=8, num_local_experts=1)
    )
    x = 20 * torch.rand(5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) - 10
    x[0, :4] = torch.tensor([7.0, 7.0, 1.0, -7.0])  # at the limits
    both = []
    for function in (
        experts._apply_gate,
        lambda v: F.clamped_swiglu(v[..., ::2], v[..., 1::2], experts.limit, experts.alpha),
    ):
        operand = x.clone().requires_grad_()
        value = function(operand)
        value.sum().backward()
        both.append((value, operand.grad))
    torch.testing.assert_close(*both, rtol=1e-13, atol=1e-300)
