"""Ways to call a subject on a NumPy array: one for each framework, and for ONNX and C."""
