"""Time Hugging Face's GPT-2 with its own activation, with torch's fused one and with softgate's.

    python benchmarks/gpt2.py [--rounds 12] [--json FILE]

The configuration `gpt2` with random weights, 8 x 128 tokens, forward, all threads. The three take
turns in every round on one model whose activation modules are replaced; the least time counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter

import torch
from transformers import GPT2Config, GPT2Model

import softgate as sg


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=Path, help="write the times there")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = GPT2Model(GPT2Config()).eval()
    tokens = torch.randint(0, 50_000, (8, 128))
    kinds = {
        "transformers": model.h[0].mlp.act,
        "torch's fused tanh form": torch.nn.GELU("tanh"),
        "softgate": sg.torch.GELU("tanh"),
    }
    least = dict.fromkeys(kinds, float("inf"))
    reference = None
    with torch.inference_mode():
        for index in range(options.rounds + 1):
            for name, activation in kinds.items():
                for block in model.h:
                    block.mlp.act = activation
                start = perf_counter()
                result = model(tokens).last_hidden_state
                taken = perf_counter() - start
                reference = result if reference is None else reference
                assert torch.allclose(result, reference, atol=1e-4), name
                if index:  # the first round warms up
                    least[name] = min(least[name], taken)
    slowest = least["transformers"]
    for name, taken in least.items():
        print(f"{name:<26}{taken * 1000:>9.1f} ms  {1 - taken / slowest:>7.1%} less")
    if options.json:
        options.json.write_text(json.dumps(least), encoding="utf-8")


if __name__ == "__main__":
    main()
