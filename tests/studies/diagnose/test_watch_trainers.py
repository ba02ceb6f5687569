"""A watch around other people's training loops: Hugging Face's Trainer and Lightning's.

What they count is known: rows of a batch, times tokens, times steps.
"""

from __future__ import annotations

import logging
import math
import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from watched import seeded  # noqa: E402, F401

from softgate.torch import watch  # noqa: E402

ROWS, TOKENS, BATCH, WORDS = 16, 6, 4, 30
STEPS = ROWS // BATCH


def left_behind(model):
    """Return hooks of watching that hang on a model, and modes that are still on."""
    tables = (
        table
        for module in model.modules()
        for table in (module._forward_hooks, module._forward_pre_hooks)
    )
    hooks = [hook for table in tables for hook in table.values()]
    return [hook for hook in hooks if "softgate" in getattr(hook, "__module__", "")] + [
        None for _ in range(torch._C._len_torch_function_stack())
    ]


def language_model(kind):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=WORDS, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=12, max_position_embeddings=TOKENS, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        return transformers.BertForMaskedLM(config)
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_embd=8, n_layer=2, n_head=2, n_positions=TOKENS, bos_token_id=0,
        eos_token_id=0, embd_pdrop=0.0, resid_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def texts():
    rows = torch.randint(0, WORDS, (ROWS, TOKENS), generator=torch.Generator().manual_seed(0))
    return [{"input_ids": row, "labels": row} for row in rows]


def trained(kind, folder, **options):
    """Return what was seen while Hugging Face's Trainer trained for an epoch."""
    from transformers import Trainer, TrainingArguments

    model = language_model(kind)
    evaluated = options.pop("evaluated", False)
    arguments = TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=BATCH, num_train_epochs=1,
        per_device_eval_batch_size=BATCH, report_to=[], save_strategy="no", disable_tqdm=True,
        use_cpu=True, logging_strategy="no", learning_rate=1e-6, dataloader_pin_memory=False,
        eval_strategy="epoch" if evaluated else "no", **options,
    )  # fmt: skip
    trainer = Trainer(
        model=model, args=arguments, train_dataset=texts(), eval_dataset=texts()[:BATCH]
    )
    with watch(model) as w:
        assert left_behind(model)
        trainer.train()
    assert left_behind(model) == []
    return w.report()


FUNCTIONS = {"bert": ["gelu"] * 3, "gpt2": ["gelu_tanh"] * 2}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return {kind: trained(kind, tmp_path_factory.mktemp(kind)) for kind in FUNCTIONS}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_huggingface_counts_every_token_of_every_step(plain, kind):
    report = plain[kind]
    assert [site.function for site in report.sites] == FUNCTIONS[kind]
    assert report.steps == STEPS
    for site in report.sites:
        assert (site.calls, site.inputs) == (STEPS, STEPS * BATCH * TOKENS)
        assert site.gradient_input > 0
    assert report.unseen == ()


@pytest.mark.parametrize(("kind", "reentrant"), [("bert", False), ("gpt2", True)])
def test_huggingface_checkpoints_change_no_figure(plain, tmp_path, kind, reentrant):
    from transformers import TrainingArguments

    # Renamed in transformers 5.23, where the old name warns.
    renamed = hasattr(TrainingArguments, "activation_checkpointing")
    name = "activation_checkpointing" if renamed else "gradient_checkpointing"
    options = {name: True, f"{name}_kwargs": {"use_reentrant": reentrant}}
    report = trained(kind, tmp_path, **options)
    for a, b in zip(plain[kind].sites, report.sites, strict=True):
        assert (a.name, a.inputs, a.calls, a.flat) == (b.name, b.inputs, b.calls, b.flat)
        assert b.mean == pytest.approx(a.mean, rel=1e-5)
        assert b.gradient_input == pytest.approx(a.gradient_input, rel=1e-4)
        assert b.gradient_output == pytest.approx(a.gradient_output, rel=1e-4)


def test_huggingface_evaluation_counts_and_sends_nothing_back(plain, tmp_path):
    report = trained("gpt2", tmp_path, evaluated=True)
    site, other = report.sites[0], plain["gpt2"].sites[0]
    assert (report.steps, site.inputs) == (STEPS + 1, (STEPS + 1) * BATCH * TOKENS)
    assert site.gradient_output == pytest.approx(other.gradient_output, rel=1e-4)


def test_huggingface_accumulates_and_autocasts(tmp_path):
    report = trained("gpt2", tmp_path, gradient_accumulation_steps=2, bf16=True)
    assert (report.steps, report.sites[0].inputs) == (STEPS, STEPS * BATCH * TOKENS)
    assert report.sites[0].dtype == "bfloat16"
    assert report.sites[0].gradient_input > 0


def test_huggingface_compiled_models_are_seen(plain, tmp_path):
    report = trained("gpt2", tmp_path, torch_compile=True, torch_compile_backend="eager")
    assert [site.name for site in report.sites] == [site.name for site in plain["gpt2"].sites]
    assert report.sites[0].inputs == plain["gpt2"].sites[0].inputs


def fitted(validated=False, whole=True, **options):
    """Return what was seen while Lightning trained for two epochs, and the model."""
    lightning = pytest.importorskip("pytorch_lightning")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 7), nn.GELU())

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            return (self if whole else self.net)(batch[0]).square().mean()

        def validation_step(self, batch, index):
            self(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    torch.manual_seed(0)
    model = Model()
    rows = torch.utils.data.TensorDataset(torch.randn(ROWS, 6))
    loader = torch.utils.data.DataLoader(rows, BATCH)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on workers, and deprecations of its own
        with watch(model) as w:
            trainer.fit(model, loader, loader if validated else None)
    assert left_behind(model) == []
    return w.report(), model


def test_lightning_counts_every_row_of_every_step():
    report, model = fitted()
    assert report.steps == 2 * STEPS
    for site, units in zip(report.sites, (9, 7), strict=True):
        assert (site.units, site.calls, site.inputs) == (units, 2 * STEPS, 2 * ROWS)
    assert [site.name for site in report.sites] == ["net.1", "net.3"]
    torch.manual_seed(0)
    nn.Sequential(nn.Linear(6, 9), nn.Linear(9, 7))  # weights take the same random numbers
    x = torch.randn(ROWS, 6)
    squares = 0.0
    for batch in x.split(BATCH):
        y = model.net(batch).detach()
        squares += float((2 * y / y.numel()).square().sum())
    right = math.sqrt(squares / STEPS)
    assert report.sites[1].gradient_output == pytest.approx(right, rel=1e-4)


@pytest.mark.parametrize("whole", [False, True])
def test_lightning_validation_has_steps_of_its_own(whole):
    report, _ = fitted(validated=True, whole=whole)
    assert (report.steps, report.sites[0].calls) == (4 * STEPS, 4 * STEPS)
    assert report.sites[0].inputs == 4 * ROWS


def test_lightning_accumulates_and_autocasts():
    plain, _ = fitted()
    report, _ = fitted(accumulate_grad_batches=2, precision="bf16-mixed")
    assert (report.steps, report.sites[0].inputs) == (2 * STEPS, 2 * ROWS)
    assert report.sites[0].dtype == "bfloat16"
    # Lightning divides the loss, and its gradients, by the number of parts.
    half = 0.5 * plain.sites[0].gradient_output
    assert report.sites[0].gradient_output == pytest.approx(half, rel=0.02)
