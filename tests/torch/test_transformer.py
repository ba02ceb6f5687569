"""Blocks against the real thing: the articles' snippets, torch's and Hugging Face's layers.

Weights are copied over, then outputs and all gradients must agree to float32's rounding.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import hugging_face as hf
import pytest
import torch
from closeness import CLOSE, distance, hidden, inputs, shaken
from torch import Tensor, nn

import softgate as sg
from softgate.torch import FeedForward, GatedFeedForward, Stack, TransformerBlock, preset


def agree(
    ours: nn.Module, theirs: nn.Module, y: Tensor, expected: Tensor, weights: Any, x: Tensor
) -> None:
    """Compare outputs, and the gradients of the input and of every parameter."""
    assert distance(y, expected) < CLOSE
    grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    (ours_x,) = torch.autograd.grad(y, x, grad, retain_graph=True)
    (theirs_x,) = torch.autograd.grad(expected, x, grad, retain_graph=True)
    assert distance(ours_x, theirs_x) < CLOSE
    y.backward(grad)
    expected.backward(grad)
    theirs_grads = weights(theirs, hf.gradient_of)
    ours_grads = {name: p.grad for name, p in ours.named_parameters()}
    assert set(ours_grads) == set(theirs_grads)
    for name, actual in ours_grads.items():
        assert actual is not None
        scale = theirs_grads[name]
        # A key's bias changes no softmax, so that its gradient is 0 but for rounding.
        if name.endswith("in_proj_bias"):
            size = len(scale) // 3
            assert actual[size : 2 * size].norm() < 1e-4 * scale.norm()
        assert distance(actual, scale) < CLOSE, name


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("save", ["preactivation", "all"])
@pytest.mark.parametrize("name", hf.MODELS)
def test_feed_forward_is_hugging_faces(name: str, save: str, training: bool) -> None:
    model = hf.MODELS[name]
    theirs = shaken(model.feed_forward(model.config)).train(training)
    changes: dict[str, Any] = dict(model.changes)
    if name.startswith("t5"):
        changes["dropout"] = 0.0  # T5 has it outside of the dense layers
    ours = preset(name).feed_forward(save=save, **changes).train(training)
    ours.load_state_dict(model.feed_forward_weights(theirs, hf.value_of))
    x = inputs(preset_width(name), 2, 9)
    torch.manual_seed(3)
    y = ours(x)
    torch.manual_seed(3)
    agree(ours, theirs, y, theirs(x), model.feed_forward_weights, x)


def preset_width(name: str) -> int:
    return dict(hf.MODELS[name].changes).get("d_model", preset(name).d_model)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", hf.MODELS)
def test_block_is_hugging_faces(name: str, training: bool) -> None:
    model = hf.MODELS[name]
    theirs = shaken(model.block(model.config)).train(training)
    ours = preset(name).block(batch_first=True, **dict(model.changes)).train(training)
    ours.load_state_dict(model.block_weights(theirs, hf.value_of))
    x = inputs(preset_width(name), 2, 9)
    padding = torch.zeros(2, 9, dtype=torch.bool)
    padding[1, 7:] = True
    blocked = padding[:, None, None, :].expand(2, 1, 9, 9)
    if preset(name).causal:
        blocked = blocked | torch.ones(9, 9, dtype=torch.bool).triu(1)
    torch.manual_seed(3)
    y = ours(x, key_padding_mask=padding)
    torch.manual_seed(3)
    expected = model.call(theirs, x, hidden(blocked))
    agree(ours, theirs, y, expected, model.block_weights, x)


@pytest.mark.parametrize(
    "wrong",
    [
        {"activation": "gelu_tanh"},
        {"norm": "post"},
        {"eps": 1e-3},
        {"causal": True},
        {"n_heads": 6},
        {"scale": 1.0},
    ],
    ids=str,
)
def test_a_wrong_fact_is_seen(wrong: dict[str, Any]) -> None:
    model = hf.MODELS["vit"]
    theirs = shaken(model.block(model.config)).eval()
    changes: dict[str, Any] = dict(model.changes)
    ours = preset("vit").block(batch_first=True, **(changes | wrong)).eval()
    ours.load_state_dict(model.block_weights(theirs, hf.value_of))
    x = inputs(48, 2, 9)
    assert distance(ours(x), model.call(theirs, x, None)) > 4 * CLOSE


class Document001(nn.Module):
    """The article's block, as printed."""

    def __init__(
        self, embedding_dim: int, num_heads: int, intermediate_dim: int, activation: str
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(embedding_dim, num_heads)
        self.linear1 = nn.Linear(embedding_dim, intermediate_dim)
        self.linear2 = nn.Linear(intermediate_dim, embedding_dim)
        self.norm1 = nn.LayerNorm(embedding_dim)
        self.norm2 = nn.LayerNorm(embedding_dim)
        self.activation = nn.Tanh() if activation == "tanh" else nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        attention_output, _ = self.attention(x, x, x)
        x = self.norm1(x + attention_output)
        return self.norm2(x + self.linear2(self.activation(self.linear1(x))))


def document_001_weights(block: Any, of: hf.Of) -> hf.Weights:
    attention_layer = block.attention
    return (
        {"attention.in_proj_weight": of(attention_layer.in_proj_weight)}
        | {"attention.in_proj_bias": of(attention_layer.in_proj_bias)}
        | hf.linear("attention.out_proj", attention_layer.out_proj, of)
        | hf.norms(block.norm1, block.norm2, of)
        | hf.linear("feed_forward.fc1", block.linear1, of)
        | hf.linear("feed_forward.fc2", block.linear2, of)
    )


@pytest.mark.parametrize("name", ["tanh", "gelu"])
def test_the_block_of_document_001(name: str) -> None:
    theirs = shaken(Document001(512, 8, 2048, name))
    ours = TransformerBlock(512, 8, 2048, activation=name)
    ours.load_state_dict(document_001_weights(theirs, hf.value_of))
    x = inputs(512, 30, 10)
    y, expected = ours(x), theirs(x)
    assert y.shape == (30, 10, 512)
    assert (y - expected).abs().max() < 1e-5
    agree(ours, theirs, y, expected, document_001_weights, x)


class Document002(nn.Module):
    """The article's feed-forward block, as printed."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(input_dim, hidden_dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dim, input_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


def test_the_block_of_document_002() -> None:
    theirs = Document002(512, 2048)
    ours = FeedForward(512, 2048)
    ours.load_state_dict(theirs.state_dict())
    x = inputs(512, 8)
    y = ours(x)
    assert y.shape == (8, 512)
    assert sum(p.numel() for p in ours.parameters()) == 2_099_712
    agree(ours, theirs, y, theirs(x), hf.vit_feed_forward, x)


def test_the_feed_forward_network_of_document_000() -> None:
    ours = preset("bert-base").feed_forward().eval()
    assert sum(p.numel() for p in ours.parameters()) == 4_722_432
    x = inputs(768, 3)
    w1, b1, w2, b2 = (p.detach().double() for p in ours.parameters())
    z = x.detach().double() @ w1.t() + b1
    gate = torch.special.ndtr(z)
    assert distance(ours(x).double(), (z * gate) @ w2.t() + b2) < CLOSE


def test_a_sequence_without_a_batch() -> None:
    block = TransformerBlock(8, 2, 16).eval()
    x, padding = inputs(8, 5), torch.tensor([False, False, False, True, True])
    expected = block(x.unsqueeze(1), key_padding_mask=padding.unsqueeze(0)).squeeze(1)
    assert distance(block(x, key_padding_mask=padding), expected) < CLOSE


def test_a_stack_is_its_blocks_one_after_the_other() -> None:
    stack = Stack(3, 8, 2, 16, norm="pre", normalization="rms", bias=False, activation="swiglu")
    x = inputs(8, 5, 2)
    expected = x
    for block in stack.blocks:
        expected = block(expected)
    assert stack.norm is not None
    assert torch.equal(stack(x), stack.norm(expected))
    assert Stack(3, 8, 2, 16).norm is None
    assert len({id(p) for p in stack.parameters()}) == len(list(stack.parameters())) == 3 * 7 + 1


def test_a_block_compiles_whole() -> None:
    block = TransformerBlock(16, 2, 32, activation="swiglu", norm="pre", causal=True)
    x = inputs(16, 5, 2)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    expected = torch.autograd.grad(block(x).square().sum(), [x, *block.parameters()])
    actual = torch.autograd.grad(compiled(x).square().sum(), [x, *block.parameters()])
    torch._dynamo.reset()
    for ours, theirs in zip(actual, expected, strict=True):
        assert (ours - theirs).norm() < CLOSE * max(theirs.norm(), 1)


def test_a_block_is_exported_in_torchs_operators() -> None:
    block = TransformerBlock(16, 2, 32, "swiglu", norm="pre", batch_first=True, causal=True).eval()
    x = inputs(16, 2, 5).detach()
    exported = torch.export.export(block, (x,))
    assert not any("softgate" in str(node.target) for node in exported.graph.nodes)
    assert distance(exported.module()(x), block(x)) < CLOSE


def test_a_block_survives_copying_and_pickling() -> None:
    block = TransformerBlock(8, 2, 16, activation="geglu").eval()
    x = inputs(8, 5, 2)
    for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert torch.equal(other(x), block(x))


def test_a_block_under_a_checkpoint_has_the_same_gradients() -> None:
    from torch.utils.checkpoint import checkpoint

    block = TransformerBlock(8, 2, 16, dropout=0.2, hidden_dropout=0.2)
    x = inputs(8, 5, 2)
    torch.manual_seed(0)
    expected = torch.autograd.grad(block(x).square().sum(), [x, *block.parameters()])
    torch.manual_seed(0)
    y = checkpoint(block, x, use_reentrant=False)
    actual = torch.autograd.grad(y.square().sum(), [x, *block.parameters()])
    for ours, theirs in zip(actual, expected, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "both"}, "norm = 'both': expected"),
        ({"normalization": "batch"}, "normalization = 'batch': expected"),
        ({"n_heads": 3}, "d_model = 8 is not a multiple of n_heads = 3"),
        ({"n_kv_heads": 3}, "n_heads = 2 is not a multiple of n_kv_heads = 3"),
        ({"dropout": 1.5}, "dropout = 1.5: expected a probability"),
        ({"d_hidden": 0}, "d_hidden = 0: expected a positive integer"),
        ({"activation": "gelo"}, "unknown activation 'gelo'; did you mean 'gelu'"),
        ({"activation": "swigloo"}, "unknown activation 'swigloo'; did you mean 'swiglu'"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    arguments = {"d_model": 8, "n_heads": 2, "d_hidden": 16} | options
    with pytest.raises(ValueError, match=message):
        TransformerBlock(**arguments)


def test_gates_are_chosen_by_the_activation() -> None:
    for name in sg.gated():
        assert isinstance(TransformerBlock(8, 2, 16, name).feed_forward, GatedFeedForward)
    assert isinstance(TransformerBlock(8, 2, 16, sg.swiglu).feed_forward, GatedFeedForward)
    assert isinstance(TransformerBlock(8, 2, 16, "silu").feed_forward, FeedForward)
