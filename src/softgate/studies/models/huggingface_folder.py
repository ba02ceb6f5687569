"""Models of Hugging Face folders, read without code, downloads or files from elsewhere.

`local_files_only` alone does not prevent them: fields of config.json name kernels of a hub that the
package kernels fetches and imports, repositories that are looked up, and checkpoints outside the
folder. Settings are therefore checked before transformers reads them; attention is always eager;
and the hub is offline for the thread that makes a model or a tokenizer. docs/security.md lists the
fields.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from softgate.records.packages import require
from softgate.runtime.machine import free_bytes, in_bytes

MOST_SETTING_BYTES = 1 << 26
MOST_ENTRIES = 20_000_000
"""Largest number of layers, labels, positions, …: lists of this length are made from settings."""
MOST_LABELS = 1_000_000
"""Most labels: a dictionary of this length is made, with a text for each."""
MOST_MODULES = 100_000

COUNTED = re.compile(
    r"(^|_)(n|num|max|layers?|labels?|depths?|heads?|experts?|blocks?|stages?|positions?|embeddings?"
    r"|sizes?|dims?|channels?|groups?|rank|width|length|repeats?)(_|$)"
)
"""Names of settings that state how many or how large. Not those of `UNCOUNTED`."""
UNCOUNTED = re.compile(r"theta|param|token|step|sample|example|bytes|seed|value|norm")

EXPERTS = (None, "eager", "batched_mm", "grouped_mm")
"""Implementations of experts that are part of transformers; others are fetched as kernels."""

_offline_lock = threading.RLock()


class FolderError(ValueError):
    """A folder names something that does not exist, or that is not loaded."""


def transformers_module() -> Any:
    """Return transformers, which then logs errors only and shows no progress bars."""
    require("transformers", purpose="a Hugging Face folder")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def load_folder(folder: Path, trust: bool) -> tuple[nn.Module, list[str]]:
    """Return the model of the class that the configuration names, and the weights it lacks.

    Raises FolderError for what the folder may not contain, and any error of transformers.
    """
    check_settings(folder, trust)
    transformers = transformers_module()
    with offline(), limited_models(folder):
        configuration = transformers.AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=trust
        )
        model_class = _class_of(configuration, transformers)
        _register(configuration.to_dict())
        model, information = model_class.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
            trust_remote_code=trust,
            attn_implementation="eager",
        )
    return model, sorted(information["missing_keys"])


def load_tokenizer(folder: Path, trust: bool) -> Any:
    """Return the tokenizer in a folder; raise as `load_folder` does."""
    check_settings(folder, trust)
    transformers = transformers_module()
    with offline():
        return transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=trust
        )


def _class_of(configuration: Any, transformers: Any) -> Any:
    """Return the class that `architectures` names, in transformers or in the folder's code."""
    names = configuration.architectures or ()
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    for name in names:
        named = getattr(transformers, name, None)
        if isinstance(named, type) and issubclass(named, transformers.PreTrainedModel):
            return named
    code = getattr(configuration, "auto_map", None) or {}
    automatic = [key for key, value in code.items() if str(value).split(".")[-1] in names]
    if names and not automatic:
        raise FolderError(
            f"architectures = {', '.join(names)} is not a model class of transformers "
            f"{transformers.__version__}"
        )
    return getattr(transformers, automatic[0] if automatic else "AutoModel")


def _register(configuration: Mapping[str, Any]) -> None:
    """Register the functions of softgate that a configuration names, as after a swap.

    Names of the catalogue only: other forms of `subjects.user_code` import and call code.
    """
    from transformers.activations import ACT2FN

    from softgate.runtime.lookup import lookup
    from softgate.torch.huggingface import PREFIX, register_huggingface

    for field, value in configuration.items():
        if isinstance(value, Mapping):
            _register(value)
        elif isinstance(value, str) and value.startswith(PREFIX) and value not in ACT2FN:
            try:
                registered = register_huggingface(lookup(value.removeprefix(PREFIX)))
                if value not in registered:
                    raise ValueError(f"expected {registered[-1]}")
            except (TypeError, ValueError) as error:
                raise FolderError(
                    f"{field} = {value}: {error}; for a function of yours, call "
                    "softgate.torch.register_huggingface(function) first"
                ) from None


class _OfflineHere:
    """A setting that is true in this thread and in those it starts, and `outside` in others."""

    def __init__(self, outside: bool) -> None:
        self.outside = outside
        self.others = frozenset(threading.enumerate()) - {threading.current_thread()}

    def __bool__(self) -> bool:
        return threading.current_thread() not in self.others or bool(self.outside)


@contextmanager
def offline() -> Iterator[None]:
    """Let requests to the hub raise FolderError, but not those of threads that ran before."""
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    settings: Any = constants
    with _offline_lock:
        before = settings.HF_HUB_OFFLINE
        settings.HF_HUB_OFFLINE = _OfflineHere(before)
        try:
            yield
        except OfflineModeIsEnabled as error:
            address = re.search(r"https?://\S+[\w/]", str(error))
            raise FolderError(
                f"its settings name {address.group() if address else 'a repository'}, and nothing "
                "is downloaded"
            ) from None
        finally:
            settings.HF_HUB_OFFLINE = before


@contextmanager
def limited_models(folder: Path) -> Iterator[None]:
    """Let making a model in this thread raise before its weights exceed the available memory.

    transformers makes a model without memory first (device meta), whatever sizes it has.
    """
    thread, available = threading.get_ident(), free_bytes()
    tensors, modules, size = dict[int, torch.Tensor](), 0, 0

    def count_tensor(module: nn.Module, name: str, tensor: torch.Tensor | None) -> None:
        nonlocal size
        if tensor is None or tensor.device.type != "meta" or threading.get_ident() != thread:
            return
        if id(tensor) not in tensors:
            tensors[id(tensor)] = tensor
            size += tensor.numel() * max(4, tensor.element_size())
            if available is not None and size > available:
                raise FolderError(
                    f"its config.json describes a model of more than {in_bytes(size)} as float32, "
                    f"and {in_bytes(available)} of memory is available"
                )

    def count_module(module: nn.Module, name: str, submodule: nn.Module | None) -> None:
        nonlocal modules
        modules += threading.get_ident() == thread
        if modules > MOST_MODULES:
            raise FolderError(
                f"its config.json describes a model of more than {MOST_MODULES:,} modules"
            )

    hooks = [
        nn.modules.module.register_module_parameter_registration_hook(count_tensor),
        nn.modules.module.register_module_buffer_registration_hook(count_tensor),
        nn.modules.module.register_module_module_registration_hook(count_module),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def check_settings(folder: Path, trust: bool) -> None:
    """Raise FolderError for settings with which transformers would load from outside the folder."""
    if (folder / "adapter_config.json").exists():
        raise FolderError(
            "adapter_config.json names a base model elsewhere: merge the adapter "
            "(merge_and_unload), save the model with save_pretrained, and pass that folder"
        )
    for pattern in ("*config*.json", "*.index.json"):
        for file in sorted(folder.glob(pattern)):
            _check_value(file.name, "", _read_settings(file), trust)


def _read_settings(file: Path) -> Any:
    if not file.is_file():
        raise FolderError(f"{file.name} is not a file")
    if (size := file.stat().st_size) > MOST_SETTING_BYTES:
        raise FolderError(
            f"{file.name} has {size:,} bytes: expected at most {MOST_SETTING_BYTES:,}"
        )
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{file.name} is not JSON: {' '.join(str(error).split())}") from None


def _check_value(file: str, field: str, value: Any, trust: bool) -> None:
    """Check a setting and all inside it; `field` is its name, an item's that of its list."""
    name = field.lower()
    stated = f"{file}: {field} = {value!r}" if len(repr(value)) < 80 else f"{file}: {field}"
    if isinstance(value, Mapping):
        if name == "quantization_config":
            raise FolderError(
                f"{file}: quantization_config: quantized weights are read by other packages and "
                "kernels, which are not loaded; save the model after model.dequantize()"
            )
        for key, inner in value.items():
            # What is inside these fields has names of its own: of shards, or of parts of a model.
            inherits = name.endswith("_implementation") or name in ("weight_map", "auto_map")
            _check_value(file, field if inherits else str(key), inner, trust)
    elif isinstance(value, list):
        for inner in value:
            _check_value(file, field, inner, trust)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        # Of other files than config.json nothing is made: model_max_length is 10**30 in many.
        counted = file.startswith("config") and COUNTED.search(name) and not UNCOUNTED.search(name)
        most = MOST_LABELS if "label" in name else MOST_ENTRIES
        if counted and abs(value) > most:
            digits = (
                f"{value:,}" if abs(value) < 10**15 else f"a number of {len(str(value))} digits"
            )
            raise FolderError(f"{file}: {field} is {digits}: expected at most {most:,}")
    elif isinstance(value, str):
        reason = _refused(name, value, trust)
        if reason:
            raise FolderError(f"{stated}: {reason}")


def _refused(name: str, value: str, trust: bool) -> str:
    """Return why a setting is refused, or an empty string."""
    plain = "/" not in value and "\\" not in value
    if name.endswith(("attn_implementation", "attn_implementation_internal")):
        return "" if plain else "it names a kernel that is downloaded and run; expected eager"
    if "experts_implementation" in name:
        return "" if value in EXPERTS else "it may be downloaded and run; expected eager"
    if name == "auto_map":
        # Without trust, transformers uses its own class or raises.
        return "code of another repository is not run" if trust and "--" in value else ""
    if name in ("weight_map", "transformers_weights"):
        inside = plain and value.endswith((".safetensors", ".safetensors.index.json"))
        return "" if inside else "expected a .safetensors file of the folder"
    if name == "configuration_files":
        return "" if plain else "expected a file of the folder"
    if name in ("architecture", "backbone"):
        return "" if plain and ":" not in value else "it names a model elsewhere"
    if name in ("checkpoint_path", "pretrained_cfg_overlay"):
        return "it names a checkpoint elsewhere" if value else ""
    if name in ("mecab_option", "sudachi_config_path"):
        return "it names files of a dictionary, which may be programs" if value else ""
    return ""
