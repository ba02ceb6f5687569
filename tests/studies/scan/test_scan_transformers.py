"""`scan` of architectures of transformers without data: inputs from configurations."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import softgate as sg

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
}  # fmt: skip
TEXT = {"vocab_size": 50, **SIZES}
IMAGES = {"image_size": 32, "patch_size": 8, **SIZES}
TWO_PARTS = {
    "vocab_size": 100, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 3,
}  # fmt: skip
SOUND = {
    "vocab_size": 32, "conv_dim": [8] * 7, "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2, **SIZES,
}  # fmt: skip
TOWERS = {"text_config": TEXT, "vision_config": IMAGES}

ARCHITECTURES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "Bert": (TEXT, {"gelu": 2, "tanh": 1}),  # one in each layer, one in the pooler
    "DistilBert": (
        {"vocab_size": 50, "dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2}, {"gelu": 2},
    ),
    "Albert": ({**TEXT, "embedding_size": 8}, {"gelu_tanh": 2, "tanh": 1}),  # layers are shared
    "DebertaV2": (TEXT, {"gelu": 2}),
    "LayoutLM": (TEXT, {"gelu": 2, "tanh": 1}),
    "GPT2": ({"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2}, {"gelu_tanh": 2}),
    "Llama": (TEXT, {"silu": 2}),
    "Gemma": ({**TEXT, "head_dim": 8, "num_key_value_heads": 1}, {"gelu_tanh": 2}),
    "Mixtral": ({**TEXT, "num_key_value_heads": 1, "num_local_experts": 4}, {"silu": 2}),
    "Mamba": (  # in each layer: the convolution, the gate, the step, and the decay exp
        {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
        {"silu": 4, "softplus": 2, "exponential": 2},
    ),
    "T5": (
        {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2},
        {"relu": 4},
    ),
    "Bart": (TWO_PARTS, {"gelu": 4}),
    "ViT": (IMAGES, {"gelu": 2, "tanh": 1}),
    "Swin": (
        {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 1],
         "num_heads": [2, 2], "window_size": 4}, {"gelu": 2},
    ),
    "ConvNext": ({"hidden_sizes": [8] * 4, "depths": [1] * 4, "image_size": 32}, {"gelu": 4}),
    "RegNet": (  # the stem; in each of 2 blocks 3 relu, and those of squeeze and excitation
        {"embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1], "groups_width": 4},
        {"relu": 9, "sigmoid": 2},
    ),
    "VideoMAE": ({**IMAGES, "num_frames": 4}, {"gelu": 2}),
    "CLIP": ({**TOWERS, "projection_dim": 8}, {"gelu_sigmoid": 4}),
    "Siglip": (TOWERS, {"gelu_tanh": 5}),  # the fifth in the head of the images
    "Blip": (TOWERS, {"gelu": 4, "tanh": 1}),
    "OwlViT": (TOWERS, {"gelu_sigmoid": 4}),
    "Whisper": (  # two convolutions
        {**TWO_PARTS, "max_source_positions": 20, "max_target_positions": 20}, {"gelu": 6},
    ),
    "Wav2Vec2": (SOUND, {"gelu": 10}),  # 7 convolutions and that of the positions
    "Hubert": (SOUND, {"gelu": 10}),
    "Wav2Vec2Bert": (  # two feed-forward layers and a convolution with a gated unit in each layer
        {"vocab_size": 32, "feature_projection_input_dim": 12, **SIZES}, {"silu": 6, "sigmoid": 2},
    ),
    "Speech2Text": ({**TWO_PARTS, "conv_channels": 16}, {"sigmoid": 2, "relu": 4}),
    "AST": (
        {**SIZES, "max_length": 64, "num_mel_bins": 16, "patch_size": 8, "frequency_stride": 8,
         "time_stride": 8}, {"gelu": 2},
    ),
}  # fmt: skip


def make(name: str) -> Any:
    torch.manual_seed(0)
    settings, _ = ARCHITECTURES[name]
    configuration = getattr(transformers, f"{name}Config")(**settings)
    return getattr(transformers, f"{name}Model")(configuration).eval()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_activation_is_found_without_data(name: str) -> None:
    record = sg.scan(make(name))
    counts = Counter[str]()
    for activation in record.activations:
        counts[activation.function] += activation.calls
    assert dict(counts) == ARCHITECTURES[name][1]
    assert record.unlisted == ()
    rows = (*record.activations, *record.unidentified)
    assert sum(row.counted for row in rows) == record.operators
    assert record.closing.startswith(f"All {record.operators} activation operators")


@pytest.mark.parametrize("name", ["Whisper", "CLIP", "Wav2Vec2"])
def test_folders_by_the_command(name: str, tmp_path: Path, run_here: Any) -> None:
    make(name).save_pretrained(tmp_path)
    done = run_here("scan", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    counts = Counter[str]()
    for activation in sg.scan(os.fspath(tmp_path)).activations:
        counts[activation.function] += activation.calls
    assert dict(counts) == ARCHITECTURES[name][1]


def test_inputs_of_other_kinds_are_named() -> None:
    settings = {"prediction_length": 4, "context_length": 8}
    configuration = transformers.TimeSeriesTransformerConfig(**settings)
    with pytest.raises(ValueError, match="past_time_features") as raised:
        sg.scan(transformers.TimeSeriesTransformerModel(configuration))
    assert "--data" in str(raised.value)


def test_a_failure_on_a_made_input_names_the_option() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.layer(x.reshape(7, 4))

    with pytest.raises(ValueError, match="--data"):
        sg.scan(Odd())
    assert sg.scan(Odd(), data=torch.ones(28)).activations == ()


def test_modules_that_did_not_run_are_named() -> None:
    vision = transformers.CLIPVisionConfig(**IMAGES)
    text = transformers.LlamaConfig(**TEXT)
    configuration = transformers.LlavaConfig(
        text_config=text, vision_config=vision, image_token_id=49
    )
    record = sg.scan(transformers.LlavaModel(configuration).eval())
    assert any("vision_tower" in note and "--data" in note for note in record.notes)
