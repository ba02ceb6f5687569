"""A model of one ONNX operator, from one vector to another."""

from __future__ import annotations

from .peer import Peer

IR_VERSION = 10


def model(peer: Peer, dtype: str) -> bytes:
    """Return the model of a peer's operator in a format, as the bytes of a file."""
    from onnx import TensorProto, checker, helper

    node = peer.node
    if node is None:
        raise ValueError(f"{peer.title} is no ONNX operator")
    kind = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
            "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}[dtype]  # fmt: skip
    ends = [helper.make_tensor_value_info(name, kind, ["n"]) for name in "xy"]
    made = helper.make_node(node.operator, ["x"], ["y"], domain=node.domain, **peer.keywords)
    graph = helper.make_graph([made], node.operator, ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", node.opset)]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, 1))
    whole = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    checker.check_model(whole)
    found: bytes = whole.SerializeToString()
    return found
