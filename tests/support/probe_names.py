"""Lists the functions of frameworks and their values: run by test_names.py in a separate process.

    python probe_names.py < requests.json > answers.json

There is a request and an answer for each source. A request has points and calls, each a path and
parameters; the answer has the values of each call (or the error), and what the framework has that
turns an array into an array. Nothing of softgate is imported here: what is found does not depend on
what is claimed.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
os.environ["KERAS_BACKEND"] = "tensorflow"
# Keras imports these where they are installed, which takes longer than to import itself.
sys.modules |= dict.fromkeys(("matplotlib", "pandas", "sklearn"))

# What frameworks raise when a function is called with one array and wants something else.
REFUSALS = (TypeError, ValueError, RuntimeError, IndexError, AttributeError, NotImplementedError)


class Probe:
    """A framework: how a path is found in it, how arrays get in and out, what it has."""

    dtype = "float64"
    homes: tuple[str, ...] = ()  # modules all of whose functions are looked at

    def array(self, values: np.ndarray) -> Any:
        return values

    def numbers(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def find(self, path: str) -> Any:
        return resolve(path)

    def values(self, path: str, x: np.ndarray, parameters: dict[str, Any]) -> np.ndarray:
        result = self.find(path)
        if inspect.isclass(result):
            return self.numbers(self.make(result, parameters)(self.array(x)))
        return self.numbers(result(self.array(x), **parameters))

    def make(self, kind: type, parameters: dict[str, Any]) -> Any:
        return kind(**parameters)

    def versions(self, path: str) -> list[int]:
        """The operator set versions of an operator, which only ONNX has."""
        return []

    def parameters(self, path: str) -> list[str]:
        """The names of the parameters after the array; none for a builtin without a signature."""
        result = self.find(path)
        try:
            signature = list(inspect.signature(result).parameters.values())
        except ValueError:
            return []
        named = [p.name for p in signature if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        return named if inspect.isclass(result) else named[1:]

    def present(self) -> Iterator[str]:
        """Paths of everything that turns one array into one of the same, half or double length."""
        for home in self.homes:
            module = resolve(home)
            for name, member in sorted(vars(module).items()):
                function = callable(member) and not inspect.isclass(member)
                if function and not name.startswith("_") and self.maps_arrays(member):
                    yield f"{home}.{name}"

    def maps_arrays(self, function: Callable[..., Any]) -> bool:
        x = np.linspace(-2.0, 2.0, 8)
        try:
            result = self.numbers(function(self.array(x)))
        except REFUSALS:
            return False
        return result.dtype.kind == "f" and result.shape in {(4,), (8,), (16,)}


def resolve(path: str) -> Any:
    """Return the object at a dotted path; importing what must be imported on the way."""
    first, *rest = path.split(".")
    result = importlib.import_module({"tf": "tensorflow"}.get(first, first))
    for name in rest:
        if not hasattr(result, name):
            importlib.import_module(f"{result.__name__}.{name}")
        result = getattr(result, name)
    return result


class Torch(Probe):
    homes = ("torch.nn.functional",)

    def make(self, kind: type, parameters: dict[str, Any]) -> Any:
        return kind(**parameters).double().eval()  # RReLU is random in training

    def values(self, path: str, x: np.ndarray, parameters: dict[str, Any]) -> np.ndarray:
        if path.endswith(".prelu"):  # its parameter is a tensor
            parameters = {"weight": self.array(np.array([parameters["weight"]]))}
        return super().values(path, x, parameters)

    def array(self, values: np.ndarray) -> Any:
        import torch

        return torch.tensor(values, dtype=torch.float64)

    def numbers(self, result: Any) -> np.ndarray:
        import torch

        if not isinstance(result, torch.Tensor):
            raise TypeError(f"no tensor but {type(result).__name__}")
        return result.detach().double().numpy()

    def present(self) -> Iterator[str]:
        modules = resolve("torch.nn.modules.activation").__all__
        yield from (f"torch.nn.{name}" for name in modules)
        functional = resolve("torch.nn.functional")
        called = {name.casefold() for name in modules}
        public = (name for name in dir(functional) if not name.startswith("_"))
        named = (name for name in public if name.replace("_", "") in called)
        yield from (f"torch.nn.functional.{name}" for name in named)
        yield from super().present()


class Jax(Probe):
    homes = ("jax.nn",)

    def array(self, values: np.ndarray) -> Any:
        import jax

        return jax.numpy.asarray(values, dtype="float64")


class TensorFlow(Probe):
    homes = ("tf.nn",)

    def array(self, values: np.ndarray) -> Any:
        import tensorflow as tf

        return tf.constant(values, dtype=tf.float64)

    def maps_arrays(self, function: Callable[..., Any]) -> bool:
        from tensorflow.errors import OpError

        try:
            return super().maps_arrays(function)
        except OpError:
            return False


class Keras(Probe):
    homes = ("keras.activations", "keras.ops.nn")

    def array(self, values: np.ndarray) -> Any:
        import keras

        return keras.ops.convert_to_tensor(values, dtype="float64")

    def numbers(self, result: Any) -> np.ndarray:
        import keras

        return keras.ops.convert_to_numpy(result)

    def make(self, kind: type, parameters: dict[str, Any]) -> Any:
        return kind(**parameters, dtype="float64")

    def present(self) -> Iterator[str]:
        for path in super().present():
            yield path.replace("keras.ops.nn.", "keras.ops.")
        called = {name for name in dir(resolve("keras.activations")) if not name.startswith("_")}
        yield from (f"keras.ops.{name}" for name in called & set(dir(resolve("keras.ops"))))
        for name, kind in vars(resolve("keras.layers")).items():
            if getattr(kind, "__module__", "").startswith("keras.src.layers.activations"):
                yield f"keras.layers.{name}"


class HuggingFace(Torch):
    def find(self, path: str) -> Any:
        import torch

        found = resolve("transformers.activations").ACT2FN[path.split('"')[1]]
        if path.split('"')[1] == "xielu":  # its parameters are bfloat16 otherwise
            return type(found)(dtype=torch.float64)
        return found.double() if isinstance(found, torch.nn.Module) else found

    def parameters(self, path: str) -> list[str]:
        return []

    def present(self) -> Iterator[str]:
        for name in resolve("transformers.activations").ACT2FN:
            yield f'transformers.activations.ACT2FN["{name}"]'


class Timm(Torch):
    """timm's own files without timm: the package imports torchvision, these four do not."""

    def find(self, path: str) -> Any:
        factory = re.fullmatch(r'timm\.layers\.(get_act_\w+)\("(\w+)"\)', path)
        if factory:
            return getattr(self.file("create_act"), factory[1])(factory[2])
        return getattr(self.file("activations"), path.rpartition(".")[2])

    def file(self, name: str) -> Any:
        if "timm_files" not in sys.modules:
            spec = importlib.util.find_spec("timm")
            sys.modules["timm_files"] = package = types.ModuleType("timm_files")
            package.__path__ = [str(Path(spec.origin).with_name("layers"))]
        return importlib.import_module(f"timm_files.{name}")

    def present(self) -> Iterator[str]:
        factories = self.file("create_act")
        yield from (f'timm.layers.get_act_fn("{name}")' for name in factories._ACT_FN_DEFAULT)
        yield from (f'timm.layers.get_act_layer("{name}")' for name in factories._ACT_LAYER_DEFAULT)
        for name, member in vars(self.file("activations")).items():
            if inspect.isclass(member):
                yield f"timm.layers.{name}"


class Onnx(Probe):
    """One operator in a model of its own, run by onnxruntime."""

    dtype = "float32"

    def schemas(self, path: str) -> list[Any]:
        domain, _, name = path.rpartition(".")
        if domain == "ai.onnx":
            return [s for s in onnx_schemas() if s.domain == "" and s.name == name]
        return [s for s in contrib_schemas() if s.domain == domain and s.name == name]

    def find(self, path: str) -> Any:
        result = self.schemas(path)
        if not result:
            raise AttributeError(f"no operator {path}")
        return max(result, key=lambda schema: schema.since_version)

    def versions(self, path: str) -> list[int]:
        return sorted(schema.since_version for schema in self.schemas(path))

    def parameters(self, path: str) -> list[str]:
        return list(self.find(path).attributes)

    def values(self, path: str, x: np.ndarray, parameters: dict[str, Any]) -> np.ndarray:
        """Run the operator on x, and on zeros where it has to have more; SwiGLU on x's halves.

        A parameter that is no attribute is a further input.
        """
        schema = self.find(path)
        required = [i for i in schema.inputs if "Single" in str(i.option)]
        inputs = [np.zeros_like(x) for _ in required]
        inputs[0] = x
        if path.endswith("GLU"):
            inputs = np.split(x, 2)
        further = {i.name: np.asarray(parameters[i.name]) for i in schema.inputs
                   if i.name in parameters and i.name not in schema.attributes}  # fmt: skip
        if further:
            inputs = [x, *further.values()]
        attributes = {name: v for name, v in parameters.items() if name not in further}
        return run(path, [probe.astype(np.float32) for probe in inputs], attributes)

    def present(self) -> Iterator[str]:
        ours = {("ai.onnx", s.name) for s in onnx_schemas() if s.domain == ""}
        theirs = {(s.domain, s.name) for s in contrib_schemas() if s.domain == "com.microsoft"}
        for domain, name in sorted(ours | theirs):
            path = f"{domain}.{name}"
            schema = self.find(path)
            simple = len(schema.outputs) == 1 and len(schema.inputs) <= 3
            called = re.search("(?i)gelu|silu|swish|relu|sigmoid|softplus|mish|elu|glu", name)
            if called or (simple and self.maps_arrays(partial(self.values, path, parameters={}))):
                yield path

    def maps_arrays(self, function: Callable[..., Any]) -> bool:
        from onnxruntime.capi import onnxruntime_pybind11_state as ort

        try:
            return super().maps_arrays(function)
        except (ort.Fail, ort.InvalidGraph, ort.InvalidArgument, ort.NotImplemented):
            return False


@cache
def onnx_schemas() -> list[Any]:
    import onnx.defs

    return list(onnx.defs.get_all_schemas_with_history())


@cache
def contrib_schemas() -> list[Any]:
    from onnxruntime.capi import _pybind_state

    return list(_pybind_state.get_all_operator_schema())


def run(path: str, inputs: list[np.ndarray], attributes: dict[str, Any]) -> np.ndarray:
    """Return the result of an operator in onnxruntime, or of ONNX's reference if it has none."""
    import onnxruntime
    from onnx import TensorProto, defs, helper
    from onnx.reference import ReferenceEvaluator

    domain, _, name = path.rpartition(".")
    domain = domain.replace("ai.onnx", "")
    known = [s.since_version for s in contrib_schemas() if s.domain == domain and s.name == name]
    version = max(known) if known else defs.get_schema(name).since_version
    argument = {f"x{i}": probe for i, probe in enumerate(inputs)}
    node = helper.make_node(name, list(argument), ["y"], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in argument.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)])
    model.ir_version = 10
    if not known:
        return np.asarray(ReferenceEvaluator(model).run(None, argument)[0])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    return np.asarray(session.run(None, argument)[0])


PROBES = {
    "torch": Torch,
    "keras": Keras,
    "tensorflow": TensorFlow,
    "jax": Jax,
    "huggingface": HuggingFace,
    "timm": Timm,
    "onnx": Onnx,
}


def answer(source: str, request: dict[str, Any]) -> dict[str, Any]:
    probe = PROBES[source]()
    x = np.asarray(request["points"])
    calls = []
    for call in request["calls"]:
        try:
            values = probe.values(call["path"], x, call["parameters"])
        except REFUSALS as error:
            calls.append({"error": f"{type(error).__name__}: {error}"})
        else:
            calls.append({"values": values.astype(np.float64).tolist()})
    parameters = {}
    for path in request["paths"]:
        try:
            parameters[path] = probe.parameters(path)
        except (AttributeError, KeyError, ImportError) as error:
            parameters[path] = f"{type(error).__name__}: {error}"
    return {
        "dtype": probe.dtype,
        "calls": calls,
        "parameters": parameters,
        "versions": {path: probe.versions(path) for path in request["paths"]},
        "present": sorted(set(probe.present())),
    }


if __name__ == "__main__":
    requests = json.load(sys.stdin)
    json.dump({source: answer(source, requests[source]) for source in requests}, sys.stdout)
