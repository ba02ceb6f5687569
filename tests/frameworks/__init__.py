"""Tests of the adapters. A package, as `tests` is: here are folders `torch` and `jax`."""
