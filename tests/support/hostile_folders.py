"""Scan folders whose settings name code or repositories, and print what was imported or opened.

A program of its own: packages that only record their use stand in for `kernels`, `timm` and `peft`,
and transformers looks for installed packages when it is imported. Arguments: a folder for files.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

KERNELS = '''
import sys
from types import ModuleType

def get_kernel(name, *args, **kwargs):
    """Record the name in place of a download."""
    sys.used.append(f"kernels.get_kernel({name})")
    raise ValueError("no such kernel")

class Anything:
    def __init__(self, *args, **kwargs): pass
    def __call__(self, *args, **kwargs): return args[0] if args else self
    def __getattr__(self, name): return Anything()

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything

layer = ModuleType("kernels.layer")
layer.mode = ModuleType("kernels.layer.mode")
layer.mode.Mode = Anything
sys.modules |= {"kernels.layer": layer, "kernels.layer.mode": layer.mode}
'''
RECORDING = """
import sys

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **kwargs: sys.used.append(f"{__name__}.{name}{args}")
"""
CODE = "import sys\nsys.used.append('code of the folder')\n"

BACKBONE = {"model_type": "detr", "architectures": ["DetrModel"], "use_timm_backbone": False}
TIMM = {"model_type": "timm_wrapper", "architectures": ["TimmWrapperModel"]}
SETTINGS = {
    "attention": {"_attn_implementation": "vendor/kernel"},
    "attention without underscore": {"attn_implementation": "vendor/kernel:function"},
    "attention of a part": {"_attn_implementation": {"": "eager", "text_config": "some/kernel@1"}},
    "attention in a part": {"text_config": {"_attn_implementation": "vendor/kernel"}},
    "attention for a GPU": {"_attn_implementation": "flash_attention_2"},
    "experts": {"_experts_implementation": "sonicmoe"},
    "experts without underscore": {"experts_implementation": "deepgemm"},
    "code of the folder": {"auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}},
    "code elsewhere": {"auto_map": {"AutoModel": "vendor/model--code.M"}},
    "trusted code elsewhere": {"auto_map": {"AutoModel": "vendor/model--code.M"}},
    "trusting itself": {"auto_map": {"AutoConfig": "code.C"}, "trust_remote_code": True},
    "custom model type": {"model_type": "unheard", "auto_map": {"AutoConfig": "code.C"}},
    "custom pipeline": {"custom_pipelines": {"x": {"impl": "code.P", "pt": ["AutoModel"]}}},
    "kernels": {"use_kernels": True, "kernel_config": {"RMSNorm": "vendor/kernel:RMSNorm"}},
    "quantized": {"quantization_config": {"quant_method": "mxfp4"}},
    "quantized in a part": {"text_config": {"quantization_config": {"quant_method": "fp8"}}},
    "backbone": BACKBONE | {"backbone": "vendor/model"},
    "backbone by name": BACKBONE
    | {"backbone": "resnet50", "backbone_kwargs": {"out_indices": [1]}},
    "timm": TIMM | {"architecture": "hf-hub:vendor/model"},
    "timm's checkpoint": TIMM
    | {"architecture": "resnet50", "model_args": {"checkpoint_path": "x"}},
    "weights elsewhere": {"transformers_weights": "../other.safetensors"},
    "pickled weights": {"transformers_weights": "adapter_model.bin"},
    "another configuration": {"configuration_files": ["config.4.0.0.json"]},
    "another name": {"_name_or_path": "vendor/model", "name_or_path": "vendor/model"},
    "layers": {"num_hidden_layers": 10**99},
    "many layers": {"num_hidden_layers": 10**6},
    "width": {"hidden_size": 10**7, "num_attention_heads": 1},
    "labels": {"num_labels": 10**9},
    "million labels": {"num_labels": 2 * 10**6},
    "an activation of softgate": {"hidden_act": "softgate.gelu"},
    "a file as activation": {"hidden_act": "softgate.a file as activation/code.py:f"},
    "a module as activation": {"hidden_act": "softgate.peft:use"},
    "a call as activation": {"text_config": {"hidden_act": "softgate.peft:use('x')"}},
    "a path as activation": {"hidden_act": "softgate.torch.nn.functional.gelu"},
    "a function as class": {"architectures": ["pipeline"]},
    "a module as class": {"architectures": ["logging"]},
    "a number as class": {"architectures": [5]},
    "a class without a list": {"architectures": "BertNothing"},
}
"""Fields of config.json; every folder has a model of BERT with one layer otherwise."""
FILES = {
    "adapter": ("adapter_config.json", {"base_model_name_or_path": "some/model", "peft_type": "X"}),
    "generation": ("generation_config.json", {"custom_generate": "vendor/code"}),
    "tokenizer": ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "code.T"]}}),
    "dictionary": ("tokenizer_config.json", {"sudachi_kwargs": {"sudachi_config_path": "x.json"}}),
    "preprocessor": ("preprocessor_config.json", {"auto_map": {"AutoProcessor": "code.P"}}),
    "shards": ("model.safetensors.index.json", {"weight_map": {"x": "../../pytorch_model.bin"}}),
}
"""Other files with settings."""


def main(folder: Path) -> None:
    sys.used = []
    packages = folder / "packages"
    for name, text in {"kernels": KERNELS, "timm": RECORDING, "peft": RECORDING}.items():
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(text)
        version = "0.18.3" if name == "kernels" else "1.0"
        metadata = packages / f"{name}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    sys.path.insert(0, str(packages))

    def watch(event: str, args: tuple) -> None:
        if event in ("socket.connect", "socket.getaddrinfo"):
            sys.used.append(event)
            raise OSError("the network is not to be used")
        if event == "subprocess.Popen" and "transformers" in sys.modules:
            sys.used.append(event)

    os.chdir(folder)
    from transformers import AutoModel, BertConfig, BertModel

    import softgate as sg

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(num_hidden_layers=1, vocab_size=9, **sizes)).save_pretrained(folder / "ok")
    sys.addaudithook(watch)
    cases = {name: ("config.json", fields) for name, fields in SETTINGS.items()} | FILES
    results = {}
    for name, (file, fields) in ({"unchanged": ("config.json", {})} | cases).items():
        case = folder / name
        case.mkdir()
        for source in (folder / "ok").iterdir():
            (case / source.name).write_bytes(source.read_bytes())
        (case / "code.py").write_text(CODE)
        path = case / file
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | fields))
        if "configuration_files" in fields:
            other = before | {"_attn_implementation": "vendor/kernel"}
            (case / "config.4.0.0.json").write_text(json.dumps(other))
        if file.endswith("index.json"):
            (case / "model.safetensors").rename(case / "model-00001-of-00001.safetensors")
        sys.used.clear()
        try:
            trust = name == "trusted code elsewhere"
            outcome = str(sg.scan(str(case), allow_missing=True, trust=trust).counts)
        except ValueError as error:
            outcome = f"ValueError: {error}"
        results[name] = [outcome, sorted(set(sys.used))]
    for name in ("attention", "backbone by name"):  # that the recording works
        sys.used.clear()
        with suppress(Exception):
            AutoModel.from_pretrained(folder / name)
        results[f"{name}, transformers itself"] = ["", sorted(set(sys.used))]
    print(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
