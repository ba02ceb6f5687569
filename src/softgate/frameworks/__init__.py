"""Adapters for tensors of PyTorch, JAX, TensorFlow, Keras and polars, imported on first use."""
