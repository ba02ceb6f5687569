"""Stable forms as source code: one module for each language, which exports LANGUAGE."""

from importlib import import_module

from .language import Language

MODULES = ("c", "cuda", "opencl", "js", "triton", "onnx")
"""The modules of the languages, named as `emit` names these."""

LANGUAGES: dict[str, Language] = {
    name: import_module(f"{__name__}.{name}").LANGUAGE for name in MODULES
}
